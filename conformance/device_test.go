//go:build gpu

package conformance

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/must"
)

// openGPU opens the first GPU, or skips the test.
func openGPU(t *testing.T) *machine.Device {
	t.Helper()
	gpu, err := vulkan.Open(0)
	if errors.Is(err, vulkan.ErrNoLoader) || errors.Is(err, vulkan.ErrNoDriver) {
		t.Skip(err)
	}
	must.OK(t, err)
	d := machine.NewDevice(gpu)
	t.Cleanup(func() { d.Close() })
	return d
}

// onBoth computes nodes on the CPU and on a GPU, and compares their elements. The tolerance is relative to the largest
// element of the node, or to a tenth of the largest element of all nodes if that is larger. If the input of a ReLU is 0
// up to rounding errors, a small gradient may differ by one pixel.
func onBoth(d *machine.Device, tolerance float64, nodes ...*gorgonia.Node) (machine.Placement, error) {
	want, err := run(nodes...)
	if err != nil {
		return machine.Placement{}, err
	}
	m, err := machine.New(nodes[0].Graph(), nodes...)
	if err != nil {
		return machine.Placement{}, err
	}
	defer m.Close()
	if err := m.SetDevice(d); err != nil {
		return machine.Placement{}, err
	}
	placed := m.Placement()
	largest := 0.0
	for _, list := range want {
		for _, v := range list {
			largest = max(largest, math.Abs(v))
		}
	}
	for range 2 { // the second run starts with the values of the first
		if err := m.RunAll(); err != nil {
			return placed, err
		}
		for i, n := range nodes {
			got, err := elements(m.Value(n))
			if err != nil {
				return placed, fmt.Errorf("node %s: %w", n.Name(), err)
			}
			most := max(largest/10, 1e-3)
			for _, v := range want[i] {
				most = max(most, math.Abs(v))
			}
			for j, w := range want[i] {
				if g := got[j]; !(math.Abs(g-w) <= tolerance*most) && !(math.IsNaN(g) && math.IsNaN(w)) {
					return placed, fmt.Errorf("node %s of shape %v, element %d: %v on the GPU, %v on the CPU", n.Name(), n.Shape(), j, g, w)
				}
			}
		}
	}
	return placed, nil
}

// Every loss and model has the same values and gradients on a GPU and on the CPU.
func TestOnDevice(t *testing.T) {
	d := openGPU(t)
	deviceGraphs(t, func(t *testing.T, name string, tolerance float64, nodes gorgonia.Nodes) {
		placed, err := onBoth(d, tolerance, nodes...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %d operations on the GPU, on the CPU: %v", name, placed.Device, placed.OnCPU)
	})
}
