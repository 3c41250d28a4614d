package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// A run can begin again in a folder if a process died while writing the first files of the run. Other folders with a
// checkpoint are errors.
func TestBeginAfterKill(t *testing.T) {
	dir := t.TempDir()
	killed := errors.New("killed")
	for _, names := range [][]string{nil, {CheckpointFile}, {CheckpointFile, StateFile}} {
		r, err := Create(dir)
		must.OK(t, err)
		err = r.Begin(func() error {
			wantNames(t, dir, beginName, ".lock")
			for _, name := range names {
				if err := r.Write(name, Bytes([]byte("x"))); err != nil {
					return err
				}
			}
			return killed
		})
		if err := errors.Join(err, r.Close()); !errors.Is(err, killed) || strings.Contains(err.Error(), "\n") {
			t.Fatal(err)
		}
	}
	r := must.Get(Create(dir))(t)
	must.OK(t, errors.Join(r.Begin(func() error { return r.Write(CheckpointFile, Bytes([]byte("x"))) }), r.Close()))
	wantNames(t, dir, ".lock", CheckpointFile)
	must.ErrorOf(Create(dir))(t, "it contains "+CheckpointFile)
}

// Results of a stage appear together or not at all.
func TestLearnedTogether(t *testing.T) {
	const stage = "stage"
	l := &models.Learned{Hierarchy: hierarchy.Hierarchy{{}, {Options: []hierarchy.Hierarchy{{}, {{}}}}},
		Labels: []int32{0, 1, 1}, Components: []int32{0, 1, 2},
		Parts: []int32{0, 0, 1}, Timings: []models.Timing{{Name: "a", Seconds: 1}}}
	for _, name := range []string{ComponentsFile, PartsFile, timingsFile, AssignmentsFile, hierarchyFile} {
		r := newRun(t)
		must.OK(t, r.Write(Config, Bytes(nil)))
		obstacle := filepath.Join(r.Path(stage), name)
		must.OK(t, os.MkdirAll(obstacle, 0o777))
		if err := r.WriteLearned(stage, l); err == nil {
			t.Fatal("no error at", name)
		}
		must.OK(t, os.Remove(obstacle))
		if got, err := ReadLearned(r.Dir(), stage); got != nil || err != nil {
			t.Errorf("stopped at %s: %+v, %v", name, got, err)
		}
		must.OK(t, r.WriteLearned(stage, l))
		if got, err := ReadLearned(r.Dir(), stage); err != nil || len(got.Labels) != 3 || len(got.Parts) != 3 {
			t.Errorf("%+v, %v", got, err)
		}
		if err := os.Remove(r.Path(stage + "/" + AssignmentsFile)); err != nil { // a folder written by older programs
			t.Fatal(err)
		}
		if got, err := ReadLearned(r.Dir(), stage); got != nil || err != nil {
			t.Errorf("without assignments: %+v, %v", got, err)
		}
	}
}
