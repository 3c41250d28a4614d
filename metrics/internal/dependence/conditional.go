package dependence

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/metrics/matrix"
	"gonum.org/v1/gonum/mat"
)

// Pattern is the total correlation of the rows with the same active columns.
type Pattern struct {
	Name  string // of the active columns
	Rows  int
	Value float64
}

// ConditionalTC returns the total correlation of the rows of each set of active columns (Ross and Doshi-Velez 2021,
// section 5.2), without the sets of fewer than two columns that vary. It also counts the rows left out because their set
// has no more rows than columns that vary. active has the columns that are active in each row.
func ConditionalTC(
	ctx context.Context, codes matrix.Matrix, active [][]bool, name func(c int) string,
) (patterns []Pattern, few int, err error) {
	units := activeUnits(codes, active)
	members, names := map[string][]int{}, []string(nil)
	for i, on := range active {
		if i%(1<<10) == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		var columns []string
		for c := range on {
			if on[c] {
				columns = append(columns, name(c))
			}
		}
		set := strings.Join(columns, " ")
		if members[set] == nil {
			names = append(names, set)
		}
		members[set] = append(members[set], i)
	}
	for _, set := range names {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		rows := members[set]
		var columns []int // that are active and vary
		for c, on := range active[rows[0]] {
			if on && slices.ContainsFunc(rows, func(i int) bool { return units.Row(i)[c] != units.Row(rows[0])[c] }) {
				columns = append(columns, c)
			}
		}
		switch {
		case len(rows) <= len(columns):
			few += len(rows)
			continue
		case len(columns) < 2:
			continue
		}
		tc, err := patternTC(units, rows, columns)
		if err != nil {
			return nil, 0, fmt.Errorf("where %s are active: %w", set, err)
		}
		patterns = append(patterns, Pattern{Name: set, Rows: len(rows), Value: tc})
	}
	return patterns, few, nil
}

// activeUnits returns the codes in units of the standard deviation of each column over the rows where it is active.
// Constant columns are 0.
func activeUnits(codes matrix.Matrix, active [][]bool) matrix.Matrix {
	units := matrix.Matrix{Rows: codes.Rows, Cols: codes.Cols, Data: make([]float64, len(codes.Data))}
	for c := range codes.Cols {
		var column []float64
		var rows []int
		for i := range codes.Rows {
			if active[i][c] {
				column, rows = append(column, codes.Row(i)[c]), append(rows, i)
			}
		}
		if len(rows) == 0 {
			continue
		}
		unit := make([]float64, len(rows))
		matrix.Matrix{Rows: len(rows), Cols: 1, Data: column}.UnitColumn(0, unit)
		for at, i := range rows {
			units.Data[i*codes.Cols+c] = unit[at]
		}
	}
	return units
}

// patternTC is the summand of rows with the same active columns in the total correlation of codes with inactive columns
// (Ross and Doshi-Velez 2021, section 5.2):
//
//	(sum over d of mean u_d^2 - |A| - ln det cov u) / 2
func patternTC(units matrix.Matrix, rows, columns []int) (float64, error) {
	k, n := len(columns), len(rows)
	x := mat.NewDense(k, n, nil)
	var sum float64
	for a, c := range columns {
		column := make([]float64, n)
		for at, i := range rows {
			v := units.Row(i)[c]
			column[at] = v
			sum += v * v / float64(n)
		}
		mean := matrix.Mean(column)
		for at, v := range column {
			x.Set(a, at, v-mean)
		}
	}
	var s mat.SymDense
	s.SymOuterK(1/float64(n), x)
	var cholesky mat.Cholesky
	if !cholesky.Factorize(&s) || cholesky.Cond() > 1e13 {
		return 0, errSingular
	}
	return (sum - float64(k) - cholesky.LogDet()) / 2, nil
}
