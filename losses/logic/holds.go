package logic

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Holds reports whether the sentence is true of a batch (arguments as in [Quantity.Value]): by the rules of logic, from
// exact equality of numbers. It tries every tuple of rows, and is meant for tests.
func (q *Quantity) Holds(z, y, labels [][]float64) (bool, error) {
	return q.HoldsOf(Batch{Codes: z, Values: y, Labels: labels})
}

// HoldsOf is [Quantity.Holds] of a batch. Posteriors are equal if their means and log variances are. Codes that a
// transformation moves are equal to others up to 1e-9. =[cosine] says that two vectors are equal.
func (q *Quantity) HoldsOf(b Batch) (bool, error) {
	if err := q.checkBatch(b); err != nil {
		return false, err
	}
	if len(q.program.networks) > 0 && related(q.sentence.Body) {
		return false, errors.New("logic: whether a function in mlp makes the sentence true is not known where its values are compared with each other")
	}
	return q.world(b).holds(q.sentence.Body), nil
}

func (q *Quantity) world(b Batch) *world {
	return &world{schema: q.schema, z: q.rows(b), y: b.Values, labels: b.Labels, means: b.Codes, logVariances: b.LogVariances,
		bound: map[string]thing{}, batch: b, turns: q.turnsInUse(), moves: map[Variable]pairMove{}}
}

// world is a batch with an assignment of the variables.
type world struct {
	schema Schema
	z, y   [][]float64
	labels [][]float64

	means, logVariances [][]float64 // of the posteriors

	bound map[string]thing
	batch Batch
	turns []int // columns of the batch's moves that must be known
	moves map[Variable]pairMove
}

// thing is the value of a term.
type thing struct {
	row     int // row of a variable for rows; otherwise -1
	factors []int
	labels  []float64 // of the factors
	vector  []float64
	name    string // of a level
	number  bool   // the vector has any width
	rounded bool   // it was moved
}

func (w *world) holds(f Formula) bool {
	switch f := f.(type) {
	case *equality:
		if f.premetric == KL || f.premetric == Wasserstein {
			a, b := w.posterior(f.a), w.posterior(f.b)
			return slices.Equal(a[0], b[0]) && slices.Equal(a[1], b[1])
		}
		return w.equal(f, w.term(f.a), w.term(f.b)) != f.not
	case *connective:
		switch f.kind {
		case conjunction:
			return w.holds(f.a) && w.holds(f.b)
		case disjunction:
			return w.holds(f.a) || w.holds(f.b)
		}
		return !w.holds(f.a) || w.holds(f.b)
	case *negation:
		return !w.holds(f.a)
	case *independence:
		return w.independent(f)
	case *scaled:
		return w.holds(f.a)
	case *quantified:
		if f.domain.set == functionSet {
			return w.satisfiable(f.body, withFunctions(nil, f.domain))
		}
		return w.quantified(f, f.domain.names)
	}
	panic(fmt.Sprintf("logic: %T is not a formula", f))
}

// quantified tries all assignments of the variables.
func (w *world) quantified(f *quantified, names []string) bool {
	if len(names) == 0 {
		if !w.movable(f) {
			return f.universal
		}
		return w.holds(f.body)
	}
	defer delete(w.bound, names[0])
	for _, t := range w.things(f, names[0]) {
		w.bound[names[0]] = t
		if w.quantified(f, names[1:]) != f.universal {
			return !f.universal
		}
	}
	return f.universal
}

func (w *world) things(f *quantified, name string) []thing {
	var all []thing
	switch d := f.domain; d.set {
	case rowSet:
		for i := range w.z {
			if w.known(f.body, name, i) {
				all = append(all, thing{row: i})
			}
		}
	case valueSet:
		k := slices.Index(w.schema.Factors, d.factor)
		for i, l := range w.labels {
			if l[k] >= 0 && !slices.ContainsFunc(all, func(t thing) bool { return t.labels[0] == l[k] }) {
				t := thing{row: -1, factors: []int{k}, labels: []float64{l[k]}}
				if w.y != nil {
					t.vector = []float64{w.y[i][k]}
				}
				all = append(all, t)
			}
		}
	case memberSet:
		for _, m := range d.members {
			all = append(all, w.term(m))
		}
	case pointSet:
		// If a formula that Compile accepts holds for a point, it holds for a row's point, or for any.
		columns := w.columns(d.space)
		all = append(all, thing{row: -1, vector: make([]float64, len(columns))})
		for _, z := range w.z {
			all = append(all, thing{row: -1, vector: pick(z, columns)})
		}
	}
	return all
}

// known reports whether the factors of a row in a formula are known.
func (w *world) known(f Formula, name string, row int) bool {
	all := true
	terms(f, func(t Term) {
		if a, ok := t.(*access); ok && !a.codes && string(a.row) == name && w.labels != nil {
			for _, l := range pick(w.labels[row], w.columns(a)) {
				all = all && l >= 0
			}
		}
	})
	return all
}

// columns lists the columns of an access.
func (w *world) columns(a *access) []int {
	var columns []int
	switch {
	case a.name != "" && a.codes:
		return w.schema.SubCodes[a.name]
	case a.name != "":
		return []int{slices.Index(w.schema.Factors, a.name)}
	}
	ranges := a.columns
	if len(ranges) == 0 {
		ranges = []Range{{0, len(w.schema.Factors)}}
		if a.codes {
			ranges[0].Hi = w.schema.Codes
		}
	}
	for _, r := range ranges {
		for i := r.Lo; i < r.Hi; i++ {
			columns = append(columns, i)
		}
	}
	return columns
}

func pick(x []float64, columns []int) []float64 {
	r := make([]float64, len(columns))
	for i, c := range columns {
		r[i] = x[c]
	}
	return r
}

func (w *world) term(t Term) thing {
	switch t := bare(t).(type) {
	case Variable:
		return w.bound[string(t)]
	case Number:
		return thing{row: -1, vector: []float64{float64(t)}, number: true}
	case Vector:
		return thing{row: -1, vector: t}
	case Level:
		return thing{row: -1, name: string(t)}
	case *access:
		row, columns := w.bound[string(t.row)].row, w.columns(t)
		if t.codes {
			return thing{row: -1, vector: pick(w.z[row], columns)}
		}
		r := thing{row: -1, factors: columns}
		if w.labels != nil {
			r.labels = pick(w.labels[row], columns)
		}
		if w.y != nil {
			r.vector = pick(w.y[row], columns)
		}
		return r
	case *moved:
		return w.moved(t)
	case *multiple:
		return combine(w.term(t.a), thing{vector: []float64{0}, number: true}, t.factor, 1)
	case *arithmetic:
		if t.minus {
			return combine(w.term(t.a), w.term(t.b), 1, -1)
		}
		return combine(w.term(t.a), w.term(t.b), 1, 1)
	}
	panic(fmt.Sprintf("logic: %T is not a term", t))
}

// posterior returns the means and log variances of columns of a row's code.
func (w *world) posterior(t Term) [2][]float64 {
	a := bare(t).(*access)
	row, columns := w.bound[string(a.row)].row, w.columns(a)
	return [2][]float64{pick(w.means[row], columns), pick(w.logVariances[row], columns)}
}

// combine returns wa a + wb b.
func combine(a, b thing, wa, wb float64) thing {
	r := thing{row: -1, number: a.number && b.number, rounded: a.rounded || b.rounded, vector: make([]float64, max(len(a.vector), len(b.vector)))}
	for i := range r.vector {
		r.vector[i] = wa*a.at(i) + wb*b.at(i)
	}
	return r
}

func (t thing) at(i int) float64 {
	if t.number {
		i = 0
	}
	return t.vector[i]
}

// equal compares two things as an equality does.
func (w *world) equal(e *equality, a, b thing) bool {
	if e.premetric == Crisp {
		return w.same(a, b)
	}
	for i := range max(len(a.vector), len(b.vector)) {
		x, y := a.at(i), b.at(i)
		if (a.rounded || b.rounded) && math.Abs(x-y) < 1e-9 {
			continue
		}
		if x != y && !(e.premetric == Circular && math.Remainder(x-y, e.period) == 0) {
			return false
		}
	}
	return true
}

func (w *world) same(a, b thing) bool {
	if a.name != "" {
		a, b = b, a
	}
	switch {
	case a.row >= 0:
		return a.row == b.row
	case b.name != "":
		return a.labels[0] == float64(slices.Index(w.schema.Levels[w.schema.Factors[a.factors[0]]], b.name))
	case a.factors != nil && b.factors != nil:
		return slices.Equal(a.labels, b.labels)
	}
	for i := range max(len(a.vector), len(b.vector)) {
		if float32(a.at(i)) != float32(b.at(i)) {
			return false
		}
	}
	return true
}
