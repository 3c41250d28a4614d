package conformance_test

import (
	"testing"

	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// faultyDraws draws pairs for every epoch with one fault.
type faultyDraws struct{ fault string }

func (f *faultyDraws) Split(d datasets.Dataset, _ *rng.Stream) (*supervision.Split, error) {
	split := &supervision.Split{M: 2, Actions: []supervision.Action{{Name: "on", Step: 1}}}
	count := 0
	split.Drawn = &supervision.Drawn{M: 2, Count: 40, Draw: func(s *rng.Stream, images []int, actions []int32) {
		images[0] = s.IntN(d.Len())
		images[1], actions[1] = (images[0]+1)%d.Len(), 0
		switch count++; f.fault {
		case "image out of range":
			images[1] = images[0] + 1000
		case "no such action":
			actions[1] = 1
		case "the same groups":
			images[0], images[1] = 4, 5
		case "keeps state":
			images[0], images[1] = count%7, count%7+1
		}
	}}
	if split.Drawn.Moves, split.Drawn.K = supervision.MovesOf(d); f.fault == "wrong angle" {
		split.Drawn.Moves = func([]int, []float32) {}
	}
	if f.fault == "no name" {
		split.Actions[0].Name = ""
	}
	if f.fault == "too few actions" {
		split.Groups, split.Transformations, split.GroupActions = [][]int{{0, 1}}, [][]float32{{0, 0.7853982}}, [][]int32{{-1}}
	}
	return split, nil
}

func TestDrawnGroupsFindFaults(t *testing.T) {
	d, err := datasets.FromPixels("ring", make([]uint8, 8), 1, 1, 1, factor.Grid{{Name: "angle", Size: 8}},
		[][]int{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}})
	must.OK(t, err)
	for fault, want := range map[string]string{
		"":                   "",
		"image out of range": "drawn: group 0 has image 100",
		"no such action":     "drawn: group 0, image 1: action 1; want",
		"the same groups":    "two epochs of dataset ring draw the same 40 groups",
		"keeps state":        "of dataset ring differs after a resume",
		"wrong angle":        `factor "angle" turns by 0`,
		"no name":            "action 0 is {Name: Factor:0 Step:1}",
		"too few actions":    "group 0 of 2 images has 1 actions",
	} {
		wantFinding(t, fault, conformance.CheckSplit("faulty", &faultyDraws{fault}, d), "supervision faulty: ", want)
	}
}
