package syntax

import (
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
)

// quantified reads a quantifier after its keyword, forall or exists.
func (p *parser) quantified(t token) (Formula, error) {
	q := &Quantified{Place: Place(t.offset + 1), Universal: t.text == "forall"}
	if q.Universal {
		q.Aggregate = factor.Max
	}
	if p.accept("[") {
		if err := p.parseAggregate(q); err != nil {
			return nil, err
		}
	}
	if p.atFunction() {
		if err := p.functions(q); err != nil {
			return nil, err
		}
		return q, p.body(q)
	}
	if err := p.variables(q); err != nil {
		return nil, err
	}
	if p.accept("in") {
		if len(q.Domain.Moves) > 0 {
			return nil, errorAt(p.text, q.Domain.Moves[0].position()-1, "a transformation leads from row to row, and these variables are not rows; want forall i, j, g(i, j): ...")
		}
		if err := p.domain(&q.Domain); err != nil {
			return nil, err
		}
	}
	return q, p.body(q)
}

// variables reads the variables of rows and the transformations of a quantifier.
func (p *parser) variables(q *Quantified) error {
	for {
		v := p.next()
		if v.kind != word || isKeyword(v.text) {
			return p.found(v, "the name of a variable")
		}
		if v.text == "y" || v.text == "z" {
			return errorAt(p.text, v.offset, "%s stands for all %s, want another name for a variable", v.text, SpaceName(v.text == "z"))
		}
		if slices.Contains(q.Domain.Names, v.text) {
			return errorAt(p.text, v.offset, "the variable %s is named twice", v.text)
		}
		if p.at("(") {
			m, err := p.move(v)
			if err != nil {
				return err
			}
			q.Domain.Moves = append(q.Domain.Moves, m)
		} else {
			q.Domain.Names = append(q.Domain.Names, v.text)
		}
		if !p.accept(",") {
			return nil
		}
	}
}

// body reads the body of a quantifier, where its functions have names.
func (p *parser) body(q *Quantified) (err error) {
	if err := p.expect(":", " after the variables of a quantifier"); err != nil {
		return err
	}
	scope, moves := p.scope, p.moves
	for _, m := range q.Domain.Moves {
		p.moves = append(p.moves, m.Name)
	}
	for _, d := range q.Domain.Functions {
		if p.bound(d.Name) {
			return errorAt(p.text, d.position()-1, "the function %s is bound already, want another name", d.Name)
		}
		p.scope = append(p.scope, d.Name)
	}
	q.Body, err = p.formula()
	p.scope, p.moves = scope, moves
	return err
}

// parseAggregate reads what follows [ in `forall[mean]` and `exists[soft 0.1]`.
func (p *parser) parseAggregate(q *Quantified) error {
	t := p.peek()
	name, err := p.hyphenated("an aggregate")
	if err != nil {
		return err
	}
	own, others, quantifier, other := anyNames(), allAggregates(), "exists", "forall"
	if q.Universal {
		own, others, quantifier, other = others, own, other, quantifier
	}
	if !slices.Contains(own, name) {
		if slices.Contains(others, name) {
			return errorAt(p.text, t.offset, "%s is an aggregate of %s, want one of %s: %s", name, other, quantifier, strings.Join(own, ", "))
		}
		return errorAt(p.text, t.offset, "unknown aggregate %q of %s%s", name, quantifier, registry.Suggest(name, own))
	}
	if q.Universal {
		if q.Aggregate, err = factor.ParseAggregate(name); err != nil {
			q.Aggregate, q.Fold = 0, AllLogExp+Fold(slices.Index(allNames(), name))
		}
		return p.expect("]", " after an aggregate")
	}
	if q.Fold = Fold(slices.Index(own, name)); q.Fold == AnySoft {
		t := p.next()
		if t.kind != numeral || !validTemperature(t.value) {
			return p.found(t, "the temperature of a soft minimum, a number of more than 0, such as soft 0.1")
		}
		q.Temperature = t.value
	}
	return p.expect("]", " after an aggregate")
}

// allAggregates lists the aggregates of forall.
func allAggregates() []string { return append(aggregateNames(), allNames()...) }

func validTemperature(t float64) bool { return t >= 1e-30 && t <= 1e30 }

// domain reads the set of a quantifier's variables.
func (p *parser) domain(d *Domain) error {
	t := p.next()
	d.Place = Place(t.offset + 1)
	switch {
	case t.kind == symbol && t.text == "{":
		d.Set = MemberSet
		return p.members(d)
	case t.kind == word && t.text == "y":
		a, err := p.space(t)
		if err == nil && a.Name == "" {
			err = errorAt(p.text, t.offset, "found %s without the name of a factor, want a set such as y.shape", t.text)
		}
		if err == nil {
			d.Set, d.Factor = ValueSet, a.Name
		}
		return err
	case t.kind == word && t.text == "z":
		a, err := p.space(t)
		d.Set, d.Space = PointSet, a
		if err == nil && len(d.Names) > 1 {
			err = errorAt(p.text, t.offset, "%d variables stand for points of the codes, want one", len(d.Names))
		}
		return err
	}
	return p.found(t, "a set: {constants}, y.factor, z or z.factor")
}

func (p *parser) members(d *Domain) error {
	if len(d.Names) > 1 {
		return errorAt(p.text, int(d.Place)-1, "%d variables stand for constants, want one", len(d.Names))
	}
	for {
		t := p.peek()
		var c Term
		switch {
		case t.kind == quotation:
			p.next()
			c = Level(t.text)
		case p.accept("["):
			v, err := p.vector()
			if err != nil {
				return err
			}
			c = v
		default:
			x, err := p.number("a constant: a number, a vector such as [1, 2], or a name in quotes")
			if err != nil {
				return err
			}
			c = Number(x)
		}
		d.Members = append(d.Members, &placed{Place(t.offset + 1), c})
		if p.accept("}") {
			return nil
		}
		if err := p.expect(",", " or } after a constant"); err != nil {
			return err
		}
	}
}

// move reads the rows of `g(i, j)` after its name.
func (p *parser) move(name token) (PairMove, error) {
	m := PairMove{Place: Place(name.offset + 1), Name: name.text}
	if err := p.expect("(", " and two rows"); err != nil {
		return m, err
	}
	for k, to := range []*Variable{&m.From, &m.To} {
		if t := p.peek(); k > 0 && !p.accept(",") {
			return m, p.found(t, "a comma and a second row: a transformation leads from a row to another, such as g(i, j)")
		}
		v := p.next()
		if v.kind != word || isKeyword(v.text) {
			return m, p.found(v, "the variable of a row")
		}
		*to = Variable(v.text)
	}
	return m, p.expect(")", " after the rows of a transformation")
}

// atFunction reports whether the variable of a quantifier is a function: m.a, or h: z ->.
func (p *parser) atFunction() bool {
	t := func(n int) token { return p.tokens[min(p.i+n, len(p.tokens)-1)] }
	is := func(n int, text string) bool { return t(n).kind == symbol && t(n).text == text }
	if t(0).kind != word || isKeyword(t(0).text) {
		return false
	}
	if is(1, ".") {
		return true
	}
	if !is(1, ":") || t(2).kind != word || t(2).text != "y" && t(2).text != "z" {
		return false
	}
	n := 3
	switch {
	case is(n, "."):
		n += 2
	case is(n, "["):
		for t(n).kind != end && !is(n, "]") {
			n++
		}
		n++
	}
	return is(n, "->")
}

// functions reads the functions of a quantifier up to its colon.
func (p *parser) functions(q *Quantified) error {
	q.Domain.Set = FunctionSet
	for {
		t := p.peek()
		if !p.atFunction() {
			return p.found(t, "a function, such as h: z -> y")
		}
		if q.Universal {
			return errorAt(p.text, t.offset, "found a function behind forall, want exists")
		}
		d, err := p.function()
		if err != nil {
			return err
		}
		if slices.Contains(q.Domain.Names, d.Name) {
			return errorAt(p.text, t.offset, "the function %s is named twice", d.Name)
		}
		q.Domain.Names = append(q.Domain.Names, d.Name)
		q.Domain.Functions = append(q.Domain.Functions, d)
		if !p.accept(",") {
			return nil
		}
	}
}

// function reads `m.shape: y.shape -> z.shape` or `h: z -> y in affine by least squares`.
func (p *parser) function() (d Declaration, err error) {
	t := p.peek()
	d.Place = p.place()
	if d.Name, err = p.functionName(); err != nil {
		return d, err
	}
	if !ValidFunction(d.Name) {
		return d, errorAt(p.text, t.offset, "found the name %s of a function, want a name other than y and z", d.Name)
	}
	if err := p.expect(":", " and the spaces of a function, such as z -> y"); err != nil {
		return d, err
	}
	d.FromPlace = p.place()
	if d.From, err = p.functionSpace(); err != nil {
		return d, err
	}
	if err := p.expect("->", " between the spaces of a function"); err != nil {
		return d, err
	}
	d.ToPlace = p.place()
	if d.To, err = p.functionSpace(); err != nil {
		return d, err
	}
	if p.accept("in") {
		if err := p.class(&d.Function); err != nil {
			return d, err
		}
	}
	if t := p.peek(); t.kind == word && t.text == "by" {
		p.next()
		d.By, err = p.fit()
	}
	return d, err
}

// functionName reads a name, or two with a dot between.
func (p *parser) functionName() (string, error) {
	name := p.next().text
	if !p.accept(".") {
		return name, nil
	}
	n := p.next()
	if n.kind != quotation && n.kind != word {
		return "", p.found(n, "a name after the dot, such as "+name+".shape")
	}
	return name + "." + n.text, nil
}

func (p *parser) functionSpace() (Space, error) {
	t := p.next()
	if t.kind != word || t.text != "y" && t.text != "z" {
		return Space{}, p.found(t, "y (factors) or z (codes), or a part of them such as z.shape")
	}
	a, err := p.space(t)
	if err != nil {
		return Space{}, err
	}
	return Space{Codes: a.Codes, Name: a.Name, Columns: a.Columns}, nil
}

// class reads the class of a function.
func (p *parser) class(f *Function) error {
	t := p.next()
	known := classNames()[1:]
	i := slices.Index(known, t.text)
	if t.kind != word || i < 0 {
		if t.kind == word {
			return errorAt(p.text, t.offset, "unknown class %q of functions%s", t.text, registry.Suggest(t.text, known))
		}
		return p.found(t, "a class of functions: affine, linear, isometry or mlp")
	}
	if f.Class = Class(i + 1); f.Class != MLP {
		return nil
	}
	if p.at(":") && p.tokens[p.i+1].kind == symbol && p.tokens[p.i+1].text == "{" {
		p.next()
	}
	if !p.accept("{") {
		return nil
	}
	return p.layers(f)
}

// layers reads `layers: [64, 64]}`.
func (p *parser) layers(f *Function) error {
	if t := p.next(); t.kind != word || t.text != "layers" {
		return p.found(t, "layers: [...], the widths of the hidden layers")
	}
	if err := p.expect(":", " after layers"); err != nil {
		return err
	}
	if err := p.expect("[", " and the widths of the hidden layers"); err != nil {
		return err
	}
	f.Layers = []int{}
	for !p.accept("]") {
		if len(f.Layers) > 0 {
			if err := p.expect(",", " or ] after a width"); err != nil {
				return err
			}
		}
		t := p.next()
		if t.kind != numeral || t.value != float64(int16(t.value)) || t.value < 1 {
			return p.found(t, "the width of a layer, from 1 to 32767")
		}
		f.Layers = append(f.Layers, int(t.value))
	}
	return p.expect("}", " after the layers")
}

// fit reads a criterion after `by`.
func (p *parser) fit() (Fit, error) {
	t := p.next()
	if t.kind == word {
		switch t.text {
		case "absolute":
			return ByAbsolute, nil
		case "max":
			return ByMax, nil
		case "least":
			if n := p.next(); n.kind != word || n.text != "squares" {
				return 0, p.found(n, "squares, as in by least squares")
			}
			return ByLeastSquares, nil
		}
	}
	return 0, p.found(t, "what a function is fitted by: least squares, absolute or max")
}

// bound reports whether a function in scope has the name.
func (p *parser) bound(name string) bool { return slices.Contains(p.scope, name) }
