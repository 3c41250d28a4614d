package sweep

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Progress follows runs that other processes train, by reading their folders.
type Progress struct {
	dirs     []string
	outcomes []Outcome
	left     []int // runs that have not ended
	meter    *meter
}

// Prepare creates a folder with the config for each run, and rejects configs that cannot be trained, like [Execute]. It
// returns the progress according to the folders. With retry, failed runs count as missing again.
func Prepare(ctx context.Context, dir string, runs []Run, retry bool, log *slog.Logger) (*Progress, error) {
	log = plain.Or(log)
	dirs, err := createFolders(ctx, dir, runs, retry, true, log)
	if err != nil {
		return nil, err
	}
	p := &Progress{dirs: dirs, outcomes: make([]Outcome, len(runs)), meter: newMeter(runs)}
	for i, run := range runs {
		entry := Read(dirs[i])
		if entry.State == Failed && retry {
			if err := removeRecord(dirs[i]); err != nil {
				return nil, fmt.Errorf("run %s: %w", run.Name, err)
			}
			entry = Read(dirs[i])
		}
		p.outcomes[i] = Outcome{Run: run, Entry: entry}
		if hasEnded(entry) {
			p.outcomes[i].Before = true
			p.meter.end(i, p.outcomes[i])
			continue
		}
		p.left = append(p.left, i)
	}
	return p, nil
}

func hasEnded(e Entry) bool { return e.State == Finished || e.State == Failed }

// removeRecord removes the record of a failed run before it is trained again.
func removeRecord(dir string) error {
	store, err := rundir.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(store.Remove(rundir.RecordFile), store.Close())
}

// Look reads the folders of the unfinished runs, and reports whether all runs have ended.
func (p *Progress) Look() (done bool, err error) {
	var left []int
	for _, i := range p.left {
		_, err := os.Lstat(filepath.Join(p.dirs[i], rundir.RecordFile)) // much faster than reading the folder
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if err == nil {
			entry := Read(p.dirs[i])
			if p.outcomes[i].Entry = entry; hasEnded(entry) {
				p.meter.end(i, p.outcomes[i])
				continue
			}
		}
		left = append(left, i)
	}
	p.left = left
	return len(left) == 0, nil
}

// Missing returns the number of runs that were unfinished at the last Look.
func (p *Progress) Missing() int { return len(p.left) }

// Outcomes returns the outcomes at the last Look.
func (p *Progress) Outcomes() []Outcome { return p.outcomes }

// Status returns the progress at the last Look.
func (p *Progress) Status() Status { return p.meter.status(time.Now()) }

// Mark returns a text that changes whenever a run ends or stores a checkpoint.
func (p *Progress) Mark() string {
	h := fnv.New64a()
	for _, i := range p.left {
		if info, err := os.Lstat(filepath.Join(p.dirs[i], rundir.CheckpointFile)); err == nil {
			fmt.Fprintln(h, i, info.Size(), info.ModTime().UnixNano())
		}
	}
	return fmt.Sprint(len(p.left), h.Sum64())
}
