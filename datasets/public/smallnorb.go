package public

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/archive"
	"github.com/unravel-ml/unravel/internal/disk"
)

// SmallNORB is SmallNORB (LeCun, Huang and Bottou 2004): 48,600 grey photographs of toys. It contains both parts,
// training first, and the left image of each pair, in the order of the files. Its factors are category, elevation,
// azimuth and lighting. The instance within a category is a nuisance factor: ten images have the same levels.
type SmallNORB struct {
	Part     string               `yaml:"part" doc:"all, training or testing (with other instances)"`
	Instance bool                 `yaml:"instance" doc:"add the instance (10 of each category) as a factor after category; false: it varies as a nuisance"`
	Size     datasets.PictureSize `yaml:"size" doc:"resize the 96 x 96 images to this side with Pillow's Lanczos filter; 0: keep their size"`
}

// norbFactors are the columns of labels.
var norbFactors = []factor.Factor{
	{Name: "category", Size: 5, Kind: factor.Categorical},
	{Name: "instance", Size: 10, Kind: factor.Categorical},
	{Name: "elevation", Size: 9, Kind: factor.Ordinal, Values: evenlySpaced(9, 30, 70)},
	{Name: "azimuth", Size: 18, Kind: factor.Circular, Values: evenlySpaced(18, 0, 340)},
	{Name: "lighting", Size: 6, Kind: factor.Categorical},
}

// norbParts lists the parts and the prefixes of their file names.
var norbParts = []struct{ name, prefix string }{
	{"training", "smallnorb-5x46789x9x18x6x2x96x96-training-"},
	{"testing", "smallnorb-5x01235x9x18x6x2x96x96-testing-"},
}

const norbURL = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"

func (s *SmallNORB) Origin() datasets.Origin {
	file := func(part int, kind string, size int64, sum string) source.File {
		name := norbParts[part].prefix + kind + ".mat.gz"
		return source.File{Name: name, URL: norbURL + name, Size: size, SHA256: sum}
	}
	side := int64(norbSide)
	if len(s.Size) == 2 {
		side = int64(s.Size[0])
	}
	return datasets.Origin{
		Files: []source.File{
			file(0, "dat", 131896188, "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873"),
			file(0, "cat", 348, "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"),
			file(0, "info", 71052, "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32"),
			file(1, "dat", 130799817, "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474"),
			file(1, "cat", 347, "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"),
			file(1, "info", 10428, "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2"),
		},
		Licence:  "none is stated",
		Citation: "Yann LeCun, Fu Jie Huang and Leon Bottou: Learning methods for generic object recognition with invariance to pose and lighting. CVPR 2004",
		Terms:    "for research; may not be sold",
		Bytes:    48600 * (side*side + 4*6), Version: 1,
	}
}

// norbSide is the side of the stored images.
const norbSide = 96

func (s *SmallNORB) Validate() error {
	if s.Size.Check() != nil || len(s.Size) == 2 && s.Size[0] != s.Size[1] {
		return config.Invalid("size", "want a side of 1 to %d, or 0 for the published size, got %v",
			pictures.MaxSide, []int(s.Size))
	}
	if s.Part != "all" && s.Part != norbParts[0].name && s.Part != norbParts[1].name {
		return config.Invalid("part", "unknown part %q; want all, training or testing", s.Part)
	}
	return nil
}

func (s *SmallNORB) Prepare(ctx context.Context, progress datasets.Progress) error {
	return prepare(ctx, progress, s.build)
}

func (s *SmallNORB) Build(uint64) (datasets.Dataset, error) { return s.build(context.Background()) }

func (s *SmallNORB) build(ctx context.Context) (datasets.Dataset, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	set, err := cachedPublic(ctx, "smallnorb", fmt.Sprintf("size=%v", []int(s.Size)), s.Origin(), s.convert)
	if err != nil {
		return nil, err
	}
	drop := []string{"part"}
	if !s.Instance {
		drop = append(drop, "instance")
	}
	part := slices.IndexFunc(norbParts, func(p struct{ name, prefix string }) bool { return p.name == s.Part })
	return subset(set, drop, func(levels []int32) bool { return part < 0 || int(levels[0]) == part })
}

// convert reads both parts, each on a separate core. The first factor of the cached set is the part.
func (s *SmallNORB) convert(ctx context.Context, dir string, w *cache.Writer) error {
	var levels []int32
	starts := make([]int, len(norbParts)+1) // the first row of each part
	for i, p := range norbParts {
		rows, err := norbLabels(filepath.Join(dir, p.prefix+"cat.mat.gz"), filepath.Join(dir, p.prefix+"info.mat.gz"))
		if err != nil {
			return err
		}
		for r := 0; r < len(rows); r += len(norbFactors) {
			levels = append(append(levels, int32(i)), rows[r:][:len(norbFactors)]...)
		}
		starts[i+1] = starts[i] + len(rows)/len(norbFactors)
	}
	side := norbSide
	if len(s.Size) == 2 {
		side = s.Size[0]
	}
	part := factor.Factor{Name: "part", Size: len(norbParts), Kind: factor.Categorical}
	if err := w.Begin(starts[len(norbParts)], side, side, 1, append([]factor.Factor{part}, norbFactors...)); err != nil {
		return err
	}
	if err := w.SetLevels(levels); err != nil {
		return err
	}
	return pictures.ForEach(ctx, len(norbParts), func() func(int) error {
		return func(i int) error {
			path := filepath.Join(dir, norbParts[i].prefix+"dat.mat.gz")
			return norbImages(path, starts[i], starts[i+1]-starts[i], side,
				func(row int, pixels []uint8) error { return w.WriteAt(ctx, row, pixels) })
		}
	})
}

// norbImages writes the left images of count pairs, starting at a row.
func norbImages(path string, row, count, side int, write func(row int, pixels []uint8) error) error {
	n, err := openNORB(path, norbBytes)
	if err != nil {
		return err
	}
	defer n.close()
	if !slices.Equal(n.dims, []int{count, 2, norbSide, norbSide}) {
		return fmt.Errorf("%s has the dimensions %v; want [%d 2 %d %d], a pair for each of the %d labels",
			n.name, n.dims, count, norbSide, norbSide, count)
	}
	f := pictures.Fitter{H: side, W: side, C: 1, Fit: pictures.FitStretch, Filter: pictures.FilterOf("lanczos")}
	pair, pixels := make([]uint8, 2*norbSide*norbSide), make([]uint8, side*side)
	for i := range count {
		if err := n.read(pair); err != nil {
			return err
		}
		f.Into(pixels, pair[:norbSide*norbSide], norbSide, norbSide)
		if err := write(row+i, pixels); err != nil {
			return err
		}
	}
	return n.end()
}

// subset returns the images of a cached set with levels that satisfy want, without the factors in drop.
func subset(set *cache.Set, drop []string, want func(levels []int32) bool) (*stored.Set, error) {
	d := stored.FromCache(set)
	k := len(set.Factors)
	var keep []int
	d.Columns, d.Levels = nil, nil
	for j, f := range set.Factors {
		if !slices.Contains(drop, f.Name) {
			keep, d.Columns = append(keep, j), append(d.Columns, f)
		}
	}
	d.Levels = make([]int32, 0, set.Count*len(keep))
	for i := range set.Count {
		row := set.Levels[i*k:][:k]
		if !want(row) {
			continue
		}
		d.Rows = append(d.Rows, int32(i))
		for _, j := range keep {
			d.Levels = append(d.Levels, row[j])
		}
	}
	d.Count = len(d.Rows)
	if d.Count == set.Count {
		d.Rows = nil
	}
	if d.Count == 0 {
		return nil, fmt.Errorf("data set %s has no image of this choice; want another choice than without %s",
			set.Name, strings.Join(drop, ", "))
	}
	d.Unknown = stored.CountMissing(d.Levels, len(keep))
	return d, nil
}

// norbFile is an open file in the binary format of SmallNORB: a magic number, the number of dimensions, at least three
// dimensions, and the elements in row-major order. Numbers are little-endian. The file is usually compressed with gzip.
type norbFile struct {
	name   string
	file   *os.File // nil: a reader without a file
	r      io.Reader
	dims   []int
	width  int   // bytes per element: 1 or 4
	packed int64 // maximum number of bytes after decompression
}

// norbTypes lists the magic numbers. SmallNORB only uses bytes and 32-bit integers.
var norbTypes = map[uint32]string{
	norbBytes: "bytes", norbInts: "32-bit integers", 0x1E3D4C56: "16-bit integers", 0x1E3D4C51: "32-bit floats",
	0x1E3D4C53: "64-bit floats", 0x1E3D4C52: "packed numbers",
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
	if prefix, err := buffered.Peek(2); err == nil && bytes.Equal(prefix, []byte{0x1f, 0x8b}) {
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
	switch got := uint32(head[0]); {
	case got == magic:
	case norbTypes[got] != "":
		return nil, fmt.Errorf("%s holds %s (magic number 0x%08X); want %s (0x%08X)",
			name, norbTypes[got], got, norbTypes[magic], magic)
	case norbTypes[binary.BigEndian.Uint32(binary.LittleEndian.AppendUint32(nil, got))] != "":
		return nil, fmt.Errorf("%s begins with the magic number 0x%08X, which is in the wrong byte order; want little-endian numbers", name, got)
	default:
		return nil, fmt.Errorf("%s begins with 0x%08X; want the magic number 0x%08X of %s",
			name, got, magic, norbTypes[magic])
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
			return nil, fmt.Errorf("%s has the dimensions %v, as its header says, and only %d bytes; want a whole file",
				name, dims[:head[1]], size)
		}
		total *= int64(d)
	}
	return n, nil
}

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

// end checks that the file ends here, and verifies the checksum.
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

// readNORBInts reads a whole file of integers. It reads in blocks: memory then only grows with the data read.
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

// norbLabels reads the five levels of every pair: category, instance, elevation, azimuth and lighting.
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
		return nil, fmt.Errorf("%s has the dimensions %v; want [%d 4]: instance, elevation, azimuth and lighting",
			filepath.Base(info), dims, count)
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
		return nil, fmt.Errorf("%s has %d rows, and %s has %d; want equal numbers",
			filepath.Base(info), dims[0], filepath.Base(cat), count)
	}
	levels := make([]int32, 0, len(norbFactors)*count)
	for i, c := range categories {
		levels = append(append(levels, c), values[4*i:][:4]...)
	}
	return levels, nil
}
