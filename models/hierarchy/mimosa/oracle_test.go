package mimosa

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// The tree finds the same points as sorting all distances. Ties go to the lower number.
func TestTreeFindsTheNearest(t *testing.T) {
	s := rng.New(1, "tree")
	for trial := range 60 {
		n, d := 1+s.IntN(400), 1+s.IntN(8)
		points := make([]float64, n*d)
		for i := range points {
			if points[i] = s.NormFloat64(); trial%3 == 0 { // many equal distances, and equal points
				points[i] = float64(s.IntN(3))
			}
		}
		rows := upTo(n)
		if trial%2 == 0 {
			rows = slices.DeleteFunc(rows, func(r int32) bool { return r%3 == 1 })
		}
		tr := newTree(points, d, rows)
		found := knn{k: 1 + s.IntN(40), skip: int32(s.IntN(n+1) - 1)}
		for range 20 {
			q := slices.Clone(points[:d])
			if at := s.IntN(n + 1); at < n {
				copy(q, points[at*d:])
			}
			distance := func(r int32) (sum float64) {
				for c, v := range points[int(r)*d : (int(r)+1)*d] {
					sum += (v - q[c]) * (v - q[c])
				}
				return sum
			}
			want := slices.DeleteFunc(slices.Clone(rows), func(r int32) bool { return r == found.skip })
			slices.SortFunc(want, func(a, b int32) int { return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b)) })
			want = want[:min(found.k, len(want))]
			got, squares := tr.find(q, &found)
			if !slices.Equal(got, want) {
				t.Fatalf("%d points of %d: nearest %v, want %v", n, d, got, want)
			}
			for i, r := range got {
				if squares[i] != distance(r) {
					t.Fatalf("distance of %d: %v, want %v", r, squares[i], distance(r))
				}
			}
		}
	}
	if numbers, _ := newTree(nil, 2, nil).find([]float64{1, 2}, &knn{k: 3, skip: -1}); len(numbers) != 0 {
		t.Error("an empty tree has points")
	}
}

// Half of 40,000 codes are equal. A tree without pruning by point numbers would take minutes.
func TestTreeOfEqualPoints(t *testing.T) {
	const n = 40000
	points := make([]float64, 2*n)
	tr := newTree(points, 2, upTo(n))
	found := knn{k: 40, skip: 7}
	for range n {
		got, _ := tr.find(points[:2], &found)
		if got[0] != 0 || got[39] != 40 {
			t.Fatal(got)
		}
	}
}

func TestDiagonalise(t *testing.T) {
	s := rng.New(2, "jacobi")
	for trial := range 300 {
		d := 1 + trial%10
		a, vectors := make([]float64, d*d), make([]float64, d*d)
		scale := math.Pow(10, float64(s.IntN(40)-20))
		rank := 1 + s.IntN(d+2) // sometimes fewer than d
		for range rank {
			v := make([]float64, d)
			for i := range v {
				v[i] = s.NormFloat64() * math.Sqrt(scale)
			}
			for i := range d {
				for j := range d {
					a[i*d+j] += v[i] * v[j]
				}
			}
		}
		var eigen mat.EigenSym
		if !eigen.Factorize(mat.NewSymDense(d, slices.Clone(a)), false) {
			t.Fatal("the oracle failed")
		}
		want := eigen.Values(nil)
		slices.Reverse(want)
		before := slices.Clone(a)
		diagonalise(a, vectors, d)
		for j := range d {
			if !(math.Abs(a[j*d+j]-want[j]) <= 1e-13*float64(d)*math.Abs(want[0])) {
				t.Fatalf("%d x %d: eigenvalue %d is %v, want %v", d, d, j, a[j*d+j], want[j])
			}
			for i := range d {
				sum, unit := 0.0, 0.0
				for c := range d {
					sum += before[i*d+c] * vectors[j*d+c]
					unit += vectors[i*d+c] * vectors[j*d+c]
				}
				if !(math.Abs(sum-a[j*d+j]*vectors[j*d+i]) <= 1e-13*float64(d)*math.Abs(want[0])) {
					t.Fatalf("%d x %d: vector %d is none", d, d, j)
				}
				if one := map[bool]float64{true: 1}[i == j]; !(math.Abs(unit-one) <= 1e-13) {
					t.Fatalf("%d x %d: vectors %d and %d have the product %v", d, d, i, j, unit)
				}
			}
		}
	}
}

// checkHull compares the answer of containsOrigin with a proof.
func checkHull(t *testing.T, points []float64, m int) bool {
	t.Helper()
	var h hull
	n := len(points) / m
	scale := 0.0
	for _, v := range points {
		scale = max(scale, math.Abs(v))
	}
	if h.containsOrigin(points, m) {
		sum := make([]float64, m)
		total := 0.0
		for i, c := range h.corner {
			if !(h.weight[i] >= 0) {
				t.Fatalf("a negative weight %v", h.weight)
			}
			total += h.weight[i]
			for k := range m {
				sum[k] += h.weight[i] * points[c*m+k]
			}
		}
		if !(math.Abs(total-1) <= 1e-9) || !(math.Sqrt(dot(sum, sum)) <= 1e-8*scale) {
			t.Fatalf("%d points of %d: the weights %v of sum %v give %v", n, m, h.weight, total, sum)
		}
		return true
	}
	for j := range n {
		if v := dot(h.point, points[j*m:(j+1)*m]); !(v > 0) {
			t.Fatalf("%d points of %d: outside, but point %d lies %v along %v", n, m, j, v, h.point)
		}
	}
	return false
}

func TestHull(t *testing.T) {
	s := rng.New(3, "hull")
	count := [2]int{}
	for trial := range 20000 {
		m := 1 + trial%8
		n := m + 1 + s.IntN(40)
		points, shift := make([]float64, n*m), 0.6*s.Float64()
		stretch := math.Pow(10, -6*s.Float64()*float64(trial%2))
		for i := range points {
			points[i] = s.NormFloat64()
			if trial%5 == 0 {
				points[i] = math.Round(2*points[i]) / 2 // ties, repeated points and the origin
			}
			if i%m == 0 {
				points[i] = (points[i] + shift*float64(m)) * stretch
			}
		}
		if checkHull(t, points, m) {
			count[0]++
		} else {
			count[1]++
		}
	}
	if count[0] < 3000 || count[1] < 3000 {
		t.Errorf("%d inside, %d outside: not a fair test", count[0], count[1])
	}
}

func FuzzHull(f *testing.F) {
	f.Add(uint64(1), uint8(2), uint8(9))
	f.Fuzz(func(t *testing.T, seed uint64, m, n uint8) {
		s := rng.New(seed, "fuzz")
		d := 1 + int(m)%8
		points := make([]float64, d*(d+1+int(n)%60))
		for i := range points {
			points[i] = float64(s.IntN(5)-2) * math.Pow(10, float64(s.IntN(9)-4))
		}
		checkHull(t, points, d)
	})
}

func TestHullKnown(t *testing.T) {
	square := []float64{0, 0, 1, 0, 0, 1, 1, 1}
	for _, test := range []struct {
		x, y   float64
		inside bool
	}{{0.5, 0.5, true}, {1.5, 0.5, false}, {0.999, 0.999, true}, {1.001, 0.5, false}, {0.5, -1e-9, false},
		{0.5, 1e-9, true}, {1, 1, true}, {0.5, 0, true}} {
		moved := slices.Clone(square)
		for i := range moved {
			moved[i] -= []float64{test.x, test.y}[i%2]
		}
		must.Equal(t, checkHull(t, moved, 2), test.inside, test.x, test.y, "inside")
	}
}

func TestIsEdge(t *testing.T) {
	var h hull
	for _, test := range []struct {
		name   string
		points []float64
		m      int
		want   bool
	}{
		{"in the middle of a line", []float64{-1, 2, 0.5}, 1, false},
		{"at the end of a line", []float64{1, 2, 0.5}, 1, true},
		{"at the end, with an equal point", []float64{0, 2, 0.5}, 1, true},
		{"too few points", []float64{1, 1, -1, -1}, 2, true},
		{"no points", nil, 1, true},
		{"a corner", []float64{1, 0, 1, 1, 0, 1, 2, 2}, 2, true},
		{"the middle", []float64{1, 0, -1, 1, 0, -1, 2, 2}, 2, false},
		{"a flat neighbourhood", []float64{1, 0, 2, 0, 3, 0, 4, 0}, 2, false},
		{"flat, and not through the origin", []float64{1, 1, 2, 1, 3, 1, 4, 1}, 2, false},
		{"equal points", []float64{1, 1, 1, 1, 1, 1, 1, 1}, 2, false},
	} {
		must.Equal(t, isEdge(test.points, test.m, &h), test.want, test.name, "edge")
	}
}

// Lists of neighbours give the same result as a search.
func TestNeighboursOfAPart(t *testing.T) {
	s, full := rng.New(9, "parts"), 0
	for trial := range 20 {
		n, d, k := 300, 1+trial%3, 12
		codes := make([]float64, n*d)
		for i := range codes {
			if codes[i] = s.Float64(); trial%2 == 0 { // repeated codes
				codes[i] = float64(s.IntN(4))
			}
		}
		o := Defaults()
		o.Neighbors = k
		r := &run{d: d, n: n, codes: codes, o: o, neighbors: make([]int32, n*k)}
		all := newTree(codes, d, upTo(n))
		find := knn{k: k, skip: -1}
		for i := range n {
			numbers, _ := all.find(r.row(i), &find)
			copy(r.neighbors[i*k:], numbers)
		}
		parts := make([][]int32, 2)
		for i := range int32(n) {
			p := map[bool]int{true: 1}[codes[int(i)*d] > 0.7]
			parts[p] = append(parts[p], i)
		}
		labels := r.labels(parts)
		wide := make([]int, n)
		for i, l := range labels {
			wide[i] = int(l)
		}
		for p, part := range parts {
			tr := newTree(codes, d, part)
			for _, i := range part {
				found, want := knn{k: k - 1}, knn{k: k - 1, skip: i}
				numbers, squares := tr.find(r.row(int(i)), &want)
				if got := r.neighborsInPart(labels, i, &found); len(got) == found.k {
					full++
					if !slices.Equal(got, numbers) {
						t.Fatalf("code %d: %v, want %v", i, got, numbers)
					}
				}
				one := knn{k: 1}
				if got := r.distance(tr, wide, p, i, &one); got != math.Sqrt(squares[0]) {
					t.Fatalf("code %d: distance %v, want %v", i, got, math.Sqrt(squares[0]))
				}
			}
		}
	}
	if full < 1000 || full > 5500 {
		t.Errorf("%d of 6000 lists are long enough: not a fair test", full)
	}
}

// The hull of a code uses the nearest codes of its part, one fewer than Neighbors.
func TestEdgesUseSoManyNeighbours(t *testing.T) {
	for right, want := range map[int]bool{30: false, 38: false, 39: true} {
		codes := []float64{0}
		for i := range right {
			codes = append(codes, 0.01*float64(i+1))
		}
		codes = append(codes, -1) // the only code on the left, ranked after the codes on the right
		for i := range 50 {
			codes = append(codes, 2+0.01*float64(i))
		}
		n := len(codes)
		r := &run{
			progress: func(string, int, int) {}, o: Defaults(), d: 1, n: n, codes: codes,
			neighbors: make([]int32, n*40), dim: slices.Repeat([]int32{1}, n), axes: slices.Repeat([]float64{1}, n),
		}
		edges := must.Get(r.findEdges(context.Background(), [][]int32{upTo(n)}))(t)
		must.Equal(t, slices.Contains(edges[0], 0), want, right, "on the right: edge")
	}
}

// A hull on one side of the origin excludes the origin, even if very near.
func TestHullNearAFace(t *testing.T) {
	s := rng.New(10, "face")
	for trial := range 2000 {
		m := 2 + trial%7
		n := 4*m + s.IntN(20)
		turn := make([]float64, 4*m*m)
		for i := range turn {
			turn[i] = s.NormFloat64()
		}
		turn = Principal(turn, m).Axes
		points := make([]float64, n*m)
		for j := range n {
			flatPoint := make([]float64, m)
			for c := 1; c < m; c++ {
				flatPoint[c] = s.NormFloat64()
			}
			if j > 0 {
				flatPoint[0] = 1e-12 + s.Float64()*float64(j%2)
			} else {
				flatPoint[0] = 1e-12
			}
			for a := range m {
				for c := range m {
					points[j*m+a] += turn[c*m+a] * flatPoint[c]
				}
			}
		}
		if checkHull(t, points, m) {
			t.Fatalf("%d points of %d in front of the origin hold it", n, m)
		}
	}
}

func TestLarger(t *testing.T) {
	parts := [][]int32{{1, 2}, {3, 4, 5}, {6}, {7, 8, 9, 10}}
	if got := dropSmall(parts, 3); len(got) != 2 || got[0][0] != 3 || got[1][0] != 7 {
		t.Errorf("of at least 3: %v", got)
	}
}

// Each added corner brings the nearest point closer, and the weights give this point.
func TestHullComesCloser(t *testing.T) {
	r := rng.New(5, "hull")
	for trial := range 3000 {
		m := 2 + trial%5
		points := make([]float64, m*(m+6))
		for i := range points {
			points[i] = r.NormFloat64()
			if i%m == 0 {
				points[i] += 1.5
			}
		}
		var h hull
		h.reserve(m)
		h.corner, h.weight = []int{0}, []float64{1}
		copy(h.point, points[:m])
		for {
			next, least := 0, math.Inf(1)
			for j := range len(points) / m {
				if v := dot(h.point, points[j*m:(j+1)*m]); v < least {
					next, least = j, v
				}
			}
			before := dot(h.point, h.point)
			if least > before-1e-9 || before < 1e-12 || !h.addCorner(points, next, 5) {
				break
			}
			sum, at := 0.0, make([]float64, m)
			for i, c := range h.corner {
				sum += h.weight[i]
				for k := range m {
					at[k] += h.weight[i] * points[c*m+k]
				}
			}
			if after := dot(h.point, h.point); !(after < before) || !(math.Abs(sum-1) <= 1e-9) || !(math.Abs(dot(at, at)-after) <= 1e-9) {
				t.Fatalf("trial %d: |at|^2 goes from %v to %v; weights of sum %v make %v", trial, before, after, sum, dot(at, at))
			}
		}
	}
}
