package logic

import (
	"fmt"
	"slices"
)

// data is a batch as columns of numbers, and its rows by the levels of factors.
type data struct {
	rows, codes int
	columns     [][]float64
	levels      [][]int32 // by factor and row: the level's number, -1 where unknown; then the number of the group of moves
	counts      []int32   // levels of a factor, then groups of moves
	order       []int32   // scratch
	lists       []list
	ascending   []int32 // 0, 1, 2, ...
}

// list holds rows in ascending order, by level: rows[start[v]:start[v+1]] have level v.
type list struct {
	rows, start []int32
	largest     int // rows of one level
}

// engine computes a program for batches of one size.
type engine struct {
	program *program
	data    data
	main    *evaluator
	seed    [1]float64 // the gradient of the quantity
	single  bool       // the batch is of float32
	record  func(m *evaluator, f *fitted, s *fitState)
	fault   error        // of the first function that could not be fitted, if these are recorded
	pieces  []*evaluator // for parts of the work, in order
	stop    interruption
	groups  []int // groups of rows that transformations relate; nil: run consecutive rows, or with run 0 all rows
	run     int
}

// evaluator is the state of a computation: the values of the variables, and the
// quantities of every node. Nodes are immutable.
type evaluator struct {
	engine     *engine
	data       *data
	piece      bool
	index      []int32 // by variable: a row, a level or a member
	rows       []int32 // of the innermost variable, for every current tuple
	values     [][]float64
	gradients  [][]float64
	seconds    [][]float64 // like gradients, of binary operations' second operands
	difference []float64
	states     []state
	optima     []optimum
	dependence []dependence
	pairs      []pairState
	fits       []fitState
	slopes     [][]float64 // gradients by column of the batch, empty for columns without; nil before the first use
}

// enter sets the variables to tuple t.
func (m *evaluator) enter(lane, t int) {
	if lane >= 0 {
		m.index[lane] = m.rows[t]
	}
}

func newEngine(p *program, rows int) (*engine, error) {
	e := makeEngine(p, rows)
	if err := e.affordable(); err != nil {
		return nil, err
	}
	e.makeLists()
	return e, nil
}

// makeEngine returns an engine with lists of rows for a first bound of its cost.
func makeEngine(p *program, rows int) *engine {
	e := &engine{program: p}
	d := &e.data
	d.rows, d.codes = rows, p.codes
	d.columns = make([][]float64, p.members, p.members+len(p.memberColumns))
	for k := range d.columns {
		if k < p.values || p.needsValues || p.needsLabels {
			d.columns[k] = make([]float64, rows)
		}
	}
	d.columns = append(d.columns, p.memberColumns...)
	for k, numbers := range p.memberColumns {
		if numbers == nil {
			d.columns[p.members+k] = make([]float64, rows)
		}
	}
	d.levels, d.counts = make([][]int32, p.factors+1), make([]int32, p.factors+1)
	for f := range d.levels {
		d.levels[f] = make([]int32, rows)
	}
	d.order = make([]int32, rows)
	d.lists = make([]list, len(p.indexes))
	for k := range d.lists {
		d.lists[k] = list{make([]int32, 0, rows), make([]int32, 0, rows+1), 0}
	}
	longest := rows
	for _, m := range p.memberColumns {
		longest = max(longest, len(m))
	}
	d.ascending = make([]int32, longest)
	for i := range d.ascending {
		d.ascending[i] = int32(i)
	}
	for k := range d.lists { // at most this many rows, for a first bound of the cost
		d.lists[k].largest = 1
		if p.indexes[k].by < 0 {
			d.lists[k].rows = d.ascending[:rows]
		}
	}
	e.main = e.newMachine()
	return e
}

// makeLists gives every list room for all rows of a batch.
func (e *engine) makeLists() {
	for k := range e.data.lists {
		e.data.lists[k].rows = make([]int32, 0, e.data.rows)
	}
}

// affordable checks the number of tuples of the sentence.
func (e *engine) affordable() error {
	if cost := e.program.root.cost(e); cost > maxEvaluations {
		return fmt.Errorf("the sentence runs over %.2g tuples of %d rows, want at most %g: use fewer variables, a smaller batch, or guards that split the rows into groups",
			cost, e.data.rows, float64(maxEvaluations))
	}
	return nil
}

func (e *engine) newMachine() *evaluator {
	p := e.program
	m := &evaluator{engine: e, data: &e.data, index: make([]int32, p.variables), difference: make([]float64, chunk)}
	for _, capacity := range p.nodes {
		m.values = append(m.values, make([]float64, capacity))
		m.gradients = append(m.gradients, make([]float64, capacity))
		m.seconds = append(m.seconds, make([]float64, capacity))
	}
	m.states, m.optima = make([]state, len(p.quantifiers)), make([]optimum, p.centres)
	m.pairs, m.fits = make([]pairState, p.pairs), make([]fitState, p.fits)
	m.dependence = make([]dependence, p.dependences)
	m.interruptSolvers()
	for i, q := range p.quantifiers {
		m.states[i].best = make([]int32, len(q.binders))
		m.states[i].picked, m.states[i].handed = make([]int32, chunk), make([]float64, chunk)
	}
	return m
}

// wantGradients makes and clears the evaluator's gradients of the batch.
func (m *evaluator) wantGradients() {
	if m.slopes == nil {
		m.slopes = make([][]float64, len(m.data.columns))
		backing := make([]float64, m.data.codes*m.data.rows)
		for c := range m.data.codes {
			m.slopes[c] = backing[c*m.data.rows:][:m.data.rows]
		}
		for _, in := range m.engine.program.inputs {
			for k := in.at; in.smooth && k < in.at+in.width; k++ {
				m.slopes[k] = make([]float64, m.data.rows)
			}
		}
	}
	for _, c := range m.slopes {
		clear(c)
	}
}

// group numbers the levels of the factors, and lists rows by them.
func (e *engine) group(known bool) {
	p, d := e.program, &e.data
	for f := range p.factors {
		switch {
		case !known:
			clear(d.levels[f])
		case p.leveled[f]:
			d.number(f, d.columns[p.labels+f], d.columns[p.values+f], d.columns[p.levelLabels+f], d.columns[p.levelValues+f])
		default:
			for i, l := range d.columns[p.labels+f] {
				if d.levels[f][i] = -1; l >= 0 {
					d.levels[f][i] = 0
				}
			}
		}
	}
	e.relate()
	for k, key := range p.indexes {
		d.fill(&d.lists[k], key)
	}
}

// number numbers the labels of a factor in ascending order.
func (d *data) number(f int, labels, values, levelLabels, levelValues []float64) {
	order, levels := d.order[:0], d.levels[f]
	for i, l := range labels {
		if levels[i] = -1; l >= 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int {
		switch x, y := labels[a], labels[b]; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return int(a - b)
	})
	n := int32(0)
	for k, i := range order {
		if k == 0 || labels[i] != labels[order[k-1]] {
			levelLabels[n], levelValues[n] = labels[i], values[i]
			n++
		}
		levels[i] = n - 1
	}
	d.counts[f] = n
}

// fill lists the rows where factors are known, by a factor's levels.
func (d *data) fill(l *list, key indexKey) {
	l.rows = l.rows[:0]
	known := func(i int) bool {
		for _, f := range key.known {
			if d.levels[f][i] < 0 {
				return false
			}
		}
		return true
	}
	if key.by < 0 {
		for i := range d.rows {
			if known(i) {
				l.rows = append(l.rows, int32(i))
			}
		}
		l.largest = len(l.rows)
		return
	}
	levels, n := d.levels[key.by], int(d.counts[key.by])
	l.start = l.start[:n+1]
	clear(l.start)
	for i := range d.rows {
		if known(i) {
			l.start[levels[i]+1]++
		}
	}
	l.largest = 0
	for v := range n {
		l.largest = max(l.largest, int(l.start[v+1]))
		l.start[v+1] += l.start[v]
	}
	l.rows = l.rows[:l.start[n]]
	next := d.order[:n]
	copy(next, l.start)
	for i := range d.rows {
		if known(i) {
			v := levels[i]
			l.rows[next[v]] = int32(i)
			next[v]++
		}
	}
}

// smooth reports whether a column has a gradient; after wantGradients.
func (m *evaluator) smooth(column int) bool { return len(m.slopes[column]) > 0 }
