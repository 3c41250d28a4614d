package metrics

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// manipulatedRows is the number of rows that Manipulation measures for each factor, rounded up to whole groups.
const manipulatedRows = 20000

const gridOfVariances = "manipulation"

// Manipulation returns the variance of every code column while one factor varies and all others are fixed (Cao et al.
// 2022, section 4.3, figures 3 and 12), in squared units of the codes. Images that agree in all other factors form a
// group. The variance is the sum of squared distances from the mean of the group, divided by the number of images minus
// the number of groups. Groups are drawn at random, without replacement, until they hold 20,000 images. Rows of the
// grid are code columns, columns are factors; NaN where no two images differ in that factor alone. Images with an
// unknown level are left out, and so are factors without a known level. Codes with squares that overflow or vanish are
// divided by a power of two, which the grid's name tells. The only error is the context's.
func Manipulation(ctx context.Context, in *Input, s *rng.Stream) (Grid, error) {
	in = in.complete()
	k, name := len(in.Factors), gridOfVariances
	if sized := in.sized(matrix.LeastSquared, matrix.MostSquared); sized != in {
		name, in = fmt.Sprintf("%s of codes divided by 2^%d", gridOfVariances, in.Codes.Exponent()), sized
	}
	g := Grid{Name: name, Values: make([][]float64, in.Codes.Cols)}
	for c := range g.Values {
		g.Rows, g.Values[c] = append(g.Rows, in.columnName(c)), make([]float64, k)
	}
	for j, f := range in.Factors {
		g.Columns = append(g.Columns, f.Name)
		groups, freedom := in.varied(j, s)
		err := parallel.Each(ctx, in.Codes.Cols, func(c int) error {
			g.Values[c][j] = math.NaN()
			if freedom > 0 {
				g.Values[c][j] = within(in.Codes, groups, c) / float64(freedom)
			}
			return nil
		})
		if err != nil {
			return Grid{}, err
		}
	}
	return g, nil
}

// varied draws groups of rows that agree in all factors but one, and counts their degrees of freedom.
func (in *Input) varied(factor int, s *rng.Stream) (groups [][]int32, freedom int) {
	all := in.agreeing(factor)
	rows := 0
	for _, at := range s.Perm(len(all)) {
		if rows >= manipulatedRows {
			break
		}
		groups = append(groups, all[at])
		rows += len(all[at])
		freedom += len(all[at]) - 1
	}
	return groups, freedom
}

// agreeing returns the groups of images that agree in all factors but one and have at least two levels of it.
func (in *Input) agreeing(factor int) [][]int32 {
	k := len(in.Factors)
	compare := func(a, b int32) int {
		x, y := in.Levels[int(a)*k:int(a+1)*k], in.Levels[int(b)*k:int(b+1)*k]
		if order := slices.Compare(x[:factor], y[:factor]); order != 0 {
			return order
		}
		return slices.Compare(x[factor+1:], y[factor+1:])
	}
	order := make([]int32, in.Codes.Rows)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(compare(a, b), cmp.Compare(a, b)) })
	var groups [][]int32
	for from := 0; from < len(order); {
		to, moves := from+1, false
		for ; to < len(order) && compare(order[from], order[to]) == 0; to++ {
			moves = moves || in.Levels[int(order[to])*k+factor] != in.Levels[int(order[from])*k+factor]
		}
		if moves {
			groups = append(groups, order[from:to])
		}
		from = to
	}
	return groups
}

// within returns the sum of squared distances of column c from its means over groups of rows.
func within(m Matrix, groups [][]int32, c int) float64 {
	var sum float64
	for _, rows := range groups {
		first := m.Data[int(rows[0])*m.Cols+c] // subtracted first, against cancellation
		var mean, square float64
		for n, i := range rows {
			x := m.Data[int(i)*m.Cols+c] - first
			step := x - mean
			mean += step / float64(n+1)
			square += step * (x - mean)
		}
		sum += square
	}
	return sum
}
