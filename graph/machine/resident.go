package machine

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/vulkan"
)

// Device is a GPU shared by several machines. It stores parameters for them. Only one machine may run at a time.
type Device struct {
	gpu  *vulkan.Device
	mu   sync.Mutex
	held map[*float32]*Resident
	list []*Resident

	up, down    *vulkan.Tape // copies of all held elements; nil before they are needed
	hostChanged bool         // the CPU may have changed held elements since they were copied to the device
}

// Resident is an array on the device, with a copy in host memory.
type Resident struct {
	buffer  vulkan.Buffer
	staging vulkan.Buffer // in host memory
	host    []float32
	newer   bool // the device has newer elements
}

// NewDevice returns a device for machines.
func NewDevice(gpu *vulkan.Device) *Device {
	return &Device{gpu: gpu, held: map[*float32]*Resident{}, hostChanged: true}
}

// GPU returns the open GPU.
func (d *Device) GPU() *vulkan.Device { return d.gpu }

// Hold keeps an array, such as a parameter, on the device. Machines then no longer copy it in each run. After changes
// on the device ([Tape.Run]), the host memory is out of date until [Device.Settle].
func (d *Device) Hold(host []float32) (*Resident, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(host) == 0 {
		return nil, errors.New("machine: nothing to hold on the GPU")
	}
	if r := d.held[&host[0]]; r != nil {
		return r, nil
	}
	b, err := d.gpu.Alloc(int64(len(host)) * 4)
	if err != nil {
		return nil, fmt.Errorf("a parameter of %d elements: %w", len(host), err)
	}
	r := &Resident{buffer: b, host: host}
	if r.staging, err = d.gpu.AllocHost(b.Bytes()); err != nil {
		return nil, err
	}
	d.held[&host[0]], d.list = r, append(d.list, r)
	for _, t := range []**vulkan.Tape{&d.up, &d.down} {
		if *t != nil {
			(*t).Close()
			*t = nil
		}
	}
	return r, d.gpu.Upload(b, host)
}

// residentOf finds the elements of a value on the device.
func (d *Device) residentOf(v gorgonia.Value) *Resident {
	t, ok := v.(*tensor.Dense)
	if !ok || t.Dtype() != tensor.Float32 || t.DataSize() == 0 {
		return nil
	}
	return d.held[&t.Float32s()[0]]
}

// Settle copies changed arrays to host memory. The CPU may then read and change them until the next run.
func (d *Device) Settle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hostChanged = true
	return d.pull(d.list, &d.down)
}

// pull copies changed elements of a list to host memory, by a tape that is recorded first if it is nil.
func (d *Device) pull(list []*Resident, tape **vulkan.Tape) error {
	if !slices.ContainsFunc(list, func(r *Resident) bool { return r.newer }) {
		return nil
	}
	if err := d.record(tape, list, (*Resident).down); err != nil {
		return err
	}
	if err := (*tape).Run(); err != nil {
		return err
	}
	for _, r := range list {
		if r.newer { // the CPU may have changed the others
			copy(r.host, r.staging.Floats())
		}
		r.newer = false
	}
	return nil
}

func (r *Resident) up(t *vulkan.Tape)   { t.Copy(r.buffer, r.staging) }
func (r *Resident) down(t *vulkan.Tape) { t.Copy(r.staging, r.buffer) }

// refresh copies arrays to the device that the CPU may have changed after Settle.
func (d *Device) refresh() error {
	if !d.hostChanged || len(d.list) == 0 {
		return nil
	}
	for _, r := range d.list {
		copy(r.staging.Floats(), r.host)
	}
	if err := d.record(&d.up, d.list, (*Resident).up); err != nil {
		return err
	}
	if err := d.up.Run(); err != nil {
		return err
	}
	d.hostChanged = false
	return nil
}

// record records a copy of each element of a list, unless the tape exists.
func (d *Device) record(tape **vulkan.Tape, list []*Resident, one func(*Resident, *vulkan.Tape)) error {
	if *tape != nil {
		return nil
	}
	t := d.gpu.NewTape()
	for _, r := range list {
		one(r, t)
	}
	if err := t.Compile(); err != nil {
		return err
	}
	*tape = t
	return nil
}

// Close closes the GPU. Held elements are lost unless they were settled.
func (d *Device) Close() error { return d.gpu.Close() }

// Tape is a tape on arrays that a device keeps. Run it after a machine, which first copies the arrays that the CPU has
// changed.
type Tape struct {
	*vulkan.Tape
	device  *Device
	changed []*Resident
}

// NewTape returns an empty tape.
func (d *Device) NewTape() *Tape { return &Tape{Tape: d.gpu.NewTape(), device: d} }

// Reads returns the buffer of an array. From then on, the device keeps the array.
func (t *Tape) Reads(x []float32) vulkan.Buffer { return t.held(x).buffer }

// Changes returns the buffer of an array that the tape changes. From then on, the device keeps the array.
func (t *Tape) Changes(x []float32) vulkan.Buffer {
	r := t.held(x)
	t.changed = append(t.changed, r)
	return r.buffer
}

func (t *Tape) held(x []float32) *Resident {
	r, err := t.device.Hold(x)
	if err != nil {
		t.Fail(err)
		return &Resident{}
	}
	return r
}

// Host returns host memory for n numbers. It stays valid as long as the device.
func (t *Tape) Host(n int) vulkan.Buffer {
	b, err := t.device.gpu.AllocHost(4 * int64(n))
	if err != nil {
		t.Fail(err)
	}
	return b
}

// Run runs the commands. The host memory of changed arrays is out of date until [Device.Settle].
func (t *Tape) Run() error {
	for _, r := range t.changed {
		r.newer = true
	}
	return t.Tape.Run()
}
