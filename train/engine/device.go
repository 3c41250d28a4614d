package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// Device names where programs run: cpu, gpu, gpu:N or auto. Configs are written without the default, so their hashes equal
// the hashes from before GPUs were supported.
type Device string

// The values of Device without a number. CPU is the default.
const (
	CPU  Device = "cpu"
	GPU  Device = "gpu"  // gpu:0
	Auto Device = "auto" // the first GPU that is no software driver; without one the CPU
)

// number returns N of gpu:N.
func (d Device) number() (int, bool) {
	if d == GPU {
		return 0, true
	}
	text, ok := strings.CutPrefix(string(d), "gpu:")
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n >= 0 && strconv.Itoa(n) == text
}

// Check returns an error for a name that is no device.
func (d Device) Check() error {
	if _, ok := d.number(); ok || d == "" || d == CPU || d == Auto {
		return nil
	}
	return fmt.Errorf("unknown device %q; want cpu, gpu, gpu:N or auto", string(d))
}

// String returns the name; cpu for the empty one.
func (d Device) String() string {
	if d == "" {
		return string(CPU)
	}
	return string(d)
}

// DecodeConfig reads a name.
func (d *Device) DecodeConfig(n *config.Node) error {
	var name string
	if err := n.Decode(&name); err != nil {
		return err
	}
	if err := Device(name).Check(); err != nil || name == "" {
		return n.Errorf("unknown device %q; want cpu, gpu, gpu:N or auto", name)
	}
	*d = Device(name)
	return nil
}

// EncodeConfig is the reverse of DecodeConfig.
func (d Device) EncodeConfig() (any, error) {
	if d == "" || d == CPU {
		return nil, nil
	}
	return string(d), nil
}

// ConfigForms implements config.Former.
func (Device) ConfigForms() []any { return []any{""} }

// ConfigType describes the accepted values.
func (Device) ConfigType() string { return "cpu, gpu, gpu:N or auto" }

// Here returns the device, or the CPU if this process cannot use it.
func (d Device) Here() Device {
	if n, gpu := d.number(); gpu {
		if list, err := vulkan.Devices(); err != nil || n >= len(list) {
			return CPU
		}
	}
	return d
}

// Open opens the device. It returns nil for the CPU.
func (d Device) Open() (*machine.Device, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	n, gpu := d.number()
	if d == Auto {
		adapters, err := vulkan.Devices()
		for _, a := range adapters {
			if err == nil && a.Kind != "CPU" && !gpu {
				n, gpu = a.Index, true
			}
		}
	}
	if !gpu {
		return nil, nil
	}
	opened, err := vulkan.Open(n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d, err)
	}
	return machine.NewDevice(opened), nil
}

// GPU returns the name of the GPU that the loop uses; empty if it uses none.
func (l *Loop) GPU() string { return l.gpu }

// useDevice opens the device of the settings, and keeps the parameters there if the optimiser updates them there.
func (l *Loop) useDevice() error {
	d, err := l.settings.Device.Open()
	if err == nil && d != nil {
		// commas separate the kernels of sessions
		l.plan.device, l.gpu = d, strings.ReplaceAll(d.GPU().Adapter.Name, ",", "")
		err = l.hold()
	}
	if err != nil {
		return &Error{"train.device", err}
	}
	return nil
}

// onDevice is an optimiser that updates parameters on a device.
type onDevice interface {
	// record records an update of the parameters by gradients. The returned function sets the numbers of the next
	// update; see [Optimizer.Update].
	record(d *machine.Device, t *vulkan.Tape, gradients []vulkan.Buffer) (next func(rate, clip float64), err error)
}

// hold keeps the parameters on the device if the optimiser updates them there.
func (l *Loop) hold() error {
	if l.settings.Precision == Mixed {
		return errors.New("a GPU computes in float32; want train.precision: float32, or train.device: cpu")
	}
	if l.settings.Accumulate > 1 {
		return nil
	}
	params := l.plan.model.Params()
	var all []string
	for _, name := range params.Names() {
		if !params.IsState(name) && params.Get(name).DataSize() > 0 {
			all = append(all, name)
		}
	}
	o, err := l.settings.newOptimizer(parametersOf(params, all))
	if err != nil || !updatesOnDevice(o) {
		return err
	}
	l.plan.holds = true
	for _, name := range all {
		if _, err := l.plan.device.Hold(params.Get(name).Float32s()); err != nil {
			return err
		}
	}
	return nil
}

func updatesOnDevice(o Optimizer) bool {
	if g, ok := o.(*grouped); ok {
		for _, m := range g.members {
			if !updatesOnDevice(m.Optimizer) {
				return false
			}
		}
		return true
	}
	_, ok := o.(onDevice)
	return ok
}

// Placement says where the operations of a program run, on a device.
type Placement struct {
	Objective string `json:"objective"`
	Images    int    `json:"images"` // of a batch
	machine.Placement
}

// Placements lists the programs of the loop; nil on the CPU.
func (l *Loop) Placements() []Placement {
	if l.plan.device == nil {
		return nil
	}
	var list []Placement
	for shape, p := range l.programs {
		list = append(list, Placement{p.objective.Name, shape.images, p.machine.Placement()})
	}
	slices.SortFunc(list, func(a, b Placement) int {
		return cmp.Or(cmp.Compare(a.Objective, b.Objective), b.Images-a.Images)
	})
	return list
}

// smaller adds to an error about memory the batch that would fit.
func (l *Loop) smaller(err error, images int) error {
	var m *vulkan.MemoryError
	if !errors.As(err, &m) {
		return err
	}
	share := float64(m.Available) / float64(m.Used+m.Needed)
	if m.Limit > 0 {
		share = float64(m.Limit) / float64(m.Needed)
	}
	if fits := int(float64(images) * share); fits > 0 && fits < images {
		return &Error{"train.batch", fmt.Errorf("%w: %d images may fit instead of %d", err, fits, images)}
	}
	return err
}

// staying lists the gradients that stay on the device.
func (l *plan) staying(p *program) gorgonia.Nodes {
	if !l.holds {
		return nil
	}
	return p.nodes
}

// settle makes the parameters and the state of optimisers in host memory current, to be read and changed.
func (l *Loop) settle() error {
	if l.plan.device == nil || l.closed {
		return nil
	}
	return l.plan.device.Settle()
}

// pull makes the parameters in host memory current, to be read, if this is wanted.
func (l *Loop) pull(wanted bool) error {
	if l.plan.device == nil || !wanted {
		return nil
	}
	return l.plan.device.Pull()
}

func (l *Loop) closeDevice() {
	if d := l.plan.device; d != nil {
		d.Settle() // fails only for a lost device, whose parameters are lost
		d.Close()
		l.plan.device = nil
	}
}

// update is the update of a program's parameters on a device.
type update struct {
	tape    *vulkan.Tape
	next    func(rate, clip float64)
	changed []*machine.Resident
}

// prepareUpdate records the update of a program, once.
func (l *Loop) prepareUpdate(o *objective, p *program) error {
	if !l.plan.holds || p.update != nil {
		return nil
	}
	d := l.plan.device
	u := &update{tape: d.GPU().NewTape()}
	var err error
	if u.next, err = o.optimizer.(onDevice).record(d, u.tape, p.machine.Staying()); err != nil {
		return err
	}
	_, state := o.optimizer.State()
	for _, t := range append(parametersOf(l.plan.model.Params(), p.names), state...) {
		r, err := d.Hold(t.Value)
		if err != nil {
			return err
		}
		u.changed = append(u.changed, r)
	}
	if err := u.tape.Compile(); err != nil {
		return err
	}
	p.update = u
	return nil
}

func (u *update) run(rate, clip float64) error {
	u.next(rate, clip)
	for _, r := range u.changed {
		r.Changed()
	}
	return u.tape.Run()
}

// held returns the buffers of tensor i: its values, and its states in the order of their making.
func (u *updater) held(d *machine.Device, i int) ([]vulkan.Buffer, error) {
	hosts := [][]float32{u.values[i]}
	for at := i; at < len(u.tensors); at += len(u.values) {
		hosts = append(hosts, u.tensors[at].Value)
	}
	list := make([]vulkan.Buffer, len(hosts))
	for k, x := range hosts {
		r, err := d.Hold(x)
		if err != nil {
			return nil, err
		}
		list[k] = r.Buffer()
	}
	return list, nil
}

// record records the update of every tensor by a function of its buffers, and returns the memory of the numbers of a
// step.
func (u *updater) record(d *machine.Device, t *vulkan.Tape, gradients []vulkan.Buffer, one func(i int,
	held []vulkan.Buffer, g, numbers vulkan.Buffer)) (vulkan.Buffer, error) {
	numbers, err := d.GPU().AllocHost(4 * kernels.Numbers)
	if err != nil {
		return numbers, err
	}
	for i := range u.values {
		held, err := u.held(d, i)
		if err != nil {
			return numbers, err
		}
		one(i, held, gradients[i], numbers)
		t.EndOperation()
	}
	return numbers, nil
}

// record implements onDevice.
func (o *adam) record(d *machine.Device, t *vulkan.Tape, gradients []vulkan.Buffer) (func(rate, clip float64), error) {
	a := &o.settings
	numbers, err := o.updater.record(d, t, gradients, func(i int, held []vulkan.Buffer, g, numbers vulkan.Buffer) {
		kernels.Adam(t, held[0], held[1], held[2], g, numbers, len(o.values[i]), a.Decay != 0 && !o.excluded[i])
	})
	return func(rate, clip float64) {
		o.steps++
		kernels.SetAdam(numbers, kernel.AdamConstants{LearningRate: a.LR * rate, Beta1: a.Beta1, Beta2: a.Beta2,
			Epsilon: a.Epsilon, Clip: clip}, o.steps, a.Decay)
	}, err
}

// record implements onDevice.
func (o *sgd) record(d *machine.Device, t *vulkan.Tape, gradients []vulkan.Buffer) (func(rate, clip float64), error) {
	s := &o.settings
	numbers, err := o.updater.record(d, t, gradients, func(i int, held []vulkan.Buffer, g, numbers vulkan.Buffer) {
		var velocity vulkan.Buffer
		if s.Momentum > 0 {
			velocity = held[1]
		}
		kernels.SGD(t, held[0], velocity, g, numbers, len(o.values[i]), s.Nesterov, s.Decay != 0 && !o.excluded[i])
	})
	return func(rate, clip float64) {
		o.steps++
		fresh := 1 - s.Dampening
		if o.steps == 1 {
			fresh = 1
		}
		kernels.Descent{Rate: s.LR * rate, Momentum: s.Momentum, Fresh: fresh, Clip: clip, Decay: s.Decay}.Set(numbers)
	}, err
}

// record implements onDevice.
func (o *lars) record(d *machine.Device, t *vulkan.Tape, gradients []vulkan.Buffer) (func(rate, clip float64), error) {
	s := &o.settings
	numbers, err := o.updater.record(d, t, gradients, func(i int, held []vulkan.Buffer, g, numbers vulkan.Buffer) {
		if o.excluded[i] {
			kernels.SGD(t, held[0], held[1], g, numbers, len(o.values[i]), false, false)
		} else {
			kernels.LARS(t, held[0], held[1], g, numbers, len(o.values[i]))
		}
	})
	return func(rate, clip float64) {
		o.steps++
		kernels.Descent{Rate: s.LR * rate, Momentum: s.Momentum, Fresh: 1, Clip: clip, Decay: s.Decay,
			Trust: s.Trust}.Set(numbers)
	}, err
}

// record implements onDevice for members that do.
func (g *grouped) record(d *machine.Device, t *vulkan.Tape, gradients []vulkan.Buffer) (func(rate, clip float64),
	error) {
	var list []func(rate, clip float64)
	for i := range g.members {
		m := &g.members[i]
		var own []vulkan.Buffer
		for _, of := range m.indices {
			own = append(own, gradients[of])
		}
		next, err := m.Optimizer.(onDevice).record(d, t, own)
		if err != nil {
			return nil, err
		}
		list = append(list, next)
	}
	return func(rate, clip float64) {
		for i := range g.members {
			steps, _ := g.members[i].State()
			*steps = g.steps
			list[i](rate, clip)
		}
		g.steps++
	}, nil
}
