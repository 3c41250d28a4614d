package sweep

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/unravel-ml/unravel/train"
)

// Forecast is a run with what there is of it, and how long it would take.
type Forecast struct {
	Run
	State State         // in the folder
	Dir   string        // empty: it has no folder yet
	Takes time.Duration // 0: it is finished
}

// calibrationSteps are the steps of training that a forecast times.
const calibrationSteps = 5

// Forecasts says what Execute would do, and how long each missing run would take with so many at once: as long as finished
// ones that differ from it in their seed only, or else as its first steps say ([train.Calibrate]). It changes nothing.
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
