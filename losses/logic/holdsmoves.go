package logic

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor/rotation"
)

// turnsInUse lists the first columns, in a batch's moves, of the turns that the sentence uses.
func (q *Quantity) turnsInUse() []int {
	var columns []int
	for _, in := range q.program.inputs {
		for _, column := range q.program.turns {
			if in.kind == moves {
				columns = append(columns, column-in.at)
			}
		}
	}
	return columns
}

// movable reports whether the transformations of a quantifier are known of its rows.
func (w *world) movable(f *quantified) bool {
	for _, m := range f.domain.moves {
		if w.moves[Variable(m.name)] = m; !w.related(m) {
			return false
		}
	}
	return true
}

// related reports whether the transformation between two rows is known.
func (w *world) related(m pairMove) bool {
	from, to := w.bound[string(m.from)].row, w.bound[string(m.to)].row
	if g := w.batch.Groups; g != nil && (g[from] < 0 || g[from] != g[to]) {
		return false
	}
	return !slices.ContainsFunc(w.turns, func(column int) bool {
		return math.IsNaN(w.batch.Moves[from][column]) || math.IsNaN(w.batch.Moves[to][column])
	})
}

// moved turns a vector by the transformation between two rows: by its matrix.
func (w *world) moved(t *moved) thing {
	r := w.term(t.a)
	r.vector, r.rounded = slices.Clone(r.vector), true
	m := w.moves[t.move.Name]
	from, to := w.batch.Moves[w.bound[string(m.from)].row], w.batch.Moves[w.bound[string(m.to)].row]
	c := compiler{schema: w.schema}
	columns, _ := c.codesOf(t.a)
	first := 0
	for _, turn := range w.schema.Turns {
		at, factor := w.turnedBy(t, turn, columns, len(r.vector))
		if factor {
			r.vector[0] += t.move.frequency() * (to[first] - from[first]) / (2 * math.Pi)
		}
		g := turn.between(from[first:], to[first:], t.move.frequency())
		first += turn.Columns()
		for block := range slices.Chunk(at, turn.width()) {
			x := make([]float64, len(block))
			for p := range block {
				for q, j := range block {
					x[p] += g[3*p+q] * r.vector[j]
				}
			}
			for p, i := range block {
				r.vector[i] = x[p]
			}
		}
	}
	return r
}

// turnedBy lists the coordinates that a turn moves, or reports that the term is the turn's factor.
func (w *world) turnedBy(t *moved, turn Turn, columns []int, width int) (at []int, factor bool) {
	if a, ok := bare(t.a).(*access); ok && !a.codes {
		return nil, w.schema.Factors[w.columns(a)[0]] == turn.Name
	}
	if t.move.Turn != "" {
		if t.move.Turn != turn.Name {
			return nil, false
		}
		for i := range width {
			at = append(at, i)
		}
		return at, false
	}
	for _, column := range w.schema.SubCodes[turn.Name] {
		if i := slices.Index(columns, column); i >= 0 {
			at = append(at, i)
		}
	}
	return at, false
}

// between is the transformation between two points of a turn, as a rotation in space. Angles turn about the third axis.
func (t Turn) between(from, to []float64, by float64) [9]float64 {
	if !t.Space {
		return rotation.AboutAxis([3]float64{0, 0, 1}, by*(to[0]-from[0]))
	}
	a, b := rotation.AboutAxis([3]float64(from[:3]), from[3]), rotation.AboutAxis([3]float64(to[:3]), to[3])
	return rotation.Between(&a, &b)
}
