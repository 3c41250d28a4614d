package layer_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/long"
)

// activations lists all activations.
func activations() (list []graph.Activation) {
	for i := range kernel.ActivationNames() {
		list = append(list, graph.Activation(i))
	}
	return list
}

func TestDense(t *testing.T) {
	var cases []gradcheck.Case
	for _, a := range activations() {
		for _, s := range [][3]int{{1, 1, 1}, {3, 5, 4}, {17, 33, 35}} {
			cases = append(cases, gradcheck.Case{
				Name:    fmt.Sprintf("%v %v", a, s),
				Inputs:  []gradcheck.Input{gradcheck.In(s[0], s[1]), gradcheck.In(s[1], s[2]), gradcheck.In(s[2])},
				Build:   func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Dense(n[0], n[1], n[2], a) },
				Samples: 12,
				// The slope of a saturated tanh, 1 - y^2, suffers from cancellation.
				Tolerance32: 2e-4,
			})
		}
	}
	cases = append(cases, gradcheck.Case{
		Name: "value",
		Inputs: []gradcheck.Input{{Shape: []int{1, 2}, Values: []float64{2, 3}},
			{Shape: []int{2, 2}, Values: []float64{1, 10, 100, 1000}}, {Shape: []int{2}, Values: []float64{0.5, -0.5}}},
		Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Dense(n[0], n[1], n[2], graph.Linear) },
		Want:  func([][]float64) []float64 { return []float64{302.5, 3019.5} },
	})
	gradcheck.CheckAll(t, cases)
}

type convCase struct{ batch, side, width, in, out, k int }

func TestConv(t *testing.T) {
	long.NotShort(t)
	var cases []gradcheck.Case
	for _, s := range []convCase{{2, 6, 6, 3, 5, 4}, {1, 5, 5, 1, 2, 3}, {2, 7, 7, 2, 3, 2}, {1, 1, 1, 1, 1, 4}, {1, 6, 4, 3, 2, 4},
		{2, 7, 4, 2, 3, 3}, {1, 1, 9, 2, 3, 3}, {1, 9, 1, 2, 3, 4}, {2, 1, 6, 3, 2, 5}, {1, 2, 3, 2, 2, 7}, {1, 12, 8, 1, 2, 3}, {1, 5, 8, 2, 2, 1},
		{2, 7, 5, 16, 17, 3}, {1, 4, 9, 33, 16, 3}} {
		for _, o := range []layer.ConvOptions{{Stride: 2, Activation: graph.ReLU}, {Activation: graph.Linear},
			{Stride: 2, Valid: true, Activation: graph.Tanh}, {Stride: 3, Activation: graph.Sigmoid},
			{Activation: graph.ELU}, {Stride: 2, Activation: graph.GELU}, {Activation: graph.SiLU}, {Stride: 2, Symmetric: true}} {
			if o.Valid && (s.k > s.side || s.k > s.width) {
				continue
			}
			cases = append(cases, gradcheck.Case{
				Name:    fmt.Sprintf("%v {%d %v %v}", s, o.Stride, o.Activation, o.Valid) + map[bool]string{true: " symmetric"}[o.Symmetric],
				Inputs:  []gradcheck.Input{gradcheck.In(s.batch, s.side, s.width, s.in), gradcheck.In(s.k, s.k, s.in, s.out), gradcheck.In(s.out)},
				Build:   func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Conv(n[0], n[1], n[2], o) },
				Samples: 12,
			})
		}
	}
	cases = append(long.Sample(cases, 40), gradcheck.Case{
		Name: "SAME pads as TensorFlow does",
		Inputs: []gradcheck.Input{
			{Shape: []int{1, 4, 4, 1}, Values: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
			{Shape: []int{4, 4, 1, 1}, Values: []float64{1, 0, 0, 0, 0, 10, 0, 0, 0, 0, 100, 0, 0, 0, 0, 1000}}, {Shape: []int{1}, Values: []float64{0}}},
		Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Conv(n[0], n[1], n[2], layer.ConvOptions{Stride: 2})
		},
		// Filter row r is applied to image row 2y + r - 1.
		Want: func([][]float64) []float64 { return []float64{11610, 830, 1490, 1716} },
	}, gradcheck.Case{
		Name: "symmetric padding has one zero on each side",
		Inputs: []gradcheck.Input{
			{Shape: []int{1, 4, 4, 1}, Values: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
			{Shape: []int{3, 3, 1, 1}, Values: []float64{1, 0, 0, 0, 10, 0, 0, 0, 100}}, {Shape: []int{1}, Values: []float64{0}}},
		Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Conv(n[0], n[1], n[2], layer.ConvOptions{Stride: 2, Symmetric: true})
		},
		// Filter row r is applied to image row 2y + r - 1, as in PyTorch's conv2d with stride 2 and padding 1.
		Want: func([][]float64) []float64 { return []float64{610, 830, 1490, 1716} },
	}, gradcheck.Case{
		Name: "height and width pad apart",
		Inputs: []gradcheck.Input{
			{Shape: []int{1, 1, 4, 1}, Values: []float64{1, 2, 3, 4}},
			{Shape: []int{3, 3, 1, 1}, Values: []float64{0, 0, 0, 1, 10, 100, 0, 0, 0}}, {Shape: []int{1}, Values: []float64{0}}},
		Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Conv(n[0], n[1], n[2], layer.ConvOptions{Stride: 2})
		},
		// The padding is one row of zeros above the image's only row, and no column before its first column.
		Want: func([][]float64) []float64 { return []float64{321, 43} },
	})
	gradcheck.CheckAll(t, cases)
}

func TestConvTranspose(t *testing.T) {
	long.NotShort(t)
	var cases []gradcheck.Case
	for _, s := range []convCase{{2, 3, 3, 3, 5, 4}, {1, 2, 2, 1, 2, 3}, {2, 4, 4, 2, 3, 2}, {1, 1, 1, 1, 1, 4}, {1, 3, 2, 3, 2, 4},
		{2, 4, 3, 2, 3, 3}, {1, 1, 5, 2, 3, 3}, {2, 1, 3, 2, 2, 5}, {1, 2, 1, 2, 2, 7}, {1, 3, 2, 2, 2, 1}, {2, 6, 5, 17, 16, 3}} {
		for _, o := range []layer.ConvOptions{{Stride: 2, Activation: graph.ReLU}, {Activation: graph.Linear},
			{Stride: 2, Valid: true, Activation: graph.Tanh}, {Stride: 3, Activation: graph.Sigmoid},
			{Activation: graph.ELU}, {Stride: 2, Activation: graph.GELU}, {Activation: graph.SiLU}} {
			cases = append(cases, gradcheck.Case{
				Name:    fmt.Sprintf("%v %v", s, o),
				Inputs:  []gradcheck.Input{gradcheck.In(s.batch, s.side, s.width, s.in), gradcheck.In(s.k, s.k, s.out, s.in), gradcheck.In(s.out)},
				Build:   func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.ConvTranspose(n[0], n[1], n[2], o) },
				Samples: 12,
			})
		}
	}
	cases = append(long.Sample(cases, 30), gradcheck.Case{
		Name: "one pixel",
		Inputs: []gradcheck.Input{
			{Shape: []int{1, 1, 1, 1}, Values: []float64{2}},
			{Shape: []int{4, 4, 1, 1}, Values: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}, {Shape: []int{1}, Values: []float64{0.5}}},
		Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) {
			return layer.ConvTranspose(n[0], n[1], n[2], layer.ConvOptions{Stride: 2})
		},
		Want: func([][]float64) []float64 { return []float64{12.5, 14.5, 20.5, 22.5} },
	})
	gradcheck.CheckAll(t, cases)
}
