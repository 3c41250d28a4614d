package graph

import "math"

// of returns the aggregate of quantities; 0 if there are none.
func (a Aggregate) of(q []float64) float64 {
	if len(q) == 0 {
		return 0
	}
	if a == Max {
		return q[first(q)]
	}
	sum := 0.0
	for _, v := range q {
		if a == MeanSquare {
			v *= v
		}
		sum += v
	}
	if a == Sum {
		return sum
	}
	return sum / float64(len(q))
}

// slope sets dq to the gradient of the aggregate.
func (a Aggregate) slope(q, dq []float64) {
	n := float64(len(q))
	for i, v := range q {
		switch a {
		case Mean:
			dq[i] = 1 / n
		case Max:
			dq[i] = 0
		case Sum:
			dq[i] = 1
		case MeanSquare:
			dq[i] = 2 * v / n
		}
	}
	if a == Max && len(q) > 0 {
		dq[first(q)] = 1
	}
}

// first returns the index of the first of the largest quantities, or of the first
// that is not a number.
func first(q []float64) int {
	at := 0
	for i, v := range q {
		if math.IsNaN(v) {
			return i
		}
		if v > q[at] {
			at = i
		}
	}
	return at
}
