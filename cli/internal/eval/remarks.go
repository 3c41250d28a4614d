package eval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/bins"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// remarksOnColumns returns remarks on the numbering of words, and on columns of numbers with a doubtful kind.
func remarksOnColumns(t *table.Table, in *metrics.Input, types []string, chosen []metrics.Choice) []string {
	const manyLevels = 100
	var remarks []string
	for j := range t.Cols {
		f := in.Factors[j]
		switch {
		case t.Words != nil && t.Words[j] != nil:
		case len(types) == 0 && f.Kind == factor.Ordinal && f.Size > manyLevels:
			remarks = append(remarks,
				fmt.Sprintf("factor %s has %d levels; --types continuous would bin them, and circular:360 read them as degrees",
					f.Name, f.Size))
		case len(types) > 0 && !strings.Contains(types[min(j, len(types)-1)], ":") && unusualTurn(f.FullTurn()):
			remarks = append(remarks,
				fmt.Sprintf("factor %s: values from %v to %v are taken as a full turn of %.6g; --types circular:360 would read degrees",
					f.Name, f.Value(0), f.Value(f.Size-1), f.FullTurn()))
		}
		column := t.Column(j)
		remarks = append(remarks, factor.ColumnNotes(f, column.Values, column.Words)...)
	}
	remarks = append(remarks, factor.RepeatNotes(in.Factors, in.Levels)...)
	affine := func(m metrics.Choice) bool {
		return slices.Contains([]string{"mse", "mae", "me", "dci-regression"}, m.Name)
	}
	if slices.ContainsFunc(chosen, affine) &&
		slices.ContainsFunc(t.Words, func(words []string) bool { return len(words) > 2 }) {
		remarks = append(remarks,
			"mse, mae, me and dci-regression take the numbers of words for values, so they depend on the order of the words")
	}
	return remarks
}

// unusualTurn reports whether a full turn is other than 360 degrees, 2 pi or 1.
func unusualTurn(turn float64) bool {
	return turn > 0 && !slices.ContainsFunc([]float64{360, 2 * math.Pi, 1},
		func(known float64) bool { return math.Abs(turn-known) <= 1e-3*known })
}

// remarksOnCodes returns remarks on code columns with distant rows, on equal rows and columns, and on rows of zeros.
func remarksOnCodes(t *table.Table, in *metrics.Input) (remarks []string) {
	const maxRemarks = 3
	if n := len(t.Data); t.Rows > 1 && slices.Equal(t.Data[t.Cols:], t.Data[:n-t.Cols]) {
		return []string{fmt.Sprintf("all %d code rows are equal, so they say nothing about the factors", t.Rows)}
	}
	if zero := zeroRows(t); zero > 1 {
		const note = "are 0 in all columns, and other rows have no 0; leave them out if they were never filled"
		remarks = append(remarks, fmt.Sprintf("%d of %d code rows %s", zero, t.Rows, note))
	}
	if a, b, n := equalColumns(t); n > 0 {
		const note = "mig and sap take the gap between equal columns"
		remarks = append(remarks, fmt.Sprintf("%s of the codes, such as %s, equal to %s; %s",
			wording.Count(n, "repeated column"), in.Hierarchy.ColumnName(b), in.Hierarchy.ColumnName(a), note))
	}
	for c := range t.Cols {
		distance := bins.Distant(t.Column(c).Values)
		if distance != "" && len(remarks) == maxRemarks {
			return append(remarks, "other code columns have distant rows, too")
		}
		if distance != "" {
			remarks = append(remarks,
				fmt.Sprintf("code column %s %s; metrics with bins of equal width, such as mig, see little of it",
					in.Hierarchy.ColumnName(c), distance))
		}
	}
	return remarks
}

// zeroRows counts the rows of zeros in a table of several columns. It returns 0 if other rows have a zero, too.
func zeroRows(t *table.Table) (n int) {
	if t.Cols < 2 {
		return 0
	}
	for start := 0; start < len(t.Data); start += t.Cols {
		row := t.Data[start : start+t.Cols]
		nonzero := func(v float64) bool { return v != 0 }
		switch {
		case !slices.ContainsFunc(row, nonzero):
			n++
		case slices.Contains(row, 0):
			return 0
		}
	}
	return n
}

// equalColumns returns the first column that repeats another one, and how many do. Constant columns do not count.
func equalColumns(t *table.Table) (first, repeat, n int) {
	bySum := map[float64][]int{} // different columns by their sum
	for c := range t.Cols {
		sum, varies := 0.0, false
		for i := c; i < len(t.Data); i += t.Cols {
			sum += t.Data[i]
			varies = varies || t.Data[i] != t.Data[c]
		}
		if !varies {
			continue
		}
		same := slices.IndexFunc(bySum[sum], func(other int) bool {
			for start := 0; start < len(t.Data); start += t.Cols {
				if t.Data[start+c] != t.Data[start+other] {
					return false
				}
			}
			return true
		})
		if same < 0 {
			bySum[sum] = append(bySum[sum], c)
		} else if n++; n == 1 {
			first, repeat = bySum[sum][same], c
		}
	}
	return first, repeat, n
}

// remarksOnOrder returns a remark if the codes fit the factors of the row before or after much better.
func remarksOnOrder(in *metrics.Input) []string {
	const minRows, maxRows, minError = 100, 1000, 1e-4
	rows := min(in.Codes.Rows, maxRows) - 1
	if rows < minRows || 10*in.Codes.Cols > rows { // an affine map of many columns fits any factors
		return nil
	}
	unshifted := shiftedError(in, rows, 0, 0)
	if unshifted < minError {
		return nil
	}
	for _, c := range []struct {
		codes, factors int
		row            string
	}{{0, 1, "below"}, {1, 0, "above"}} {
		if shifted := shiftedError(in, rows, c.codes, c.factors); 2*shifted < unshifted {
			const want = "want codes and factors in the same order"
			return []string{fmt.Sprintf("the codes fit the factors of the row %s better: mse %.2g instead of %.2g; %s",
				c.row, shifted, unshifted, want)}
		}
	}
	return nil
}

// shiftedError returns the metric mse of some rows of codes and factors, from different first rows, or NaN.
func shiftedError(in *metrics.Input, rows, codes, factors int) float64 {
	d, k := in.Codes.Cols, len(in.Factors)
	part := &metrics.Input{
		Codes:   matrix.Matrix{Rows: rows, Cols: d, Data: in.Codes.Data[codes*d : (codes+rows)*d]},
		Levels:  in.Levels[factors*k : (factors+rows)*k],
		Factors: in.Factors,
	}
	for _, exact := range in.Exact {
		part.Exact = append(part.Exact, exact[min(factors, len(exact)):min(factors+rows, len(exact))])
	}
	mse, err := metrics.Named("mse")
	if err != nil {
		return math.NaN()
	}
	r, err := metrics.Evaluate(context.Background(), part, 0, []metrics.Choice{mse})
	if err != nil { // it does not apply
		return math.NaN()
	}
	return r[0].Value
}
