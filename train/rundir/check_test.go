package rundir

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/must"
)

// Files written after the end of a run have hashes, even if a process is killed or fails between the record and the
// file.
func TestHashesOfLaterFiles(t *testing.T) {
	r := must.Get(Create(t.TempDir()))(t)
	defer r.Close()
	failure := errors.New("the disk is full")
	write := func(name, text string) {
		t.Helper()
		must.OK(t, r.Write(name, Bytes([]byte(text))))
	}
	fail := func(name, text string) { // after the record has the hash
		t.Helper()
		must.OK(t, r.recordHash(name, FileHash([]byte(text))))
		if err := r.Write(name, func(io.Writer) error { return failure }); !errors.Is(err, failure) {
			t.Fatal(err)
		}
	}
	whole := func(after string) {
		t.Helper()
		if list, err := Check(r.Dir()); err != nil || len(list) > 0 {
			t.Errorf("after %s: %v, %v", after, list, err)
		}
	}
	write(Config, "a: 1\n")
	write(CodesFile, "one")
	for step := range 2 {
		log := must.Get(r.ResumeLog(LogFile, int64(step)))(t)
		for i := range 2 { // remove the second line, and append others
			must.OK(t, log.Append(map[string]int{"step": step + i + 1}))
		}
		must.OK(t, log.Close())
	}
	must.OK(t, NewRecord(time.Now()).Write(r))
	whole("the end")
	fail(CodesFile, "two")
	whole("a failure")
	fail(MetricsFile, "[]")
	whole("a failure of a new file")
	write(FitFile, "{}")
	whole("another file")
	write(CodesFile, "three")
	whole("another content")
	for _, text := range []string{"one", "two"} { // the earlier content
		must.Write(t, r.Path(CodesFile), text)
		if list, err := Check(r.Dir()); err != nil || len(list) != 1 || list[0].File != CodesFile {
			t.Errorf("codes %s: %v, %v", text, list, err)
		}
	}
	write(CodesFile, "three")
	fail(Config, "a: 2\n")
	whole("a config that was not written")
	must.Write(t, r.Path(Config), "a: 2\n")
	if list, err := Check(r.Dir()); len(list) > 0 || !errors.Is(err, ErrNoHashes) {
		t.Errorf("after a config that was written: %v, %v", list, err)
	}
	if record, err := ReadRecord(r.Dir()); record != nil || err != nil {
		t.Errorf("a run that goes on has the record %v, %v", record, err)
	}
	must.Write(t, r.Path(Config), "a: 3\n")
	if record, err := ReadRecord(r.Dir()); record != nil || !errors.Is(err, ErrChanged) {
		t.Errorf("an edited config: %v, %v", record, err)
	}
	must.Write(t, r.Path(Config), "a: 2\n")
	write(CodesFile, "four") // a killed process continues
	if r.Has(RecordFile) {
		t.Error("a file of a run with another config kept the old record")
	}
}
