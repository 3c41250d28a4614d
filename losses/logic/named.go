package logic

import (
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
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
	Independence func(by syntax.Dependence, blocks [][]int, z *gorgonia.Node, batch Inputs) (*gorgonia.Node, error)

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
	Premetric syntax.Premetric // Euclidean, Absolute, Discrete or Circular
	Period    float64          // of Circular; 0: 1
}

// summand is a term of a sentence that is a weighted sum: weight times a node.
type summand struct {
	weight float64
	node   func(with Named, in Inputs) (*gorgonia.Node, error)
	part   syntax.Formula // no named loss, or an independence

	independent [][]int // the blocks of an independence
}

// summands splits a sentence into a weighted sum, and recognises the parts that are named losses and thus have ready
// operations. It returns nil if the sentence has no such part.
func summands(s syntax.Sentence, schema Schema) []summand {
	n := namer{compiler{sentence: s, schema: schema, program: program.New(schema.Codes, len(schema.Factors))}}
	var all []summand
	n.split(s.Body, 1, &all)
	if !slices.ContainsFunc(all, func(p summand) bool { return p.node != nil || p.independent != nil }) {
		return nil
	}
	return all
}

// namer recognises named losses in sentences that have passed Compile.
type namer struct{ compiler }

func (n *namer) split(f syntax.Formula, weight float64, all *[]summand) {
	switch f := f.(type) {
	case *syntax.Scaled:
		n.split(f.A, weight*f.Weight, all)
		return
	case *syntax.Connective:
		if f.Kind == syntax.AndKind && n.sentence.And == syntax.AndAdd {
			n.split(f.A, weight, all)
			n.split(f.B, weight, all)
			return
		}
	}
	if i, ok := f.(*syntax.Independence); ok {
		blocks, _ := n.blocksOf(i)
		*all = append(*all, summand{weight: weight, part: i, independent: blocks})
		return
	}
	if q, ok := f.(*syntax.Quantified); ok && q.Domain.Set == syntax.FunctionSet {
		n.functions(q, weight, all)
		return
	}
	s := summand{weight: weight, part: f}
	if q, ok := f.(*syntax.Quantified); ok && q.Universal && q.Fold == syntax.NoFold {
		n.name(q, &s)
	}
	*all = append(*all, s)
}

// name recognises a loss of a quantified formula.
func (n *namer) name(f *syntax.Quantified, s *summand) {
	if f.Domain.Set == syntax.ValueSet && len(f.Domain.Names) == 1 {
		n.modularity(f, s)
		return
	}
	p, ok := n.pair(f)
	if !ok || f.Aggregate != factor.Max && len(p.guards) > 0 {
		return
	}
	if len(p.guards) == 0 {
		n.contraction(f, p, s)
		return
	}
	// The diameter of the codes of rows that agree in a factor.
	e, ok := p.rest.(*syntax.Equality)
	if !ok || len(p.guards) != 1 || e.Premetric != syntax.Euclidean {
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
	guards []syntax.Formula
	rest   syntax.Formula
}

func (n *namer) pair(f *syntax.Quantified) (pair, bool) {
	if !f.Universal || f.Fold != syntax.NoFold || f.Domain.Set != syntax.RowSet || len(f.Domain.Names) != 2 || len(f.Domain.Moves) > 0 {
		return pair{}, false
	}
	guards, rest := f.Guards()
	return pair{f.Domain.Names[0], f.Domain.Names[1], guards, rest}, true
}

// modularity recognises an aggregate over the values of a factor: of a deviation of the codes of the rows with the
// value.
func (n *namer) modularity(f *syntax.Quantified, s *summand) {
	about := slices.Index(n.schema.Factors, f.Domain.Factor)
	value, body, scale := f.Domain.Names[0], f.Body, 1.0
	for {
		m, ok := body.(*syntax.Scaled)
		if !ok {
			break
		}
		body, scale = m.A, scale*m.Weight
	}
	q, ok := body.(*syntax.Quantified)
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
	if f.Aggregate == factor.MeanSquare {
		scale *= scale
	}
	s.weight *= scale
	s.modularity(d, f.Aggregate, about, columns)
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
func (n *namer) spread(q *syntax.Quantified, value string, about int) (d factor.Deviation, columns []int, times float64) {
	p, ok := n.pair(q)
	if !ok || len(p.guards) != 2 {
		return 0, nil, 0
	}
	first, second := n.valued(p.guards[0], value, about), n.valued(p.guards[1], value, about)
	if !(first == p.i && second == p.j || first == p.j && second == p.i) {
		return 0, nil, 0
	}
	e, ok := p.rest.(*syntax.Equality)
	if !ok {
		return 0, nil, 0
	}
	switch columns = n.codes(e, p.i, p.j); {
	case q.Aggregate == factor.Max && e.Premetric == syntax.Euclidean:
		return factor.Diameter, columns, 1
	case q.Aggregate == factor.Mean && e.Premetric == syntax.Euclidean:
		return factor.MPD, columns, 2
	case q.Aggregate == factor.MeanSquare && e.Premetric == syntax.Euclidean, q.Aggregate == factor.Mean && e.Premetric == syntax.Squared:
		return factor.Variance, columns, 2
	}
	return 0, nil, 0
}

// deviation recognises deviations from a point.
func (n *namer) deviation(q *syntax.Quantified, value string, about int) (d factor.Deviation, columns []int, times float64) {
	inner, ok := q.Body.(*syntax.Quantified)
	if !ok || q.Domain.Set != syntax.PointSet || len(inner.Domain.Moves) > 0 {
		return 0, nil, 0
	}
	guards, rest := inner.Guards()
	if len(guards) != 1 || n.valued(guards[0], value, about) != inner.Domain.Names[0] {
		return 0, nil, 0
	}
	columns, _ = n.columnsOf(q.Domain.Space)
	kind, square, _ := centreOf(inner.Aggregate, rest.(*syntax.Equality).Premetric)
	switch {
	case square || inner.Aggregate == factor.Sum:
		return 0, nil, 0
	case kind == program.Ball:
		return factor.Radius, columns, 1
	case kind == program.Median:
		return factor.MAD, columns, 1
	}
	return factor.Variance, columns, 1
}

// valued returns the row i of a guard `y.factor(i) = v`, or "" for other guards.
func (n *namer) valued(g syntax.Formula, value string, about int) string {
	e, ok := g.(*syntax.Equality)
	if !ok || e.Not {
		return ""
	}
	a, b := syntax.Bare(e.A), syntax.Bare(e.B)
	if a == syntax.Variable(value) {
		a, b = b, a
	}
	if row, ok := a.(*syntax.Access); ok && b == syntax.Variable(value) && n.isFactor(row, about) {
		return string(row.Row)
	}
	return ""
}

// isFactor reports whether a term is the value of one factor.
func (n *namer) isFactor(a *syntax.Access, about int) bool {
	columns, err := n.columnsOf(a)
	return err == nil && !a.Codes && len(columns) == 1 && columns[0] == about
}

// factorOf returns the factor of a guard `y.factor(i) = y.factor(j)`, or -1 for other guards.
func (n *namer) factorOf(g syntax.Formula, i, j string) int {
	e, ok := g.(*syntax.Equality)
	if !ok || e.Not {
		return -1
	}
	if columns := n.sides(e, i, j, false); len(columns) == 1 {
		return columns[0]
	}
	return -1
}

// codes returns the columns of an equality of the codes of two rows, or nil for other equalities.
func (n *namer) codes(e *syntax.Equality, i, j string) []int { return n.sides(e, i, j, true) }

// sides returns the columns of an equality of the same columns of two rows.
func (n *namer) sides(e *syntax.Equality, i, j string, codes bool) []int {
	a, ok := syntax.Bare(e.A).(*syntax.Access)
	b, ok2 := syntax.Bare(e.B).(*syntax.Access)
	if !ok || !ok2 || a.Codes != codes || b.Codes != codes {
		return nil
	}
	if !(string(a.Row) == i && string(b.Row) == j || string(a.Row) == j && string(b.Row) == i) {
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
func (n *namer) contraction(f *syntax.Quantified, p pair, s *summand) {
	c, ok := p.rest.(*syntax.Connective)
	if !ok || c.Kind != syntax.ImpliesKind || n.sentence.Implies != syntax.ImpliesMonus {
		return
	}
	from, ok := c.A.(*syntax.Equality)
	to, ok2 := c.B.(*syntax.Equality)
	if !ok || !ok2 || from.Premetric != syntax.Euclidean {
		return
	}
	settings := Contraction{Aggregate: f.Aggregate, Columns: n.codes(from, p.i, p.j), Factors: n.sides(to, p.i, p.j, false), Premetric: to.Premetric, Period: to.Period}
	known := slices.Contains([]syntax.Premetric{syntax.Euclidean, syntax.Absolute, syntax.Discrete, syntax.Circular}, to.Premetric)
	if !known || settings.Columns == nil || settings.Factors == nil {
		return
	}
	s.node = func(with Named, in Inputs) (*gorgonia.Node, error) {
		return with.Contraction(settings, in.Codes, in.Values, in.Labels)
	}
}

// functions splits a quantifier over functions into a quantifier for each operand of a sum. It recognises product
// approximations (proposition 2 of Zhang and Sugiyama 2024) as the deviations from the centres of levels.
func (n *namer) functions(f *syntax.Quantified, weight float64, all *[]summand) {
	switch body := f.Body.(type) {
	case *syntax.Scaled:
		part := *f
		part.Body = body.A
		n.functions(&part, weight*body.Weight, all)
		return
	case *syntax.Connective:
		if body.Kind == syntax.AndKind && n.sentence.And == syntax.AndAdd {
			n.split(quantify(f, body.A), weight, all)
			n.split(quantify(f, body.B), weight, all)
			return
		}
	}
	s := summand{weight: weight, part: f}
	if q, ok := f.Body.(*syntax.Quantified); ok && len(f.Domain.Functions) == 1 && q.Universal && q.Fold == syntax.NoFold {
		n.product(f.Domain.Functions[0].Function, q, &s)
	}
	*all = append(*all, s)
}

// quantify quantifies a part of the body over the functions that it applies.
func quantify(f *syntax.Quantified, part syntax.Formula) syntax.Formula {
	own := f.Domain
	own.Names, own.Functions = nil, nil
	used := syntax.Applications(part)
	for i, d := range f.Domain.Functions {
		if slices.ContainsFunc(used, func(a *syntax.Application) bool { return a.Function == d.Name }) {
			own.Names, own.Functions = append(own.Names, f.Domain.Names[i]), append(own.Functions, d)
		}
	}
	if len(own.Names) == 0 {
		return part
	}
	r := *f
	r.Domain, r.Body = own, part
	return &r
}

// product recognises the deviation of codes from a function of the levels of one factor.
func (n *namer) product(m syntax.Function, f *syntax.Quantified, s *summand) {
	from, err := n.columnsOf(m.From.Access(0))
	if err != nil || m.Class != syntax.AnyFunction || m.By != syntax.ByBody || m.From.Codes || !m.To.Codes || len(from) != 1 {
		return
	}
	if f.Domain.Set == syntax.RowSet { // over all levels: of the largest distances, the largest
		guards, rest := f.Guards()
		e, ok := rest.(*syntax.Equality)
		if !ok || len(guards) > 0 || f.Aggregate != factor.Max || e.Premetric != syntax.Euclidean || len(f.Domain.Names) != 1 {
			return
		}
		if code := n.imaged(e, f.Domain.Names[0], ""); code != nil {
			if columns, err := n.columnsOf(code); err == nil && distinct(columns) {
				s.modularity(factor.Radius, factor.Max, from[0], columns)
			}
		}
		return
	}
	if f.Domain.Set != syntax.ValueSet || len(f.Domain.Names) != 1 || slices.Index(n.schema.Factors, f.Domain.Factor) != from[0] {
		return
	}
	if body := n.centred(f.Body, f.Domain.Names[0]); body != nil {
		part := *f
		part.Body = body
		n.modularity(&part, s)
	}
}

// centred writes `forall i: y.a(i) = v -> z(i) = m(v)` as `exists c in z: forall i: y.a(i) = v -> z(i) = c`. It returns
// nil for other formulas.
func (n *namer) centred(f syntax.Formula, value string) syntax.Formula {
	switch f := f.(type) {
	case *syntax.Scaled:
		if a := n.centred(f.A, value); a != nil {
			return &syntax.Scaled{Weight: f.Weight, A: a}
		}
	case *syntax.Quantified:
		guards, rest := f.Guards()
		e, ok := rest.(*syntax.Equality)
		if !ok || !f.Universal || f.Fold != syntax.NoFold || f.Domain.Set != syntax.RowSet || len(f.Domain.Names) != 1 || len(guards) != 1 {
			return nil
		}
		code := n.imaged(e, f.Domain.Names[0], value)
		if code == nil {
			return nil
		}
		p := e.Premetric
		if columns, err := n.columnsOf(code); err != nil || p == syntax.Absolute && len(columns) == 1 {
			p = syntax.Euclidean
		}
		if _, _, ok := centreOf(f.Aggregate, p); !ok {
			return nil
		}
		space, inner, point := *code, *f, "centre"
		space.Row = ""
		inner.Body = &syntax.Connective{Kind: syntax.ImpliesKind, A: guards[0], B: &syntax.Equality{A: code, B: syntax.Variable(point), Premetric: p}}
		return &syntax.Quantified{Domain: syntax.Domain{Names: []string{point}, Set: syntax.PointSet, Space: &space}, Body: &inner}
	}
	return nil
}

// imaged returns the code of a row that an equality compares with a function of the row's level, or of a value.
func (n *namer) imaged(e *syntax.Equality, row, value string) *syntax.Access {
	a, other, err := n.applied(e)
	if err != nil {
		return nil
	}
	code, ok := syntax.Bare(other).(*syntax.Access)
	if !ok || !code.Codes || string(code.Row) != row {
		return nil
	}
	x, ok := syntax.Bare(a.A).(*syntax.Access)
	if ok && string(x.Row) == row || value != "" && syntax.Bare(a.A) == syntax.Variable(value) {
		return code
	}
	return nil
}

// name finds the named losses that the sentence adds up.
func (q *Quantity) name() error {
	all := summands(q.sentence, q.schema)
	if i, ok := q.sentence.Body.(*syntax.Independence); ok { // it is its only part
		blocks := all[0].independent
		q.summands = []summand{{weight: 1, node: func(named Named, in Inputs) (*gorgonia.Node, error) { return q.dependence(named, i, blocks, in) }}}
		return nil
	}
	for _, s := range all {
		if s.node == nil {
			part := q.sentence
			part.Body = s.part
			sub, err := Compile(part, q.schema)
			if err != nil {
				return err
			}
			s.node = func(named Named, in Inputs) (*gorgonia.Node, error) {
				if i, ok := s.part.(*syntax.Independence); ok {
					return sub.dependence(named, i, s.independent, in)
				}
				return sub.node(named, in)
			}
		} else if loss := s.node; q.sentence.Sampled {
			s.node = func(named Named, in Inputs) (*gorgonia.Node, error) {
				in.Codes = in.Samples
				return loss(named, in)
			}
		}
		q.summands = append(q.summands, s)
	}
	return nil
}

// Network is a function in mlp of a sentence: dense layers of tanh units, and a dense layer without an activation.
type Network struct {
	Name   string // of the function
	Layers []int  // widths of the hidden layers
	Out    int    // columns of its values
}
