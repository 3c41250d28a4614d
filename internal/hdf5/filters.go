package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

type worker struct {
	packed  []byte
	buffers [2][]byte // the data between filters
	chunks  []byte
	source  bytes.Reader
	inflate io.ReadCloser
}

// unpack reads a chunk into dst and inverts its filters in reverse order.
func (w *worker) unpack(r *Reader, i int, dst []byte) error {
	c := r.chunks[i]
	if c.addr == undefined {
		fillWith(dst, r.fill)
		return nil
	}
	if !r.file.contains(c.addr, int64(c.size)) {
		return r.file.cutOffError(c.addr, c.size)
	}
	if cap(w.packed) < c.size {
		w.packed = make([]byte, c.size+c.size/4)
	}
	b := w.packed[:c.size]
	if err := r.file.readInto(b, c.addr); err != nil {
		return err
	}
	filters := r.filters
	if r.layout.wholeEdge && r.isEdge(i) {
		filters = nil
	}
	free := 0 // index of the buffer that does not contain b
	for k := len(filters) - 1; k >= 0; k-- {
		if c.mask>>k&1 != 0 {
			continue
		}
		unpacked := dst
		if k > 0 {
			unpacked = w.buffer(free, packedSize(len(dst), filters[:k]))
		}
		var err error
		if b, err = w.invert(filters[k], unpacked, b, r.Type.Size); err != nil {
			return err
		}
		if len(b) > 0 && len(unpacked) > 0 && &b[0] == &unpacked[0] {
			free ^= 1
		}
	}
	if len(b) != len(dst) {
		return fmt.Errorf("%d bytes after unpacking; want %d", len(b), len(dst))
	}
	if len(b) > 0 && &b[0] != &dst[0] {
		copy(dst, b)
	}
	return nil
}

// packedSize is an upper bound of the size of n bytes after the filters: a checksum adds 4 bytes, and deflate adds a
// few bytes to incompressible data.
func packedSize(n int, filters []filter) int {
	for _, f := range filters {
		switch f.id {
		case deflateFilter:
			n += n/500 + 64
		case fletcherFilter:
			n += 4
		}
	}
	return n
}

func (w *worker) buffer(i, n int) []byte {
	if cap(w.buffers[i]) < n {
		w.buffers[i] = make([]byte, n)
	}
	return w.buffers[i][:n]
}

// invert inverts a filter: it returns the input of the filter for the output b, in dst or in b.
func (w *worker) invert(f filter, dst, b []byte, size int) ([]byte, error) {
	switch f.id {
	case deflateFilter:
		return w.inflateInto(dst, b)
	case lzfFilter:
		return lzf(dst, b)
	case shuffleFilter:
		if len(f.values) > 0 {
			size = int(f.values[0])
		}
		if size < 2 {
			return b, nil
		}
		if len(dst) < len(b) {
			return nil, fmt.Errorf("shuffle: %d bytes; want %d at most", len(b), len(dst))
		}
		unshuffle(dst[:len(b)], b, size)
		return dst[:len(b)], nil
	}
	if len(b) < 4 {
		return nil, errTruncated
	}
	b, sum := b[:len(b)-4], le.Uint32(b[len(b)-4:])
	if fletcher32(b) != sum {
		return nil, errors.New("the fletcher32 checksum is wrong: the file is damaged")
	}
	return b, nil
}

func (w *worker) inflateInto(dst, b []byte) ([]byte, error) {
	w.source.Reset(b)
	var err error
	if z, ok := w.inflate.(zlib.Resetter); ok {
		err = z.Reset(&w.source, nil)
	} else {
		w.inflate, err = zlib.NewReader(&w.source)
	}
	if err != nil {
		return nil, fmt.Errorf("deflate: %w", err)
	}
	n, err := io.ReadFull(w.inflate, dst)
	switch {
	case err == nil: // the end of the stream verifies the checksum
		var extra [1]byte
		if extraBytes, end := w.inflate.Read(extra[:]); extraBytes > 0 {
			err = fmt.Errorf("more than the %d bytes of a chunk", len(dst))
		} else if end != io.EOF {
			err = end
		}
	case errors.Is(err, io.ErrUnexpectedEOF) && n < len(dst):
		if extraBytes, end := w.inflate.Read(dst[n:]); extraBytes == 0 && end == io.EOF {
			err = nil // a complete but shorter stream; the caller compares lengths
		}
	}
	if err != nil {
		return nil, fmt.Errorf("deflate: %w", err)
	}
	return dst[:n], nil
}

// lzf decompresses Marc Lehmann's LZF format: runs of literals, and copies of earlier bytes.
func lzf(dst, b []byte) ([]byte, error) {
	n := 0
	for i := 0; i < len(b); {
		control := int(b[i])
		i++
		if control < 32 {
			length := control + 1
			if i+length > len(b) || n+length > len(dst) {
				return nil, errors.New("lzf: a run is too long: the file is damaged")
			}
			n += copy(dst[n:], b[i:i+length])
			i += length
			continue
		}
		length, distance := control>>5, control&31<<8
		if length == 7 && i < len(b) {
			length += int(b[i])
			i++
		}
		if i >= len(b) {
			return nil, errTruncated
		}
		distance += int(b[i]) + 1
		i++
		length += 2
		if distance > n || n+length > len(dst) {
			return nil, errors.New("lzf: a copy from outside: the file is damaged")
		}
		for range length { // source and destination may overlap
			dst[n] = dst[n-distance]
			n++
		}
	}
	return dst[:n], nil
}

// unshuffle inverts the shuffle filter for elements of a size: src has all first bytes, then all second bytes, and so
// on.
func unshuffle(dst, src []byte, size int) {
	n := len(src) / size
	for j := range size {
		plane := src[j*n : (j+1)*n]
		for i, position := 0, j; i < len(plane); i, position = i+1, position+size {
			dst[position] = plane[i]
		}
	}
	copy(dst[n*size:], src[n*size:])
}

// fillWith fills dst with copies of an element; nil means zeros.
func fillWith(dst, element []byte) {
	if element == nil || len(dst) == 0 {
		clear(dst)
		return
	}
	for n := copy(dst, element); n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// fletcher32 is the format's checksum of a chunk.
func fletcher32(b []byte) uint32 {
	var s1, s2 uint32
	for len(b) > 1 {
		n := min(len(b)/2, 360) // before the sums overflow
		for range n {
			s1 += uint32(b[0])<<8 | uint32(b[1])
			s2 += s1
			b = b[2:]
		}
		s1, s2 = s1&0xffff+s1>>16, s2&0xffff+s2>>16
	}
	if len(b) == 1 {
		s1 += uint32(b[0]) << 8
		s2 += s1
		s1, s2 = s1&0xffff+s1>>16, s2&0xffff+s2>>16
	}
	s1, s2 = s1&0xffff+s1>>16, s2&0xffff+s2>>16
	return s2<<16 | s1
}
