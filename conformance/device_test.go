//go:build gpu

package conformance

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
)

// openGPU opens the first GPU, or skips the test.
func openGPU(t *testing.T) *machine.Device {
	t.Helper()
	gpu, err := vulkan.Open(0)
	if errors.Is(err, vulkan.ErrNoLoader) || errors.Is(err, vulkan.ErrNoDriver) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
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

// Every loss and its gradients have the same values on a GPU and on the CPU.
func TestLossesOnDevice(t *testing.T) {
	d := openGPU(t)
	for _, e := range losses.Registry.Entries {
		t.Run(e.Name, func(t *testing.T) {
			f := &findings{part: "loss " + e.Name}
			l, ok := entryOf(f, e)
			var all []losses.Loss
			if ok {
				all = append(all, l)
			}
			if v, varied := l.(losses.Varied); varied {
				all = append(all, v.Variants()...)
			}
			for i, l := range all {
				x := &lossCheck{findings: f, loss: l, entry: e}
				list := arrays(drawExample("first"))
				nodes := arrayNodes(gorgonia.NewGraph(), tensor.Float32, list)
				total, err := x.node(nodes)
				if err != nil {
					t.Fatal(err)
				}
				used := reached(total, nodes)
				var free gorgonia.Nodes
				for _, a := range list {
					if used[a.name] && !a.held {
						free = append(free, nodes[a.name])
					}
				}
				gradients, err := gorgonia.Grad(total, free...)
				if err != nil {
					t.Fatal(err)
				}
				placed, err := onBoth(d, 1e-4, append(gradients, total)...)
				if err != nil {
					t.Errorf("variant %d: %v", i, err)
				}
				t.Logf("variant %d: %d operations on the GPU, on the CPU: %v", i, placed.Device, placed.OnCPU)
			}
		})
	}
}

// Every model has the same outputs and gradients on a GPU and on the CPU.
func TestModelsOnDevice(t *testing.T) {
	d := openGPU(t)
	for _, e := range models.Registry.Entries {
		t.Run(e.Name, func(t *testing.T) {
			x := &modelCheck{findings: &findings{part: "model " + e.Name}, entry: e, data: exampleData()}
			x.run(x.shrink)
			if x.err() != nil {
				t.Fatal(x.err())
			}
			for _, o := range x.first.Objectives() {
				group := 1
				if o.Labelled {
					group = 2
				}
				var trained *trained
				if x.run(func() { trained = x.compile("objective "+o.Name, x.model(seed), o, 6, group) }); x.err() != nil {
					t.Fatal(x.err())
				}
				trained.fill(0, func(row int) int { return row })
				if trained.early != nil {
					if err := trained.program.Prelude.Decide(trained.early); err != nil {
						t.Fatal(err)
					}
				}
				nodes := append(slices.Clone(trained.grads), trained.total)
				for _, r := range trained.graph.Running() {
					nodes = append(nodes, r.Moments)
				}
				placed, err := onBoth(d, 1e-3, nodes...)
				if err != nil {
					t.Errorf("objective %s: %v", o.Name, err)
				}
				t.Logf("objective %s: %d operations on the GPU, on the CPU: %v", o.Name, placed.Device, placed.OnCPU)
			}
		})
	}
}
