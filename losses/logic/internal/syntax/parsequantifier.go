package syntax

import (
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
)

// quantified reads a quantifier after its keyword, forall or exists.
func (p *parser) quantified(t token) Formula {
	q := &Quantified{Place: t.place(), Universal: t.text == "forall"}
	if q.Universal {
		q.Aggregate = factor.Max
	}
	if p.accept("[") {
		p.aggregate(q)
	}
	if p.atFunction() {
		p.functions(q)
	} else {
		p.variables(q)
	}
	p.body(q)
	return q
}

// aggregate reads the rest of `forall[mean]` and `exists[soft 0.1]` after the bracket.
func (p *parser) aggregate(q *Quantified) {
	t := p.peek()
	name := p.hyphenated("an aggregate")
	own, others, quantifier, other := anyNames(), append(aggregateNames(), allNames()...), "exists", "forall"
	if q.Universal {
		own, others, quantifier, other = others, own, other, quantifier
	}
	switch {
	case slices.Contains(own, name):
	case slices.Contains(others, name):
		p.fail(t.offset, "%s is an aggregate of %s, want one of %s: %s", name, other, quantifier, strings.Join(own, ", "))
	default:
		p.fail(t.offset, "unknown aggregate %q of %s%s", name, quantifier, registry.Suggest(name, own))
	}
	if q.Universal {
		var err error
		if q.Aggregate, err = factor.ParseAggregate(name); err != nil {
			q.Aggregate, q.Fold = 0, AllLogExp+Fold(slices.Index(allNames(), name))
		}
	} else if q.Fold = Fold(slices.Index(own, name)); q.Fold == AnySoft {
		t := p.next()
		if t.kind != numeral || t.value < 1e-30 || t.value > 1e30 {
			p.found(t, "the temperature of a soft minimum, a number above 0, such as soft 0.1")
		}
		q.Temperature = t.value
	}
	p.expect("]", " after an aggregate")
}

// variables reads variables, the transformations between their rows, and their set.
func (p *parser) variables(q *Quantified) {
	d := &q.Domain
	for more := true; more; more = p.accept(",") {
		v := p.name("the name of a variable")
		if v.text == "y" || v.text == "z" {
			p.fail(v.offset, "%s stands for all %s, want another name for a variable", v.text, SpaceName(v.text == "z"))
		}
		if slices.Contains(d.Names, v.text) {
			p.fail(v.offset, "the variable %s is named twice", v.text)
		}
		if p.at("(") {
			d.Moves = append(d.Moves, p.move(v))
		} else {
			d.Names = append(d.Names, v.text)
		}
	}
	if !p.accept("in") {
		return
	}
	if len(d.Moves) > 0 {
		p.fail(d.Moves[0].position()-1,
			"a transformation leads from row to row, and these variables are not rows; want forall i, j, g(i, j): ...")
	}
	p.domain(d)
}

// body reads the body of a quantifier, with its functions in scope.
func (p *parser) body(q *Quantified) {
	p.expect(":", " after the variables of a quantifier")
	scope, moves := p.scope, p.moves
	for _, m := range q.Domain.Moves {
		p.moves = append(p.moves, m.Name)
	}
	for _, f := range q.Domain.Functions {
		if p.bound(f.Name) {
			p.fail(f.position()-1, "the function %s is bound already, want another name", f.Name)
		}
		p.scope = append(p.scope, f.Name)
	}
	q.Body = p.formula()
	p.scope, p.moves = scope, moves
}

// domain reads the set of a quantifier's variables.
func (p *parser) domain(d *Domain) {
	t := p.next()
	d.Place = t.place()
	switch {
	case t.is("{"):
		d.Set = MemberSet
		p.members(d)
	case t.kind == word && t.text == "y":
		d.Set, d.Factor = ValueSet, p.space(t).Name
		if d.Factor == "" {
			p.fail(t.offset, "found %s without the name of a factor, want a set such as y.shape", t.text)
		}
	case t.kind == word && t.text == "z":
		d.Set, d.Space = PointSet, p.space(t)
		if len(d.Names) > 1 {
			p.fail(t.offset, "%d variables stand for points of the codes, want one", len(d.Names))
		}
	default:
		p.found(t, "a set: {constants}, y.factor, z or z.factor")
	}
}

func (p *parser) members(d *Domain) {
	if len(d.Names) > 1 {
		p.fail(d.position()-1, "%d variables stand for constants, want one", len(d.Names))
	}
	p.list("}", " after a constant", func() {
		t := p.peek()
		c := &placed{Place: t.place()}
		switch {
		case t.kind == quotation:
			p.next()
			c.Term = Level(t.text)
		case p.accept("["):
			c.Term = p.vector()
		default:
			c.Term = Number(p.number("a constant: a number, a vector such as [1, 2], or a name in quotes"))
		}
		d.Members = append(d.Members, c)
	})
}

// move reads the rows of `g(i, j)` after its name.
func (p *parser) move(name token) PairMove {
	m := PairMove{Place: name.place(), Name: name.text}
	p.expect("(", " and two rows")
	m.From = Variable(p.name("the variable of a row").text)
	if t := p.peek(); !p.accept(",") {
		p.found(t, "a comma and a second row: a transformation leads from a row to another, such as g(i, j)")
	}
	m.To = Variable(p.name("the variable of a row").text)
	p.expect(")", " after the rows of a transformation")
	return m
}

// atFunction reports whether the variable of a quantifier is a function: m.a, or h: z ->.
func (p *parser) atFunction() bool {
	t := func(n int) token { return p.tokens[min(p.i+n, len(p.tokens)-1)] }
	if !t(0).named() {
		return false
	}
	if t(1).is(".") {
		return true
	}
	if !t(1).is(":") || t(2).kind != word || t(2).text != "y" && t(2).text != "z" {
		return false
	}
	n := 3
	switch {
	case t(n).is("."):
		n += 2
	case t(n).is("["):
		for t(n).kind != end && !t(n).is("]") {
			n++
		}
		n++
	}
	return t(n).is("->")
}

// functions reads the functions of a quantifier up to its colon.
func (p *parser) functions(q *Quantified) {
	d := &q.Domain
	d.Set = FunctionSet
	for more := true; more; more = p.accept(",") {
		t := p.peek()
		if !p.atFunction() {
			p.found(t, "a function, such as h: z -> y")
		}
		if q.Universal {
			p.fail(t.offset, "found a function after forall, want exists")
		}
		f := p.function()
		if slices.Contains(d.Names, f.Name) {
			p.fail(t.offset, "the function %s is named twice", f.Name)
		}
		d.Names, d.Functions = append(d.Names, f.Name), append(d.Functions, f)
	}
}

// function reads `m.shape: y.shape -> z.shape` or `h: z -> y in affine by least squares`.
func (p *parser) function() *Function {
	t := p.next()
	f := &Function{Place: t.place(), Name: t.text}
	if p.accept(".") {
		n := p.next()
		if n.kind != quotation && n.kind != word {
			p.found(n, "a name after the dot, such as "+f.Name+".shape")
		}
		f.Name += "." + n.text
	}
	if t.text == "y" || t.text == "z" {
		p.fail(t.offset, "found the name %s of a function, want a name other than y and z", f.Name)
	}
	p.expect(":", " and the spaces of a function, such as z -> y")
	f.From = p.functionSpace()
	p.expect("->", " between the spaces of a function")
	f.To = p.functionSpace()
	if p.accept("in") {
		p.class(f)
	}
	if t := p.peek(); t.kind == word && t.text == "by" {
		p.next()
		f.By = p.fit()
	}
	return f
}

func (p *parser) functionSpace() *Access {
	t := p.next()
	if t.kind != word || t.text != "y" && t.text != "z" {
		p.found(t, "y (factors) or z (codes), or a part of them such as z.shape")
	}
	return p.space(t)
}

func (p *parser) class(f *Function) {
	t := p.next()
	known := classNames()[1:]
	i := slices.Index(known, t.text)
	switch {
	case t.kind != word:
		p.found(t, "a class of functions: affine, linear, isometry or mlp")
	case i < 0:
		p.fail(t.offset, "unknown class %q of functions%s", t.text, registry.Suggest(t.text, known))
	}
	if f.Class = Class(i + 1); f.Class != MLP {
		return
	}
	if p.at(":") && p.tokens[p.i+1].is("{") {
		p.next()
	}
	if p.accept("{") {
		p.layers(f)
	}
}

// layers reads `layers: [64, 64]}`.
func (p *parser) layers(f *Function) {
	if t := p.next(); t.kind != word || t.text != "layers" {
		p.found(t, "layers: [...], the widths of the hidden layers")
	}
	p.expect(":", " after layers")
	p.expect("[", " and the widths of the hidden layers")
	f.Layers = []int{}
	if !p.accept("]") {
		p.list("]", " after a width", func() {
			t := p.next()
			if t.kind != numeral || t.value != float64(int16(t.value)) || t.value < 1 {
				p.found(t, "the width of a layer, from 1 to 32767")
			}
			f.Layers = append(f.Layers, int(t.value))
		})
	}
	p.expect("}", " after the layers")
}

// fit reads a criterion after `by`.
func (p *parser) fit() Fit {
	t := p.next()
	i := slices.Index([]string{"least", "absolute", "max"}, t.text)
	if t.kind != word || i < 0 {
		p.found(t, "what a function is fitted by: least squares, absolute or max")
	}
	if f := Fit(i + 1); f != ByLeastSquares {
		return f
	}
	if n := p.next(); n.kind != word || n.text != "squares" {
		p.found(n, "squares, as in by least squares")
	}
	return ByLeastSquares
}

// bound reports whether a function in scope has the name.
func (p *parser) bound(name string) bool { return slices.Contains(p.scope, name) }
