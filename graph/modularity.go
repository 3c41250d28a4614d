package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/factor"
)

// Deviation names a measure of how far points are from being one point.
type Deviation uint8

const (
	Variance Deviation = iota // total population variance
	Diameter                  // largest distance of two points
	MPD                       // half the mean distance over all ordered pairs, self pairs counted
	Radius                    // of the smallest enclosing ball
	MAD                       // mean distance from the geometric median
)

var deviationNames = [...]string{"variance", "diameter", "mpd", "radius", "mad"}

func (d Deviation) String() string {
	if int(d) < len(deviationNames) {
		return deviationNames[d]
	}
	return fmt.Sprintf("Deviation(%d)", uint8(d))
}

// newDeviation returns the measure for sets of at most maxRows points.
func newDeviation[T float](d Deviation, maxRows, columns int) deviation[T] {
	switch d {
	case Diameter:
		return newDiameter[T](maxRows, columns)
	case MPD:
		return newMPD[T](maxRows, columns)
	case Radius:
		return newRadius[T](columns)
	case MAD:
		return newMAD[T](columns)
	}
	return newVariance[T](columns)
}

// Modularity returns how far sub-codes are from being functions of their factors
// (Zhang and Sugiyama 2024, section 3), a scalar:
//
//	sum over blocks i of the aggregate, over values v of factor i, of the deviation of z_i
//	over the rows whose factor i is v
//
// z has the shape [rows, columns]; labels has the shape [rows, factors], or [rows] for
// one factor. Rows with equal numbers >= 0 in a column of labels agree in that
// factor; a row with a negative number takes no part. A value that no row has does
// not count; one that one row has counts with deviation 0 if the estimator is Plain,
// and does not count if it is Unbiased. There is no gradient of the labels.
func Modularity(d Deviation, a factor.Aggregate, e Estimator, blocks []factor.Block, z, labels *gorgonia.Node) (*gorgonia.Node, error) {
	blocks = slices.Clone(blocks)
	for i, b := range blocks {
		blocks[i].Columns = slices.Clone(b.Columns)
	}
	return Apply(Spec{
		Name: "modularity",
		Key:  keyOf(d, a, e, blocks),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if int(d) >= len(deviationNames) || !a.Known() {
				return nil, wanted("a known deviation and aggregate", fmt.Sprintf("%v and %v", d, a))
			}
			if err := e.Check(d, a); err != nil {
				return nil, fmt.Errorf("estimator: %w", err)
			}
			return tensor.ScalarShape(), checkBlocks(blocks, in)
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			if dt == tensor.Float32 {
				return newFunc[float32](newModularity[float32](d, a, e, blocks, in)), nil
			}
			return newFunc[float64](newModularity[float64](d, a, e, blocks, in)), nil
		},
		Diff: []bool{true, false},
	}, z, labels)
}

// factorsOf returns how many columns labels have.
func factorsOf(labels tensor.Shape) int { return labels.TotalSize() / max(labels[0], 1) }

func checkBlocks(blocks []factor.Block, in []tensor.Shape) error {
	if len(in) != 2 {
		return wanted("codes and labels", in)
	}
	rows, columns, err := rowsOf("codes", in[0])
	if err != nil {
		return err
	}
	if d := in[1].Dims(); d < 1 || d > 2 || in[1][0] != rows || in[1].TotalSize() < 1 {
		return wanted(fmt.Sprintf("labels of shape [%d] or [%d, factors]", rows, rows), in[1])
	}
	if len(blocks) == 0 {
		return wanted("a block of columns for a factor", "none")
	}
	factors := factorsOf(in[1])
	for _, b := range blocks {
		if b.Factor < 0 || b.Factor >= factors {
			return wanted(fmt.Sprintf("blocks of factors 0 to %d, the columns of the labels", factors-1), b.Factor)
		}
		if len(b.Columns) == 0 {
			return wanted(fmt.Sprintf("a code column for factor %d", b.Factor), "none")
		}
		for i, c := range b.Columns {
			if c < 0 || c >= columns || slices.Contains(b.Columns[:i], c) {
				return wanted(fmt.Sprintf("different code columns from 0 to %d for factor %d", columns-1, b.Factor), b.Columns)
			}
		}
	}
	return nil
}

// partCount is the number of pieces that groups are shared out to for parallel work.
const partCount = 8

// modularity computes the deviations of groups, and their aggregates.
type modularity[T float] struct {
	aggregate factor.Aggregate
	estimator Estimator
	columns   int
	codes     []subCode[T]
	groupings []*grouping[T]

	z      []T
	size   int // elements of all groups
	parts  [partCount]part[T]
	values *loop
	slopes *loop
	eager  bool // compute gradients along with values: they have been asked for before
}

// subCode is a block: its columns, group by group, what was computed of them, and
// what the groups weigh in the gradient.
type subCode[T float] struct {
	columns    []int
	contiguous bool
	groups     *grouping[T]
	x, dx      []T
	values     []float64 // of all groups
	weights    []float64
	counted    []float64 // values of the groups that take part, and then their weights
}

// part is a piece of the groups' work. It has a measure for each number of columns.
type part[T float] struct {
	kind     Deviation
	measures map[int]measure[T]
}

type measure[T float] struct {
	deviation[T]
	maxRows int
}

func newModularity[T float](d Deviation, a factor.Aggregate, e Estimator, blocks []factor.Block, in []tensor.Shape) *modularity[T] {
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
	m.values = newLoop(partCount, 1, func(i, _ int) float64 { return m.each(i, m.value) })
	m.slopes = newLoop(partCount, 1, func(i, _ int) float64 { return m.each(i, m.slope) })
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

// of returns the measure for points of some number.
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

// value gathers the sub-codes of a group and measures them.
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

// slope computes the gradient of the deviation of a group, right after its value
// or, where the gradient counts, long after it.
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

func (m *modularity[T]) forward(in [][]T, out []T) {
	m.z, m.size = in[0], 0
	for _, g := range m.groupings {
		if g != nil {
			g.read(in[1])
		}
	}
	for i := range m.codes {
		m.size += len(m.codes[i].groups.order) * len(m.codes[i].columns)
	}
	m.values.run()
	sum := 0.0
	for i := range m.codes {
		sum += m.aggregate.Of(m.count(&m.codes[i]))
	}
	out[0] = T(sum)
}

// count returns the values of the groups of a sub-code that take part.
func (m *modularity[T]) count(c *subCode[T]) []float64 {
	q := c.counted[:0]
	for g, v := range c.values[:c.groups.count()] {
		if c.groups.rows(g) >= m.estimator.least() {
			q = append(q, v)
		}
	}
	return q
}

// weigh computes what the deviations of the rows of groups weigh in the gradient.
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

func (m *modularity[T]) backward(_ [][]T, _, dout []T, din [][]T) {
	for i := range m.codes {
		m.weigh(&m.codes[i])
	}
	if !m.eager {
		m.slopes.run()
		m.eager = m.aggregate != factor.Max // of whose groups one counts
	}
	clear(din[0])
	for i := range m.codes {
		m.scatter(&m.codes[i], float64(dout[0]), din[0])
	}
}

// scatter adds a sub-code's gradient to that of the codes.
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
