package linear

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// Logistic is a fitted logistic regression: multinomial, or for two classes a single
// logit, which is the difference of the two.
type Logistic struct {
	Classes   []int // the labels, ascending
	Converged bool
	columns   int
	outputs   int
	weights   []float64 // columns+1 rows of outputs; the last row is the intercept
}

// FitLogistic finds weights with the least
//
//	1/2 |W|^2 + c sum over rows of -ln p(label)
//
// where the intercepts are not penalised, by L-BFGS, within so many iterations. The inputs
// are finite, row by row. The metric that starts the search is a bound of
// the second derivatives (Böhning 1992), and later these themselves, without those
// between classes, so that the scale and the correlations of the
// inputs matter little. It ends where no derivative exceeds 1e-4 + 1e-5 c n. The result does not depend on the number of threads.
func FitLogistic(x []float64, columns int, labels []int, c float64, iterations int) (*Logistic, error) {
	n := len(labels)
	if n == 0 || columns < 1 || len(x) != n*columns {
		return nil, fmt.Errorf("%d inputs of %d columns and %d labels; want columns of inputs for every label", len(x), columns, n)
	}
	present := slices.Clone(labels)
	slices.Sort(present)
	m := &Logistic{Classes: slices.Compact(present), columns: columns}
	m.outputs = len(m.Classes)
	switch m.outputs {
	case 1:
		m.weights, m.Converged = make([]float64, columns+1), true
		return m, nil
	case 2:
		m.outputs = 1
	}
	f, err := newLogisticLoss(m, x, labels, c)
	if err != nil {
		return nil, err
	}
	m.weights, m.Converged = minimise(f, iterations, 1e-4+1e-5*c*float64(n))
	return m, nil
}

// Probabilities writes the probability of every class for a row of inputs.
func (m *Logistic) Probabilities(x, dst []float64) {
	if len(m.Classes) == 1 {
		dst[0] = 1
		return
	}
	m.logits(m.weights, x, dst[:m.outputs])
	if m.outputs == 1 {
		v := dst[0]
		dst[0], dst[1] = 1/(1+math.Exp(v)), 1/(1+math.Exp(-v))
		return
	}
	softmax(dst)
}

// Predict is the most probable label of a row of inputs; of equal ones the first.
func (m *Logistic) Predict(x, scratch []float64) int {
	m.Probabilities(x, scratch[:len(m.Classes)])
	best := 0
	for k, v := range scratch[:len(m.Classes)] {
		if v > scratch[best] {
			best = k
		}
	}
	return m.Classes[best]
}

func (m *Logistic) logits(weights, x, dst []float64) {
	k := m.outputs
	copy(dst, weights[m.columns*k:])
	for d, v := range x {
		row := weights[d*k : d*k+k]
		for j, w := range row {
			dst[j] += v * w
		}
	}
}

// softmax replaces logits by probabilities and returns the logarithm of the sum of exponentials.
func softmax(v []float64) (logSum float64) {
	largest, sum := v[0], 0.0
	for _, l := range v {
		if l > largest {
			largest = l
		}
	}
	for j, l := range v {
		e := math.Exp(l - largest)
		v[j] = e
		sum += e
	}
	for j, inverse := 0, 1/sum; j < len(v); j++ {
		v[j] *= inverse
	}
	return largest + math.Log(sum)
}

// chunks is into how many parts rows are divided: each sums up on its own, and
// the sums are added in order, whoever made them.
const chunks = 32

// logisticLoss is the objective of a logistic regression.
type logisticLoss struct {
	*Logistic
	x      []float64
	class  []int32
	c      float64
	metric []mat.Cholesky // of every output
	sums   [chunks]float64
	slopes [chunks][]float64
	chunk  int // rows of a part
}

func newLogisticLoss(m *Logistic, x []float64, labels []int, c float64) (*logisticLoss, error) {
	n, d := len(labels), m.columns
	f := &logisticLoss{Logistic: m, x: x, class: make([]int32, n), c: c, chunk: (n + chunks - 1) / chunks}
	index := make(map[int]int32, len(m.Classes))
	for k, label := range m.Classes {
		index[label] = int32(k)
	}
	for i, label := range labels {
		f.class[i] = index[label]
	}
	for i := range f.slopes {
		f.slopes[i] = make([]float64, (d+1)*m.outputs)
	}
	if err := f.bound(); err != nil {
		return nil, err
	}
	return f, nil
}

// bound makes the metric the bound of the second derivatives: 1/2 X'X of several
// logits, and 1/4 X'X of one.
func (f *logisticLoss) bound() error {
	n, d := len(f.class), f.columns
	bound := 0.5 * f.c
	if f.outputs == 1 {
		bound = 0.25 * f.c
	}
	extended := mat.NewDense(n, d+1, nil)
	for i := range n {
		row := extended.RawRowView(i)
		copy(row, f.x[i*d:(i+1)*d])
		row[d] = 1
	}
	var s mat.SymDense
	s.SymOuterK(bound, extended.T())
	for i := range d {
		s.SetSym(i, i, s.At(i, i)+1)
	}
	f.metric = make([]mat.Cholesky, 1)
	if norm := mat.Norm(&s, 1); math.IsInf(norm, 0) || math.IsNaN(norm) || !f.metric[0].Factorize(&s) {
		return fmt.Errorf("logistic regression: the inputs are too large, or differ too much in size")
	}
	return nil
}

// sharpest is the most columns for which the second derivatives are worth their time.
const sharpest = 32

// sharpen makes the metric the second derivatives at w of every output alone.
func (f *logisticLoss) sharpen(w []float64) {
	n, d, k := len(f.class), f.columns, f.outputs
	if d > sharpest {
		return
	}
	weights := make([]float64, n*k)
	kernel.For(chunks, func(_, part int) {
		for i := min(part*f.chunk, n); i < min((part+1)*f.chunk, n); i++ {
			p := weights[i*k : (i+1)*k]
			if f.logits(w, f.x[i*d:(i+1)*d], p); k == 1 {
				p[0] = 1 / (1 + math.Exp(-p[0]))
			} else {
				softmax(p)
			}
			for j, v := range p {
				p[j] = f.c * v * (1 - v)
			}
		}
	})
	metric := make([]mat.Cholesky, k)
	good := make([]bool, k)
	kernel.For(k, func(_, j int) {
		h := make([]float64, (d+1)*(d+1)) // its upper triangle
		for i := range n {
			v := weights[i*k+j]
			if v < 1e-9*f.c {
				continue
			}
			x := f.x[i*d : (i+1)*d]
			for a, y := range x {
				y *= v
				row := h[a*(d+1)+a : (a+1)*(d+1)]
				for b, z := range x[a:] {
					row[b] += y * z
				}
				row[d-a] += y
			}
			h[len(h)-1] += v
		}
		for a := range d {
			h[a*(d+2)]++
		}
		h[len(h)-1] += 1e-6 * f.c * float64(n) // where no row is in doubt
		good[j] = metric[j].Factorize(mat.NewSymDense(d+1, h))
	})
	if !slices.Contains(good, false) {
		f.metric = metric
	}
}

// precondition replaces g by the metric's inverse times g.
func (f *logisticLoss) precondition(g []float64) error {
	v := mat.NewDense(f.columns+1, f.outputs, g)
	if len(f.metric) == 1 {
		return f.metric[0].SolveTo(v, v)
	}
	column := mat.NewVecDense(f.columns+1, nil)
	for j := range f.metric {
		column.CopyVec(v.ColView(j))
		if err := f.metric[j].SolveVecTo(column, column); err != nil {
			return err
		}
		for i := range f.columns + 1 {
			v.Set(i, j, column.AtVec(i))
		}
	}
	return nil
}

// at returns the objective at w and writes its gradient.
func (f *logisticLoss) at(w, gradient []float64) float64 {
	kernel.For(chunks, func(_, part int) { f.part(part, w) })
	clear(gradient)
	var value float64
	for i, s := range f.slopes {
		value += f.sums[i]
		for j, v := range s {
			gradient[j] += v
		}
	}
	for j, v := range w[:f.columns*f.outputs] {
		value += v * v / 2
		gradient[j] += v
	}
	return value
}

// part sums up the loss of one part of the rows.
func (f *logisticLoss) part(part int, w []float64) {
	n, d, k := len(f.class), f.columns, f.outputs
	slope := f.slopes[part]
	clear(slope)
	p := make([]float64, k)
	var sum float64
	for i := min(part*f.chunk, n); i < min((part+1)*f.chunk, n); i++ {
		x, class := f.x[i*d:(i+1)*d], int(f.class[i])
		f.logits(w, x, p)
		if k == 1 {
			v, y := p[0], float64(class)
			sum += max(v, 0) - y*v + math.Log1p(math.Exp(-math.Abs(v)))
			p[0] = 1/(1+math.Exp(-v)) - y
		} else {
			own := p[class]
			sum += softmax(p) - own
			p[class]--
		}
		for c, v := range x {
			row := slope[c*k : c*k+k]
			for j, q := range p {
				row[j] += v * q
			}
		}
		for j, q := range p {
			slope[d*k+j] += q
		}
	}
	f.sums[part] = f.c * sum
	for j := range slope {
		slope[j] *= f.c
	}
}
