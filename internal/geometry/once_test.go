package geometry

// The functions of this file compute one optimum, with a type of its own.

func EnclosingBall(points []float64, columns int) (*Ball, error) {
	b := new(Ball)
	return b, b.Enclose(points, columns)
}

func GeometricMedian(points []float64, columns int) (*Median, error) {
	m := new(Median)
	return m, m.Fit(points, columns)
}

func Diameter(points []float64, columns int) (distance float64, i, j int, err error) {
	var p Pairs
	if err := p.Set(points, columns); err != nil {
		return 0, 0, 0, err
	}
	return p.Diameter()
}

func LeastSquares(x []float64, columns int, y []float64, targets int, ridge float64) (*Regression, error) {
	r := new(Regression)
	return r, r.LeastSquares(x, columns, y, targets, ridge)
}

func LeastAbsolute(x []float64, columns int, y []float64, targets int) (*Regression, error) {
	r := new(Regression)
	return r, r.LeastAbsolute(x, columns, y, targets)
}

func Minimax(x []float64, columns int, y []float64, targets int) (*Regression, error) {
	r := new(Regression)
	return r, r.Minimax(x, columns, y, targets)
}

func JointMinimax(x []float64, columns int, y []float64, targets int) (*Regression, error) {
	r := new(Regression)
	return r, r.JointMinimax(x, columns, y, targets)
}
