package index

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Live updates each unfinished run of a folder to its current state: running, waiting or stopped.
func Live(dir string, runs []*Run) {
	holders := rundir.NewHolders()
	for _, r := range runs {
		if r.State != sweep.Unfinished {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(r.Dir))
		r.State = sweep.Stopped
		if r.isHeld(holders, path) {
			r.State = sweep.Running
		} else if _, err := os.Lstat(filepath.Join(path, rundir.LogFile)); err != nil {
			r.State = sweep.Waiting
		}
	}
}

// isHeld reports whether a process holds the run. It only reads the run's log on systems that do not report lock holders.
func (r *Run) isHeld(holders *rundir.Holders, path string) bool {
	if !holders.Held(path, math.MaxInt64) {
		return false
	}
	if holders.Held(path, 0) {
		return true
	}
	seconds := 0.0
	if run, err := rundir.View(path); err == nil {
		_ = run.ReadLog(func(line rundir.Line) { // the lines before an incomplete line count
			if line.Losses != nil {
				seconds = line.Seconds
			}
		})
	}
	return holders.Held(path, r.Patience(seconds))
}

// Patience is the maximum expected time between two writes of a training run, given the seconds per epoch.
func (r *Run) Patience(epoch float64) time.Duration {
	const day = 86400
	text, _ := r.Settings.Get("train.checkpoint")
	checkpoint, _ := strconv.ParseFloat(text, 64)
	return max(2*time.Minute, time.Duration(2*min(checkpoint, day)*float64(time.Second)),
		time.Duration(3*min(epoch, day)*float64(time.Second)))
}
