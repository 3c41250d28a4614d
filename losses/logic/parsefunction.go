package logic

import "slices"

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
func (p *parser) functions(q *quantified) error {
	q.domain.set = functionSet
	for {
		t := p.peek()
		if !p.atFunction() {
			return p.found(t, "a function, such as h: z -> y")
		}
		if q.universal {
			return errorAt(p.text, t.offset, "found a function behind forall, want exists")
		}
		d, err := p.function()
		if err != nil {
			return err
		}
		if slices.Contains(q.domain.names, d.Name) {
			return errorAt(p.text, t.offset, "the function %s is named twice", d.Name)
		}
		q.domain.names = append(q.domain.names, d.Name)
		q.domain.functions = append(q.domain.functions, d)
		if !p.accept(",") {
			return nil
		}
	}
}

// function reads `m.shape: y.shape -> z.shape` or `h: z -> y in affine by least squares`.
func (p *parser) function() (d declaration, err error) {
	t := p.peek()
	d.place = p.place()
	if d.Name, err = p.functionName(); err != nil {
		return d, err
	}
	if !validFunction(d.Name) {
		return d, errorAt(p.text, t.offset, "found the name %s of a function, want a name other than y and z", d.Name)
	}
	if err := p.expect(":", " and the spaces of a function, such as z -> y"); err != nil {
		return d, err
	}
	d.from = p.place()
	if d.From, err = p.functionSpace(); err != nil {
		return d, err
	}
	if err := p.expect("->", " between the spaces of a function"); err != nil {
		return d, err
	}
	d.to = p.place()
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
	return Space{Codes: a.codes, Name: a.name, Columns: a.columns}, nil
}

// class reads the class of a function.
func (p *parser) class(f *Function) error {
	t := p.next()
	known := classNames()[1:]
	i := slices.Index(known, t.text)
	if t.kind != word || i < 0 {
		if t.kind == word {
			return errorAt(p.text, t.offset, "unknown class %q of functions%s", t.text, suggest(t.text, known))
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

// application reads `h(z(i))` or `m.shape(y.shape(i))` after its first name. It reports false, and reads nothing, if no
// such function exists.
func (p *parser) application(t token) (e expression, ok bool, err error) {
	name, start := t.text, p.i
	if !p.bound(name) && p.at(".") {
		p.next()
		name += "." + p.next().text
	}
	if !p.bound(name) {
		p.i = start
		return e, false, nil
	}
	if err := p.expect("(", " and the argument of a function"); err != nil {
		return e, true, err
	}
	inner, err := p.expression(levelPlus)
	if err != nil {
		return e, true, err
	}
	a := &application{place: place(t.offset + 1), function: name}
	if a.a, err = p.asTerm(inner); err != nil {
		return e, true, err
	}
	return expression{Term: a, at: t.offset}, true, p.expect(")", " after the argument of a function")
}
