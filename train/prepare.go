package train

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/progress"
	"github.com/unravel-ml/unravel/rundir"
)

// PrepareData converts the files of a data set that needs that, and shows the progress on a writer; nil: nowhere. Building it is
// quick afterwards.
func PrepareData(ctx context.Context, d datasets.Choice, w io.Writer) error {
	a := NewActivity(w)
	defer a.End()
	var lock sync.Mutex
	under := ""
	if w != nil {
		ctx = progress.WithSay(ctx, func(line string) {
			lock.Lock()
			defer lock.Unlock()
			a.End()
			under = ""
			fmt.Fprintln(w, line)
		})
	}
	return d.Prepare(ctx, func(what string, done, total int64) {
		lock.Lock()
		defer lock.Unlock()
		if what != under {
			under = what
			a.Begin(what, int(max(total, 1)))
		}
		a.Step(int(done), "")
	})
}

// prepareData converts the files of the config's data set.
func (c *Config) prepareData(ctx context.Context, w io.Writer) error {
	if err := PrepareData(ctx, c.Dataset, w); err != nil {
		if ctx.Err() != nil {
			return ErrStopped
		}
		return &dataError{c.mistake("dataset."+c.Dataset.Name, err), err}
	}
	return nil
}

// PrepareRun is [PrepareData] for the data set of a run. A folder without a config that can be read is left to who opens it.
func PrepareRun(ctx context.Context, dir string, w io.Writer) error {
	c, err := ReadConfig(dir)
	if err != nil {
		return nil
	}
	return c.prepareData(ctx, w)
}

// noteData notes the files of the data set in the folder of a new run, and says of a run that is resumed if they have changed.
func (s *session) noteData() error {
	s.files = datasets.FilesOf(s.experiment.Data) // metrics may see a sample of it
	began, err := rundir.ReadData(s.store.Dir())
	if err != nil {
		return err
	}
	if changed := s.files.Changed(began); changed != "" {
		s.console.say("warning: %s", changed)
	}
	if s.files == nil || began != nil {
		return nil
	}
	return s.store.Write(rundir.DataFile, rundir.JSON(s.files))
}

// dataWarning says of the run of a folder if its data set has changed since it began; empty: it has not.
func dataWarning(dir string, d datasets.Dataset) (string, error) {
	began, err := rundir.ReadData(dir)
	if err != nil {
		return "", err
	}
	changed := datasets.FilesOf(d).Changed(began)
	if changed != "" {
		changed = "warning: " + changed
	}
	return changed, nil
}
