package losses_test

import (
	"fmt"
	"log"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/internal/contrast"
)

func constantInput(shape ...int) gradcheck.Input {
	return gradcheck.Input{Shape: shape, Constant: true}
}

func inner(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func TestCosineRegression(t *testing.T) {
	want := func(rows, d int) func(in [][]float64) []float64 {
		return func(in [][]float64) []float64 {
			sum := 0.0
			for i := range rows {
				j := (i + rows/2) % rows
				p, t := in[0][i*d:(i+1)*d], in[1][j*d:(j+1)*d]
				sum += 2 - 2*inner(p, t)/math.Sqrt(max(inner(p, p), 1e-24)*max(inner(t, t), 1e-24))
			}
			return []float64{sum / float64(rows/2)}
		}
	}
	build := func(n nodes) (*gorgonia.Node, error) { return losses.CosineRegression(n[0], n[1]) }
	same := gradcheck.Input{Shape: []int{2, 4}, Values: []float64{1, -2, 3, 0.5}}
	held := same
	held.Constant = true
	zero := gradcheck.Input{Shape: []int{2, 3}, Values: []float64{0, 0, 0, 1, 2, 3}, Constant: true}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "cosine regression", Inputs: []gradcheck.Input{gradcheck.In(6, 5), constantInput(6, 5)}, Build: build, Want: want(6, 5)},
		{Name: "one image", Inputs: []gradcheck.Input{gradcheck.In(2, 300), constantInput(2, 300)}, Build: build, Want: want(2, 300)},
		{Name: "targets met", Inputs: []gradcheck.Input{same, held}, Build: build, Want: func([][]float64) []float64 { return []float64{0} }, Floor32: 1},
		{Name: "target of norm 0", Inputs: []gradcheck.Input{gradcheck.In(2, 3), zero}, Build: build, Want: want(2, 3)},
	})
}

// A prediction with norm below 1e-12 is divided by 1e-12.
func TestCosineRegressionOfNothing(t *testing.T) {
	g := gorgonia.NewGraph()
	p, target := gradcheck.Node(g, tensor.Float64, "p", 2, 2), gradcheck.Node(g, tensor.Float64, "t", 2, 2)
	copy(p.Value().Data().([]float64), []float64{3e-13, 0, 2, 0})
	copy(target.Value().Data().([]float64), []float64{1, 0, 4, 3})
	grads := must.Get(gorgonia.Grad(gradcheck.Must(t)(losses.CosineRegression(p, target)), p))(t)
	m, err := machine.New(grads[0].Graph(), grads...)
	if err == nil {
		err = m.RunAll()
	}
	must.OK(t, err)
	for i, want := range []float64{-2 * 0.8e12, -2 * 0.6e12, 0, 0} {
		if got := m.Value(grads[0]).Data().([]float64)[i]; !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
			t.Errorf("element %d of the gradient is %v, want %v", i, got, want)
		}
	}
}

func TestInfoNCE(t *testing.T) {
	for _, c := range []struct {
		name    string
		n, d, m int
		tau     float64
	}{{"info-nce", 5, 7, 40, 0.5}, {"one query, one negative", 1, 3, 1, 1}, {"cold", 4, 6, 33, 0.02}, {"very cold", 6, 6, 5, 1e-4}} {
		unit := gradcheck.Input{Shape: []int{c.n, c.d}, Lo: -0.5, Hi: 0.5}
		gradcheck.CheckAll(t, []gradcheck.Case{{Name: c.name,
			Inputs: []gradcheck.Input{unit, unit, {Shape: []int{c.d, c.m}, Lo: -0.5, Hi: 0.5, Constant: true}}, Tolerance32: 1e-4,
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.InfoNCE(n[0], n[1], n[2], c.tau) },
			Want: func(in [][]float64) []float64 {
				sum := 0.0
				for i := range c.n {
					q := in[0][i*c.d : (i+1)*c.d]
					own := inner(q, in[1][i*c.d:(i+1)*c.d]) / c.tau
					all := []float64{own}
					for j := range c.m {
						dot := 0.0
						for k, v := range q {
							dot += v * in[2][k*c.m+j]
						}
						all = append(all, dot/c.tau)
					}
					most, rest := slices.Max(all), 0.0
					for _, v := range all {
						rest += math.Exp(v - most)
					}
					sum += (math.Log(rest) + most - own) / float64(c.n)
				}
				return []float64{sum}
			}}})
	}
}

func TestCrossCorrelation(t *testing.T) {
	for _, c := range []struct {
		name   string
		n, d   int
		lambda float64
	}{{"cross-correlation", 5, 4, 0.5}, {"wide", 3, 70, 0.0051}, {"one image", 1, 3, 0.1}, {"one column", 4, 1, 2}, {"lambda 0", 6, 5, 0}} {
		gradcheck.CheckAll(t, []gradcheck.Case{{Name: c.name, Inputs: []gradcheck.Input{gradcheck.In(2*c.n, c.d)}, Tolerance32: 1e-4,
			Build: func(n nodes) (*gorgonia.Node, error) { return contrast.CorrelationPenalty(n[0], c.lambda) },
			Want: func(in [][]float64) []float64 {
				sum := 0.0
				for i := range c.d {
					for j := range c.d {
						r := 0.0
						for b := range c.n {
							r += in[0][b*c.d+i] * in[0][(c.n+b)*c.d+j] / float64(c.n)
						}
						if i == j {
							sum += (1 - r) * (1 - r)
						} else {
							sum += c.lambda * r * r
						}
					}
				}
				return []float64{sum}
			}}})
	}
}

func TestViewAllocations(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		g, ok := gorgonia.NewGraph(), gradcheck.Must(t)
		p, q, u := gradcheck.Node(g, dt, "p", 6, 5), gradcheck.Node(g, dt, "t", 6, 5), gradcheck.Node(g, dt, "u", 5, 20)
		gradcheck.AllocationFree(t, dt,
			ok(graph.WeightedSum([]float64{1, 2, 3}, ok(losses.CosineRegression(p, q)), ok(contrast.CorrelationPenalty(p, 0.1)),
				ok(losses.InfoNCE(ok(graph.SliceRows(p, 0, 3)), ok(graph.SliceRows(q, 1, 4)), u, 0.2)))), p)
	}
}

func TestViewErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	x, y := gradcheck.Node(g, tensor.Float32, "x", 4, 6), gradcheck.Node(g, tensor.Float32, "y", 3, 6)
	second := func(_ *gorgonia.Node, err error) error { return err }
	for want, err := range map[string]error{
		"cosine regression: want an even number of rows":                     second(losses.CosineRegression(y, y)),
		"targets of one shape [rows, columns], got [(4, 6) (3, 6)]":          second(losses.CosineRegression(x, y)),
		"cross-correlation: want an even number":                             second(contrast.CorrelationPenalty(y, 1)),
		"queries and keys of one shape [rows, columns], got [(4, 6) (3, 6)]": second(losses.InfoNCE(x, y, y, 1)),
		"negatives of shape (6, K)":                                          second(losses.InfoNCE(x, x, y, 1)),
		"rows [2, 5)":                                                        second(graph.SliceRows(x, 2, 5)),
		"rows [2, 2)":                                                        second(graph.SliceRows(x, 2, 2)),
	} {
		must.Error(t, err, want)
	}
	u := gradcheck.Node(g, tensor.Float32, "u", 6, 9)
	must.ErrorOf(losses.InfoNCE(x, x, u, 0))(t, "a positive temperature")
}

// The prediction of the first view is the target of the second view. The prediction of the second view is at a right
// angle to the target of the first.
func ExampleCosineRegression() {
	g := gorgonia.NewGraph()
	predictions := matrix(g, "predictions", 2, 2, 3, 0, 0, 1)
	targets := matrix(g, "targets", 2, 2, 5, 0, 0.5, 0)
	loss, err := losses.CosineRegression(predictions, targets)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.4f\n", loss.Value().Data())
	// Output: 2.0000
}

// Two columns agree in both views, and are equal up to sign. Only the correlations off the diagonal count.
func ExampleCrossCorrelation() {
	g := gorgonia.NewGraph()
	z := matrix(g, "z", 6, 2, -1, 2, 0, 0, 1, -2, -1, 2, 0, 0, 1, -2)
	loss, err := losses.CrossCorrelation(z, 0.5)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.3f\n", loss.Value().Data())
	// Output: 1.000
}

func ExampleInfoNCE() {
	g := gorgonia.NewGraph()
	q, k := matrix(g, "q", 1, 2, 1, 0), matrix(g, "k", 1, 2, 0, 1)
	negatives := matrix(g, "negatives", 2, 3, 0, 0, 0, 1, -1, 1)
	loss, err := losses.InfoNCE(q, k, negatives, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.4f\n", loss.Value().Data()) // all four are orthogonal: log 4
	// Output: 1.3863
}

// The loss standardises projections itself. Its value does not change with the scale and mean of a column in a view,
// and its gradient goes through mean and variance.
func TestCrossCorrelationStandardises(t *testing.T) {
	gradcheck.Check(t, gradcheck.Case{Name: "cross-correlation", Inputs: []gradcheck.Input{{Shape: []int{8, 3}}}, Tolerance32: 1e-3,
		Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) { return losses.CrossCorrelation(n[0], 0.3) },
		Want: func(in [][]float64) []float64 {
			z := make([]float64, 24)
			for half := range 2 {
				for c := range 3 {
					mean, variance := 0.0, 0.0
					for r := range 4 {
						mean += in[0][(4*half+r)*3+c] / 4
					}
					for r := range 4 {
						d := in[0][(4*half+r)*3+c] - mean
						variance += d * d / 4
					}
					for r := range 4 {
						z[(4*half+r)*3+c] = (in[0][(4*half+r)*3+c] - mean) / math.Sqrt(variance+1e-5)
					}
				}
			}
			sum := 0.0
			for i := range 3 {
				for j := range 3 {
					r := 0.0
					for b := range 4 {
						r += z[3*b+i] * z[12+3*b+j] / 4
					}
					if i == j {
						sum += (1 - r) * (1 - r)
					} else {
						sum += 0.3 * r * r
					}
				}
			}
			return []float64{sum}
		}})
}

func TestViewConfigErrors(t *testing.T) {
	for source, want := range map[string]string{
		"[{cosine-regression: {weight: -1}}]": "losses.0.cosine-regression.weight: want a number from 0",
		"[{cross-correlation: {lambda: -1}}]": "lambda: want 0 or more",
		"[{cross-correlation: {weight: -1}}]": "weight: want a number from 0",
		"[{info-nce: {temperature: 0}}]":      "temperature: want more than 0",
		"[{info-nce: {weight: -1}}]":          "weight: want a number from 0",
	} {
		var s struct {
			Losses []losses.Choice `yaml:"losses"`
		}
		must.Error(t, config.Load("l.yaml", []byte("losses: "+source), &s), want, source)
	}
}
