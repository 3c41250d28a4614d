package losses

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// HSIC returns the Hilbert-Schmidt independence criterion of the rows of x [n, D] and y [n, E]:
//
//	1/n^2 trace(K H L H),  H = 1 - 1/n
//
// for the kernel matrices K and L of the rows of x and y. groups may be nil; otherwise it
// has the shape [n] or [n, 1], and rows with a negative number are skipped.
//
// The default bandwidth of a Gaussian kernel is the lower median distance of pairs of rows, or 1 if that is 0. Up to
// 362 rows all pairs count; larger batches use at most 65536 pairs of nearby rows. The gradient includes the gradient
// of the median.
//
// The result is a scalar, differentiable in the arrays with Gaussian kernels (with
// the median: where a single pair attains it). It is at least 0. For independent x and y
// it is about 1/n, and it tends to 0 only if they are independent.
//
// Source: Gretton et al. 2005, definition 2 (with 1/n^2 for 1/(n-1)^2).
func HSIC(x, y, groups *gorgonia.Node, kx, ky Kernel) (*gorgonia.Node, error) {
	in := []*gorgonia.Node{x, y}
	if groups != nil {
		in = append(in, groups)
	}
	return graph.Apply(graph.Spec{
		Name: "hsic",
		Key:  graph.Key(kx, ky),
		Diff: []bool{kx.Kind == GaussianKernel, ky.Kind == GaussianKernel, false}[:len(in)],
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			n, _, err := graph.Matrix("x", in[0])
			if err != nil {
				return nil, err
			}
			for i, k := range []Kernel{kx, ky} {
				m, width, err := graph.Matrix("x and y", in[i])
				if err != nil {
					return nil, err
				}
				if m != n {
					return nil, graph.Wanted("x and y of as many rows", in)
				}
				if err := k.check(width); err != nil {
					return nil, err
				}
			}
			if len(in) > 2 && in[2].TotalSize() != n {
				return nil, graph.Wanted("groups, one of each row", in[2])
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newHSIC[float32](in, kx, ky) },
			func(in []tensor.Shape) graph.Body[float64] { return newHSIC[float64](in, kx, ky) }),
	}, in...)
}

// Between selects, in a config, the pairs that should be independent.
type Between string

// The pairs that can be independent.
const (
	betweenCodes   Between = "codes"   // the sub-codes of different factors
	betweenFactors Between = "factors" // the sub-code of a factor and the other factors
)

// UnmarshalText accepts a known name.
func (b *Between) UnmarshalText(text []byte) error {
	if *b = Between(text); *b != betweenCodes && *b != betweenFactors {
		return fmt.Errorf("unknown partners %q; known: codes, factors", text)
	}
	return nil
}

// HSICLoss is the sum of [HSIC] over pairs of sub-codes, or over pairs of a sub-code and the factor of another
// sub-code.
type HSICLoss struct {
	Weight    Weight          `yaml:"weight" doc:"factor in the total"`
	Codes     factor.SubCodes `yaml:"codes" doc:"code columns of each factor, such as {shape: [0, 1], x: [2]}; none: equal shares, or single columns if factors are unknown"`
	Between   Between         `yaml:"between" doc:"codes: pairs of sub-codes; factors: a sub-code and the other factors"`
	Bandwidth float64         `yaml:"bandwidth" doc:"bandwidth of the codes' Gaussian kernels; 0: the median distance. Kernels of factors use the median"`
	On        On              `yaml:"on" doc:"codes (posterior mean mu) or sample (reparameterised z, as decoded)"`
}

// NewHSIC returns the default settings.
func NewHSIC() *HSICLoss { return &HSICLoss{Weight: Constant(1), Between: betweenCodes, On: OnCodes} }

// Validate checks the settings.
func (l *HSICLoss) Validate() error {
	if !(l.Bandwidth >= 0) || math.IsInf(l.Bandwidth, 0) {
		return config.Invalid("bandwidth", "want 0 or more, got %v", l.Bandwidth)
	}
	return nil
}

// Weighting implements [Loss].
func (l *HSICLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes are constant.
func (*HSICLoss) Optimum(x *Example) bool {
	fill(x.Codes, 0.5)
	fill(x.Sample, 0.5)
	return true
}

// Variants implements [Varied].
func (*HSICLoss) Variants() []Loss {
	factors, wide := NewHSIC(), NewHSIC()
	factors.Between, wide.Bandwidth = betweenFactors, 1.5
	return []Loss{factors, wide}
}

// Add implements [Loss].
func (l *HSICLoss) Add(in *Input) (*gorgonia.Node, error) {
	z, err := l.On.node(in)
	if err != nil {
		return nil, err
	}
	var blocks []factor.Block
	if l.Between == betweenCodes && in.Labels == nil && len(l.Codes) == 0 {
		blocks = shareOut(z.Shape()[1], z.Shape()[1])
	} else if blocks, err = subCodes(l.Codes, in); err != nil {
		return nil, err
	}
	var parts gorgonia.Nodes
	if l.Between == betweenFactors {
		parts, err = l.withFactors(in, z, blocks)
	} else {
		parts, err = l.withCodes(z, blocks)
	}
	switch {
	case err != nil:
		return nil, err
	case len(parts) == 0:
		return nil, errors.New("there is one sub-code; want at least two for independence")
	}
	ones := make([]float64, len(parts))
	for i := range ones {
		ones[i] = 1
	}
	return graph.WeightedSum(ones, parts...)
}

// withCodes compares every two sub-codes.
func (l *HSICLoss) withCodes(z *gorgonia.Node, blocks []factor.Block) (gorgonia.Nodes, error) {
	var parts gorgonia.Nodes
	for i, a := range blocks {
		for _, b := range blocks[:i] {
			n, err := HSIC(z, z, nil, l.kernel(b), l.kernel(a))
			if err != nil {
				return nil, err
			}
			parts = append(parts, n)
		}
	}
	return parts, nil
}

// withFactors compares every sub-code with every other factor.
func (l *HSICLoss) withFactors(in *Input, z *gorgonia.Node, blocks []factor.Block) (gorgonia.Nodes, error) {
	y, known, err := in.Labels.Values(UnitsRange)
	if err != nil {
		return nil, err
	}
	var parts gorgonia.Nodes
	for j, f := range in.Labels.Factors {
		rows, err := graph.SliceColumns(known, j, j+1)
		if err != nil {
			return nil, err
		}
		of := Kernel{Kind: GaussianKernel, Columns: []int{j}}
		switch f.Kind {
		case factor.Categorical:
			of.Kind = EqualKernel
		case factor.Circular:
			of.Kind = CircularKernel
		}
		for _, b := range blocks {
			if b.Factor == j {
				continue
			}
			n, err := HSIC(z, y, rows, l.kernel(b), of)
			if err != nil {
				return nil, err
			}
			parts = append(parts, n)
		}
	}
	return parts, nil
}

func (l *HSICLoss) kernel(b factor.Block) Kernel {
	return Kernel{Kind: GaussianKernel, Columns: b.Columns, Bandwidth: l.Bandwidth}
}

type hsic[T graph.Float] struct {
	n         int
	sides     [2]hsicSide[T]
	rows      []int // rows with a known group
	blocks    []hsicBlock[T]
	values    *numeric.Loop
	gradients *numeric.Loop
	totals    [2]float64 // of the similarities
}

// hsicBlock is the scratch of a block of rows: tiles of both sides' similarities, a tile
// of weights, and sums of lanes.
type hsicBlock[T graph.Float] struct{ k, l, w, lanes []T }

func newHSIC[T graph.Float](in []tensor.Shape, kx, ky Kernel) *hsic[T] {
	n := in[0][0]
	f := &hsic[T]{n: n, rows: make([]int, 0, n)}
	f.sides = [2]hsicSide[T]{newHSICSide[T](n, in[0][1], kx), newHSICSide[T](n, in[1][1], ky)}
	f.blocks = make([]hsicBlock[T], (n+kernel.PairLanes-1)/kernel.PairLanes)
	for i := range f.blocks {
		const tile = kernel.PairLanes * kernel.PairSources
		f.blocks[i] = hsicBlock[T]{make([]T, tile), make([]T, tile), make([]T, tile), make([]T, kernel.PairLanes)}
	}
	f.values, f.gradients = newPairLoop(n, f.valueBlock), newPairLoop(n, f.gradientBlock)
	return f
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
		f.sides[i].set(in[i], f.rows)
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

// valueBlock computes the sums of similarities by row, and returns the sum of the products
// of both sides' similarities.
func (f *hsic[T]) valueBlock(lo, hi int) float64 {
	b, sum := &f.blocks[lo/kernel.PairLanes], 0.0
	for i := range f.sides {
		clear(f.sides[i].sums[lo:hi])
	}
	for t := range tilesFrom(len(f.rows), 0, math.MaxInt) {
		for i, tile := range [][]T{b.k, b.l} {
			f.sides[i].tile(tile, lo, t)
			kernel.SumLanes(b.lanes, tile, t.n)
			for j := range hi - lo {
				f.sides[i].sums[lo+j] += float64(b.lanes[j])
			}
			clear(b.lanes)
		}
		kernel.SumProducts(b.lanes, b.k, b.l, t.n)
		sum += sumLanes(b.lanes, hi-lo)
	}
	return sum
}

func (f *hsic[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	n := len(f.rows)
	for i := range f.sides {
		clear(din[i])
		f.sides[i].wanted = din[i] != nil && f.sides[i].Kind == GaussianKernel
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
		if f.sides[i].wanted {
			f.sides[i].write(din[i], f.rows, float64(dout[0]))
		}
	}
}

// gradientBlock sums up w_ij (x_i - x_j) for the rows of a block, with w_ij = k_ij (l_ij - l_i/n - l_j/n + l/n^2)/n^2.
// For y, k and l change places.
func (f *hsic[T]) gradientBlock(lo, _ int) float64 {
	b, n := &f.blocks[lo/kernel.PairLanes], float64(len(f.rows))
	for t := range tilesFrom(len(f.rows), 0, math.MaxInt) {
		f.sides[0].tile(b.k, lo, t)
		f.sides[1].tile(b.l, lo, t)
		for i, tiles := range [2][2][]T{{b.k, b.l}, {b.l, b.k}} {
			if s, other := &f.sides[i], &f.sides[1-i]; s.wanted {
				kernel.CentredProduct(b.w, tiles[0], tiles[1], 1/(n*n), other.lanes[lo:], other.sources[t.source:], t.n)
				s.points.AddWeighted(s.slope, b.w, lo, t.source, t.n)
			}
		}
	}
	return 0
}

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
