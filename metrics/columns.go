package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/similarity"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

const defaultBins = 20 // number of bins of a continuous factor

// ColumnType is the type of factor that a column of numbers holds.
type ColumnType struct {
	Kind       factor.Kind
	Continuous bool    // ordinal for any Kind: levels are bins, and the values are kept in [Input.Exact]
	Found      bool    // inferred from the values: whole numbers or few distinct values are ordinal, others continuous
	Period     float64 // circular: values are angles, and Period is a full turn; 0: levels are evenly spaced
}

// ParseColumnType parses ordinal, circular, circular:PERIOD, categorical or continuous; angular and discrete are
// synonyms of circular and categorical. Any other text is an error.
func ParseColumnType(text string) (ColumnType, error) {
	k, err := factor.ParseColumnKind(text)
	return ColumnType{Kind: k.Kind, Continuous: k.Continuous, Period: k.Period}, err
}

// Column is a named factor as numbers, one for each row of the codes.
type Column struct {
	Name   string
	Values []float64 // NaN where the factor is unknown
	Ints   []int64   // the values as integers that float64 may not represent exactly; nil: Values are exact
	Type   ColumnType
}

// SetFactors replaces the factors of the input by one factor for each column. The levels of a factor are the distinct
// values of its column, ascending. The levels of a continuous factor are bins of equal width; bins is their number (0:
// 20). Angles with a period are taken modulo the period. If few rows have the same angle, metrics of levels use equal
// arcs as levels; bins is their number. NaN marks an unknown level; a column with only NaN becomes a factor with one
// level. Errors: an empty or repeated name, a wrong number of values, infinite values, circular values that are
// unevenly spaced and have no period, and bins out of range.
func (in *Input) SetFactors(columns []Column, bins int) error {
	bins = cmp.Or(bins, defaultBins)
	n, k := in.Codes.Rows, len(columns)
	in.Levels, in.Factors, in.Exact, in.arcs = make([]int, n*k), make([]factor.Factor, k), nil, max(bins, 1)
	for j, c := range columns {
		first := slices.IndexFunc(columns, func(other Column) bool { return other.Name == c.Name })
		switch {
		case c.Name == "" || first < j:
			return fmt.Errorf("the name %q of column %d is empty or repeated; want distinct names of factors", c.Name, j)
		case c.Ints != nil && len(c.Ints) != len(c.Values):
			return fmt.Errorf("factor %s has %s and %s; want as many",
				c.Name, wording.Count(len(c.Values), "value"), wording.Count(len(c.Ints), "integer"))
		case len(c.Values) != n:
			return fmt.Errorf("factor %s has %s; want %d, one for each row of the codes",
				c.Name, wording.Count(len(c.Values), "value"), n)
		case bins < 1 || bins > mutual.MaxBins:
			err := config.Invalid("bins", "%d is out of range; want 1 to %d", bins, mutual.MaxBins)
			return fmt.Errorf("factor %s: %w", c.Name, err)
		}
		kind := factor.ColumnKind{Kind: c.Type.Kind, Continuous: c.Type.Continuous, Period: c.Type.Period}
		f, rowLevels, exact, err := levels.Numbers{Values: c.Values, Ints: c.Ints}.Factor(kind, c.Type.Found, bins)
		if err != nil {
			return fmt.Errorf("factor %s: %w", c.Name, err)
		}
		f.Name = c.Name
		in.Factors[j] = f
		for i, l := range rowLevels {
			in.Levels[i*k+j] = l
		}
		if exact != nil {
			if in.Exact == nil {
				in.Exact = make([][]float64, k)
			}
			in.Exact[j] = exact
		}
	}
	return nil
}

// SetUnknown replaces the factors by a single factor with one level, for images with unknown factors.
func (in *Input) SetUnknown() {
	in.Factors, in.Exact = []factor.Factor{{Name: "unknown", Size: 1, Kind: factor.Categorical}}, nil
	in.Levels = make([]int, in.Codes.Rows)
}

// AddRotations adds a categorical factor of rotations in space, one for each row of the codes. A row has 9 numbers (a
// matrix, row by row) or 4 (a quaternion of any length, real part first). Equal rotations get the same level. Errors:
// another shape, a matrix that is not a rotation, and a zero quaternion.
func (in *Input) AddRotations(m matrix.Matrix) error {
	if m.Rows != in.Codes.Rows || m.Cols != 9 && m.Cols != 4 {
		return fmt.Errorf("rotations have shape [%d %d]; want [%d 3 3] or [%d 9], matrices, or [%d 4], quaternions",
			m.Rows, m.Cols, in.Codes.Rows, in.Codes.Rows, in.Codes.Rows)
	}
	name := "rotation"
	for slices.ContainsFunc(in.Factors, func(other factor.Factor) bool { return other.Name == name }) {
		name += "-2"
	}
	f, rowLevels, err := levels.Rotations(m)
	if err != nil {
		return err
	}
	f.Name = name
	in.add(f, rowLevels, nil)
	return nil
}

// add adds a factor with the level of every row and, for a continuous factor, the exact values.
func (in *Input) add(f factor.Factor, rowLevels []int, exact []float64) {
	k := len(in.Factors)
	extended := make([]int, 0, len(rowLevels)*(k+1))
	for i, level := range rowLevels {
		extended = append(append(extended, in.Levels[i*k:(i+1)*k]...), level)
	}
	if in.Exact != nil || exact != nil {
		values := make([][]float64, k, k+1)
		copy(values, in.Exact)
		in.Exact = append(values, exact)
	}
	in.Levels, in.Factors = extended, append(in.Factors[:k:k], f)
}

// Equational is implemented by metrics that only need to know which rows have equal values of a factor. They can
// measure an input with equivalence classes instead of levels (Zhang and Sugiyama 2024, appendix F.2).
type Equational interface {
	// FromClasses reports whether the metric, with its settings, only needs to know which rows have equal values.
	FromClasses() bool
}

func (*SubCodeDeviation) FromClasses() bool { return true }

// SetClasses replaces the factors of the input by the factors of the classes. Rows of one class have equal values of
// the factor, and the class number is the level. Answers "different" that do not contradict the classes become Differ,
// each pair once. Factors without an answer are left out; it is an error if no factor remains.
func (in *Input) SetClasses(c *similarity.Classes) error {
	in.Levels, in.Factors, in.Exact, in.TrueHierarchy, in.Paths, in.Classes, in.Differ = nil, nil, nil, nil, nil, true, nil
	var perFactor [][]int32
	differ := make([][][2]int, len(c.Factors))
	for _, x := range c.Kept {
		if !x.Same {
			differ[x.Factor] = append(differ[x.Factor], [2]int{int(min(x.A, x.B)), int(max(x.A, x.B))})
		}
	}
	for k, name := range c.Factors {
		if len(c.Of[k]) != in.Codes.Rows {
			return fmt.Errorf("classes are about %d rows; want %d, the rows of the codes", len(c.Of[k]), in.Codes.Rows)
		}
		if c.Count[k] > 0 || len(differ[k]) > 0 {
			f := factor.Factor{Name: name, Size: max(1, c.Count[k]), Kind: factor.Categorical}
			in.Factors, perFactor = append(in.Factors, f), append(perFactor, c.Of[k])
			slices.SortFunc(differ[k], func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
			in.Differ = append(in.Differ, slices.Compact(differ[k]))
		}
	}
	if len(perFactor) == 0 {
		return errors.New("no two rows are known to agree or to differ in a factor; want an answer same or different")
	}
	in.Levels = slices.Repeat([]int{factor.Unknown}, in.Codes.Rows*len(perFactor))
	for k, classes := range perFactor {
		for i, class := range classes {
			in.Levels[i*len(perFactor)+k] = int(class)
		}
	}
	return nil
}

var errNoClass = errors.New("no two rows are known to agree in a factor; want at least one answer same")

// Bin cuts the range of values into bins of equal width, for metrics of levels. It returns the level of every value,
// counting non-empty bins only, and the centres of these bins. Errors: no values, values that are NaN or infinite, and
// bins out of range.
func Bin(values []float64, bins int) (ids []int, centres []float64, err error) {
	return levels.Bin(values, bins)
}

// Units are the units of a continuous factor (a factor with Exact values, see [Input]) in informativeness metrics.
// Codes are never rescaled. Ordinal levels are always mapped to [0, 1] and circular levels to turns
// ([factor.Factor.Scaled]); the metric defines the distance of categorical levels.
type Units string

// The units of continuous factors; the zero value is unitsAsGiven.
const (
	unitsAsGiven Units = "as-given" // unchanged exact values
	unitsRange   Units = "range"    // exact values mapped to [0, 1] by their range over all rows
)

func (u Units) validate() error {
	return oneOfOrNone("units", "units", u, unitsAsGiven, unitsRange)
}

// factorRows returns the values of all factors in units u, rows x factors; unknown levels give 0.
func (in *Input) factorRows(u Units) []float64 {
	spans := in.spans
	if u != unitsRange {
		spans = nil
	} else if spans == nil {
		spans = in.ranges()
	}
	return in.table().Positions(in.Exact, spans)
}

// ranges returns the range of each factor's Exact values.
func (in *Input) ranges() (spans []levels.Span) {
	for _, values := range in.Exact {
		spans = append(spans, levels.SpanOf(values))
	}
	return spans
}

// FactorValues returns the value of a factor for every image: Exact, or the level's value; NaN if it is unknown.
func (in *Input) FactorValues(factor int) []float64 {
	if in.Exact != nil && in.Exact[factor] != nil {
		return in.Exact[factor]
	}
	f, k := in.Factors[factor], len(in.Factors)
	values := make([]float64, in.Codes.Rows)
	for i := range values {
		if l := in.Levels[i*k+factor]; l >= 0 {
			values[i] = f.Value(l)
		} else {
			values[i] = math.NaN()
		}
	}
	return values
}
