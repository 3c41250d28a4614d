package rundir

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Files with the results of an earlier training stage, in a folder with the name of the stage.
const (
	hierarchyFile   = "hierarchy.json"
	AssignmentsFile = "assignments.npy"
	ComponentsFile  = "components.npy"
	PartsFile       = "parts.npy"
	timingsFile     = "timings.json"
)

// WriteLearned stores the results of an earlier training stage, in a folder with the stage's name. It writes the
// hierarchy last: [ReadLearned] treats a stage without a hierarchy as unfinished.
func (r *Run) WriteLearned(stage string, l *models.Learned) error {
	for _, a := range groups(l) {
		data := *a.data
		if data == nil {
			continue
		}
		if err := r.Write(path.Join(stage, a.file), func(w io.Writer) error { return npy.Write(w, []int{len(data)}, data) }); err != nil {
			return err
		}
	}
	if l.Timings != nil {
		if err := r.Write(path.Join(stage, timingsFile), JSON(l.Timings)); err != nil {
			return err
		}
	}
	if k := len(l.Hierarchy.Categoricals()); k > 0 {
		err := r.Write(path.Join(stage, AssignmentsFile),
			func(w io.Writer) error { return npy.Write(w, []int{len(l.Labels) / k, k}, l.Labels) })
		if err != nil {
			return err
		}
	}
	return r.Write(path.Join(stage, hierarchyFile),
		func(w io.Writer) error { return json.NewEncoder(w).Encode(l.Hierarchy) })
}

// groupFile is an array with one group per image, and its file.
type groupFile struct {
	file string
	data *[]int32
}

// groups lists the groupings of images that a stage can learn.
func groups(l *models.Learned) []groupFile {
	return []groupFile{{ComponentsFile, &l.Components}, {PartsFile, &l.Parts}}
}

// ReadLearned reads the results of an earlier training stage from a run's folder; nil without run or results.
func ReadLearned(dir, stage string) (*models.Learned, error) {
	run, err := View(dir)
	if err != nil {
		return nil, nil // no run yet
	}
	if !run.Has(path.Join(stage, hierarchyFile)) {
		return nil, nil
	}
	l := &models.Learned{}
	text, err := run.Read(path.Join(stage, hierarchyFile))
	if err != nil {
		return nil, err
	}
	if l.Hierarchy, err = hierarchy.Parse(text); err != nil {
		return nil, fmt.Errorf("%s:%w", filepath.Join(dir, stage, hierarchyFile), err)
	}
	for _, a := range groups(l) {
		if !run.Has(path.Join(stage, a.file)) {
			continue
		}
		if *a.data, err = readLabels(filepath.Join(dir, stage, a.file), 1); err != nil {
			return nil, err
		}
	}
	if run.Has(path.Join(stage, timingsFile)) {
		text, err := run.Read(path.Join(stage, timingsFile))
		if err == nil {
			err = json.Unmarshal(text, &l.Timings)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, stage, timingsFile), err)
		}
	}
	if k := len(l.Hierarchy.Categoricals()); k > 0 {
		if !run.Has(path.Join(stage, AssignmentsFile)) && !run.Has(CheckpointFile) {
			return nil, nil // an older program wrote the hierarchy first, and was killed after that
		}
		l.Labels, err = readLabels(filepath.Join(dir, stage, AssignmentsFile), k)
	}
	return l, err
}

func readLabels(path string, columns int) ([]int32, error) {
	r, err := npy.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.RowLen() != columns {
		return nil, fmt.Errorf("%s has shape %v; want %d numbers for each image", path, r.Shape, columns)
	}
	labels := make([]int32, r.Rows()*columns)
	return labels, npy.Read(r, labels)
}
