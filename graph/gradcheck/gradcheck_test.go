package gradcheck_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
)

// square is x^2, with a choice of mistakes.
type square struct{ mistake string }

func (s square) apply(in []*gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "square",
		Key:  s.mistake,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if s.mistake == "shape" {
				return nil, errors.New("no such shape")
			}
			return in[0], nil
		},
		New: func([]tensor.Shape, tensor.Shape, tensor.Dtype) (graph.Func, error) { return &squares{square: s}, nil },
	}, in...)
}

type squares struct {
	square
	runs int
}

func (s *squares) Forward(in []graph.Array, out graph.Array) error {
	s.runs++
	for i, x := range in[0].F64 {
		out.F64[i] = x * x
		switch {
		case s.mistake == "value":
			out.F64[i] += 1e-3
		case s.mistake == "drift":
			out.F64[i] += 1e-9 * float64(s.runs)
		case s.mistake == "in place":
			in[0].F64[i] = 0
		case s.mistake == "NaN" && i == 1:
			out.F64[i] = math.NaN()
		}
	}
	for i, x := range in[0].F32 {
		out.F32[i] = x * x
		if s.mistake == "float32" {
			out.F32[i] += 1e-2
		}
	}
	if s.mistake == "error" {
		return errors.New("cannot square")
	}
	return nil
}

func (s *squares) Backward(in []graph.Array, _, dout graph.Array, din []graph.Array, _ []bool) error {
	slope := 2.0
	if s.mistake == "gradient" {
		slope = 2.001
	}
	for i, x := range in[0].F64 {
		din[0].F64[i] = slope * x * dout.F64[i]
	}
	for i, x := range in[0].F32 {
		din[0].F32[i] = float32(slope) * x * dout.F32[i]
		if s.mistake == "float32 gradient" {
			din[0].F32[i] *= 1.01
		}
	}
	return nil
}

// recorder replaces a test that should fail.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper()      {}
func (r *recorder) Failed() bool { return len(r.errors) > 0 }
func (r *recorder) Errorf(format string, a ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, a...))
}

// Check finds every kind of mistake.
func TestCheckFails(t *testing.T) {
	for mistake, want := range map[string]string{
		"":                 "",
		"value":            "want 4",
		"gradient":         "central differences",
		"float32":          "element 0 of the value",
		"float32 gradient": "gradient of input 0",
		"drift":            "in a second run",
		"in place":         "changed element",
		"NaN":              "NaN",
		"error":            "cannot square",
		"shape":            "no such shape",
	} {
		r := &recorder{TB: t}
		gradcheck.Check(r, gradcheck.Case{
			Name:   "square",
			Inputs: []gradcheck.Input{{Shape: []int{2, 2}, Values: []float64{2, -1, 0.5, 3}}},
			Build:  square{mistake}.apply,
			Want:   func([][]float64) []float64 { return []float64{4, 1, 0.25, 9} },
		})
		all := strings.Join(r.errors, "\n")
		if mistake == "" && all != "" {
			t.Errorf("a right operation fails: %s", all)
		}
		if !strings.Contains(all, want) {
			t.Errorf("mistake %q: errors %q, want one that says %q", mistake, all, want)
		}
	}
}

// The tolerance of values is relative to the wanted value.
func TestTolerance(t *testing.T) {
	for relative, fails := range map[float64]bool{0.5e-6: false, 2e-6: true} {
		r := &recorder{TB: t}
		gradcheck.Check(r, gradcheck.Case{
			Name: "square", Inputs: []gradcheck.Input{{Values: []float64{1000}}}, Build: square{}.apply,
			Want: func([][]float64) []float64 { return []float64{1e6 * (1 + relative)} },
		})
		if r.Failed() != fails {
			t.Errorf("%v from the wanted value: errors %q", relative, r.errors)
		}
	}
}

func TestDrawnInputs(t *testing.T) {
	gradcheck.Check(t, gradcheck.Case{
		Name:     "product of drawn inputs",
		Machines: []gradcheck.Machine{gradcheck.Tape}, // Gorgonia's LispMachine fails at its own product of a matrix and a scalar
		Inputs:   []gradcheck.Input{{Shape: []int{3, 4}, Lo: 1, Hi: 2}, {Shape: []int{3, 4}, Constant: true}, {}},
		Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
			p, err := gorgonia.HadamardProd(in[0], in[1])
			if err != nil {
				return nil, err
			}
			return gorgonia.Mul(p, in[2])
		},
		Want: func(in [][]float64) []float64 {
			out := make([]float64, 12)
			for i := range out {
				if x := in[0][i]; !(x >= 1 && x <= 2 && in[1][i] >= -2 && in[1][i] <= 2) || x != float64(float32(x)) {
					t.Errorf("drawn %v and %v", x, in[1][i])
				}
				out[i] = in[0][i] * in[1][i] * in[2][0]
			}
			return out
		},
	})
}
