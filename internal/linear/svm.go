// Package linear fits linear classifiers to the exact optimum: logistic regression, and support vector machines with
// one input.
package linear

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Column is the input of support vector machines: sorted, with prefix sums, for any number of classifications of its
// rows.
type Column struct {
	x       []float64 // by row, as (x - centre)/scale
	order   []int32   // rows, by x
	allRows moments
	centre  float64
	scale   float64
}

// NewColumn prepares finite numbers.
func NewColumn(x []float64) *Column {
	c := &Column{x: make([]float64, len(x)), order: make([]int32, len(x))}
	low, high := slices.Min(x), slices.Max(x)
	c.centre = low/2 + high/2
	if c.scale = high/2 - low/2; c.scale == 0 {
		c.scale = 1
	}
	for i, v := range x {
		c.x[i], c.order[i] = (v-c.centre)/c.scale, int32(i)
	}
	slices.SortFunc(c.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.x[a], c.x[b]), cmp.Compare(a, b))
	})
	c.allRows = c.moments(c.order)
	return c
}

// Line is the decision function w x + b.
type Line struct{ W, B float64 }

// Classify fits a linear support vector machine (one versus rest) for every class among the labels of the rows, which
// are 0 to classes-1. With y = 1 for the class and y = -1 for the other classes, it computes the exact minimum of
//
//	1/2 (w^2 + b^2) + sum over rows of c max(0, 1 - y (w x + b))^2
//
// where c is cost * rows/(number of classes * rows of the class) for rows of the class and, as in liblinear, cost for
// other rows. Two classes have one machine, and both classes have their weights. Classify returns a function from x to
// the predicted label. For ties, the first class wins.
func (c *Column) Classify(labels []int, classes int, cost float64) func(x float64) int {
	rows := make([][]int32, classes)
	for _, i := range c.order {
		rows[labels[i]] = append(rows[labels[i]], i)
	}
	var present []int
	for class, r := range rows {
		if len(r) > 0 {
			present = append(present, class)
		}
	}
	weight := func(class int) float64 {
		return cost * float64(len(labels)) / float64(len(present)*len(rows[class]))
	}
	switch len(present) {
	case 1:
		return func(float64) int { return present[0] }
	case 2:
		no, yes := present[0], present[1]
		p := problem{c, c.moments(rows[yes]), c.moments(rows[no]), moments{}, weight(yes), weight(no)}
		line := p.solve()
		return func(x float64) int {
			if line.decision(c, x) > 0 {
				return yes
			}
			return no
		}
	}
	lines := make([]Line, len(present))
	for i, class := range present {
		m := c.moments(rows[class])
		p := problem{c, m, c.allRows, m, weight(class), cost}
		lines[i] = p.solve()
	}
	return func(x float64) int {
		best, highest := 0, math.Inf(-1)
		for i, l := range lines {
			if v := l.decision(c, x); v > highest {
				best, highest = i, v
			}
		}
		return present[best]
	}
}

// decision returns the decision for a number before centring and scaling.
func (l Line) decision(c *Column, x float64) float64 { return l.W*((x-c.centre)/c.scale) + l.B }

// moments are prefix sums of sorted numbers: of x and x^2 over the first i numbers.
type moments struct {
	x      []float64
	s1, s2 []float64
}

func (c *Column) moments(rows []int32) moments {
	m := moments{x: make([]float64, len(rows)), s1: make([]float64, len(rows)+1), s2: make([]float64, len(rows)+1)}
	for i, r := range rows {
		v := c.x[r]
		m.x[i] = v
		m.s1[i+1], m.s2[i+1] = m.s1[i]+v, m.s2[i]+v*v
	}
	return m
}

// sums are a number of rows, and their sums of x and x^2.
type sums struct{ n, s1, s2 float64 }

// marginViolations returns the sums over the rows with y (w x + b) < 1.
func (m moments) marginViolations(y float64, l Line) sums {
	n := len(m.x)
	if n == 0 {
		return sums{}
	}
	// y w x < 1 - y b
	w, bound := y*l.W, 1-y*l.B
	first, last := 0, n
	switch {
	case w > 0:
		last = sort.Search(n, func(i int) bool { return w*m.x[i] >= bound })
	case w < 0:
		first = sort.Search(n, func(i int) bool { return w*m.x[i] < bound })
	case bound <= 0:
		last = 0
	}
	return sums{float64(last - first), m.s1[last] - m.s1[first], m.s2[last] - m.s2[first]}
}

// problem is one machine: the rows yes versus the rows no, without the rows of excluded.
type problem struct {
	column            *Column
	yes, no, excluded moments
	costYes, costNo   float64
}

// state is the objective at a line, with its gradient and second derivatives.
type state struct {
	value, gw, gb, ww, wb, bb float64
}

// evaluate computes the penalty and the losses of both sides. For centred numbers, w' = w scale and b' = b + w centre,
// and the penalty is 1/2 ((w'/scale)^2 + (b' - w' centre/scale)^2).
func (p *problem) evaluate(l Line) (s state) {
	c := p.column
	a, r := min(1/c.scale, 1e100), c.centre/c.scale // the square is finite
	if p.isConstant() {
		// for a given b', the best w leaves a penalty of b'^2/(1 + centre^2)
		q := 1 / math.Hypot(1, c.centre)
		s.value = (l.W*l.W + q*l.B*q*l.B) / 2
		s.gw, s.gb, s.ww, s.bb = l.W, q*q*l.B, 1, q*q
	} else {
		intercept := l.B - r*l.W
		s.value = (a*l.W*a*l.W + intercept*intercept) / 2
		s.gw, s.gb = a*a*l.W-r*intercept, intercept
		s.ww, s.wb, s.bb = a*a+r*r, -r, 1
	}
	yes, no, excluded := p.yes.marginViolations(1, l), p.no.marginViolations(-1, l), p.excluded.marginViolations(-1, l)
	s.add(yes, 1, p.costYes, l)
	s.add(sums{no.n - excluded.n, no.s1 - excluded.s1, no.s2 - excluded.s2}, -1, p.costNo, l)
	return s
}

func (p *problem) isConstant() bool {
	return p.column.x[p.column.order[0]] == p.column.x[p.column.order[len(p.column.x)-1]]
}

// add adds cost * sum (1 - y f)^2 over the rows in m.
func (s *state) add(m sums, y, cost float64, l Line) {
	square := m.s2*l.W*l.W + 2*m.s1*l.W*l.B + m.n*l.B*l.B
	s.value += cost * (m.n - 2*y*(m.s1*l.W+m.n*l.B) + square)
	s.gw += 2 * cost * (m.s2*l.W + m.s1*l.B - y*m.s1)
	s.gb += 2 * cost * (m.s1*l.W + m.n*l.B - y*m.n)
	s.ww += 2 * cost * m.s2
	s.wb += 2 * cost * m.s1
	s.bb += 2 * cost * m.n
}

// solve finds the minimum by Newton's method. The objective is strictly convex and piecewise quadratic with finitely
// many pieces, so the number of steps is finite.
func (p *problem) solve() (l Line) {
	s := p.evaluate(l)
	for range 200 {
		det := s.ww*s.bb - s.wb*s.wb
		if !(det > 0) {
			return l
		}
		dw, db := -(s.bb*s.gw-s.wb*s.gb)/det, -(s.ww*s.gb-s.wb*s.gw)/det
		slope := s.gw*dw + s.gb*db
		if !(slope < -1e-15*s.value) {
			return l
		}
		step := 1.0
		for {
			next := Line{l.W + step*dw, l.B + step*db}
			if t := p.evaluate(next); t.value <= s.value+1e-4*step*slope {
				l, s = next, t
				break
			}
			if step /= 2; step < 1e-9 {
				return l
			}
		}
	}
	return l
}
