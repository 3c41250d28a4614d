package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/metrics"
)

// remarksOnColumns returns remarks on the numbering of words, and on columns of numbers with a doubtful kind.
func remarksOnColumns(t *table.Table, in *metrics.Input, types []string) []string {
	const manyLevels = 100
	var remarks []string
	for j := range t.Cols {
		f := in.Factors[j]
		switch {
		case t.Words != nil && t.Words[j] != nil:
			remarks = append(remarks, fmt.Sprintf("factor %s: %s", f.Name, factor.NumberedWords(t.Words[j])))
		case len(types) == 0 && f.Kind == factor.Ordinal && f.Size > manyLevels:
			remarks = append(remarks, fmt.Sprintf("factor %s has %d levels; --types continuous would bin them, and circular:360 read them as degrees", f.Name, f.Size))
		case len(types) > 0 && !strings.Contains(types[min(j, len(types)-1)], ":") && unusualTurn(f.FullTurn()):
			remarks = append(remarks, fmt.Sprintf("factor %s: values from %v to %v are taken as a full turn of %.6g; --types circular:360 would read degrees",
				f.Name, f.Value(0), f.Value(f.Size-1), f.FullTurn()))
		}
		if note, ok := factor.MarkerNote(f.Name, t.Column(j).Values); ok && (t.Words == nil || t.Words[j] == nil) {
			remarks = append(remarks, note)
		} else if in.Exact != nil && in.Exact[j] != nil {
			if found := distantRows(slices.DeleteFunc(slices.Clone(in.Exact[j]), math.IsNaN)); found != "" {
				remarks = append(remarks, fmt.Sprintf("factor %s %s; its bins of equal width see little of it", f.Name, found))
			}
		}
	}
	remarks = append(remarks, factor.RepeatNotes(in.Factors, in.Levels)...)
	if slices.ContainsFunc(t.Words, func(words []string) bool { return len(words) > 2 }) {
		remarks = append(remarks, "mse, mae, me and dci-regression take the numbers of words for values, so they depend on the order of the words")
	}
	return remarks
}

// unusualTurn reports whether a full turn is other than 360 degrees, 2 pi or 1.
func unusualTurn(turn float64) bool {
	return turn > 0 && !slices.ContainsFunc([]float64{360, 2 * math.Pi, 1}, func(known float64) bool { return math.Abs(turn-known) <= 1e-3*known })
}

// remarksOnCodes returns remarks on code columns with distant rows.
func remarksOnCodes(t *table.Table, in *metrics.Input) (remarks []string) {
	const most = 3
	for c := range t.Cols {
		found := distantRows(t.Column(c).Values)
		if found != "" && len(remarks) == most {
			return append(remarks, "other code columns have distant rows, too")
		}
		if found != "" {
			remarks = append(remarks, fmt.Sprintf("code column %s %s; metrics with bins of equal width, such as mig, see little of it", in.Hierarchy.ColumnName(c), found))
		}
	}
	return remarks
}

// distantRows says that a few distant rows leave nearly all rows of a column in one of 20 bins of equal width, or
// returns "".
func distantRows(values []float64) string {
	const bins, nearlyAll = 20, 0.98
	if len(values) == 0 {
		return ""
	}
	least, largest := slices.Min(values), slices.Max(values)
	width := (largest - least) / bins
	if !(width > 0) || math.IsInf(width, 0) {
		return ""
	}
	bin := func(v float64) int { return min(int((v-least)/width), bins-1) }
	var count [bins]int
	for _, v := range values {
		count[bin(v)]++
	}
	n := slices.Max(count[:])
	if float64(n) < nearlyAll*float64(len(values)) {
		return ""
	}
	full := slices.Index(count[:], n)
	inside := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return bin(v) != full })
	low, high := slices.Min(inside), slices.Max(inside)
	if low == high {
		return ""
	}
	return fmt.Sprintf("is %.4g to %.4g in %d rows, and %.4g to %.4g in all", low, high, n, least, largest)
}
