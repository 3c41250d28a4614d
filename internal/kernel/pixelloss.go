package kernel

// The functions of this file compute sums over pixels for reconstruction losses, and their gradients. They run on the
// caller's thread: callers divide images into blocks and add the sums of the blocks.

// SigmoidError returns the sum of (sigmoid(l) - x)^2, and sets s to sigmoid(l).
func SigmoidError(s, l, x []float32) float64 {
	vectorized := len(l) &^ 15
	var acc [16]float32
	if vectorized > 0 {
		sigmoidErrorLanes(&acc, s[:vectorized], l[:vectorized], x[:vectorized])
	}
	total := addLanes(&acc)
	for j := vectorized; j < len(l); j++ {
		s[j] = sigmoid1(l[j])
		d := float64(s[j] - x[j])
		total += d * d
	}
	return total
}

// SquaredError returns the sum of (l - x)^2.
func SquaredError(l, x []float32) float64 {
	vectorized := len(l) &^ 15
	var acc [16]float32
	if vectorized > 0 {
		squaredErrorLanes(&acc, l[:vectorized], x[:vectorized])
	}
	total := addLanes(&acc)
	for j := vectorized; j < len(l); j++ {
		d := float64(l[j] - x[j])
		total += d * d
	}
	return total
}

// LogisticError returns the sum of ln(1+e^l) - x l: the cross-entropy of x and sigmoid(l).
func LogisticError(l, x []float32) float64 {
	vectorized := len(l) &^ 15
	var acc [16]float32
	if vectorized > 0 {
		logisticErrorLanes(&acc, l[:vectorized], x[:vectorized])
	}
	total := addLanes(&acc)
	for j := vectorized; j < len(l); j++ {
		total += float64(softplus1(l[j]) - x[j]*l[j])
	}
	return total
}
