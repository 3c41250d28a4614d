//go:build gpu

package machine_test

import (
	"errors"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/must"
)

// A kept output has a buffer, and a value only if it is listed twice. Copies are counted. An operation on the CPU sees a
// held parameter that a tape has changed, and Settle keeps changes by the CPU to other elements.
func TestDeviceKept(t *testing.T) {
	gpu, err := vulkan.Open(0)
	if errors.Is(err, vulkan.ErrNoLoader) || errors.Is(err, vulkan.ErrNoDriver) {
		t.Skip(err)
	}
	must.OK(t, err)
	d := machine.NewDevice(gpu)
	defer d.Close()
	weights, other := []float32{-1, 2, 3}, []float32{5}
	for _, x := range [][]float32{weights, other} {
		must.Get(d.Hold(x))(t)
	}
	g := gorgonia.NewGraph()
	x := gorgonia.NewVector(g, tensor.Float32, gorgonia.WithShape(3), gorgonia.WithName("x"),
		gorgonia.WithValue(tensor.New(tensor.WithBacking(weights))))
	y := gorgonia.Must(gorgonia.HadamardProd(gorgonia.Must(graph.Activate(x, graph.ReLU)), x))
	squares := gorgonia.Must(gorgonia.Square(x)) // without a device form
	for times, down := range map[int]int64{1: 3, 2: 3 + 3} {
		m := must.Get(machine.New(g, append(slices.Repeat([]*gorgonia.Node{y}, times), squares)...))(t)
		defer m.Close()
		m.Keep(machine.Kept{Values: gorgonia.Nodes{y}})
		must.OK(t, m.SetDevice(d))
		if p := m.Placement(); p.Up != 0 || p.Down != 4*down || p.Device != 2 || p.CPU != 1 {
			t.Errorf("listed %d times: %+v; want %d bytes down and none up", times, p, 4*down)
		}
		double := d.NewTape()
		kernels.Scale(double.Tape, 2, double.Reads(weights), double.Changes(weights), 3)
		must.OK(t, double.Compile())
		for range 2 {
			must.OK(t, m.RunAll())
			w := weights[1]
			if got, want := m.Value(squares).Data().([]float32), []float32{w * w / 4, w * w, 9 * w * w / 4}; !slices.Equal(got, want) {
				t.Errorf("squares %v of weights %v, want %v", got, weights, want)
			}
			got, want := make([]float32, 3), []float32{0, w * w, 9 * w * w / 4}
			if err := gpu.Download(got, m.Buffer(y)); err != nil || !slices.Equal(got, want) {
				t.Errorf("on the device %v (%v), want %v", got, err, want)
			}
			if v := m.Value(y); (v != nil) != (times > 1) || v != nil && !slices.Equal(v.Data().([]float32), want) {
				t.Errorf("listed %d times: the value is %v, want %v", times, v, want)
			}
			must.OK(t, double.Run())
		}
		other[0]++
		must.OK(t, d.Settle())
	}
	if want := []float32{-16, 32, 48}; !slices.Equal(weights, want) || other[0] != 7 {
		t.Errorf("weights %v and other %v, want %v and 7", weights, other, want)
	}
}
