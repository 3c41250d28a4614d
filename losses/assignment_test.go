package losses_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// hierarchicalOutputs has two images, a continuous dimension, and a choice of two options. The second option has a
// dimension.
func hierarchicalOutputs(factors ...factor.Factor) *losses.Input {
	g := gorgonia.NewGraph()
	node := func(name string, values ...float64) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName(name), gorgonia.WithShape(2, len(values)/2),
			gorgonia.WithValue(tensor.New(tensor.WithShape(2, len(values)/2), tensor.WithBacking(values))))
	}
	labels := node("labels", 0.5, 2, 0.5, 1)
	return &losses.Input{Outputs: losses.Outputs{
		Hierarchy: hierarchy.Hierarchy{{}, {Options: []hierarchy.Hierarchy{{}, {{}}}}},
		Options:   node("options", 0.25, 0.75, 0.5, 0.5),
		Sample:    node("sample", 1, 2, 3, 4),
		Rows:      2,
	}, Batch: losses.Batch{Labels: &losses.Labels{Factors: factors, Values: func(losses.Units) (values, known *gorgonia.Node, err error) { return nil, labels, nil },
		Exact: func() (values, known *gorgonia.Node, err error) {
			return node("exact", 1, 2.5, 3, 0), node("known", 1, 1, 1, 0), nil
		}}, Group: 1}}
}

func scalarOf(t *testing.T, n *gorgonia.Node) float64 {
	t.Helper()
	m := must.Get(machine.New(n.Graph(), n))(t)
	must.OK(t, m.RunAll())
	return m.Value(n).Data().(float64)
}

func TestHierarchicalLosses(t *testing.T) {
	number, stick := factor.Factor{Name: "number", Size: 20}, factor.Factor{Name: "stick", Size: 3, Kind: factor.Categorical}
	number.Kind = factor.Ordinal
	for source, want := range map[string]float64{
		"[assignment]":                (2*0.0625 + 2*0.25) / 2 * 1000,
		"[{assignment: {weight: 1}}]": (2*0.0625 + 2*0.25) / 2,
		"[{regression: {weight: 2}}]": 2 * 0.25 / 2,
	} {
		o := must.Get(losses.ComposeInput(hierarchicalOutputs(number, stick), choose(t, source)))(t)
		if got := scalarOf(t, o.Total); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%s: %v, want %v", source, got, want)
		}
	}
	few := stick
	few.Size = 2
	for want, o := range map[string]*losses.Input{
		`factor "stick" has 2 levels, but categorical dimension 1 of the hierarchy has 2 options`: hierarchicalOutputs(few),
		"the supervision has labels of 0 categorical factors; want one for each":                  hierarchicalOutputs(number),
		"the supervision has labels of 2 categorical factors":                                     hierarchicalOutputs(stick, stick),
	} {
		must.ErrorOf(losses.ComposeInput(o, choose(t, "[assignment]")))(t, want)
	}
	flat, blind, plain := hierarchicalOutputs(stick), hierarchicalOutputs(stick), hierarchicalOutputs(stick)
	flat.Trainer = &losses.Requests{}
	flat.Options, blind.Labels, plain.Labels.Exact = nil, nil, nil
	if o, err := losses.ComposeInput(flat, choose(t, "[assignment, regression]")); err != nil ||
		scalarOf(t, o.Parts[0].Node) != 0 || len(flat.Noted()) != 1 ||
		flat.Noted()[0] != "the loss assignment is 0: the hierarchy of the codes has no categorical dimension, and there is nothing to assign" {
		t.Errorf("a flat hierarchy: %v, notes %q", err, flat.Noted())
	}
	for _, c := range []struct {
		o          *losses.Input
		loss, want string
	}{
		{blind, "[assignment]", "it needs labels"}, {blind, "[regression]", "it needs labels"},
		{plain, "[regression]", "hierarchical data set"},
	} {
		must.ErrorOf(losses.ComposeInput(c.o, choose(t, c.loss)))(t, c.want, c.loss)
	}
}

func TestAssignmentError(t *testing.T) {
	labels := gradcheck.Input{Shape: []int{4, 3}, Constant: true, Values: []float64{1, 9, 0, 2, 9, 3, -1, 9, 1, 0, 9, -1}}
	gradcheck.CheckAll(t, []gradcheck.Case{{Name: "assignment error", Inputs: []gradcheck.Input{gradcheck.In(4, 5), labels},
		Build: func(n nodes) (*gorgonia.Node, error) {
			return losses.Assignment(n[0], n[1], []int{2, 3}, []int{0, 2})
		},
		Want: func(in [][]float64) []float64 {
			should := [][]float64{{1, 0, 0, 0, 0}, {0, 1, 0, 0, 1}, {9, 9, 1, 0, 0}, {0, 0, 9, 9, 9}} // 9: unknown
			var sum float64
			for row, s := range should {
				for j, v := range s {
					if d := v - in[0][5*row+j]; v != 9 {
						sum += d * d / 4
					}
				}
			}
			return []float64{sum}
		}}})
}

func TestAssignmentErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	w, l := gradcheck.Node(g, tensor.Float32, "w", 1, 3), gradcheck.Node(g, tensor.Float32, "l", 1, 2)
	must.ErrorOf(losses.Assignment(w, l, []int{3}, []int{2}))(t, "columns of labels below 2")
	for _, sizes := range [][]int{{2}, {1, 2}} { // one column too few, and one block too many
		must.ErrorOf(losses.Assignment(w, l, sizes, []int{0}))(t, "blocks of 3 columns of weights")
	}
}
