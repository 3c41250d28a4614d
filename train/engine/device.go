package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/vulkan"
)

// Device names the device for programs: cpu, gpu, gpu:N or auto. A written config omits the default, so configs keep
// the hashes from before GPUs were supported.
type Device string

// The values of Device without a number. CPU is the default.
const (
	CPU  Device = "cpu"
	GPU  Device = "gpu"  // gpu:0
	Auto Device = "auto" // the first GPU that is not a software driver, or the CPU if there is none
)

func (d Device) number() (int, bool) {
	if d == GPU {
		return 0, true
	}
	text, ok := strings.CutPrefix(string(d), "gpu:")
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n >= 0 && strconv.Itoa(n) == text
}

// Check returns an error for an invalid name.
func (d Device) Check() error {
	if _, ok := d.number(); ok || d == "" || d == CPU || d == Auto {
		return nil
	}
	return fmt.Errorf("unknown device %q; want cpu, gpu, gpu:N or auto", string(d))
}

// String returns the name; it is cpu for the empty name.
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

// EncodeConfig is the inverse of DecodeConfig.
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

// GPU returns the name of the loop's GPU, or "".
func (l *Loop) GPU() string { return l.gpu }

func (l *Loop) useDevice(open func() (*machine.Device, error)) error {
	d, err := open()
	if err == nil && d != nil {
		// commas separate the kernels of sessions
		l.plan.device, l.gpu = d, strings.ReplaceAll(d.GPU().Adapter.Name, ",", "")
		err = l.checkDevice()
	}
	if err != nil {
		return &Error{"train.device", err}
	}
	return nil
}

// checkDevice rejects settings that a device does not support, and decides whether the device updates the parameters.
func (l *Loop) checkDevice() error {
	if l.settings.Precision == Mixed {
		return errors.New("a GPU computes in float32; want train.precision: float32, or train.device: cpu")
	}
	_, l.plan.updatesOnDevice = l.settings.Optimizer.New(nil).(onDevice)
	return nil
}

// keepOnDevice keeps all parameters and the changing states on the device, if the device updates them.
func (l *plan) keepOnDevice(states ...[]float32) error {
	if !l.updatesOnDevice {
		return nil
	}
	for _, params := range []*nn.Params{l.model.Params(), l.discriminators} {
		for _, name := range params.Names() {
			if x := params.Get(name); !params.IsState(name) && x.DataSize() > 0 {
				states = append(states, x.Float32s())
			}
		}
	}
	for _, x := range states {
		if _, err := l.device.Hold(x); err != nil {
			return err
		}
	}
	return nil
}

// Placement says where the operations of a program run on a device, except the passes of a [models.Prelude].
type Placement struct {
	Objective string `json:"objective"`
	Images    int    `json:"images"` // number of images of a batch
	machine.Placement
}

// Placements lists the programs of the loop; nil on the CPU.
func (l *Loop) Placements() []Placement {
	if l.plan.device == nil {
		return nil
	}
	var list []Placement
	for shape, p := range l.programs {
		list = append(list, Placement{p.objective.Name, shape.images, p.placement()})
	}
	slices.SortFunc(list, func(a, b Placement) int {
		return cmp.Or(cmp.Compare(a.Objective, b.Objective), b.Images-a.Images)
	})
	return list
}

func (p *program) placement() machine.Placement {
	sum := p.machine.Placement()
	for _, a := range p.adversaries {
		if a.recompute != nil {
			sum.Add(a.recompute.Placement())
		}
		sum.Add(a.machine.Placement())
	}
	if p.second != nil {
		sum.Add(p.second.machine.Placement())
	}
	for _, learner := range p.learners() {
		if learner.device != nil {
			for _, t := range learner.device.tapes() {
				sum.AddTape(t.Tape)
			}
		}
	}
	return sum
}

// suggestBatch adds a batch size that may fit to an error about memory.
func (l *Loop) suggestBatch(err error, images int) error {
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

// settle copies the parameters and the optimisers' state to host memory, so they can be read and changed.
func (l *Loop) settle() error {
	if l.plan.device == nil || l.closed {
		return nil
	}
	return l.plan.device.Settle()
}

func (l *Loop) closeDevice() {
	if d := l.plan.device; d != nil {
		d.Settle() // only fails for a lost device, which also loses the parameters
		d.Close()
		l.plan.device = nil
	}
}
