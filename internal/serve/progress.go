package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// state is what a run is doing.
type state string

// The states of runs, those of [index.Live].
const (
	running  = state(sweep.Running)
	finished = state(sweep.Finished)
	failed   = state(sweep.Failed)
	stopped  = state(sweep.Stopped)
	waiting  = state(sweep.Waiting)
	damaged  = state(sweep.Damaged)
)

// progress is what a run's folder says beside the index. It is compared to see whether anything has changed.
type progress struct {
	state   state
	seen    bool // its files were looked at
	log     fileStamp
	epoch   int     // epochs finished
	epochs  int     // of the config
	loss    float64 // of the last epoch, the sum of the objectives' totals
	losses  string  // of the last epoch, as JSON
	seconds float64 // that the last epoch took
	written time.Time
}

// fileStamp tells versions of a file apart.
type fileStamp struct {
	size, modified int64
}

func stampOf(dir, name string) fileStamp {
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return fileStamp{size: -1}
	}
	return fileStamp{info.Size(), info.ModTime().UnixNano()}
}

// progressOf looks at what a run's index does not have.
func (r *runs) progressOf(one *run, dir string, holders *rundir.Holders) progress {
	p := one.progress
	if p.seen && (one.base == sweep.Finished || one.base == sweep.Failed || one.base == sweep.Damaged) {
		return p // it does not go on without a change of the index
	}
	p.seen = true
	epochs, _ := one.Settings.Get("train.epochs")
	p.epochs, _ = strconv.Atoi(epochs)
	if log := stampOf(dir, rundir.LogFile); log != p.log {
		p.readLog(r, one, log)
	}
	switch one.base {
	case sweep.Finished:
		p.state, p.epoch = finished, max(p.epoch, one.Epochs)
	case sweep.Failed:
		p.state = failed
	case sweep.Damaged:
		p.state = damaged
	default:
		p.state = stopped
		if holders.Held(dir, one.Patience(p.seconds)) {
			p.state = running
		} else if p.log.size < 0 {
			p.state = waiting
		}
	}
	return p
}

// logTail is how much of the end of a log is read for the list.
const logTail = 64 << 10

// readLog reads the last epoch of a log.
func (p *progress) readLog(r *runs, one *run, stamp fileStamp) {
	p.log, p.epoch, p.loss, p.losses, p.seconds = stamp, 0, 0, "", 0
	p.written = time.Time{}
	if stamp.size < 0 {
		return
	}
	p.written = time.Unix(0, stamp.modified)
	f, err := r.open(one, rundir.LogFile)
	if err != nil {
		return
	}
	defer f.Close() // it was only read
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, stamp.size-logTail), logTail))
	if err != nil {
		return
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // a line without an end is being written
	for len(text) > 0 {
		at := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
		var line rundir.Line
		err := json.Unmarshal(text[at:], &line)
		text = text[:at]
		if err != nil {
			continue
		}
		p.epoch = max(p.epoch, line.Epoch)
		if line.Losses == nil {
			continue
		}
		for _, parts := range line.Losses {
			p.loss += parts["loss"]
		}
		losses, _ := json.Marshal(line.Losses) // it came from JSON
		p.losses, p.seconds = string(losses), line.Seconds
		return
	}
}

// left estimates the time until the last epoch ends; 0: it is not known, or over.
func (p *progress) left(now time.Time) time.Duration {
	if p.state != running || p.epoch == 0 || p.epoch >= p.epochs {
		return 0
	}
	left := time.Duration(p.seconds*float64(p.epochs-p.epoch)*float64(time.Second)) - now.Sub(p.written)
	return max(left, time.Second)
}

// part is how much of the training is over, from 0 to 1.
func (p *progress) part() float64 {
	switch {
	case p.state == finished:
		return 1
	case p.epochs == 0:
		return 0
	}
	return min(1, float64(p.epoch)/float64(p.epochs))
}
