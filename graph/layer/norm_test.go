package layer_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

const epsilon = 1e-5

// normaliseBy computes a normalisation from its definition. Elements with equal values of set share mean and variance.
func normaliseBy(x, gamma, beta []float64, channels int, relu bool, set func(i int) int) []float64 {
	n, mean, variance := map[int]float64{}, map[int]float64{}, map[int]float64{}
	for i, v := range x {
		n[set(i)]++
		mean[set(i)] += v
	}
	for s := range mean {
		mean[s] /= n[s]
	}
	for i, v := range x {
		variance[set(i)] += (v - mean[set(i)]) * (v - mean[set(i)]) / n[set(i)]
	}
	return lineOf(x, gamma, beta, channels, relu, func(i int) (float64, float64) { return mean[set(i)], variance[set(i)] })
}

func lineOf(x, gamma, beta []float64, channels int, relu bool, moments func(i int) (mean, variance float64)) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		m, s := moments(i)
		y[i] = (v - m) / math.Sqrt(s+epsilon)
		if gamma != nil {
			y[i] = y[i]*gamma[i%channels] + beta[i%channels]
		}
		if relu {
			y[i] = max(y[i], 0)
		}
	}
	return y
}

func batchNorm(n []*gorgonia.Node, parts int, relu bool) (*gorgonia.Node, error) {
	m, err := layer.BatchMoments(n[0], parts)
	if err != nil {
		return nil, err
	}
	o := layer.NormOptions{Epsilon: epsilon, ReLU: relu}
	if len(n) == 1 {
		return layer.BatchNorm(n[0], m, nil, nil, o)
	}
	return layer.BatchNorm(n[0], m, n[1], n[2], o)
}

func affine(in [][]float64) (gamma, beta []float64) {
	if len(in) == 1 {
		return nil, nil
	}
	return in[len(in)-2], in[len(in)-1]
}

// someImages is an input of six images of 3 by 2 pixels.
var someImages = gradcheck.Input{Shape: []int{6, 3, 2, 8}}

// normCases are normalisations: batch norm if parts is set, otherwise group norm.
var normCases = []struct {
	name   string
	x      gradcheck.Input
	parts  int // for batch norm
	groups int // for group norm
	plain  bool
	relu   bool
	step   float64
	floor  float64
}{
	{name: "batch", x: someImages, parts: 1},
	{name: "batch, two parts", x: someImages, parts: 2},
	{name: "batch, not affine", x: someImages, parts: 3, plain: true},
	{name: "batch, rows, relu", x: gradcheck.In(6, 20), parts: 2, relu: true},
	{name: "batch, wide rows, relu", x: gradcheck.In(4, 600), parts: 2, relu: true},
	{name: "batch, many pieces", x: gradcheck.In(2, 70, 70, 16), parts: 1, relu: true},
	{name: "group", x: someImages, groups: 4},
	{name: "group of one channel: instance", x: someImages, groups: 8},
	{name: "one group: layer", x: someImages, groups: 1},
	{name: "layer on rows", x: gradcheck.In(5, 37), groups: 1},
	{name: "group on rows, relu", x: gradcheck.In(5, 48), groups: 3, relu: true},
	{name: "group of many", x: gradcheck.In(3, 20, 20, 32), groups: 4, relu: true},
	{name: "layer of two elements, one row", x: gradcheck.In(1, 2), groups: 1},
	{name: "group, not affine", x: someImages, groups: 2, plain: true},
	{name: "batch of equal elements", x: gradcheck.Input{Shape: []int{4, 3}, Values: []float64{1.3, -0.7, 2e-3}}, parts: 1, step: 1e-7},
	{name: "group of equal elements", x: gradcheck.Input{Shape: []int{2, 9, 1, 4}, Values: []float64{0.3}}, groups: 2, step: 1e-7},
	{name: "batch of large equal elements", x: gradcheck.Input{Shape: []int{4, 3}, Values: []float64{1e5, -7e5, 0}, Constant: true}, parts: 1},
	{name: "group of large equal elements", x: gradcheck.Input{Shape: []int{2, 9, 1, 4}, Values: []float64{1e5 + 0.3}, Constant: true}, groups: 2},
	{name: "batch of one row a part", x: gradcheck.In(2, 5), parts: 2, floor: 300},
	{name: "batch far from zero", x: gradcheck.Input{Shape: []int{8, 3, 3, 16}, Lo: 100, Hi: 101}, parts: 1},
	{name: "group far from zero", x: gradcheck.Input{Shape: []int{2, 5, 5, 16}, Lo: 100, Hi: 101}, groups: 4},
}

func TestNorms(t *testing.T) {
	long.NotShort(t)
	for _, c := range normCases {
		shape := c.x.Shape
		channels := shape[len(shape)-1]
		inputs := []gradcheck.Input{c.x}
		if !c.plain {
			inputs = append(inputs, gradcheck.Input{Shape: []int{channels}, Lo: 0.5, Hi: 2}, gradcheck.In(channels))
		}
		total := 1
		for _, d := range shape {
			total *= d
		}
		samples := 24
		if total > 10000 && !long.Enabled() {
			samples = 3
		}
		set := func(i int) int {
			if c.groups > 0 {
				return i/(total/shape[0])*c.groups + i%channels/(channels/c.groups)
			}
			return i/(total/c.parts)*channels + i%channels
		}
		gradcheck.CheckAll(t, []gradcheck.Case{{Name: c.name, Inputs: inputs, Samples: samples, Tolerance: 3e-6,
			Tolerance32: 1e-4, Floor32: max(0.1, c.floor), Step: c.step,
			Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) {
				if c.groups == 0 {
					return batchNorm(n, c.parts, c.relu)
				}
				o := layer.NormOptions{Epsilon: epsilon, ReLU: c.relu}
				if c.plain {
					return layer.GroupNorm(n[0], nil, nil, c.groups, o)
				}
				return layer.GroupNorm(n[0], n[1], n[2], c.groups, o)
			},
			Want: func(in [][]float64) []float64 {
				gamma, beta := affine(in)
				return normaliseBy(in[0], gamma, beta, channels, c.relu, set)
			}}})
	}
}

func TestStandardise(t *testing.T) {
	moments := gradcheck.Input{Shape: []int{1, 2, 5}, Lo: 0.2, Hi: 2, Constant: true}
	gradcheck.CheckAll(t, []gradcheck.Case{{Name: "standardise",
		Inputs: []gradcheck.Input{gradcheck.In(4, 3, 5), moments, gradcheck.In(5), gradcheck.In(5)},
		Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Standardise(n[0], n[1], n[2], n[3], layer.NormOptions{Epsilon: epsilon, ReLU: true})
		},
		Want: func(in [][]float64) []float64 {
			return lineOf(in[0], in[2], in[3], 5, true, func(i int) (float64, float64) { return in[1][i%5], in[1][5+i%5] })
		}}})
}

// The moments are exact for equal elements and accurate for a large mean.
func TestBatchMoments(t *testing.T) {
	g := gorgonia.NewGraph()
	x := gradcheck.Node(g, tensor.Float32, "x", 4, 50, 3)
	values := x.Value().Data().([]float32)
	for i := range values {
		values[i] += 1000
		if i%3 == 2 {
			values[i] = 1234.567
		}
	}
	n := gradcheck.Must(t)(layer.BatchMoments(x, 2))
	m, err := machine.New(n.Graph(), n)
	if err == nil {
		err = m.RunAll()
	}
	must.OK(t, err)
	got := m.Value(n).Data().([]float32)
	for part := range 2 {
		var mean, variance [3]float64
		x := values[part*300 : (part+1)*300]
		for i, v := range x {
			mean[i%3] += float64(v) / 100
		}
		for i, v := range x {
			variance[i%3] += (float64(v) - mean[i%3]) * (float64(v) - mean[i%3]) / 100
		}
		for c := range 3 {
			if d := float64(got[6*part+c]) - mean[c]; !(math.Abs(d) <= 1e-4) {
				t.Errorf("part %d: mean %d is %v too large", part, c, d)
			}
			if d := float64(got[6*part+3+c]) - variance[c]; !(math.Abs(d) <= 1e-6) || c == 2 && got[6*part+5] != 0 {
				t.Errorf("part %d: variance %d is %v too large", part, c, d)
			}
		}
	}
}

// Forward and backward allocate nothing after the first run, whether the work is split into pieces or sets.
func TestNormAllocations(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		g, ok := gorgonia.NewGraph(), gradcheck.Must(t)
		x := gradcheck.Node(g, dt, "x", 4, 6, 6, 16)
		gamma, beta := gradcheck.Node(g, dt, "gamma", 16), gradcheck.Node(g, dt, "beta", 16)
		y := ok(batchNorm([]*gorgonia.Node{x, gamma, beta}, 2, true))
		z := ok(layer.GroupNorm(x, gamma, beta, 4, layer.NormOptions{Epsilon: epsilon, ReLU: true}))
		gradcheck.AllocationFree(t, dt, ok(losses.BernoulliReconstruction(x, ok(graph.WeightedSum([]float64{1, 2}, y, z)))), x, gamma, beta)
	}
}

func TestNormErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	x := gradcheck.Node(g, tensor.Float32, "x", 4, 6)
	v, w := gradcheck.Node(g, tensor.Float32, "v", 6), gradcheck.Node(g, tensor.Float32, "w", 5)
	o := layer.NormOptions{Epsilon: epsilon}
	m := must.Get(layer.BatchMoments(x, 2))(t)
	second := func(_ *gorgonia.Node, err error) error { return err }
	for want, err := range map[string]error{
		"a batch of 3 equal parts":                second(layer.BatchMoments(x, 3)),
		"[batch, ..., channels]":                  second(layer.BatchMoments(v, 1)),
		"a number of groups that divides 6":       second(layer.GroupNorm(x, nil, nil, 4, o)),
		"more than one element":                   second(layer.GroupNorm(x, nil, nil, 6, o)),
		"group norm: want gamma and beta":         second(layer.GroupNorm(x, v, nil, 2, o)),
		"gamma and beta of shape (6)":             second(layer.GroupNorm(x, v, w, 2, o)),
		"a positive epsilon":                      second(layer.GroupNorm(x, v, v, 2, layer.NormOptions{})),
		"moments of shape (parts, 2, 6)":          second(layer.BatchNorm(x, v, nil, nil, o)),
		"standardise: want moments of shape (1, ": second(layer.Standardise(x, m, nil, nil, o)),
	} {
		must.Error(t, err, want)
	}
}
