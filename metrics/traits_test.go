package metrics

import (
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// A metric with fewer draws keeps at least one. DCI has fewer rounds, and draws fewer rows.
func TestWithFewerDraws(t *testing.T) {
	for _, c := range []struct{ rounds, train, test, wantRounds, wantTrain, wantTest int }{
		{10, 400, 200, 2, 20, 10}, {4, 19, 1, 1, 1, 1},
	} {
		m := &DCI{Rounds: c.rounds, TrainTest: TrainTest{Train: c.train, Test: c.test}}
		reduced, ok := withFewerDraws(m, 5)
		if d := reduced.(*DCI); !ok || d.Rounds != c.wantRounds || d.Train != c.wantTrain || d.Test != c.wantTest {
			t.Errorf("%+v: %+v, %v", c, d, ok)
		}
		if m.Rounds != c.rounds || m.Train != c.train || m.Test != c.test {
			t.Errorf("%+v: the metric itself changed to %+v", c, m)
		}
	}
	apart := &DCI{Rounds: 10, TrainTest: TrainTest{Train: 400, Test: 200, TestShare: 0.5}}
	if reduced, _ := withFewerDraws(apart, 5); reduced.(*DCI).Train != 400 || reduced.(*DCI).Rounds != 2 {
		t.Errorf("without draws of rows: %+v", reduced)
	}
	if _, ok := withFewerDraws(&ConditionalTC{}, 5); ok {
		t.Error("a metric without draws has fewer")
	}
}

// The active columns of a config must exist, with a factor and its levels.
func TestSuitsConditionalTC(t *testing.T) {
	codes := matrix.Matrix{Rows: 1, Cols: 2, Data: []float64{0, 0}}
	in := &Input{Codes: codes, Factors: []factor.Factor{{Name: "f", Size: 3}}}
	for want, a := range map[string]ActiveCodes{
		"": {Columns: []int{0, 1}, Factor: "f", Levels: []int{0, 2}},
		`there is no factor "g"; the factors are f`:        {Columns: []int{0}, Factor: "g", Levels: []int{0}},
		"there is no column -1; codes have columns 0 to 1": {Columns: []int{0, -1}, Factor: "f", Levels: []int{0}},
		"there is no column 2; codes have columns 0 to 1":  {Columns: []int{2}, Factor: "f", Levels: []int{0}},
		"there is no level -1; f has levels 0 to 2":        {Columns: []int{0}, Factor: "f", Levels: []int{-1}},
		"there is no level 3; f has levels 0 to 2":         {Columns: []int{0}, Factor: "f", Levels: []int{1, 3}},
	} {
		err := (&ConditionalTC{Active: []ActiveCodes{a}}).Suits(in)
		if want == "" {
			must.OK(t, err)
		} else {
			must.Error(t, err, want)
		}
	}
}
