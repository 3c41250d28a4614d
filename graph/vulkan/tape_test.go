package vulkan

import (
	"errors"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func testDevice(room int64) (*Device, *Recorder) {
	r := NewRecorder(0)
	r.Adapter.Memory, r.Adapter.Limits.Buffer = room, 64<<20
	return r.Device, r
}

func mustAlloc(t *testing.T, d *Device, bytes int64) Buffer {
	t.Helper()
	return must.Get(d.Alloc(bytes))(t)
}

// A command waits exactly if it reads data written since the last barrier, or writes data used since then.
func TestBarriers(t *testing.T) {
	d, _ := testDevice(1 << 30)
	a, b, c, e := mustAlloc(t, d, 400), mustAlloc(t, d, 400), mustAlloc(t, d, 400), mustAlloc(t, d, 4)
	k := Kernel{Name: "k"}
	for _, s := range []struct {
		name   string
		record func(*Tape)
		want   string // one letter per command: w waits, - does not
	}{
		{"two reads", func(t *Tape) {
			t.Dispatch(k, 1, 1, 1, nil, Read(a), Write(b))
			t.Dispatch(k, 1, 1, 1, nil, Read(a), Write(c))
		}, "--"},
		{"read after write", func(t *Tape) {
			t.Dispatch(k, 1, 1, 1, nil, Read(a), Write(b))
			t.Dispatch(k, 1, 1, 1, nil, Read(b), Write(c))
		}, "-w"},
		{"write after read", func(t *Tape) {
			t.Dispatch(k, 1, 1, 1, nil, Read(a), Write(b))
			t.Dispatch(k, 1, 1, 1, nil, Read(c), Write(a))
		}, "-w"},
		{"write after write", func(t *Tape) {
			t.Fill(a, 0)
			t.Fill(a, 1)
		}, "-w"},
		{"an older write is behind the barrier", func(t *Tape) {
			t.Dispatch(k, 1, 1, 1, nil, Read(a), Write(b))
			t.Dispatch(k, 1, 1, 1, nil, Read(b), Write(c))
			t.Dispatch(k, 1, 1, 1, nil, Read(b), Read(a), Write(e))
		}, "-w-"},
		{"halves of a buffer", func(t *Tape) {
			t.CopyRange(a, 0, b, 0, 200)
			t.CopyRange(a, 200, b, 200, 200)
			t.CopyRange(c, 0, a, 196, 8)
		}, "--w"},
		{"update", func(t *Tape) {
			t.Dispatch(k, 1, 1, 1, nil, Update(a))
			t.Dispatch(k, 1, 1, 1, nil, Update(a))
			t.Dispatch(k, 1, 1, 1, nil, Update(b))
		}, "-w-"},
	} {
		tape := d.NewTape()
		s.record(tape)
		got := ""
		for _, c := range tape.commands {
			got += map[bool]string{true: "w", false: "-"}[c.barrier]
		}
		if got != s.want || tape.err != nil || tape.Stats().Barriers != strings.Count(s.want, "w") {
			t.Errorf("%s: %s, %v; want %s", s.name, got, tape.err, s.want)
		}
		tape.Close()
	}
}

// Invalid commands are errors of Compile. The driver never gets a null handle or a range outside a buffer.
func TestTapeErrors(t *testing.T) {
	d, _ := testDevice(1 << 30)
	a := mustAlloc(t, d, 16)
	k := Kernel{Name: "k"}
	for want, record := range map[string]func(*Tape){
		"0 x 1 x 1 groups":            func(t *Tape) { t.Dispatch(k, 0, 1, 1, nil, Read(a)) },
		"70000 x 1 x 1 groups":        func(t *Tape) { t.Dispatch(k, 70000, 1, 1, nil, Read(a)) },
		"buffer 1 is no memory":       func(t *Tape) { t.Dispatch(k, 1, 1, 1, nil, Read(a), Write(Buffer{})) },
		"0 buffers":                   func(t *Tape) { t.Dispatch(k, 1, 1, 1, nil) },
		"132 bytes of constants":      func(t *Tape) { t.Dispatch(k, 1, 1, 1, make([]uint32, 33), Read(a)) },
		"a copy of 8 bytes from 12":   func(t *Tape) { t.CopyRange(a, 0, a, 12, 8) },
		"a copy of 16 bytes to":       func(t *Tape) { t.Copy(Buffer{}, a) },
		"a fill of no memory":         func(t *Tape) { t.Fill(Buffer{}, 0) },
		"over the GPU's limit of 64":  func(t *Tape) { t.Scratch(1 << 26) },
		"a copy of 6 bytes from 0 of": func(t *Tape) { t.CopyRange(a, 0, a, 0, 6) },
	} {
		tape := d.NewTape()
		record(tape)
		must.Error(t, tape.Compile(), want)
		if err := tape.Run(); err == nil {
			t.Errorf("%s: a broken tape runs", want)
		}
	}
}

// Buffers are aligned and do not overlap, and their memory returns completely.
func TestMemory(t *testing.T) {
	d, m := testDevice(64 << 20)
	var list []Buffer
	for i := range 200 {
		b := mustAlloc(t, d, int64(i*37%5000+1))
		if b.at%256 != 0 || b.size%4 != 0 {
			t.Fatalf("buffer %d is at %d of %d bytes", i, b.at, b.size)
		}
		for j, o := range list {
			if b.overlaps(o) {
				t.Fatalf("buffers %d and %d overlap", i, j)
			}
		}
		list = append(list, b)
		if i%3 == 2 {
			d.Free(list[0])
			list = list[1:]
		}
	}
	must.Equal(t, len(m.memory), 1, "allocations for small buffers")
	for _, b := range list {
		d.Free(b)
		d.Free(b) // a second Free does nothing
	}
	if now, peak := d.Used(); now != 0 || peak == 0 || len(m.memory) != 0 {
		t.Errorf("%d bytes in use after the last free, peak %d, %d blocks with the driver", now, peak, len(m.memory))
	}
	var out *MemoryError
	if _, err := d.Alloc(65 << 20); !errors.As(err, &out) || out.Limit == 0 || !strings.Contains(err.Error(),
		"65.0 MiB is over the GPU's limit of 64.0 MiB") {
		t.Errorf("a buffer over the limit: %v", err)
	}
	mustAlloc(t, d, 40<<20)
	if _, err := d.Alloc(30 << 20); !errors.As(err, &out) || out.Needed != 30<<20 || out.Available != 64<<20 ||
		out.Used != 40<<20 {
		t.Errorf("a buffer over the memory: %v", err)
	}
	mustAlloc(t, d, 20<<20)
	if err := d.Close(); err != nil || len(m.memory) != 0 {
		t.Errorf("close: %v, %d blocks left", err, len(m.memory))
	}
	if _, err := d.Alloc(4); err == nil {
		t.Error("a closed device gives memory")
	}
}

// Buffers of one block share no element, and have whole elements.
func TestFloats(t *testing.T) {
	d, _ := testDevice(1 << 30)
	var buffers []Buffer
	for k, bytes := range []int64{8, 5, 400, 1} {
		b := must.Get(d.AllocHost(bytes))(t)
		if n := (bytes + 3) / 4; int64(len(b.Floats())) != n || b.Bytes() != 4*n {
			t.Errorf("%d bytes: %d elements in %d bytes", bytes, len(b.Floats()), b.Bytes())
		}
		for i := range b.Floats() {
			b.Floats()[i] = float32(k)
		}
		buffers = append(buffers, b)
	}
	for k, b := range buffers {
		if b.block != buffers[0].block || b.at%256 != 0 {
			t.Errorf("buffer %d is at byte %d of another block, or not aligned", k, b.at)
		}
		for _, v := range b.Floats() {
			must.Equal(t, v, float32(k), "buffer", k, "holds a number of buffer")
		}
		for j, o := range buffers {
			must.Equal(t, b.overlaps(o), (j == k), "buffer", k, "overlaps buffer", j)
		}
	}
	at := buffers[2]
	for _, c := range []struct {
		from, bytes int64
		want        bool
	}{{0, 4, true}, {396, 4, true}, {-4, 4, false}, {-4, 8, true}, {400, 4, false}, {-8, 500, true}} {
		if o := (Buffer{at.block, at.at + c.from, c.bytes}); at.overlaps(o) != c.want || o.overlaps(at) != c.want {
			t.Errorf("%d bytes at %d: want %v", c.bytes, c.from, c.want)
		}
	}
	if (Buffer{}).Floats() != nil || (Buffer{block: &block{}}).Floats() != nil {
		t.Error("no memory has elements")
	}
}

// Operations share scratch memory, and scratch buffers of one operation do not overlap.
func TestScratch(t *testing.T) {
	d, _ := testDevice(1 << 30)
	tape := d.NewTape()
	a, b := tape.Scratch(100), tape.Scratch(50)
	if a.overlaps(b) {
		t.Error("two scratch buffers of one operation overlap")
	}
	tape.EndOperation()
	c := tape.Scratch(60)
	if e := tape.Scratch(30); e.overlaps(c) {
		t.Error("two scratch buffers of the second operation overlap")
	}
	if len(tape.scratch) != 2 || c.Bytes() != 240 {
		t.Errorf("%d scratch buffers, the first of %d bytes; want 2, and 240", len(tape.scratch), c.Bytes())
	}
	used, _ := d.Used()
	tape.Close()
	if now, _ := d.Used(); used == 0 || now != 0 {
		t.Errorf("%d bytes of scratch, %d after the end", used, now)
	}
}

// A lost device fails in the run that loses it, and in every later call.
func TestLost(t *testing.T) {
	d, m := testDevice(1 << 30)
	a := mustAlloc(t, d, 16)
	for _, c := range []struct{ fault, later error }{{errors.New("a slow kernel"), nil}, {ErrLost, ErrLost}} {
		m.fault = c.fault
		tape := d.NewTape()
		tape.Fill(a, 0)
		must.OK(t, tape.Compile())
		if err := tape.Run(); !errors.Is(err, c.fault) {
			t.Errorf("run: %v, want %v", err, c.fault)
		}
		m.fault = nil
		_, err := d.Alloc(4)
		if !errors.Is(err, c.later) {
			t.Errorf("after the error %v: %v, want %v", c.fault, err, c.later)
		}
	}
	if err := d.stage(4, func(*Tape, Buffer) {}, nil); !errors.Is(err, ErrLost) {
		t.Errorf("a copy: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
