// Package hdf5 reads arrays of numbers from HDF5 files, as h5py, MATLAB (7.3) and other programs write them
// (https://docs.hdfgroup.org/hdf5/develop/_f_m_t3.html).
//
// It reads superblocks 0 to 3, with or without a user block; groups as symbol tables and as links, including soft
// links; compact, contiguous and chunked arrays with every kind of chunk index; the filters deflate, lzf, shuffle and
// fletcher32; fill values; integers, booleans and IEEE floats with 8 to 64 bits in both byte orders. Other features,
// such as strings, compound types, external links and virtual arrays, give an error that names the feature.
//
//	f, err := hdf5.Open("3dshapes.h5")
//	defer f.Close()
//	a, err := f.Array("images")
//	r, err := a.NewReader()
//	for from := 0; from < a.Rows(); from += r.Slab() {
//		err := r.ReadRows(pixels, from, min(from+r.Slab(), a.Rows()))
//		...
//	}
//
// Sizes in a file are compared with the size of the file before memory is allocated. Checksums are verified if the file
// has them.
package hdf5

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"

	"github.com/unravel-ml/unravel/internal/disk"
)

// undefined is the address of an object that does not exist.
const undefined = ^uint64(0)

var le = binary.LittleEndian

// File is an open HDF5 file. It is safe for concurrent use.
type File struct {
	path string
	f    *os.File
	size int64 // size of the file
	base int64 // file offset of address 0
	root uint64
}

// Open opens a file and reads its superblock.
func Open(path string) (*File, error) {
	f, size, err := disk.OpenSized(path)
	if err != nil {
		return nil, err
	}
	h := &File{path: path, f: f, size: size}
	if err := h.superblock(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

func (h *File) Close() error { return h.f.Close() }

const signature = "\x89HDF\r\n\x1a\n"

// Is reports whether start may be the start of an HDF5 file without a user block, or of a MATLAB 7.3 file.
func Is(start []byte) bool {
	const userBlock = 512
	return len(start) >= len(signature) && string(start[:len(signature)]) == signature ||
		len(start) >= userBlock+len(signature) && string(start[userBlock:userBlock+len(signature)]) == signature
}

// superblock finds and reads the superblock. A user block of 512 bytes times a power of two may precede it.
func (h *File) superblock() error {
	for offset := int64(0); offset < h.size; offset = max(512, offset*2) {
		b := make([]byte, min(128, h.size-offset))
		if _, err := h.f.ReadAt(b, offset); err != nil {
			return err
		}
		if len(b) < len(signature) || string(b[:len(signature)]) != signature {
			continue
		}
		if len(b) < 48 {
			return errTruncated
		}
		if err := h.readSuperblock(b); err != nil {
			return err
		}
		if h.base < 0 || h.base > h.size {
			return fmt.Errorf("the superblock says that addresses begin at %d, and the file has %d bytes: it is damaged or cut off", h.base, h.size)
		}
		return nil
	}
	return errors.New("not an HDF5 file: it has no signature")
}

func (h *File) readSuperblock(b []byte) error {
	switch b[8] {
	case 0, 1:
		if b[13] != 8 || b[14] != 8 {
			return fmt.Errorf("addresses of %d bytes and lengths of %d bytes; want 8", b[13], b[14])
		}
		p := 24 + 4*int(b[8])
		if len(b) < p+48 {
			return errTruncated
		}
		h.base, h.root = int64(le.Uint64(b[p:])), le.Uint64(b[p+40:])
	case 2, 3:
		if b[9] != 8 || b[10] != 8 {
			return fmt.Errorf("addresses of %d bytes and lengths of %d bytes; want 8", b[9], b[10])
		}
		if lookup3(b[:44]) != le.Uint32(b[44:]) {
			return errors.New("the checksum of the superblock is wrong: the file is damaged")
		}
		h.base, h.root = int64(le.Uint64(b[12:])), le.Uint64(b[36:])
	default:
		return fmt.Errorf("a superblock of version %d; want 0 to 3", b[8])
	}
	return nil
}

// contains reports whether n bytes at an address are inside the file.
func (h *File) contains(addr uint64, n int64) bool {
	return addr <= uint64(h.size-h.base) && n >= 0 && n <= h.size-h.base-int64(addr)
}

func (h *File) readAt(addr uint64, n int) ([]byte, error) {
	if !h.contains(addr, int64(n)) {
		return nil, h.cutOffError(addr, n)
	}
	b := make([]byte, n)
	if err := h.readInto(b, addr); err != nil {
		return nil, err
	}
	return b, nil
}

func (h *File) cutOffError(addr uint64, n int) error {
	return fmt.Errorf("the file has %d bytes, but says that %d are at %d: it is damaged or cut off", h.size, n, addr)
}

func (h *File) readInto(b []byte, addr uint64) error {
	_, err := h.f.ReadAt(b, int64(addr)+h.base)
	if err == io.EOF && len(b) == 0 {
		return nil
	}
	return err
}

// readUpTo reads n bytes at an address, or fewer at the end of the file.
func (h *File) readUpTo(addr uint64, n int) ([]byte, error) {
	if addr < uint64(h.size-h.base) {
		n = int(min(int64(n), h.size-h.base-int64(addr)))
	}
	return h.readAt(addr, n)
}

// readChecked reads n bytes that start with a signature, and verifies the checksum after them.
func (h *File) readChecked(addr uint64, n int, magic string) ([]byte, error) {
	if n < len(magic) {
		return nil, errTruncated
	}
	b, err := h.readAt(addr, n+4)
	if err != nil {
		return nil, err
	}
	if string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("there is no %s at %d: the file is damaged", magic, addr)
	}
	if lookup3(b[:n]) != le.Uint32(b[n:]) {
		return nil, fmt.Errorf("the checksum of %s at %d is wrong: the file is damaged",
			cmp.Or(magic, "a page of an index"), addr)
	}
	return b[:n], nil
}

var errTruncated = errors.New("a structure ends early: the file is damaged or cut off")

// cursor reads consecutive numbers and keeps the first error.
type cursor struct {
	b   []byte
	err error
}

func (c *cursor) bytes(n int) []byte {
	if c.err == nil && (n < 0 || n > len(c.b)) {
		c.err = errTruncated
	}
	if c.err != nil {
		return nil
	}
	field := c.b[:n]
	c.b = c.b[n:]
	return field
}

func (c *cursor) skip(n int) { c.bytes(n) }

func (c *cursor) uint(n int) (v uint64) {
	for i, x := range c.bytes(n) {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// int reads a number that must fit an int32, such as the size of a structure.
func (c *cursor) int(n int) int {
	v := c.uint(n)
	if v > 1<<31-1 && c.err == nil {
		c.err = fmt.Errorf("a structure says %d: the file is damaged", v)
	}
	if c.err != nil {
		return 0
	}
	return int(v)
}

// lookup3 is Bob Jenkins' hash lookup3 with initial value 0, the checksum of the format.
func lookup3(d []byte) uint32 {
	rot := bits.RotateLeft32
	a := 0xdeadbeef + uint32(len(d))
	b, c := a, a
	for len(d) > 12 {
		a, b, c, d = a+le.Uint32(d), b+le.Uint32(d[4:]), c+le.Uint32(d[8:]), d[12:]
		for _, k := range [...]int{4, 6, 8, 16, 19, 4} {
			a = (a - c) ^ rot(c, k)
			c += b
			a, b, c = b, c, a
		}
	}
	if len(d) == 0 {
		return c
	}
	var t [12]byte
	copy(t[:], d)
	a, b, c = a+le.Uint32(t[:]), b+le.Uint32(t[4:]), c+le.Uint32(t[8:])
	for _, k := range [...]int{14, 11, 25, 16, 4, 14, 24} {
		c = (c ^ b) - rot(b, k)
		a, b, c = b, c, a
	}
	return b
}
