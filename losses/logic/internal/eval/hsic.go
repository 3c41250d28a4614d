package eval

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/internal/program"
)

// hsic is a sum over all blocks of columns except the last. Each summand is the Hilbert-Schmidt independence criterion
// between the block and all later blocks together. The sum is 0 if and only if the blocks are independent over the
// rows. losses.HSIC has the formula; the bandwidths are median distances.
type hsic struct {
	base
	*program.Independence
	sides    [2]kernelSide
	products float64 // products of both sides' similarities, summed over pairs
}

func (f *hsic) cost(d *data) float64 {
	n := float64(d.rows)
	return max(1, n*n*float64(len(f.Blocks)-1))
}

func (f *hsic) value(m *evaluator, _ int) []float64 {
	out := f.values[:1]
	out[0] = 0
	for k := range f.Blocks[1:] {
		out[0] += f.criterion(m, f.Blocks[k], slices.Concat(f.Blocks[k+1:]...))
	}
	return out
}

func (f *hsic) gradient(m *evaluator, _ int, g []float64) {
	if g[0] == 0 {
		return
	}
	for k := range f.Blocks[1:] {
		f.criterion(m, f.Blocks[k], slices.Concat(f.Blocks[k+1:]...))
		f.slopes(m, g[0])
	}
}

// criterion computes 1/n^2 trace(K H L H) for two blocks of columns.
func (f *hsic) criterion(m *evaluator, a, b []int) float64 {
	n := m.data.rows
	f.sides[0].set(m, a)
	f.sides[1].set(m, b)
	f.products = 0
	for i := range n {
		if m.engine.ended() {
			break
		}
		for j := range i {
			k, l := f.sides[0].similarity(i, j), f.sides[1].similarity(i, j)
			f.products += 2 * k * l
			f.sides[0].count(i, j, k)
			f.sides[1].count(i, j, l)
		}
		f.products++
		f.sides[0].count(i, i, 0.5)
		f.sides[1].count(i, i, 0.5)
	}
	cross, x := 0.0, float64(n)
	for i, k := range f.sides[0].sums {
		cross += k * f.sides[1].sums[i]
	}
	v := f.products/(x*x) - 2*cross/(x*x*x) + f.sides[0].total/(x*x)*f.sides[1].total/(x*x)
	if v < rounding {
		return 0
	}
	return v
}

// slopes adds g times the gradient of the criterion to the gradients of the codes. The derivative with respect to a
// similarity k_ij is (l_ij - l_i/n - l_j/n + l/n^2)/n^2.
func (f *hsic) slopes(m *evaluator, g float64) {
	n := m.data.rows
	x := float64(n)
	for i := range n {
		for j := range i {
			k, l := f.sides[0].similarity(i, j), f.sides[1].similarity(i, j)
			f.sides[0].pull(m, i, j, 2*g/(x*x)*k*f.sides[1].centred(i, j, l, x))
			f.sides[1].pull(m, i, j, 2*g/(x*x)*l*f.sides[0].centred(i, j, k, x))
		}
	}
	for i := range f.sides {
		f.sides[i].spread(m)
	}
}

// rounding is the threshold below which the criterion counts as 0.
const rounding = 1e-14

// kernelSide is one side of a criterion: Gaussian similarities exp(-|x_i - x_j|^2/(2 s^2)) between rows.
type kernelSide struct {
	columns []int
	x       []float64 // row by row
	sums    []float64 // sums of each row's similarities
	total   float64
	s       float64 // bandwidth
	pair    [2]int  // the rows at distance s; two equal rows if the bandwidth is not a distance
	width   float64 // gradient with respect to s
	order   []float64
}

func (k *kernelSide) set(m *evaluator, columns []int) {
	n, w := m.data.rows, len(columns)
	k.columns, k.total, k.width = columns, 0, 0
	k.sums, k.x = slices.Grow(k.sums[:0], n)[:n], slices.Grow(k.x[:0], n*w)[:n*w]
	clear(k.sums)
	for c, column := range columns {
		for i, v := range m.data.columns[column] {
			k.x[i*w+c] = v
		}
	}
	k.median(n)
}

// square returns the squared distance between two rows.
func (k *kernelSide) square(i, j int) float64 {
	w, sum := len(k.columns), 0.0
	a, b := k.x[i*w:(i+1)*w], k.x[j*w:(j+1)*w]
	for c, v := range a {
		sum += (v - b[c]) * (v - b[c])
	}
	return sum
}

func (k *kernelSide) similarity(i, j int) float64 { return math.Exp(-k.square(i, j) / (2 * k.s * k.s)) }

// count adds the similarity of two rows in both orders.
func (k *kernelSide) count(i, j int, similarity float64) {
	k.sums[i] += similarity
	k.sums[j] += similarity
	k.total += 2 * similarity
}

// centred returns the centred similarity of two out of n rows.
func (k *kernelSide) centred(i, j int, similarity, n float64) float64 {
	return similarity - k.sums[i]/n - k.sums[j]/n + k.total/(n*n)
}

// pull adds g times the gradient of the logarithm of the similarity of two rows.
func (k *kernelSide) pull(m *evaluator, i, j int, g float64) {
	w, s := len(k.columns), k.s*k.s
	for c, column := range k.columns {
		d := k.x[i*w+c] - k.x[j*w+c]
		m.slopes[column][i] -= g / s * d
		m.slopes[column][j] += g / s * d
	}
	k.width += g * k.square(i, j) / (s * k.s)
}

// spread adds the gradient of the bandwidth.
func (k *kernelSide) spread(m *evaluator) {
	i, j := k.pair[0], k.pair[1]
	if i == j {
		return
	}
	w := len(k.columns)
	for c, column := range k.columns {
		d := (k.x[i*w+c] - k.x[j*w+c]) / k.s
		m.slopes[column][i] += k.width * d
		m.slopes[column][j] -= k.width * d
	}
}

// median sets the bandwidth to the lower median of the distances between rows, or 1 if that median is 0. For few rows
// it uses all pairs, otherwise pairs of each row with a fixed number of rows after it.
func (k *kernelSide) median(n int) {
	const most = 1 << 16 // pairs
	partners := func(i int) int {
		if n*(n-1)/2 <= most {
			return n - 1 - i
		}
		return max(1, most/n)
	}
	k.s, k.pair, k.order = 1, [2]int{}, k.order[:0]
	for i := range n {
		for j := 1; j <= partners(i); j++ {
			k.order = append(k.order, k.square(i, (i+j)%n))
		}
	}
	if len(k.order) == 0 || slices.ContainsFunc(k.order, math.IsNaN) {
		return
	}
	slices.Sort(k.order)
	middle := k.order[(len(k.order)-1)/2]
	if middle == 0 {
		return
	}
	k.s = math.Sqrt(middle)
	for i := range n {
		for j := 1; j <= partners(i); j++ {
			if k.square(i, (i+j)%n) == middle {
				k.pair = [2]int{i, (i + j) % n}
				return
			}
		}
	}
}
