package kernel

import (
	"math"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// AdamConstants are the settings of one Adam update (Kingma and Ba 2015,
// algorithm 1 in the form at the end of its section 2).
type AdamConstants struct {
	LearningRate, Beta1, Beta2, Epsilon float64
	Clip                                float64 // factor of the gradients, applied first
}

// Adam updates all parameters of a model. One goroutine at a time may use it.
type Adam struct {
	p, m, v, g [][]float32
	parts      []adamPart
	c          [8]float32
	decay      float32
	item       func(worker, i int)
	norms      []float64
	normItem   func(worker, i int)
}

type adamPart struct{ tensor, from, to int }

// NewAdam plans the update of parameters p with first and second moments m and v. All are updated in place.
func NewAdam(p, m, v [][]float32) *Adam {
	a := &Adam{p: p, m: m, v: v, g: make([][]float32, len(p))}
	for i := range p {
		for from := 0; from < len(p[i]); from += 4 * block {
			a.parts = append(a.parts, adamPart{i, from, min(from+4*block, len(p[i]))})
		}
	}
	a.norms = make([]float64, len(a.parts))
	a.item, a.normItem = a.update, a.norm
	return a
}

// Norm returns the Euclidean norm of all gradients together.
func (a *Adam) Norm(gradients [][]float32) float64 {
	copy(a.g, gradients)
	parallel.For(len(a.parts), a.normItem)
	var total float64
	for _, v := range a.norms {
		total += v
	}
	return math.Sqrt(total)
}

// Update applies update number step, counted from 1:
//
//	g = Clip gradient, m = Beta1 m + (1-Beta1) g, v = Beta2 v + (1-Beta2) g^2
//	p -= LearningRate sqrt(1-Beta2^step)/(1-Beta1^step) m/(sqrt(v) + Epsilon sqrt(1-Beta2^step))
//
// which is the textbook's p -= LearningRate mhat/(sqrt(vhat)+Epsilon). With decay d, p is
// first multiplied with 1 - LearningRate d (Loshchilov and Hutter 2019).
func (a *Adam) Update(gradients [][]float32, step int, k AdamConstants, decay float64) {
	copy(a.g, gradients)
	root := math.Sqrt(1 - math.Pow(k.Beta2, float64(step)))
	rate := k.LearningRate * root / (1 - math.Pow(k.Beta1, float64(step)))
	for i, v := range []float64{k.Beta1, 1 - k.Beta1, k.Beta2, 1 - k.Beta2, rate, k.Epsilon * root, k.Clip} {
		a.c[i] = float32(v)
	}
	a.decay = float32(1 - k.LearningRate*decay)
	parallel.For(len(a.parts), a.item)
}

func (a *Adam) update(_, i int) {
	q := a.parts[i]
	p := a.p[q.tensor][q.from:q.to]
	if a.decay != 1 {
		scale(p, p, a.decay)
	}
	adam(p, a.m[q.tensor][q.from:q.to], a.v[q.tensor][q.from:q.to], a.g[q.tensor][q.from:q.to], &a.c)
}

func (a *Adam) norm(_, i int) {
	q := a.parts[i]
	a.norms[i] = SumSquares(a.g[q.tensor][q.from:q.to])
}
