package metrics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/factor"
)

// DefaultBins is the number of bins of a continuous factor.
const DefaultBins = 20

// ColumnType is the kind of factor that a column of numbers holds.
type ColumnType struct {
	Kind       factor.Kind
	Continuous bool    // ordinal, whatever Kind is: levels are bins, and the values are kept in [Input.Exact]
	Found      bool    // inferred from the values: whole numbers or few distinct values are ordinal, others continuous
	Period     float64 // circular: values are angles, Period to a full turn; 0: levels are evenly spaced
}

var columnTypes = map[string]ColumnType{
	"ordinal":  {Kind: factor.Ordinal},
	"circular": {Kind: factor.Circular}, "angular": {Kind: factor.Circular},
	"categorical": {Kind: factor.Categorical}, "discrete": {Kind: factor.Categorical},
	"continuous": {Kind: factor.Ordinal, Continuous: true},
}

// ParseColumnType reads ordinal, circular, circular:PERIOD, categorical or continuous; angular and discrete are
// synonyms of circular and categorical. Any other text is an error.
func ParseColumnType(text string) (ColumnType, error) {
	name, period, periodic := strings.Cut(text, ":")
	t, ok := columnTypes[name]
	if !ok {
		return t, fmt.Errorf("unknown kind %q; want ordinal, circular, categorical or continuous", name)
	}
	if periodic {
		var err error
		if t.Period, err = strconv.ParseFloat(period, 64); err != nil || t.Kind != factor.Circular || !(t.Period > 0) || math.IsInf(t.Period, 0) {
			return t, fmt.Errorf("%q has the period %q; want circular and a positive number, such as circular:360", name, period)
		}
	}
	return t, nil
}

// Column is a named factor as numbers, one for each row of the codes.
type Column struct {
	Name   string
	Values []float64 // NaN where the factor is unknown
	Ints   []int64   // the values as integers, where float64 may not distinguish them; nil: Values are exact
	Type   ColumnType
}

// SetFactors replaces the factors by one for each column. The levels of a factor are the distinct values of its column,
// ascending; those of a continuous one are bins of equal width, as many as bins says (0: [DefaultBins]). Values that are
// NaN are unknown levels; a column of these alone is a factor of one level. Errors: an empty or repeated name, a number of
// values other than that of the rows, infinite values, and bins out of range.
func (in *Input) SetFactors(columns []Column, bins int) error {
	if bins == 0 {
		bins = DefaultBins
	}
	n, k := in.Codes.Rows, len(columns)
	in.Levels, in.Factors, in.Exact = make([]int, n*k), make([]factor.Factor, k), nil
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
		if kind.Period > 0 {
			levels, distinct, f.Angles = periodic(c.Values, levels, distinct, kind.Period)
		}
		f.Kind, f.Values, f.Size = kind.Kind, distinct, len(distinct)
		in.setLevels(j, rows, levels)
	}
	return nil
}

// known lists the rows whose values are known.
func (c *Column) known() []int {
	rows := make([]int, 0, len(c.Values))
	for i, v := range c.Values {
		if !math.IsNaN(v) {
			rows = append(rows, i)
		}
	}
	return rows
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

// maxPeriod is the largest whole period whose steps are all levels.
const maxPeriod = 1 << 16

// periodic returns the levels of a circular factor whose values are angles, period to a full turn. If period and values
// are whole numbers, the levels are 0 to period-1, also those without rows. Other values get Angles, in radians.
func periodic(values []float64, levels []int, distinct []float64, period float64) ([]int, []float64, []float64) {
	whole := func(v float64) bool { return v == math.Trunc(v) }
	if whole(period) && period <= maxPeriod && !slices.ContainsFunc(values, func(v float64) bool { return !whole(v) }) {
		all := make([]float64, int(period))
		for l := range all {
			all[l] = float64(l)
		}
		levels = slices.Clone(levels)
		for i, v := range values {
			levels[i] = int(math.Mod(math.Mod(v, period)+period, period))
		}
		return levels, all, nil
	}
	angles := make([]float64, len(distinct))
	for l, v := range distinct {
		angles[l] = 2 * math.Pi * math.Mod(v, period) / period
	}
	return levels, distinct, angles
}

// Even reports whether the values of a factor's levels are equally spaced, to a hundredth of a step.
func Even(f factor.Factor) bool {
	values := f.Values
	n := len(values)
	step := (values[n-1] - values[0]) / float64(max(n-1, 1))
	for i, v := range values {
		if math.Abs(v-values[0]-float64(i)*step) > 0.01*step {
			return false
		}
	}
	return true
}
