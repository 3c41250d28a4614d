package geometry_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

type expected struct {
	Value     []float64
	Tolerance float64
}

func load(t *testing.T, file string, dst any) {
	t.Helper()
	must.ReadJSON(t, "testdata/"+file, dst)
}

func (e expected) compare(t *testing.T, name string, got ...float64) {
	t.Helper()
	if len(got) != len(e.Value) {
		t.Errorf("%s: %v, want %v", name, got, e.Value)
		return
	}
	for i, want := range e.Value {
		if !(math.Abs(got[i]-want) <= e.Tolerance) {
			t.Errorf("%s: %v, want %v within %v", name, got, e.Value, e.Tolerance)
			return
		}
	}
}

func TestSets(t *testing.T) {
	var sets []struct {
		Name     string
		Columns  int
		Points   []float64
		Expected map[string]expected
	}
	load(t, "sets.json", &sets)
	for _, s := range sets {
		t.Run(s.Name, func(t *testing.T) {
			ball := must.Get(enclosingBall(s.Points, s.Columns))(t)
			median := must.Get(geometricMedian(s.Points, s.Columns))(t)
			diameter, i, j, err := diameter(s.Points, s.Columns)
			must.OK(t, err)
			if d := distance(s.Points, s.Columns, i, s.Points[j*s.Columns:]); !(math.Abs(d-diameter) <= 1e-12*d) {
				t.Errorf("diameter %v between points %d and %d, whose distance is %v", diameter, i, j, d)
			}
			s.Expected["enclosing_ball_radius"].compare(t, "radius", ball.Radius)
			s.Expected["enclosing_ball_center"].compare(t, "centre of the ball", ball.Centre...)
			s.Expected["geometric_median_mean_distance"].compare(t, "mean distance", median.MeanDistance)
			if e, ok := s.Expected["geometric_median"]; ok {
				e.compare(t, "median", median.Centre...)
			}
			s.Expected["diameter"].compare(t, "diameter", diameter)
			checkBall(t, s.Points, s.Columns, ball)
			checkMedian(t, s.Points, s.Columns, median)
		})
	}
}

// distance returns the distance of point i from c.
func distance(points []float64, columns, i int, c []float64) float64 {
	d := 0.0
	for j, v := range points[i*columns : (i+1)*columns] {
		d = math.Hypot(d, v-c[j])
	}
	return d
}

// extent returns an upper bound of the distances between points.
func extent(points []float64, columns int) float64 {
	e := 0.0
	for i := range len(points) / columns {
		e = max(e, distance(points, columns, i, points))
	}
	return 2 * e
}

// magnitude returns the largest absolute value.
func magnitude(x []float64) float64 {
	m := 0.0
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// checkBall tests the optimality conditions of the smallest ball: it contains all points, and its centre is a weighted
// mean of points on its surface.
func checkBall(t *testing.T, points []float64, columns int, b *geometry.Ball) {
	t.Helper()
	size := magnitude(points)
	tolerance := 1e-11*extent(points, columns) + 1e-15*size
	sum, centre, square := 0.0, make([]float64, columns), 0.0
	for i, l := range b.Multipliers {
		d := distance(points, columns, i, b.Centre)
		if !(l >= 0 && d <= b.Radius+tolerance) {
			t.Errorf("point %d: multiplier %v, distance %v, radius %v", i, l, d, b.Radius)
		}
		sum, square = sum+l, square+l*d*d
		for j := range centre {
			centre[j] += l * (points[i*columns+j] - b.Centre[j])
		}
	}
	if !(math.Abs(sum-1) <= 1e-12) || !(magnitude(centre) <= tolerance) || !(math.Abs(math.Sqrt(square)-b.Radius) <= tolerance) {
		t.Errorf("multipliers add up to %v, miss the centre by %v, and give the radius %v, want %v", sum, centre, math.Sqrt(square), b.Radius)
	}
	dx := make([]float64, len(points))
	b.Gradient(3, dx)
	for i, l := range b.Multipliers {
		for j := range columns {
			want := 0.0
			if b.Radius > 0 {
				want = 3 * l * (points[i*columns+j] - b.Centre[j]) / b.Radius
			}
			if !(math.Abs(dx[i*columns+j]-want) <= 1e-9+1e-14*size/max(b.Radius, 1e-300)) {
				t.Errorf("gradient of point %d is %v in column %d, want %v", i, dx[i*columns+j], j, want)
			}
		}
	}
}

// checkMedian tests the optimality condition: the sum of unit vectors to the points is 0. For points at the median, the
// vectors may be shorter.
func checkMedian(t *testing.T, points []float64, columns int, m *geometry.Median) {
	t.Helper()
	n, mean, size := len(points)/columns, 0.0, magnitude(points)
	dx, sum := make([]float64, len(points)), make([]float64, columns)
	m.Gradient(float64(n), dx)
	for i := range n {
		g, d := dx[i*columns:(i+1)*columns], distance(points, columns, i, m.Centre)
		mean += d / float64(n)
		if l := distance(dx, columns, i, make([]float64, columns)); !(l <= 1+1e-9) {
			t.Errorf("gradient of point %d has length %v/n", i, l)
		}
		for j, v := range g {
			sum[j] += v
			want := (points[i*columns+j] - m.Centre[j]) / d
			if off := 1e-9 + 1e-14*size/d; d > 1e-12*size && !(math.Abs(v-want) <= off) {
				t.Errorf("gradient of point %d is %v in column %d, want %v", i, v, j, want)
			}
		}
	}
	if !(magnitude(sum) <= 1e-9*float64(n)) || !(math.Abs(mean-m.MeanDistance) <= 1e-11*extent(points, columns)+1e-15*size) {
		t.Errorf("gradients add up to %v; mean distance %v, want %v", sum, m.MeanDistance, mean)
	}
}

// draw samples sets of points that are difficult for the algorithms.
func draw(r *rand.Rand, n, columns, kind int) []float64 {
	x := make([]float64, n*columns)
	for i := range x {
		row, column := float64(i/columns), float64(i%columns)
		switch kind % 10 {
		case 0:
			x[i] = r.NormFloat64()
		case 1:
			x[i] = float64(r.IntN(3)) // a grid
		case 2:
			x[i] = float64(r.IntN(2))*2 - 1 // corners of a cube
		case 3:
			x[i] = math.Mod(row, 5)*(1+column) + math.Mod(row, 3) // a plane
		case 4:
			x[i] = float64(float32(row * (1 + column) / 7)) // nearly a line
		case 5:
			x[i] = float64(r.IntN(11)) / 10
		case 6:
			x[i] = 1e8 + r.NormFloat64()
		case 7:
			x[i] = 1e-150 * r.NormFloat64()
		case 8:
			x[i] = math.Exp(5 * r.NormFloat64()) // heavy-tailed
		case 9:
			x[i] = math.Floor(row/3) + 1e-9*r.NormFloat64() // nearly equal points
		}
	}
	return x
}

// problem returns random points and targets. It spreads nearly equal points, which amplify rounding errors 1e9 times.
func problem(r *rand.Rand, n, columns, targets, kind int) (x, y []float64) {
	x, y = draw(r, n, columns, kind), draw(r, n, targets, kind/10)
	if kind%10 == 4 || kind%10 >= 8 {
		for i := range x {
			x[i] = float64(float32(math.Sqrt(math.Abs(x[i])) + 1e-5*r.NormFloat64()))
		}
	}
	return x, y
}

// cases returns the number of random cases to run: n/4, or n with -long.
func cases(n int) int {
	if long.Enabled() {
		return n
	}
	return n / 4
}

func TestDrawnSets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for c := range cases(6000) {
		columns, n := 1+r.IntN(9), 1+r.IntN(40)
		if c%300 == 0 {
			n = 1000
		}
		points := draw(r, n, columns, c)
		t.Run(fmt.Sprintf("case %d, %d x %d", c, n, columns), func(t *testing.T) {
			ball := must.Get(enclosingBall(points, columns))(t)
			checkBall(t, points, columns, ball)
			median := must.Get(geometricMedian(points, columns))(t)
			checkMedian(t, points, columns, median)
		})
	}
}

// Reused memory does not change results.
func TestReuse(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	ball, median, fit := new(geometry.Ball), new(geometry.Median), new(geometry.Regression)
	for c := range 200 {
		columns, n := 1+r.IntN(4), 1+r.IntN(20)
		points, y := draw(r, n, columns, c), draw(r, n, 1, c/10)
		must.OK(t, ball.Enclose(points, columns))
		if fresh, _ := enclosingBall(points, columns); fresh.Radius != ball.Radius {
			t.Errorf("case %d: radius %v with used memory, %v with new", c, ball.Radius, fresh.Radius)
		}
		must.OK(t, median.Fit(points, columns))
		if fresh, _ := geometricMedian(points, columns); fresh.MeanDistance != median.MeanDistance {
			t.Errorf("case %d: mean distance %v with used memory, %v with new", c, median.MeanDistance, fresh.MeanDistance)
		}
		must.OK(t, fit.LeastAbsolute(points, columns, y, 1))
		if fresh, _ := leastAbsolute(points, columns, y, 1); fresh.Errors[0] != fit.Errors[0] {
			t.Errorf("case %d: least absolute deviation %v with used memory, %v with new", c, fit.Errors[0], fresh.Errors[0])
		}
		must.OK(t, fit.Minimax(points, columns, y, 1))
		if fresh, _ := minimax(points, columns, y, 1); fresh.Errors[0] != fit.Errors[0] {
			t.Errorf("case %d: largest error %v with used memory, %v with new", c, fit.Errors[0], fresh.Errors[0])
		}
	}
}

func TestHardSets(t *testing.T) {
	line := []float64{0, 0, 1, 1, 2, 2, 10, 10}
	m, err := geometricMedian(line, 2)
	if err != nil || !(math.Abs(m.Centre[0]-1.5) <= 1e-15) || m.Centre[0] != m.Centre[1] {
		t.Errorf("median of four points on a line: %v (%v), want the middle of the two in the middle", m.Centre, err)
	}
	d, i, j, err := diameter([]float64{0, 0, 0, 1, 1, 0, 1, 1}, 2)
	if err != nil || !(math.Abs(d-math.Sqrt2) <= 1e-15) || i != 0 || j != 3 {
		t.Errorf("diameter of a square: %v of points %d and %d (%v), want the first diagonal", d, i, j, err)
	}
	b, err := enclosingBall([]float64{2, 2, 2, 2}, 2)
	if err != nil || b.Radius != 0 || b.Multipliers[0] != 1 || b.Centre[0] != 2 {
		t.Errorf("ball of a repeated point: %+v (%v)", b, err)
	}
	dx := []float64{1, 1, 1, 1}
	if b.Gradient(1, dx); magnitude(dx) != 0 {
		t.Errorf("gradient of a radius of 0 is %v, want 0", dx)
	}
	// Two of three points are equal and are the median; they share its gradient.
	m, err = geometricMedian([]float64{0, 0, 0, 0, 3, 4}, 2)
	if m.Gradient(3, make([]float64, 6)); err != nil || m.MeanDistance != 5.0/3 {
		t.Errorf("median of a majority: %+v (%v)", m, err)
	}
	shared := make([]float64, 6)
	m.Gradient(3, shared)
	for k, want := range []float64{-0.3, -0.4, -0.3, -0.4, 0.6, 0.8} {
		if !(math.Abs(shared[k]-want) <= 1e-15) {
			t.Errorf("gradient %v, want the pull of the third point shared by the others", shared)
			break
		}
	}
}

func TestErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		points  []float64
		columns int
		want    string
	}{
		{nil, 2, "no points"},
		{[]float64{1, 2, 3}, 2, "3 numbers are no points of 2 columns"},
		{[]float64{1}, 0, "want 1 column or more"},
		{[]float64{1, 2, 3, nan}, 2, "NaN in row 1"},
		{[]float64{inf, 0}, 2, "+Inf in row 0"},
		{[]float64{1e308, -1e308}, 1, "finite differences"},
	} {
		for name, f := range map[string]func() error{
			"ball":     func() error { _, err := enclosingBall(c.points, c.columns); return err },
			"median":   func() error { _, err := geometricMedian(c.points, c.columns); return err },
			"diameter": func() error { _, _, _, err := diameter(c.points, c.columns); return err },
			"squares": func() error {
				y := make([]float64, len(c.points)/max(c.columns, 1))
				_, err := leastSquares(c.points, c.columns, y, 1, 0)
				return err
			},
		} {
			must.Error(t, f(), c.want, name, c.points)
		}
	}
	must.ErrorOf(leastSquares([]float64{1, 2}, 1, []float64{1}, 1, 0))(t, "1 and 2")
	for _, ridge := range []float64{-1, nan, inf} {
		if _, err := leastSquares([]float64{1}, 1, []float64{1}, 1, ridge); err == nil {
			t.Errorf("a ridge of %v passes", ridge)
		}
	}
	if _, err := minimax([]float64{1, 2}, 1, []float64{1e308, -1e308}, 1); err == nil {
		t.Error("targets with an infinite difference pass")
	}
}

func codes(t testing.TB, encoder string) (x []float64, columns int, y []float64) {
	t.Helper()
	x, columns, err := (&drawn.Entangled{Encoder: encoder, Levels: 11}).Codes(0)
	must.OK(t, err)
	for i := range 11 * 11 * 11 {
		y = append(y, float64(i/121)/10, float64(i/11%11)/10, float64(i%11)/10)
	}
	return x, columns, y
}

func TestPaperRegressions(t *testing.T) {
	var want map[string]map[string]expected
	load(t, "regressions.json", &want)
	for encoder, e := range want {
		if encoder == "random" {
			continue // its codes are random
		}
		t.Run(encoder, func(t *testing.T) {
			x, columns, y := codes(t, encoder)
			squares := must.Get(leastSquares(x, columns, y, 3, 0))(t)
			e["mse_per_factor_raw"].compare(t, "mse", squares.Errors...)
			ball := must.Get(enclosingBall(squares.Residuals, 3))(t)
			e["me_paper"].compare(t, "me", math.Exp(-ball.Radius))
			absolute := must.Get(leastAbsolute(x, columns, y, 3))(t)
			e["mae_per_factor_raw"].compare(t, "mae", absolute.Errors...)
			largest := must.Get(minimax(x, columns, y, 3))(t)
			e["me_chebyshev_per_factor_raw"].compare(t, "chebyshev", largest.Errors...)
			for k, f := range []*geometry.Regression{squares, absolute, largest} {
				checkFit(t, x, columns, y, 3, f, k)
			}
		})
	}
}
