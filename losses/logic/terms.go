package logic

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// linear is a numeric term: a vector. Each coordinate is a constant plus a weighted sum of entries of columns.
type linear struct {
	coordinates []program.Coordinate
	number      bool // it stands for a vector of any width with this number in all columns
}

// add appends a coordinate: an entry of a column.
func (l *linear) add(column int, variable *binding) {
	part := program.Part{Weight: 1, Column: column, Variable: variable.Variable}
	l.coordinates = append(l.coordinates, program.Coordinate{Parts: []program.Part{part}})
}

func (c *compiler) linear(t syntax.Term) linear {
	switch v := syntax.Bare(t).(type) {
	case *syntax.Access:
		return c.linearAccess(v)
	case *syntax.Moved:
		return c.transform(v)
	case *syntax.Multiple:
		a := c.linear(v.A)
		if !validNumber(v.Factor) {
			panic(c.error(v, "the factor %v is out of range", v.Factor))
		}
		return a.times(v.Factor)
	case *syntax.Arithmetic:
		a, b := c.linear(v.A), c.linear(v.B)
		if v.Minus {
			b = b.times(-1)
		}
		return c.add(v, a, b)
	case *syntax.Application:
		if m := c.findMapping(v.Function); m != nil && m.network != nil {
			return c.networkValue(v, m)
		}
		panic(c.error(t, "%s is used where no function can be fitted: %s", syntax.TextOf(t), wantFunction))
	case syntax.Number:
		if !validNumber(float64(v)) {
			panic(c.error(t, "the number %v is out of range", float64(v)))
		}
		return linear{coordinates: []program.Coordinate{{Offset: float64(v)}}, number: true}
	case syntax.Vector:
		var l linear
		for _, x := range v {
			if !validNumber(x) {
				panic(c.error(t, "the number %v is out of range", x))
			}
			l.coordinates = append(l.coordinates, program.Coordinate{Offset: x})
		}
		return l
	case syntax.Variable:
		return c.linearVariable(v, t)
	}
	panic(c.error(t, "the name of a level has no distance; want a plain = between it and a factor"))
}

func (c *compiler) linearAccess(a *syntax.Access) linear {
	b := c.row(a.Row, a)
	var l linear
	for _, column := range c.columnsOf(a) {
		if !a.Codes {
			c.program.NeedsValues = true
			column += c.program.Values
		}
		l.add(column, b)
	}
	return l
}

func (c *compiler) linearVariable(v syntax.Variable, t syntax.Term) linear {
	b := c.operand(v, t)
	switch {
	case b.Set == syntax.RowSet:
		panic(c.error(t, "%s stands for a row; want its code or factor, such as z(%s)", v, v))
	case b.Set == syntax.ValueSet:
		c.program.NeedsValues = true
		var l linear
		l.add(c.program.LevelValues+b.Factor, b)
		return l
	case b.width < 0:
		panic(c.error(t, "%s stands for the name of a level, which has no distance; want a plain = between it and a factor",
			v))
	}
	l := linear{number: b.width == 0}
	for _, column := range b.columns {
		l.add(column, b)
	}
	return l
}

func (l linear) times(x float64) linear {
	r := linear{number: l.number, coordinates: make([]program.Coordinate, len(l.coordinates))}
	for i, c := range l.coordinates {
		r.coordinates[i].Offset = x * c.Offset
		for _, p := range c.Parts {
			p.Weight *= x
			r.coordinates[i].Parts = append(r.coordinates[i].Parts, p)
		}
	}
	return r
}

// add adds two terms; a number is added to every column of a vector.
func (c *compiler) add(part syntax.Part, a, b linear) linear {
	n := max(len(a.coordinates), len(b.coordinates))
	if a.number && !b.number {
		n = len(b.coordinates)
	}
	if !a.number && len(a.coordinates) != n || !b.number && len(b.coordinates) != n {
		panic(c.widthsDiffer(part, len(a.coordinates), len(b.coordinates)))
	}
	r := linear{number: a.number && b.number, coordinates: make([]program.Coordinate, n)}
	for i := range r.coordinates {
		x, y := a.at(i), b.at(i)
		r.coordinates[i].Offset = x.Offset + y.Offset
		r.coordinates[i].Parts = merge(append(slices.Clone(x.Parts), y.Parts...))
	}
	return r
}

func (c *compiler) widthsDiffer(part syntax.Part, a, b int) *syntax.Error {
	return c.error(part, "a term has %s and the other %s, want terms of one width",
		wording.Count(a, "column"), wording.Count(b, "column"))
}

func (l linear) at(i int) program.Coordinate {
	if l.number {
		return l.coordinates[0]
	}
	return l.coordinates[i]
}

// merge adds parts with the same entry, and drops parts with weight 0.
func merge(parts []program.Part) []program.Part {
	var merged []program.Part
	for _, p := range parts {
		i := slices.IndexFunc(merged, func(q program.Part) bool {
			return q.Column == p.Column && q.Variable == p.Variable && slices.Equal(q.By, p.By)
		})
		if i < 0 {
			merged = append(merged, p)
		} else {
			merged[i].Weight += p.Weight
		}
	}
	return slices.DeleteFunc(merged, func(p program.Part) bool { return p.Weight == 0 })
}

// transform compiles a term after a transformation: g_to g_from^-1 times the term. It multiplies by the matrices of
// both rows, block by block, in the columns of a turn. For values of a factor it adds the angle, in turns.
func (c *compiler) transform(t *syntax.Moved) linear {
	m := c.lookup(t.Name, t)
	if m.Set != syntax.MoveSet {
		panic(c.error(t, "%s stands for %s, want a transformation that a quantifier binds, such as forall i, j, g(i, j): ...",
			t.Name, m.kind()))
	}
	a := c.linear(t.A)
	if x, ok := syntax.Bare(t.A).(*syntax.Access); ok && !x.Codes {
		return c.actOnFactor(t, m, a, x)
	}
	r := linear{coordinates: slices.Clone(a.coordinates)}
	for _, b := range c.turnBlocks(t, len(a.coordinates)) {
		inSpace := c.schema.Turns[b.turn].Space
		column := c.program.Matrix(b.turn, c.turnColumn(b.turn), inSpace, t.Frequency)
		if inSpace {
			rotateSpace(m, column, b.coordinates, a, r)
		} else {
			rotatePlane(m, column, b.coordinates, a, r)
		}
	}
	for k := range r.coordinates {
		r.coordinates[k].Parts = merge(r.coordinates[k].Parts)
	}
	return r
}

// rotatePlane rotates two coordinates by the difference of two angles.
func rotatePlane(m *binding, column int, block []int, a, r linear) {
	cos := func(b *binding) program.Where { return program.Where{Column: column, Variable: b.Variable} }
	sin := func(b *binding) program.Where { return program.Where{Column: column + 1, Variable: b.Variable} }
	x, y := a.coordinates[block[0]], a.coordinates[block[1]]
	// cos and sin of the difference, by the angle addition formulas
	c := func(x program.Coordinate) []program.Part {
		return append(times(x, 1, cos(m.to), cos(m.from)), times(x, 1, sin(m.to), sin(m.from))...)
	}
	s := func(x program.Coordinate, sign float64) []program.Part {
		return append(times(x, sign, sin(m.to), cos(m.from)), times(x, -sign, cos(m.to), sin(m.from))...)
	}
	r.coordinates[block[0]] = program.Coordinate{Parts: append(c(x), s(y, -1)...)}
	r.coordinates[block[1]] = program.Coordinate{Parts: append(s(x, 1), c(y)...)}
}

// rotateSpace rotates three coordinates by the product of a matrix and the transpose of another.
func rotateSpace(m *binding, column int, block []int, a, r linear) {
	for p := range 3 {
		var parts []program.Part
		for q := range 3 {
			for k := range 3 {
				to := program.Where{Column: column + 3*p + q, Variable: m.to.Variable}
				from := program.Where{Column: column + 3*k + q, Variable: m.from.Variable}
				parts = append(parts, times(a.coordinates[block[k]], 1, to, from)...)
			}
		}
		r.coordinates[block[p]] = program.Coordinate{Parts: parts}
	}
}

// times multiplies a coordinate by a weight and entries of columns.
func times(x program.Coordinate, weight float64, entries ...program.Where) []program.Part {
	var parts []program.Part
	for _, p := range x.Parts {
		p.Weight, p.By = weight*p.Weight, append(slices.Clone(p.By), entries...)
		parts = append(parts, p)
	}
	if x.Offset != 0 {
		parts = append(parts, program.Part{Weight: weight * x.Offset, Column: entries[0].Column,
			Variable: entries[0].Variable, By: entries[1:]})
	}
	return parts
}

// actOnFactor adds the angle between two rows, in turns, to the value of a circular factor.
func (c *compiler) actOnFactor(t *syntax.Moved, m *binding, a linear, factor *syntax.Access) linear {
	columns, turn := c.columnsOf(factor), -1
	if len(columns) == 1 {
		turn = slices.IndexFunc(c.schema.Turns,
			func(o Turn) bool { return o.Name == c.schema.Factors[columns[0]] && !o.Space })
	}
	if turn < 0 || t.Turn != "" && t.Turn != c.schema.Turns[turn].Name {
		panic(c.error(t, "%s cannot be turned; want one circular factor, such as y.angle(i), or codes", syntax.TextOf(t.A)))
	}
	column, scale := c.turnColumn(turn), t.Frequency/(2*math.Pi)
	x := a.coordinates[0]
	x.Parts = merge(append(slices.Clone(x.Parts), program.Part{Weight: scale, Column: column, Variable: m.to.Variable},
		program.Part{Weight: -scale, Column: column, Variable: m.from.Variable}))
	return linear{coordinates: []program.Coordinate{x}}
}

// turnColumn returns the first column of a turn.
func (c *compiler) turnColumn(turn int) int {
	column := c.program.Input(program.Moves, c.schema.moves()) + Schema{Turns: c.schema.Turns[:turn]}.moves()
	if !slices.Contains(c.program.Turns, column) {
		c.program.Turns = append(c.program.Turns, column)
	}
	return column
}

// turnedBlock holds the coordinates of a turn.
type turnedBlock struct {
	turn        int
	coordinates []int
}

// turnBlocks finds the coordinates of all turns.
func (c *compiler) turnBlocks(t *syntax.Moved, width int) []turnedBlock {
	if t.Turn != "" {
		return c.blocksOfTurn(t, width)
	}
	columns, ok := c.codeColumns(t.A)
	if !ok {
		panic(c.error(t, "%s has no columns; want codes, such as z(i), or the name of a turn, as in act(%s.angle, ...)",
			syntax.TextOf(t.A), t.Name))
	}
	var all []turnedBlock
	used := make([]bool, len(columns))
	for k, turn := range c.schema.Turns {
		var coordinates []int
		subCode := c.schema.SubCodes[turn.Name]
		for _, column := range subCode {
			if i := slices.Index(columns, column); i >= 0 {
				coordinates = append(coordinates, i)
			}
		}
		switch {
		case len(coordinates) == 0:
			continue
		case len(coordinates) < len(subCode):
			panic(c.error(t, "%s acts on the columns %v of z.%s together, and %s has only some of them",
				turn.Name, subCode, turn.Name, syntax.TextOf(t.A)))
		}
		blocks := c.divide(t, k, coordinates, "z."+turn.Name)
		for _, i := range coordinates {
			if used[i] {
				panic(c.error(t, "two turns act on column %d of the codes, want one at most", columns[i]))
			}
			used[i] = true
		}
		all = append(all, blocks...)
	}
	if len(all) == 0 {
		var names []string
		for _, turn := range c.schema.Turns {
			names = append(names, turn.Name)
		}
		panic(c.error(t, "no transformation acts on the columns of %s; want columns named after a turn, such as z.%s (codes, or --blocks of eval, name them), or act(%s.%s, ...)%s",
			syntax.TextOf(t.A), names[0], t.Name, names[0], registry.Suggest("", names)))
	}
	return all
}

// blocksOfTurn returns the blocks if one turn acts on all columns.
func (c *compiler) blocksOfTurn(t *syntax.Moved, width int) []turnedBlock {
	var names []string
	for k, turn := range c.schema.Turns {
		if names = append(names, turn.Name); turn.Name == t.Turn {
			return c.divide(t, k, numeric.UpTo(width), syntax.TextOf(t.A))
		}
	}
	panic(c.error(t, "there is no transformation %q%s", t.Turn, registry.Suggest(t.Turn, names)))
}

// divide divides coordinates into blocks that a turn acts on together.
func (c *compiler) divide(t *syntax.Moved, k int, coordinates []int, name string) []turnedBlock {
	turn := c.schema.Turns[k]
	switch w := turn.width(); {
	case len(coordinates)%w != 0:
		kind := "a circle"
		if turn.Space {
			kind = "rotations in space"
		}
		panic(c.error(t, "%s acts by %s, and %s has %s; want %d, or a multiple",
			turn.Name, kind, name, wording.Count(len(coordinates), "column"), w))
	case turn.Space && t.Frequency != 1:
		panic(c.error(t, "rotations in space have no frequency, and act[%v] gives %s one; want act", t.Frequency, turn.Name))
	}
	var all []turnedBlock
	for part := range slices.Chunk(coordinates, turn.width()) {
		all = append(all, turnedBlock{k, part})
	}
	return all
}

// codeColumns lists the code columns of a term, coordinate by coordinate, if all of them belong to one space.
func (c *compiler) codeColumns(t syntax.Term) ([]int, bool) {
	switch t := syntax.Bare(t).(type) {
	case *syntax.Access:
		return c.columnsOf(t), t.Codes
	case *syntax.Multiple:
		return c.codeColumns(t.A)
	case *syntax.Moved:
		return c.codeColumns(t.A)
	case *syntax.Arithmetic:
		a, ok := c.codeColumns(t.A)
		b, ok2 := c.codeColumns(t.B)
		return a, ok && ok2 && slices.Equal(a, b)
	}
	return nil, false
}
