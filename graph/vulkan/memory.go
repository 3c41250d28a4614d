package vulkan

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// block is an allocation of the driver. handle is the driver's buffer for the whole block.
type block struct {
	//lint:ignore U1000 the build with tag gpu uses them
	handle, memory uintptr

	size   int64
	host   bool
	floats []float32 // host view of the memory
	free   []span    // sorted and merged
	used   map[int64]int64
}

type span struct{ at, size int64 }

// Buffer is a range of a device's memory. The zero Buffer has no memory. A Buffer is valid until it is freed or its
// device is closed.
type Buffer struct {
	block    *block
	at, size int64
}

// IsZero reports whether b is the zero Buffer.
func (b Buffer) IsZero() bool { return b.block == nil }

// Bytes returns the number of bytes.
func (b Buffer) Bytes() int64 { return b.size }

// Floats returns the elements of a buffer in host memory, or nil for device memory. Do not change the elements while a
// tape that uses the buffer runs.
func (b Buffer) Floats() []float32 {
	if b.block == nil || b.block.floats == nil {
		return nil
	}
	return b.block.floats[b.at/4 : (b.at+b.size)/4]
}

// overlaps reports whether two buffers share bytes.
func (b Buffer) overlaps(o Buffer) bool {
	return b.block == o.block && b.at < o.at+o.size && o.at < b.at+b.size
}

// blockSize is the size of an allocation on a GPU.
const blockSize = 16 << 20

// Device is an open GPU. It is safe for concurrent use. Only one of its tapes runs at a time.
type Device struct {
	Adapter Adapter

	driver  driver
	block   int64 // size of an allocation of the driver; a larger buffer has a separate block
	mu      sync.Mutex
	blocks  []*block
	used    int64
	peak    int64
	staging Buffer
	tapes   map[*Tape]bool
	closed  bool
	lost    bool
}

func newDevice(a Adapter, d driver) *Device {
	return &Device{Adapter: a, driver: d, block: blockSize, tapes: map[*Tape]bool{}}
}

var errClosed = errors.New("the GPU is closed")

// Alloc returns a buffer in device memory for at least one byte. Its content is undefined.
func (d *Device) Alloc(bytes int64) (Buffer, error) { return d.alloc(bytes, false) }

// AllocHost returns a buffer for the host ([Buffer.Floats]) and for kernels.
func (d *Device) AllocHost(bytes int64) (Buffer, error) { return d.alloc(bytes, true) }

func (d *Device) alloc(bytes int64, host bool) (Buffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return Buffer{}, err
	}
	if bytes < 1 {
		return Buffer{}, fmt.Errorf("a buffer of %d bytes; want 1 or more", bytes)
	}
	if limit := d.Adapter.Limits.Buffer; bytes > limit {
		return Buffer{}, &MemoryError{Needed: bytes, Limit: limit}
	}
	bytes = (bytes + 3) &^ 3
	for _, b := range d.blocks {
		if b.host == host {
			if at, ok := b.take(bytes, d.Adapter.Limits.Alignment); ok {
				return d.grant(b, at, bytes), nil
			}
		}
	}
	want := max(bytes, d.block)
	if room := d.Adapter.Memory - d.reserved(); !host && want > room { // a driver may allocate more memory than it has
		if want = bytes; want > room {
			return Buffer{}, &MemoryError{Needed: bytes, Used: d.reserved(), Available: d.Adapter.Memory}
		}
	}
	b, err := d.driver.allocate(want, host)
	if err != nil && want > bytes && !errors.Is(err, ErrLost) {
		b, err = d.driver.allocate(bytes, host)
	}
	if err != nil {
		d.lost = d.lost || errors.Is(err, ErrLost)
		return Buffer{}, &MemoryError{Needed: bytes, Used: d.reserved(), Available: d.Adapter.Memory, Err: err}
	}
	b.used = map[int64]int64{}
	b.free = []span{{0, b.size}}
	d.blocks = append(d.blocks, b)
	at, _ := b.take(bytes, d.Adapter.Limits.Alignment)
	return d.grant(b, at, bytes), nil
}

func (d *Device) grant(b *block, at, bytes int64) Buffer {
	b.used[at] = bytes
	d.used += bytes
	d.peak = max(d.peak, d.used)
	return Buffer{b, at, bytes}
}

// reserved is the device memory in all blocks.
func (d *Device) reserved() (sum int64) {
	for _, b := range d.blocks {
		if !b.host {
			sum += b.size
		}
	}
	return sum
}

// Used returns the current and the maximum number of bytes in buffers.
func (d *Device) Used() (now, peak int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used, d.peak
}

func (d *Device) usable() error {
	switch {
	case d.closed:
		return errClosed
	case d.lost:
		return ErrLost
	}
	return nil
}

// take cuts a span from the first free span that is large enough.
func (b *block) take(bytes, alignment int64) (at int64, ok bool) {
	for i, f := range b.free {
		at := (f.at + alignment - 1) / alignment * alignment
		if at+bytes > f.at+f.size {
			continue
		}
		var rest []span
		if at > f.at {
			rest = append(rest, span{f.at, at - f.at})
		}
		if end := f.at + f.size; at+bytes < end {
			rest = append(rest, span{at + bytes, end - at - bytes})
		}
		b.free = slices.Replace(b.free, i, i+1, rest...)
		return at, true
	}
	return 0, false
}

// Free frees a buffer. Tapes that run later must not use it. Freeing the zero Buffer does nothing.
func (d *Device) Free(b Buffer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b.block == nil || d.closed || b.block.used[b.at] != b.size {
		return
	}
	delete(b.block.used, b.at)
	d.used -= b.size
	b.block.give(span{b.at, b.size})
	if len(b.block.used) == 0 {
		d.driver.free(b.block)
		d.blocks = slices.DeleteFunc(d.blocks, func(x *block) bool { return x == b.block })
	}
}

// give adds a span to the free spans and merges it with adjacent spans.
func (b *block) give(s span) {
	i, _ := slices.BinarySearchFunc(b.free, s, func(a, b span) int { return int(a.at - b.at) })
	b.free = slices.Insert(b.free, i, s)
	if i+1 < len(b.free) && s.at+s.size == b.free[i+1].at {
		b.free[i].size += b.free[i+1].size
		b.free = slices.Delete(b.free, i+1, i+2)
	}
	if i > 0 && b.free[i-1].at+b.free[i-1].size == s.at {
		b.free[i-1].size += b.free[i].size
		b.free = slices.Delete(b.free, i, i+1)
	}
}

// Upload copies elements to the start of a buffer.
func (d *Device) Upload(to Buffer, x []float32) error {
	if int64(len(x))*4 > to.size {
		return fmt.Errorf("%d elements for a buffer of %d bytes", len(x), to.size)
	}
	if len(x) == 0 {
		return nil
	}
	if host := to.Floats(); host != nil {
		copy(host, x)
		return nil
	}
	return d.stage(int64(len(x))*4, func(t *Tape, s Buffer) {
		copy(s.Floats(), x)
		t.CopyRange(to, 0, s, 0, int64(len(x))*4)
	}, nil)
}

// Download copies elements from the start of a buffer.
func (d *Device) Download(x []float32, from Buffer) error {
	if int64(len(x))*4 > from.size {
		return fmt.Errorf("%d elements from a buffer of %d bytes", len(x), from.size)
	}
	if len(x) == 0 {
		return nil
	}
	if host := from.Floats(); host != nil {
		copy(x, host)
		return nil
	}
	return d.stage(int64(len(x))*4, func(t *Tape, s Buffer) { t.CopyRange(s, 0, from, 0, int64(len(x))*4) },
		func(s Buffer) { copy(x, s.Floats()) })
}

// stage runs a tape with the staging buffer, which grows as needed and is reused.
func (d *Device) stage(bytes int64, record func(*Tape, Buffer), then func(Buffer)) error {
	if d.staging.size < bytes {
		d.Free(d.staging)
		d.staging = Buffer{}
		b, err := d.AllocHost(bytes)
		if err != nil {
			return err
		}
		d.staging = b
	}
	t := d.NewTape()
	defer t.Close()
	record(t, d.staging)
	if err := t.Compile(); err != nil {
		return err
	}
	if err := t.Run(); err != nil {
		return err
	}
	if then != nil {
		then(d.staging)
	}
	return nil
}

// Close frees the device with its buffers and tapes.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	for t := range d.tapes {
		t.release()
	}
	for _, b := range d.blocks {
		d.driver.free(b)
	}
	d.blocks = nil
	return d.driver.close()
}
