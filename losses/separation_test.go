package losses_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/logic"
)

// TestSeparationGolden compares values and gradients with the results of separation.py.
func TestSeparationGolden(t *testing.T) {
	var golden struct {
		Different []float64
		Cases     []struct {
			Aggregate   factor.Aggregate
			Margin      float64
			Blocks      [][2]json.RawMessage
			Z, Gradient []float64
			Value       float64
		}
	}
	must.ReadJSON(t, "testdata/separation.json", &golden)
	positive := 0
	for i, c := range golden.Cases {
		blocks := make([]factor.Block, len(c.Blocks))
		for b, parts := range c.Blocks {
			if json.Unmarshal(parts[0], &blocks[b].Factor) != nil || json.Unmarshal(parts[1], &blocks[b].Columns) != nil {
				t.Fatalf("case %d: blocks %s", i, c.Blocks)
			}
		}
		value, gradient := separationOf(t, func(z, different *gorgonia.Node) (*gorgonia.Node, error) {
			return losses.Separation(c.Aggregate, c.Margin, z, different, blocks...)
		}, c.Z, 4, golden.Different, 2)
		if c.Value > 0 {
			positive++
		}
		if !(math.Abs(value-c.Value) <= 1e-12) {
			t.Errorf("case %d: %v, want %v", i, value, c.Value)
		}
		for at, g := range gradient {
			if !(math.Abs(g-c.Gradient[at]) <= 1e-12) {
				t.Errorf("case %d: gradient %d is %v, want %v", i, at, g, c.Gradient[at])
			}
		}
	}
	if len(golden.Cases) != 16 || positive < 12 {
		t.Errorf("%d of %d cases are above 0", positive, len(golden.Cases))
	}
}

// TestSeparationHard checks values and gradients for equal codes, distant codes, and no pairs.
func TestSeparationHard(t *testing.T) {
	of := func(a factor.Aggregate) func(z, different *gorgonia.Node) (*gorgonia.Node, error) {
		return func(z, different *gorgonia.Node) (*gorgonia.Node, error) {
			return losses.Separation(a, 2, z, different)
		}
	}
	for _, test := range []struct {
		name         string
		a            factor.Aggregate
		z, different []float64
		value        float64
		gradient     []float64
	}{
		{"equal codes", factor.Mean, []float64{3, 3}, []float64{1, 0}, 2, []float64{0, 0}},
		{"at the margin", factor.Mean, []float64{1, 3}, []float64{1, 0}, 0, []float64{0, 0}},
		{"close", factor.Sum, []float64{1, 1.5}, []float64{1, 0}, 1.5, []float64{1, -1}},
		{"named by one row", factor.Sum, []float64{1, 1.5}, []float64{1, -1}, 1.5, []float64{1, -1}},
		{"a chain", factor.Sum, []float64{0, 1, 2.5}, []float64{1, 2, 1}, 1 + 0.5, []float64{1, -1 + 1, -1}},
		{"ties", factor.Max, []float64{0, 1, 0, 1}, []float64{1, 0, 3, 2}, 1, []float64{1, -1, 0, 0}},
		{"itself, and rows that are not there", factor.Mean, []float64{0, 1, 2}, []float64{0, 3, math.NaN()}, 0, []float64{0, 0, 0}},
		{"not a number", factor.Mean, []float64{math.NaN(), 1}, []float64{1, 0}, math.NaN(), nil},
	} {
		value, gradient := separationOf(t, of(test.a), test.z, 1, test.different, 1)
		if value != test.value && !(math.IsNaN(value) && math.IsNaN(test.value)) ||
			test.gradient != nil && fmt.Sprint(gradient) != fmt.Sprint(test.gradient) {
			t.Errorf("%s: %v, gradient %v; want %v, %v", test.name, value, gradient, test.value, test.gradient)
		}
	}
	z, d := gradcheck.Input{Shape: []int{6, 4}},
		gradcheck.Input{Shape: []int{6, 2}, Constant: true, Values: []float64{3, 1, -1, 0, 4, -1, 0, 5, 2, -1, -1, 3}}
	for _, a := range []factor.Aggregate{factor.Mean, factor.Max, factor.Sum, factor.MeanSquare} {
		gradcheck.Check(t, gradcheck.Case{Name: fmt.Sprint("separation ", a), Inputs: []gradcheck.Input{z, d}, Floor32: 0.1,
			Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) { return losses.Separation(a, 3, n[0], n[1]) }})
	}
}

// separationOf returns value and gradient of a node of codes and different rows.
func separationOf(t *testing.T, f func(z, different *gorgonia.Node) (*gorgonia.Node, error), z []float64, width int,
	different []float64, factors int) (float64, []float64) {
	t.Helper()
	g := gorgonia.NewGraph()
	node := func(name string, x []float64, columns int) *gorgonia.Node {
		v := tensor.New(tensor.WithShape(len(x)/columns, columns), tensor.WithBacking(slices.Clone(x)))
		return gorgonia.NodeFromAny(g, v, gorgonia.WithName(name))
	}
	codes := node("z", z, width)
	n := must.Get(f(codes, node("different", different, factors)))(t)
	return valueAndGradient(t, n, codes)
}

func TestSeparationErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	node := func(shape ...int) *gorgonia.Node {
		return gradcheck.Node(g, gorgonia.Float64, fmt.Sprint(shape), shape...)
	}
	for _, margin := range []float64{0, -1, math.Inf(1), math.NaN()} {
		must.ErrorOf(losses.Separation(factor.Mean, margin, node(4, 2), node(4, 2)))(t, "positive margin", margin)
	}
	must.ErrorOf(losses.Separation(factor.Mean, 1, node(4, 3), node(4, 2)))(t, "cannot be divided evenly")
	must.ErrorOf(losses.Separation(factor.Mean, 1, node(4, 2), node(5, 2)))(t, "labels of shape [4]")
	for text, want := range map[string]string{
		"[{separation: {margin: 0}}]":      "margin: want more than 0",
		"[{separation: {margin: .inf}}]":   "margin: want more than 0",
		"[{separation: {aggregate: few}}]": "aggregate",
	} {
		var s struct {
			Losses []losses.Choice `yaml:"losses"`
		}
		must.Error(t, config.Load("l.yaml", []byte("losses: "+text), &s), want, text)
	}
	in := batch(t)
	must.ErrorOf(losses.ComposeInput(in, choose(t, "[separation]")))(t, "pairs of images known to differ; want a supervision with such pairs")
}

// TestSeparationIsASentence compares separation with the equivalent sentence.
func TestSeparationIsASentence(t *testing.T) {
	sentence, err := logic.Parse("forall[mean] i, j: y.a(i) != y.a(j) -> (z(i) =[euclidean] z(j) -> y.a(i) =[discrete] y.a(j))")
	must.OK(t, err)
	q := must.Get(logic.Compile(sentence, logic.Schema{Codes: 2, Factors: []string{"a"}}))(t)
	for _, z := range [][]float64{{0.1, 0.4, -0.2, 0.5}, {0.1, 0.4, 3, 0.5}} {
		g := gorgonia.NewGraph()
		codes := gorgonia.NodeFromAny(g, tensor.New(tensor.WithShape(2, 2), tensor.WithBacking(slices.Clone(z))), gorgonia.WithName("z"))
		levels := func(name string) *gorgonia.Node {
			return gorgonia.NodeFromAny(g, tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{0, 1})), gorgonia.WithName(name))
		}
		n := must.Get(losses.Logic(q, codes, levels("values"), levels("levels")))(t)
		want, slopes := valueAndGradient(t, n, codes)
		value, gradient := separationOf(t, func(z, different *gorgonia.Node) (*gorgonia.Node, error) {
			return losses.Separation(factor.Mean, 1, z, different, factor.Block{Columns: []int{0, 1}})
		}, z, 2, []float64{1, 0}, 1)
		if !(math.Abs(value-want) <= 1e-12) {
			t.Errorf("%v: %v, the sentence has %v", z, value, want)
		}
		for at := range gradient {
			if !(math.Abs(gradient[at]-slopes[at]) <= 1e-12) {
				t.Errorf("%v: gradient %v, the sentence has %v", z, gradient, slopes)
			}
		}
	}
}
