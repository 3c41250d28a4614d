// Package ranking compares representations without labels, and the orders of values.
package ranking

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// relativeStrength is the UDR of two representations a and b with d_a and d_b columns. R_ij relates column i of a to
// column j of b (Duan et al. 2020, section 4):
//
//	1/2 (1/d_b sum_j (max_i R_ij)^2 / sum_i R_ij + 1/d_a sum_i (max_j R_ij)^2 / sum_j R_ij)
//
// A column whose R_ij are all 0 counts as 0.
func relativeStrength(r *mat.Dense) float64 {
	rows, columns := r.Dims()
	most, sum := make([]float64, rows+columns), make([]float64, rows+columns)
	for i := range rows {
		for j := range columns {
			v := r.At(i, j)
			most[i], sum[i] = max(most[i], v), sum[i]+v
			most[rows+j], sum[rows+j] = max(most[rows+j], v), sum[rows+j]+v
		}
	}
	for i, s := range sum {
		if s > 0 {
			most[i] *= most[i] / s
		}
	}
	return (factor.Mean.Of(most[:rows]) + factor.Mean.Of(most[rows:])) / 2
}

// UDR is the unsupervised disentanglement ranking of Duan et al. 2020, section 4, as disentanglement_lib computes it, 0
// to 1: the agreement of several representations of the same images. R_ij is the relation between column i of a and
// column j of b:
//
//	UDR(a, b) = 1/2 (mean over i of max_j R_ij^2 / sum_j R_ij + mean over j of max_i R_ij^2 / sum_i R_ij)
//
// The result is 1 if a and b have the same columns, in any order and with any sign. The score of a representation is
// the median of its UDR with the others. It needs no factors.
//
// With Relation lasso, R_ij is the absolute coefficient of column i in the Lasso regression of column j on all columns
// of a. With Relation spearman, it is the absolute rank correlation of the two columns. All columns are standardised.
// Columns with a standard deviation below Threshold are left out. The library instead leaves out columns with a
// divergence from the prior of at most 0.01 nats, which cannot be computed from codes. (For a normal prior and a normal
// aggregate posterior, 0.01 nats correspond to a standard deviation of 0.14.)
type UDR struct {
	Relation  Relation
	Alpha     float64 // lasso: the weight of the penalty, relative to half the mean squared error
	Threshold float64
}

// Relation is the relation R between the columns of two representations.
type Relation string

// The relations.
const (
	Lasso    Relation = "lasso"
	Spearman Relation = "spearman"
)

// NewUDR returns the ranking with the defaults of the library. Threshold equals FactorVAE's Prune.
func NewUDR(r Relation) *UDR { return &UDR{Relation: r, Alpha: 0.1, Threshold: 0.05} }

func (u *UDR) Validate() error {
	switch {
	case u.Relation != Lasso && u.Relation != Spearman:
		return config.Invalid("relation", "unknown relation %q; want lasso or spearman", string(u.Relation))
	case !(u.Alpha > 0) || math.IsInf(u.Alpha, 0):
		return config.Invalid("alpha", "%v is not a positive number", u.Alpha)
	case !(u.Threshold >= 0) || math.IsInf(u.Threshold, 0):
		return config.Invalid("threshold", "%v is not a number of at least 0", u.Threshold)
	}
	return nil
}

// Agreement is the result of UDR.
type Agreement struct {
	Scores []float64   `json:"scores"` // of each representation: the median of its column of Pairs
	Pairs  [][]float64 `json:"pairs"`  // UDR(a, b) by a and b; 0 on the diagonal
	Used   []int       `json:"used"`   // number of columns of each representation that are not left out
}

// Compare compares two or more representations of the same images, in the same order. A pair has 0 if one of the
// representations has no used columns. Errors: fewer than two representations or rows, different numbers of rows, codes
// that are NaN or infinite, settings out of range, and the end of the context.
func (u *UDR) Compare(ctx context.Context, codes []matrix.Matrix) (*Agreement, error) {
	if err := u.Validate(); err != nil {
		return nil, err
	}
	if len(codes) < 2 {
		return nil, fmt.Errorf("udr: there is %d representation; want at least two to compare", len(codes))
	}
	n := codes[0].Rows
	units := make([]*mat.Dense, len(codes))
	a := &Agreement{Scores: make([]float64, len(codes)), Pairs: make([][]float64, len(codes)),
		Used: make([]int, len(codes))}
	for i, c := range codes {
		if err := checkCodes(i, c, n); err != nil {
			return nil, err
		}
		units[i], a.Used[i] = u.unit(c)
		a.Pairs[i] = make([]float64, len(codes))
	}
	err := parallel.Each(ctx, len(codes), func(i int) error {
		for j, other := range units {
			if i != j && a.Used[i] > 0 && a.Used[j] > 0 {
				related, err := u.relation(ctx, units[i], other)
				if err != nil {
					return err
				}
				a.Pairs[i][j] = relativeStrength(related)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("udr: %w", err)
	}
	for i := range codes {
		var others []float64
		for j := range codes {
			if j != i {
				others = append(others, a.Pairs[j][i])
			}
		}
		slices.Sort(others)
		m := len(others)
		a.Scores[i] = (others[(m-1)/2] + others[m/2]) / 2
	}
	return a, nil
}

// checkCodes returns an error if codes i do not have n rows, or if a number is not finite.
func checkCodes(i int, c matrix.Matrix, n int) error {
	if c.Rows != n || c.Rows < 2 || len(c.Data) != c.Rows*c.Cols {
		return fmt.Errorf("udr: representation %d has %s, and the first has %d; want the same images, at least two",
			i, wording.Count(c.Rows, "row"), n)
	}
	for index, v := range c.Data {
		if v-v != 0 {
			return fmt.Errorf("udr: representation %d: row %d, column %d is %v; want finite numbers",
				i, index/c.Cols, index%c.Cols, v)
		}
	}
	return nil
}

// unit returns the used columns, or their ranks, with mean 0 and variance 1, as [columns, rows].
func (u *UDR) unit(c matrix.Matrix) (unit *mat.Dense, used int) {
	var data []float64
	column := make([]float64, c.Rows)
	for i := range c.Cols {
		scale := c.UnitColumn(i, column)
		if scale == 0 || scale < u.Threshold {
			continue
		}
		if u.Relation == Spearman {
			for r := range column {
				column[r] = c.Data[r*c.Cols+i]
			}
			ranks := matrix.Matrix{Rows: c.Rows, Cols: 1, Data: averageRanks(column)}
			ranks.UnitColumn(0, column)
		}
		data = append(data, column...)
		used++
	}
	if used == 0 {
		return nil, 0
	}
	return mat.NewDense(used, c.Rows, data), used
}

// relation returns R of two standardised representations, as [columns of a, columns of b].
func (u *UDR) relation(ctx context.Context, a, b *mat.Dense) (*mat.Dense, error) {
	_, n := a.Dims()
	var r mat.Dense
	r.Mul(a, b.T())
	r.Scale(1/float64(n), &r)
	if u.Relation == Lasso {
		var gram mat.SymDense
		gram.SymOuterK(1/float64(n), a)
		_, columns := r.Dims()
		for j := range columns {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			lasso(&gram, r.ColView(j).(*mat.VecDense), u.Alpha)
		}
	}
	r.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, &r)
	return &r, ctx.Err()
}

// lasso replaces t, the products of standardised inputs with an output, by the coefficients w that minimise
//
//	1/2 w'Sw - t'w + alpha |w|_1
//
// where S holds the products of the inputs with each other. It uses coordinate descent (Friedman et al. 2007), and
// [settle] if nearly equal inputs make that too slow.
func lasso(s *mat.SymDense, t *mat.VecDense, alpha float64) {
	const sweeps, tolerance = 10000, 1e-12
	w := make([]float64, t.Len())
	rest := make([]float64, t.Len()) // the residual t - S w
	for i := range rest {
		rest[i] = t.AtVec(i)
	}
	for sweep := 1; sweep <= sweeps; sweep++ {
		moved := 0.0
		for i, old := range w {
			v := rest[i] + s.At(i, i)*old
			w[i] = math.Copysign(max(math.Abs(v)-alpha, 0), v) / s.At(i, i)
			if delta := w[i] - old; delta != 0 {
				for j := range rest {
					rest[j] -= s.At(i, j) * delta
				}
				moved = max(moved, math.Abs(delta))
			}
		}
		if moved <= tolerance {
			break
		}
		if sweep == sweeps {
			settle(s, t, alpha, w)
		}
	}
	for i, v := range w {
		t.SetVec(i, v)
	}
}

// settle moves coefficients w near the minimum of [lasso] to the minimum. It solves for the coefficients with given
// signs, moves to the first one that becomes 0, and repeats this until no sign is wrong (feature-sign search, Lee et
// al. 2007). It stops early if the inputs of these coefficients are linearly dependent.
func settle(s *mat.SymDense, t *mat.VecDense, alpha float64, w []float64) {
	sign := make([]float64, len(w))
	for i, v := range w {
		if v != 0 {
			sign[i] = math.Copysign(1, v)
		}
	}
	for range 100 * len(w) {
		chosen, next, ok := solve(s, t, alpha, sign)
		if !ok {
			return
		}
		part, zero := 1.0, -1
		for k, i := range chosen {
			if v := next.AtVec(k); v*sign[i] < 0 && w[i]/(w[i]-v) < part {
				part, zero = w[i]/(w[i]-v), i
			}
		}
		for k, i := range chosen {
			w[i] += part * (next.AtVec(k) - w[i])
		}
		if zero >= 0 {
			w[zero], sign[zero] = 0, 0
			continue
		}
		var rest mat.VecDense
		rest.MulVec(s, mat.NewVecDense(len(w), w))
		rest.SubVec(t, &rest)
		missing, most := -1, alpha*(1+1e-12)
		for i, v := range sign {
			if v == 0 && math.Abs(rest.AtVec(i)) > most {
				missing, most = i, math.Abs(rest.AtVec(i))
			}
		}
		if missing < 0 {
			return
		}
		sign[missing] = math.Copysign(1, rest.AtVec(missing))
	}
}

// solve returns the coefficients that minimise the sum of [lasso] for their signs; the others are 0.
func solve(s *mat.SymDense, t *mat.VecDense, alpha float64, sign []float64) (chosen []int, w mat.VecDense, ok bool) {
	var goal []float64
	for i, v := range sign {
		if v != 0 {
			chosen, goal = append(chosen, i), append(goal, t.AtVec(i)-alpha*v)
		}
	}
	if len(chosen) == 0 {
		return nil, w, false
	}
	var own mat.SymDense
	var f mat.Cholesky
	own.SubsetSym(s, chosen)
	ok = f.Factorize(&own) && f.SolveVecTo(&w, mat.NewVecDense(len(goal), goal)) == nil
	return chosen, w, ok
}

// KendallTau returns Kendall's rank correlation tau-b (1938) of two lists of equal length, as in table 6 of Zhang and
// Sugiyama 2024. It counts the pairs of positions with the same order in both lists, subtracts the pairs with opposite
// orders, and divides by
//
//	sqrt((pairs not equal in a) (pairs not equal in b))
//
// It is 1 if the orders agree, -1 if they are opposite, and NaN if all values of a list are equal. Positions where
// either list has NaN are left out.
func KendallTau(a, b []float64) float64 {
	// pairs with the same order minus pairs with opposite orders; pairs that differ in a; pairs that differ in b
	var same, left, right int
	for i := range a {
		if math.IsNaN(a[i]) || math.IsNaN(b[i]) {
			continue
		}
		for j := range i {
			if math.IsNaN(a[j]) || math.IsNaN(b[j]) {
				continue
			}
			x, y := cmp.Compare(a[i], a[j]), cmp.Compare(b[i], b[j])
			same += x * y
			left += x * x
			right += y * y
		}
	}
	if left == 0 || right == 0 {
		return math.NaN()
	}
	return float64(same) / math.Sqrt(float64(left)*float64(right))
}

// Ranks returns the rank of every value, 1 for the best. Equal values share the mean of their ranks; NaN has rank NaN.
func Ranks(values []float64, better metrics.Direction) []float64 {
	ranks := slices.Clone(values)
	var places []int
	var known []float64
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if better == metrics.HigherIsBetter {
			v = -v
		}
		places, known = append(places, i), append(known, v)
	}
	for at, rank := range averageRanks(known) {
		ranks[places[at]] = rank
	}
	return ranks
}

// averageRanks returns [Ranks] from the smallest value on, in time n log n.
func averageRanks(values []float64) []float64 {
	places := numeric.UpTo(len(values))
	slices.SortFunc(places, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks := make([]float64, len(values))
	for low := 0; low < len(places); {
		high := low + 1
		for high < len(places) && values[places[high]] == values[places[low]] {
			high++
		}
		for _, i := range places[low:high] {
			ranks[i] = float64(low+high+1) / 2
		}
		low = high
	}
	return ranks
}
