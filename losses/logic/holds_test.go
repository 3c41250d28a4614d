package logic

import (
	"errors"
	"fmt"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// Holds reports whether the sentence is true for a batch (arguments as in [Quantity.Value]). It applies the rules of
// logic to exact equality of numbers, and tries every tuple of rows.
func (q *Quantity) Holds(z, y, labels [][]float64) (bool, error) {
	return q.HoldsOf(Batch{Codes: z, Values: y, Labels: labels})
}

// HoldsOf is [Quantity.Holds] for a Batch. Posteriors are equal if their means and log variances are equal. Transformed
// codes are equal to other codes up to 1e-9. =[cosine] means equality of vectors.
func (q *Quantity) HoldsOf(b Batch) (bool, error) {
	if err := q.checkBatch(b); err != nil {
		return false, err
	}
	if len(q.program.Networks) > 0 && related(q.sentence.Body) {
		return false, errors.New("logic: whether a function in mlp makes the sentence true is not known where its values are compared with each other")
	}
	return q.world(b).holds(q.sentence.Body), nil
}

func (q *Quantity) world(b Batch) *world {
	return &world{schema: q.schema, z: q.codes(b), y: b.Values, labels: b.Labels, means: b.Codes, logVariances: b.LogVariances,
		bound: map[string]thing{}, batch: b, turns: q.turnsInUse(), moves: map[syntax.Variable]syntax.PairMove{}}
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
	moves map[syntax.Variable]syntax.PairMove
}

// thing is the value of a term.
type thing struct {
	row     int // row of a variable for rows; otherwise -1
	factors []int
	labels  []float64 // of the factors
	vector  []float64
	name    string // of a level
	number  bool   // the vector has any width
	rounded bool   // the thing was transformed
}

func (w *world) holds(f syntax.Formula) bool {
	switch f := f.(type) {
	case *syntax.Equality:
		if f.Premetric == syntax.KL || f.Premetric == syntax.Wasserstein {
			a, b := w.posterior(f.A), w.posterior(f.B)
			return slices.Equal(a[0], b[0]) && slices.Equal(a[1], b[1])
		}
		return w.equal(f, w.term(f.A), w.term(f.B)) != f.Not
	case *syntax.Connective:
		switch f.Kind {
		case syntax.AndKind:
			return w.holds(f.A) && w.holds(f.B)
		case syntax.OrKind:
			return w.holds(f.A) || w.holds(f.B)
		}
		return !w.holds(f.A) || w.holds(f.B)
	case *syntax.Negated:
		return !w.holds(f.A)
	case *syntax.Independence:
		return w.independent(f)
	case *syntax.Scaled:
		return w.holds(f.A)
	case *syntax.Quantified:
		if f.Domain.Set == syntax.FunctionSet {
			return w.satisfiable(f.Body, withFunctions(nil, f.Domain))
		}
		return w.quantified(f, f.Domain.Names)
	}
	panic(fmt.Sprintf("logic: %T is not a formula", f))
}

// quantified tries all assignments of the variables.
func (w *world) quantified(f *syntax.Quantified, names []string) bool {
	if len(names) == 0 {
		if !w.movable(f) {
			return f.Universal
		}
		return w.holds(f.Body)
	}
	defer delete(w.bound, names[0])
	for _, t := range w.things(f, names[0]) {
		w.bound[names[0]] = t
		if w.quantified(f, names[1:]) != f.Universal {
			return !f.Universal
		}
	}
	return f.Universal
}

func (w *world) things(f *syntax.Quantified, name string) []thing {
	var all []thing
	switch d := f.Domain; d.Set {
	case syntax.RowSet:
		for i := range w.z {
			if w.known(f.Body, name, i) {
				all = append(all, thing{row: i})
			}
		}
	case syntax.ValueSet:
		k := slices.Index(w.schema.Factors, d.Factor)
		for i, l := range w.labels {
			if l[k] >= 0 && !slices.ContainsFunc(all, func(t thing) bool { return t.labels[0] == l[k] }) {
				t := thing{row: -1, factors: []int{k}, labels: []float64{l[k]}}
				if w.y != nil {
					t.vector = []float64{w.y[i][k]}
				}
				all = append(all, t)
			}
		}
	case syntax.MemberSet:
		for _, m := range d.Members {
			all = append(all, w.term(m))
		}
	case syntax.PointSet:
		// If an accepted formula holds for some point, it holds for a row's point, or for all points.
		columns := w.columns(d.Space)
		all = append(all, thing{row: -1, vector: make([]float64, len(columns))})
		for _, z := range w.z {
			all = append(all, thing{row: -1, vector: pick(z, columns)})
		}
	}
	return all
}

// known reports whether a formula's factors of a row are known.
func (w *world) known(f syntax.Formula, name string, row int) bool {
	all := true
	syntax.Inspect(f, func(part syntax.Part) bool {
		if a, ok := part.(*syntax.Access); ok && !a.Codes && string(a.Row) == name && w.labels != nil {
			for _, l := range pick(w.labels[row], w.columns(a)) {
				all = all && l >= 0
			}
		}
		return true
	})
	return all
}

// columns lists the columns of an access.
func (w *world) columns(a *syntax.Access) []int {
	var columns []int
	switch {
	case a.Name != "" && a.Codes:
		return w.schema.SubCodes[a.Name]
	case a.Name != "":
		return []int{slices.Index(w.schema.Factors, a.Name)}
	}
	ranges := a.Columns
	if len(ranges) == 0 {
		ranges = []syntax.Range{{Lo: 0, Hi: len(w.schema.Factors)}}
		if a.Codes {
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

func (w *world) term(t syntax.Term) thing {
	switch t := syntax.Bare(t).(type) {
	case syntax.Variable:
		return w.bound[string(t)]
	case syntax.Number:
		return thing{row: -1, vector: []float64{float64(t)}, number: true}
	case syntax.Vector:
		return thing{row: -1, vector: t}
	case syntax.Level:
		return thing{row: -1, name: string(t)}
	case *syntax.Access:
		row, columns := w.bound[string(t.Row)].row, w.columns(t)
		if t.Codes {
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
	case *syntax.Moved:
		return w.moved(t)
	case *syntax.Multiple:
		return combine(w.term(t.A), thing{vector: []float64{0}, number: true}, t.Factor, 1)
	case *syntax.Arithmetic:
		if t.Minus {
			return combine(w.term(t.A), w.term(t.B), 1, -1)
		}
		return combine(w.term(t.A), w.term(t.B), 1, 1)
	}
	panic(fmt.Sprintf("logic: %T is not a term", t))
}

// posterior returns the means and log variances of columns of a row's code.
func (w *world) posterior(t syntax.Term) [2][]float64 {
	a := syntax.Bare(t).(*syntax.Access)
	row, columns := w.bound[string(a.Row)].row, w.columns(a)
	return [2][]float64{pick(w.means[row], columns), pick(w.logVariances[row], columns)}
}

// combine returns wa a + wb b.
func combine(a, b thing, wa, wb float64) thing {
	r := thing{row: -1, number: a.number && b.number, rounded: a.rounded || b.rounded,
		vector: make([]float64, max(len(a.vector), len(b.vector)))}
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

// equal compares two things like an equality.
func (w *world) equal(e *syntax.Equality, a, b thing) bool {
	if e.Premetric == syntax.Crisp {
		return w.same(a, b)
	}
	for i := range max(len(a.vector), len(b.vector)) {
		x, y := a.at(i), b.at(i)
		if (a.rounded || b.rounded) && math.Abs(x-y) < 1e-9 {
			continue
		}
		if x != y && !(e.Premetric == syntax.Circular && math.Remainder(x-y, e.Period) == 0) {
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

// demand is a required value of a function at an argument, a row of numbers or labels.
type demand struct{ at, value []float64 }

// satisfiable reports whether functions exist that make a formula true. Compile allows each function in one fit only,
// so the parts of a formula can be satisfied separately.
func (w *world) satisfiable(f syntax.Formula, maps map[string]*syntax.Function) bool {
	if !slices.ContainsFunc(syntax.Applications(f), func(a *syntax.Application) bool { _, ok := maps[a.Function]; return ok }) {
		return w.holds(f)
	}
	switch f := f.(type) {
	case *syntax.Connective:
		switch f.Kind {
		case syntax.AndKind:
			return w.satisfiable(f.A, maps) && w.satisfiable(f.B, maps)
		case syntax.OrKind:
			return w.satisfiable(f.A, maps) || w.satisfiable(f.B, maps)
		}
		return !w.holds(f.A) || w.satisfiable(f.B, maps)
	case *syntax.Scaled:
		return w.satisfiable(f.A, maps)
	case *syntax.Quantified:
		if f.Domain.Set == syntax.FunctionSet {
			return w.satisfiable(f.Body, withFunctions(maps, f.Domain))
		}
		if _, rest := f.Guards(); f.Universal && !syntax.HasQuantifier(rest) {
			return w.fits(f, maps)
		}
		return w.each(f, f.Domain.Names, func() bool { return w.satisfiable(f.Body, maps) })
	}
	panic(fmt.Sprintf("logic: no function can be sought in %s", syntax.TextOf(f)))
}

func withFunctions(maps map[string]*syntax.Function, d syntax.Domain) map[string]*syntax.Function {
	all := map[string]*syntax.Function{}
	for name, f := range maps {
		all[name] = f
	}
	for _, f := range d.Functions {
		all[f.Name] = f
	}
	return all
}

// each tries all assignments of the variables of a quantifier.
func (w *world) each(f *syntax.Quantified, names []string, holds func() bool) bool {
	if len(names) == 0 {
		return holds()
	}
	defer delete(w.bound, names[0])
	for _, t := range w.things(f, names[0]) {
		w.bound[names[0]] = t
		if w.each(f, names[1:], holds) != f.Universal {
			return !f.Universal
		}
	}
	return f.Universal
}

// fits reports whether functions exist with the values that a quantifier over rows requires.
func (w *world) fits(f *syntax.Quantified, maps map[string]*syntax.Function) bool {
	demands := map[string][]demand{}
	if !w.each(f, f.Domain.Names, func() bool { return w.collect(f.Body, maps, demands) }) {
		return false
	}
	for name, all := range demands {
		if !exactly(maps[name].Class, all) {
			return false
		}
	}
	return true
}

// collect adds the values that a formula requires of functions, and reports whether the rest of the formula is true.
func (w *world) collect(f syntax.Formula, maps map[string]*syntax.Function, demands map[string][]demand) bool {
	switch f := f.(type) {
	case *syntax.Connective:
		if f.Kind == syntax.ImpliesKind {
			return !w.holds(f.A) || w.collect(f.B, maps, demands)
		}
		return w.collect(f.A, maps, demands) && w.collect(f.B, maps, demands)
	case *syntax.Scaled:
		return w.collect(f.A, maps, demands)
	case *syntax.Equality:
		a, other := syntax.Bare(f.A), f.B
		if _, ok := a.(*syntax.Application); !ok {
			a, other = syntax.Bare(f.B), f.A
		}
		if a, ok := a.(*syntax.Application); ok {
			d, x, t := demand{}, w.term(a.A), w.term(other)
			if d.at = x.vector; maps[a.Function].Class == syntax.AnyFunction {
				d.at = x.labels
			}
			for k := range w.columns(maps[a.Function].To) {
				d.value = append(d.value, t.at(k))
			}
			demands[a.Function] = append(demands[a.Function], d)
			return true
		}
	}
	return w.holds(f)
}

// exactly reports whether a function of a class has the required values, in exact arithmetic. A function of levels, or
// a large enough network, exists if equal arguments have equal values. An affine or linear map exists if the values do
// not increase the rank of the arguments. An isometry exists if all distances of values equal the distances of
// arguments.
func exactly(c syntax.Class, all []demand) bool {
	for _, d := range all {
		if slices.ContainsFunc(slices.Concat(d.at, d.value), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
			return false
		}
	}
	switch c {
	case syntax.AnyFunction, syntax.MLP:
		for i, d := range all {
			for _, e := range all[:i] {
				if slices.Equal(d.at, e.at) && !slices.Equal(d.value, e.value) {
					return false
				}
			}
		}
		return true
	case syntax.Isometry:
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
		if c == syntax.Affine {
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

// rank returns the rank of a matrix by elimination. It changes the rows.
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
func related(f syntax.Formula) bool {
	switch f := f.(type) {
	case *syntax.Connective:
		return related(f.A) || related(f.B)
	case *syntax.Negated:
		return related(f.A)
	case *syntax.Scaled:
		return related(f.A)
	case *syntax.Quantified:
		return related(f.Body)
	case *syntax.Equality:
		return len(syntax.Applications(f)) > 1
	}
	return false
}

// turnsInUse lists the first columns, in a batch's moves, of the turns that the sentence uses.
func (q *Quantity) turnsInUse() []int {
	var columns []int
	for _, in := range q.program.Inputs {
		for _, column := range q.program.Turns {
			if in.Kind == program.Moves {
				columns = append(columns, column-in.At)
			}
		}
	}
	return columns
}

// movable reports whether the transformations of a quantifier are known for its rows.
func (w *world) movable(f *syntax.Quantified) bool {
	for _, m := range f.Domain.Moves {
		if w.moves[syntax.Variable(m.Name)] = m; !w.related(m) {
			return false
		}
	}
	return true
}

// related reports whether the transformation between two rows is known.
func (w *world) related(m syntax.PairMove) bool {
	from, to := w.bound[string(m.From)].row, w.bound[string(m.To)].row
	if g := w.batch.Groups; g != nil && (g[from] < 0 || g[from] != g[to]) {
		return false
	}
	return !slices.ContainsFunc(w.turns, func(column int) bool {
		return math.IsNaN(w.batch.Moves[from][column]) || math.IsNaN(w.batch.Moves[to][column])
	})
}

// moved transforms a vector with the matrix of the transformation between two rows.
func (w *world) moved(t *syntax.Moved) thing {
	r := w.term(t.A)
	r.vector, r.rounded = slices.Clone(r.vector), true
	m := w.moves[t.Name]
	from, to := w.batch.Moves[w.bound[string(m.From)].row], w.batch.Moves[w.bound[string(m.To)].row]
	c := compiler{schema: w.schema}
	columns, _ := c.codeColumns(t.A)
	first := 0
	for _, turn := range w.schema.Turns {
		at, factor := w.turnedBy(t, turn, columns, len(r.vector))
		if factor {
			r.vector[0] += t.Frequency * (to[first] - from[first]) / (2 * math.Pi)
		}
		g := turn.between(from[first:], to[first:], t.Frequency)
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
func (w *world) turnedBy(t *syntax.Moved, turn Turn, columns []int, width int) (at []int, factor bool) {
	if a, ok := syntax.Bare(t.A).(*syntax.Access); ok && !a.Codes {
		return nil, w.schema.Factors[w.columns(a)[0]] == turn.Name
	}
	if t.Turn != "" {
		if t.Turn != turn.Name {
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

// between returns the transformation between two points of a turn as a rotation in space. Angles turn about the third
// axis.
func (t Turn) between(from, to []float64, by float64) [9]float64 {
	if !t.Space {
		return rotation.AboutAxis([3]float64{0, 0, 1}, by*(to[0]-from[0]))
	}
	a, b := rotation.AboutAxis([3]float64(from[:3]), from[3]), rotation.AboutAxis([3]float64(to[:3]), to[3])
	return rotation.Between(&a, &b)
}

// independent reports whether sub-codes are independent in a random row. Each block and the later blocks must have
// every combination of their values, with the product of the values' frequencies.
func (w *world) independent(f *syntax.Independence) bool {
	n := len(w.z)
	key := func(row int, terms []*syntax.Access) string {
		var text strings.Builder
		for _, t := range terms {
			fmt.Fprint(&text, pick(w.z[row], w.columns(t)))
		}
		return text.String()
	}
	for k := range f.Codes[1:] {
		count, left, right := map[[2]string]int{}, map[string]int{}, map[string]int{}
		for i := range n {
			a, b := key(i, f.Codes[k:k+1]), key(i, f.Codes[k+1:])
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
