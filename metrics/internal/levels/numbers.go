package levels

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/internal/bins"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Numbers is a column of numbers, one for each row.
type Numbers struct {
	Values []float64 // NaN where unknown
	Ints   []int64   // the values as integers that float64 may not represent exactly; nil: Values are exact
}

// Factor makes a factor from the column, with the level of every row. The levels are the distinct values, ascending, or
// the distances from the least value of integers that float64 cannot tell apart. A continuous factor has bins as levels
// and also gets exact values. Circular values need a period unless they are evenly spaced. With found, whole numbers or
// few distinct values are ordinal, others continuous. A column with only NaN becomes a factor with one level.
func (c Numbers) Factor(
	kind factor.ColumnKind, found bool, bins int,
) (f factor.Factor, levels []int, exact []float64, err error) {
	if found {
		kind = factor.ColumnKind{Kind: factor.Ordinal}
	}
	if i := slices.IndexFunc(c.Values, func(v float64) bool { return math.IsInf(v, 0) }); i >= 0 {
		return f, nil, nil, fmt.Errorf("value %d is %v; want finite numbers, or NaN where it is unknown", i, c.Values[i])
	}
	levels = slices.Repeat([]int{factor.Unknown}, len(c.Values))
	rows := c.knownRows()
	if len(rows) == 0 {
		return factor.Factor{Kind: kind.Kind, Size: 1}, levels, nil, nil
	}
	c = c.distinguishable(rows)
	whole := c
	if len(rows) < len(c.Values) {
		c = Numbers{Chosen(c.Values, rows), Chosen(c.Ints, rows)}
	}
	numbers, distinct := c.distinct()
	if found {
		integers := !slices.ContainsFunc(distinct, func(v float64) bool { return v != math.Trunc(v) })
		kind.Continuous = !integers && len(distinct) > bins
	}
	if kind.Continuous {
		if numbers, distinct, err = Bin(c.Values, bins); err != nil {
			return f, nil, nil, err
		}
		exact, kind.Kind = slices.Clone(whole.Values), factor.Ordinal
	}
	f = factor.Factor{Kind: kind.Kind, Values: distinct, Size: len(distinct)}
	if kind.Kind == factor.Circular && (kind.Period != 0 || !c.evenlySpaced(numbers, f)) {
		if f, numbers, err = (factor.ColumnKind{Kind: kind.Kind, Period: kind.Period, Sample: true}).Levels(c.Values); err != nil {
			return f, nil, nil, err
		}
	}
	for n, i := range rows {
		levels[i] = numbers[n]
	}
	return f, levels, exact, nil
}

// distinguishable returns the column with integers counted from the smallest one, if float64 cannot tell them apart
// otherwise.
func (c Numbers) distinguishable(rows []int) Numbers {
	_, order := numberDistinct(Chosen(c.Ints, rows))
	_, different := numberDistinct(Chosen(c.Values, rows))
	if n := len(order); len(different) >= n || uint64(order[n-1])-uint64(order[0]) >= 1<<53 {
		return c
	}
	offset := Numbers{slices.Clone(c.Values), slices.Clone(c.Ints)}
	for _, i := range rows {
		offset.Ints[i] -= order[0]
		offset.Values[i] = float64(offset.Ints[i])
	}
	return offset
}

// knownRows lists the rows with known values.
func (c Numbers) knownRows() []int {
	rows := make([]int, 0, len(c.Values))
	for i, v := range c.Values {
		if !math.IsNaN(v) {
			rows = append(rows, i)
		}
	}
	return rows
}

// evenlySpaced reports whether the values of a factor's levels are evenly spaced; integers are compared exactly.
func (c Numbers) evenlySpaced(levels []int, f factor.Factor) bool {
	if c.Ints != nil {
		smallest := slices.Min(c.Ints)
		f.Values = make([]float64, f.Size)
		for i, l := range levels {
			f.Values[l] = float64(uint64(c.Ints[i]) - uint64(smallest))
		}
	}
	return f.Even()
}

// distinct numbers the distinct values in ascending order, of Ints if set: float64 cannot represent all integers.
func (c Numbers) distinct() (levels []int, distinct []float64) {
	if c.Ints == nil {
		f, levels, _ := (factor.ColumnKind{Kind: factor.Ordinal}).Levels(c.Values) // only circular numbers can be wrong
		return levels, f.Values
	}
	levels, order := numberDistinct(c.Ints)
	for _, v := range order {
		distinct = append(distinct, float64(v))
	}
	return levels, distinct
}

func numberDistinct[T int64 | float64](values []T) (levels []int, distinct []T) {
	index := make(map[T]int)
	for _, v := range values {
		if _, ok := index[v]; !ok {
			index[v] = 0
			distinct = append(distinct, v)
		}
	}
	slices.Sort(distinct)
	for l, v := range distinct {
		index[v] = l
	}
	levels = make([]int, len(values))
	for i, v := range values {
		levels[i] = index[v]
	}
	return levels, distinct
}

// Bin cuts the range of values into bins of equal width. It returns the level of every value, counting non-empty bins
// only, and the centres of these bins. Errors: no values, values that are NaN or infinite, and bins out of range.
func Bin(values []float64, n int) (levels []int, centres []float64, err error) {
	if len(values) == 0 {
		return nil, nil, fmt.Errorf("there are no values to bin")
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, nil, fmt.Errorf("value %d is %v; want finite numbers", i, v)
		}
	}
	if n < 1 || n > mutual.MaxBins {
		return nil, nil, config.Invalid("bins", "%d is out of range; want 1 to %d", n, mutual.MaxBins)
	}
	levels, centres = bins.Levels(values, n)
	return levels, centres, nil
}

// Binned groups the rows by the level of factor j, after grouping levels into n bins of equal width (0 bins: every level
// is a group). Rows with an unknown level are left out.
func (t Table) Binned(j, n int) *Groups {
	if n == 0 {
		return t.Groups(j, nil)
	}
	values := make([]float64, t.Rows())
	for i := range values {
		if values[i] = float64(t.Levels[i*len(t.Factors)+j]); values[i] == factor.Unknown {
			values[i] = math.NaN()
		}
	}
	binned, centres := bins.Levels(values, n)
	return Table{Factors: []factor.Factor{{Size: len(centres)}}, Levels: binned}.Groups(0, nil)
}

// sameRotation is the maximum difference of matrix elements between rotations that count as equal. It allows for
// float32 and for text with few digits.
const sameRotation = 1e-5

// Rotations returns a factor of rotations in space, with the level of every row. A row has the 9 numbers of a matrix or
// the 4 numbers of a quaternion. A row within sameRotation of an earlier level gets this level.
func Rotations(m matrix.Matrix) (f factor.Factor, levels []int, err error) {
	f.Kind = factor.Categorical
	levels, byCell := make([]int, m.Rows), map[int64][]int{} // levels by the sum of their matrix
	for i := range levels {
		g, err := rotationOf(m.Row(i))
		if err != nil {
			return f, nil, fmt.Errorf("row %d: %w", i, err)
		}
		sum := 0.0
		for e, v := range g {
			sum += v / float64(e+1) // weights, because the elements of many rotations have the same sum
		}
		cell := int64(math.Floor(sum / (3 * sameRotation))) // equal rotations differ by less than the width of a cell
		level := -1
		for c := cell - 1; c <= cell+1 && level < 0; c++ {
			for _, l := range byCell[c] {
				if slices.EqualFunc(g[:], f.Rotations[l][:], func(a, b float64) bool { return math.Abs(a-b) <= sameRotation }) {
					level = l
					break
				}
			}
		}
		if level < 0 {
			level = f.Size
			f.Rotations, f.Size = append(f.Rotations, g), f.Size+1
			byCell[cell] = append(byCell[cell], level)
		}
		levels[i] = level
	}
	return f, levels, nil
}

// rotationOf returns the rotation matrix for 9 numbers, or for a quaternion of any length.
func rotationOf(v []float64) (g [9]float64, err error) {
	if len(v) == 9 {
		copy(g[:], v)
		if !factor.IsRotation(&g) {
			return g, fmt.Errorf("the matrix %v is not a rotation; want orthonormal rows and determinant 1", v)
		}
		return g, nil
	}
	g, ok := rotation.FromQuaternion([4]float64(v))
	if !ok {
		return g, fmt.Errorf("the quaternion %v has no direction; want one other than 0", v)
	}
	return g, nil
}

// Sparse reports whether a circular factor has more angles than bins, and on average fewer than five rows for each
// angle. Metrics of levels would then measure chance.
func (t Table) Sparse(j, bins int) (angles, rows int, sparse bool) {
	const fewRows = 5
	for _, n := range t.Counts(j) {
		if n > 0 {
			angles, rows = angles+1, rows+n
		}
	}
	return angles, rows, angles > bins && rows < fewRows*angles
}

// SetArcs replaces the levels of a circular factor by arcs of equal length and drops arcs without rows. An angle on the
// border of two arcs belongs to the second one, also if it is rounded.
func (t Table) SetArcs(j, bins int) {
	const rounding = 1e-4 // of an arc
	k, f := len(t.Factors), t.Factors[j]
	arc := make([]int, f.Size) // by level
	for l := range arc {
		turns := f.Angle(l) / (2 * math.Pi)
		arc[l] = int((turns-math.Floor(turns))*float64(bins)+rounding) % bins
	}
	number := slices.Repeat([]int{-1}, bins)
	for i := j; i < len(t.Levels); i += k {
		if l := t.Levels[i]; l >= 0 {
			number[arc[l]] = 0
		}
	}
	arcs := factor.Factor{Name: f.Name, Kind: f.Kind}
	for b, used := range number {
		if used == 0 {
			number[b] = arcs.Size
			arcs.Size++
			arcs.Angles = append(arcs.Angles, 2*math.Pi*(float64(b)+0.5)/float64(bins))
		}
	}
	if arcs.Size == bins { // a full turn in equal steps
		arcs.Angles = nil
	}
	for i := j; i < len(t.Levels); i += k {
		if l := t.Levels[i]; l >= 0 {
			t.Levels[i] = number[arc[l]]
		}
	}
	t.Factors[j] = arcs
}

// Span is a range of values.
type Span struct{ low, high float64 }

// SpanOf returns the range of the known values; low > high if there are none.
func SpanOf(values []float64) Span {
	s := Span{math.Inf(1), math.Inf(-1)}
	for _, v := range values {
		if v == v {
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	}
	return s
}

// Unit maps values to [0, 1] by the range, or to 0 if all are equal. Unknown values stay NaN.
func (s Span) Unit(values []float64) []float64 {
	scaled := make([]float64, len(values))
	if s.low >= s.high {
		return scaled
	}
	for i, v := range values {
		scaled[i] = (v/2 - s.low/2) / (s.high/2 - s.low/2) // halves, because the range may overflow
	}
	return scaled
}

// Positions returns the values of all factors, rows x factors; an unknown level gives 0. Levels are mapped to [0, 1].
// exact holds the values of continuous factors. With spans, these are mapped to [0, 1] by the range of each factor.
func (t Table) Positions(exact [][]float64, spans []Span) []float64 {
	k := len(t.Factors)
	rows := make([]float64, len(t.Levels))
	for j, f := range t.Factors {
		values := make([]float64, f.Size)
		for l := range values {
			values[l] = f.Scaled(l)
		}
		continuous := exact != nil && exact[j] != nil
		if continuous {
			if values = exact[j]; spans != nil {
				values = spans[j].Unit(values)
			}
		}
		for i := range t.Rows() {
			switch l := t.Levels[i*k+j]; {
			case l < 0:
			case continuous:
				rows[i*k+j] = values[i]
			default:
				rows[i*k+j] = values[l]
			}
		}
	}
	return rows
}

// Precise reports whether most numbers of a set have more than four significant digits. Float32 numbers may differ from
// four digits by rounding.
func Precise(set map[float64]bool) bool {
	precise := 0
	for v := range set {
		scaled := v * math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
		if v != math.Trunc(v) && math.Abs(scaled-math.Round(scaled)) > 1e-3 {
			precise++
		}
	}
	return 2*precise > len(set)
}
