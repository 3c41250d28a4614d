package machine

import (
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// assign decides which steps run on the device, and which values are copied.
func (m *Machine) assign(o *onDevice) error {
	for i := range m.steps {
		if err := m.place(o, i); err != nil {
			return err
		}
	}
	keep := map[int]int{} // an output that is listed more often is also needed on the CPU
	for _, i := range o.kept {
		keep[i]++
		o.places[i].upload = !o.places[i].device
	}
	for _, i := range m.outputs {
		if keep[i]--; keep[i] < 0 {
			o.places[i].download = o.places[i].device
		}
	}
	for i := range m.steps {
		if !sibling(m.steps[i].op) {
			o.move(m.steps[i].in, o.places[i].device)
		}
	}
	return nil
}

// place decides where a step runs.
func (m *Machine) place(o *onDevice, i int) (err error) {
	s, p := &m.steps[i], &o.places[i]
	switch {
	case source(s):
		p.resident = o.device.residentOf(s.node.Value())
	case sibling(s.op):
		p.device = o.places[s.in[0]].device // a gradient is a result of its root
	case (s.add || stockProduct(s.op)) && s.node.Dtype() == tensor.Float32:
		a, b, sum := m.steps[s.in[0]].node.Shape(), m.steps[s.in[1]].node.Shape(), s.node.Shape()
		p.stock = slices.Equal(a, sum) && slices.Equal(b, sum)
		p.device = p.stock
	default:
		if op, ok := s.op.(graph.DeviceOp); ok {
			p.record, p.device, err = op.Record()
		}
	}
	return err
}

// move marks the operands of a step that need a copy.
func (o *onDevice) move(operands []int, toDevice bool) {
	for _, j := range operands {
		switch from := &o.places[j]; {
		case toDevice && !from.device && from.resident == nil:
			from.upload = true
		case !toDevice && from.device:
			from.download = true
		case !toDevice && from.resident != nil:
			if !slices.Contains(o.pulled, from.resident) {
				o.pulled = append(o.pulled, from.resident)
			}
		}
	}
}

// source reports whether a step is an input or a constant.
func source(s *step) bool { return len(s.in) == 0 }

// sibling reports whether an operation takes its value from the root of its gradients.
func sibling(o gorgonia.Op) bool {
	g, ok := o.(graph.Gradient)
	return ok && !g.Root()
}

// order groups the steps into parts: all steps on the device that are ready, then all on the CPU, and so on.
func (o *onDevice) order(m *Machine) {
	done := make([]bool, len(m.steps))
	left := 0
	for i := range m.steps {
		if done[i] = source(&m.steps[i]); !done[i] {
			left++
		}
	}
	for device := true; left > 0; device = !device {
		p := part{onDevice: device}
		for i := range m.steps {
			if !done[i] && o.places[i].device == device && !slices.ContainsFunc(m.steps[i].in,
				func(j int) bool { return !done[j] }) {
				done[i] = true
				p.steps = append(p.steps, i)
			}
		}
		if left -= len(p.steps); len(p.steps) > 0 {
			o.parts = append(o.parts, p)
		}
	}
	if n := len(o.parts); len(o.kept) > 0 && (n == 0 || !o.parts[n-1].onDevice) {
		o.parts = append(o.parts, part{onDevice: true})
	}
	o.copies(m)
}

// copies lists the values that are copied to the device before the first tape that reads them, and the values that are
// copied back after a tape.
func (o *onDevice) copies(m *Machine) {
	up := make([]bool, len(m.steps))
	for k := range o.parts {
		p := &o.parts[k]
		if !p.onDevice {
			continue
		}
		var needed []int
		for _, i := range p.steps {
			if !sibling(m.steps[i].op) {
				needed = append(needed, m.steps[i].in...)
			}
			if o.places[i].download && !m.steps[i].ignored {
				p.down = append(p.down, i)
			}
		}
		if k == len(o.parts)-1 {
			needed = append(needed, o.kept...)
		}
		for _, i := range needed {
			if o.places[i].upload && !up[i] {
				up[i] = true
				p.up = append(p.up, i)
			}
		}
	}
}

func bytesOf(n *gorgonia.Node) int64 { return 4 * int64(n.Shape().TotalSize()) }
