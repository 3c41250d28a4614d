package conformance

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/tapetest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
)

var update = flag.Bool("update", false, "write testdata/tapes.txt")

// The commands for a GPU stay the same. TestOnDevice compares the results of these graphs on a GPU with the CPU.
func TestTapes(t *testing.T) {
	long.NotShort(t)
	tapes := map[string][]string{}
	deviceGraphs(t, func(t *testing.T, name string, _ float64, nodes gorgonia.Nodes) {
		m := must.Get(machine.New(nodes[0].Graph(), nodes...))(t)
		defer m.Close()
		r := vulkan.NewRecorder(0)
		must.OK(t, m.SetDevice(machine.NewDevice(r.Device)))
		tapes[name] = r.Tapes()
	})
	tapetest.Check(t, "testdata/tapes.txt", *update, tapes)
}

// deviceGraphs calls check with the nodes of every loss and every objective of a model, and their gradients.
func deviceGraphs(t *testing.T, check func(t *testing.T, name string, tolerance float64, nodes gorgonia.Nodes)) {
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
				total := must.Get(x.node(nodes))(t)
				used := usedInputs(total, nodes)
				var free gorgonia.Nodes
				for _, a := range list {
					if used[a.name] && !a.constant {
						free = append(free, nodes[a.name])
					}
				}
				gradients := must.Get(gorgonia.Grad(total, free...))(t)
				check(t, fmt.Sprintf("%s, variant %d", e.Name, i), 1e-4, append(gradients, total))
			}
		})
	}
	for _, e := range models.Registry.Entries {
		t.Run(e.Name, func(t *testing.T) {
			x := &modelCheck{findings: &findings{part: "model " + e.Name}, entry: e, data: exampleData()}
			x.run(x.shrink)
			if x.err() != nil {
				t.Fatal(x.err())
			}
			for _, o := range x.reference.Objectives() {
				group := 1
				if o.Labelled {
					group = 2
				}
				var trained *trainedObjective
				if x.run(func() { trained = x.compile("objective "+o.Name, x.model(seed), o, 6, group) }); x.err() != nil {
					t.Fatal(x.err())
				}
				trained.fill(0, func(row int) int { return row })
				if trained.early != nil {
					must.OK(t, trained.program.Prelude.Decide(trained.early))
				}
				nodes := append(slices.Clone(trained.grads), trained.total)
				for _, r := range trained.graph.Running() {
					nodes = append(nodes, r.Moments)
				}
				check(t, e.Name+", objective "+o.Name, 1e-3, nodes)
			}
		})
	}
}
