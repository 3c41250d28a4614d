// Package export writes data sets as NumPy files for PyTorch, JAX and other programs.
//
// A folder has
//
//   - images.npy: N x H x W x C, as uint8 if every pixel is a multiple of 1/255, otherwise as float32. Larger arrays
//     are split into images-000.npy, images-001.npy, ..., each with the next rows
//   - factors.npy: N x K values of the factors, NaN for unknown ones. The data set grid reads them
//   - levels.npy: N x K levels as int64, -1 for unknown ones
//   - sizes.npy: the K numbers of levels
//   - values.npy, for hierarchical data: N x K exact values, and 1 + the option of categorical dimensions
//   - set.json: a [Set], with the names and kinds of the factors
//   - README.md: a description for people
package export

import (
	"context"
	_ "embed" // for the README
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/train/rundir"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/npy"
)

// Source describes the origin of a data set.
type Source struct {
	Dataset  string   `json:"dataset"`           // name in a config
	Options  []string `json:"options,omitempty"` // NAME=VALUE
	Seed     uint64   `json:"seed"`
	Licence  string   `json:"licence,omitempty"`
	Citation string   `json:"citation,omitempty"`
	Terms    string   `json:"terms,omitempty"`
}

// Set describes an exported data set.
type Set struct {
	Source
	Images  []string `json:"images"` // files, in the order of their rows
	Shape   [4]int   `json:"shape"`  // N, H, W, C
	Type    string   `json:"type"`   // uint8 or float32
	Real    bool     `json:"real"`   // pixels are real numbers; otherwise they are in [0, 1], or 0 to 255 as uint8
	Factors []Factor `json:"factors"`
	Lost    []string `json:"lost,omitempty"` // properties that the files cannot represent
}

// Factor describes a column of the factors.
type Factor struct {
	Name   string      `json:"name"`
	Kind   factor.Kind `json:"kind"`
	Size   int         `json:"size"`             // number of levels
	Values []float64   `json:"values,omitempty"` // by level, in the factor's units; empty: the level itself
	Names  []string    `json:"names,omitempty"`  // by level, for people; empty: none
	Angles []float64   `json:"angles,omitempty"` // by level, in radians; empty: evenly spaced, or no angles

	Column string `json:"column"` // kind of the column for the data set grid
}

// Write writes a data set into an existing folder. It replaces the files of an earlier export, and rejects a folder
// with other arrays. No file of images has more than shard bytes of pixels. Write reports the written images to
// progress.
func Write(ctx context.Context, dir string, d datasets.Dataset, from Source, shard int64, progress func(done int)) (*Set, error) {
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	h, w, c := d.ImageShape()
	s := &Set{Source: from, Shape: [4]int{d.Len(), h, w, c}, Type: "float32", Real: datasets.RealValued(d)}
	x := &writer{set: d, size: h * w * c, progress: progress}
	eight, err := x.eightBit(ctx)
	if err != nil {
		return nil, err
	}
	eight = eight && !s.Real
	bytes := int64(x.size) * 4
	if eight {
		s.Type, bytes = "uint8", int64(x.size)
	}
	if err := disk.CheckFree(dir, bytes*int64(d.Len())); err != nil {
		return nil, err
	}
	files, err := disk.OpenFiles(dir, "data-export")
	if err != nil {
		return nil, err
	}
	if err := x.images(ctx, files, s, int(max(1, shard/bytes)), eight); err != nil {
		return nil, err
	}
	if err := writeFactors(files, s, d); err != nil {
		return nil, err
	}
	_ = files.Write("set.json", rundir.JSON(s)) // Finish returns its error
	_ = files.Write("README.md", func(w io.Writer) error { return readmeTemplate.Execute(w, s) })
	return s, files.Finish()
}

// checkFolder rejects a folder with arrays that no export has written.
func checkFolder(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "made-by-data-export.txt")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	there, err := filepath.Glob(filepath.Join(dir, "*.npy"))
	if err == nil && len(there) > 0 {
		err = fmt.Errorf("%s: no export has written this array; want an empty folder, or one with an earlier export",
			there[0])
	}
	return err
}

// writer renders images, some at a time.
type writer struct {
	set      datasets.Dataset
	size     int // values per image
	progress func(done int)
	pixels   []float32
}

// each renders the images in [from, to) and passes them to use in parts.
func (x *writer) each(ctx context.Context, from, to int, use func(pixels []float32) error) error {
	const most = 4 << 20 // values per part
	step := max(1, most/x.size)
	indices := make([]int, 0, step)
	for ; from < to; from += len(indices) {
		if err := ctx.Err(); err != nil {
			return err
		}
		indices = indices[:0]
		for i := from; i < min(from+step, to); i++ {
			indices = append(indices, i)
		}
		if x.pixels == nil {
			x.pixels = make([]float32, step*x.size)
		}
		datasets.Fill(x.set, indices, x.pixels)
		if err := use(x.pixels[:len(indices)*x.size]); err != nil {
			return err
		}
	}
	return nil
}

var errOther = errors.New("a pixel between two shades") // stops the search

// eightBit reports whether all pixels are bytes divided by 255. Readers would see only 0 and 1/255 as black and white.
func (x *writer) eightBit(ctx context.Context) (bool, error) {
	brightest := uint8(0)
	err := x.each(ctx, 0, x.set.Len(), func(pixels []float32) error {
		for _, p := range pixels {
			b := shade(p)
			if math.Float32bits(float32(b)/255) != math.Float32bits(p) {
				return errOther
			}
			brightest = max(brightest, b)
		}
		return nil
	})
	if err == errOther {
		return false, nil
	}
	return brightest > 1, err
}

// shade returns the byte nearest to a pixel.
func shade(p float32) uint8 {
	if !(p > 0 && p < 1) {
		return map[bool]uint8{true: 255}[p >= 1]
	}
	return uint8(p*255 + 0.5)
}

func (x *writer) images(ctx context.Context, files *disk.Files, s *Set, rows int, eight bool) error {
	n := x.set.Len()
	for from := 0; from < n; from += rows {
		to, name := min(from+rows, n), "images.npy"
		if rows < n {
			name = fmt.Sprintf("images-%03d.npy", from/rows)
		}
		s.Images = append(s.Images, name)
		shape := append([]int{to - from}, s.Shape[1:]...)
		if err := files.Write(name, func(w io.Writer) error {
			if eight {
				return writeImages(ctx, x, w, shape, from, func(to []uint8, pixels []float32) {
					for i, p := range pixels {
						to[i] = shade(p)
					}
				})
			}
			return writeImages(ctx, x, w, shape, from, func(to, pixels []float32) { copy(to, pixels) })
		}); err != nil {
			return err
		}
	}
	return nil
}

func writeImages[T uint8 | float32](ctx context.Context, x *writer, w io.Writer, shape []int, from int,
	convert func(to []T, pixels []float32)) error {
	if err := npy.WriteHeader[T](w, shape); err != nil {
		return err
	}
	done := from
	var buffer []T
	return x.each(ctx, from, from+shape[0], func(pixels []float32) error {
		if buffer == nil {
			buffer = make([]T, len(pixels))
		}
		convert(buffer[:len(pixels)], pixels)
		done += len(pixels) / x.size
		x.progress(done)
		return npy.WriteElements(w, buffer[:len(pixels)])
	})
}

func writeFactors(files *disk.Files, s *Set, d datasets.Dataset) error {
	factors, levels := d.Factors(), datasets.Levels(d)
	shape := []int{d.Len(), len(factors)}
	values, wide, sizes := make([]float64, len(levels)), make([]int64, len(levels)), make([]int64, len(factors))
	for j, f := range factors {
		sizes[j] = int64(f.Size)
		value := s.describe(f, levels[j:], len(factors))
		for i := j; i < len(levels); i += len(factors) {
			wide[i], values[i] = int64(levels[i]), math.NaN()
			if levels[i] != datasets.Unknown {
				values[i] = value(levels[i])
			}
		}
	}
	write := map[string]func(w io.Writer) error{
		"factors.npy": func(w io.Writer) error { return writeNumbers(w, shape, values) },
		"levels.npy":  func(w io.Writer) error { return npy.Write(w, shape, wide) },
		"sizes.npy":   func(w io.Writer) error { return npy.Write(w, shape[1:], sizes) },
	}
	if h, ok := d.(datasets.Hierarchical); ok {
		s.Lost = append(s.Lost, "the hierarchy of the dimensions is missing; factors.npy has bins of continuous dimensions, and values.npy their exact values")
		write["values.npy"] = func(w io.Writer) error {
			return npy.Write(w, shape, datasets.Dimensions(h, numeric.UpTo(d.Len())))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(write)) {
		if err := files.Write(name, write[name]); err != nil {
			return err
		}
	}
	return nil
}

// writeNumbers writes integers as int64, and all other numbers as float64.
func writeNumbers(w io.Writer, shape []int, values []float64) error {
	ints := make([]int64, len(values))
	for i, v := range values {
		if v != math.Trunc(v) { // also for NaN
			return npy.Write(w, shape, values)
		}
		ints[i] = int64(v)
	}
	return npy.Write(w, shape, ints)
}

// describe adds a factor to the set. It returns the function from levels to the numbers in the file.
func (s *Set) describe(f factor.Factor, levels []int, k int) func(level int) float64 {
	if identity(f.Values) {
		f.Values = nil
	}
	column, value := columnOf(f, levels, k)
	s.Factors = append(s.Factors, Factor{f.Name, f.Kind, f.Size, f.Values, f.Names, f.Angles, column})
	if f.Rotations != nil {
		s.Lost = append(s.Lost, fmt.Sprintf("the rotations in space of %s are missing", f.Name))
	}
	if value != nil {
		return func(level int) float64 { return value[level] }
	}
	if f.Values != nil || f.Angles != nil {
		s.Lost = append(s.Lost, fmt.Sprintf("factors.npy has levels of %s; set.json has their values", f.Name))
	}
	return func(level int) float64 { return float64(level) }
}

// identity reports whether values are 0, 1, 2, ...
func identity(values []float64) bool {
	for l, v := range values {
		if v != float64(l) {
			return false
		}
	}
	return true
}

// columnOf returns the kind of a factor's column for the data set grid, and the value of each level. The values are nil
// if the levels themselves should be written, because grid finds levels in ascending order of the values that occur.
// levels has stride k.
func columnOf(f factor.Factor, levels []int, k int) (column string, value []float64) {
	column, value = f.Kind.String(), f.Values
	if f.Kind == factor.Circular {
		if value = f.Angles; value != nil {
			column = fmt.Sprintf("circular:%v", 2*math.Pi)
		}
	}
	occurs := make([]bool, f.Size)
	for i := 0; i < len(levels); i += k {
		if levels[i] != datasets.Unknown {
			occurs[levels[i]] = true
		}
	}
	ascending := slices.IsSortedFunc(value, func(a, b float64) int { // strictly ascending
		if a <= b {
			return -1
		}
		return 1
	})
	if value == nil || !ascending || slices.Contains(occurs, false) {
		return f.Kind.String(), nil
	}
	level := func(v float64) bool { return v == math.Trunc(v) && v >= 0 && v < float64(f.Size) }
	if !slices.ContainsFunc(value, func(v float64) bool { return !level(v) }) {
		return f.Kind.String(), nil // grid reads such values as levels
	}
	return column, value
}

//go:embed README.md.tmpl
var readmeText string

var readmeTemplate = template.Must(template.New("README.md").Funcs(template.FuncMap{"join": strings.Join}).Parse(readmeText))

// Config returns the value of the key dataset with which a config reads the files in a folder.
func (s *Set) Config(folder string) string {
	names, kinds := make([]string, len(s.Factors)), make([]string, len(s.Factors))
	for i, f := range s.Factors {
		names[i], kinds[i] = strconv.Quote(f.Name), strconv.Quote(f.Column)
	}
	options := []string{"path: " + strconv.Quote(folder), "channels: last", "rows: first",
		"names: [" + strings.Join(names, ", ") + "]", "kinds: [" + strings.Join(kinds, ", ") + "]"}
	if s.Real {
		options = append(options, "real: true")
	}
	return "{grid: {" + strings.Join(options, ", ") + "}}"
}
