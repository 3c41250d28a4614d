package vulkan

import (
	"cmp"
	"fmt"
	"strings"
)

// Recorder is a device without a GPU, for tests of recorded commands. Its tapes copy memory, but their kernels do
// nothing.
type Recorder struct {
	*Device
	memory map[*block][]float32
	tapes  []*recorded
	fault  error // of every run
}

// NewRecorder returns a recorder with the limits of a small GPU and 1 GiB of memory. It allocates memory
// in blocks of the given size; 0 means the size on a GPU.
func NewRecorder(bytes int64) *Recorder {
	r := &Recorder{memory: map[*block][]float32{}}
	r.Device = newDevice(Adapter{Name: "recorder", Kind: "other", Memory: 1 << 30, Limits: Limits{Buffer: 128 << 20,
		Constants: 128, Buffers: 16, Groups: [3]int{65535, 65535, 65535}, Alignment: 256}}, (*recorderDriver)(r))
	r.block = cmp.Or(bytes, blockSize)
	return r
}

// Tapes returns a text for each compiled tape, in the order of compilation. It has a line for each command:
//
//	kernel x y z [constants] argument...
//
// An argument has r if the kernel reads it, w if the kernel writes it, the number of the buffer in the tape, and its
// bytes. A line begins with "wait" if the command waits for earlier commands. A line "run" ends the text for every run,
// with the numbers in small buffers of host memory that kernels read.
func (r *Recorder) Tapes() []string {
	var list []string
	for _, t := range r.tapes {
		list = append(list, t.text.String())
	}
	return list
}

// recorderDriver is the driver of a Recorder.
type recorderDriver Recorder

func (r *recorderDriver) allocate(bytes int64, host bool) (*block, error) {
	b := &block{size: bytes, host: host}
	r.memory[b] = make([]float32, bytes/4)
	if host {
		b.floats = r.memory[b]
	}
	return b, nil
}

func (r *recorderDriver) free(b *block) { delete(r.memory, b) }
func (*recorderDriver) close() error    { return nil }

// floats returns the elements of a buffer in any memory.
func (r *recorderDriver) floats(b Buffer) []float32 {
	return r.memory[b.block][b.at/4 : (b.at+b.size)/4]
}

func (r *recorderDriver) compile(commands []command) (program, error) {
	t := &recorded{recorderDriver: r, commands: commands, numbers: map[Buffer]int{}}
	for _, c := range commands {
		t.describe(c)
	}
	r.tapes = append(r.tapes, t)
	return t, nil
}

// recorded is a tape of a Recorder.
type recorded struct {
	*recorderDriver
	commands []command
	numbers  map[Buffer]int // of the buffers in the text
	small    []Buffer       // the buffers whose numbers a run prints
	text     strings.Builder
}

func (t *recorded) describe(c command) {
	name := c.kernel.Name
	switch {
	case c.copied > 0:
		name = "copy"
	case c.fill:
		name = "fill"
	}
	if c.barrier {
		name = "wait " + name
	}
	fmt.Fprintf(&t.text, "%s %d %d %d %d", name, c.groups[0], c.groups[1], c.groups[2], c.constants)
	for _, a := range c.args {
		n, ok := t.numbers[a.Buffer]
		if !ok {
			n = len(t.numbers)
			t.numbers[a.Buffer] = n
			if a.Buffer.block.host && a.read && a.Buffer.size <= 128 && c.copied == 0 {
				t.small = append(t.small, a.Buffer)
			}
		}
		access := ""
		if a.read {
			access += "r"
		}
		if a.write {
			access += "w"
		}
		fmt.Fprintf(&t.text, " %s%d:%d", access, n, a.Buffer.size)
	}
	t.text.WriteByte('\n')
}

func (t *recorded) run() error {
	if t.fault != nil {
		return t.fault
	}
	t.text.WriteString("run")
	for _, b := range t.small {
		fmt.Fprintf(&t.text, " %.4g", b.Floats())
	}
	t.text.WriteByte('\n')
	for _, c := range t.commands {
		if c.copied > 0 {
			copy(t.floats(c.args[1].Buffer), t.floats(c.args[0].Buffer))
		}
	}
	return nil
}

func (*recorded) close() {}
