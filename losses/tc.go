package losses

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// TCEstimator is a way to estimate densities of codes from a batch (Chen et al.
// 2018, section 4.1 and appendix C).
type TCEstimator uint8

// The estimators.
const (
	TCMinibatch  TCEstimator = iota // sum_i q(z|x_i), as disentanglement_lib has it
	TCWeighted                      // minibatch weighted sampling
	TCStratified                    // minibatch stratified sampling
)

var tcNames = [...]string{"minibatch", "weighted", "stratified"}

func (e TCEstimator) String() string {
	if int(e) < len(tcNames) {
		return tcNames[e]
	}
	return fmt.Sprintf("TCEstimator(%d)", uint8(e))
}

// ParseTCEstimator is the inverse of TCEstimator.String.
func ParseTCEstimator(name string) (TCEstimator, error) {
	for e, known := range tcNames {
		if name == known {
			return TCEstimator(e), nil
		}
	}
	return 0, fmt.Errorf("unknown estimator %q; known: %s", name, strings.Join(tcNames[:], ", "))
}

// TotalCorrelation estimates the total correlation of the aggregate posterior. Its inputs are samples z of Gaussian
// posteriors and the posteriors' means and log variances, all of shape [n, D]:
//
//	1/n sum_j [log q(z_j) - sum_d log q(z_jd)]
//	q(z_j)  = sum_i w_ji prod_d N(z_jd; mean_id, variance_id)
//	q(z_jd) = sum_i w_ji N(z_jd; mean_id, variance_id)
//
// For images of a data set of size N, w_ji is
//
//	minibatch    1
//	weighted     1/(n N)
//	stratified   1/N for i = j, (N-M)/(N M) for the row after j, cyclically, and
//	             1/M for the others, M = n-1
//
// The minibatch estimate therefore lacks the constant (D-1) log(n N) of the weighted one, and needs no N. The result is
// a scalar, in nats, differentiable everywhere in z, means and log variances. The total correlation is 0 where the
// columns are independent; its estimates can be below 0.
//
// Source: Chen et al. 2018, equation 3 and appendix C.
func TotalCorrelation(z, mean, logVariance *gorgonia.Node, e TCEstimator, dataSize int) (*gorgonia.Node, error) {
	return minibatchTC(z, mean, logVariance, nil, e, dataSize)
}

// BlockCorrelation is [TotalCorrelation] of blocks of columns instead of single columns. It estimates KL(q(z_1, ...,
// z_B) || prod_b q(z_b)) for disjoint blocks z_b.
func BlockCorrelation(z, mean, logVariance *gorgonia.Node, blocks [][]int, e TCEstimator, dataSize int) (*gorgonia.Node, error) {
	if len(blocks) < 2 || slices.ContainsFunc(blocks, func(b []int) bool { return len(b) == 0 }) {
		return nil, fmt.Errorf("block correlation: %w", graph.Wanted("two blocks of columns or more", blocks))
	}
	return minibatchTC(z, mean, logVariance, nil, e, dataSize, blocks...)
}

// Estimator names, in a config, an estimator of total correlation: adversarial, with a discriminator, or a
// [TCEstimator], which uses the posteriors of a batch.
type Estimator string

// Adversarial is the estimator that trains a discriminator; see [DensityRatio].
const Adversarial Estimator = "adversarial"

// UnmarshalText accepts the name of an estimator.
func (e *Estimator) UnmarshalText(text []byte) error {
	*e = Estimator(text)
	if *e == Adversarial {
		return nil
	}
	if _, err := ParseTCEstimator(string(text)); err != nil {
		return fmt.Errorf("unknown estimator %q; known: adversarial, minibatch, weighted, stratified", text)
	}
	return nil
}

// TCLoss is the total correlation of a model's samples, in nats. With the estimator minibatch and weight beta-1 it
// turns a VAE's loss into beta-TCVAE; with adversarial and weight gamma, into FactorVAE.
type TCLoss struct {
	Weight        Weight         `yaml:"weight" doc:"factor in the total"`
	Estimator     Estimator      `yaml:"estimator" doc:"adversarial (a discriminator), or from the posteriors of the batch: minibatch, weighted or stratified"`
	Discriminator *Discriminator `yaml:"discriminator" doc:"discriminator of the estimator adversarial"`
}

// NewTC returns the default settings; the discriminator has FactorVAE's.
func NewTC() *TCLoss {
	return &TCLoss{Weight: Constant(1), Estimator: "minibatch",
		Discriminator: NewDiscriminator()}
}

// Validate checks the settings.
func (l *TCLoss) Validate() error {
	if l.Estimator == Adversarial && l.Discriminator == nil {
		return config.Invalid("discriminator", "the estimator adversarial needs its settings")
	}
	if l.Estimator != Adversarial && l.Discriminator != nil && l.Discriminator.SecondBatch {
		return config.Invalid("discriminator.second_batch", "the estimator %s has no discriminator; want estimator adversarial, or no second_batch", l.Estimator)
	}
	return nil
}

// Weighting implements [Loss].
func (l *TCLoss) Weighting() Weight { return l.Weight }

// Variants implements [Varied].
func (*TCLoss) Variants() []Loss {
	var all []Loss
	for _, e := range []Estimator{"weighted", "stratified", Adversarial} {
		l := NewTC()
		l.Estimator = e
		all = append(all, l)
	}
	return all
}

// Add implements [Loss].
func (l *TCLoss) Add(in *Input) (*gorgonia.Node, error) { return l.add(in, nil) }

func (l *TCLoss) add(in *Input, active *gorgonia.Node) (*gorgonia.Node, error) {
	if in.Shared {
		in.Note(fmt.Sprintf("the loss %s takes the images of a pair for independent draws, and these have columns of their codes in common: its estimate is biased", in.Name))
	}
	if l.Estimator == Adversarial {
		return l.Discriminator.densityRatio(in, active)
	}
	e, err := ParseTCEstimator(string(l.Estimator))
	if err != nil {
		return nil, err
	}
	return closedTC(in, e, active)
}

// closedTC adds an estimate of a model's total correlation, or, with active columns, of the conditional total
// correlation.
func closedTC(in *Input, e TCEstimator, active *gorgonia.Node) (*gorgonia.Node, error) {
	switch {
	case in.Sample == nil:
		return nil, missing("samples of the codes")
	case in.Codes == nil:
		return nil, missing("codes")
	case in.LogVariance == nil:
		return nil, missing("log variances of Gaussian posteriors")
	case e != TCMinibatch && in.Population == 0:
		return nil, missing(fmt.Sprintf("the number of images in the data set, for the estimator %v", e))
	}
	return minibatchTC(in.Sample, in.Codes, in.LogVariance, active, e, in.Population)
}

// minibatchTC is [TotalCorrelation], or with a mask [ConditionalTotalCorrelation]. Its time
// grows with n^2 D, its memory with n D. With a single row, or a single row with the same
// active columns, the stratified weight is 1.
func minibatchTC(z, mean, logVariance, mask *gorgonia.Node, estimator TCEstimator, dataSize int, blocks ...[]int) (*gorgonia.Node, error) {
	in := []*gorgonia.Node{z, mean, logVariance}
	if mask != nil {
		in = append(in, mask)
	}
	return graph.Apply(graph.Spec{
		Name: "minibatch tc",
		Key:  graph.Key(estimator, dataSize, blocks),
		Diff: []bool{true, true, true, false}[:len(in)],
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			n, width, err := graph.Matrix("codes", in[0])
			if err != nil {
				return nil, err
			}
			if err := distinct("columns of blocks", slices.Concat(blocks...), width); err != nil {
				return nil, err
			}
			for _, s := range in {
				if !slices.Equal(s, in[0]) {
					return nil, graph.Wanted("codes, means, log variances and a mask of one shape", in)
				}
			}
			least := map[TCEstimator]int{TCMinibatch: math.MinInt, TCWeighted: 1, TCStratified: n}
			if low, ok := least[estimator]; !ok || dataSize < low {
				return nil, graph.Wanted("an estimator and, for the weighted and the stratified one, the size of the data set", []any{estimator, dataSize})
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] {
				return newTC[float32](in[0], estimator, dataSize, blocks...)
			},
			func(in []tensor.Shape) graph.Body[float64] {
				return newTC[float64](in[0], estimator, dataSize, blocks...)
			}),
	}, in...)
}

// tc sums log densities of mixtures: it adds the joint density of rows with the same active columns and subtracts the
// densities of single columns.
type tc[T graph.Float] struct {
	n, width  int
	estimator TCEstimator
	size      float64
	batch     gaussians[T]
	mixture   *mixture[T]
	parts     []tcPart
	lse       [][]T   // of the parts
	blocks    [][]int // replace single columns; nil: single columns
	hash      []uint64
	active    []int // active columns of a row
	rows      []int // backing of the parts' rows
	columns   []int // backing of the parts' columns
}

// tcPart is a mixture of the estimate.
type tcPart struct {
	rows, columns []int
	sign          float64
}

func newTC[T graph.Float](s tensor.Shape, estimator TCEstimator, dataSize int, blocks ...[]int) *tc[T] {
	n, d := s[0], s[1]
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

func (f *tc[T]) Forward(in [][]T, out []T) {
	f.read(in)
	f.divide(in)
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

// divide lists the mixtures of the mask.
func (f *tc[T]) divide(in [][]T) {
	if f.blocks != nil {
		f.divideBlocks()
		return
	}
	f.parts, f.rows, f.columns = f.parts[:0], f.rows[:0], f.columns[:0]
	on := func(r, c int) bool { return len(in) < 4 || in[3][r*f.width+c] > 0.5 }
	f.hashRows(on)
	same := func(r, s int) bool {
		if f.hash[r] != f.hash[s] {
			return false
		}
		for c := range f.width {
			if on(r, c) != on(s, c) {
				return false
			}
		}
		return true
	}
	for r := range f.n {
		if f.active[r] < 2 || slices.ContainsFunc(f.parts, func(p tcPart) bool { return same(r, p.rows[0]) }) {
			continue
		}
		first, from := len(f.columns), len(f.rows)
		for c := range f.width {
			if on(r, c) {
				f.columns = append(f.columns, c)
			}
		}
		for s := r; s < f.n; s++ {
			if same(r, s) {
				f.rows = append(f.rows, s)
			}
		}
		f.parts = append(f.parts, tcPart{f.rows[from:], f.columns[first:], 1})
	}
	f.divideColumns(on)
}

// hashRows sets the hash and the number of active columns of each row.
func (f *tc[T]) hashRows(on func(r, c int) bool) {
	for r := range f.n {
		f.hash[r], f.active[r] = 14695981039346656037, 0
		for c := range f.width {
			f.hash[r] *= 1099511628211
			if on(r, c) {
				f.hash[r]++
				f.active[r]++
			}
		}
	}
}

// divideColumns adds the mixture of each column that is active in a row with several active columns.
func (f *tc[T]) divideColumns(on func(r, c int) bool) {
	for c := range f.width {
		first, from := len(f.columns), len(f.rows)
		f.columns = append(f.columns, c)
		counted := false
		for r := range f.n {
			if on(r, c) {
				f.rows = append(f.rows, r)
				counted = counted || f.active[r] > 1
			}
		}
		if counted {
			f.parts = append(f.parts, tcPart{f.rows[from:], f.columns[first:], -1})
		}
	}
}

// divideBlocks lists the mixtures of all blocks together, and of each.
func (f *tc[T]) divideBlocks() {
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

// prepare sets the mixture to a part, with a factor for rows with two active columns or more.
func (f *tc[T]) prepare(p tcPart, factor float64) {
	f.mixture.set(&f.batch, p.rows, p.columns, f.weights(len(p.rows)))
	for i, r := range p.rows {
		if f.active[r] > 1 {
			f.mixture.factor[i] = T(factor)
		}
	}
}

// weights returns the weights among m of the batch's rows.
func (f *tc[T]) weights(m int) weights {
	rows, size := float64(m), f.size*float64(m)/float64(f.n)
	switch {
	case f.estimator == TCWeighted:
		return weights{base: -math.Log(rows * size)}
	case f.estimator == TCStratified && m > 1:
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

// mixture is the log density of the samples of a batch under the mixture of their posteriors:
// for chosen rows j, i and columns d,
//
//	L_j = log sum_i w_ji exp(sum_d log N(x_jd; mean_id, variance_id))
//
// and its gradient. Memory grows with rows times columns.
type mixture[T graph.Float] struct {
	x, dx    *kernel.Points[T]
	g        kernel.Gaussians[T]
	lse      []T     // L_j without the constant of the weights
	factor   []T     // of L_j in the sum
	w        weights // of the components
	blocks   []pairBlock[T]
	pieces   []moments[T]
	forward  *numeric.Loop
	backward *numeric.Loop
}

// weights are the logarithms of the weights w_ji. base applies to all components, own is added for the row's own
// component, and next for the next row's.
type weights struct{ base, own, next float64 }

// moments are the part of a piece of the rows in the gradient of the components. A fixed number of pieces makes sums
// independent of the number of threads.
type moments[T graph.Float] struct{ zero, first, second []T }

const mixturePieces = 8

func newMixture[T graph.Float](rows, columns int) *mixture[T] {
	m := &mixture[T]{x: kernel.NewPoints[T](rows, columns), dx: kernel.NewPoints[T](rows, columns)}
	m.g = kernel.Gaussians[T]{
		Mean:      kernel.NewPoints[T](rows, columns),
		Precision: kernel.NewPoints[T](rows, columns),
		Constant:  kernel.NewConstants[T](rows),
	}
	m.lse, m.factor = kernel.NewConstants[T](rows), kernel.NewConstants[T](rows)
	m.blocks = newPairBlocks[T](rows)
	m.pieces = make([]moments[T], min(mixturePieces, len(m.blocks)))
	for i := range m.pieces {
		m.pieces[i] = moments[T]{make([]T, rows), make([]T, rows*columns), make([]T, rows*columns)}
	}
	m.forward = newPairLoop(rows, m.densityBlock)
	m.backward = numeric.NewLoop(len(m.pieces), 1, m.slopePiece)
	return m
}

// gaussians are a batch of codes and their posteriors, [rows, width].
type gaussians[T graph.Float] struct {
	width               int
	z, mean             []T
	precision, constant []T // 1/(2 sigma^2), log(1/sqrt(2 pi sigma^2))
}

// set chooses rows and columns. Factors are 0.
func (m *mixture[T]) set(b *gaussians[T], rows, columns []int, w weights) {
	m.w = w
	for _, p := range []*kernel.Points[T]{m.x, m.dx, m.g.Mean, m.g.Precision} {
		p.Columns = len(columns)
		p.Resize(len(rows))
	}
	clear(m.g.Constant)
	for k, c := range columns {
		x, mean, precision := m.x.Column(k), m.g.Mean.Column(k), m.g.Precision.Column(k)
		for i, r := range rows {
			at := r*b.width + c
			x[i], mean[i], precision[i] = b.z[at], b.mean[at], b.precision[at]
			m.g.Constant[i] += b.constant[at]
		}
	}
	clear(m.factor)
	for i := range m.lse { // lanes without a point: e^(l - lse) is 0
		m.lse[i] = math.MaxFloat32
	}
}

// density computes L, and returns the sum of factor L.
func (m *mixture[T]) density() float64 {
	m.forward.Resize(m.x.Rows)
	return m.forward.Run()
}

func (m *mixture[T]) densityBlock(lo, hi int) float64 {
	b, infinity := &m.blocks[lo/kernel.PairLanes], T(math.Inf(1))
	top, sums := b.squares, b.lanes
	for i := range top {
		top[i] = -infinity
	}
	for t := range tilesFrom(m.x.Rows, 0, math.MaxInt) {
		m.tile(b.z, lo, hi, t)
		kernel.MaxLanes(top, b.z, t.n)
	}
	clear(sums)
	for t := range tilesFrom(m.x.Rows, 0, math.MaxInt) {
		m.tile(b.z, lo, hi, t)
		kernel.SumExp(sums, b.z, top, t.n)
	}
	total := 0.0
	for j := lo; j < hi; j++ {
		l := float64(top[j-lo]) + math.Log(float64(sums[j-lo]))
		m.lse[j] = T(l)
		if m.factor[j] != 0 {
			total += float64(m.factor[j]) * (l + m.w.base)
		}
	}
	clear(sums)
	return total
}

// tile sets a tile to the logarithms of weighted densities, without the base.
func (m *mixture[T]) tile(tile []T, lo, hi int, t pairTile) {
	m.g.LogDensities(tile, m.x, lo, t.source, t.n)
	if m.w.own == 0 && m.w.next == 0 {
		return
	}
	for j := lo; j < hi; j++ {
		if k := j - t.source; k >= 0 && k < t.n {
			tile[k*kernel.PairLanes+j-lo] += T(m.w.own)
		}
		if k := (j+1)%m.x.Rows - t.source; k >= 0 && k < t.n {
			tile[k*kernel.PairLanes+j-lo] += T(m.w.next)
		}
	}
}

// addSlopes adds the gradient of the sum of factor L, with the lse that density
// computed, to the elements of rows and columns.
func (m *mixture[T]) addSlopes(b *gaussians[T], rows, columns []int, dz, dMean, dLogVariance []T) {
	m.dx.Zero(len(rows))
	m.backward.Run()
	n := len(rows)
	for k, c := range columns {
		x, precision := m.dx.Column(k), m.g.Precision.Column(k)
		for i, r := range rows {
			zero, first, second := 0.0, 0.0, 0.0
			for p := range m.pieces {
				zero += float64(m.pieces[p].zero[i])
				first += float64(m.pieces[p].first[k*n+i])
				second += float64(m.pieces[p].second[k*n+i])
			}
			at, h := r*b.width+c, float64(precision[i])
			if dz != nil {
				dz[at] += 2 * x[i]
			}
			if dMean != nil {
				dMean[at] += T(-2 * h * first)
			}
			if dLogVariance != nil {
				dLogVariance[at] += T(h*second - zero/2)
			}
		}
	}
}

func (m *mixture[T]) slopePiece(lo, hi int) float64 {
	n := m.x.Rows
	blocks := (n + kernel.PairLanes - 1) / kernel.PairLanes
	for i := lo; i < hi; i++ {
		p := &m.pieces[i]
		clear(p.zero[:n])
		clear(p.first[:n*m.x.Columns])
		clear(p.second[:n*m.x.Columns])
		for block := i * blocks / len(m.pieces); block < (i+1)*blocks/len(m.pieces); block++ {
			m.slopeBlock(block, p)
		}
	}
	return 0
}

func (m *mixture[T]) slopeBlock(block int, p *moments[T]) {
	n, lo := m.x.Rows, block*kernel.PairLanes
	hi, tile := min(lo+kernel.PairLanes, n), m.blocks[block].z
	lse, factor := m.lse[lo:lo+kernel.PairLanes], m.factor[lo:lo+kernel.PairLanes]
	for t := range tilesFrom(n, 0, math.MaxInt) {
		m.tile(tile, lo, hi, t)
		kernel.ScaledExp(tile, lse, factor, t.n)
		kernel.SumRows(p.zero[t.source:], tile, t.n)
		for c := range m.x.Columns {
			m.g.AddMoments(m.dx, m.x, p.first[c*n:], p.second[c*n:], tile, c, lo, t.source, t.n)
		}
	}
}
