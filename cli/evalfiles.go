package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/metrics"
)

// defaultBins is the number of bins of a continuous factor.
const defaultBins = 20

// factorType is what --types says of a column.
type factorType struct {
	kind       factor.Kind
	continuous bool    // of kind ordinal, and binned
	found      bool    // not named: told by the values
	period     float64 // of a circular factor whose values are angles in parts of it; 0: levels go evenly around
}

var factorTypes = map[string]factorType{
	"ordinal":  {kind: factor.Ordinal},
	"circular": {kind: factor.Circular}, "angular": {kind: factor.Circular},
	"categorical": {kind: factor.Categorical}, "discrete": {kind: factor.Categorical},
	"continuous": {kind: factor.Ordinal, continuous: true},
}

// readFiles reads --codes and --factors into e.
func (c *evalCommand) readFiles(e *evaluation) error {
	if c.Factors != "" {
		if err := sameRows(c.Codes, c.Factors); err != nil {
			return err
		}
	}
	codes, err := readTable(c.Codes, "codes")
	if err != nil {
		return err
	}
	factors := &table.Table{Rows: codes.Rows}
	if c.Factors != "" {
		if factors, err = readTable(c.Factors, "factors"); err != nil {
			return err
		}
	}
	if factors.Rows != codes.Rows {
		return fmt.Errorf("%s: factors have shape [%d %d], want [%d, k], a row for each row of %s", c.Factors, factors.Rows, factors.Cols, codes.Rows, c.Codes)
	}
	in := &metrics.Input{Codes: metrics.Matrix{Rows: codes.Rows, Cols: codes.Cols, Data: codes.Data}}
	if codes.Rows == 0 || codes.Cols == 0 || factors.Cols == 0 && c.Rotations == "" {
		return in.Validate()
	}
	types, err := parseTypes(c.Types, factors.Cols, c.Factors)
	if err != nil {
		return usageError{err}
	}
	if err := addFactors(in, factors, types, cmp.Or(c.Bins, defaultBins)); err != nil {
		return fmt.Errorf("%s: %w", c.Factors, err)
	}
	if c.Rotations != "" {
		if err := addRotations(in, c.Rotations); err != nil {
			return err
		}
	}
	if len(c.Types) == 0 && c.Factors != "" {
		e.remarks = append(e.remarks, fmt.Sprintf("factors are taken as %s; --types would say it", describeFactors(in)))
	}
	for _, f := range in.Factors {
		if f.Kind == factor.Circular && f.Angles == nil && f.Size > 1 && !even(f.Values) {
			e.remarks = append(e.remarks, fmt.Sprintf("factor %s is circular, but its values are not evenly spaced; they are taken as if they were, where --types circular:PERIOD would take them as angles", f.Name))
		}
	}
	e.in = in
	return nil
}

// sameRows wants as many rows of factors as of codes, as far as that is known before the files are
// read: an archive of a megabyte can hold gigabytes.
func sameRows(codes, factors string) error {
	n, _, err := table.Size(codes, "codes")
	if err != nil {
		return fmt.Errorf("codes: %w", err)
	}
	m, k, err := table.Size(factors, "factors")
	if err != nil {
		return fmt.Errorf("factors: %w", err)
	}
	if n >= 0 && m >= 0 && n != m {
		return fmt.Errorf("%s: factors have shape [%d %d], want [%d, k], a row for each row of %s", factors, m, k, n, codes)
	}
	return nil
}

func readTable(path, role string) (*table.Table, error) {
	t, err := table.Read(path, role)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	if err := t.Finite(); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", role, path, err)
	}
	return t, nil
}

// parseTypes returns the type of each of k columns.
func parseTypes(names []string, k int, file string) ([]factorType, error) {
	types := make([]factorType, k)
	if len(names) != 0 && len(names) != 1 && len(names) != k {
		return nil, fmt.Errorf("--types has %d kinds; want one for all, or one for each of the %d columns of %s", len(names), k, file)
	}
	for j := range types {
		if len(names) == 0 {
			types[j].found = true
			continue
		}
		name, period, periodic := strings.Cut(names[min(j, len(names)-1)], ":")
		t, ok := factorTypes[name]
		if !ok {
			return nil, fmt.Errorf("--types: unknown kind %q; want ordinal, circular, categorical or continuous", name)
		}
		if periodic {
			var err error
			if t.period, err = strconv.ParseFloat(period, 64); err != nil || t.kind != factor.Circular || !(t.period > 0) || math.IsInf(t.period, 0) {
				return nil, fmt.Errorf("--types: %q has the period %q; want circular and a positive number, such as circular:360", name, period)
			}
		}
		types[j] = t
	}
	return types, nil
}

// addFactors makes factors of the columns of a table.
func addFactors(in *metrics.Input, t *table.Table, types []factorType, bins int) error {
	in.Levels, in.Factors = make([]int, len(t.Data)), make([]factor.Factor, t.Cols)
	values := make([]float64, t.Rows)
	for j := range in.Factors {
		f := &in.Factors[j]
		f.Name = fmt.Sprint("factor", j)
		if t.Names != nil {
			f.Name = t.Names[j]
			if first := slices.Index(t.Names, f.Name); f.Name == "" || first < j {
				return fmt.Errorf("the name %q of column %d is empty or repeated; want distinct names of factors", f.Name, j)
			}
		}
		for i := range values {
			values[i] = t.Data[i*t.Cols+j]
		}
		levels, distinct := columnLevels(t, j, values)
		kind := types[j]
		if kind.found {
			whole := !slices.ContainsFunc(distinct, func(v float64) bool { return v != math.Trunc(v) })
			kind = factorType{kind: factor.Ordinal, continuous: !whole && len(distinct) > bins}
		}
		if kind.continuous {
			var err error
			if levels, distinct, err = metrics.Bin(values, bins); err != nil {
				return fmt.Errorf("factor %s: %w", f.Name, err)
			}
			if in.Exact == nil {
				in.Exact = make([][]float64, t.Cols)
			}
			in.Exact[j] = slices.Clone(values)
		}
		if kind.period > 0 {
			levels, distinct, f.Angles = periodic(values, levels, distinct, kind.period)
		}
		f.Kind, f.Values, f.Size = kind.kind, distinct, len(distinct)
		for i, l := range levels {
			in.Levels[i*t.Cols+j] = l
		}
	}
	return nil
}

// columnLevels numbers the distinct values of a column in ascending order. Integers
// are told apart as such: float64 holds not all of them.
func columnLevels(t *table.Table, j int, values []float64) (levels []int, distinct []float64) {
	if t.Ints == nil {
		return number(values)
	}
	whole := make([]int64, t.Rows)
	for i := range whole {
		whole[i] = t.Ints[i*t.Cols+j]
	}
	levels, order := number(whole)
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

// even says whether ascending numbers have equal distances, as far as their digits tell.
func even(values []float64) bool {
	n := len(values)
	step := (values[n-1] - values[0]) / float64(max(n-1, 1))
	for i, v := range values {
		if math.Abs(v-values[0]-float64(i)*step) > 0.01*step {
			return false
		}
	}
	return true
}

// describeFactors writes kinds for people, columns of one kind together.
func describeFactors(in *metrics.Input) string {
	var parts []string
	for j, f := range in.Factors {
		kind := fmt.Sprintf("%s (%d levels)", f.Kind, f.Size)
		if in.Exact != nil && in.Exact[j] != nil {
			kind = fmt.Sprintf("continuous (%d bins with values)", f.Size)
		}
		if len(parts) == 12 {
			parts = append(parts, fmt.Sprintf("and %d more", len(in.Factors)-j))
			break
		}
		parts = append(parts, f.Name+" "+kind)
	}
	return strings.Join(parts, ", ")
}

// parseBlocks reads --blocks: for every factor, columns and ranges of columns.
func parseBlocks(text string, in *metrics.Input) (factor.SubCodes, error) {
	blocks := strings.Split(text, ";")
	if len(blocks) != len(in.Factors) {
		return nil, fmt.Errorf("--blocks %q has %d blocks; want %d with semicolons between them, one for each factor", text, len(blocks), len(in.Factors))
	}
	codes, owner := factor.SubCodes{}, map[int]string{}
	for j, block := range blocks {
		name := in.Factors[j].Name
		for _, part := range strings.Split(block, ",") {
			first, last, err := parseRange(strings.TrimSpace(part), in.Codes.Cols)
			if err != nil {
				return nil, fmt.Errorf("--blocks: block %d, of %s: %w", j, name, err)
			}
			for c := first; c <= last; c++ {
				if other, taken := owner[c]; taken {
					return nil, fmt.Errorf("--blocks: column %d is given to %s and to %s; want it once", c, other, name)
				}
				owner[c] = name
				codes[name] = append(codes[name], c)
			}
		}
	}
	return codes, nil
}

// parseRange reads a column, or first-last, of d columns.
func parseRange(text string, d int) (first, last int, err error) {
	left, right, isRange := strings.Cut(text, "-")
	if !isRange {
		right = left
	}
	first, err = strconv.Atoi(left)
	if err == nil {
		last, err = strconv.Atoi(right)
	}
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("%q is not a column; want one such as 3, or a range such as 0-2", text)
	case first < 0 || last >= d:
		return 0, 0, fmt.Errorf("%s: codes have columns 0 to %d", text, d-1)
	case last < first:
		return 0, 0, fmt.Errorf("%s ends before it begins", text)
	}
	return first, last, nil
}
