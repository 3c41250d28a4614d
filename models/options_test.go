package models

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/must"
)

// tree has two options at the top, three options under the second, and two more at the top.
var tree = optionBlocks{Sizes: []int{2, 3, 2}, Parents: []int{-1, 1, -1}}

func weightsOf(x []float64, tau float64) []float64 {
	w := make([]float64, 7)
	for b, r := range [][2]int{{0, 2}, {2, 5}, {5, 7}} {
		var sum float64
		for j := r[0]; j < r[1]; j++ {
			w[j] = math.Exp((x[j] - slices.Max(x[r[0]:r[1]])) / tau)
			sum += w[j]
		}
		for j := r[0]; j < r[1]; j++ {
			w[j] /= sum
			if b == 1 {
				w[j] *= w[1]
			}
		}
	}
	return w
}

func TestOptionWeights(t *testing.T) {
	var cases []gradcheck.Case
	for _, tau := range []float64{1, 0.5, 1e-10} {
		c := gradcheck.Case{Name: "option weights", Inputs: []gradcheck.Input{gradcheck.In(5, 7)},
			Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) { return weighOptions(n[0], tree, tau) },
			Want: func(in [][]float64) (want []float64) {
				for row := range 5 {
					want = append(want, weightsOf(in[0][7*row:7*row+7], tau)...)
				}
				return want
			}}
		cases = append(cases, c)
	}
	gradcheck.CheckAll(t, cases)
}

func TestGate(t *testing.T) {
	columns := []int{-1, 2, 0, 2}
	gradcheck.CheckAll(t, []gradcheck.Case{{Name: "gate", Inputs: []gradcheck.Input{gradcheck.In(5, 4), gradcheck.In(5, 3)},
		Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) { return gateValues(n[0], n[1], columns) },
		Want: func(in [][]float64) []float64 {
			want := slices.Clone(in[0])
			for i := range want {
				if c := columns[i%4]; c >= 0 {
					want[i] *= in[1][i/4*3+c]
				}
			}
			return want
		}}})
}

func TestOptionNumbers(t *testing.T) {
	hard := []float64{
		1, 0, 0, 0, 0, 0, 1,
		0, 1, 0, 0, 1, 1, 0,
		0, 1, 1, 0, 0, 1, 0,
	}
	weights := gradcheck.Input{Shape: []int{3, 7}, Values: hard, Constant: true}
	values := gradcheck.Input{Shape: []int{3, 2}, Values: []float64{0.5, 0, -0.25, 4, 8, 0}, Constant: true}
	numbers := []float64{1, 0, 2, 0.5, 0, 2, 3, 1, -0.25, 4, 2, 1, 1, 8, 0}
	run := func(what string, f func(n []*gorgonia.Node) (*gorgonia.Node, error), want []float64, inputs ...gradcheck.Input) {
		inputs = append(inputs, gradcheck.In(3, len(want)/3))
		gradcheck.CheckAll(t, []gradcheck.Case{{Name: what, Inputs: inputs, Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) {
			x, err := f(n)
			if err != nil {
				return nil, err
			}
			return gorgonia.HadamardProd(x, n[len(n)-1])
		}, Want: func(in [][]float64) []float64 {
			got := slices.Clone(want)
			for i, v := range in[len(in)-1] {
				got[i] *= v
			}
			return got
		}}})
	}
	run("option numbers", func(n []*gorgonia.Node) (*gorgonia.Node,
		error) {
		return numberOptions(n[0], n[1], tree.Sizes)
	}, numbers, weights, values)
	flat := make([]float64, 0, 27)
	for row := range 3 {
		flat = append(append(flat, hard[7*row:7*row+7]...), values.Values[2*row:2*row+2]...)
	}
	// the second value is under the last option of the second dimension
	for row := range 3 {
		if hard[7*row+4] == 0 {
			flat[9*row+8] = 0
		}
	}
	run("numbered options", func(n []*gorgonia.Node) (*gorgonia.Node, error) { return readOptions(n[0], tree, []int{-1, 4}) }, flat,
		gradcheck.Input{Shape: []int{3, 5}, Values: numbers, Constant: true})

	// fractional numbers, and options under an option that is not chosen
	odd := []float64{0.6, 3, 5, 1, 7, -2, 1, 1.4, 2, 7, 2.3, 4, 0.4, 3, 7}
	run("odd numbers", func(n []*gorgonia.Node) (*gorgonia.Node, error) { return readOptions(n[0], tree, []int{-1, 4}) },
		[]float64{1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0},
		gradcheck.Input{Shape: []int{3, 5}, Values: odd, Constant: true})
}

func TestOptionErrors(t *testing.T) {
	for want, build := range map[string]func(g *gorgonia.ExprGraph) error{
		"7 columns of logits": func(g *gorgonia.ExprGraph) error {
			_, err := weighOptions(gradcheck.Node(g, tensor.Float32, "x", 1, 6), tree, 1)
			return err
		},
		"a positive tau": func(g *gorgonia.ExprGraph) error {
			_, err := weighOptions(gradcheck.Node(g, tensor.Float32, "x", 1, 7), tree, 0)
			return err
		},
		"under a column before them": func(g *gorgonia.ExprGraph) error {
			_, err := weighOptions(gradcheck.Node(g, tensor.Float32, "x", 1, 4), optionBlocks{Sizes: []int{2, 2}, Parents: []int{-1, 2}}, 1)
			return err
		},
		"2 columns of weights from -1 to 2": func(g *gorgonia.ExprGraph) error {
			_, err := gateValues(gradcheck.Node(g, tensor.Float32, "x", 1, 2), gradcheck.Node(g, tensor.Float32, "w", 1, 3), []int{0, 3})
			return err
		},
	} {
		must.Error(t, build(gorgonia.NewGraph()), want)
	}
}
