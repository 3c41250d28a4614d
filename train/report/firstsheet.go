package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
)

// firstImages finds, for levels of the row factor (-1: none) and of the column factor, the first image that has both and the
// fixed levels; -1: there is none.
func firstImages(d datasets.Dataset, row, column int, rows, columns []int, fixed map[string]int) [][]int {
	found := make([][]int, len(rows))
	for r := range found {
		found[r] = slices.Repeat([]int{-1}, len(columns))
	}
	levels := make([]int, len(d.Factors()))
	for i, left := 0, len(rows)*len(columns); i < d.Len() && left > 0; i++ {
		d.FactorsAt(i, levels)
		r, c := 0, slices.Index(columns, levels[column])
		if row >= 0 {
			r = slices.Index(rows, levels[row])
		}
		if r < 0 || c < 0 || found[r][c] >= 0 || !hasLevels(d, levels, fixed) {
			continue
		}
		found[r][c] = i
		left--
	}
	return found
}

// hasLevels reports whether levels are those of the factors that are fixed.
func hasLevels(d datasets.Dataset, levels []int, fixed map[string]int) bool {
	for k, f := range d.Factors() {
		if level, ok := fixed[f.Name]; ok && levels[k] != level {
			return false
		}
	}
	return true
}

// firstSubtitle says which factors a sheet of first images shows.
func firstSubtitle(d datasets.Dataset, row, column int, fixed map[string]int) string {
	h, w, c := d.ImageShape()
	var parts []string
	for k, f := range d.Factors() {
		switch level, ok := fixed[f.Name]; {
		case k == row || k == column:
			parts = append(parts, fmt.Sprintf("%s (%d, %s)", f.Name, f.Size, f.Kind))
		case ok:
			parts = append(parts, fmt.Sprintf("%s fixed at %s", f.Name, valueLabel(f, level)))
		}
	}
	return fmt.Sprintf("%d x %d x %d; the first image of each of %s", h, w, c, strings.Join(parts, ", "))
}
