package trees

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Comparison is a factor and a code column on the rows where both are active.
type Comparison struct {
	Column           int     // of the codes
	Count            int     // of rows
	ToCode, ToFactor float64 // R2(V -> Z) and R2(Z -> V)

	factor, code *Column
	rows         []bool
	options      [][]*Comparison // of a categorical column: the columns of each option
	chosen       []int           // rows that chose it
}

// Both is R2 of a factor V and a code column Z in both directions (Ross and Doshi-Velez 2021, equation 2). It joins the
// coefficients of determination of the two predictions:
//
//	R2(V <-> Z) = sqrt(max(0, R2(V -> Z)) max(0, R2(Z -> V)))
func (c *Comparison) Both() float64 { return math.Sqrt(max(0, c.ToCode) * max(0, c.ToFactor)) }

// Compare fits and tests trees of every factor and every code column, both ways, for each order of the rows; the first
// quarter of an order tests. The hierarchy of the columns tells the rows where a column is active, and active the rows
// of a factor. It returns all comparisons, by factor and in pre-order of the columns, and the outermost group of columns
// of each factor.
func Compare(
	ctx context.Context, factors, codes []*Column, h hierarchy.Hierarchy, active [][]bool, orders [][]int,
) (list []*Comparison, groups [][]*Comparison, err error) {
	b := &comparisons{codes: codes, categorical: len(h.Categoricals())}
	for j, v := range factors {
		b.factor, b.nextCategorical, b.nextContinuous = v, 0, b.categorical
		groups = append(groups, b.group(h, active[j]))
	}
	return b.list, groups, b.run(ctx, orders)
}

// Best returns S(V, g) of a group of columns. Options are weighted by fractions of the given number of rows, or, for 0,
// of the rows that chose an option.
func Best(group []*Comparison, of int) (score float64) {
	for _, c := range group {
		score = max(score, c.Both())
		total, weighted := 0, 0.0
		for o, n := range c.chosen {
			total += n
			weighted += float64(n) * Best(c.options[o], of)
		}
		if of > 0 {
			total = of
		}
		if total > 0 {
			score = max(score, weighted/float64(total))
		}
	}
	return score
}

// comparisons lists all comparisons, which lets them run concurrently.
type comparisons struct {
	codes                                        []*Column
	categorical, nextCategorical, nextContinuous int // columns
	factor                                       *Column
	list                                         []*Comparison // by factor, and within it in pre-order
}

// group lists the comparisons of the current factor with the columns of a group on some rows.
func (b *comparisons) group(h hierarchy.Hierarchy, rows []bool) (group []*Comparison) {
	count := 0
	for _, in := range rows {
		if in {
			count++
		}
	}
	for _, n := range h {
		c := &Comparison{factor: b.factor, rows: rows, Count: count}
		b.list, group = append(b.list, c), append(group, c)
		if !n.Categorical() {
			c.Column, c.code = b.nextContinuous, b.codes[b.nextContinuous]
			b.nextContinuous++
			continue
		}
		c.Column, c.code = b.nextCategorical, b.codes[b.nextCategorical]
		b.nextCategorical++
		for o, option := range n.Options {
			chose := make([]bool, len(rows))
			chosen := 0
			for i, in := range rows {
				if chose[i] = in && c.code.Values[i] == float64(o+1); chose[i] {
					chosen++
				}
			}
			c.chosen = append(c.chosen, chosen)
			c.options = append(c.options, b.group(option, chose))
		}
	}
	return group
}

// run fits and tests the trees of every comparison, both ways and for each split.
func (b *comparisons) run(ctx context.Context, orders [][]int) error {
	splits := len(orders)
	scores := make([]float64, 2*splits*len(b.list))
	err := parallel.Each(ctx, len(scores), func(at int) (err error) {
		c, way, s := b.list[at/(2*splits)], at/splits%2, at%splits
		from, to := c.factor, c.code
		if way == 1 {
			from, to = to, from
		}
		scores[at], err = Score(ctx, from, to, c.rows, c.Count, orders[s])
		return err
	})
	if err != nil {
		return err
	}
	for i, c := range b.list {
		mine := scores[2*splits*i : 2*splits*(i+1)]
		c.ToCode, c.ToFactor = factor.Mean.Of(mine[:splits]), factor.Mean.Of(mine[splits:])
	}
	return nil
}
