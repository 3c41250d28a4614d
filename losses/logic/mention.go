package logic

import "slices"

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
