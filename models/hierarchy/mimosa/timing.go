package mimosa

import "time"

// Timing is how long a stage of a run took.
type Timing struct {
	Stage   string
	Seconds float64
}

// Timed returns a progress that calls another one, which may be nil, and a function that lists how long each stage has taken so
// far, in their order. The first stage begins now.
func Timed(p Progress) (Progress, func() []Timing) {
	var list []Timing
	since := time.Now()
	end := func() {
		now := time.Now()
		if len(list) > 0 {
			list[len(list)-1].Seconds += now.Sub(since).Seconds()
			since = now
		}
	}
	timed := func(stage string, done, total int) {
		if len(list) == 0 || list[len(list)-1].Stage != stage {
			end()
			list = append(list, Timing{Stage: stage})
		}
		if p != nil {
			p(stage, done, total)
		}
	}
	return timed, func() []Timing {
		end()
		return append([]Timing(nil), list...)
	}
}
