package graph

// deviation measures how far points are from being one point. An instance owns
// its scratch and is used by one goroutine at a time.
type deviation[T float] interface {
	// value returns the deviation of points x, rows x columns, rows >= 1.
	value(x []T, rows int) float64

	// gradient overwrites dx with scale times the gradient of the value at x; the
	// last call of value was on the same x.
	gradient(x []T, rows int, scale float64, dx []T)
}
