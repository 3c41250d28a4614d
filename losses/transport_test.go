package losses_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/cmplx"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/internal/symmetry"
)

func TestTransport(t *testing.T) {
	transport := func(a symmetry.Action, m int) func(n nodes) (*gorgonia.Node, error) {
		return func(n nodes) (*gorgonia.Node, error) {
			if a == symmetry.Identity {
				return symmetry.Transport(a, n[0], nil, m)
			}
			return symmetry.Transport(a, n[0], n[1], m)
		}
	}
	angles := func(n int) gradcheck.Input {
		return gradcheck.Input{Shape: []int{n, 1}, Lo: -7, Hi: 7, Constant: true}
	}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "circle", Inputs: []gradcheck.Input{gradcheck.In(6, 2), angles(6)}, Build: transport(symmetry.Circle, 3), Want: wantCircle(3)},
		{Name: "circle, one in a group", Inputs: []gradcheck.Input{gradcheck.In(3, 2), angles(3)}, Build: transport(symmetry.Circle, 1), Want: wantCircle(1)},
		{Name: "circle, a long path", Inputs: []gradcheck.Input{gradcheck.In(100, 2), angles(100)}, Build: transport(symmetry.Circle, 100), Want: wantCircle(100), Samples: 10},
		{Name: "circle, identical points", Inputs: []gradcheck.Input{
			{Shape: []int{2, 2}, Values: []float64{0.6, 0.8}}, {Shape: []int{2, 1}, Values: []float64{0}, Constant: true}},
			Build: transport(symmetry.Circle, 2), Want: func([][]float64) []float64 { return []float64{0.6, 0.8, 0.6, 0.8} }},
		{Name: "circle, opposite points", Inputs: []gradcheck.Input{
			{Shape: []int{2, 2}, Values: []float64{0.6, 0.8, -0.6, -0.8}}, {Shape: []int{2, 1}, Values: []float64{0}, Constant: true}},
			Build: transport(symmetry.Circle, 2), Step: 1e-9, Want: func([][]float64) []float64 { return []float64{0, 0, 0, 0} }},
		{Name: "axis and angle", Inputs: []gradcheck.Input{gradcheck.In(6, 3), {Shape: []int{6, 4}, Lo: -3, Hi: 3, Constant: true}}, Build: transport(symmetry.AxisAngle, 2)},
		{Name: "axis 0", Inputs: []gradcheck.Input{{Shape: []int{2, 3}, Values: []float64{0, 3, 4, 0, 3, 4}}, {Shape: []int{2, 4}, Values: []float64{0, 0, 0, 2}, Constant: true}},
			Build: transport(symmetry.AxisAngle, 2), Want: func([][]float64) []float64 { return []float64{0, 0.6, 0.8, 0, 0.6, 0.8} }},
		{Name: "about z, axis of any length", Inputs: []gradcheck.Input{{Shape: []int{2, 3}, Values: []float64{1, 0, 0, 0, 1, 0}},
			{Shape: []int{2, 4}, Values: []float64{0, 0, 1, 0, 0, 0, 5, math.Pi / 2}, Constant: true}},
			Build: transport(symmetry.AxisAngle, 2), Want: func([][]float64) []float64 { return []float64{1, 0, 0, 0, 1, 0} }},
		{Name: "mean", Inputs: []gradcheck.Input{gradcheck.In(4, 5)}, Build: transport(symmetry.Identity, 2)},
		{Name: "plane", Inputs: []gradcheck.Input{gradcheck.In(6, 2), angles(6)}, Build: transport(symmetry.Plane, 3), Want: wantPlane(3)},
		{Name: "plane, points at 0", Inputs: []gradcheck.Input{
			{Shape: []int{2, 2}, Values: []float64{0, 0, 0, 0}}, {Shape: []int{2, 1}, Values: []float64{0, 1}, Constant: true}},
			Build: transport(symmetry.Plane, 2), Want: func([][]float64) []float64 { return []float64{0, 0, 0, 0} }},
		{Name: "space", Inputs: []gradcheck.Input{gradcheck.In(6, 3), {Shape: []int{6, 4}, Lo: -3, Hi: 3, Constant: true}}, Build: transport(symmetry.Space, 2)},
		{Name: "space, about z", Inputs: []gradcheck.Input{{Shape: []int{2, 3}, Values: []float64{4, 0, 2, 0, 2, 0}},
			{Shape: []int{2, 4}, Values: []float64{0, 0, 1, 0, 0, 0, 5, math.Pi / 2}, Constant: true}},
			Build: transport(symmetry.Space, 2), Want: func([][]float64) []float64 { return []float64{3, 0, 1, 0, 3, 1} }},
	})
}

// wantPlane is the transport in the plane: it averages the points turned back, and turns the mean.
func wantPlane(m int) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		z, angle := in[0], in[1]
		out := make([]float64, len(z))
		for g := 0; g < len(angle); g += m {
			var mean complex128
			for i := g; i < g+m; i++ {
				mean += complex(z[2*i], z[2*i+1]) * cmplx.Rect(1, -angle[i]) / complex(float64(m), 0)
			}
			for i := g; i < g+m; i++ {
				y := mean * cmplx.Rect(1, angle[i])
				out[2*i], out[2*i+1] = real(y), imag(y)
			}
		}
		return out
	}
}

func wantCircle(m int) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		z, angle := in[0], in[1]
		out := make([]float64, len(z))
		for g := 0; g < len(angle); g += m {
			var sum complex128
			for i := g; i < g+m; i++ {
				sin, cos := math.Sincos(angle[i])
				sum += complex(z[2*i], z[2*i+1]) * complex(cos, -sin)
			}
			sum /= complex(math.Hypot(real(sum), imag(sum)), 0)
			for i := g; i < g+m; i++ {
				sin, cos := math.Sincos(angle[i])
				y := sum * complex(cos, sin)
				out[2*i], out[2*i+1] = real(y), imag(y)
			}
		}
		return out
	}
}

// TestSphereTransportGolden compares three results with reference values: the points after rotations in space, their
// LSBD, and the gradient of LSBD plus <c, moved points>. See testdata/README.md.
func TestSphereTransportGolden(t *testing.T) {
	b := must.Read(t, "testdata/sphere_transport.json")
	var want struct {
		M               int
		Z, Rotations, C []float64
		Moved, GradZ    []float64
		LSBD            float64
	}
	must.OK(t, json.Unmarshal(bytes.ReplaceAll(b, []byte("grad_z"), []byte("GradZ")), &want))
	g := gorgonia.NewGraph()
	input := func(name string, columns int, values []float64) *gorgonia.Node {
		shape := tensor.WithShape(len(values)/columns, columns)
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(len(values)/columns, columns), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(shape, tensor.WithBacking(values))))
	}
	z, c := input("z", 3, want.Z), input("c", 3, want.C)
	moved := must.Get(losses.SphereTransport(z, input("rotations", 4, want.Rotations), want.M))(t)
	loss := must.Get(losses.LSBD(z, moved))(t)
	total := gorgonia.Must(gorgonia.Add(loss, gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(c, moved))))))
	grads := must.Get(gorgonia.Grad(total, z))(t)
	m := must.Get(machine.New(g, moved, loss, grads[0]))(t)
	must.OK(t, m.RunAll())
	if got := m.Value(loss).Data().(float64); !(math.Abs(got-want.LSBD) <= 1e-10) {
		t.Errorf("lsbd is %v, want %v", got, want.LSBD)
	}
	for i, v := range m.Value(moved).Data().([]float64) {
		if !(math.Abs(v-want.Moved[i]) <= 1e-10) {
			t.Errorf("moved coordinate %d is %v, want %v", i, v, want.Moved[i])
		}
	}
	for i, v := range m.Value(grads[0]).Data().([]float64) {
		if !(math.Abs(v-want.GradZ[i]) <= 1e-7) {
			t.Errorf("gradient %d is %v, want %v", i, v, want.GradZ[i])
		}
	}
}
