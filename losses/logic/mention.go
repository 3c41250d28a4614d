package logic

import "slices"

// terms calls a function with every term of a formula.
func terms(f Formula, visit func(Term)) {
	switch f := f.(type) {
	case *equality:
		termsOf(f.a, visit)
		termsOf(f.b, visit)
	case *connective:
		terms(f.a, visit)
		terms(f.b, visit)
	case *negation:
		terms(f.a, visit)
	case *independence:
		for _, t := range f.codes {
			termsOf(t, visit)
		}
	case *scaled:
		terms(f.a, visit)
	case *quantified:
		terms(f.body, visit)
	}
}

func termsOf(t Term, visit func(Term)) {
	if t == nil {
		return
	}
	visit(bare(t))
	switch t := t.(type) {
	case *arithmetic:
		termsOf(t.a, visit)
		termsOf(t.b, visit)
	case *multiple:
		termsOf(t.a, visit)
	case *moved:
		termsOf(t.a, visit)
	case *application:
		termsOf(t.a, visit)
	}
}

// variablesOf collects the names of variables in a formula.
func variablesOf(f Formula, names map[string]bool) {
	terms(f, func(t Term) {
		switch t := t.(type) {
		case Variable:
			names[string(t)] = true
		case *access:
			names[string(t.row)] = true
		}
	})
}

// mentioned lists the factors of a row in a formula. A row with any of them unknown is not in the variable's domain.
func (c *compiler) mentioned(f Formula, name string) ([]int, error) {
	var known []int
	var first error
	terms(f, func(t Term) {
		a, ok := t.(*access)
		if !ok || a.codes || string(a.row) != name {
			return
		}
		columns, err := c.columnsOf(a)
		if err != nil && first == nil {
			first = err
		}
		for _, k := range columns {
			if !slices.Contains(known, k) {
				known = append(known, k)
			}
		}
	})
	slices.Sort(known)
	return known, first
}

// group turns an equality of the variable's factor into the group of rows of the variable. The other side is a factor
// of an earlier variable, or a value. It reports whether it could.
func (b *binder) group(c *compiler, e *equality) bool {
	if e.not || b.set != rowSet {
		return false
	}
	for _, sides := range [][2]Term{{e.a, e.b}, {e.b, e.a}} {
		own, ok := bare(sides[0]).(*access)
		if !ok || own.codes || string(own.row) != b.name {
			continue
		}
		factors, err := c.columnsOf(own)
		if err != nil {
			return false
		}
		var other *binding
		switch t := bare(sides[1]).(type) {
		case *access:
			if string(t.row) != b.name {
				other, _ = c.row(t)
			}
		case Variable:
			if v, err := c.lookup(t, e); err == nil && v.set == valueSet {
				other = v
			}
		}
		if other == nil || b.by >= 0 {
			continue
		}
		b.by, b.like, b.likeValue = factors[0], other.id, other.set == valueSet
		b.list = c.program.index(b.known, b.by)
		return len(factors) == 1
	}
	return false
}

// symmetric reports whether the last two variables of a quantifier are interchangeable.
func symmetric(f *quantified, guards []Formula, body Formula) bool {
	n := len(f.domain.names)
	if n < 2 || f.domain.set != rowSet || len(f.domain.moves) > 0 {
		return false
	}
	i, j := f.domain.names[n-2], f.domain.names[n-1]
	return shape(guards, body, i, j) == shape(guards, body, j, i)
}

// shape writes guards and a body with two variables renamed. Its normal form of equalities, conjunctions and
// disjunctions does not depend on the order of operands.
func shape(guards []Formula, body Formula, i, j string) string {
	rename := func(v string) string {
		switch v {
		case i:
			return "#1"
		case j:
			return "#2"
		}
		return v
	}
	all := make([]string, len(guards))
	for k, g := range guards {
		all[k] = shapeOf(g, rename)
	}
	slices.Sort(all)
	r := shapeOf(body, rename)
	for _, g := range all {
		r += " | " + g
	}
	return r
}

func shapeOf(f Formula, rename func(string) string) string {
	switch f := f.(type) {
	case *equality:
		sides := []string{shapeOfTerm(f.a, rename), shapeOfTerm(f.b, rename)}
		if f.premetric != KL { // the others are symmetric
			slices.Sort(sides)
		}
		head := *f
		head.a, head.b = Variable(sides[0]), Variable(sides[1])
		return textOf(&head)
	case *connective:
		sides := []string{shapeOf(f.a, rename), shapeOf(f.b, rename)}
		if f.kind != implication {
			slices.Sort(sides)
		}
		return "(" + sides[0] + " " + string("&|>"[f.kind]) + " " + sides[1] + ")"
	case *negation:
		return "not " + shapeOf(f.a, rename)
	case *independence:
		return textOf(f)
	case *scaled:
		return number(f.weight) + " * " + shapeOf(f.a, rename)
	case *quantified:
		head := *f
		head.body = &equality{a: Variable(""), b: Variable("")}
		head.domain.moves = slices.Clone(f.domain.moves)
		for k := range head.domain.moves {
			m := &head.domain.moves[k]
			m.from, m.to = Variable(rename(string(m.from))), Variable(rename(string(m.to)))
		}
		return "(" + textOf(&head) + shapeOf(f.body, rename) + ")"
	}
	return "?"
}

func shapeOfTerm(t Term, rename func(string) string) string {
	switch t := t.(type) {
	case *placed:
		return shapeOfTerm(t.Term, rename)
	case Variable:
		return rename(string(t))
	case *access:
		a := *t
		a.row = Variable(rename(string(a.row)))
		return textOf(&a)
	case *arithmetic:
		sign := " + "
		if t.minus {
			sign = " - "
		}
		return "(" + shapeOfTerm(t.a, rename) + sign + shapeOfTerm(t.b, rename) + ")"
	case *application:
		return quoteFunction(t.function) + "(" + shapeOfTerm(t.a, rename) + ")"
	case *multiple:
		return number(t.factor) + " * " + shapeOfTerm(t.a, rename)
	case *moved:
		m := *t
		m.a = Variable(shapeOfTerm(t.a, rename))
		return textOf(&m)
	}
	return textOf(t)
}

// Mentions reports whether the sentence is about factors, and whether it has sub-codes by name, such as z.shape.
func (s Sentence) Mentions() (factors, subCodes bool) {
	note := func(t Term) {
		if a, ok := t.(*access); ok {
			factors = factors || !a.codes
			subCodes = subCodes || a.codes && a.name != ""
		}
	}
	terms(s.Body, note)
	domains(s.Body, func(d Domain) {
		factors = factors || d.set == valueSet
		if d.set == pointSet {
			note(d.space)
		}
	})
	return factors, subCodes
}

// domains calls a function with the domain of every quantifier of a formula.
func domains(f Formula, visit func(Domain)) {
	switch f := f.(type) {
	case *connective:
		domains(f.a, visit)
		domains(f.b, visit)
	case *negation:
		domains(f.a, visit)
	case *scaled:
		domains(f.a, visit)
	case *quantified:
		visit(f.domain)
		domains(f.body, visit)
	}
}
