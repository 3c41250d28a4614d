package losses

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Modularity returns the deviation of each sub-code from a function of its factor:
//
//	sum over blocks i of the aggregate, over values v of factor i, of the deviation
//	of z_i over the rows with value v of factor i
//
// z has the shape [n, d]. groups has the shape [n, K], or [n] for one factor. Rows with equal numbers >= 0 in a column
// agree in that factor. Rows with a negative number are skipped, and so are values without rows. A block names a column
// of groups and the columns of z that should depend on that factor alone. Without blocks, the K factors have d/K
// consecutive columns each.
//
// The estimator [Plain] is the formula itself. [Unbiased] estimates the formula's value on the data set that the batch
// is drawn from, for Variance and MPD with Mean.
//
// The result is a scalar with a gradient in z. It is at least 0. It is 0 exactly if every z_i is the same in all rows
// of a group: on these rows, the encoder is a product function. At ties, of maxima or of choices of an inner optimum,
// the gradient takes one choice: the first, if there is an order. At equal points it is 0.
//
// Source: Zhang and Sugiyama 2024, equations 14 to 16 and 24.
func Modularity(d factor.Deviation, a factor.Aggregate, e DeviationEstimator, z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	if len(blocks) == 0 {
		var err error
		if blocks, err = evenBlocks(z, groups); err != nil {
			return nil, fmt.Errorf("%v: %w", d, err)
		}
	}
	blocks = slices.Clone(blocks)
	for i, b := range blocks {
		blocks[i].Columns = slices.Clone(b.Columns)
	}
	return graph.Apply(graph.Spec{
		Name: "modularity",
		Key:  graph.Key(d, a, e, blocks),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if !d.Known() || !a.Known() {
				return nil, graph.Wanted("a known deviation and aggregate", fmt.Sprintf("%v and %v", d, a))
			}
			if err := e.Check(d, a); err != nil {
				return nil, fmt.Errorf("estimator: %w", err)
			}
			return tensor.ScalarShape(), checkBlocks(blocks, in)
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newModularity[float32](d, a, e, blocks, in) },
			func(in []tensor.Shape) graph.Body[float64] { return newModularity[float64](d, a, e, blocks, in) }),
		Diff: []bool{true, false},
	}, z, groups)
}

// GroupsFrom names, in a config, the labels that define groups.
type GroupsFrom string

// The labels that define groups. A batch holds both in the same form. The choice therefore changes nothing: it
// documents the supervision that a config relies on.
const (
	fromFactors    GroupsFrom = "factors"    // rows with equal known values of a factor
	fromSimilarity GroupsFrom = "similarity" // pairs that are known to agree in a factor
)

// UnmarshalText accepts a known name.
func (g *GroupsFrom) UnmarshalText(text []byte) error {
	if *g = GroupsFrom(text); *g != fromFactors && *g != fromSimilarity {
		return fmt.Errorf("unknown source of groups %q; known: factors, similarity", text)
	}
	return nil
}

// ModularityLoss is [Modularity] of a model's codes.
type ModularityLoss struct {
	Weight    Weight              `yaml:"weight" doc:"factor in the total"`
	Aggregate factor.Aggregate    `yaml:"aggregate" doc:"aggregate over the values of a factor: mean, max, sum or mean-square"`
	Estimator *DeviationEstimator `yaml:"estimator" doc:"unbiased (for the data set; only variance and mpd with aggregate mean) or plain (for the batch; a level with one image counts 0); if absent, unbiased where possible"`
	Codes     factor.SubCodes     `yaml:"codes" doc:"code columns of each factor, such as {shape: [0, 1], x: [2]}; none: equal shares"`
	On        On                  `yaml:"on" doc:"codes (posterior mean mu) or sample (reparameterised z, as decoded)"`
	Groups    GroupsFrom          `yaml:"groups" doc:"groups by equal labels of factors, or by similarity pairs"`

	deviation factor.Deviation
}

func newModularityLoss(d factor.Deviation, a factor.Aggregate) *ModularityLoss {
	return &ModularityLoss{Weight: Constant(1), Aggregate: a, On: OnCodes, Groups: fromFactors, deviation: d}
}

// Validate checks the settings.
func (l *ModularityLoss) Validate() error {
	e := l.estimator()
	if err := e.Check(l.deviation, l.Aggregate); err != nil {
		key := "aggregate" // the wrong option if the mean has an estimate
		if e.Check(l.deviation, factor.Mean) != nil {
			key = "estimator"
		}
		return config.Invalid(key, "%v", err)
	}
	return nil
}

// estimator returns the chosen estimator; by default Unbiased where it exists.
func (l *ModularityLoss) estimator() DeviationEstimator {
	switch {
	case l.Estimator != nil:
		return *l.Estimator
	case Unbiased.Check(l.deviation, l.Aggregate) == nil:
		return Unbiased
	}
	return Plain
}

// Weighting implements [Loss].
func (l *ModularityLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes are constant.
func (*ModularityLoss) Optimum(x *Example) bool {
	fill(x.Codes, 0.5)
	fill(x.Sample, 0.5)
	return true
}

// Add implements [Loss].
func (l *ModularityLoss) Add(in *Input) (*gorgonia.Node, error) {
	blocks, err := subCodes(l.Codes, in)
	if err != nil {
		return nil, err
	}
	z, err := l.On.node(in)
	if err != nil {
		return nil, err
	}
	groups, err := in.Labels.Groups()
	if err != nil {
		return nil, err
	}
	return Modularity(l.deviation, l.Aggregate, l.estimator(), z, groups, blocks...)
}

// partCount is the number of pieces of parallel work.
const partCount = 8

// modularity computes the deviations of groups, and their aggregates.
type modularity[T graph.Float] struct {
	aggregate factor.Aggregate
	estimator DeviationEstimator
	columns   int
	codes     []subCode[T]
	groupings []*grouping[T]

	z      []T
	size   int // elements of all groups
	parts  [partCount]part[T]
	values *numeric.Loop
	slopes *numeric.Loop
	eager  bool // compute gradients along with values: they have been asked for before
}

// subCode is a block: its columns, group by group, the groups' deviations, and their
// weights in the gradient.
type subCode[T graph.Float] struct {
	columns    []int
	contiguous bool
	groups     *grouping[T]
	x, dx      []T
	values     []float64 // of all groups
	weights    []float64
	counted    []float64 // values of the groups that count, and then their weights
}

// part is a piece of parallel work. It has a deviation for each number of columns.
type part[T graph.Float] struct {
	kind     factor.Deviation
	measures map[int]measure[T]
}

type measure[T graph.Float] struct {
	deviation[T]
	maxRows int
}

func newModularity[T graph.Float](d factor.Deviation, a factor.Aggregate, e DeviationEstimator, blocks []factor.Block, in []tensor.Shape) *modularity[T] {
	rows := in[0][0]
	m := &modularity[T]{aggregate: a, estimator: e, columns: in[0][1], groupings: make([]*grouping[T], factorsOf(in[1]))}
	for _, b := range blocks {
		if m.groupings[b.Factor] == nil {
			m.groupings[b.Factor] = newGrouping[T](b.Factor, factorsOf(in[1]), rows)
		}
		c := subCode[T]{columns: b.Columns, groups: m.groupings[b.Factor]}
		c.contiguous = b.Columns[len(b.Columns)-1]-b.Columns[0] == len(b.Columns)-1 && slices.IsSorted(b.Columns)
		c.x, c.dx = make([]T, rows*len(b.Columns)), make([]T, rows*len(b.Columns))
		c.values, c.weights, c.counted = make([]float64, rows), make([]float64, rows), make([]float64, 2*rows)
		m.codes = append(m.codes, c)
	}
	for i := range m.parts {
		m.parts[i] = part[T]{kind: d, measures: map[int]measure[T]{}}
	}
	m.values = numeric.NewLoop(partCount, 1, func(i, _ int) float64 { return m.each(i, m.value) })
	m.slopes = numeric.NewLoop(partCount, 1, func(i, _ int) float64 { return m.each(i, m.slope) })
	return m
}

// each calls a function for the groups of a part.
func (m *modularity[T]) each(i int, do func(p *part[T], c *subCode[T], group int)) float64 {
	lo, hi := m.size*i/partCount, m.size*(i+1)/partCount
	at := 0
	for k := range m.codes {
		c := &m.codes[k]
		for g := range c.groups.count() {
			if at >= lo && at < hi {
				do(&m.parts[i], c, g)
			}
			at += c.groups.rows(g) * len(c.columns)
		}
	}
	return 0
}

// of returns the deviation for rows points of columns coordinates.
func (p *part[T]) of(rows, columns int) deviation[T] {
	m, ok := p.measures[columns]
	if !ok || m.maxRows < rows {
		m.maxRows = 1
		for m.maxRows < rows {
			m.maxRows *= 2
		}
		m.deviation = newDeviation[T](p.kind, m.maxRows, columns)
		p.measures[columns] = m
	}
	return m.deviation
}

// value gathers the sub-codes of a group and computes their deviation.
func (m *modularity[T]) value(p *part[T], c *subCode[T], g int) {
	lo, hi, w := c.groups.starts[g], c.groups.starts[g+1], len(c.columns)
	x := c.x[lo*w : hi*w]
	for i, row := range c.groups.order[lo:hi] {
		z := m.z[row*m.columns : (row+1)*m.columns]
		if c.contiguous {
			copy(x[i*w:(i+1)*w], z[c.columns[0]:])
			continue
		}
		for k, j := range c.columns {
			x[i*w+k] = z[j]
		}
	}
	c.values[g] = 0
	if hi-lo > 1 {
		c.values[g] = m.estimator.factor(hi-lo) * p.of(hi-lo, w).value(x, hi-lo)
	}
	if m.eager {
		m.slope(p, c, g)
	}
}

// slope computes the gradient of the deviation of a group: right after its value, or long after it if the gradient
// counts.
func (m *modularity[T]) slope(p *part[T], c *subCode[T], g int) {
	lo, hi, w := c.groups.starts[g], c.groups.starts[g+1], len(c.columns)
	x, dx := c.x[lo*w:hi*w], c.dx[lo*w:hi*w]
	if hi-lo == 1 {
		clear(dx)
		return
	}
	measure := p.of(hi-lo, w)
	if !m.eager {
		if c.weights[g] == 0 {
			return
		}
		measure.value(x, hi-lo)
	}
	measure.gradient(x, hi-lo, 1, dx)
}

func (m *modularity[T]) Forward(in [][]T, out []T) {
	m.z, m.size = in[0], 0
	for _, g := range m.groupings {
		if g != nil {
			g.read(in[1])
		}
	}
	for i := range m.codes {
		m.size += len(m.codes[i].groups.order) * len(m.codes[i].columns)
	}
	m.values.Run()
	sum := 0.0
	for i := range m.codes {
		sum += m.aggregate.Of(m.count(&m.codes[i]))
	}
	out[0] = T(sum)
}

// count returns the values of the groups of a sub-code that count.
func (m *modularity[T]) count(c *subCode[T]) []float64 {
	q := c.counted[:0]
	for g, v := range c.values[:c.groups.count()] {
		if c.groups.rows(g) >= m.estimator.least() {
			q = append(q, v)
		}
	}
	return q
}

// weigh computes the weights of the groups' deviations in the gradient.
func (m *modularity[T]) weigh(c *subCode[T]) {
	q := m.count(c)
	slopes := c.counted[len(q):][:len(q)]
	m.aggregate.Slope(q, slopes)
	for g := range c.groups.count() {
		c.weights[g] = 0
		if n := c.groups.rows(g); n >= m.estimator.least() {
			c.weights[g], slopes = m.estimator.factor(n)*slopes[0], slopes[1:]
		}
	}
}

func (m *modularity[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	for i := range m.codes {
		m.weigh(&m.codes[i])
	}
	if !m.eager {
		m.slopes.Run()
		m.eager = m.aggregate != factor.Max // only one group has the maximum
	}
	clear(din[0])
	for i := range m.codes {
		m.scatter(&m.codes[i], float64(dout[0]), din[0])
	}
}

// scatter adds a sub-code's gradient to the gradient of the codes.
func (m *modularity[T]) scatter(c *subCode[T], scale float64, dz []T) {
	w := len(c.columns)
	for g := range c.groups.count() {
		f := scale * c.weights[g]
		if f == 0 {
			continue
		}
		for i := c.groups.starts[g]; i < c.groups.starts[g+1]; i++ {
			dx, to := c.dx[i*w:(i+1)*w], dz[c.groups.order[i]*m.columns:]
			for k, j := range c.columns {
				to[j] += T(f * float64(dx[k]))
			}
		}
	}
}

// deviation is a measure of the spread of points, 0 where all are equal. An instance owns
// its scratch and is used by one goroutine at a time.
type deviation[T graph.Float] interface {
	// value returns the deviation of points x, rows x columns, rows >= 1.
	value(x []T, rows int) float64

	// gradient overwrites dx with scale times the gradient of the value at x; the
	// last call of value was on the same x.
	gradient(x []T, rows int, scale float64, dx []T)
}

// newDeviation returns a deviation for sets of at most maxRows points.
func newDeviation[T graph.Float](d factor.Deviation, maxRows, columns int) deviation[T] {
	switch d {
	case factor.Diameter:
		return newDiameter[T](maxRows, columns)
	case factor.MPD:
		return newMPD[T](maxRows, columns)
	case factor.Radius:
		return newRadius[T](columns)
	case factor.MAD:
		return newMAD[T](columns)
	}
	return newVariance[T](columns)
}

// optimum is a deviation that minimises a quantity over all centres, in float64. By the envelope theorem its gradient
// is the gradient of the quantity at the optimal centre.
type optimum[T graph.Float] struct {
	columns int
	find    func(x []float64, columns int) (float64, error)
	slope   func(scale float64, dx []float64)

	x      []float64
	failed error // set if the last value met NaN or infinity
}

func (o *optimum[T]) value(x []T, rows int) float64 {
	o.x = o.x[:0]
	for _, v := range x[:rows*o.columns] {
		o.x = append(o.x, float64(v))
	}
	var v float64
	if v, o.failed = o.find(o.x, o.columns); o.failed != nil {
		return math.NaN()
	}
	return v
}

func (o *optimum[T]) gradient(_ []T, rows int, scale float64, dx []T) {
	g := o.x[:rows*o.columns]
	if o.failed == nil {
		o.slope(scale, g)
	}
	for i, v := range g {
		if o.failed != nil {
			v = math.NaN()
		}
		dx[i] = T(v)
	}
}

// DeviationEstimator selects how deviations are estimated from a batch.
//
// Plain is the deviation of the rows themselves: a value with a single row has deviation 0. It is biased towards 0 in a
// small batch, more so for a factor with many values. For codes of variance 1, a batch of 32 rows has the plain
// variance .77 with 6 values, and .18 with 40.
//
// Unbiased estimates the mean over the values of the data set that the batch is drawn from:
//
//   - Let a value have n_v rows. Variance is the mean of |p_i - p_j|^2/2, and MPD the mean of |p_i - p_j|/2, over all
//     n_v^2 ordered pairs. A row and itself have the distance 0. The mean over the n_v (n_v-1) pairs of different rows
//     is n_v/(n_v-1) times as large. Its expectation is the deviation D_v in the data, for any n_v >= 2. (For the
//     variance this is the familiar sum of squares over n_v-1.)
//   - A value with a single row is skipped.
//   - Each of the G values with two rows or more has the weight 1/G. The expectation is sum_v w_v D_v, where w_v is the
//     expectation of 1/G if v is among the G, and of 0 otherwise. If all L values are equally frequent, all w_v are
//     equal. Then the expectation over batches with G > 0 is the mean 1/L sum_v D_v for any batch size. Otherwise rare
//     values weigh less; w_v approaches 1/L as batches grow.
//   - Where no value has two rows (G = 0), value and gradient are 0.
//
// Diameter, radius, MAD, and the aggregates Max and Sum have no unbiased estimate from any number of rows. The reason:
// the expectation of a function of n rows is a polynomial in the probabilities of the codes. Take codes that are 1 with
// probability t and otherwise 0. Variance and MPD are t(1-t), but MAD is min(t, 1-t), and diameter and radius jump at t
// = 0. The sum needs the number of values, which a batch does not determine. MeanSquare of variances would need four
// rows of a value, and is not implemented. [DeviationEstimator.Check] reports these.
//
// Source: the U-statistics of Hoeffding 1948.
type DeviationEstimator uint8

const (
	Plain    DeviationEstimator = iota // of the rows themselves: a group of one row has deviation 0
	Unbiased                           // of the data set: a group of one row is skipped
)

var estimatorNames = [...]string{"plain", "unbiased"}

func (e DeviationEstimator) String() string {
	if int(e) < len(estimatorNames) {
		return estimatorNames[e]
	}
	return fmt.Sprintf("DeviationEstimator(%d)", uint8(e))
}

// parseDeviationEstimator is the inverse of DeviationEstimator.String.
func parseDeviationEstimator(name string) (DeviationEstimator, error) {
	for e, known := range estimatorNames {
		if name == known {
			return DeviationEstimator(e), nil
		}
	}
	return 0, fmt.Errorf("unknown estimator %q; known: unbiased, plain", name)
}

// MarshalText makes a DeviationEstimator its name in YAML and JSON.
func (e DeviationEstimator) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText accepts a DeviationEstimator's name.
func (e *DeviationEstimator) UnmarshalText(text []byte) (err error) {
	*e, err = parseDeviationEstimator(string(text))
	return err
}

// Check returns an error if the estimator does not support an aggregate of deviations.
func (e DeviationEstimator) Check(d factor.Deviation, a factor.Aggregate) error {
	switch {
	case e == Plain:
		return nil
	case int(e) >= len(estimatorNames):
		return fmt.Errorf("%v is not known; want unbiased or plain", e)
	case d != factor.Variance && d != factor.MPD:
		return fmt.Errorf("%v has no unbiased estimator; want estimator plain (unbiased is for variance and mpd)", d)
	case a != factor.Mean:
		return fmt.Errorf("the %v over values has no unbiased estimator; want aggregate mean, or estimator plain", a)
	}
	return nil
}

// least returns the least number of rows of a group that counts.
func (e DeviationEstimator) least() int { return 1 + int(e) }

// factor returns the correction of the deviation of n rows. Variance and MPD are means over all ordered pairs of rows,
// including a row with itself, which contributes 0. Unbiased is the mean over the pairs of different rows.
func (e DeviationEstimator) factor(n int) float64 {
	if e == Plain {
		return 1
	}
	return float64(n) / float64(n-1)
}
