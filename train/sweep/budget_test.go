package sweep

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/search"
)

// The budget that ends first gives the progress of a search. Failed trials count.
func TestProgressOfBudgets(t *testing.T) {
	for _, c := range []struct {
		runs        int
		hours, used float64
		states      []State
		want        float64
	}{
		{4, 0, 0, []State{Finished, Failed, Running}, 0.5},
		{0, 0, 0, nil, 0},
		{0, 8, 2, []State{Finished, Finished}, 0.25},
		{0, 8, 9, []State{Finished}, 1},
		{4, 8, 6, []State{Finished, Failed, Running}, 0.75},
		{4, 8, 2, []State{Finished, Failed, Running}, 0.5},
		{4, 8, 2, []State{Finished, Failed, Finished, Finished}, 1},
	} {
		method := search.MethodChoice{Value: &search.Random{Settings: search.Settings{Runs: c.runs, CoreHours: c.hours}}}
		e := &searchExecution{Search: &Search{Method: method}, progress: map[string]float64{}}
		found := &Trials{CoreHours: c.used}
		for _, s := range c.states {
			found.List = append(found.List, Trial{Entry: Entry{State: s}})
		}
		e.reportFolder(found)
		must.Equal(t, e.status.Part, c.want, c)
	}
}
