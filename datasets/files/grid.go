package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/internal/wording"
)

// GridFolder is a data set of the user's arrays. The arrays are in a NumPy file (.npz), an HDF5 file (.h5, .hdf5), a
// MATLAB file (.mat, version 5 to 7.3), or a folder of .npy files. A single .npy file contains images without factors.
//
//   - images: N x H x W or N x H x W x C, with any height, width and number of channels. Sequences are images of one
//     row: N x W, or N x 1 x W x C with channels; so are vectors, N x W. Channels and Rows say where other axes are.
//   - factors: N x K numbers, the levels of every image. Without sizes, values are arbitrary: level l is the l-th
//     smallest value. NaN is an unknown level. Values of circular factors with a period are angles. The factors may be
//     missing if the images are the full grid of sizes, with the last factor fastest. Other images without factors have
//     one factor of one level, "unknown". A folder may have a text table instead, factors.csv ([table.ReadFactors]):
//     its first line names the factors, and words are levels.
//   - sizes (optional): K numbers of levels, for factors with missing levels, and for factors with values 0 .. size-1
//     that are to stay levels.
//
// Pixels are bool, unsigned 8-bit integers (scaled by 1/255), unsigned 16-bit integers (1/65535) or floats in [0, 1].
// For other integers and floats, Scale is the number that means white. With Real, pixels are arbitrary finite floats.
// 8-bit images stay 8-bit; with Round, other images become 8-bit. Floats up to 2e-5 outside [0, 1], due to rounding,
// become black or white. A set of more than 256 MiB of 8-bit images is memory-mapped, from a plain .npy file or from
// the cache after one conversion. Other sets must fit into memory.
//
// The images need not be a full grid.
type GridFolder struct {
	Path     string             `yaml:"path" doc:"file of arrays (.npz, .npy, .h5, .hdf5, .mat) or folder with images.npy, factors.npy (or factors.csv) and sizes.npy"`
	Arrays   GridArrays         `yaml:"arrays" doc:"names of the arrays, such as {images: imgs, factors: latents_classes}"`
	Channels string             `yaml:"channels" doc:"channel axis: first (N x C x H x W), last (N x H x W x C), or auto (guessed from the shape)"`
	Rows     string             `yaml:"rows" doc:"image axis: first, last (H x W x C x N, as in some MATLAB files), or auto (guessed from factors and shape)"`
	Scale    float64            `yaml:"scale" doc:"pixel value of white; 0: 255 for unsigned 8-bit integers, 65535 for unsigned 16-bit integers, 1 for floats"`
	Round    bool               `yaml:"round" doc:"round pixels to 8 bits; a large set then needs no memory"`
	Names    []string           `yaml:"names" doc:"names of the factors; empty: factor0, factor1, ..."`
	Kinds    factor.ColumnKinds `yaml:"kinds" doc:"kinds of the factors, by name or in order: ordinal, circular (evenly spaced), circular:360 (degrees), categorical or continuous (20 bins); empty: all ordinal"`
	Real     bool               `yaml:"real" doc:"images hold real numbers, not pixels in [0, 1]; decoders end without a sigmoid"`
}

// GridArrays names the arrays of a [GridFolder]. An empty name means the key itself. If no names are given, the only
// array of a file is the images, under any name.
type GridArrays struct {
	Images  string `yaml:"images" doc:"array of the images; empty: images"`
	Factors string `yaml:"factors" doc:"array of the factors, or text table such as labels.csv beside the images; empty: factors; none: images without factors"`
	Sizes   string `yaml:"sizes" doc:"array of the sizes of the factors; empty: sizes"`
}

const noFactors = "none"

// withDefaults returns the names of all arrays.
func (g GridArrays) withDefaults() GridArrays {
	return GridArrays{cmp.Or(g.Images, "images"), cmp.Or(g.Factors, "factors"), cmp.Or(g.Sizes, "sizes")}
}

var gridAxes = []string{"auto", "first", "last"}

func (g *GridFolder) Validate() error {
	if g.Path == "" {
		return config.Invalid("path",
			"is missing; want a folder with images.npy and factors.npy, or a file of arrays (.npz, .npy, .h5, .mat)")
	}
	for i, name := range g.Names {
		if name == "" || slices.Contains(g.Names[:i], name) {
			return config.Invalid("names", "name %d, %q, is empty or repeated; want distinct names", i, name)
		}
	}
	for option, value := range map[string]string{"channels": g.Channels, "rows": g.Rows} {
		if value != "" && !slices.Contains(gridAxes, value) {
			return config.Invalid(option, "%q is not known; want %s", value, strings.Join(gridAxes, ", "))
		}
	}
	switch {
	case g.Arrays.isText() && !filepath.IsLocal(g.Arrays.Factors):
		return config.Invalid("arrays.factors", "%q is not a table beside the images; want a file such as labels.csv there",
			g.Arrays.Factors)
	case !(g.Scale >= 0) || g.Scale > 1<<64:
		return config.Invalid("scale", "%v is out of range; want the value of white, or 0 for the usual value", g.Scale)
	case g.Real && g.Scale != 0:
		return config.Invalid("scale", "is for pixels; want none, or real: false")
	case g.Real && g.Round:
		return config.Invalid("round", "is for pixels; want round: false, or real: false")
	}
	return nil
}

func (g *GridFolder) Reads() []datasets.Read {
	table, _ := g.textFactors()
	text := datasets.ReadOf("path/factors", table)
	if info, err := os.Stat(g.Path); err != nil || !info.IsDir() {
		return append(datasets.ReadOf("path", g.Path), text...)
	}
	names := g.Arrays.withDefaults()
	var list []datasets.Read
	for _, name := range []string{names.Images, names.Factors, names.Sizes} {
		path := filepath.Join(g.Path, name+".npy")
		if _, err := os.Stat(path); err == nil {
			list = append(list, datasets.Read{Key: "path/" + name, Path: path})
		}
		for i, shard := range arrays.Shards(g.Path, name) {
			list = append(list, datasets.Read{Key: fmt.Sprintf("path/%s-%03d", name, i), Path: shard})
		}
	}
	return append(list, text...)
}

// Prepare converts images that are cached. Build reads all other images.
func (g *GridFolder) Prepare(ctx context.Context, progress datasets.Progress) error {
	s, d, err := g.describe()
	if err != nil {
		return err
	}
	defer s.file.Close() // nothing was written
	if !s.onDisk(d, maxInMemory) {
		return nil
	}
	return s.readImages(cache.WithProgress(ctx, cache.Progress(progress)), d, maxInMemory)
}

// Build reads the arrays. Its errors name the file, its content and the expected content.
func (g *GridFolder) Build(uint64) (datasets.Dataset, error) {
	d, err := g.read(context.Background(), maxInMemory)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// read is Build with a limit on the bytes of 8-bit images in memory.
func (g *GridFolder) read(ctx context.Context, inMemory int) (*stored.Set, error) {
	s, d, err := g.describe()
	if err != nil {
		return nil, err
	}
	defer s.file.Close() // nothing was written
	if err := s.readImages(ctx, d, inMemory); err != nil {
		return nil, err
	}
	d.Remarks = append(d.Remarks, d.PixelNotes()...)
	return d, nil
}

// describe opens the file, and reads everything except the images. The caller closes the file.
func (g *GridFolder) describe() (*gridSource, *stored.Set, error) {
	if err := g.Validate(); err != nil {
		return nil, nil, err
	}
	f, err := arrays.Open(g.Path)
	if err != nil {
		return nil, nil, err
	}
	s, d := &gridSource{GridFolder: g, file: f, names: g.Arrays.withDefaults()}, &stored.Set{Title: g.name(), Real: g.Real}
	path, unread := g.textFactors()
	for _, other := range unread {
		d.Remarks = append(d.Remarks,
			fmt.Sprintf("%s is not read, as %s has the factors; arrays: {factors: %s} would read it",
				other, cmp.Or(path, f.Label(s.names.Factors)), filepath.Base(other)))
	}
	if path != "" {
		if s.text, err = table.ReadFactors(path, "factors", g.Kinds.Categorical(g.Names)); err != nil {
			f.Close() // nothing was written
			return nil, nil, err
		}
	}
	_, absent := f.Open(s.names.Images)
	if only := arrays.Only(f); only != "" && only != s.names.Factors && errors.Is(absent, fs.ErrNotExist) &&
		g.Arrays == (GridArrays{}) {
		s.names.Images = only
		d.Remarks = append(d.Remarks, fmt.Sprintf("%s: its only array, %s, is read as images without factors", g.Path, only))
	}
	if err = s.openImages(d); err != nil && pictures.HasPictures(g.Path) {
		err = fmt.Errorf("%w; the folder has pictures, which the data set folder reads: dataset: {folder: {path: %s}}",
			err, g.Path)
	}
	if err == nil {
		err = s.readFactors(d)
	}
	if err != nil {
		f.Close() // nothing was written
		return nil, nil, err
	}
	return s, d, nil
}

func (g *GridFolder) name() string {
	base := filepath.Base(g.Path)
	if ext := filepath.Ext(base); slices.Contains([]string{".npz", ".npy", ".h5", ".hdf5", ".mat"}, strings.ToLower(ext)) {
		return strings.TrimSuffix(base, ext)
	}
	return base
}

// factorNames returns the names of k factors. fromFile are the names in their file, or nil.
func (g *GridFolder) factorNames(k int, fromFile []string) ([]string, error) {
	if len(g.Names) > 0 {
		if len(g.Names) != k {
			return nil, config.Invalid("names", "has %s; want one for each of the %d factors of %s",
				wording.Count(len(g.Names), "name"), k, g.Path)
		}
		return g.Names, nil
	}
	if fromFile != nil {
		return fromFile, nil
	}
	names := make([]string, k)
	for i := range names {
		names[i] = fmt.Sprint("factor", i)
	}
	return names, nil
}

// nameFactors names the factors of a table and returns their kinds.
func (g *GridFolder) nameFactors(d *stored.Set, t *table.Table) ([]factor.ColumnKind, error) {
	k := t.Cols
	names, err := g.factorNames(k, t.Names)
	if err != nil {
		return nil, err
	}
	chosen, err := g.Kinds.Parse(names)
	if err != nil {
		return nil, err
	}
	d.Columns = make([]factor.Factor, k)
	kinds := make([]factor.ColumnKind, k)
	for j := range kinds {
		kinds[j].Kind = factor.Ordinal
		if t.Words != nil && t.Words[j] != nil {
			kinds[j].Kind = factor.Categorical
			if chosen[j] != nil && chosen[j].Kind != factor.Categorical {
				return nil, config.Invalid("kinds", "factor %s has words such as %q; want categorical", names[j], t.Words[j][0])
			}
		}
		if chosen[j] != nil {
			kinds[j] = *chosen[j]
		}
		d.Columns[j].Name, d.Columns[j].Kind = names[j], kinds[j].Kind
	}
	return kinds, nil
}

// gridSource is the open file of a [GridFolder].
type gridSource struct {
	*GridFolder
	file       arrays.File
	names      GridArrays
	images     *arrays.Array
	text       *table.Table // factors in a text table; nil: in an array, or none
	axes       []int        // axes of the images: rows, height, width, channels, if they exist
	conversion pixelConversion
}

// openImages opens the images, and determines their axes and the number that means white.
func (s *gridSource) openImages(d *stored.Set) (err error) {
	if s.images, err = s.file.Open(s.names.Images); err != nil {
		if errors.Is(err, fs.ErrNotExist) && s.Arrays.Images == "" {
			if len(s.file.Names()) == 0 {
				return fmt.Errorf("%s has no arrays; want images.npy (N x H x W x C) and factors.npy (N x K), "+
					"or arrays: {images: NAME}", s.Path)
			}
			err = fmt.Errorf("%w; want the images' name, such as arrays: {images: %s}", err, cmp.Or(s.likelyImages(), "NAME"))
		}
		return err
	}
	rows := 0
	if s.text != nil {
		rows = s.text.Rows
	} else if factors, err := s.openFactors(); err == nil && factors != nil {
		rows = s.tableShape(factors.Shape)[0]
	}
	if err := s.findAxes(d, rows); err != nil {
		return err
	}
	s.conversion, err = newPixelRule(s.GridFolder, s.images)
	return err
}

// likelyImages returns the name of the first array that could be images, or "".
func (s *gridSource) likelyImages() string {
	for _, name := range s.file.Names() {
		if a, err := s.file.Open(name); err == nil && len(a.Shape) > 2 {
			return name
		}
	}
	return ""
}

// openFactors opens the array of factors: nil if there are none, an error if the named array is missing or no array.
func (s *gridSource) openFactors() (*arrays.Array, error) {
	if s.names.Factors == noFactors || strings.EqualFold(filepath.Ext(s.Path), ".npy") {
		return nil, nil
	}
	a, err := s.file.Open(s.names.Factors)
	if err == nil && len(a.Shape) == 0 {
		err = fmt.Errorf("%v; want N x K numbers, a row for each image", a)
	}
	return a, err
}

// tableShape returns the shape of a table, which may be a single column. For only one image, one row is its factors.
func (s *gridSource) tableShape(shape []int) []int {
	switch {
	case len(shape) == 1:
		return []int{shape[0], 1}
	case len(shape) == 2 && shape[0] == 1 && shape[1] > 1 && s.images.Shape[0] != 1: // a MATLAB vector
		return []int{shape[1], 1}
	}
	return shape
}

// A colour has at most colourChannels channels, including opacity. An axis of manyChannels or more is not the channels.
const (
	colourChannels = 4
	manyChannels   = 17
)

// channelAxis is the position of the channels in an array of four axes, with images along the first.
type channelAxis int

const (
	channelsLast channelAxis = iota
	channelsFirst
	channelsUnknown // the shape does not tell
)

// guessChannels finds the channels by a shape. An axis of at most four entries may be the channels of a colour, and an
// axis of 17 or more cannot be channels. One row with few channels is a sequence; a square with one channel has its
// channels last.
func guessChannels(s []int) channelAxis {
	first, height, width, last := s[1], s[1], s[2], s[3]
	switch {
	case first > colourChannels:
		return channelsLast
	case first == 1 && (last <= colourChannels || last < width && last < manyChannels):
		return channelsLast
	case first == 1 && width == 1: // a sequence of length 1
		return channelsLast
	case last >= manyChannels:
		return channelsFirst
	case last <= colourChannels && (first == 2 || last != width && height == width):
		return channelsLast
	}
	return channelsUnknown
}

// findAxes determines the shape of the images and the order of the array's axes.
func (s *gridSource) findAxes(d *stored.Set, factorRows int) error {
	shape := s.images.Shape
	rank := len(shape)
	if rank < 2 || rank > 4 || slices.Contains(shape, 0) {
		return fmt.Errorf("%s has shape %v; want N x H x W, N x H x W x C or, for sequences and vectors, N x W, none of them 0", s.images.Label, shape)
	}
	rows, err := s.rowsAxis(factorRows)
	if err != nil {
		return err
	}
	s.axes = []int{rows}
	for i := range rank {
		if i != rows {
			s.axes = append(s.axes, i)
		}
	}
	d.Count, d.Shape = shape[rows], [3]int{1, 1, 1}
	if rank == 2 {
		d.Shape[1] = shape[s.axes[1]]
		return nil
	}
	if rank == 4 {
		first, err := s.channelsFirst()
		if err != nil {
			return err
		}
		if first {
			s.axes = []int{rows, s.axes[2], s.axes[3], s.axes[1]}
		}
	}
	for i, axis := range s.axes[1:] {
		d.Shape[i] = shape[axis]
	}
	return nil
}

// rowsAxis returns the axis along which the images are stacked: the first or the last.
func (s *gridSource) rowsAxis(factorRows int) (int, error) {
	shape := s.images.Shape
	last := len(shape) - 1
	matlab := strings.EqualFold(filepath.Ext(s.Path), ".mat") && last > 1
	var firstFits, lastFits bool
	switch {
	case s.Rows == "first":
		return 0, nil
	case s.Rows == "last":
		return last, nil
	case factorRows > 0:
		firstFits, lastFits = shape[0] == factorRows, shape[last] == factorRows
		if !firstFits && !lastFits || !matlab && firstFits {
			return 0, nil // reading the factors reports the error
		}
	case !matlab:
		return 0, nil
	case last == 3: // one of the other axes must be colours
		firstFits, lastFits = min(shape[1], shape[3]) <= colourChannels, min(shape[0], shape[2]) <= colourChannels
	default:
		firstFits, lastFits = shape[1] == shape[2], shape[0] == shape[1]
	}
	switch {
	case firstFits == lastFits:
		return 0, fmt.Errorf("%s has shape %v, and its first or last axis may count images; want rows: first or rows: last",
			s.images.Label, shape)
	case lastFits:
		return last, nil
	}
	return 0, nil
}

// channelsFirst reports whether channels come before height and width.
func (s *gridSource) channelsFirst() (bool, error) {
	if s.Channels == "first" || s.Channels == "last" {
		return s.Channels == "first", nil
	}
	var shape []int
	for _, axis := range s.axes {
		shape = append(shape, s.images.Shape[axis])
	}
	axis := guessChannels(shape)
	if axis == channelsUnknown {
		return false, fmt.Errorf("%s has shape %v, which may be images of %d or of %d channels; want channels: first or channels: last", s.images.Label, s.images.Shape, shape[1], shape[3])
	}
	return axis == channelsFirst, nil
}
