package metrics_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// groupSample is a random sample of a circle or of SO(3). It has perfect codes of the rows, and of points with the
// moments of the whole group.
type groupSample struct {
	what      string
	factor    factor.Factor
	levels    []int
	codes     [][]float64
	points    [][]float64
	angles    []float64    // of the points
	rotations [][9]float64 // of the points
	uneven    bool         // the rows do not cover the group evenly
}

func rotationOf(a, b, c, d float64) [9]float64 {
	n := math.Sqrt(a*a + b*b + c*c + d*d)
	a, b, c, d = a/n, b/n, c/n, d/n
	return [9]float64{1 - 2*(c*c+d*d), 2 * (b*c - a*d), 2 * (b*d + a*c), 2 * (b*c + a*d), 1 - 2*(b*b+d*d), 2 * (c*d - a*b),
		2 * (b*d - a*c), 2 * (c*d + a*b), 1 - 2*(b*b+c*c)}
}

// turnBy returns the rotation about an axis of any length.
func turnBy(x, y, z, angle float64) [9]float64 {
	s, c := math.Sincos(angle / 2)
	n := math.Sqrt(x*x + y*y + z*z)
	return rotationOf(c, s*x/n, s*y/n, s*z/n)
}

func multiply(a, b [9]float64) (c [9]float64) {
	for i := range 9 {
		for k := range 3 {
			c[i] += a[i/3*3+k] * b[3*k+i%3]
		}
	}
	return c
}

func turned(g [9]float64, v []float64) []float64 {
	z := make([]float64, 3)
	for i := range 9 {
		z[i/3] += g[i] * v[i%3]
	}
	return z
}

func circlePoint(w, angle float64) []float64 {
	sin, cos := math.Sincos(w * angle)
	return []float64{cos, sin}
}

func drawCircle(s *rand.Rand, n int) *groupSample {
	g := &groupSample{factor: factor.Factor{Kind: factor.Circular}}
	w, arc, from := float64(1+s.IntN(10)), 2*math.Pi, 6*s.Float64()
	size := 360
	switch s.IntN(3) {
	case 0:
		size = 5 + s.IntN(60)
		w = float64(1 + s.IntN((size-1)/2)%10)
		g.factor.Size = size
		g.what = fmt.Sprintf("%d levels", size)
	case 1:
		g.what = "whole circle"
	default:
		arc *= 0.1 + 0.5*s.Float64()
		g.what, g.uneven = fmt.Sprintf("arc of %.0f degrees", arc*180/math.Pi), true
	}
	g.what += fmt.Sprintf(", w %v", w)
	for i := range n {
		if g.factor.Angles == nil && size < 360 {
			i = s.IntN(size)
		} else {
			g.factor.Angles, g.factor.Size = append(g.factor.Angles, math.Mod(from+arc*s.Float64(), 2*math.Pi)), i+1
		}
		g.levels, g.codes = append(g.levels, i), append(g.codes, circlePoint(w, g.factor.Angle(i)))
	}
	for l := range size {
		angle := 2 * math.Pi * float64(l) / float64(size)
		g.angles, g.points = append(g.angles, angle), append(g.points, circlePoint(w, angle))
	}
	return g
}

func drawRotations(s *rand.Rand, n int) *groupSample {
	g := &groupSample{factor: factor.Factor{Kind: factor.Categorical, Size: n}}
	v, spread := []float64{s.NormFloat64(), s.NormFloat64(), s.NormFloat64()}, 0.3+s.Float64()
	kind := s.IntN(4)
	g.what = []string{"all rotations", fmt.Sprintf("rotations around one, %.2f", spread), "rotations by .3", "azimuth and elevation"}[kind]
	g.uneven = kind > 0
	for i := range n {
		var r [9]float64
		x, y, z := spread*s.NormFloat64(), spread*s.NormFloat64(), spread*s.NormFloat64()
		switch kind {
		case 0:
			r = rotationOf(s.NormFloat64(), x/spread, y/spread, z/spread)
		case 1:
			r = turnBy(x, y, z, math.Sqrt(x*x+y*y+z*z))
		case 2:
			r = turnBy(x, y, z, 0.3)
		default:
			r = multiply(turnBy(0, 1, 0, -s.Float64()*math.Pi/3), turnBy(0, 0, 1, 2*math.Pi*s.Float64()))
		}
		g.factor.Rotations, g.levels = append(g.factor.Rotations, r), append(g.levels, i)
		g.codes = append(g.codes, turned(r, v))
	}
	// rotations of an octahedron: quarter turns about two axes
	for a := range 4 {
		for b := range 6 {
			r := multiply(turnBy(0, 0, 1, float64(a)*math.Pi/2), turnBy(0, 1, 0, float64(b)*math.Pi/2))
			if b > 3 {
				r = multiply(turnBy(0, 0, 1, float64(a)*math.Pi/2), turnBy(1, 0, 0, (2*float64(b)-9)*math.Pi/2))
			}
			g.rotations, g.points = append(g.rotations, r), append(g.points, turned(r, v))
		}
	}
	return g
}

// codesSample is a sample of a product of groups, with perfect codes after a linear map, plus noise.
type codesSample struct {
	in      *Input
	groups  []*groupSample
	what    string
	noise   float64
	linear  []float64 // codes x perfect codes
	objects int
}

func drawCodes(s *rand.Rand, noise float64) *codesSample {
	n := int(300 * math.Pow(4, s.Float64()))
	c := &codesSample{in: &Input{}, what: fmt.Sprint(n, " rows"), noise: noise}
	rows, width := make([][]float64, n), 0
	for j := range 1 + s.IntN(3) {
		g := drawCircle
		if s.IntN(4) == 0 {
			g = drawRotations
		}
		sample := g(s, n)
		sample.factor.Name = string(rune('a' + j))
		c.groups, c.what = append(c.groups, sample), c.what+"; "+sample.what
		c.in.Factors = append(c.in.Factors, sample.factor)
		for i, z := range sample.codes {
			rows[i] = append(rows[i], z...)
		}
		width += len(sample.codes[0])
	}
	objects := s.IntN(4)
	if objects > 0 {
		c.in.Factors = append(c.in.Factors, factor.Factor{Name: "object", Kind: factor.Categorical, Size: objects})
		c.what += fmt.Sprintf("; %d objects", objects)
	}
	c.objects = max(objects, 1)
	cols := width + s.IntN(3)
	for range cols * width {
		c.linear = append(c.linear, s.NormFloat64())
	}
	c.in.Codes = matrix.Matrix{Rows: n, Cols: cols}
	for i, row := range rows {
		object := 0
		for _, g := range c.groups {
			c.in.Levels = append(c.in.Levels, g.levels[i])
		}
		if objects > 0 {
			object = s.IntN(objects)
			c.in.Levels = append(c.in.Levels, object)
		}
		for a := range cols {
			v := float64(object*a) + noise*s.NormFloat64()
			for b, x := range row {
				v += c.linear[a*width+b] * x
			}
			c.in.Codes.Data = append(c.in.Codes.Data, v)
		}
	}
	return c
}

// equationSix returns D_k of the codes of group k by equations 6 and 7 of Tonnaer et al. 2022, with the norm of their
// code. It turns whitened codes back with a representation in the plane or space of the first components. D_k is the
// minimum over representations of the mean squared distance to the mean. D_k is arbitrary if the next component has
// more than half the variance of the last one.
func (c *codesSample) equationSix(k int) (value float64, arbitrary bool) {
	g, cols, first, width := c.groups[k], c.in.Codes.Cols, 0, 0
	for j, other := range c.groups {
		if j < k {
			first += len(other.codes[0])
		}
		width += len(other.codes[0])
	}
	n, r := float64(len(g.points)), len(g.codes[0])
	variance := c.noise * c.noise
	if g.factor.Angles == nil && g.factor.Rotations == nil {
		variance *= 1 - 1/n // centring subtracts the mean over levels
	}
	var mean = make([]float64, r)
	for _, p := range g.points {
		for b, x := range p {
			mean[b] += x / n
		}
	}
	points, covariance := make([][]float64, len(g.points)), mat.NewSymDense(cols, nil)
	for i, p := range g.points {
		points[i] = make([]float64, cols)
		for a := range cols {
			for b, x := range p {
				points[i][a] += c.linear[a*width+first+b] * (x - mean[b])
			}
		}
		covariance.SymRankOne(covariance, 1/n, mat.NewVecDense(cols, points[i]))
	}
	for a := range cols {
		covariance.SetSym(a, a, covariance.At(a, a)+variance)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		panic("no eigenvalues")
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	dims, values, noise := len(g.codes[0]), eigen.Values(nil), 0.0
	if cols > dims && values[cols-dims] < 2*values[cols-dims-1] {
		return 0, true
	}
	white := make([][]float64, len(points))
	for a := range dims {
		sigma := values[cols-1-a]
		noise += variance / (float64(dims) * sigma)
		for i, p := range points {
			sum := 0.0
			for j, x := range p {
				sum += axes.At(j, cols-1-a) * x / math.Sqrt(float64(dims)*sigma)
			}
			white[i] = append(white[i], sum)
		}
	}
	if g.rotations == nil {
		least := math.Inf(1)
		for w := -10.0; w <= 10; w++ {
			least = min(least, spread(white, func(i int, p []float64) []float64 {
				sin, cos := math.Sincos(w * g.angles[i])
				return []float64{cos*p[0] + sin*p[1], cos*p[1] - sin*p[0]}
			}))
		}
		return noise + least, false
	}
	// The mean of the points turned back is linear in Q. Compute it for each element of Q.
	var linear [9][]float64
	total := spread(white, func(_ int, p []float64) []float64 { return append([]float64{}, p...) })
	for e := range linear {
		var unit [9]float64
		unit[e] = 1
		linear[e] = make([]float64, 3)
		for i, p := range white {
			for a, x := range turned(transposedRotation(g.rotations[i]), turned(transposedRotation(unit), p)) {
				linear[e][a] += x / n
			}
		}
	}
	sum := func(q [9]float64) float64 { // -Q negates the mean
		sum := total
		for a := range 3 {
			m := 0.0
			for e, x := range q {
				m += x * linear[e][a]
			}
			sum -= m * m
		}
		return sum
	}
	starts := make([]descent, 40)
	for i := range starts {
		s := rng.New(uint64(i), "starts")
		starts[i] = descend(rotationOf(s.NormFloat64(), s.NormFloat64(), s.NormFloat64(), s.NormFloat64()), sum, 1, 0.05)
	}
	slices.SortFunc(starts, func(a, b descent) int { return cmp.Compare(a.value, b.value) })
	least := math.Inf(1)
	for _, s := range starts[:5] { // several may be near the same minimum
		least = min(least, descend(s.q, sum, 0.05, 1e-6).value)
	}
	return noise + least, false
}

// descent is a rotation and the value of a function there.
type descent struct {
	q     [9]float64
	value float64
}

// descend minimises f near a rotation. It turns about the three axes by an angle that it halves down to the last one.
func descend(q [9]float64, f func([9]float64) float64, angle, last float64) descent {
	d := descent{q, f(q)}
	for ; angle > last; angle /= 2 {
		var turns [][9]float64
		for axis := range 3 {
			e := [3]float64{}
			e[axis] = 1
			turns = append(turns, turnBy(e[0], e[1], e[2], angle), turnBy(e[0], e[1], e[2], -angle))
		}
		for better := true; better; {
			better = false
			for _, turn := range turns {
				if next := multiply(d.q, turn); f(next) < d.value-1e-15 {
					d, better = descent{next, f(next)}, true
				}
			}
		}
	}
	return d
}

func transposedRotation(g [9]float64) (t [9]float64) {
	for i := range 9 {
		t[i%3*3+i/3] = g[i]
	}
	return t
}

// spread returns the mean squared distance of points, turned back, to their mean.
func spread(points [][]float64, back func(i int, p []float64) []float64) (sum float64) {
	mean, n := make([]float64, len(points[0])), float64(len(points))
	for i, p := range points {
		for a, x := range back(i, p) {
			mean[a] += x / n
			sum += x * x / n
		}
	}
	for _, m := range mean {
		sum -= m * m
	}
	return sum
}

// Perfect codes score 0 and random codes about 1 on any sample of any product of groups. If the rows cover the group
// evenly, noisy codes score the value of equation 6 for the whole group.
func TestAnySample(t *testing.T) {
	long.NotShort(t)
	trials := make([]uint64, 1000)
	for i := range trials {
		trials[i] = uint64(i)
	}
	compared := 0
	for _, trial := range long.Sample(trials, 3) {
		s := rand.New(rand.NewPCG(trial, 5))
		c := drawCodes(s, 0)
		if r := compute(t, dlsbd(), c.in); !(r.Value <= 1e-10) {
			t.Errorf("%d %s: perfect codes score %v, %v", trial, c.what, r.Value, r.Part("per_subgroup"))
		}
		for i := range c.in.Codes.Data {
			c.in.Codes.Data[i] = s.NormFloat64()
		}
		if r := compute(t, dlsbd(), c.in); !(r.Value >= 0.85 && r.Value <= 1.05) {
			t.Errorf("%d %s: random codes score %v, %v", trial, c.what, r.Value, r.Part("per_subgroup"))
		}
		c = drawCodes(s, []float64{0.01, 0.1, 0.3, 1}[trial%4])
		r := compute(t, dlsbd(), c.in)
		if slices.ContainsFunc(r.Notes, func(s string) bool { return strings.Contains(s, "arbitrary") }) {
			continue
		}
		for k, got := range r.Part("per_subgroup") {
			if c.groups[k].uneven {
				continue
			}
			want, arbitrary := c.equationSix(k)
			if arbitrary { // a sample may have different first components
				continue
			}
			compared++
			near(t, fmt.Sprintf("%d: %s with noise %v of %s", trial, c.groups[k].what, c.noise, c.what), got, want,
				6*want/math.Sqrt(float64(c.in.Codes.Rows/c.objects)))
		}
	}
	if compared == 0 {
		t.Error("no factor was compared with equation 6")
	}
}

// Codes with a sum of representations are perfect by equation 6. D_LSBD of one plane has a note about this.
func TestSumsOfRepresentations(t *testing.T) {
	s := rng.New(3, "sums")
	mapped := func(z, m []float64) []float64 {
		out := make([]float64, 6)
		for a := range out {
			out[a] = dotOf(m[a*len(z):], z)
		}
		return out
	}
	poses := factor.Factor{Name: "pose", Size: 300, Kind: factor.Categorical}
	for range poses.Size {
		poses.Rotations = append(poses.Rotations, rotationOf(s.NormFloat64(), s.NormFloat64(), s.NormFloat64(), s.NormFloat64()))
	}
	ofPoses := func(encode func(g [9]float64) []float64) *Input {
		in := &Input{Codes: matrix.Matrix{Cols: 6}, Factors: []factor.Factor{poses}}
		for i, g := range poses.Rotations {
			in.Levels = append(in.Levels, i)
			in.Codes.Rows, in.Codes.Data = i+1, append(in.Codes.Data, encode(g)...)
		}
		return in
	}
	for range 5 {
		m := make([]float64, 36)
		for i := range m {
			m[i] = s.NormFloat64()
		}
		turns := input(func(a []float64) []float64 {
			return mapped(append(circlePoint(1, a[0]), append(circlePoint(2, a[0]), circlePoint(1, a[1])...)...), m)
		}, 24, 10)
		for want, in := range map[*regexp.Regexp]*Input{
			regexp.MustCompile(`turn with a in more columns than D_LSBD measures: for the sum of representations omega (1 \+ omega 2|2 \+ omega 1), D_LSBD is 0.000`): turns,
			regexp.MustCompile(`omega [12] \+ omega [12], D_LSBD is 0.000`):                                                                                           rowsOf(turns, 150),
			regexp.MustCompile(`degree 1 \+ degree 1, D_LSBD is 0.000`): ofPoses(func(g [9]float64) []float64 {
				return mapped(append(turned(g, []float64{1, 2, 3}), turned(g, []float64{1, 0, -2})...), m)
			}),
			regexp.MustCompile(`degree 2, D_LSBD is 0.000`): ofPoses(func(g [9]float64) []float64 {
				v := turned(g, []float64{1, 0, 0.3})
				return mapped([]float64{v[0]*v[0] - v[1]*v[1], v[0]*v[0] + v[1]*v[1] - 2*v[2]*v[2], v[0] * v[1], v[0] * v[2], v[1] * v[2]}, m)
			}),
		} {
			r := compute(t, dlsbd(), in)
			if !want.MatchString(fmt.Sprint(r.Notes)) && !(r.Part("per_subgroup")[0] <= 0.02) {
				t.Errorf("D_LSBD %v, notes %q; want %q", r.Part("per_subgroup"), r.Notes, want)
			}
		}
	}
	// Noise of variance v beside circles of variance 1/2 leaves v / (1/2 + v) of each column unexplained.
	in := input(func(a []float64) []float64 {
		z := append(circlePoint(1, a[0]), circlePoint(2, a[0])...)
		for i := range z {
			z[i] += s.NormFloat64() / 4
		}
		return z
	}, 48, 40)
	told := regexp.MustCompile(`D_LSBD is (0\.\d+)`).FindStringSubmatch(fmt.Sprint(compute(t, dlsbd(), in).Notes))
	if told == nil {
		t.Fatal("noisy circles have no note")
	}
	value, err := strconv.ParseFloat(told[1], 64)
	if want := 1. / 9; err != nil || !(math.Abs(value-want) <= 0.01) {
		t.Errorf("noisy circles have %v, want %v", told, want)
	}
	noise := func(a []float64) []float64 { return append(noisy(1, perfect)(a), s.NormFloat64(), s.NormFloat64()) }
	for name, in := range map[string]*Input{
		"one plane":    input(func(a []float64) []float64 { return append(noise(a)[4:], perfect(a)...) }, 24, 10),
		"random codes": input(func(a []float64) []float64 { return noise(append(a, 0)) }, 24, 10),
		"random poses": ofPoses(func([9]float64) []float64 { return append(noise([]float64{0, 0}), 0, 0)[:6] }),
	} {
		if r := compute(t, dlsbd(), in); strings.Contains(fmt.Sprint(r.Notes), "sum of") {
			t.Errorf("%s: notes %q", name, r.Notes)
		}
	}
}

func dotOf(a, b []float64) (sum float64) {
	for i, v := range b {
		sum += a[i] * v
	}
	return sum
}

// A note says when angles or rotations cover only a part of their group.
func TestCoverNote(t *testing.T) {
	for degrees, want := range map[float64]bool{30: true, 360: false} {
		in := &Input{Codes: matrix.Matrix{Cols: 2}, Factors: []factor.Factor{{Name: "turn", Kind: factor.Circular}}}
		s := rng.New(2, "arc")
		for i := range 100 {
			a := degrees / 180 * math.Pi * s.Float64()
			in.Factors[0].Angles, in.Factors[0].Size = append(in.Factors[0].Angles, a), i+1
			in.Levels = append(in.Levels, i)
			in.Codes.Rows, in.Codes.Data = i+1, append(in.Codes.Data, circlePoint(2, a)...)
		}
		r := compute(t, dlsbd(), in)
		near(t, "value", r.Value, 0, 1e-18)
		if got := strings.Contains(fmt.Sprint(r.Notes), "cover only a part of turn"); got != want {
			t.Errorf("arc of %v degrees: notes %q", degrees, r.Notes)
		}
	}
}

// Rotations about one axis form a circle.
func TestOneAxis(t *testing.T) {
	in := &Input{Codes: matrix.Matrix{Cols: 3}, Factors: []factor.Factor{{Name: "pose", Kind: factor.Categorical}}}
	for i := range 40 {
		g := turnBy(1, 2, 3, float64(i))
		in.Factors[0].Rotations, in.Factors[0].Size = append(in.Factors[0].Rotations, g), i+1
		in.Levels = append(in.Levels, i)
		in.Codes.Rows, in.Codes.Data = i+1, append(in.Codes.Data, turned(g, []float64{1, 0, 0})...)
	}
	must.ErrorOf(dlsbd().Compute(ctx, in))(t, "about one axis")
}
