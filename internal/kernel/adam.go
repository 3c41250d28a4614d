package kernel

import (
	"math"
)

// AdamConstants are the settings of an Adam update (Kingma and Ba 2015, algorithm 1 in the form at the end of section
// 2).
type AdamConstants struct {
	LearningRate, Beta1, Beta2, Epsilon float64
	Clip                                float64 // scale factor of the gradients, applied first
}

// At returns the constants of update number step (from 1), in the order of the update kernels: Beta1, 1-Beta1, Beta2,
// 1-Beta2, and with r = sqrt(1-Beta2^step) the rate LearningRate r/(1-Beta1^step), Epsilon r and Clip.
func (k AdamConstants) At(step int) (c [8]float32) {
	root := math.Sqrt(1 - math.Pow(k.Beta2, float64(step)))
	rate := k.LearningRate * root / (1 - math.Pow(k.Beta1, float64(step)))
	for i, v := range []float64{k.Beta1, 1 - k.Beta1, k.Beta2, 1 - k.Beta2, rate, k.Epsilon * root, k.Clip} {
		c[i] = float32(v)
	}
	return c
}

// Adam updates all parameters of a model. It is not safe for concurrent use.
type Adam struct {
	// Undecayed reports for each tensor whether it has no weight decay; nil: all tensors have weight decay.
	Undecayed []bool

	p, m, v, g [][]float32
	pieces     *Pieces
	c          [8]float32
	decay      float32
	body       func(worker, tensor, from, to int)
}

// NewAdam prepares the update of parameters p with first and second moments m and v, all in place.
func NewAdam(p, m, v [][]float32) *Adam {
	a := &Adam{p: p, m: m, v: v, g: make([][]float32, len(p)), pieces: NewPieces(p)}
	a.body = a.update
	return a
}

// Norm returns the Euclidean norm over all gradients.
func (a *Adam) Norm(gradients [][]float32) float64 { return a.pieces.Norm(gradients) }

// Update applies update number step (from 1):
//
//	g = Clip gradient, m = Beta1 m + (1-Beta1) g, v = Beta2 v + (1-Beta2) g^2
//	p -= LearningRate sqrt(1-Beta2^step)/(1-Beta1^step) m/(sqrt(v) + Epsilon sqrt(1-Beta2^step))
//
// which equals the textbook form p -= LearningRate mhat/(sqrt(vhat)+Epsilon). With weight decay d, p is first
// multiplied by 1 - LearningRate d (Loshchilov and Hutter 2019).
func (a *Adam) Update(gradients [][]float32, step int, k AdamConstants, decay float64) {
	copy(a.g, gradients)
	a.c = k.At(step)
	a.decay = float32(1 - k.LearningRate*decay)
	a.pieces.Each(a.body)
}

func (a *Adam) update(_, i, from, to int) {
	p := a.p[i][from:to]
	if a.decay != 1 && (a.Undecayed == nil || !a.Undecayed[i]) {
		Scale(p, a.decay, p)
	}
	adam(p, a.m[i][from:to], a.v[i][from:to], a.g[i][from:to], &a.c)
}

// Direction is the update direction of [Adam], without parameters.
type Direction struct{ c [8]float32 }

// NewDirection returns the direction of update number step for a learning rate of 1.
func NewDirection(k AdamConstants, step int) Direction {
	k.LearningRate = -1
	return Direction{k.At(step)}
}

// NewQuotient returns the direction g/(sqrt(v)+epsilon). It does not change v. m may be g.
func NewQuotient(epsilon float64) Direction {
	return Direction{[8]float32{1: 1, 2: 1, 4: -1, 5: float32(epsilon), 6: 1}}
}

// Step updates the moments m and v with gradients g, and sets d to the amount that Adam subtracts from the parameters.
func (k *Direction) Step(d, m, v, g []float32) {
	clear(d)
	adam(d, m, v, g, &k.c)
}
