package losses

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// KernelKind is the kind of a kernel, a similarity of rows.
type KernelKind uint8

// The kinds of kernels.
const (
	GaussianKernel KernelKind = iota // exp(-|a - b|^2/(2 s^2))
	EqualKernel                      // 1 if a = b, otherwise 0
	CircularKernel                   // Gaussian, of points on a circle given as numbers of turns
)

// Kernel is the similarity of rows of an array.
type Kernel struct {
	Kind      KernelKind
	Columns   []int   // compared; nil: all
	Bandwidth float64 // s; 0: the median of the distances of rows
}

func (k Kernel) check(width int) error {
	if k.Kind > CircularKernel || !(k.Bandwidth >= 0) || math.IsInf(k.Bandwidth, 1) {
		return graph.Wanted("a known kernel and a finite bandwidth from 0 on", k)
	}
	return distinct("columns", k.Columns, width)
}

// hsicSide is one of the two arrays that [HSIC] compares.
type hsicSide[T graph.Float] struct {
	Kernel
	width  int
	points *kernel.Points[T] // the chosen rows
	slope  *kernel.Points[T] // sum_j w_ij (x_i - x_j)
	sums   []float64         // of the similarities of a row

	// centring subtracts lanes_j + sources_i from l_ij/n^2
	lanes, sources []T
	wanted         bool

	s         float64
	pair      [2]int    // the rows at the distance s, if it is a median
	distances []float64 // squared
	order     []float64
}

func newHSICSide[T graph.Float](rows, width int, k Kernel) hsicSide[T] {
	if len(k.Columns) == 0 {
		k.Columns = upTo(width)
	}
	coordinates := len(k.Columns)
	if k.Kind == CircularKernel {
		coordinates *= 2
	}
	return hsicSide[T]{
		Kernel: k, width: width,
		points: kernel.NewPoints[T](rows, coordinates),
		slope:  kernel.NewPoints[T](rows, coordinates),
		sums:   make([]float64, rows),
		lanes:  kernel.NewConstants[T](rows), sources: kernel.NewConstants[T](rows),
	}
}

// set copies the chosen rows of x to the points.
func (k *hsicSide[T]) set(x []T, rows []int) {
	k.points.Resize(len(rows))
	for i, column := range k.Columns {
		if k.Kind != CircularKernel {
			to := k.points.Column(i)
			for j, r := range rows {
				to[j] = x[r*k.width+column]
			}
			continue
		}
		cosines, sines := k.points.Column(2*i), k.points.Column(2*i+1)
		for j, r := range rows { // a circle of the circumference 1
			s, c := math.Sincos(2 * math.Pi * float64(x[r*k.width+column]))
			cosines[j], sines[j] = T(c/(2*math.Pi)), T(s/(2*math.Pi))
		}
	}
	k.s, k.pair = k.Bandwidth, [2]int{}
	if k.s == 0 && k.Kind != EqualKernel {
		k.median()
	}
}

// tile sets a tile to similarities.
func (k *hsicSide[T]) tile(tile []T, lo int, t pairTile) {
	k.points.Squares(tile, lo, t.source, t.n)
	a := 1 / (2 * k.s * k.s)
	if k.Kind == EqualKernel {
		a = math.MaxFloat32 // e^-0 = 1, and 0 for any other distance
	}
	kernel.GaussianKernel(tile, a, t.n)
}

// maxMedian bounds the number of pairs of a median; with more than maxMedian rows, each row has one pair.
const maxMedian = 1 << 16

// median sets s to the median distance, and pair to the first pair with it.
func (k *hsicSide[T]) median() {
	k.measure()
	k.order = append(k.order[:0], k.distances...)
	middle := nth(k.order, (len(k.order)-1)/2)
	k.s = math.Sqrt(middle)
	if k.s == 0 {
		k.s = 1
		return
	}
	at := slices.Index(k.distances, middle) // -1 if it is not a number
	for i := 0; at >= 0; i++ {
		partners := k.partners(i)
		if at < partners {
			k.pair = [2]int{i, (i + 1 + at) % k.points.Rows}
			return
		}
		at -= partners
	}
}

// measure sets distances to the squares of the distances of the rows i and i+1 ..
// i+partners(i).
func (k *hsicSide[T]) measure() {
	n, pairs := k.points.Rows, 0
	for i := range n {
		pairs += k.partners(i)
	}
	k.distances = slices.Grow(k.distances[:0], pairs)[:pairs]
	clear(k.distances)
	for c := range k.points.Columns {
		x, at := k.points.Column(c), 0
		for i, v := range x {
			for j := i + 1; j <= i+k.partners(i); j++ {
				d := float64(v) - float64(x[j%n])
				k.distances[at] += d * d
				at++
			}
		}
	}
}

// partners returns the number of rows after row i that are paired with it.
func (k *hsicSide[T]) partners(i int) int {
	n := k.points.Rows
	if n*(n-1)/2 <= maxMedian {
		return n - 1 - i
	}
	return max(1, maxMedian/n)
}

// nth returns the element of index k of x in ascending order, and reorders x. It returns NaN if x contains one.
func nth(x []float64, k int) float64 {
	if hasNaN(x) {
		return math.NaN()
	}
	for lo, hi := 0, len(x)-1; lo < hi; {
		pivot, i, j := x[lo+(hi-lo)/2], lo, hi
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i, j = i+1, j-1
			}
		}
		switch { // x[lo..j] <= pivot <= x[i..hi]
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return pivot
		}
	}
	return x[k]
}

// centre sets the terms that centring subtracts: (l_i + l_j - l/n)/n^3.
func (k *hsicSide[T]) centre(n int, total float64) {
	cube := float64(n) * float64(n) * float64(n)
	for i, l := range k.sums[:n] {
		k.lanes[i] = T((l - total/float64(n)) / cube)
		k.sources[i] = T(l / cube)
	}
}

// write writes the gradient of x, times a factor. The gradient of a similarity k_ij is
// -k_ij (x_i - x_j)/s^2 in x_i, and |x_i - x_j|^2 k_ij/s^3 in the bandwidth.
func (k *hsicSide[T]) write(dx []T, rows []int, factor float64) {
	ds := 0.0
	for c, column := range k.Columns {
		x, mean := k.points.Column(c), 0.0
		for _, v := range x {
			mean += float64(v) / float64(len(rows))
		}
		for i, g := range k.slope.Column(c) {
			dx[rows[i]*k.width+column] = T(-2 * factor / (k.s * k.s) * float64(g))
			ds += 2 * (float64(x[i]) - mean) * float64(g) // the slopes add up to 0
		}
	}
	if k.pair[0] == k.pair[1] {
		return
	}
	ds *= factor / (k.s * k.s * k.s)
	for c, column := range k.Columns {
		x := k.points.Column(c)
		g := T(ds / k.s * (float64(x[k.pair[0]]) - float64(x[k.pair[1]])))
		dx[rows[k.pair[0]]*k.width+column] += g
		dx[rows[k.pair[1]]*k.width+column] -= g
	}
}
