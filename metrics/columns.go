package metrics

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// DefaultBins is the number of bins of a continuous factor.
const DefaultBins = 20

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
// ascending. The levels of a continuous factor are bins of equal width; bins sets their number (0: [DefaultBins]).
// Angles with a period are taken modulo the period. If few rows share an angle, metrics of levels get equal arcs
// instead of the angles; bins sets their number. Values that are NaN are unknown levels; a column with only NaN is a
// factor of one level. Errors: an empty or repeated name, a wrong number of values, infinite values, circular values
// without a period that are not evenly spaced, and bins out of range.
func (in *Input) SetFactors(columns []Column, bins int) error {
	if bins == 0 {
		bins = DefaultBins
	}
	n, k := in.Codes.Rows, len(columns)
	in.Levels, in.Factors, in.Exact, in.arcs = make([]int, n*k), make([]factor.Factor, k), nil, max(bins, 1)
	for j, c := range columns {
		f := &in.Factors[j]
		f.Name = c.Name
		first := slices.IndexFunc(columns, func(other Column) bool { return other.Name == c.Name })
		switch {
		case f.Name == "" || first < j:
			return fmt.Errorf("the name %q of column %d is empty or repeated; want distinct names of factors", f.Name, j)
		case len(c.Values) != n:
			return fmt.Errorf("factor %s has %d values; want %d, one for each row of the codes", f.Name, len(c.Values), n)
		}
		kind, rows := c.Type, c.known()
		if len(rows) == 0 {
			f.Kind, f.Size = kind.Kind, 1
			in.setLevels(j, nil, nil)
			continue
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
				return fmt.Errorf("factor %s: %w", f.Name, err)
			}
			if in.Exact == nil {
				in.Exact = make([][]float64, k)
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
				return fmt.Errorf("factor %s: %w", f.Name, err)
			}
			of.Name, levels = f.Name, steps
			*f = of
		}
		in.setLevels(j, rows, levels)
	}
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
