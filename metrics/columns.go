package metrics

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/datasets/factor/similarity"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// defaultBins is the number of bins of a continuous factor.
const defaultBins = 20

// ColumnType is the kind of factor that a column of numbers holds.
type ColumnType struct {
	Kind       factor.Kind
	Continuous bool    // ordinal for any Kind: levels are bins, and the values are kept in [Input.Exact]
	Found      bool    // inferred from the values: whole numbers or few distinct values are ordinal, others continuous
	Period     float64 // circular: values are angles, Period to a full turn; 0: levels are evenly spaced
}

// ParseColumnType reads ordinal, circular, circular:PERIOD, categorical or continuous; angular and discrete are
// synonyms of circular and categorical. Any other text is an error.
func ParseColumnType(text string) (ColumnType, error) {
	k, err := factor.ParseColumnKind(text)
	return ColumnType{Kind: k.Kind, Continuous: k.Continuous, Period: k.Period}, err
}

// Column is a named factor as numbers, one for each row of the codes.
type Column struct {
	Name   string
	Values []float64 // NaN where the factor is unknown
	Ints   []int64   // the values as integers, where float64 may not distinguish them; nil: Values are exact
	Type   ColumnType
}

// SetFactors replaces the factors by one for each column. The levels of a factor are the distinct values of its column,
// ascending. The levels of a continuous factor are bins of equal width; bins sets their number (0: 20).
// Angles with a period are taken modulo the period. If few rows share an angle, metrics of levels get equal arcs
// instead of the angles; bins sets their number. Values that are NaN are unknown levels; a column with only NaN is a
// factor of one level. Errors: an empty or repeated name, a wrong number of values, infinite values, circular values
// without a period that are not evenly spaced, and bins out of range.
func (in *Input) SetFactors(columns []Column, bins int) error {
	if bins == 0 {
		bins = defaultBins
	}
	n, k := in.Codes.Rows, len(columns)
	in.Levels, in.Factors, in.Exact, in.arcs = make([]int, n*k), make([]factor.Factor, k), nil, max(bins, 1)
	for j, c := range columns {
		first := slices.IndexFunc(columns, func(other Column) bool { return other.Name == c.Name })
		switch {
		case c.Name == "" || first < j:
			return fmt.Errorf("the name %q of column %d is empty or repeated; want distinct names of factors", c.Name, j)
		case len(c.Values) != n:
			return fmt.Errorf("factor %s has %d values; want %d, one for each row of the codes", c.Name, len(c.Values), n)
		}
		if err := in.setFactor(j, c, bins); err != nil {
			return fmt.Errorf("factor %s: %w", c.Name, err)
		}
	}
	return nil
}

// setFactor sets factor j and its levels from a column.
func (in *Input) setFactor(j int, c Column, bins int) error {
	f := &in.Factors[j]
	f.Name = c.Name
	kind, rows := c.Type, c.known()
	if len(rows) == 0 {
		f.Kind, f.Size = kind.Kind, 1
		in.setLevels(j, nil, nil)
		return nil
	}
	if len(rows) < len(c.Values) {
		c.Values, c.Ints = chosen(c.Values, rows), chosen(c.Ints, rows)
	}
	levels, distinct := c.levels()
	if kind.Found {
		whole := !slices.ContainsFunc(distinct, func(v float64) bool { return v != math.Trunc(v) })
		kind = ColumnType{Kind: factor.Ordinal, Continuous: !whole && len(distinct) > bins}
	}
	if kind.Continuous {
		var err error
		if levels, distinct, err = Bin(c.Values, bins); err != nil {
			return err
		}
		if in.Exact == nil {
			in.Exact = make([][]float64, len(in.Factors))
		}
		in.Exact[j], kind.Kind = slices.Repeat([]float64{math.NaN()}, in.Codes.Rows), factor.Ordinal
		for at, i := range rows {
			in.Exact[j][i] = c.Values[at]
		}
	}
	f.Kind, f.Values, f.Size = kind.Kind, distinct, len(distinct)
	if kind.Kind == factor.Circular && (kind.Period > 0 || !c.even(levels, *f)) {
		of, steps, err := factor.ColumnKind{Kind: kind.Kind, Period: kind.Period, Sample: true}.Levels(c.Values)
		if err != nil {
			return err
		}
		of.Name, levels = f.Name, steps
		*f = of
	}
	in.setLevels(j, rows, levels)
	return nil
}

// SetUnknown replaces the factors by one factor of one level, for images with unknown factors.
func (in *Input) SetUnknown() {
	in.Factors, in.Exact = []factor.Factor{{Name: "unknown", Size: 1, Kind: factor.Categorical}}, nil
	in.Levels = make([]int, in.Codes.Rows)
}

// known lists the rows with known values.
func (c *Column) known() []int {
	rows := make([]int, 0, len(c.Values))
	for i, v := range c.Values {
		if !math.IsNaN(v) {
			rows = append(rows, i)
		}
	}
	return rows
}

// even reports whether the values of a factor's levels are equally spaced, exactly where they are integers.
func (c *Column) even(levels []int, f factor.Factor) bool {
	if c.Ints != nil {
		least := slices.Min(c.Ints)
		f.Values = make([]float64, f.Size)
		for i, l := range levels {
			f.Values[l] = float64(uint64(c.Ints[i]) - uint64(least))
		}
	}
	return f.Even()
}

// setLevels sets the levels of factor j in some rows; in the others it is unknown.
func (in *Input) setLevels(j int, rows, levels []int) {
	k := len(in.Factors)
	for i := range in.Codes.Rows {
		in.Levels[i*k+j] = factor.Unknown
	}
	for at, i := range rows {
		in.Levels[i*k+j] = levels[at]
	}
}

// levels numbers the distinct values in ascending order. It compares Ints, if set, as float64 does not hold all
// integers.
func (c *Column) levels() (levels []int, distinct []float64) {
	if c.Ints == nil {
		return number(c.Values)
	}
	levels, order := number(c.Ints)
	for _, v := range order {
		distinct = append(distinct, float64(v))
	}
	return levels, distinct
}

func number[T int64 | float64](values []T) (levels []int, distinct []T) {
	at := make(map[T]int)
	for _, v := range values {
		if _, ok := at[v]; !ok {
			at[v] = 0
			distinct = append(distinct, v)
		}
	}
	slices.Sort(distinct)
	for l, v := range distinct {
		at[v] = l
	}
	levels = make([]int, len(values))
	for i, v := range values {
		levels[i] = at[v]
	}
	return levels, distinct
}

// sameRotation is the largest distance of matrix elements between equal rotations, for float32 and text with few
// digits.
const sameRotation = 1e-5

// AddRotations adds a categorical factor of rotations in space, one for each row of the codes. A row has 9 numbers (a
// matrix, row by row) or 4 (a quaternion of any length, real part first). Equal rotations share a level. Errors:
// another shape, a matrix that is no rotation, and a quaternion of zeros.
func (in *Input) AddRotations(m matrix.Matrix) error {
	if m.Rows != in.Codes.Rows || m.Cols != 9 && m.Cols != 4 {
		return fmt.Errorf("rotations have shape [%d %d]; want [%d 3 3] or [%d 9], matrices, or [%d 4], quaternions", m.Rows, m.Cols, in.Codes.Rows, in.Codes.Rows, in.Codes.Rows)
	}
	f := factor.Factor{Name: "rotation", Kind: factor.Categorical}
	for slices.ContainsFunc(in.Factors, func(other factor.Factor) bool { return other.Name == f.Name }) {
		f.Name += "-2"
	}
	levels, at := make([]int, m.Rows), map[[9]int64]int{}
	for i := range levels {
		g, err := rotationOf(m.Row(i))
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		var key [9]int64
		for e, v := range g {
			key[e] = int64(math.Round(v / sameRotation))
		}
		level, known := at[key]
		if !known {
			level, at[key] = f.Size, f.Size
			f.Rotations, f.Size = append(f.Rotations, g), f.Size+1
		}
		levels[i] = level
	}
	k := len(in.Factors)
	all := make([]int, 0, len(levels)*(k+1))
	for i, level := range levels {
		all = append(append(all, in.Levels[i*k:(i+1)*k]...), level)
	}
	in.Levels, in.Factors = all, append(in.Factors, f)
	if in.Exact != nil {
		in.Exact = append(in.Exact, nil)
	}
	return nil
}

// rotationOf returns the matrix of 9 numbers, or of a quaternion of any length.
func rotationOf(v []float64) (g [9]float64, err error) {
	if len(v) == 9 {
		copy(g[:], v)
		if !factor.IsRotation(&g) {
			return g, fmt.Errorf("the matrix %v is no rotation; want orthonormal rows and determinant 1", v)
		}
		return g, nil
	}
	g, ok := rotation.FromQuaternion([4]float64(v))
	if !ok {
		return g, fmt.Errorf("the quaternion %v has no direction; want one other than 0", v)
	}
	return g, nil
}

// Equational is implemented by metrics that only need to know which rows agree in a factor. They can measure an input
// with equivalence classes as Levels (Zhang and Sugiyama 2024, appendix F.2).
type Equational interface {
	// FromClasses reports whether the metric, with its settings, asks only which rows agree.
	FromClasses() bool
}

// FromClasses implements Equational.
func (*SubCodeDeviation) FromClasses() bool { return true }

// wantsLevels returns MissingLevels of a metric that cannot measure classes.
func wantsLevels(m Metric, in *Input) error {
	if e, ok := m.(Equational); !in.Classes || ok && e.FromClasses() {
		return nil
	}
	return MissingLevels
}

// SetClasses replaces the factors by the factors of classes. Rows of a class agree in a factor, and levels number the
// classes. Answers different that the classes agree with become Differ. A factor without a class is left out; it is an
// error if that leaves none.
func (in *Input) SetClasses(c *similarity.Classes) error {
	in.Levels, in.Factors, in.Exact, in.TrueHierarchy, in.Paths, in.Classes, in.Differ = nil, nil, nil, nil, nil, true, nil
	var of [][]int32
	differ := make([][][2]int, len(c.Factors))
	for _, x := range c.Kept {
		if !x.Same {
			differ[x.Factor] = append(differ[x.Factor], [2]int{int(x.A), int(x.B)})
		}
	}
	for k, name := range c.Factors {
		if len(c.Of[k]) != in.Codes.Rows {
			return fmt.Errorf("classes are about %d rows; want %d, the rows of the codes", len(c.Of[k]), in.Codes.Rows)
		}
		if c.Count[k] > 0 {
			in.Factors, of = append(in.Factors, factor.Factor{Name: name, Size: c.Count[k], Kind: factor.Categorical}), append(of, c.Of[k])
			in.Differ = append(in.Differ, differ[k])
		}
	}
	if len(of) == 0 {
		return errors.New("no two rows are known to agree in a factor; want at least one answer same")
	}
	in.Levels = slices.Repeat([]int{factor.Unknown}, in.Codes.Rows*len(of))
	for k, classes := range of {
		for i, class := range classes {
			in.Levels[i*len(of)+k] = int(class)
		}
	}
	return nil
}

// Bin cuts the range of values into bins of equal width, for metrics of levels. It returns the level of every value,
// counting non-empty bins only, and the centres of these bins. Errors: no values, values that are NaN or infinite, and
// bins out of range.
func Bin(values []float64, bins int) (levels []int, centres []float64, err error) {
	if len(values) == 0 {
		return nil, nil, fmt.Errorf("there are no values to bin")
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, nil, fmt.Errorf("value %d is %v; want finite numbers", i, v)
		}
	}
	if bins < 1 || bins > mutual.MaxBins {
		return nil, nil, config.Invalid("bins", "%d is out of range; want 1 to %d", bins, mutual.MaxBins)
	}
	ids, used := mutual.Bin(values, bins), make([]int, bins)
	for _, b := range ids {
		used[b] = 1
	}
	low, high := slices.Min(values), slices.Max(values)
	for b, found := range used {
		if used[b] = len(centres); found == 1 {
			t := (float64(b) + 0.5) / float64(bins)
			centres = append(centres, low*(1-t)+high*t) // the range itself may overflow
		}
	}
	levels = make([]int, len(ids))
	for i, b := range ids {
		levels[i] = used[b]
	}
	return levels, centres, nil
}
