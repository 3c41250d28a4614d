package vulkan

import (
	"errors"
	"fmt"
)

// Tape is a list of commands for a device. They run in order, and each command sees the results of all earlier ones. A
// Tape is not safe for concurrent use.
type Tape struct {
	device    *Device
	commands  []command
	err       error
	program   program
	hazards   hazards
	scratch   []Buffer // all scratch buffers
	lent      int      // number of scratch buffers in use by the current operation
	constants []Buffer
	stats     Stats
}

// Stats counts the commands of a tape, and the bytes copied between host and device.
type Stats struct {
	Dispatches int   `json:"dispatches"`
	Barriers   int   `json:"barriers"`
	Up         int64 `json:"bytes_up"`   // from the host to the device
	Down       int64 `json:"bytes_down"` // from the device to the host
}

// Add adds the numbers of another tape.
func (s *Stats) Add(o Stats) {
	s.Dispatches, s.Barriers, s.Up, s.Down = s.Dispatches+o.Dispatches, s.Barriers+o.Barriers, s.Up+o.Up, s.Down+o.Down
}

// command is a dispatch, a copy or a fill. With barrier, it waits for all earlier commands.
type command struct {
	kernel    Kernel
	groups    [3]int
	constants []uint32
	args      []Argument
	copied    int64 // bytes to copy from args[0] to args[1]; the arguments are the exact ranges
	fill      bool  // fill args[0] with constants[0]
	barrier   bool
}

// NewTape returns an empty tape.
func (d *Device) NewTape() *Tape {
	t := &Tape{device: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tapes[t] = true
	return t
}

// Fail sets the error of Compile. Only the first error counts.
func (t *Tape) Fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Stats returns the numbers of commands so far.
func (t *Tape) Stats() Stats { return t.stats }

// Dispatch records x * y * z workgroups of a kernel. For invalid arguments, Compile returns an error.
func (t *Tape) Dispatch(k Kernel, x, y, z int, constants []uint32, args ...Argument) {
	limits := &t.device.Adapter.Limits
	for i, n := range [3]int{x, y, z} {
		if n < 1 || n > limits.Groups[i] {
			t.Fail(fmt.Errorf("kernel %s: %d x %d x %d groups; want 1 to %v", k.Name, x, y, z, limits.Groups))
		}
	}
	if len(args) == 0 || len(args) > limits.Buffers || 4*len(constants) > limits.Constants {
		t.Fail(fmt.Errorf("kernel %s: %d buffers and %d bytes of constants; want 1 to %d and at most %d", k.Name,
			len(args), 4*len(constants), limits.Buffers, limits.Constants))
	}
	for i, a := range args {
		if a.Buffer.IsZero() {
			t.Fail(fmt.Errorf("kernel %s: buffer %d is no memory", k.Name, i))
		}
	}
	t.stats.Dispatches++
	t.add(command{kernel: k, groups: [3]int{x, y, z}, constants: append([]uint32(nil), constants...),
		args: append([]Argument(nil), args...)})
}

// Copy records a copy of a buffer to another buffer with the same size.
func (t *Tape) Copy(to, from Buffer) {
	if to.size != from.size {
		t.Fail(fmt.Errorf("a copy of %d bytes to a buffer of %d", from.size, to.size))
		return
	}
	t.CopyRange(to, 0, from, 0, from.size)
}

// CopyRange records a copy of bytes between positions in buffers. All numbers are multiples of 4.
func (t *Tape) CopyRange(to Buffer, toAt int64, from Buffer, fromAt, bytes int64) {
	if to.IsZero() || from.IsZero() || bytes < 4 || (toAt|fromAt|bytes)&3 != 0 || toAt < 0 || fromAt < 0 ||
		toAt+bytes > to.size || fromAt+bytes > from.size {
		t.Fail(fmt.Errorf("a copy of %d bytes from %d of %d to %d of %d", bytes, fromAt, from.size, toAt, to.size))
		return
	}
	switch {
	case from.block.host && !to.block.host:
		t.stats.Up += bytes
	case to.block.host && !from.block.host:
		t.stats.Down += bytes
	}
	t.add(command{copied: bytes, args: []Argument{Read(Buffer{from.block, from.at + fromAt, bytes}),
		Write(Buffer{to.block, to.at + toAt, bytes})}})
}

// Fill records a fill of a buffer with a 32-bit word.
func (t *Tape) Fill(b Buffer, word uint32) {
	if b.IsZero() {
		t.Fail(errors.New("a fill of no memory"))
		return
	}
	t.add(command{fill: true, constants: []uint32{word}, args: []Argument{Write(b)}})
}

// Scratch returns a temporary buffer with the given number of floats for the kernels of one operation.
// [Tape.EndOperation] releases it for the next operation.
func (t *Tape) Scratch(floats int) Buffer {
	bytes := int64(floats) * 4
	for i := t.lent; i < len(t.scratch); i++ {
		if s := t.scratch[i]; s.size >= bytes {
			t.scratch[i], t.scratch[t.lent] = t.scratch[t.lent], s
			t.lent++
			return Buffer{s.block, s.at, bytes}
		}
	}
	b, err := t.device.Alloc(bytes)
	if err != nil {
		t.Fail(err)
		return Buffer{}
	}
	t.scratch = append(t.scratch, b)
	last := len(t.scratch) - 1
	t.scratch[t.lent], t.scratch[last] = b, t.scratch[t.lent]
	t.lent++
	return b
}

// Constant returns a buffer with constant elements, such as a table. It is valid as long as the tape.
func (t *Tape) Constant(x []float32) Buffer {
	b, err := t.device.Alloc(int64(len(x)) * 4)
	if err == nil {
		t.constants = append(t.constants, b)
		err = t.device.Upload(b, x)
	}
	if err != nil {
		t.Fail(err)
		return Buffer{}
	}
	return b
}

// EndOperation releases the scratch buffers.
func (t *Tape) EndOperation() { t.lent = 0 }

// add appends a command, with a barrier before it if necessary.
func (t *Tape) add(c command) {
	if t.err != nil {
		return
	}
	if t.program != nil {
		t.Fail(errors.New("a compiled tape takes no more commands"))
		return
	}
	if c.barrier = t.hazards.follow(c.args); c.barrier {
		t.stats.Barriers++
	}
	t.commands = append(t.commands, c)
}

// hazards has the accesses since the last barrier.
type hazards struct{ since []Argument }

// follow records the accesses of a command. It reports whether the command must wait for earlier commands: it reads a
// buffer that they write, or writes a buffer that they read or write.
func (h *hazards) follow(args []Argument) (barrier bool) {
	for _, a := range args {
		for _, b := range h.since {
			if (a.write || b.write) && a.Buffer.overlaps(b.Buffer) {
				barrier = true
			}
		}
	}
	if barrier {
		h.since = h.since[:0]
	}
	h.since = append(h.since, args...)
	return barrier
}

// Compile ends the recording. It returns the first error of the recording or of the driver.
func (t *Tape) Compile() error {
	d := t.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	if err := d.usable(); err != nil {
		return err
	}
	if t.program != nil {
		return nil
	}
	t.program, t.err = d.driver.compile(t.commands)
	return t.err
}

// Run submits the commands and waits until they have finished.
func (t *Tape) Run() error {
	d := t.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	if t.program == nil {
		return errors.New("a tape that was not compiled cannot run")
	}
	err := t.program.run()
	d.lost = d.lost || errors.Is(err, ErrLost)
	return err
}

// Close frees the tape and its scratch buffers.
func (t *Tape) Close() {
	d := t.device
	d.mu.Lock()
	open := d.tapes[t]
	if open {
		t.release()
	}
	delete(d.tapes, t)
	d.mu.Unlock()
	if open {
		for _, b := range append(t.scratch, t.constants...) {
			d.Free(b)
		}
	}
}

func (t *Tape) release() {
	if t.program != nil {
		t.program.close()
	}
	t.program, t.err = nil, errClosed
}
