package logic

import (
	"math"
	"slices"
	"strconv"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

func (c *compiler) node(f syntax.Formula) program.Node {
	if syntax.IsCrisp(f) {
		return &program.Indicator{Test: c.crispTest(f)}
	}
	switch f := f.(type) {
	case *syntax.Equality:
		return c.equality(f)
	case *syntax.Connective:
		return c.connective(f)
	case *syntax.Negated:
		a := c.node(f.A)
		if c.sentence.Not == syntax.NotStrict && a.Smooth() {
			panic(c.error(f.A, "not = strict jumps where %s goes to 0; "+wantConstant+", or not = complement",
				syntax.TextOf(f.A)))
		}
		return &program.Negated{By: c.sentence.Not, Body: a}
	case *syntax.Independence:
		return c.independence(f)
	case *syntax.Scaled:
		return &program.Scaled{Weight: f.Weight, Body: c.node(f.A)}
	}
	q := f.(*syntax.Quantified)
	switch {
	case q.Domain.Set == syntax.FunctionSet:
		return c.functions(q)
	case q.Domain.Set == syntax.PointSet && !q.Universal:
		return c.centre(q)
	}
	return c.quantifier(q, q.Body)
}

// wantConstant describes the allowed operands of strict operations, for error messages.
const wantConstant = "want what does not vary with the codes: crisp equalities, =[discrete], values of factors, and what connectives and quantifiers make of them"

func (c *compiler) connective(f *syntax.Connective) program.Node {
	if f.Kind == syntax.ImpliesKind && syntax.IsCrisp(f.A) {
		return &program.Guarded{Text: syntax.TextOf(f), Test: c.crispTest(f.A), Body: c.node(f.B)}
	}
	a := c.node(f.A)
	if f.Kind == syntax.ImpliesKind && c.sentence.Implies == syntax.ImpliesStrict && a.Smooth() {
		panic(c.error(f.A, "-> = strict jumps where %s goes to 0; "+wantConstant+", or -> = monus", syntax.TextOf(f.A)))
	}
	return &program.Connective{Kind: f.Kind, By: c.sentence.Quantale, A: a, B: c.node(f.B)}
}

func (c *compiler) equality(e *syntax.Equality) program.Node {
	switch e.Premetric {
	case syntax.Cosine:
		return c.cosine(e)
	case syntax.KL, syntax.Wasserstein:
		return c.posteriors(e)
	}
	d := c.add(e, c.linear(e.A), c.linear(e.B).times(-1)).coordinates
	return &program.Equality{Premetric: e.Premetric, Period: e.Period, Difference: d, Codes: c.program.Varies(d)}
}

// cosine compiles an equality under the cosine distance.
func (c *compiler) cosine(e *syntax.Equality) program.Node {
	a, b := c.linear(e.A), c.linear(e.B)
	zero := func(l linear) linear {
		return linear{coordinates: make([]program.Coordinate, len(l.coordinates)), number: l.number}
	}
	a = c.add(e, a, zero(b)) // a number becomes a vector
	b = c.add(e, b, zero(a))
	return &program.Cosine{A: a.coordinates, B: b.coordinates, Codes: c.program.Varies(a.coordinates, b.coordinates)}
}

const wantPosteriors = "want codes of two rows, such as z(i) =[kl] z(j) or z.shape(i) =[kl] z.shape(j): the posteriors of these columns"

// posteriors compiles an equality of posteriors.
func (c *compiler) posteriors(e *syntax.Equality) program.Node {
	var means, variances [2]linear
	for i, t := range []syntax.Term{e.A, e.B} {
		a, ok := syntax.Bare(t).(*syntax.Access)
		if !ok || !a.Codes {
			panic(c.error(e, "=[%v] compares %s and %s; %s", e.Premetric, syntax.TextOf(e.A), syntax.TextOf(e.B),
				wantPosteriors))
		}
		row, columns := c.row(a.Row, a), c.columnsOf(a)
		mean := 0
		if c.sentence.Sampled {
			mean = c.program.Input(program.Means, c.program.Codes)
		}
		for _, k := range columns {
			means[i].add(mean+k, row)
		}
		variance := c.program.Input(program.LogVariances, c.program.Codes)
		for _, k := range columns {
			variances[i].add(variance+k, row)
		}
	}
	difference := c.add(e, means[0], means[1].times(-1))
	return &program.Posteriors{Premetric: e.Premetric, Differences: difference.coordinates,
		A: variances[0].coordinates, B: variances[1].coordinates}
}

// quantifier compiles a quantifier over a finite set. The formula over determines which rows are in the domain.
func (c *compiler) quantifier(f *syntax.Quantified, over syntax.Formula) program.Node {
	guards, rest := f.Guards()
	if f.Universal && !syntax.HasQuantifier(rest) && applies(rest, c.fittedFunctions()) {
		return c.fitParts(f, guards, rest, over)
	}
	binders := c.bind(f, over)
	defer c.unbind(len(binders) + len(f.Domain.Moves))
	tests := c.attachGuards(binders, guards)
	return &program.Quantifier{
		Text:      syntax.TextOf(f),
		Universal: f.Universal, Aggregate: f.Aggregate, Fold: f.Fold, Temperature: f.Temperature,
		Binders: domains(binders), Tests: tests, Leaf: !syntax.HasQuantifier(rest),
		Symmetric: syntax.Symmetric(f, guards, rest), Body: c.node(rest),
	}
}

// compiler turns a sentence into a typed program. It panics with the [*syntax.Error] of the first invalid part.
type compiler struct {
	sentence syntax.Sentence
	schema   Schema
	scope    []*binding
	maps     []*mapping // functions in scope
	program  *program.Program
}

// error returns an error about a part of the sentence, for use in a panic.
func (c *compiler) error(part syntax.Part, format string, values ...any) *syntax.Error {
	return c.sentence.Errorf(part, format, values...)
}

func (c *compiler) independence(f *syntax.Independence) program.Node {
	blocks := c.subCodeColumns(f)
	if f.By == syntax.ByDiscriminator {
		if !c.isSummand(f, c.sentence.Body) {
			panic(c.error(f, "%s is trained too, and its estimate may be below 0; want it as a summand (an operand of and), with or without a factor", syntax.TextOf(f)))
		}
		if c.program.Learned == "" {
			c.program.Learned = syntax.TextOf(f)
		}
	}
	return &program.Independence{By: f.By, Blocks: blocks}
}

// subCodeColumns lists the columns of each sub-code in an independence.
func (c *compiler) subCodeColumns(f *syntax.Independence) [][]int {
	var blocks [][]int
	var taken []int
	for _, a := range f.Codes {
		columns := c.columnsOf(a)
		for _, k := range columns {
			if slices.Contains(taken, k) {
				panic(c.error(f, "column %d of the codes is in two sub-codes, or twice in one, and depends on itself; want different columns", k))
			}
			taken = append(taken, k)
		}
		blocks = append(blocks, columns)
	}
	return blocks
}

// isSummand reports whether a part is a summand of a sentence.
func (c *compiler) isSummand(part, f syntax.Formula) bool {
	switch f := f.(type) {
	case *syntax.Scaled:
		return c.isSummand(part, f.A)
	case *syntax.Connective:
		return f.Kind == syntax.AndKind && c.sentence.And == syntax.AndAdd && (c.isSummand(part, f.A) ||
			c.isSummand(part, f.B))
	}
	return f == part
}

// wantCentre describes the supported quantifiers over the points of R^k, for error messages.
const wantCentre = "want exists c in z.name: forall i: ... -> z.name(i) =[euclidean] c, " +
	"with the aggregate max, mean, sum or mean-square, or =[squared] with max, mean or sum"

// centre compiles `exists c in z.name: forall i: guard -> z.name(i) =[euclidean] c`.
func (c *compiler) centre(f *syntax.Quantified) program.Node {
	if f.Fold != syntax.NoFold {
		panic(c.error(f, "exists[%v] aggregates finitely many quantities, not all points of %s; want exists without an aggregate", f.Fold, syntax.TextOf(f.Domain.Space)))
	}
	columns := c.columnsOf(f.Domain.Space)
	inner, ok := f.Body.(*syntax.Quantified)
	if !ok || !inner.Universal || inner.Domain.Set != syntax.RowSet || len(inner.Domain.Names) != 1 ||
		len(f.Domain.Names) != 1 {
		panic(c.error(f, "%s", wantCentre))
	}
	c.declare(f, f.Domain.Names[0])
	guards, rest := inner.Guards()
	point, row := f.Domain.Names[0], inner.Domain.Names[0]
	e, ok := rest.(*syntax.Equality)
	if !ok || slices.ContainsFunc(guards, func(g syntax.Formula) bool { return syntax.Mentions(g, point) }) {
		panic(c.error(f, "%s", wantCentre))
	}
	code, other := syntax.Bare(e.A), syntax.Bare(e.B)
	if code == syntax.Variable(point) {
		code, other = other, code
	}
	a, ok := code.(*syntax.Access)
	if !ok || !a.Codes || string(a.Row) != row || other != syntax.Variable(point) || point == row {
		panic(c.error(f, "%s", wantCentre))
	}
	if !slices.Equal(c.columnsOf(a), columns) {
		panic(c.error(e, "%s has other columns than the points of %s: %s", syntax.TextOf(a), syntax.TextOf(f.Domain.Space),
			wantCentre))
	}
	method, ok := exactMethod(inner.Aggregate, e.Premetric)
	if !ok || method == program.Absolute || inner.Fold != syntax.NoFold {
		panic(c.error(e, "=[%v] with forall[%s] has no exact solution here: %s",
			e.Premetric, inner.AggregateName(), wantCentre))
	}
	binders := c.bind(inner, inner.Body)
	defer c.unbind(len(binders) + len(inner.Domain.Moves))
	tests := c.attachGuards(binders, guards)
	return &program.Fit{
		Function: &syntax.Function{Name: point, To: f.Domain.Space}, Text: syntax.TextOf(f), ToColumns: columns,
		Aggregate: inner.Aggregate,
		Premetric: e.Premetric, Method: method, Binders: domains(binders), Tests: tests,
		Target: c.linear(a).coordinates, Codes: true, Row: -1,
	}
}

// exactMethod returns the method that minimises an aggregate of distances, if there is one.
func exactMethod(a factor.Aggregate, p syntax.Premetric) (method program.Method, ok bool) {
	mean := a == factor.Mean || a == factor.Sum
	switch {
	case p == syntax.Squared && mean, p == syntax.Euclidean && a == factor.MeanSquare:
		return program.Squares, true
	case p == syntax.Absolute && mean:
		return program.Absolute, true
	case p == syntax.Euclidean && mean:
		return program.Norms, true
	case a == factor.Max && (p == syntax.Euclidean || p == syntax.Squared):
		return program.Max, true
	}
	return 0, false
}

func (c *compiler) crispTest(f syntax.Formula) program.Test {
	switch f := f.(type) {
	case *syntax.Equality:
		same := c.crispEquality(f)
		if f.Not {
			return &program.Not{Test: same}
		}
		return same
	case *syntax.Negated:
		return &program.Not{Test: c.crispTest(f.A)}
	case *syntax.Scaled:
		return c.crispTest(f.A)
	case *syntax.Connective:
		return &program.Joined{Kind: f.Kind, A: c.crispTest(f.A), B: c.crispTest(f.B)}
	}
	q := f.(*syntax.Quantified)
	if len(q.Domain.Moves) > 0 {
		panic(c.error(q, "a transformation has no effect in a crisp formula; want it in a quantifier over distances of codes"))
	}
	binders := c.bind(q, q.Body)
	defer c.unbind(len(binders))
	return &program.Tried{Universal: q.Universal, Binders: domains(binders), Body: c.crispTest(q.Body)}
}

// side is one side of a crisp equality.
type side struct {
	row     *binding        // a row
	levels  []syntax.Term   // names of levels: a single name, or the members of a variable
	member  *binding        // the variable of the levels
	source  *binding        // for factors: the row, or the value
	factors []int           // the factors
	values  []program.Entry // the numbers of factors, or constants
	scalar  bool            // the number denotes a vector of any width
}

// crispEquality compiles an equality of rows, factors or constants.
func (c *compiler) crispEquality(e *syntax.Equality) program.Test {
	a, b := c.side(e.A, e), c.side(e.B, e)
	if len(a.factors) == 0 {
		a, b = b, a
	}
	switch {
	case a.row != nil && b.row != nil:
		return &program.SameRow{A: a.row.Variable, B: b.row.Variable}
	case len(a.factors) > 0 && len(b.factors) > 0:
		if !slices.Equal(a.factors, b.factors) {
			panic(c.error(e, "%s and %s are values of different factors, want =[absolute] or another premetric",
				syntax.TextOf(e.A), syntax.TextOf(e.B)))
		}
		return &program.SameNumbers{A: c.labelEntries(a), B: c.labelEntries(b)}
	case len(a.factors) == 1 && b.levels != nil:
		level := c.levelEntry(a.factors[0], b, e)
		c.compare(e, a.factors[0], level, true)
		return &program.SameNumbers{A: c.labelEntries(a), B: []program.Entry{level}}
	case len(a.values) > 0 && len(b.values) > 0:
		return c.sameNumbers(e, a, b)
	}
	panic(c.error(e, "%s and %s cannot be compared; want two rows, two values of one factor, or a factor and a constant",
		syntax.TextOf(e.A), syntax.TextOf(e.B)))
}

// sameNumbers compares numbers rounded to float32.
func (c *compiler) sameNumbers(e *syntax.Equality, a, b side) program.Test {
	n := max(len(a.values), len(b.values))
	for _, s := range []*side{&a, &b} {
		if s.scalar {
			s.values = slices.Repeat(s.values, n)
		}
		if len(s.values) != n {
			panic(c.widthsDiffer(e, len(a.values), len(b.values)))
		}
	}
	for i, f := range a.factors {
		c.program.NeedsValues = true
		name := c.schema.Factors[f]
		known, constant := c.schema.Levels[name], b.values[i]
		example := strconv.FormatFloat(constant.Constant, 'g', -1, 64)
		inside := constant.Constant >= 0 && constant.Constant <= 1
		value := slices.Contains(known, example) && c.unmapped(name, constant.Constant)
		if len(known) == 0 || constant.Column >= 0 || inside && !value {
			c.compare(e, f, constant, false)
			continue
		}
		if !slices.Contains(known, example) {
			example = known[len(known)-1]
		}
		const fault = "the levels of the factor %s are mapped to [0, 1], so none is %v; want a level in quotes, such as %q"
		panic(c.error(e, fault, name, constant.Constant, example))
	}
	return &program.SameNumbers{A: a.values, B: b.values, Single: true}
}

// compare records the comparison of a factor with a constant, for [Quantity.Unmatched].
func (c *compiler) compare(e *syntax.Equality, factor int, constant program.Entry, level bool) {
	if constant.Column < 0 {
		compared := program.Compared{Factor: factor, Number: constant.Constant, Level: level, Text: syntax.TextOf(e)}
		c.program.Compared = append(c.program.Compared, compared)
	}
}

// unmapped reports whether a number is the value of a level, such as 0.5, but no level is mapped to it.
func (c *compiler) unmapped(name string, number float64) bool {
	if i := slices.IndexFunc(c.schema.Turns, func(t Turn) bool { return t.Name == name }); i >= 0 {
		return !c.schema.Turns[i].Space && number == 1 // levels are less than a turn
	}
	known := c.schema.Levels[name]
	values := make([]float64, len(known))
	for i, text := range known {
		var err error
		if values[i], err = strconv.ParseFloat(text, 64); err != nil ||
			float32(float64(i)/float64(len(known)-1)) == float32(number) {
			return false
		}
	}
	low := slices.Min(values)
	width := max(slices.Max(values)-low, math.SmallestNonzeroFloat64) // all levels of equal value are mapped to 0
	return !slices.ContainsFunc(values, func(v float64) bool { return float32((v-low)/width) == float32(number) })
}

// labelEntries lists the labels of a row's factors, or the label of a value.
func (c *compiler) labelEntries(s side) []program.Entry {
	first := c.program.Labels
	if s.source.Set == syntax.ValueSet {
		first = c.program.LevelLabels
	}
	var entries []program.Entry
	for _, f := range s.factors {
		entries = append(entries, program.Entry{Column: first + f, Variable: s.source.Variable})
	}
	return entries
}

// side classifies a side of a crisp equality.
func (c *compiler) side(t syntax.Term, e *syntax.Equality) side {
	switch v := syntax.Bare(t).(type) {
	case *syntax.Access:
		if v.Codes {
			panic(c.error(e, "a plain = of codes has no gradient; want a premetric, such as =[euclidean]"))
		}
		s := side{source: c.row(v.Row, v), factors: c.columnsOf(v)}
		for _, f := range s.factors {
			s.values = append(s.values, program.Entry{Column: c.program.Values + f, Variable: s.source.Variable})
		}
		c.program.NeedsLabels = true
		return s
	case syntax.Number:
		return side{values: []program.Entry{{Constant: float64(v), Column: -1}}, scalar: true}
	case syntax.Vector:
		s := side{}
		for _, x := range v {
			s.values = append(s.values, program.Entry{Constant: x, Column: -1})
		}
		return s
	case syntax.Level:
		return side{levels: []syntax.Term{v}}
	case syntax.Variable:
		return c.sideVariable(v, t)
	case *syntax.Moved:
		panic(c.error(e, "a plain = of transformed codes; want a premetric, such as =[squared]"))
	case *syntax.Application:
		panic(c.error(e, "a plain = of a function's value has no gradient; want a premetric, such as =[euclidean]"))
	}
	panic(c.error(e, "a plain = of a sum or multiple; want a premetric, such as =[absolute]"))
}

func (c *compiler) sideVariable(v syntax.Variable, t syntax.Term) side {
	b := c.operand(v, t)
	switch {
	case b.Set == syntax.RowSet:
		return side{row: b}
	case b.Set == syntax.ValueSet:
		value := program.Entry{Column: c.program.LevelValues + b.Factor, Variable: b.Variable}
		return side{source: b, factors: []int{b.Factor}, values: []program.Entry{value}}
	case b.width < 0:
		return side{levels: b.members, member: b}
	}
	s := side{scalar: b.width == 0}
	for _, column := range b.columns {
		s.values = append(s.values, program.Entry{Column: column, Variable: b.Variable})
	}
	return s
}

// levelEntry translates the names of levels to their numbers.
func (c *compiler) levelEntry(factor int, s side, e *syntax.Equality) program.Entry {
	name := c.schema.Factors[factor]
	numbers := make([]float64, len(s.levels))
	for i, l := range s.levels {
		known, level := c.schema.Levels[name], string(l.(syntax.Level))
		index := slices.Index(known, level)
		if index < 0 {
			panic(c.error(e, "the factor %s has no level %q%s", name, level, registry.Suggest(level, known)))
		}
		numbers[i] = float64(index)
	}
	if s.member == nil {
		return program.Entry{Constant: numbers[0], Column: -1}
	}
	return program.Entry{Column: c.program.Constants(numbers), Variable: s.member.Variable}
}
