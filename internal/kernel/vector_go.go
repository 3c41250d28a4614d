package kernel

import (
	"math"
)

// Go versions of the assembly functions.

func sigmoid64(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func sigmoid1(x float32) float32 { return float32(sigmoid64(float64(x))) }

func softplus64(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func softplus1(x float32) float32 { return float32(softplus64(float64(x))) }

func addGo[T Float](dst, x []T) {
	for i, v := range x {
		dst[i] += v
	}
}

func addScaledGo[T Float](dst []T, a T, x []T) {
	for i, v := range x {
		dst[i] += a * v
	}
}

func scaleGo[T Float](dst []T, a T, x []T) {
	for i, v := range x {
		dst[i] = a * v
	}
}

func columnSumGo(dst, src []float32, rows, stride int) {
	for r := range rows {
		for j, v := range src[r*stride:][:16] {
			dst[j] += v
		}
	}
}

func sumLanesGo(acc *[16]float32, x []float32) {
	for i, v := range x {
		acc[i&15] += v
	}
}

func sumSquaresLanesGo(acc *[16]float32, x []float32) {
	for i, v := range x {
		acc[i&15] += v * v
	}
}

func dotLanesGo(acc *[16]float32, x, y []float32) {
	for i, v := range x {
		acc[i&15] += v * y[i]
	}
}

func squaredErrorLanesGo(acc *[16]float32, x, y []float32) {
	for i, v := range x {
		d := v - y[i]
		acc[i&15] += d * d
	}
}

func sigmoidErrorLanesGo(acc *[16]float32, s, l, x []float32) {
	for i, v := range l {
		s[i] = sigmoid1(v)
		d := s[i] - x[i]
		acc[i&15] += d * d
	}
}

func logisticErrorLanesGo(acc *[16]float32, l, x []float32) {
	for i, v := range l {
		acc[i&15] += softplus1(v) - x[i]*v
	}
}

func sigmoidErrorGradGo(dst, s, x []float32, a float32) {
	for i, v := range s {
		dst[i] = a * (v - x[i]) * (v * (1 - v))
	}
}

func logisticErrorGradGo(dst, l, x []float32, a float32) {
	for i, v := range l {
		dst[i] = a * (sigmoid1(v) - x[i])
	}
}

func adamGo(p, m, v, g []float32, c *[8]float32) {
	for i := range p {
		d := c[6] * g[i]
		m[i] = c[0]*m[i] + c[1]*d
		v[i] = c[2]*v[i] + c[3]*(d*d)
		p[i] -= c[4] * m[i] / (float32(math.Sqrt(float64(v[i]))) + c[5])
	}
}
