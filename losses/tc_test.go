package losses_test

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/internal/dependence"
)

// tcOf estimates the total correlation by definition.
func tcOf(e losses.TCEstimator, size, n, width int, z, mean, logVariance, mask []float64) float64 {
	on := func(r, c int) bool { return mask == nil || mask[r*width+c] > 0.5 }
	same := func(r, s int) bool {
		for c := range width {
			if on(r, c) != on(s, c) {
				return false
			}
		}
		return true
	}
	// density estimates the density at row j from the rows that belongs accepts.
	density := func(j int, columns []int, belongs func(i int) bool) float64 {
		var rows []int
		own := -1
		for i := range n {
			if belongs(i) {
				if i == j {
					own = len(rows)
				}
				rows = append(rows, i)
			}
		}
		m := float64(len(rows))
		big := float64(size) * m / float64(n)
		sum := 0.0
		for k, i := range rows {
			p := 1.0
			for _, c := range columns {
				v := math.Exp(logVariance[i*width+c])
				d := z[j*width+c] - mean[i*width+c]
				p *= math.Exp(-d*d/(2*v)) / math.Sqrt(2*math.Pi*v)
			}
			switch {
			case e == losses.TCWeighted:
				p /= m * big
			case e == losses.TCStratified && m > 1 && k == own:
				p /= big
			case e == losses.TCStratified && m > 1 && k == (own+1)%len(rows):
				p *= (big - (m - 1)) / (big * (m - 1))
			case e == losses.TCStratified && m > 1:
				p /= m - 1
			}
			sum += p
		}
		return math.Log(sum)
	}
	total := 0.0
	for j := range n {
		var columns []int
		for c := range width {
			if on(j, c) {
				columns = append(columns, c)
			}
		}
		if len(columns) < 2 {
			continue
		}
		total += density(j, columns, func(i int) bool { return same(i, j) })
		for _, c := range columns {
			total -= density(j, []int{c}, func(i int) bool { return on(i, c) })
		}
	}
	return total / float64(n)
}

func tcCase(name string, e losses.TCEstimator, size, n, width int, mask []float64) gradcheck.Case {
	shape := []int{n, width}
	c := gradcheck.Case{
		Name:   fmt.Sprintf("%v: %s", e, name),
		Inputs: []gradcheck.Input{{Shape: shape}, {Shape: shape}, {Shape: shape, Lo: -2, Hi: 1}},
		Build: func(in nodes) (*gorgonia.Node, error) {
			var m *gorgonia.Node
			if mask != nil {
				m = in[3]
			}
			return dependence.TotalCorrelation(in[0], in[1], in[2], m, dependence.Estimator(e), size)
		},
		Want: func(in [][]float64) []float64 {
			var m []float64
			if mask != nil {
				m = in[3]
			}
			return []float64{tcOf(e, size, n, width, in[0], in[1], in[2], m)}
		},
		Tolerance32: 5e-5, Floor32: 0.1, Samples: 20,
	}
	if mask != nil {
		c.Inputs = append(c.Inputs, gradcheck.Input{Shape: shape, Values: mask, Constant: true})
	}
	return c
}

func TestMinibatchTC(t *testing.T) {
	long.NotShort(t)
	tree := []float64{1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1}
	for _, e := range []losses.TCEstimator{losses.TCMinibatch, losses.TCWeighted, losses.TCStratified} {
		many, manyOfTree := tcCase("many rows", e, 1000, 150, 5, nil), tcCase("a big tree", e, 500, 140, 4, tree)
		many.Samples, manyOfTree.Samples = 5, 5
		gradcheck.CheckAll(t, []gradcheck.Case{
			many, manyOfTree,
			tcCase("a few rows", e, 50, 6, 3, nil),
			tcCase("the whole data set", e, 33, 33, 2, nil),
			tcCase("one column", e, 50, 6, 1, nil),
			tcCase("one row", e, 50, 1, 3, nil),
			tcCase("two rows", e, 3, 2, 3, nil),
			tcCase("a mask of ones", e, 50, 7, 4, []float64{1}),
			tcCase("a mask of zeros", e, 50, 7, 4, []float64{0}),
			tcCase("a tree", e, 50, 7, 4, tree),
			tcCase("an empty column", e, 50, 9, 3, []float64{1, 0, 1}),
			tcCase("one active column", e, 50, 9, 3, []float64{0, 1, 0}),
			tcCase("every row on its own", e, 50, 4, 4, []float64{1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1}),
		})
	}
	same := tcCase("repeated rows", losses.TCMinibatch, 0, 5, 2, nil)
	for i := range same.Inputs {
		same.Inputs[i].Values = []float64{0.5, -0.25}
	}
	far := tcCase("components far apart", losses.TCMinibatch, 0, 4, 2, nil)
	far.Inputs[0].Values = []float64{0, 0, 30, -30, -60, 60, 90, 90}
	far.Inputs[1].Values = []float64{0.1, 0, 30, -30.2, -60, 60, 90, 90.1}
	far.Inputs[2].Values = []float64{-2}
	far.Want = nil // probabilities would underflow
	lost := tcCase("draws far from all components", losses.TCMinibatch, 0, 4, 2, nil)
	lost.Inputs[0].Values = []float64{6, -6.5, 7, 6, -6, -7, 6.5, 6.25}
	lost.Inputs[1].Values = []float64{0, 0.25, 0.5, 0.125}
	lost.Inputs[2].Values = []float64{-2, -1.75}
	lost.Tolerance32 = 1e-3 // large terms cancel
	gradcheck.CheckAll(t, []gradcheck.Case{same, far, lost})
}

// A mask of ones changes no bit.
func TestMaskOfOnes(t *testing.T) {
	stream := func(i, j int) float64 { return math.Sin(float64(31*i + 7*j*j)) }
	values := make([][]float64, 4)
	for i := range values {
		values[i] = make([]float64, 70*3)
		for j := range values[i] {
			values[i][j] = stream(i+1, j)
			if i == 3 {
				values[i][j] = 1
			}
		}
	}
	shape := []int{70, 3}
	plain, dPlain := runScalar(t, func(in nodes) (*gorgonia.Node, error) {
		return dependence.TotalCorrelation(in[0], in[1], in[2], nil, dependence.Stratified, 100)
	}, values[:3], shape, shape, shape)
	masked, dMasked := runScalar(t, func(in nodes) (*gorgonia.Node, error) {
		return dependence.TotalCorrelation(in[0], in[1], in[2], in[3], dependence.Stratified, 100)
	}, values, shape, shape, shape, shape)
	must.Equal(t, plain, masked, "without a mask")
	for i := range dPlain {
		if dPlain[i] != dMasked[i] {
			t.Fatalf("gradient %d: %v without a mask, %v with a mask of ones", i, dPlain[i], dMasked[i])
		}
	}
}

func TestMinibatchTCErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	node := func(shape ...int) *gorgonia.Node {
		return gorgonia.NewTensor(g, tensor.Float64, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(fmt.Sprint(shape)))
	}
	a, b := node(4, 3), node(4, 2)
	for _, c := range []struct {
		z, m, v, mask *gorgonia.Node
		e             losses.TCEstimator
		size          int
		want          string
	}{
		{a, b, a, nil, losses.TCMinibatch, 0, "of one shape"},
		{a, a, b, nil, losses.TCMinibatch, 0, "of one shape"},
		{b, a, a, nil, losses.TCMinibatch, 0, "of one shape"},
		{a, a, node(5, 3), nil, losses.TCMinibatch, 0, "of one shape"},
		{a, a, node(4, 3, 1), nil, losses.TCMinibatch, 0, "of one shape"},
		{a, a, a, node(4), losses.TCMinibatch, 0, "of one shape"},
		{a, a, a, b, losses.TCMinibatch, 0, "of one shape"},
		{node(4), a, a, nil, losses.TCMinibatch, 0, "of one shape [rows, columns], got [(4)"},
		{a, a, a, nil, losses.TCWeighted, 0, "size of the data set"},
		{a, a, a, nil, losses.TCStratified, 3, "size of the data set"},
		{a, a, a, nil, 9, 3, "an estimator"},
	} {
		must.ErrorOf(dependence.TotalCorrelation(c.z, c.m, c.v, c.mask, dependence.Estimator(c.e), c.size))(t, c.want)
	}
	for _, e := range []losses.TCEstimator{losses.TCMinibatch, losses.TCWeighted, losses.TCStratified} {
		if got, err := dependence.ParseEstimator(e.String()); got != dependence.Estimator(e) || err != nil {
			t.Errorf("ParseEstimator(%q) = %v, %v", e, got, err)
		}
	}
	if _, err := dependence.ParseEstimator("exact"); err == nil {
		t.Error("an unknown estimator was accepted")
	}
}

func BenchmarkMinibatchTC(b *testing.B) {
	benchmarkLoss(b, func(z, _ *gorgonia.Node) (*gorgonia.Node, error) {
		logVariance, err := graph.Scale(0.5, z)
		if err != nil {
			return nil, err
		}
		mean, err := graph.Scale(0.9, z)
		if err != nil {
			return nil, err
		}
		return dependence.TotalCorrelation(z, mean, logVariance, nil, dependence.Minibatch, 0)
	})
}
