package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/npy"
)

// GridFolder is a data set of your own, in NumPy's formats: a folder with the files
// images.npy, factors.npy and sizes.npy, or an .npz file with arrays of these
// names.
//
//   - images: N x H x W or N x H x W x C, with any height, width and number of channels; uint8 (scaled by 1/255), bool,
//     or floats in [0, 1], with Real any finite ones. 8-bit images stay 8-bit in memory. Sequences are images of one
//     row: N x W, or N x 1 x W x C with channels; so are vectors, N x W.
//   - factors: N x K numbers, the levels of every image. Without sizes, any values
//     will do: level l is the l-th smallest that occurs. May be left out when the
//     images are the full grid of sizes, the last factor fastest.
//   - sizes (optional): K numbers of levels, for factors of which not all levels
//     occur, or that have values 0 .. size-1 to be kept as levels.
//
// The images need not be a full grid.
type GridFolder struct {
	Path  string        `yaml:"path" doc:"folder with images.npy, factors.npy and sizes.npy, or .npz file with these arrays"`
	Names []string      `yaml:"names" doc:"names of the factors; empty: factor1, factor2, ..."`
	Kinds []factor.Kind `yaml:"kinds" doc:"kind of every factor: circular, ordinal or categorical; empty: all ordinal"`
	Real  bool          `yaml:"real" doc:"images are real numbers, not pixels in [0, 1]: decoders end without a sigmoid"`
}

// Validate checks the settings.
func (g *GridFolder) Validate() error {
	if g.Path == "" {
		return config.Invalid("path", "is missing; want a folder with images.npy and factors.npy, or an .npz file")
	}
	for i, name := range g.Names {
		if name == "" || slices.Contains(g.Names[:i], name) {
			return config.Invalid("names", "name %d, %q, is empty or repeated; want distinct names", i, name)
		}
	}
	return nil
}

// Build reads the files. Its errors name the file, what is in it and what would be
// right.
func (g *GridFolder) Build(uint64) (Dataset, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	a, err := openArrays(g.Path)
	if err != nil {
		return nil, err
	}
	defer a.close()
	d := &stored{name: strings.TrimSuffix(filepath.Base(g.Path), ".npz"), real: g.Real}
	if err := d.readImages(a); err != nil {
		return nil, err
	}
	if err := d.readFactors(a); err != nil {
		return nil, err
	}
	if err := g.nameFactors(d); err != nil {
		return nil, err
	}
	return d, nil
}

// nameFactors applies names and kinds.
func (g *GridFolder) nameFactors(d *stored) error {
	k := len(d.factors)
	if len(g.Names) != 0 && len(g.Names) != k {
		return config.Invalid("names", "has %d names; want one for each of the %d factors of %s", len(g.Names), k, g.Path)
	}
	if len(g.Kinds) != 0 && len(g.Kinds) != k {
		return config.Invalid("kinds", "has %d kinds; want one for each of the %d factors of %s", len(g.Kinds), k, g.Path)
	}
	for i := range d.factors {
		f := &d.factors[i]
		f.Name, f.Kind = fmt.Sprint("factor", i+1), factor.Ordinal
		if len(g.Names) > 0 {
			f.Name = g.Names[i]
		}
		if len(g.Kinds) > 0 {
			f.Kind = g.Kinds[i]
		}
	}
	return nil
}

// colourChannels is the number of channels of a colour with opacity; manyChannels more than images have that are no colours.
const (
	colourChannels = 4
	manyChannels   = 17
)

// channelsFirst reports whether an array of images has the shape N x C x H x W of images of equal or similar sides. One
// row of few channels is a sequence.
func channelsFirst(s []int) bool {
	return s[1] <= colourChannels && min(s[2], s[3]) >= 8 && (s[1] > 1 || s[3] >= manyChannels || s[3] >= s[2])
}

func (d *stored) readImages(a *arrayFiles) error {
	r, err := a.open("images")
	if err != nil {
		return err
	}
	defer r.Close()
	s := r.Shape
	switch len(s) {
	case 2:
		s = []int{s[0], 1, s[1], 1}
	case 3:
		s = []int{s[0], s[1], s[2], 1}
	}
	if len(s) != 4 || slices.Contains(s, 0) {
		return fmt.Errorf("%s has shape %v; want N x H x W, N x H x W x C or, for sequences and vectors, N x W, none of them 0", a.label("images"), r.Shape)
	}
	if channelsFirst(s) {
		return fmt.Errorf("%s has shape %v, channels first; want N x H x W x C, in NumPy images.transpose(0, 2, 3, 1)", a.label("images"), r.Shape)
	}
	d.n, d.shape = s[0], [3]int{s[1], s[2], s[3]}
	if err := d.matchRows(a); err != nil { // before images are unpacked
		return err
	}
	switch r.DType {
	case "uint8", "bool":
		if d.real {
			return config.Invalid("real", "%s (%v) holds %s, which are pixels; want floats, or real: false", a.label("images"), r.Shape, r.DType)
		}
		images, err := npy.ReadAll[uint8](r)
		if err != nil {
			return err
		}
		d.bytes = images.Data
		for i := range d.bytes {
			if r.DType == "bool" {
				d.bytes[i] *= 255
			}
		}
	case "float16", "float32", "float64":
		images, err := npy.ReadAll[float32](r)
		if err != nil {
			return err
		}
		d.floats = images.Data
		for i, v := range d.floats {
			switch {
			case d.real && v-v != 0:
				return fmt.Errorf("%s (%v, %s): image %d has a number %v; want finite numbers", a.label("images"), r.Shape, r.DType, i/r.RowLen(), v)
			case !d.real && !(v >= 0 && v <= 1):
				return fmt.Errorf("%s (%v, %s): image %d has a pixel %v; want 0 to 1, or real: true for real numbers", a.label("images"), r.Shape, r.DType, i/r.RowLen(), v)
			}
		}
	default:
		return fmt.Errorf("%s (%v) holds %s; want uint8, bool, or floats in [0, 1]", a.label("images"), r.Shape, r.DType)
	}
	return nil
}

// matchRows checks by the headers alone that there is a row of factors for each image.
func (d *stored) matchRows(a *arrayFiles) error {
	r, err := a.open("factors")
	if err != nil {
		return nil // reported when they are read
	}
	defer r.Close()
	if len(r.Shape) == 0 || r.Shape[0] != d.n {
		return fmt.Errorf("%s has shape %v; want %d x K, a row for each image", a.label("factors"), r.Shape, d.n)
	}
	return nil
}

func (d *stored) readFactors(a *arrayFiles) error {
	sizes, err := d.readSizes(a)
	if err != nil {
		return err
	}
	r, err := a.open("factors")
	if errors.Is(err, fs.ErrNotExist) && sizes != nil {
		return d.fullGrid(a, sizes)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	s := r.Shape
	if len(s) == 1 {
		s = []int{s[0], 1}
	}
	if len(s) != 2 || s[0] != d.n || s[1] < 1 {
		return fmt.Errorf("%s has shape %v; want %d x K, a row for each image", a.label("factors"), r.Shape, d.n)
	}
	k := s[1]
	if sizes != nil && len(sizes) != k {
		return fmt.Errorf("%s has shape %v, but %s has %d numbers; want one for each factor", a.label("factors"), r.Shape, a.label("sizes"), len(sizes))
	}
	table, err := npy.ReadAll[float64](r)
	if err != nil {
		return err
	}
	d.factors, d.levels = make([]factor.Factor, k), make([]int32, d.n*k)
	column := make([]float64, d.n)
	for j := range k {
		for i := range column {
			if column[i] = table.Data[i*k+j]; math.IsNaN(column[i]) || math.IsInf(column[i], 0) {
				return fmt.Errorf("%s (%v): row %d, column %d is %v; want finite numbers", a.label("factors"), r.Shape, i, j, column[i])
			}
		}
		size := 0
		if sizes != nil {
			size = sizes[j]
		}
		if err := d.setLevels(j, column, size); err != nil {
			return fmt.Errorf("%s (%v): column %d: %w", a.label("factors"), r.Shape, j, err)
		}
	}
	if err := countable(d.factors); err != nil {
		return fmt.Errorf("%s (%v): its %w", a.label("factors"), r.Shape, err)
	}
	return nil
}

// setLevels turns a column of values into levels; size 0 means unknown.
func (d *stored) setLevels(j int, column []float64, size int) error {
	k := len(d.factors)
	if size > 0 && !slices.ContainsFunc(column, func(v float64) bool { return v != float64(int(v)) || v < 0 || v >= float64(size) }) {
		d.factors[j].Size = size
		for i, v := range column {
			d.levels[i*k+j] = int32(v)
		}
		return nil
	}
	values := slices.Clone(column)
	slices.Sort(values)
	values = slices.Compact(values)
	if size > 0 && len(values) != size {
		return fmt.Errorf("%d distinct values from %v to %v; want levels 0 to %d, or %d distinct values, as sizes says", len(values), values[0], values[len(values)-1], size-1, size)
	}
	identity := true
	for l, v := range values {
		identity = identity && v == float64(l)
	}
	d.factors[j].Size = len(values)
	if !identity {
		d.factors[j].Values = values
	}
	for i, v := range column {
		l, _ := slices.BinarySearch(values, v)
		d.levels[i*k+j] = int32(l)
	}
	return nil
}

// fullGrid gives the images the levels of the full grid of sizes.
func (d *stored) fullGrid(a *arrayFiles, sizes []int) error {
	product := 1
	for _, s := range sizes {
		if product > d.n/s {
			product = d.n + 1 // too many, and the product may overflow
			break
		}
		product *= s
	}
	if product != d.n {
		return fmt.Errorf("%s is missing, and the %d images of %s are not the full grid of sizes %v; want factors", a.label("factors"), d.n, a.label("images"), sizes)
	}
	grid := make(factor.Grid, len(sizes))
	for j, s := range sizes {
		grid[j].Size = s
	}
	d.factors, d.levels = grid, make([]int32, d.n*len(grid))
	at := make([]int, len(grid))
	for i := range d.n {
		grid.At(i, at)
		for j, l := range at {
			d.levels[i*len(grid)+j] = int32(l)
		}
	}
	return nil
}

// readSizes returns nil when there are no sizes.
func (d *stored) readSizes(a *arrayFiles) ([]int, error) {
	r, err := a.open("sizes")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if len(r.Shape) != 1 || r.Shape[0] < 1 {
		return nil, fmt.Errorf("%s has shape %v; want K numbers of levels", a.label("sizes"), r.Shape)
	}
	sizes, err := npy.ReadAll[int](r)
	if err != nil {
		return nil, err
	}
	for j, s := range sizes.Data {
		if s < 1 || s > factor.MaxSize {
			return nil, fmt.Errorf("%s: number %d is %d; want 1 to %d levels", a.label("sizes"), j, s, factor.MaxSize)
		}
	}
	return sizes.Data, nil
}

// arrayFiles reads named arrays from a folder or an .npz file.
type arrayFiles struct {
	path string
	npz  *npy.NPZ // nil: a folder
}

func openArrays(path string) (*arrayFiles, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	a := &arrayFiles{path: path}
	if info.IsDir() {
		return a, nil
	}
	if filepath.Ext(path) != ".npz" {
		return nil, fmt.Errorf("%s is a file; want a folder with images.npy and factors.npy, or an .npz file", path)
	}
	a.npz, err = npy.OpenNPZ(path)
	return a, err
}

// open returns a reader; its error is fs.ErrNotExist when there is no such array.
func (a *arrayFiles) open(name string) (*npy.Reader, error) {
	if a.npz == nil {
		return npy.Open(filepath.Join(a.path, name+".npy"))
	}
	if names := a.npz.Names(); !slices.Contains(names, name) {
		return nil, fmt.Errorf("%s: no array %q; there are %s: %w", a.path, name, strings.Join(names, ", "), fs.ErrNotExist)
	}
	return a.npz.Open(name)
}

// label names an array in errors.
func (a *arrayFiles) label(name string) string {
	if a.npz == nil {
		return filepath.Join(a.path, name+".npy")
	}
	return a.path + ": " + name
}

func (a *arrayFiles) close() {
	if a.npz != nil {
		a.npz.Close() // nothing was written
	}
}
