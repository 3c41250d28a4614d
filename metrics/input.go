package metrics

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Input holds the codes to measure, and the known facts about their images.
type Input struct {
	Codes   matrix.Matrix   // n x d: the representation of n images
	Levels  []int           // n x k: the levels of the factors, image by image; [factor.Unknown] for an unknown level
	Factors []factor.Factor // the k factors

	// Classes says that Levels are the numbers of equivalence classes: rows of one class have equal values of the
	// factor, and rows of different classes may have equal values too. Only metrics that are [Equational], or that need
	// no levels, can measure such inputs.
	Classes bool

	// If Levels are classes, Differ holds, by factor, the pairs of rows with the answer different. nil: none are known.
	Differ [][][2]int

	// Exact holds, for each continuous factor (of kind ordinal), the value of every image; the factor's levels are bins
	// (see [Bin]). Metrics of values use Exact, and metrics of levels use the bins. If Exact or a factor's entry is
	// nil, the factor has levels only. If a level is unknown, so is the value: NaN.
	Exact [][]float64

	// Hierarchy and TrueHierarchy are the hierarchies of the codes and of the factors (nil: unknown). With a hierarchy,
	// columns have the layout of [hierarchy.Hierarchy.Row]: first the categorical dimensions, as 1 + the chosen option,
	// then the continuous dimensions. Inactive dimensions are 0.
	Hierarchy, TrueHierarchy hierarchy.Hierarchy

	// Components holds, for each image, the component of its code, or -1 if the code was discarded. Paths holds each
	// image's path through the true hierarchy. nil: unknown; the categorical factors then determine the paths.
	Components, Paths []int

	// Spaces lists the code columns of each latent space of the model, such as a sphere (nil: unknown).
	Spaces [][]int

	// Explored describes the training images of the components. nil: the images of the codes.
	Explored *Explored

	Stream *rng.Stream // for metrics that draw random numbers; set by Evaluate

	// for metrics of levels: number of arcs of a circular factor with few rows for each angle (see inArcs); 0: arcs
	// only if the factor has Angles
	arcs int

	selection Part // names and numbers of selected columns, or of principal components; empty: all columns

	// for some of the factors: all factors, which share the code columns, and the number of each of Factors among them;
	// nil: Factors are all
	allFactors    []factor.Factor
	factorIndices []int

	shared *mutual.Shared // bins that the halves of an [Interval] have in common; nil: not a half
	spans  []levels.Span  // for a subset of the rows: the range of each factor's Exact values over all rows
}

// Explored holds components and paths of the images that a hierarchy was learned from, if a run measures others.
type Explored struct {
	Components []int // as in an Input
	Paths      []int // as in an Input (nil: unknown)
}

func (in *Input) table() levels.Table { return levels.Table{Factors: in.Factors, Levels: in.Levels} }

// Validate checks that the input has codes and factors, that shapes match, that levels are in range and that codes are
// finite. Evaluate calls it, so metrics may rely on it.
func (in *Input) Validate() error {
	if in == nil {
		return fmt.Errorf("there is no input; want the result of NewInput")
	}
	n, d, k := in.Codes.Rows, in.Codes.Cols, len(in.Factors)
	switch {
	case n < 1 || d < 1:
		return fmt.Errorf("codes are %d x %d; want at least one row and one column", n, d)
	case len(in.Codes.Data) != n*d:
		return fmt.Errorf("codes hold %d numbers; want %d x %d", len(in.Codes.Data), n, d)
	case k < 1:
		return fmt.Errorf("there are no factors; want at least one")
	case len(in.Levels) != n*k:
		return fmt.Errorf("there are %d factor levels; want %d, %d factors of %d codes", len(in.Levels), n*k, k, n)
	}
	if err := in.Codes.Finite("codes: row %d, column %d is %v"); err != nil {
		return err
	}
	if err := in.table().Validate(in.Exact); err != nil {
		return err
	}
	if err := in.validDiffer(); err != nil {
		return err
	}
	return in.validHierarchical()
}

// validDiffer checks the pairs of rows that differ.
func (in *Input) validDiffer() error {
	if in.Differ != nil && len(in.Differ) != len(in.Factors) {
		return fmt.Errorf("there are differing pairs of %d factors; want one list for each of the %d",
			len(in.Differ), len(in.Factors))
	}
	for j, list := range in.Differ {
		for _, pair := range list {
			if min(pair[0], pair[1]) < 0 || max(pair[0], pair[1]) >= in.Codes.Rows {
				return fmt.Errorf("factor %q: rows %v differ; want rows of 0 to %d", in.Factors[j].Name, pair, in.Codes.Rows-1)
			}
		}
	}
	return nil
}

// NewMatrix converts float32 codes, rows x cols, in row-major order.
func NewMatrix(rows, cols int, data []float32) matrix.Matrix {
	m := matrix.Matrix{Rows: rows, Cols: cols, Data: make([]float64, len(data))}
	for i, v := range data {
		m.Data[i] = float64(v)
	}
	return m
}

// FromRows copies rows of numbers to a matrix. Rows must have equal lengths, and all numbers must be finite.
func FromRows(rows [][]float64) (matrix.Matrix, error) {
	if len(rows) == 0 || len(rows[0]) == 0 {
		return matrix.Matrix{}, fmt.Errorf("there are no numbers; want at least one row and one column")
	}
	m := matrix.Matrix{Rows: len(rows), Cols: len(rows[0])}
	for i, row := range rows {
		if len(row) != m.Cols {
			return matrix.Matrix{}, fmt.Errorf("row %d has %d columns, and row 0 has %d; want rows of one length",
				i, len(row), m.Cols)
		}
		m.Data = append(m.Data, row...)
	}
	return m, m.Finite("row %d, column %d is %v")
}

// FromMat copies a gonum matrix. All numbers must be finite.
func FromMat(a mat.Matrix) (matrix.Matrix, error) {
	if isNil(a) {
		return matrix.Matrix{}, errors.New("the matrix is nil; want at least one row and one column")
	}
	rows, cols := a.Dims()
	if rows == 0 || cols == 0 {
		return matrix.Matrix{}, fmt.Errorf("the matrix is %d x %d; want at least one row and one column", rows, cols)
	}
	return matrixOf(rows, cols, a.At)
}

func matrixOf(rows, cols int, element func(i, j int) float64) (matrix.Matrix, error) {
	m := matrix.Matrix{Rows: rows, Cols: cols, Data: make([]float64, 0, rows*cols)}
	for i := range rows {
		for j := range cols {
			m.Data = append(m.Data, element(i, j))
		}
	}
	return m, m.Finite("row %d, column %d is %v")
}

// FromTensor copies a float32 or float64 tensor, or a view, of shape [rows, columns]. All numbers must be finite.
func FromTensor(t tensor.Tensor) (matrix.Matrix, error) {
	if isNil(t) {
		return matrix.Matrix{}, errors.New("the tensor is nil; want two dimensions, rows and columns")
	}
	shape := t.Shape()
	switch {
	case len(shape) != 2:
		return matrix.Matrix{}, fmt.Errorf("the tensor has the shape %v; want two dimensions, rows and columns", shape)
	case shape[0] == 0 || shape[1] == 0:
		return matrix.Matrix{}, fmt.Errorf("the tensor has the shape %v; want at least one row and one column", shape)
	case t.Dtype() != tensor.Float32 && t.Dtype() != tensor.Float64:
		return matrix.Matrix{}, fmt.Errorf("the tensor holds numbers of type %v; want float32 or float64", t.Dtype())
	}
	return matrixOf(shape[0], shape[1], func(i, j int) float64 {
		switch v, _ := t.At(i, j); v := v.(type) { // the error only reports indices out of range
		case float32:
			return float64(v)
		case float64:
			return v
		}
		return math.NaN()
	})
}

// isNil reports whether an interface is nil or holds a nil pointer.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || r.Kind() == reflect.Pointer && r.IsNil()
}

// NewInput combines codes with the levels of their factors, one row for each image. If factors is nil, the factors are
// ordinal and named y0, y1, ...; their levels go from 0 to the largest level that occurs. An unknown level is
// [factor.Unknown]. Errors: shapes that do not match, and the errors of [Input.Validate].
func NewInput(codes matrix.Matrix, levels [][]int, factors []factor.Factor) (*Input, error) {
	if len(levels) != codes.Rows {
		return nil, fmt.Errorf("there are levels of %d images and codes of %d images; want one code for each image",
			len(levels), codes.Rows)
	}
	in := &Input{Codes: codes, Factors: factors}
	for i, row := range levels {
		if factors == nil && i == 0 {
			for j := range row {
				in.Factors = append(in.Factors, factor.Factor{Name: fmt.Sprint("y", j), Kind: factor.Ordinal})
			}
		}
		if len(row) != len(in.Factors) {
			return nil, fmt.Errorf("image %d has levels of %d factors; want %d", i, len(row), len(in.Factors))
		}
		in.Levels = append(in.Levels, row...)
		for j, level := range row {
			if factors == nil {
				in.Factors[j].Size = max(in.Factors[j].Size, level+1)
			}
		}
	}
	return in, in.Validate()
}

// AddContinuous adds a continuous ordinal factor, with a value for every image. Metrics of levels use its bins ([Bin]).
// Errors: the errors of [Bin], and a number of values that differs from the number of images.
func (in *Input) AddContinuous(name string, values []float64, bins int) error {
	if len(values) != in.Codes.Rows {
		return fmt.Errorf("factor %q has %s; want one for each of the %d codes",
			name, wording.Count(len(values), "value"), in.Codes.Rows)
	}
	if slices.ContainsFunc(in.Factors, func(f factor.Factor) bool { return f.Name == name }) {
		return fmt.Errorf("there is a factor %q already; want another name", name)
	}
	rowLevels, centres, err := Bin(values, bins)
	if err != nil {
		return fmt.Errorf("factor %q: %w", name, err)
	}
	in.add(factor.Factor{Name: name, Kind: factor.Ordinal, Size: len(centres), Values: centres}, rowLevels, values)
	return nil
}

// validHierarchical checks the hierarchies, components and paths of an input.
func (in *Input) validHierarchical() error {
	for _, h := range []struct {
		whose string
		hierarchy.Hierarchy
	}{{"the codes", in.Hierarchy}, {"the factors", in.TrueHierarchy}} {
		if err := h.Hierarchy.Validate(); err != nil {
			return fmt.Errorf("hierarchy of %s: %w", h.whose, err)
		}
	}
	if in.Explored != nil {
		if err := validComponents(in.Explored.Components, in.Explored.Paths, len(in.Explored.Components)); err != nil {
			return fmt.Errorf("explored images: %w", err)
		}
	}
	return validComponents(in.Components, in.Paths, in.Codes.Rows)
}

// validComponents checks components and paths, one for each row; either may be nil.
func validComponents(components, paths []int, rows int) error {
	for _, ids := range []struct {
		name     string
		values   []int
		smallest int
		want     string
	}{{"component", components, -1, "0 or more, or -1 (discarded)"}, {"path", paths, 0, "0 or more"}} {
		if ids.values != nil && len(ids.values) != rows {
			return fmt.Errorf("there are %ss of %d rows; want one for each of the %d codes", ids.name, len(ids.values), rows)
		}
		for i, id := range ids.values {
			if id < ids.smallest {
				return fmt.Errorf("%ss: row %d has %d; want %s", ids.name, i, id, ids.want)
			}
		}
	}
	return nil
}

// Missing is the error of [Evaluate] for an unset field of [Input]. Set the field, or leave out the metric.
type Missing string

// The fields of [Input] that can be missing.
const (
	MissingHierarchy     Missing = "the hierarchy of the codes is not known"
	MissingTrueHierarchy Missing = "the true hierarchy is not known"
	MissingComponents    Missing = "the components of the codes are not known"
	MissingCircular      Missing = "there is no circular factor; want at least one"
	MissingFactors       Missing = "the images have no known factor of several levels"

	// MissingLevels is the error of metrics that need levels, if only equality of rows is known.
	MissingLevels Missing = "it needs the levels of factors, and pairs only say which rows agree; want a metric of modularity, such as variance, mad, radius, diameter or mpd, or factors"
)

func (m Missing) Error() string { return string(m) }
