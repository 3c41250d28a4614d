// Package dependence has losses for dependent code columns: total correlation, HSIC and covariances.
package dependence

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// Estimator is a losses.TCEstimator.
type Estimator uint8

// The estimators.
const (
	Minibatch Estimator = iota
	Weighted
	Stratified
)

var names = [...]string{"minibatch", "weighted", "stratified"}

func (e Estimator) String() string {
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("TCEstimator(%d)", uint8(e))
}

// ParseEstimator is the inverse of Estimator.String.
func ParseEstimator(name string) (Estimator, error) {
	i := slices.Index(names[:], name)
	if i < 0 {
		return 0, fmt.Errorf("unknown estimator %q; known: %s", name, strings.Join(names[:], ", "))
	}
	return Estimator(i), nil
}

// TotalCorrelation adds the node that losses.TotalCorrelation documents; with blocks losses.BlockCorrelation, and with
// a mask losses.ConditionalTotalCorrelation. Its time grows with n^2 D, and its memory with n D. If only one row has a
// set of active columns, the stratified weight is 1.
func TotalCorrelation(z, mean, logVariance, mask *gorgonia.Node, estimator Estimator, dataSize int,
	blocks ...[]int) (*gorgonia.Node, error) {
	in := check.Optional(z, mean, logVariance, mask)
	return graph.Apply(graph.Spec{
		Name: "minibatch tc",
		Key:  graph.Key(estimator, dataSize, blocks),
		Diff: []bool{true, true, true, false}[:len(in)],
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if err := check.Matrices("codes, means, log variances and a mask", in...); err != nil {
				return nil, err
			}
			if err := check.Distinct("columns of blocks", slices.Concat(blocks...), in[0][1]); err != nil {
				return nil, err
			}
			minDataSize := map[Estimator]int{Minibatch: math.MinInt, Weighted: 1, Stratified: in[0][0]}
			if low, ok := minDataSize[estimator]; !ok || dataSize < low {
				return nil, graph.Wanted("an estimator, and the size of the data set for weighted and stratified",
					[]any{estimator, dataSize})
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(newTC[float32](estimator, dataSize, blocks), newTC[float64](estimator, dataSize, blocks)),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			return recordTC(kernels.Mixtures{Rows: in[0][0], Columns: in[0][1], Blocks: blocks, Estimator: int(estimator),
				Size: dataSize}), nil
		},
	}, in...)
}

func recordTC(m kernels.Mixtures) graph.Recording {
	return graph.Recording{
		Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			kernels.TotalCorrelation(t, in[0], in[1], in[2], check.Buffer(in, 3), out, m)
		},
		Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
			kernels.TotalCorrelationGradient(t, in[0], in[1], in[2], check.Buffer(in, 3), dout, [3]vulkan.Buffer(din), m)
		},
	}
}

// tc sums log densities of mixtures: it adds the joint density of rows with the same active columns, and subtracts the
// densities of single columns.
type tc[T graph.Float] struct {
	n, width  int
	estimator Estimator
	size      float64
	batch     gaussians[T]
	mixture   *mixture[T]
	parts     []tcPart
	lse       [][]T   // of each part
	blocks    [][]int // replace single columns; nil: single columns
	hash      []uint64
	active    []int // active columns of a row
	rows      []int // memory for the parts' rows
	columns   []int // memory for the parts' columns
}

func newTC[T graph.Float](estimator Estimator, dataSize int, blocks [][]int) func(in []tensor.Shape) *tc[T] {
	return func(in []tensor.Shape) *tc[T] {
		n, d := in[0][0], in[0][1]
		return &tc[T]{
			n: n, width: d, estimator: estimator, size: float64(dataSize), blocks: blocks,
			batch:   gaussians[T]{width: d, precision: make([]T, n*d), constant: make([]T, n*d)},
			mixture: newMixture[T](n, d),
			hash:    make([]uint64, n),
			active:  make([]int, n),
			rows:    make([]int, 0, n*(d+1)),
			columns: make([]int, 0, n*d+d),
		}
	}
}

func (f *tc[T]) Forward(in [][]T, out []T) {
	f.read(in)
	f.selectColumns(in)
	sum := 0.0
	for i, p := range f.parts {
		f.prepare(p, 1)
		sum += p.sign * f.mixture.density()
		if len(f.lse) <= i {
			f.lse = append(f.lse, make([]T, 0, f.n))
		}
		f.lse[i] = append(f.lse[i][:0], f.mixture.lse[:len(p.rows)]...)
	}
	out[0] = T(sum / float64(f.n))
}

// read computes precisions and constants of the posteriors.
func (f *tc[T]) read(in [][]T) {
	b := &f.batch
	b.z, b.mean = in[0], in[1]
	for i, v := range in[2] {
		b.precision[i] = -v
		b.constant[i] = T(-0.5 * (math.Log(2*math.Pi) + float64(v)))
	}
	numeric.Exp(b.precision, b.precision)
	for i := range b.precision {
		b.precision[i] /= 2
	}
}

// selectColumns lists the mixtures for the mask.
func (f *tc[T]) selectColumns(in [][]T) {
	if f.blocks != nil {
		f.selectBlocks()
		return
	}
	f.parts, f.rows, f.columns = f.parts[:0], f.rows[:0], f.columns[:0]
	active := func(r, c int) bool { return len(in) < 4 || in[3][r*f.width+c] > 0.5 }
	f.hashRows(active)
	sameActive := func(r, s int) bool {
		if f.hash[r] != f.hash[s] {
			return false
		}
		for c := range f.width {
			if active(r, c) != active(s, c) {
				return false
			}
		}
		return true
	}
	for r := range f.n {
		if f.active[r] < 2 || slices.ContainsFunc(f.parts, func(p tcPart) bool { return sameActive(r, p.rows[0]) }) {
			continue
		}
		columnStart, rowStart := len(f.columns), len(f.rows)
		for c := range f.width {
			if active(r, c) {
				f.columns = append(f.columns, c)
			}
		}
		for s := r; s < f.n; s++ {
			if sameActive(r, s) {
				f.rows = append(f.rows, s)
			}
		}
		f.parts = append(f.parts, tcPart{f.rows[rowStart:], f.columns[columnStart:], 1})
	}
	f.selectCodeColumns(active)
}

// hashRows sets the hash and the number of active columns of each row.
func (f *tc[T]) hashRows(active func(r, c int) bool) {
	for r := range f.n {
		f.hash[r], f.active[r] = 14695981039346656037, 0
		for c := range f.width {
			f.hash[r] *= 1099511628211
			if active(r, c) {
				f.hash[r]++
				f.active[r]++
			}
		}
	}
}

// selectCodeColumns adds the mixture of each column that is active in a row with several active columns.
func (f *tc[T]) selectCodeColumns(active func(r, c int) bool) {
	for c := range f.width {
		columnStart, rowStart := len(f.columns), len(f.rows)
		f.columns = append(f.columns, c)
		counted := false
		for r := range f.n {
			if active(r, c) {
				f.rows = append(f.rows, r)
				counted = counted || f.active[r] > 1
			}
		}
		if counted {
			f.parts = append(f.parts, tcPart{f.rows[rowStart:], f.columns[columnStart:], -1})
		}
	}
}

// selectBlocks lists the mixture of all blocks together, and the mixture of each block.
func (f *tc[T]) selectBlocks() {
	if len(f.parts) > 0 {
		return
	}
	for r := range f.n {
		f.rows, f.active[r] = append(f.rows, r), len(f.blocks)
	}
	f.parts = append(f.parts, tcPart{f.rows, slices.Concat(f.blocks...), 1})
	for _, b := range f.blocks {
		f.parts = append(f.parts, tcPart{f.rows, b, -1})
	}
}

// prepare sets up the mixture of a part; the factor applies to rows with at least two active columns.
func (f *tc[T]) prepare(p tcPart, factor float64) {
	f.mixture.load(&f.batch, p.rows, p.columns, f.weights(len(p.rows)))
	for i, r := range p.rows {
		if f.active[r] > 1 {
			f.mixture.factor[i] = T(factor)
		}
	}
}

// weights returns the weights if m rows of the batch belong to a mixture.
func (f *tc[T]) weights(m int) weights {
	rows, size := float64(m), f.size*float64(m)/float64(f.n)
	switch {
	case f.estimator == Weighted:
		return weights{base: -math.Log(rows * size)}
	case f.estimator == Stratified && m > 1:
		others := rows - 1
		return weights{-math.Log(others), math.Log(others / size), math.Log((size - others) / size)}
	}
	return weights{}
}

func (f *tc[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	for _, d := range din {
		clear(d)
	}
	for i, p := range f.parts {
		f.prepare(p, p.sign*float64(dout[0])/float64(f.n))
		copy(f.mixture.lse, f.lse[i])
		f.mixture.addSlopes(&f.batch, p.rows, p.columns, din[0], din[1], din[2])
	}
}

// tcPart is one mixture of the estimate.
type tcPart struct {
	rows, columns []int
	sign          float64
}

// Active is losses.ActiveCodes with the factor's column. A column with several rules is active where all of them hold.
type Active struct {
	Columns []int
	Factor  int   // a column of labels
	Levels  []int // levels where the columns are active
}

// Mask returns the mask [rows, width] of active columns, 1 or 0, from the levels of factors [rows, K]. A negative
// level is unknown and satisfies no rule. It has no gradient.
func Mask(labels *gorgonia.Node, width int, rules []Active) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "active mask",
		Key:  graph.Key(width, rules),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, factors, err := graph.Matrix("labels", in[0])
			if err != nil {
				return nil, err
			}
			for _, r := range rules {
				if r.Factor < 0 || r.Factor >= factors {
					return nil, graph.Wanted(fmt.Sprintf("a column of labels below %d", factors), r.Factor)
				}
				for _, c := range r.Columns {
					if c < 0 || c >= width {
						return nil, graph.Wanted(fmt.Sprintf("columns of codes below %d", width), c)
					}
				}
			}
			return tensor.Shape{rows, width}, nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return activeMask[float32]{width, in[0][1], rules} },
			func(in []tensor.Shape) graph.Body[float64] { return activeMask[float64]{width, in[0][1], rules} }),
		Diff: []bool{false},
	}, labels)
}

type activeMask[T graph.Float] struct {
	width, factors int
	rules          []Active
}

func (f activeMask[T]) Forward(in [][]T, out []T) {
	for i := range out {
		out[i] = 1
	}
	for row := range len(out) / f.width {
		for _, r := range f.rules {
			level := in[0][row*f.factors+r.Factor]
			if level >= 0 && slices.Contains(r.Levels, int(level)) {
				continue
			}
			for _, c := range r.Columns {
				out[row*f.width+c] = 0
			}
		}
	}
}

func (activeMask[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}
