// Package modularity computes the deviation of sub-codes within groups of rows with equal values of a factor.
package modularity

import (
	"cmp"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// Modularity adds the node that losses.Modularity documents.
func Modularity(d factor.Deviation, a factor.Aggregate, unbiased bool, z, groups *gorgonia.Node,
	blocks ...factor.Block) (*gorgonia.Node, error) {
	blocks, err := check.OrEven(blocks, z, groups)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", d, err)
	}
	var device func([]tensor.Shape, tensor.Shape) (graph.Recording, error)
	if d <= factor.MPD { // enclosing balls and medians have no form on a GPU
		device = recordModularity(d, a, unbiased, blocks)
	}
	return graph.Apply(graph.Spec{
		Name: "modularity",
		Key:  graph.Key(d, a, unbiased, blocks),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if !d.Known() || !a.Known() {
				return nil, graph.Wanted("a known deviation and aggregate", fmt.Sprintf("%v and %v", d, a))
			}
			return tensor.ScalarShape(), check.Blocks(blocks, in)
		},
		New:    graph.Bodies(newModularity[float32](d, a, unbiased, blocks), newModularity[float64](d, a, unbiased, blocks)),
		Device: device,
		Diff:   []bool{true, false},
	}, z, groups)
}

func recordModularity(d factor.Deviation, a factor.Aggregate, unbiased bool,
	blocks []factor.Block) func([]tensor.Shape, tensor.Shape) (graph.Recording, error) {
	g := kernels.Groups{Deviation: int(d), Aggregate: int(a), Unbiased: unbiased}
	for _, b := range blocks {
		g.Blocks = append(g.Blocks, kernels.GroupBlock(b))
	}
	return func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
		g := g
		g.Rows, g.Columns, g.Factors = in[0][0], in[0][1], check.Factors(in[1])
		return graph.Recording{
			Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Modularity(t, in[0], in[1], out, g)
			},
			Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.ModularityGradient(t, in[0], in[1], dout, din[0], g)
			},
		}, nil
	}
}

// modularity computes the deviations of groups and aggregates them.
type modularity[T graph.Float] struct {
	aggregate factor.Aggregate
	unbiased  bool
	columns   int
	codes     []subCode[T]
	groupings []*grouping[T]

	z      []T
	size   int // number of elements of all groups
	parts  [partCount]part[T]
	values *numeric.Loop
	slopes *numeric.Loop
	eager  bool // compute gradients together with values, because earlier steps needed them
}

func newModularity[T graph.Float](d factor.Deviation, a factor.Aggregate, unbiased bool,
	blocks []factor.Block) func([]tensor.Shape) *modularity[T] {
	return func(in []tensor.Shape) *modularity[T] {
		rows, factors := in[0][0], check.Factors(in[1])
		m := &modularity[T]{aggregate: a, unbiased: unbiased, columns: in[0][1], groupings: make([]*grouping[T], factors)}
		for _, b := range blocks {
			if m.groupings[b.Factor] == nil {
				m.groupings[b.Factor] = newGrouping[T](b.Factor, factors, rows)
			}
			w := len(b.Columns)
			c := subCode[T]{columns: b.Columns, groups: m.groupings[b.Factor], x: make([]T, rows*w), dx: make([]T, rows*w)}
			c.contiguous = b.Columns[w-1]-b.Columns[0] == w-1 && slices.IsSorted(b.Columns)
			c.values, c.weights, c.counted = make([]float64, rows), make([]float64, rows), make([]float64, 2*rows)
			m.codes = append(m.codes, c)
		}
		for i := range m.parts {
			m.parts[i] = part[T]{kind: d, measures: map[int]measure[T]{}}
		}
		m.values = numeric.NewLoop(partCount, 1, func(i, _ int) float64 { return m.forGroups(i, m.value) })
		m.slopes = numeric.NewLoop(partCount, 1, func(i, _ int) float64 { return m.forGroups(i, m.slope) })
		return m
	}
}

// forGroups calls a function for each group of a part.
func (m *modularity[T]) forGroups(i int, visit func(p *part[T], c *subCode[T], group int)) float64 {
	lo, hi := m.size*i/partCount, m.size*(i+1)/partCount
	work := 0
	for k := range m.codes {
		c := &m.codes[k]
		for g := range c.groups.count() {
			if work >= lo && work < hi {
				visit(&m.parts[i], c, g)
			}
			work += c.groups.rows(g) * len(c.columns)
		}
	}
	return 0
}

// value copies the sub-codes of a group and computes their deviation.
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
		c.values[g] = m.factor(hi-lo) * p.measureFor(hi-lo, w).value(x, hi-lo)
	}
	if m.eager {
		m.slope(p, c, g)
	}
}

// slope computes the gradient of a group's deviation, right after value or later if the gradient turns out to count.
func (m *modularity[T]) slope(p *part[T], c *subCode[T], g int) {
	lo, hi, w := c.groups.starts[g], c.groups.starts[g+1], len(c.columns)
	x, dx := c.x[lo*w:hi*w], c.dx[lo*w:hi*w]
	if hi-lo == 1 {
		clear(dx)
		return
	}
	measure := p.measureFor(hi-lo, w)
	if !m.eager {
		if c.weights[g] == 0 {
			return
		}
		measure.value(x, hi-lo)
	}
	measure.gradient(x, hi-lo, dx)
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
		sum += m.aggregate.Of(m.countedValues(&m.codes[i]))
	}
	out[0] = T(sum)
}

// countedValues returns the values of a sub-code's groups, without groups that are too small to count.
func (m *modularity[T]) countedValues(c *subCode[T]) []float64 {
	q := c.counted[:0]
	for g, v := range c.values[:c.groups.count()] {
		if c.groups.rows(g) >= m.minRows() {
			q = append(q, v)
		}
	}
	return q
}

// minRows returns the minimum number of rows of a group that counts.
func (m *modularity[T]) minRows() int {
	if m.unbiased {
		return 2
	}
	return 1
}

// factor returns the correction for the deviation of n rows. Variance and MPD are means over all ordered pairs of rows,
// including each row paired with itself, which contributes 0. The unbiased estimate is the mean over the pairs of
// different rows.
func (m *modularity[T]) factor(n int) float64 {
	if m.unbiased {
		return float64(n) / float64(n-1)
	}
	return 1
}

// weigh computes the weights of the groups' deviations for the gradient.
func (m *modularity[T]) weigh(c *subCode[T]) {
	q := m.countedValues(c)
	slopes := c.counted[len(q):][:len(q)]
	m.aggregate.Slope(q, slopes)
	for g := range c.groups.count() {
		c.weights[g] = 0
		if n := c.groups.rows(g); n >= m.minRows() {
			c.weights[g], slopes = m.factor(n)*slopes[0], slopes[1:]
		}
	}
}

func (m *modularity[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	for i := range m.codes {
		m.weigh(&m.codes[i])
	}
	if !m.eager {
		m.slopes.Run()
		m.eager = m.aggregate != factor.Max // the maximum depends on only one group
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
			dx, row := c.dx[i*w:(i+1)*w], dz[c.groups.order[i]*m.columns:]
			for k, j := range c.columns {
				row[j] += T(f * float64(dx[k]))
			}
		}
	}
}

// subCode is a block: its columns, group by group, the deviations of the groups, and their weights in the gradient.
type subCode[T graph.Float] struct {
	columns    []int
	contiguous bool
	groups     *grouping[T]
	x, dx      []T
	values     []float64 // deviations of all groups
	weights    []float64
	counted    []float64 // deviations of the groups that count, and later their weights
}

// partCount is the number of parts that are computed in parallel.
const partCount = 8

// part is one part of the parallel work. It has a deviation for each number of columns.
type part[T graph.Float] struct {
	kind     factor.Deviation
	measures map[int]measure[T]
}

// measureFor returns the deviation for points with the given numbers of rows and columns.
func (p *part[T]) measureFor(rows, columns int) deviation[T] {
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

type measure[T graph.Float] struct {
	deviation[T]
	maxRows int
}

// grouping groups rows by a column of labels: rows with equal non-negative numbers form a group. Groups are in the
// order of their numbers. The rows of a group keep their order.
type grouping[T graph.Float] struct {
	factor, factors int

	order  []int // rows that belong to a group
	starts []int // start of each group, and the end of the last one

	labels    []T
	positions []int // for each small label, the position of its next row
	compare   func(a, b int) int
}

func (g *grouping[T]) label(row int) T    { return g.labels[row*g.factors+g.factor] }
func (g *grouping[T]) count() int         { return len(g.starts) - 1 }
func (g *grouping[T]) rows(group int) int { return g.starts[group+1] - g.starts[group] }

func (g *grouping[T]) read(labels []T) {
	g.labels = labels
	g.starts = append(g.starts[:0], 0)
	if g.groupByLevel() {
		return
	}
	g.order = g.order[:0]
	for i := range len(labels) / g.factors {
		if g.label(i) >= 0 {
			g.order = append(g.order, i)
		}
	}
	slices.SortFunc(g.order, g.compare)
	for i, row := range g.order {
		if i > 0 && g.label(row) != g.label(g.order[i-1]) {
			g.starts = append(g.starts, i)
		}
	}
	if len(g.order) > 0 {
		g.starts = append(g.starts, len(g.order))
	}
}

// groupByLevel groups by counting. It reports false if labels are not small whole numbers.
func (g *grouping[T]) groupByLevel() bool {
	rows, labelled, top := len(g.labels)/g.factors, 0, 0
	for i := range rows {
		switch l := g.label(i); {
		case !(l >= 0):
			continue
		case l >= T(len(g.positions)) || l != T(int(l)):
			return false
		default:
			labelled++
			top = max(top, int(l)+1)
		}
	}
	positions := g.positions[:top]
	clear(positions)
	for i := range rows {
		if l := g.label(i); l >= 0 {
			positions[int(l)]++
		}
	}
	start := 0
	for l, n := range positions {
		positions[l] = start
		if n > 0 {
			start += n
			g.starts = append(g.starts, start)
		}
	}
	g.order = g.order[:labelled]
	for i := range rows {
		if l := g.label(i); l >= 0 {
			g.order[positions[int(l)]] = i
			positions[int(l)]++
		}
	}
	return true
}

func newGrouping[T graph.Float](factor, factors, rows int) *grouping[T] {
	g := &grouping[T]{factor: factor, factors: factors}
	g.order, g.starts = make([]int, 0, rows), make([]int, 0, rows+1)
	g.positions = make([]int, 4*rows+1000)
	g.compare = func(a, b int) int {
		if c := cmp.Compare(g.label(a), g.label(b)); c != 0 {
			return c
		}
		return a - b
	}
	return g
}
