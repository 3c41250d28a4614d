package kernel

// Arithmetic holds functions on slices of one element type.
type Arithmetic[T Float] struct {
	Add       func(dst, x []T)                      // dst += x
	AddScaled func(dst []T, a T, x []T)             // dst += a x
	Scale     func(dst []T, a T, x []T)             // dst = a x
	Mix       func(dst []T, a T, x []T, b T, y []T) // dst = a x + b y
	Multiply  func(dst, x, y []T)                   // dst = x y
	Largest   func(dst, x []T)                      // dst = max(dst, x), NaN if either is NaN
	Claim     func(dst, left, x, y []T)             // dst += left, left = 0 where x = y
}

// ArithmeticOf returns assembly for float32, and Go for float64.
func ArithmeticOf[T Float]() Arithmetic[T] {
	if a, ok := any(Arithmetic[float32]{Add, AddScaled, Scale, Mix, Multiply, Largest, Claim}).(Arithmetic[T]); ok {
		return a
	}
	return Arithmetic[T]{addGo[T], addScaledGo[T], scaleGo[T], mixGo[T], multiplyGo[T], largestGo[T], claimGo[T]}
}
