package logic

import (
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// Named holds the operations of the named losses that can be parts of a sentence; see
// [Quantity.NodeWith]. Package losses provides them.
type Named struct {
	// Modularity takes the rows of each value of the factor b.Factor and the plain deviation of their columns
	// b.Columns. It returns the aggregate over the values. A value with a single row has deviation 0.
	Modularity func(d factor.Deviation, a factor.Aggregate, b factor.Block, z, labels *gorgonia.Node) (*gorgonia.Node, error)

	// Contraction returns the aggregate over all pairs of rows of max(d_Y - d_Z, 0).
	Contraction func(c Contraction, z, y, labels *gorgonia.Node) (*gorgonia.Node, error)

	// Independence returns the dependence of blocks of columns of z: the codes or samples of a batch.
	Independence func(by Dependence, blocks [][]int, z *gorgonia.Node, batch Inputs) (*gorgonia.Node, error)

	// Network returns a function's values, [rows, f.Out], at arguments x, [rows, columns]. The function is a network
	// that is trained along with the model.
	Network func(f Network, x *gorgonia.Node) (*gorgonia.Node, error)
}

// Contraction describes the distances that a sentence compares: d_Z is the Euclidean
// distance of columns of the codes, d_Y the distance of factors by a premetric.
type Contraction struct {
	Aggregate factor.Aggregate
	Columns   []int // of the codes
	Factors   []int
	Premetric Premetric // Euclidean, Absolute, Discrete or Circular
	Period    float64   // of Circular; 0: 1
}

// summand is a term of a sentence that is a weighted sum: weight times a node.
type summand struct {
	weight float64
	node   func(with Named, in Inputs) (*gorgonia.Node, error)
	part   Formula // no named loss, or an independence

	independent [][]int // the blocks of an independence
}

// summands splits a sentence into a weighted sum, and recognises the parts that are named losses and thus have ready
// operations. It returns nil if the sentence has no such part.
func summands(s Sentence, schema Schema) []summand {
	n := namer{compiler{sentence: s, schema: schema, program: newProgram(schema)}}
	var all []summand
	n.split(s.Body, 1, &all)
	if !slices.ContainsFunc(all, func(p summand) bool { return p.node != nil || p.independent != nil }) {
		return nil
	}
	return all
}

// namer recognises named losses in sentences that have passed Compile.
type namer struct{ compiler }

func (n *namer) split(f Formula, weight float64, all *[]summand) {
	switch f := f.(type) {
	case *scaled:
		n.split(f.a, weight*f.weight, all)
		return
	case *connective:
		if f.kind == conjunction && n.sentence.And == AndAdd {
			n.split(f.a, weight, all)
			n.split(f.b, weight, all)
			return
		}
	}
	if i, ok := f.(*independence); ok {
		blocks, _ := n.blocksOf(i)
		*all = append(*all, summand{weight: weight, part: i, independent: blocks})
		return
	}
	if q, ok := f.(*quantified); ok && q.domain.set == functionSet {
		n.functions(q, weight, all)
		return
	}
	s := summand{weight: weight, part: f}
	if q, ok := f.(*quantified); ok && q.universal && q.fold == noFold {
		n.name(q, &s)
	}
	*all = append(*all, s)
}

// name recognises a loss of a quantified formula.
func (n *namer) name(f *quantified, s *summand) {
	if f.domain.set == valueSet && len(f.domain.names) == 1 {
		n.modularity(f, s)
		return
	}
	p, ok := n.pair(f)
	if !ok || f.aggregate != factor.Max && len(p.guards) > 0 {
		return
	}
	if len(p.guards) == 0 {
		n.contraction(f, p, s)
		return
	}
	// The diameter of the codes of rows that agree in a factor.
	e, ok := p.rest.(*equality)
	if !ok || len(p.guards) != 1 || e.premetric != Euclidean {
		return
	}
	if k := n.factorOf(p.guards[0], p.i, p.j); k >= 0 {
		if columns := n.codes(e, p.i, p.j); columns != nil {
			s.modularity(factor.Diameter, factor.Max, k, columns)
		}
	}
}

// modularity makes a summand a named loss with the plain estimator. A sentence is about the rows of its batch: i = j
// counts, and a value with a single row has deviation 0. The loss of the same name in a config by default estimates the
// deviation in the data set.
func (s *summand) modularity(d factor.Deviation, a factor.Aggregate, k int, columns []int) {
	s.node = func(with Named, in Inputs) (*gorgonia.Node, error) {
		return with.Modularity(d, a, factor.Block{Factor: k, Columns: columns}, in.Codes, in.Labels)
	}
}

// pair is a universal quantifier over two rows.
type pair struct {
	i, j   string
	guards []Formula
	rest   Formula
}

func (n *namer) pair(f *quantified) (pair, bool) {
	if !f.universal || f.fold != noFold || f.domain.set != rowSet || len(f.domain.names) != 2 || len(f.domain.moves) > 0 {
		return pair{}, false
	}
	guards, rest := f.guards()
	return pair{f.domain.names[0], f.domain.names[1], guards, rest}, true
}

// modularity recognises an aggregate over the values of a factor: of a deviation of the codes of the rows with the
// value.
func (n *namer) modularity(f *quantified, s *summand) {
	about := slices.Index(n.schema.Factors, f.domain.factor)
	value, body, scale := f.domain.names[0], f.body, 1.0
	for {
		m, ok := body.(*scaled)
		if !ok {
			break
		}
		body, scale = m.a, scale*m.weight
	}
	q, ok := body.(*quantified)
	if !ok {
		return
	}
	d, columns, times := n.spread(q, value, about)
	if columns == nil {
		d, columns, times = n.deviation(q, value, about)
	}
	if columns == nil || !distinct(columns) {
		return
	}
	scale *= times
	if f.aggregate == factor.MeanSquare {
		scale *= scale
	}
	s.weight *= scale
	s.modularity(d, f.aggregate, about, columns)
}

// distinct reports whether no column comes twice.
func distinct(columns []int) bool {
	for i, c := range columns {
		if slices.Contains(columns[:i], c) {
			return false
		}
	}
	return true
}

// spread recognises deviations by pairs of rows.
func (n *namer) spread(q *quantified, value string, about int) (d factor.Deviation, columns []int, times float64) {
	p, ok := n.pair(q)
	if !ok || len(p.guards) != 2 {
		return 0, nil, 0
	}
	first, second := n.valued(p.guards[0], value, about), n.valued(p.guards[1], value, about)
	if !(first == p.i && second == p.j || first == p.j && second == p.i) {
		return 0, nil, 0
	}
	e, ok := p.rest.(*equality)
	if !ok {
		return 0, nil, 0
	}
	switch columns = n.codes(e, p.i, p.j); {
	case q.aggregate == factor.Max && e.premetric == Euclidean:
		return factor.Diameter, columns, 1
	case q.aggregate == factor.Mean && e.premetric == Euclidean:
		return factor.MPD, columns, 2
	case q.aggregate == factor.MeanSquare && e.premetric == Euclidean, q.aggregate == factor.Mean && e.premetric == Squared:
		return factor.Variance, columns, 2
	}
	return 0, nil, 0
}

// deviation recognises deviations from a point.
func (n *namer) deviation(q *quantified, value string, about int) (d factor.Deviation, columns []int, times float64) {
	inner, ok := q.body.(*quantified)
	if !ok || q.domain.set != pointSet || len(inner.domain.moves) > 0 {
		return 0, nil, 0
	}
	guards, rest := inner.guards()
	if len(guards) != 1 || n.valued(guards[0], value, about) != inner.domain.names[0] {
		return 0, nil, 0
	}
	columns, _ = n.columnsOf(q.domain.space)
	kind, square, _ := centreOf(inner.aggregate, rest.(*equality).premetric)
	switch {
	case square || inner.aggregate == factor.Sum:
		return 0, nil, 0
	case kind == centreBall:
		return factor.Radius, columns, 1
	case kind == centreMedian:
		return factor.MAD, columns, 1
	}
	return factor.Variance, columns, 1
}

// valued returns the row i of a guard `y.factor(i) = v`, or "" for other guards.
func (n *namer) valued(g Formula, value string, about int) string {
	e, ok := g.(*equality)
	if !ok || e.not {
		return ""
	}
	a, b := bare(e.a), bare(e.b)
	if a == Variable(value) {
		a, b = b, a
	}
	if row, ok := a.(*access); ok && b == Variable(value) && n.isFactor(row, about) {
		return string(row.row)
	}
	return ""
}

// isFactor reports whether a term is the value of one factor.
func (n *namer) isFactor(a *access, about int) bool {
	columns, err := n.columnsOf(a)
	return err == nil && !a.codes && len(columns) == 1 && columns[0] == about
}

// factorOf returns the factor of a guard `y.factor(i) = y.factor(j)`, or -1 for other guards.
func (n *namer) factorOf(g Formula, i, j string) int {
	e, ok := g.(*equality)
	if !ok || e.not {
		return -1
	}
	if columns := n.sides(e, i, j, false); len(columns) == 1 {
		return columns[0]
	}
	return -1
}

// codes returns the columns of an equality of the codes of two rows, or nil for other equalities.
func (n *namer) codes(e *equality, i, j string) []int { return n.sides(e, i, j, true) }

// sides returns the columns of an equality of the same columns of two rows.
func (n *namer) sides(e *equality, i, j string, codes bool) []int {
	a, ok := bare(e.a).(*access)
	b, ok2 := bare(e.b).(*access)
	if !ok || !ok2 || a.codes != codes || b.codes != codes {
		return nil
	}
	if !(string(a.row) == i && string(b.row) == j || string(a.row) == j && string(b.row) == i) {
		return nil
	}
	columns, err := n.columnsOf(a)
	other, err2 := n.columnsOf(b)
	if err != nil || err2 != nil || !slices.Equal(columns, other) || !distinct(columns) {
		return nil
	}
	return columns
}

// contraction recognises `z(i) =[euclidean] z(j) -> y(i) =[...] y(j)`.
func (n *namer) contraction(f *quantified, p pair, s *summand) {
	c, ok := p.rest.(*connective)
	if !ok || c.kind != implication || n.sentence.Implies != ImpliesMonus {
		return
	}
	from, ok := c.a.(*equality)
	to, ok2 := c.b.(*equality)
	if !ok || !ok2 || from.premetric != Euclidean {
		return
	}
	settings := Contraction{Aggregate: f.aggregate, Columns: n.codes(from, p.i, p.j), Factors: n.sides(to, p.i, p.j, false), Premetric: to.premetric, Period: to.period}
	known := slices.Contains([]Premetric{Euclidean, Absolute, Discrete, Circular}, to.premetric)
	if !known || settings.Columns == nil || settings.Factors == nil {
		return
	}
	s.node = func(with Named, in Inputs) (*gorgonia.Node, error) {
		return with.Contraction(settings, in.Codes, in.Values, in.Labels)
	}
}
