package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// mentioned lists the factors of a row in a formula. A row with any of them unknown is not in the variable's domain.
func (c *compiler) mentioned(f syntax.Formula, name string) ([]int, error) {
	var known []int
	var first error
	syntax.Terms(f, func(t syntax.Term) {
		a, ok := t.(*syntax.Access)
		if !ok || a.Codes || string(a.Row) != name {
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
func (c *compiler) group(b *binding, e *syntax.Equality) bool {
	if e.Not || b.Set != syntax.RowSet {
		return false
	}
	for _, sides := range [][2]syntax.Term{{e.A, e.B}, {e.B, e.A}} {
		own, ok := syntax.Bare(sides[0]).(*syntax.Access)
		if !ok || own.Codes || string(own.Row) != b.name {
			continue
		}
		factors, err := c.columnsOf(own)
		if err != nil {
			return false
		}
		var other *binding
		switch t := syntax.Bare(sides[1]).(type) {
		case *syntax.Access:
			if string(t.Row) != b.name {
				other, _ = c.row(t)
			}
		case syntax.Variable:
			if v, err := c.lookup(t, e); err == nil && v.Set == syntax.ValueSet {
				other = v
			}
		}
		if other == nil || b.By >= 0 {
			continue
		}
		b.By, b.Like, b.LikeValue = factors[0], other.Variable, other.Set == syntax.ValueSet
		b.List = c.program.List(b.known, b.By)
		return len(factors) == 1
	}
	return false
}
