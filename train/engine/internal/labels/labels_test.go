package labels

import (
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// TestLabelInputs checks the inputs of losses for the factors of a batch.
func TestLabelInputs(t *testing.T) {
	known := &supervision.Labels{Factors: []factor.Factor{
		{Name: "size", Size: 3, Kind: factor.Ordinal, Values: []float64{2, 4, 6}},
		{Name: "angle", Size: 4, Kind: factor.Circular},
		{Name: "shape", Size: 3, Kind: factor.Categorical}}}
	l := New(known, nil)
	g := nn.NewGraph(nn.NewParams(1))
	labels := l.Offer(g, 2)
	l.Fill(supervision.Batch{Levels: []int32{0, 0, 0, 1, 1, 1}}) // no loss has requested an input
	groups := must.Get(labels.Groups())(t)
	values, levels, err := labels.Values(losses.UnitsAsGiven)
	must.OK(t, err)
	if levels != groups {
		t.Error("levels are another input than groups, and no similarity is known")
	}
	if again, err := labels.Groups(); err != nil || again != groups {
		t.Error("the second loss that asks gets another input")
	}
	l.Fill(supervision.Batch{Levels: []int32{2, 3, 2, -1, 1, 0}})
	must.EqualSlices(t, nn.Data(groups), []float32{2, 3, 2, -1, 1, 0}, "groups")
	must.EqualSlices(t, nn.Data(values), []float32{1, 0.75, 1, 0, 0.25, 0}, "values")
	l.Fill(supervision.Batch{}) // a batch without labels
	must.EqualSlices(t, nn.Data(groups), []float32{-1, -1, -1, -1, -1, -1}, "groups")
	if got := nn.Data(values); slices.Max(got) != 0 || slices.Min(got) != 0 {
		t.Errorf("values %v of which nothing is known, want 0", got)
	}
	known.Pairs = []supervision.SimilarPair{{A: 0, B: 1}}
	if _, _, err := New(known, nil).Offer(g, 2).Values(losses.UnitsRange); err == nil ||
		!strings.Contains(err.Error(), "only has similarities") {
		t.Errorf("values of similarities: error %v", err)
	}
}
