package sheet

import (
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestGroupSheet(t *testing.T) {
	d := build(t, &drawn.Sprites{Size: 16, Channels: 1, Scales: 2, Orientations: 4, Positions: 4})
	for _, s := range []supervision.Kind{&supervision.Changes{Law: "uniform", Redraw: "any", Rate: 1, K: 2}, supervision.NewChanges()} {
		split := must.Get(s.Split(d, rng.New(1, "supervision")))(t)
		picture := must.Get(Groups(d, split, Options{Rows: 5, Scale: 1}))(t)
		if size := picture.Bounds().Size(); size.Y != 14+2*20+5*16+4*4+14 {
			t.Errorf("a sheet of %v; want two lines and five rows", size)
		}
	}
	if got := differingFactors(d, []int{0, 1}); strings.Contains(got, ",") || got == "none" {
		t.Errorf("neighbours differ in %q", got)
	}
	must.Equal(t, differingFactors(d, []int{3, 3}), "none", "an image differs from itself in")
	must.ErrorOf(Groups(d, &supervision.Split{Unlabelled: []int{1}}, Options{}))(t, "has no groups")
}
