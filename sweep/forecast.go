package sweep

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/unravel-ml/unravel/train"
)

// Forecast is the state of a run and the time that it would take.
type Forecast struct {
	Run
	State State         // in the folder
	Dir   string        // empty: it has no folder yet
	Takes time.Duration // 0: it is finished
}

// calibrationSteps is the number of training steps that a forecast times.
const calibrationSteps = 5

// Forecasts lists what Execute would do with jobs concurrent runs, and estimates the time of each missing run from finished runs
// that differ only in seed; failing that, it times a few training steps ([train.Calibrate]). It writes nothing.
func Forecasts(ctx context.Context, dir string, runs []Run, jobs int) ([]Forecast, error) {
	entries, err := Scan(dir)
	if err != nil {
		return nil, err
	}
	known := map[string]*average{}
	for _, e := range entries {
		if e.State != Finished {
			continue
		}
		kind := kindOf(Run{Config: e.Config, Hash: e.Hash})
		if known[kind] == nil {
			known[kind] = &average{}
		}
		known[kind].sum += e.Record.Seconds
		known[kind].n++
	}
	found := Find(entries)
	var list []Forecast
	for _, r := range runs {
		f := Forecast{Run: r, State: Unfinished}
		if e, ok := found[r.Hash]; ok {
			f.State, f.Dir = e.State, e.Dir
		}
		if f.State != Finished {
			kind := kindOf(r)
			if known[kind] == nil {
				if ctx.Err() != nil {
					return nil, train.ErrStopped
				}
				c := r.Config
				c.Train.Threads = max(1, runtime.GOMAXPROCS(0)/max(1, jobs))
				d, err := train.Calibrate(ctx, c, calibrationSteps)
				if err != nil {
					return nil, errors.Join(errors.New("run "+r.Name), err)
				}
				known[kind] = &average{d.Seconds(), 1}
			}
			f.Takes = time.Duration(known[kind].sum / known[kind].n * float64(time.Second))
		}
		list = append(list, f)
	}
	return list, nil
}
