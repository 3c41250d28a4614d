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

// ColumnType says what kind of factor a column of numbers is.
type ColumnType struct {
	Kind       factor.Kind
	Continuous bool    // ordinal, whatever Kind is: levels are bins, and the values are kept in [Input.Exact]
	Found      bool    // the values tell: whole numbers, or few different ones, are ordinal, others continuous
	Period     float64 // of a circular factor whose values are angles in units of Period to a turn; 0: its levels are spread evenly
}

var columnTypes = map[string]ColumnType{
	"ordinal":  {Kind: factor.Ordinal},
	"circular": {Kind: factor.Circular}, "angular": {Kind: factor.Circular},
	"categorical": {Kind: factor.Categorical}, "discrete": {Kind: factor.Categorical},
	"continuous": {Kind: factor.Ordinal, Continuous: true},
}

// ParseColumnType reads ordinal, circular, circular:PERIOD, categorical or continuous. Angular and discrete
// are other names of circular and categorical.
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

// Column is what is known of a factor: its value for each row of the codes.
type Column struct {
	Name   string
	Values []float64
	Ints   []int64 // the values, if they are whole numbers that float64 may not tell apart; nil: Values are exact
	Type   ColumnType
}

// SetFactors makes the factors of columns: the distinct values of a column, in ascending order, are the levels of its factor, and
// those of a continuous one are put in so many bins of equal width (0: [DefaultBins]).
func (in *Input) SetFactors(columns []Column, bins int) error {
	if bins == 0 {
		bins = DefaultBins
	}
	rows, k := in.Codes.Rows, len(columns)
	in.Levels, in.Factors, in.Exact = make([]int, rows*k), make([]factor.Factor, k), nil
	for j, c := range columns {
		f := &in.Factors[j]
		f.Name = c.Name
		first := slices.IndexFunc(columns, func(other Column) bool { return other.Name == c.Name })
		switch {
		case f.Name == "" || first < j:
			return fmt.Errorf("the name %q of column %d is empty or repeated; want distinct names of factors", f.Name, j)
		case len(c.Values) != rows:
			return fmt.Errorf("factor %s has %d values; want %d, one for each row of the codes", f.Name, len(c.Values), rows)
		}
		levels, distinct := c.levels()
		kind := c.Type
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
			in.Exact[j], kind.Kind = slices.Clone(c.Values), factor.Ordinal
		}
		if kind.Period > 0 {
			levels, distinct, f.Angles = periodic(c.Values, levels, distinct, kind.Period)
		}
		f.Kind, f.Values, f.Size = kind.Kind, distinct, len(distinct)
		for i, l := range levels {
			in.Levels[i*k+j] = l
		}
	}
	return nil
}

// levels numbers the distinct values in ascending order. Whole numbers are told apart as such: float64 holds not all of them.
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

// maxPeriod is the number of levels of a circle that is counted through.
const maxPeriod = 1 << 16

// periodic takes values as angles in parts of a period. Whole numbers of a whole period are its levels, from
// 0 on, whether or not there are rows of all; other values have angles.
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

// Even says whether the values of a factor, in the order of its levels, are equally spaced, as far as their digits tell.
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
