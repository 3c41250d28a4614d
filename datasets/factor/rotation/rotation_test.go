package rotation_test

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

const degrees = 180 / math.Pi

// distance returns the angle between two rotations in degrees.
func distance(a, b *[9]float64) float64 {
	between := rotation.Between(a, b)
	return rotation.Angle(&between) * degrees
}

func TestTables(t *testing.T) {
	for _, c := range []struct {
		name         string
		table        [][9]float64
		size         int
		group        bool
		near, far    float64 // least and largest angle to the nearest other rotation, in degrees
		mean, second float64 // bounds on the means of g_ij, and of g_ij g_kl minus its mean under the Haar measure
	}{
		{"octahedral", rotation.Octahedral(), 24, true, 90, 90, 1e-15, 1e-15},
		{"icosahedral", rotation.Icosahedral(), 60, true, 72, 72, 1e-15, 1e-15},
		{"Hopf 0", rotation.Hopf(0), 72, false, 58, 60, 1e-15, 0.0371},
		{"Hopf 1", rotation.Hopf(1), 576, false, 27.5, 30, 1e-15, 0.0082},
		{"Hopf 2", rotation.Hopf(2), 4608, false, 12.6, 15, 1e-15, 0.002},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.table) != c.size {
				t.Fatalf("%d rotations, want %d", len(c.table), c.size)
			}
			near, far := math.Inf(1), 0.0
			for i := range c.table {
				if !factor.IsRotation(&c.table[i]) {
					t.Fatalf("%d is no rotation: %v", i, c.table[i])
				}
				list := rotation.Neighbours(c.table, i, 1)
				d := distance(&c.table[i], &c.table[list[0]])
				near, far = min(near, d), max(far, d)
			}
			if !(near >= c.near-1e-6) || !(far <= c.far+1e-6) {
				t.Errorf("neighbours are %.3f to %.3f degrees apart, want %v to %v", near, far, c.near, c.far)
			}
			if mean, second := moments(c.table); !(mean <= c.mean && second <= c.second) {
				t.Errorf("means of elements are up to %.3g, of products %.3g off; want %v and %v", mean, second, c.mean, c.second)
			}
			if c.group {
				checkGroup(t, c.table)
			}
		})
	}
}

// moments returns the largest mean of an element, and the largest difference of a mean of g_ij g_kl from its Haar mean.
// The Haar mean is 1/3 for i = k and j = l, and 0 for all others.
func moments(table [][9]float64) (mean, second float64) {
	for a := range 9 {
		var sum float64
		for i := range table {
			sum += table[i][a]
		}
		mean = max(mean, math.Abs(sum)/float64(len(table)))
		for b := range 9 {
			var product, want float64
			for i := range table {
				product += table[i][a] * table[i][b]
			}
			if a == b {
				want = 1. / 3
			}
			second = max(second, math.Abs(product/float64(len(table))-want))
		}
	}
	return mean, second
}

// checkGroup checks that the identity comes first and that products and inverses are in the table.
func checkGroup(t *testing.T, table [][9]float64) {
	must.Equal(t, table[0], [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, "the first rotation is")
	for a := range table {
		seen := make([]bool, len(table))
		for b := range table {
			g := rotation.Between(&table[b], &table[a])
			at := rotation.Nearest(table, &g)
			if d := distance(&table[at], &g); !(d <= 1e-6) || seen[at] {
				t.Fatalf("%d after the inverse of %d is %v degrees from the nearest rotation, %d; seen before: %v", a, b, d, at, seen[at])
			}
			seen[at] = true
		}
	}
}

// Groups and grids have equal bits on every machine.
func TestTableBits(t *testing.T) {
	h := fnv.New64a()
	for _, table := range [][][9]float64{rotation.Octahedral(), rotation.Icosahedral(), rotation.Hopf(0), rotation.Hopf(1), rotation.Hopf(2)} {
		for _, g := range table {
			for _, v := range g {
				h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
			}
		}
	}
	must.Equal(t, h.Sum64(), uint64(0x569bc519f2c418dd), "hash")
}

// The grid has no holes: random rotations are within its spacing.
func TestHopfCovers(t *testing.T) {
	for level, most := range []float64{55, 29, 14.5} {
		table, worst := rotation.Hopf(level), 0.0
		for _, g := range rotation.Random(rng.New(3, "cover"), 4000) {
			worst = max(worst, distance(&g, &table[rotation.Nearest(table, &g)]))
		}
		if !(worst <= most) {
			t.Errorf("level %d: a rotation is %.2f degrees from the nearest; want at most %v", level, worst, most)
		}
	}
}

// The angle of Haar-distributed rotations has density (1 - cos)/pi and mean pi/2 + 2/pi. Their elements have the
// moments of the group. Bounds are 4.5 standard deviations of the mean of a bounded number.
func TestRandom(t *testing.T) {
	const n = 40000
	table := rotation.Random(rng.New(1, "random"), n)
	sum := 0.0
	for i := range table {
		sum += rotation.Angle(&table[i])
	}
	if got, want := sum/n, math.Pi/2+2/math.Pi; !(math.Abs(got-want) <= 4.5*0.65/math.Sqrt(n)) {
		t.Errorf("the mean angle is %v, want %v", got, want)
	}
	if mean, second := moments(table); !(mean <= 4.5*0.58/math.Sqrt(n) && second <= 4.5*0.34/math.Sqrt(n)) {
		t.Errorf("means of elements are up to %v, of products %v off", mean, second)
	}
	if again := rotation.Random(rng.New(1, "random"), n); again[n-1] != table[n-1] {
		t.Error("the same stream gives other rotations")
	}
	if other := rotation.Random(rng.New(2, "random"), 1); other[0] == table[0] {
		t.Error("another seed gives the same rotation")
	}
}

func TestAxisAngle(t *testing.T) {
	s := rng.New(5, "axes")
	angles := []float64{1e-11, 1e-7, 1e-3, 1, math.Pi / 2, 2, 3, math.Pi - 1e-3, math.Pi - 1e-7, math.Pi - 1e-11, math.Pi}
	for range 200 {
		k := [3]float64{s.NormFloat64(), s.NormFloat64(), s.NormFloat64()}
		length := math.Sqrt(k[0]*k[0] + k[1]*k[1] + k[2]*k[2])
		for _, angle := range angles {
			g := rotation.AboutAxis(k, angle)
			axis, got := rotation.AxisAngle(&g)
			back := rotation.AboutAxis(axis, got)
			for e := range g {
				if !(math.Abs(g[e]-back[e]) <= 4e-15) {
					t.Fatalf("axis %v, angle %v: the rotation of axis %v and angle %v differs by %v", k, angle, axis, got, g[e]-back[e])
				}
			}
			along := 0.0
			for i := range k {
				along += k[i] / length * axis[i]
			}
			if !(math.Abs(got-angle) <= 1e-14) || angle >= 1e-7 && angle < math.Pi-1e-8 && !(along >= 1-1e-12) {
				t.Fatalf("axis %v, angle %v: got %v (cosine to it %v), %v", k, angle, axis, along, got)
			}
		}
	}
	for _, c := range []struct {
		g     [9]float64
		axis  [3]float64
		angle float64
	}{
		{[9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, [3]float64{}, 0},
		{[9]float64{1, -1e-14, 0, 1e-14, 1, 0, 0, 0, 1}, [3]float64{}, 0},
		{[9]float64{0, -1, 0, 1, 0, 0, 0, 0, 1}, [3]float64{0, 0, 1}, math.Pi / 2},
		{[9]float64{-1, 0, 0, 0, 1, 0, 0, 0, -1}, [3]float64{0, 1, 0}, math.Pi},
		{[9]float64{0, -1, 0, -1, 0, 0, 0, 0, -1}, [3]float64{math.Sqrt2 / 2, -math.Sqrt2 / 2, 0}, math.Pi},
		{[9]float64{0, 0, 1, 1, 0, 0, 0, 1, 0}, [3]float64{1 / math.Sqrt(3), 1 / math.Sqrt(3), 1 / math.Sqrt(3)}, 2 * math.Pi / 3},
	} {
		axis, angle := rotation.AxisAngle(&c.g)
		for i := range axis {
			if !(math.Abs(axis[i]-c.axis[i]) <= 1e-15) {
				t.Errorf("%v: axis %v, want %v", c.g, axis, c.axis)
			}
		}
		if !(math.Abs(angle-c.angle) <= 1e-15) {
			t.Errorf("%v: angle %v, want %v", c.g, angle, c.angle)
		}
	}
}

// A pose h g is h after g in world axes, and the matrix of a quaternion turns i to j to k.
func TestProducts(t *testing.T) {
	table := rotation.Random(rng.New(4, "products"), 2)
	g, h := &table[0], &table[1]
	hg := rotation.Product(h, g)
	between := rotation.Between(g, &hg)
	p := [3]float64{0.2, -0.4, 1.5}
	one, two := rotation.Apply(&hg, p), rotation.Apply(h, rotation.Apply(g, p))
	for i := range between {
		if !(math.Abs(between[i]-h[i]) <= 1e-15) {
			t.Fatalf("between g and h g is %v, want h = %v", between, h)
		}
	}
	for i := range one {
		if !(math.Abs(one[i]-two[i]) <= 1e-15) {
			t.Fatalf("(h g) p is %v, h (g p) is %v", one, two)
		}
	}
	for _, v := range []float64{3, 1e-155, 1e-320, 1e200} {
		turn, ok := rotation.FromQuaternion([4]float64{v, v, v, v})
		if want := [9]float64{0, 0, 1, 1, 0, 0, 0, 1, 0}; !ok || turn != want {
			t.Errorf("%g (1 + i + j + k) is %v, %v; want %v", v, turn, ok, want)
		}
	}
	for _, q := range [][4]float64{{}, {math.Inf(1), 0, 0, 0}, {math.NaN(), 1, 0, 0}} {
		if _, ok := rotation.FromQuaternion(q); ok {
			t.Errorf("the quaternion %v has a rotation", q)
		}
	}
}

func TestNeighbours(t *testing.T) {
	for _, c := range []struct {
		table       [][9]float64
		count, want int
	}{{rotation.Octahedral(), 1, 6}, {rotation.Octahedral(), 6, 6}, {rotation.Icosahedral(), 6, 12},
		{rotation.Octahedral(), 7, 14}, {rotation.Octahedral()[:1], 6, 0}} {
		for i := range c.table {
			if got := rotation.Neighbours(c.table, i, c.count); len(got) != c.want {
				t.Fatalf("rotation %d of %d has %d of the %d nearest, want %d", i, len(c.table), len(got), c.count, c.want)
			}
		}
	}
}
