package machine

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
)

// Placement describes where the operations of a machine run.
type Placement struct {
	Device int            `json:"on_device"` // number of operations on the device
	CPU    int            `json:"on_cpu"`
	OnCPU  map[string]int `json:"operations_on_cpu"` // number of operations by name
	// number of parts on the device, separated by parts on the CPU
	Tapes int `json:"tapes"`
	vulkan.Stats
}

// Add adds the numbers of another machine.
func (p *Placement) Add(o Placement) {
	p.Device, p.CPU, p.Tapes = p.Device+o.Device, p.CPU+o.CPU, p.Tapes+o.Tapes
	for name, n := range o.OnCPU {
		p.OnCPU[name] += n
	}
	p.Stats.Add(o.Stats)
}

// AddTape adds the numbers of a tape.
func (p *Placement) AddTape(t *vulkan.Tape) {
	p.Tapes++
	p.Stats.Add(t.Stats())
}

// Kept lists outputs of a machine that stay on a device. They have a [Machine.Buffer] instead of a [Machine.Value].
type Kept struct {
	Gradients []gorgonia.Nodes // groups of gradients: the machine computes the norm of each group
	Values    gorgonia.Nodes
}

// Keep sets the outputs that stay on the device after the next [Machine.SetDevice].
func (m *Machine) Keep(k Kept) { m.kept = k }

// onDevice is a machine's use of a device.
type onDevice struct {
	device *Device
	places []place
	parts  []part
	kept   []int           // steps of outputs that stay on the device
	groups [][]int         // steps with gradients
	norms  vulkan.Buffer   // in host memory, by group
	owned  []vulkan.Buffer // freed with the machine
	pulled []*Resident     // parameters that operations on the CPU read
	pull   *vulkan.Tape    // copies them; nil if there are none
}

// place says where a step's value is.
type place struct {
	device   bool // a device computes it
	record   graph.Recording
	stock    bool          // Gorgonia's own elementwise sum or product
	buffer   vulkan.Buffer // the value on the device; zero if only the CPU has it
	staging  vulkan.Buffer // host memory for copies in either direction
	resident *Resident     // a parameter that stays on the device
	download bool          // the CPU needs it
	upload   bool          // the device needs it
	din      []vulkan.Buffer
}

// part is a tape, or a sequence of operations on the CPU.
type part struct {
	onDevice bool
	tape     *vulkan.Tape // nil on the CPU
	steps    []int
	up       []int // steps with values that are copied to the device before the tape
	down     []int // steps with values that are copied to host memory after the tape
}

// SetDevice makes the next runs use a device for all operations that have a device form. It copies values between the
// device and the CPU if both need them.
//
// Parameters that the device keeps ([Device.Hold]) stay there. All other inputs are copied in each run.
func (m *Machine) SetDevice(d *Device) error {
	o := &onDevice{device: d, places: make([]place, len(m.steps))}
	for _, nodes := range append([]gorgonia.Nodes{m.kept.Values}, m.kept.Gradients...) {
		first := len(o.kept)
		for _, n := range nodes {
			i, ok := m.index[n]
			if !ok {
				return fmt.Errorf("machine: it does not compute %s", n.Name())
			}
			o.kept = append(o.kept, i)
		}
		o.groups = append(o.groups, o.kept[first:])
	}
	o.groups = o.groups[1:] // drop the group of the values
	if err := m.assign(o); err != nil {
		return err
	}
	if err := o.build(m); err != nil {
		o.close()
		return err
	}
	m.device = o
	return nil
}

// build allocates the buffers and records the tapes.
func (o *onDevice) build(m *Machine) error {
	o.order(m)
	if len(o.pulled) > 0 {
		if err := o.device.record(&o.pull, o.pulled, (*Resident).down); err != nil {
			return err
		}
	}
	for k := range o.parts {
		p := &o.parts[k]
		if !p.onDevice {
			continue
		}
		p.tape = o.device.gpu.NewTape()
		if err := o.record(m, p, k == len(o.parts)-1); err != nil {
			return err
		}
		if err := p.tape.Compile(); err != nil {
			return err
		}
	}
	return nil
}

func (o *onDevice) room(n *gorgonia.Node, host bool) (b vulkan.Buffer, err error) {
	if host {
		b, err = o.device.gpu.AllocHost(bytesOf(n))
	} else {
		b, err = o.device.gpu.Alloc(bytesOf(n))
	}
	if err != nil {
		return b, fmt.Errorf("node %q of shape %v: %w", n.Name(), n.Shape(), err)
	}
	o.owned = append(o.owned, b)
	return b, nil
}

func (o *onDevice) record(m *Machine, p *part, last bool) (err error) {
	for _, i := range p.up {
		v := &o.places[i]
		if v.staging, err = o.room(m.steps[i].node, true); err != nil {
			return err
		}
		if v.buffer, err = o.room(m.steps[i].node, false); err != nil {
			return err
		}
		p.tape.Copy(v.buffer, v.staging)
	}
	for _, i := range p.steps {
		if err := o.recordStep(m, p.tape, i); err != nil {
			return err
		}
		p.tape.EndOperation()
	}
	for _, i := range p.down {
		v := &o.places[i]
		if v.staging, err = o.room(m.steps[i].node, true); err != nil {
			return err
		}
		p.tape.Copy(v.staging, v.buffer)
	}
	if last && len(o.groups) > 0 {
		return o.recordNorms(m, p.tape)
	}
	return nil
}

func (o *onDevice) recordStep(m *Machine, t *vulkan.Tape, i int) (err error) {
	s, p := &m.steps[i], &o.places[i]
	if sibling(s.op) {
		if !s.ignored {
			p.buffer = o.places[s.in[0]].din[s.op.(graph.Gradient).Input()]
		}
		return nil
	}
	in := make([]vulkan.Buffer, len(s.in))
	for k, j := range s.in {
		from := &o.places[j]
		if from.resident != nil && from.buffer.IsZero() {
			from.buffer = from.resident.buffer
		}
		in[k] = from.buffer
	}
	if s.grad == nil {
		if p.buffer, err = o.room(s.node, false); err != nil {
			return err
		}
		switch n := s.node.Shape().TotalSize(); {
		case p.stock && s.add:
			kernels.WeightedSum(t, []float64{1, 1}, in, p.buffer, n)
			return nil
		case p.stock:
			kernels.Multiply(t, in[0], in[1], p.buffer, n)
			return nil
		}
		p.record.Forward(t, in, p.buffer)
		return nil
	}
	n := len(s.want)
	p.din = make([]vulkan.Buffer, n)
	for k, want := range s.want {
		if want {
			if p.din[k], err = o.room(m.steps[s.in[k]].node, false); err != nil {
				return err
			}
		}
	}
	p.record.Backward(t, in[:n], in[n], in[n+1], p.din)
	if g := s.op.(graph.Gradient); s.want[g.Input()] {
		p.buffer = p.din[g.Input()]
	}
	return nil
}

// recordNorms adds the sum of squares of each group of gradients.
func (o *onDevice) recordNorms(m *Machine, t *vulkan.Tape) (err error) {
	if o.norms, err = o.device.gpu.AllocHost(4 * int64(len(o.groups))); err != nil {
		return err
	}
	o.owned = append(o.owned, o.norms)
	for k, group := range o.groups {
		var gradients []vulkan.Buffer
		var sizes []int
		for _, i := range group {
			gradients, sizes = append(gradients, o.places[i].buffer), append(sizes, m.steps[i].node.Shape().TotalSize())
		}
		sum := t.Scratch(1)
		kernels.SquaredNorm(t, gradients, sizes, sum)
		t.CopyRange(o.norms, 4*int64(k), sum, 0, 4)
		t.EndOperation()
	}
	return nil
}

func (m *Machine) runParts() error {
	o := m.device
	o.device.mu.Lock()
	defer o.device.mu.Unlock()
	if err := o.device.refresh(); err != nil {
		return err
	}
	if err := o.device.pull(o.pulled, &o.pull); err != nil {
		return err
	}
	for i := range m.steps {
		if source(&m.steps[i]) {
			if err := m.run(&m.steps[i]); err != nil {
				return m.explain(i, err)
			}
		}
	}
	for k := range o.parts {
		run := m.runTape
		if o.parts[k].tape == nil {
			run = m.runSteps
		}
		if err := run(&o.parts[k]); err != nil {
			return err
		}
	}
	return m.read()
}

func (m *Machine) runSteps(p *part) error {
	for _, i := range p.steps {
		m.at = i
		err := m.run(&m.steps[i])
		if err == nil {
			err = m.bind(&m.steps[i])
		}
		if err != nil {
			return m.explain(i, err)
		}
	}
	return nil
}

// runTape runs a tape, between copies of its inputs and results.
func (m *Machine) runTape(p *part) error {
	for _, i := range p.up {
		m.at = i
		if err := put(m.device.places[i].staging.Floats(), m.steps[i].value); err != nil {
			return m.explain(i, err)
		}
	}
	if err := p.tape.Run(); err != nil {
		return err
	}
	for _, i := range p.down {
		s := &m.steps[i]
		m.at = i
		s.value = taken(s.value, s.node, m.device.places[i].staging.Floats())
		if err := m.bind(s); err != nil {
			return m.explain(i, err)
		}
	}
	return nil
}

// put copies the elements of a value to host memory.
func put(to []float32, v gorgonia.Value) error {
	switch v := v.(type) {
	case *gorgonia.F32:
		to[0] = float32(*v)
		return nil
	case *tensor.Dense:
		if x, ok := v.Data().(float32); ok && len(to) == 1 {
			to[0] = x
			return nil
		}
		if v.Dtype() == tensor.Float32 && !v.RequiresIterator() && v.DataOrder().IsRowMajor() && v.DataSize() == len(to) {
			copy(to, v.Float32s())
			return nil
		}
	}
	return fmt.Errorf("a value of type %T and shape %v cannot go to the GPU; want %d float32 in row-major order", v,
		v.Shape(), len(to))
}

// taken returns a node's value with elements from host memory. It reuses the value of the last run.
func taken(v gorgonia.Value, n *gorgonia.Node, from []float32) gorgonia.Value {
	if n.Shape().IsScalar() {
		s, ok := v.(*gorgonia.F32)
		if !ok {
			s = gorgonia.NewF32(0)
		}
		*s = gorgonia.F32(from[0])
		return s
	}
	t, ok := v.(*tensor.Dense)
	if !ok {
		t = tensor.New(tensor.WithShape(n.Shape().Clone()...), tensor.WithBacking(make([]float32, len(from))))
	}
	copy(t.Float32s(), from)
	return t
}

func (o *onDevice) close() {
	for _, p := range o.parts {
		if p.tape != nil {
			p.tape.Close()
		}
	}
	if o.pull != nil {
		o.pull.Close()
	}
	for _, b := range o.owned {
		o.device.gpu.Free(b)
	}
	o.parts, o.owned = nil, nil
}

// SquaredNorm returns the sum of squares of a group of gradients ([Kept]) in the last run.
func (m *Machine) SquaredNorm(group int) float64 { return float64(m.device.norms.Floats()[group]) }

// Buffer returns the value of a kept output on the device.
func (m *Machine) Buffer(n *gorgonia.Node) vulkan.Buffer { return m.device.places[m.index[n]].buffer }

// Placement says where the operations run. All run on the CPU without [Machine.SetDevice].
func (m *Machine) Placement() Placement {
	p := Placement{OnCPU: map[string]int{}}
	for i := range m.steps {
		s := &m.steps[i]
		switch {
		case source(s) || sibling(s.op):
		case m.device != nil && m.device.places[i].device:
			p.Device++
		default:
			p.CPU++
			p.OnCPU[operationName(s.op)]++
		}
	}
	if m.device == nil {
		return p
	}
	if m.device.pull != nil {
		p.AddTape(m.device.pull)
	}
	for _, part := range m.device.parts {
		if part.tape != nil {
			p.AddTape(part.tape)
		}
	}
	return p
}

// operationName is the name of an operation without its parameters.
func operationName(o gorgonia.Op) string {
	name, _, _ := strings.Cut(o.String(), "{")
	return name
}
