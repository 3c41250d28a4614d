// Package votes draws rows that share a level of a random factor, and tells the factor from their codes: by the column that
// varies least (FactorVAE), or from differences of the codes (beta-VAE).
package votes

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Draw draws rows with a given level of a factor.
type Draw struct {
	table  levels.Table
	known  [][]int          // by factor
	groups []*levels.Groups // by factor
	stream *rng.Stream
}

// NewDraw groups the rows by the levels of each factor. known lists the rows to draw from, by factor.
func NewDraw(t levels.Table, known [][]int, s *rng.Stream) *Draw {
	d := &Draw{table: t, known: known, stream: s}
	for j := range t.Factors {
		d.groups = append(d.groups, t.Groups(j, nil))
	}
	return d
}

// factor draws a factor, uniformly.
func (d *Draw) factor() int { return d.stream.IntN(len(d.table.Factors)) }

// row draws a known row of factor j uniformly, which draws its levels by their frequency.
func (d *Draw) row(j int) int { return d.known[j][d.stream.IntN(len(d.known[j]))] }

// like draws a row with the same level of factor j as the given row, uniformly, the row itself included.
func (d *Draw) like(row, j int) int {
	members := d.members(row, j)
	return members[d.stream.IntN(len(members))]
}

// members returns the rows with the same level of factor j as the given row.
func (d *Draw) members(row, j int) []int {
	return d.groups[j].Members(d.table.Levels[row*len(d.table.Factors)+j])
}

// Differences draws n points, as many numbers each as the codes have columns, and their factors. A point is the mean
// absolute difference of batch pairs of rows.
func (draw *Draw) Differences(
	ctx context.Context, codes matrix.Matrix, n, batch int,
) (x []float64, labels []int, err error) {
	d := codes.Cols
	x, labels = make([]float64, n*d), make([]int, n)
	points := max(1, pairsAtOnce/batch)
	rows := make([]int, 0, min(n, points)*2*batch)
	for from := 0; from < n; from += points {
		rows = rows[:0]
		for i := from; i < min(from+points, n); i++ {
			if i%64 == 0 && ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			j := draw.factor()
			labels[i] = j
			for range batch {
				first := draw.row(j)
				rows = append(rows, first, draw.like(first, j))
			}
		}
		of := 2 * batch // rows of a point
		err := parallel.Each(ctx, len(rows)/of, func(i int) error {
			point := x[(from+i)*d : (from+i+1)*d]
			for at := i * of; at < (i+1)*of; at += 2 {
				addDifference(point, codes.Row(rows[at]), codes.Row(rows[at+1]), batch)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return x, labels, nil
}

// addDifference adds a pair of codes z, z' to an input of the classifier, which predicts the factor. All L pairs of an
// input share a level of the factor (Higgins et al. 2017, section 3):
//
//	1/L sum_l |z_l - z'_l|, column by column
func addDifference(input, z, other []float64, pairs int) {
	for c, v := range z {
		input[c] += math.Abs(v-other[c]) / float64(pairs)
	}
}

// pairsAtOnce is about the number of pairs that are drawn before their differences are computed.
const pairsAtOnce = 1 << 16
