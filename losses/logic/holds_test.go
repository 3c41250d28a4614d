package logic

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor/rotation"
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

// demand is a value that a function must have: at an argument, a row of numbers or labels.
type demand struct{ at, value []float64 }

// satisfiable reports whether there are functions that make a formula true. As Compile admits no function in two fits,
// the parts of a formula can be satisfied separately.
func (w *world) satisfiable(f Formula, maps map[string]Function) bool {
	if !slices.ContainsFunc(applications(f), func(a *application) bool { _, ok := maps[a.function]; return ok }) {
		return w.holds(f)
	}
	switch f := f.(type) {
	case *connective:
		switch f.kind {
		case conjunction:
			return w.satisfiable(f.a, maps) && w.satisfiable(f.b, maps)
		case disjunction:
			return w.satisfiable(f.a, maps) || w.satisfiable(f.b, maps)
		}
		return !w.holds(f.a) || w.satisfiable(f.b, maps)
	case *scaled:
		return w.satisfiable(f.a, maps)
	case *quantified:
		if f.domain.set == functionSet {
			return w.satisfiable(f.body, withFunctions(maps, f.domain))
		}
		if _, rest := f.guards(); f.universal && !hasQuantifier(rest) {
			return w.fits(f, maps)
		}
		return w.each(f, f.domain.names, func() bool { return w.satisfiable(f.body, maps) })
	}
	panic(fmt.Sprintf("logic: no function can be sought in %s", textOf(f)))
}

func withFunctions(maps map[string]Function, d Domain) map[string]Function {
	all := map[string]Function{}
	for name, f := range maps {
		all[name] = f
	}
	for _, f := range d.functions {
		all[f.Name] = f.Function
	}
	return all
}

// each tries all assignments of the variables of a quantifier.
func (w *world) each(f *quantified, names []string, holds func() bool) bool {
	if len(names) == 0 {
		return holds()
	}
	defer delete(w.bound, names[0])
	for _, t := range w.things(f, names[0]) {
		w.bound[names[0]] = t
		if w.each(f, names[1:], holds) != f.universal {
			return !f.universal
		}
	}
	return f.universal
}

// fits reports whether there are functions with the values that a quantifier over rows demands.
func (w *world) fits(f *quantified, maps map[string]Function) bool {
	demands := map[string][]demand{}
	if !w.each(f, f.domain.names, func() bool { return w.collect(f.body, maps, demands) }) {
		return false
	}
	for name, all := range demands {
		if !exactly(maps[name].Class, all) {
			return false
		}
	}
	return true
}

// collect lists the values that a formula demands of functions, and reports whether the rest of the formula is true.
func (w *world) collect(f Formula, maps map[string]Function, demands map[string][]demand) bool {
	switch f := f.(type) {
	case *connective:
		if f.kind == implication {
			return !w.holds(f.a) || w.collect(f.b, maps, demands)
		}
		return w.collect(f.a, maps, demands) && w.collect(f.b, maps, demands)
	case *scaled:
		return w.collect(f.a, maps, demands)
	case *equality:
		a, other := bare(f.a), f.b
		if _, ok := a.(*application); !ok {
			a, other = bare(f.b), f.a
		}
		if a, ok := a.(*application); ok {
			d, x, t := demand{}, w.term(a.a), w.term(other)
			if d.at = x.vector; maps[a.function].Class == AnyFunction {
				d.at = x.labels
			}
			for k := range w.columns(maps[a.function].To.access(0)) {
				d.value = append(d.value, t.at(k))
			}
			demands[a.function] = append(demands[a.function], d)
			return true
		}
	}
	return w.holds(f)
}

// exactly reports whether a function of a class has the values demanded, in exact arithmetic. A function of levels, or
// a network of enough units, has them if equal arguments have equal values. An affine or linear map has them if the
// values add nothing to the rank of the arguments. An isometry has them if all distances of values are equal to the
// distances of arguments.
func exactly(c Class, all []demand) bool {
	for _, d := range all {
		if slices.ContainsFunc(slices.Concat(d.at, d.value), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
			return false
		}
	}
	switch c {
	case AnyFunction, MLP:
		for i, d := range all {
			for _, e := range all[:i] {
				if slices.Equal(d.at, e.at) && !slices.Equal(d.value, e.value) {
					return false
				}
			}
		}
		return true
	case Isometry:
		for i, d := range all {
			for _, e := range all[:i] {
				if distanceOf(d.at, e.at).Cmp(distanceOf(d.value, e.value)) != 0 {
					return false
				}
			}
		}
		return true
	}
	var arguments, both [][]*big.Rat
	for _, d := range all {
		var row []*big.Rat
		if c == Affine {
			row = append(row, big.NewRat(1, 1))
		}
		row = append(row, rational(d.at)...)
		arguments = append(arguments, slices.Clone(row))
		both = append(both, append(row, rational(d.value)...))
	}
	return rank(arguments) == rank(both)
}

func rational(x []float64) (r []*big.Rat) {
	for _, v := range x {
		r = append(r, new(big.Rat).SetFloat64(v))
	}
	return r
}

// distanceOf returns the squared distance of two points.
func distanceOf(a, b []float64) *big.Rat {
	sum, x, y := new(big.Rat), rational(a), rational(b)
	for k := range x {
		d := new(big.Rat).Sub(x[k], y[k])
		sum.Add(sum, d.Mul(d, d))
	}
	return sum
}

// rank returns the rank of a matrix, by elimination. It changes the rows.
func rank(rows [][]*big.Rat) (r int) {
	if len(rows) == 0 {
		return 0
	}
	for c := range rows[0] {
		pivot := slices.IndexFunc(rows[r:], func(row []*big.Rat) bool { return row[c].Sign() != 0 })
		if pivot < 0 {
			continue
		}
		rows[r], rows[r+pivot] = rows[r+pivot], rows[r]
		for _, row := range rows[r+1:] {
			if row[c].Sign() == 0 {
				continue
			}
			f := new(big.Rat).Quo(row[c], rows[r][c])
			for k := c; k < len(row); k++ {
				row[k] = new(big.Rat).Sub(row[k], new(big.Rat).Mul(f, rows[r][k]))
			}
		}
		if r++; r == len(rows) {
			break
		}
	}
	return r
}

// related reports whether an equality of a formula applies functions twice.
func related(f Formula) bool {
	switch f := f.(type) {
	case *connective:
		return related(f.a) || related(f.b)
	case *negation:
		return related(f.a)
	case *scaled:
		return related(f.a)
	case *quantified:
		return related(f.body)
	case *equality:
		return len(applications(f)) > 1
	}
	return false
}

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

// independent reports whether sub-codes are independent in a row drawn at random. Every block and the later blocks must
// have every combination of their values, as often as the product of the values' frequencies.
func (w *world) independent(f *independence) bool {
	n := len(w.z)
	key := func(row int, terms []Term) string {
		var text strings.Builder
		for _, t := range terms {
			fmt.Fprint(&text, pick(w.z[row], w.columns(bare(t).(*access))))
		}
		return text.String()
	}
	for k := range f.codes[1:] {
		count, left, right := map[[2]string]int{}, map[string]int{}, map[string]int{}
		for i := range n {
			a, b := key(i, f.codes[k:k+1]), key(i, f.codes[k+1:])
			count[[2]string{a, b}]++
			left[a]++
			right[b]++
		}
		for a, x := range left {
			for b, y := range right {
				if count[[2]string{a, b}]*n != x*y {
					return false
				}
			}
		}
	}
	return true
}
