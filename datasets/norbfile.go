package datasets

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/archive"
	"github.com/unravel-ml/unravel/internal/disk"
)

// norbFile is an open file in the binary format of SmallNORB. The file holds a magic number, the number of dimensions,
// at least three dimensions, and the elements row by row. Numbers are little-endian. The file is usually compressed by
// gzip.
type norbFile struct {
	name   string
	file   *os.File // nil: a reader from elsewhere
	r      io.Reader
	dims   []int
	width  int   // bytes of an element: 1 or 4
	packed int64 // bytes that the file can unpack to at most
}

// norbTypes are the magic numbers; only bytes and 32-bit integers occur in SmallNORB.
var norbTypes = map[uint32]string{
	norbBytes: "bytes", norbInts: "32-bit integers", 0x1E3D4C56: "16-bit integers", 0x1E3D4C51: "32-bit floats", 0x1E3D4C53: "64-bit floats", 0x1E3D4C52: "packed numbers",
}

const (
	norbBytes   = 0x1E3D4C55
	norbInts    = 0x1E3D4C54
	maxNORBDims = 8
)

// openNORB opens a file with elements of a type, and checks the header against the file's length.
func openNORB(path string, magic uint32) (*norbFile, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	n, err := newNORB(filepath.Base(path), f, info.Size(), magic)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	n.file = f
	return n, nil
}

// newNORB reads the header of a file of size bytes.
func newNORB(name string, r io.Reader, size int64, magic uint32) (*norbFile, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	n := &norbFile{name: name, r: buffered, packed: size, width: 1}
	if begin, err := buffered.Peek(2); err == nil && bytes.Equal(begin, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; want a whole .gz file", name, err)
		}
		n.r, n.packed = unpacked, size*archive.MaxDeflate
	}
	if magic == norbInts {
		n.width = 4
	}
	head, err := n.ints(2)
	if err != nil {
		return nil, err
	}
	switch is := uint32(head[0]); {
	case is == magic:
	case norbTypes[is] != "":
		return nil, fmt.Errorf("%s holds %s (magic number 0x%08X); want %s (0x%08X)", name, norbTypes[is], is, norbTypes[magic], magic)
	case norbTypes[binary.BigEndian.Uint32(binary.LittleEndian.AppendUint32(nil, is))] != "":
		return nil, fmt.Errorf("%s begins with the magic number 0x%08X, which is in the wrong byte order; want little-endian numbers", name, is)
	default:
		return nil, fmt.Errorf("%s begins with 0x%08X; want the magic number 0x%08X of %s", name, is, magic, norbTypes[magic])
	}
	if head[1] < 1 || head[1] > maxNORBDims {
		return nil, fmt.Errorf("%s has %d dimensions; want 1 to %d", name, head[1], maxNORBDims)
	}
	dims, err := n.ints(max(int(head[1]), 3))
	if err != nil {
		return nil, err
	}
	total := int64(n.width)
	for _, d := range dims[:head[1]] {
		n.dims = append(n.dims, int(d))
		if d < 1 {
			return nil, fmt.Errorf("%s has the dimensions %v; want 1 or more of each", name, dims[:head[1]])
		}
		if total > n.packed/int64(d) {
			return nil, fmt.Errorf("%s has the dimensions %v, as its header says, and only %d bytes; want a whole file", name, dims[:head[1]], size)
		}
		total *= int64(d)
	}
	return n, nil
}

// ints reads numbers.
func (n *norbFile) ints(count int) ([]int32, error) {
	raw := make([]byte, 4*count)
	if err := n.read(raw); err != nil {
		return nil, err
	}
	list := make([]int32, count)
	for i := range list {
		list[i] = int32(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return list, nil
}

// read reads bytes; an early end of the file is an error.
func (n *norbFile) read(dst []byte) error {
	if _, err := io.ReadFull(n.r, dst); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%s ends early: %w; want a whole file", n.name, io.ErrUnexpectedEOF)
		}
		return fmt.Errorf("%s: %w; want a whole file", n.name, err)
	}
	return nil
}

// end checks that nothing follows, and verifies the checksum.
func (n *norbFile) end() error {
	more, err := io.Copy(io.Discard, io.LimitReader(n.r, 1<<20))
	if err != nil {
		return fmt.Errorf("%s: %w; want a whole file", n.name, err)
	}
	if more > 0 {
		return fmt.Errorf("%s has %d or more bytes after the data of dimensions %v; want none", n.name, more, n.dims)
	}
	return nil
}

func (n *norbFile) close() {
	if n.file != nil {
		n.file.Close() // nothing was written
	}
}

// readNORBInts reads a whole file of integers in blocks, because memory must not grow faster than the data read.
func readNORBInts(path string) (dims []int, values []int32, err error) {
	n, err := openNORB(path, norbInts)
	if err != nil {
		return nil, nil, err
	}
	defer n.close()
	values, err = n.all()
	return n.dims, values, err
}

func (n *norbFile) all() ([]int32, error) {
	left := 1
	for _, d := range n.dims {
		left *= d
	}
	var values []int32
	for left > 0 {
		part, err := n.ints(min(left, 1<<16))
		if err != nil {
			return nil, err
		}
		values = append(values, part...)
		left -= len(part)
	}
	return values, n.end()
}

// norbLabels reads the category and the info of every pair. Each row has five levels: category, instance, elevation,
// azimuth and lighting.
func norbLabels(cat, info string) ([]int32, error) {
	dims, categories, err := readNORBInts(cat)
	if err != nil {
		return nil, err
	}
	if len(dims) != 1 {
		return nil, fmt.Errorf("%s has the dimensions %v; want one, a category for each pair", filepath.Base(cat), dims)
	}
	for i, c := range categories {
		if c < 0 || int(c) >= norbFactors[0].Size {
			return nil, fmt.Errorf("%s: row %d is category %d; want 0 to %d", filepath.Base(cat), i, c, norbFactors[0].Size-1)
		}
	}
	count := dims[0]
	dims, values, err := readNORBInts(info)
	if err != nil {
		return nil, err
	}
	if len(dims) != 2 || dims[1] != 4 {
		return nil, fmt.Errorf("%s has the dimensions %v; want [%d 4]: instance, elevation, azimuth and lighting", filepath.Base(info), dims, count)
	}
	for i, v := range values {
		if i%4 == 2 && v%2 != 0 {
			return nil, fmt.Errorf("%s: row %d has azimuth %d; want an even number", filepath.Base(info), i/4, v)
		}
		if i%4 == 2 {
			v /= 2
			values[i] = v
		}
		if f := norbFactors[1+i%4]; v < 0 || int(v) >= f.Size {
			return nil, fmt.Errorf("%s: row %d has %s %d; want 0 to %d", filepath.Base(info), i/4, f.Name, v, f.Size-1)
		}
	}
	if dims[0] != count {
		return nil, fmt.Errorf("%s has %d rows, and %s has %d; want as many", filepath.Base(info), dims[0], filepath.Base(cat), count)
	}
	levels := make([]int32, 0, len(norbFactors)*count)
	for i, c := range categories {
		levels = append(append(levels, c), values[4*i:][:4]...)
	}
	return levels, nil
}
