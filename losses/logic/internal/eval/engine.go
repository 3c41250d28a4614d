package eval

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
)

// Engine computes a program for batches with a fixed number of rows.
type Engine struct {
	program *program.Program
	data    data
	main    *evaluator
	parts   []*evaluator // for parts of the work, in a fixed order
	seed    [1]float64   // the gradient of the quantity

	Single      bool  // the batch is float32
	Groups      []int // groups of rows with known transformations; nil: Run consecutive rows, or all rows if Run is 0
	Run         int
	Interrupt   func() error // its error ends the computation; nil: no interruption
	interrupted atomic.Bool

	domains map[program.Node]*domain // by quantifier, fit and implication

	recordFit func(f *fit) // is called with every fitted function
	fault     error        // error of the first function that could not be fitted, if functions are recorded
}

// data holds a batch as columns of numbers, and its rows by the levels of factors.
type data struct {
	rows, codes int
	columns     [][]float64
	// by factor and row: the number of the level, or -1 if unknown; after the factors the numbers of the groups of
	// moves
	levels    [][]int32
	counts    []int32 // number of levels of each factor, then of groups of moves
	order     []int32 // scratch
	lists     []list
	ascending []int32 // 0, 1, 2, ...
}

// list holds rows in ascending order, grouped by level: rows[start[v]:start[v+1]] have level v.
type list struct {
	rows, starts []int32
	largest      int // maximum number of rows of a level
}

// evaluator holds the state of a computation: the values of the variables, and nodes with their quantities.
type evaluator struct {
	engine     *Engine
	data       *data
	isPart     bool
	root       node
	index      []int32 // by variable: a row, a level or a member
	rows       []int32 // value of the innermost variable for each current tuple
	difference []float64
	// gradients by column of the batch, empty for columns without a gradient; nil before the first use
	gradients [][]float64
}

// setTuple sets the variables to tuple t.
func (m *evaluator) setTuple(lane, t int) {
	if lane >= 0 {
		m.index[lane] = m.rows[t]
	}
}

// maxEvaluations is the maximum number of tuples of rows for a sentence.
const maxEvaluations = 1e9

// New returns an engine for batches with the given number of rows. It returns an error if there are too many tuples.
func New(p *program.Program, rows int) (*Engine, error) {
	e := newEngine(p, rows)
	if err := e.checkCost(); err != nil {
		return nil, err
	}
	return e, nil
}

// newEngine returns an engine. Until its first batch, the lists of rows have the lengths for an upper bound of its cost.
func newEngine(p *program.Program, rows int) *Engine {
	e := &Engine{program: p, domains: map[program.Node]*domain{}}
	d := &e.data
	d.rows, d.codes = rows, p.Codes
	d.columns = make([][]float64, p.First, p.First+len(p.More))
	for k := range d.columns {
		if k < p.Values || p.NeedsValues || p.NeedsLabels {
			d.columns[k] = make([]float64, rows)
		}
	}
	maxLength := rows
	for _, numbers := range p.More {
		if numbers == nil {
			numbers = make([]float64, rows)
		}
		d.columns = append(d.columns, numbers)
		maxLength = max(maxLength, len(numbers))
	}
	d.levels, d.counts = make([][]int32, p.Factors+1), make([]int32, p.Factors+1)
	for f := range d.levels {
		d.levels[f] = make([]int32, rows)
	}
	d.order = make([]int32, rows)
	d.ascending = make([]int32, maxLength)
	for i := range d.ascending {
		d.ascending[i] = int32(i)
	}
	d.lists = make([]list, len(p.Lists))
	for k := range d.lists {
		d.lists[k] = list{rows: make([]int32, rows), starts: make([]int32, 0, rows+1), largest: 1}
	}
	e.main = e.newEvaluator()
	b := builder{e.main, -1, 1}
	e.main.root = b.node(p.Root)
	return e
}

// checkCost checks that the sentence does not have too many tuples.
func (e *Engine) checkCost() error {
	if cost := e.main.root.cost(&e.data); cost > maxEvaluations {
		return fmt.Errorf("the sentence runs over %.2g tuples of %d rows, want at most %g: use fewer variables, a smaller batch, or guards that split the rows into groups",
			cost, e.data.rows, float64(maxEvaluations))
	}
	return nil
}

func (e *Engine) newEvaluator() *evaluator {
	index, difference := make([]int32, e.program.Variables), make([]float64, chunk)
	return &evaluator{engine: e, data: &e.data, index: index, difference: difference}
}

func (e *Engine) makeParts(n int) {
	for len(e.parts) < n {
		p := e.newEvaluator()
		p.isPart = true
		if e.main.gradients != nil {
			p.clearGradients()
		}
		e.parts = append(e.parts, p)
	}
}

// Tuples returns the cost of the program for a batch, as a number of tuples; fill sets the rows of the batch.
func Tuples(p *program.Program, rows int, labels bool, fill func(*Engine)) float64 {
	e := newEngine(p, rows)
	fill(e)
	e.groupRows(labels)
	return e.main.root.cost(&e.data)
}

// Set copies rows to consecutive columns, starting at column at.
func (e *Engine) Set(rows [][]float64, at int) {
	for i, row := range rows {
		for k, x := range row {
			if c := e.data.columns[at+k]; c != nil {
				c[i] = x
			}
		}
	}
}

// Column returns column k of the batch, so callers can set it.
func (e *Engine) Column(k int) []float64 { return e.data.columns[k] }

// Slope returns the last gradient with respect to a column of the batch; it is empty for columns without a gradient.
func (e *Engine) Slope(k int) []float64 { return e.main.gradients[k] }

// Value computes the quantity of the current batch.
func (e *Engine) Value(labels bool) (float64, error) {
	e.groupRows(labels)
	if err := e.checkCost(); err != nil {
		return 0, err
	}
	value := e.main.root.value(e.main, 1)[0]
	if e.interrupted.Load() {
		return 0, e.Interrupt()
	}
	return value, nil
}

// Gradient computes g times the gradients with respect to the batch, which Slope returns.
func (e *Engine) Gradient(g float64) {
	e.main.clearGradients()
	for _, p := range e.parts {
		p.clearGradients()
	}
	e.seed[0] = g
	e.main.root.gradient(e.main, 1, e.seed[:])
	for _, p := range e.parts {
		for c, sum := range e.main.gradients {
			for i, x := range p.gradients[c] {
				sum[i] += x
			}
		}
	}
}

// clearGradients allocates and clears the evaluator's gradients.
func (m *evaluator) clearGradients() {
	if m.gradients == nil {
		m.gradients = make([][]float64, len(m.data.columns))
		backing := make([]float64, m.data.codes*m.data.rows)
		for c := range m.data.codes {
			m.gradients[c] = backing[c*m.data.rows:][:m.data.rows]
		}
		for _, in := range m.engine.program.Inputs {
			for k := in.At; in.Smooth && k < in.At+in.Width; k++ {
				m.gradients[k] = make([]float64, m.data.rows)
			}
		}
	}
	for _, c := range m.gradients {
		clear(c)
	}
}

// hasGradient reports whether a column has a gradient; call clearGradients first.
func (m *evaluator) hasGradient(column int) bool { return len(m.gradients[column]) > 0 }

var errInterrupted = errors.New("the computation was interrupted")

// stopped reports whether the computation should stop.
func (e *Engine) stopped() bool {
	switch {
	case e.Interrupt == nil:
		return false
	case e.interrupted.Load():
		return true
	case e.Interrupt() == nil:
		return false
	}
	e.interrupted.Store(true)
	return true
}

// interrupt returns the interruption as an error, for the solvers of inner problems.
func (e *Engine) interrupt() error {
	if e.stopped() {
		return errInterrupted
	}
	return nil
}

// groupRows numbers the levels of the factors and lists rows by level.
func (e *Engine) groupRows(known bool) {
	p, d := e.program, &e.data
	for f := range p.Factors {
		switch {
		case !known:
			clear(d.levels[f])
		case p.Leveled[f]:
			c := d.columns
			d.numberLevels(f, c[p.Labels+f], c[p.Values+f], c[p.LevelLabels+f], c[p.LevelValues+f])
		default:
			for i, l := range d.columns[p.Labels+f] {
				if d.levels[f][i] = -1; l >= 0 {
					d.levels[f][i] = 0
				}
			}
		}
	}
	e.groupMoves()
	for k, key := range p.Lists {
		d.fillList(&d.lists[k], key)
	}
}

// numberLevels numbers the labels of a factor in ascending order.
func (d *data) numberLevels(f int, labels, values, levelLabels, levelValues []float64) {
	order, levels := d.order[:0], d.levels[f]
	for i, l := range labels {
		if levels[i] = -1; l >= 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(labels[a], labels[b]), cmp.Compare(a, b)) })
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

// fillList lists the rows where factors are known, by the level of a factor.
func (d *data) fillList(l *list, key program.List) {
	l.rows = l.rows[:0]
	known := func(i int) bool {
		for _, f := range key.Known {
			if d.levels[f][i] < 0 {
				return false
			}
		}
		return true
	}
	if key.By < 0 {
		for i := range d.rows {
			if known(i) {
				l.rows = append(l.rows, int32(i))
			}
		}
		l.largest = len(l.rows)
		return
	}
	levels, n := d.levels[key.By], int(d.counts[key.By])
	l.starts = l.starts[:n+1]
	clear(l.starts)
	for i := range d.rows {
		if known(i) {
			l.starts[levels[i]+1]++
		}
	}
	l.largest = 0
	for v := range n {
		l.largest = max(l.largest, int(l.starts[v+1]))
		l.starts[v+1] += l.starts[v]
	}
	l.rows = l.rows[:l.starts[n]]
	next := d.order[:n]
	copy(next, l.starts)
	for i := range d.rows {
		if known(i) {
			v := levels[i]
			l.rows[next[v]] = int32(i)
			next[v]++
		}
	}
}

// groupMoves numbers the groups of rows with known transformations, and computes matrices.
func (e *Engine) groupMoves() {
	p, d := e.program, &e.data
	if !p.Needs(program.Moves) {
		return
	}
	levels := d.levels[p.Factors]
	numbers, n := map[int]int32{}, int32(0)
	for i := range levels {
		group := 0
		switch {
		case e.Groups != nil:
			group = e.Groups[i]
		case e.Run > 0:
			group = i / e.Run
		}
		unknown := slices.ContainsFunc(p.Turns, func(column int) bool { return math.IsNaN(d.columns[column][i]) })
		if levels[i] = -1; group < 0 || unknown {
			continue
		}
		if _, ok := numbers[group]; !ok {
			numbers[group] = n
			n++
		}
		levels[i] = numbers[group]
	}
	d.counts[p.Factors] = n
	for _, m := range p.Matrices {
		d.setMatrices(m)
	}
}

func (d *data) setMatrices(m program.Matrix) {
	if !m.Space {
		cos, sin := d.columns[m.At], d.columns[m.At+1]
		for i, angle := range d.columns[m.From] {
			sin[i], cos[i] = math.Sincos(m.By * angle)
		}
		return
	}
	for i := range d.rows {
		var axis [3]float64
		for k := range axis {
			axis[k] = d.columns[m.From+k][i]
		}
		g := rotation.AboutAxis(axis, d.columns[m.From+3][i])
		for k, x := range g {
			d.columns[m.At+k][i] = x
		}
	}
}
