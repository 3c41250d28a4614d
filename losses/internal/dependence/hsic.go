package dependence

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
	"github.com/unravel-ml/unravel/losses/internal/pairs"
)

// Kind is a losses.KernelKind.
type Kind uint8

// The kinds of kernels.
const (
	Gaussian Kind = iota
	Equal
	Circular
)

// Kernel is a losses.Kernel.
type Kernel struct {
	Kind      Kind
	Columns   []int
	Bandwidth float64
}

// HSIC adds the node that losses.HSIC documents.
func HSIC(x, y, groups *gorgonia.Node, kx, ky Kernel) (*gorgonia.Node, error) {
	in := check.Optional(x, y, groups)
	return graph.Apply(graph.Spec{
		Name: "hsic",
		Key:  graph.Key(kx, ky),
		Diff: []bool{kx.Kind == Gaussian, ky.Kind == Gaussian, false}[:len(in)],
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			for i, k := range []Kernel{kx, ky} {
				rows, width, err := graph.Matrix([]string{"x", "y"}[i], in[i])
				if err != nil {
					return nil, err
				}
				if rows != in[0][0] {
					return nil, graph.Wanted("x and y of equal numbers of rows", in)
				}
				if err := k.check(width); err != nil {
					return nil, err
				}
			}
			if len(in) > 2 && in[2].TotalSize() != in[0][0] {
				return nil, graph.Wanted("groups with a number for each row", in[2])
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(newHSIC[float32](kx, ky), newHSIC[float64](kx, ky)),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			return recordHSIC([2]kernels.Similarity{kx.similarity(in[0][1]), ky.similarity(in[1][1])}, in[0][0]), nil
		},
	}, in...)
}

func recordHSIC(sides [2]kernels.Similarity, rows int) graph.Recording {
	return graph.Recording{
		Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			kernels.HSIC(t, in[0], in[1], check.Buffer(in, 2), out, sides, rows)
		},
		Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
			kernels.HSICGradient(t, in[0], in[1], check.Buffer(in, 2), dout, [2]vulkan.Buffer(din), sides, rows)
		},
	}
}

// similarity returns the kernel on a device, for an array with the given number of columns.
func (k Kernel) similarity(width int) kernels.Similarity {
	return kernels.Similarity{Kind: int(k.Kind), Width: width, Columns: k.columns(width), Bandwidth: k.Bandwidth}
}

// columns returns the columns of the kernel, or all if none are set.
func (k Kernel) columns(width int) []int {
	if len(k.Columns) == 0 {
		return numeric.UpTo(width)
	}
	return k.Columns
}

func (k Kernel) check(width int) error {
	if k.Kind > Circular || !(k.Bandwidth >= 0) || math.IsInf(k.Bandwidth, 1) {
		return graph.Wanted("a known kernel and a finite bandwidth from 0 on", k)
	}
	return check.Distinct("columns", k.Columns, width)
}

type hsic[T graph.Float] struct {
	n         int
	sides     [2]hsicSide[T]
	rows      []int // rows with a known group
	blocks    []hsicBlock[T]
	values    *numeric.Loop
	gradients *numeric.Loop
	totals    [2]float64 // sums of the similarities
}

// hsicBlock is the scratch memory for a block of rows: tiles of both sides' similarities and of weights, and sums.
type hsicBlock[T graph.Float] struct{ k, l, w, lanes []T }

func newHSIC[T graph.Float](kx, ky Kernel) func(in []tensor.Shape) *hsic[T] {
	return func(in []tensor.Shape) *hsic[T] {
		n := in[0][0]
		f := &hsic[T]{n: n, rows: make([]int, 0, n)}
		f.sides = [2]hsicSide[T]{newHSICSide[T](n, in[0][1], kx), newHSICSide[T](n, in[1][1], ky)}
		f.blocks = make([]hsicBlock[T], (n+kernel.PairLanes-1)/kernel.PairLanes)
		for i := range f.blocks {
			f.blocks[i] = hsicBlock[T]{pairs.NewTile[T](), pairs.NewTile[T](), pairs.NewTile[T](), make([]T, kernel.PairLanes)}
		}
		f.values, f.gradients = pairs.NewLoop(n, f.valueBlock), pairs.NewLoop(n, f.gradientBlock)
		return f
	}
}

func (f *hsic[T]) Forward(in [][]T, out []T) {
	f.rows = f.rows[:0]
	for r := range f.n {
		if len(in) < 3 || in[2][r] >= 0 {
			f.rows = append(f.rows, r)
		}
	}
	out[0] = 0
	if len(f.rows) < 2 {
		return
	}
	for i := range f.sides {
		f.sides[i].selectRows(in[i], f.rows)
	}
	f.values.Resize(len(f.rows))
	products := f.values.Run()
	n, cross := float64(len(f.rows)), 0.0
	f.totals = [2]float64{}
	for i, k := range f.sides[0].sums[:len(f.rows)] {
		l := f.sides[1].sums[i]
		cross += k * l
		f.totals[0] += k
		f.totals[1] += l
	}
	out[0] = T(products/(n*n) - 2*cross/(n*n*n) + f.totals[0]/(n*n)*f.totals[1]/(n*n))
}

// valueBlock computes the sums of similarities by row, and returns the sum of the products of both sides.
func (f *hsic[T]) valueBlock(lo, hi int) float64 {
	b, sum := &f.blocks[lo/kernel.PairLanes], 0.0
	for i := range f.sides {
		clear(f.sides[i].sums[lo:hi])
	}
	for t := range pairs.All(len(f.rows)) {
		for i, tile := range [][]T{b.k, b.l} {
			f.sides[i].tile(tile, lo, t)
			kernel.SumLanes(b.lanes, tile, t.N)
			for j := range hi - lo {
				f.sides[i].sums[lo+j] += float64(b.lanes[j])
			}
			clear(b.lanes)
		}
		kernel.SumProducts(b.lanes, b.k, b.l, t.N)
		sum += pairs.SumLanes(b.lanes, hi-lo)
	}
	return sum
}

func (f *hsic[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	n := len(f.rows)
	for i := range f.sides {
		clear(din[i])
		f.sides[i].hasGradient = din[i] != nil && f.sides[i].Kind == Gaussian
	}
	if n < 2 {
		return
	}
	for i := range f.sides {
		f.sides[i].centre(n, f.totals[i])
		f.sides[i].slope.Zero(n)
	}
	f.gradients.Resize(n)
	f.gradients.Run()
	for i := range f.sides {
		if f.sides[i].hasGradient {
			f.sides[i].write(din[i], f.rows, float64(dout[0]))
		}
	}
}

// gradientBlock sums w_ij (x_i - x_j) for the rows of a block, with w_ij = k_ij (l_ij - l_i/n - l_j/n + l/n^2)/n^2. For
// y, k and l are exchanged.
func (f *hsic[T]) gradientBlock(lo, _ int) float64 {
	b, n := &f.blocks[lo/kernel.PairLanes], float64(len(f.rows))
	for t := range pairs.All(len(f.rows)) {
		f.sides[0].tile(b.k, lo, t)
		f.sides[1].tile(b.l, lo, t)
		for i, tiles := range [2][2][]T{{b.k, b.l}, {b.l, b.k}} {
			if s, otherSide := &f.sides[i], &f.sides[1-i]; s.hasGradient {
				kernel.CentredProduct(b.w, tiles[0], tiles[1], 1/(n*n), otherSide.lanes[lo:], otherSide.sources[t.Source:], t.N)
				s.points.AddWeighted(s.slope, b.w, lo, t.Source, t.N)
			}
		}
	}
	return 0
}

// hsicSide is one of the two arrays that [HSIC] compares.
type hsicSide[T graph.Float] struct {
	Kernel
	width  int
	points *kernel.Points[T] // the chosen rows
	slope  *kernel.Points[T] // sum_j w_ij (x_i - x_j)
	sums   []float64         // sums of each row's similarities

	// centring subtracts lanes_j + sources_i from l_ij/n^2
	lanes, sources []T
	hasGradient    bool

	s         float64
	unit      float64   // a factor of points and s
	pair      [2]int    // the rows at distance s, if s is a median
	distances []float64 // squared
	order     []float64
}

func newHSICSide[T graph.Float](rows, width int, k Kernel) hsicSide[T] {
	k.Columns = k.columns(width)
	coordinates := len(k.Columns)
	if k.Kind == Circular {
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

// maxMedian is the maximum number of pairs for a median; with more than maxMedian rows, each row has one pair.
const maxMedian = 1 << 16

// selectRows copies the chosen rows of x to the points.
func (k *hsicSide[T]) selectRows(x []T, rows []int) {
	k.points.Resize(len(rows))
	for i, column := range k.Columns {
		if k.Kind != Circular {
			dst := k.points.Column(i)
			for j, r := range rows {
				dst[j] = x[r*k.width+column]
			}
			continue
		}
		cosines, sines := k.points.Column(2*i), k.points.Column(2*i+1)
		for j, r := range rows { // a circle of circumference 1
			s, c := math.Sincos(2 * math.Pi * float64(x[r*k.width+column]))
			cosines[j], sines[j] = T(c/(2*math.Pi)), T(s/(2*math.Pi))
		}
	}
	k.s, k.pair = k.Bandwidth, [2]int{}
	k.unit = 1
	if k.s == 0 && k.Kind != Equal {
		k.median()
		k.unit = kernel.Unit(k.s)
	}
	if k.unit != 1 {
		k.s *= k.unit
		for c := range k.points.Columns {
			for i, v := range k.points.Column(c) {
				k.points.Column(c)[i] = T(k.unit * float64(v))
			}
		}
	}
}

// tile sets a tile to similarities.
func (k *hsicSide[T]) tile(tile []T, lo int, t pairs.Tile) {
	k.points.Squares(tile, lo, t.Source, t.N)
	a := 1 / (2 * k.s * k.s)
	if k.Kind == Equal {
		a = math.MaxFloat32 // e^-0 = 1, and 0 for any other distance
	}
	kernel.GaussianKernel(tile, a, t.N)
}

// median sets s to the median distance, and pair to the first pair with it.
func (k *hsicSide[T]) median() {
	k.measure()
	k.order = append(k.order[:0], k.distances...)
	middle := nthSmallest(k.order, (len(k.order)-1)/2)
	k.s = math.Sqrt(middle)
	if k.s == 0 {
		k.s = 1
		return
	}
	index := slices.Index(k.distances, middle) // -1 if it is NaN
	for i := 0; index >= 0; i++ {
		partners := k.partners(i)
		if index < partners {
			k.pair = [2]int{i, (i + 1 + index) % k.points.Rows}
			return
		}
		index -= partners
	}
}

// measure sets distances to the squared distances between rows i and i+1 .. i+partners(i).
func (k *hsicSide[T]) measure() {
	n, count := k.points.Rows, 0
	for i := range n {
		count += k.partners(i)
	}
	k.distances = slices.Grow(k.distances[:0], count)[:count]
	clear(k.distances)
	for c := range k.points.Columns {
		x, dst := k.points.Column(c), 0
		for i, v := range x {
			for j := i + 1; j <= i+k.partners(i); j++ {
				d := float64(v) - float64(x[j%n])
				k.distances[dst] += d * d
				dst++
			}
		}
	}
}

// partners returns the number of partners of row i, the rows after it.
func (k *hsicSide[T]) partners(i int) int {
	n := k.points.Rows
	if n*(n-1)/2 <= maxMedian {
		return n - 1 - i
	}
	return max(1, maxMedian/n)
}

// centre sets the terms that centring subtracts: (l_i + l_j - l/n)/n^3.
func (k *hsicSide[T]) centre(n int, total float64) {
	cube := float64(n) * float64(n) * float64(n)
	for i, l := range k.sums[:n] {
		k.lanes[i] = T((l - total/float64(n)) / cube)
		k.sources[i] = T(l / cube)
	}
}

// write writes the gradient with respect to x, times a factor. The derivative of a similarity k_ij is -k_ij (x_i -
// x_j)/s^2 with respect to x_i, and |x_i - x_j|^2 k_ij/s^3 with respect to the bandwidth.
func (k *hsicSide[T]) write(dx []T, rows []int, factor float64) {
	ds := 0.0
	factor *= k.unit
	for c, column := range k.Columns {
		x, mean := k.points.Column(c), 0.0
		for _, v := range x {
			mean += float64(v) / float64(len(rows))
		}
		for i, g := range k.slope.Column(c) {
			dx[rows[i]*k.width+column] = T(-2 * factor / (k.s * k.s) * float64(g))
			ds += 2 * (float64(x[i]) - mean) * float64(g) // the slopes sum to 0
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

// nthSmallest returns the k-th smallest element of x, and reorders x. It returns NaN if x contains one.
func nthSmallest(x []float64, k int) float64 {
	if pairs.HasNaN(x) {
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
