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
		f.addGradients(m, g[0])
	}
}

// criterion computes 1/n^2 trace(K H L H) for two blocks of columns.
func (f *hsic) criterion(m *evaluator, a, b []int) float64 {
	n := m.data.rows
	f.sides[0].load(m, a)
	f.sides[1].load(m, b)
	f.products = 0
	for i := range n {
		if m.engine.stopped() {
			break
		}
		for j := range i {
			k, l := f.sides[0].similarity(i, j), f.sides[1].similarity(i, j)
			f.products += 2 * k * l
			f.sides[0].addSimilarity(i, j, k)
			f.sides[1].addSimilarity(i, j, l)
		}
		f.products++
		f.sides[0].addSimilarity(i, i, 0.5)
		f.sides[1].addSimilarity(i, i, 0.5)
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

// addGradients adds g times the gradient of the criterion to the gradients of the codes. The derivative with respect to
// a similarity k_ij is (l_ij - l_i/n - l_j/n + l/n^2)/n^2.
func (f *hsic) addGradients(m *evaluator, g float64) {
	n := m.data.rows
	x := float64(n)
	for i := range n {
		for j := range i {
			k, l := f.sides[0].similarity(i, j), f.sides[1].similarity(i, j)
			f.sides[0].addSimilarityGradient(m, i, j, 2*g/(x*x)*k*f.sides[1].centred(i, j, l, x))
			f.sides[1].addSimilarityGradient(m, i, j, 2*g/(x*x)*l*f.sides[0].centred(i, j, k, x))
		}
	}
	for i := range f.sides {
		f.sides[i].addBandwidthGradient(m)
	}
}

// rounding is the threshold below which the criterion counts as 0.
const rounding = 1e-14

// kernelSide is one side of a criterion: Gaussian similarities exp(-|x_i - x_j|^2/(2 bandwidth^2)) between rows.
type kernelSide struct {
	columns           []int
	x                 []float64 // row by row
	sums              []float64 // sums of each row's similarities
	total             float64
	bandwidth         float64
	pair              [2]int  // the rows at the distance bandwidth; two equal rows if the bandwidth is not a distance
	bandwidthGradient float64 // gradient with respect to bandwidth
	order             []float64
}

func (k *kernelSide) load(m *evaluator, columns []int) {
	n, w := m.data.rows, len(columns)
	k.columns, k.total, k.bandwidthGradient = columns, 0, 0
	k.sums, k.x = slices.Grow(k.sums[:0], n)[:n], slices.Grow(k.x[:0], n*w)[:n*w]
	clear(k.sums)
	for c, column := range columns {
		for i, v := range m.data.columns[column] {
			k.x[i*w+c] = v
		}
	}
	k.setBandwidth(n)
}

// squaredDistance returns the squared distance between two rows.
func (k *kernelSide) squaredDistance(i, j int) float64 {
	w, sum := len(k.columns), 0.0
	a, b := k.x[i*w:(i+1)*w], k.x[j*w:(j+1)*w]
	for c, v := range a {
		sum += (v - b[c]) * (v - b[c])
	}
	return sum
}

func (k *kernelSide) similarity(i, j int) float64 {
	return math.Exp(-k.squaredDistance(i, j) / (2 * k.bandwidth * k.bandwidth))
}

// addSimilarity adds the similarity of two rows in both orders.
func (k *kernelSide) addSimilarity(i, j int, similarity float64) {
	k.sums[i] += similarity
	k.sums[j] += similarity
	k.total += 2 * similarity
}

// centred returns the centred similarity of two out of n rows.
func (k *kernelSide) centred(i, j int, similarity, n float64) float64 {
	return similarity - k.sums[i]/n - k.sums[j]/n + k.total/(n*n)
}

// addSimilarityGradient adds g times the gradient of the logarithm of the similarity of two rows.
func (k *kernelSide) addSimilarityGradient(m *evaluator, i, j int, g float64) {
	w, s := len(k.columns), k.bandwidth*k.bandwidth
	for c, column := range k.columns {
		d := k.x[i*w+c] - k.x[j*w+c]
		m.gradients[column][i] -= g / s * d
		m.gradients[column][j] += g / s * d
	}
	k.bandwidthGradient += g * k.squaredDistance(i, j) / (s * k.bandwidth)
}

// addBandwidthGradient adds the gradient of the bandwidth.
func (k *kernelSide) addBandwidthGradient(m *evaluator) {
	i, j := k.pair[0], k.pair[1]
	if i == j {
		return
	}
	w := len(k.columns)
	for c, column := range k.columns {
		d := (k.x[i*w+c] - k.x[j*w+c]) / k.bandwidth
		m.gradients[column][i] += k.bandwidthGradient * d
		m.gradients[column][j] -= k.bandwidthGradient * d
	}
}

// setBandwidth sets the bandwidth to the lower median of the distances between rows, or 1 if that median is 0. For few
// rows it uses all pairs, otherwise pairs of each row with a fixed number of rows after it.
func (k *kernelSide) setBandwidth(n int) {
	const maxPairs = 1 << 16 // pairs
	partners := func(i int) int {
		if n*(n-1)/2 <= maxPairs {
			return n - 1 - i
		}
		return max(1, maxPairs/n)
	}
	k.bandwidth, k.pair, k.order = 1, [2]int{}, k.order[:0]
	for i := range n {
		for j := 1; j <= partners(i); j++ {
			k.order = append(k.order, k.squaredDistance(i, (i+j)%n))
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
	k.bandwidth = math.Sqrt(middle)
	for i := range n {
		for j := 1; j <= partners(i); j++ {
			if k.squaredDistance(i, (i+j)%n) == middle {
				k.pair = [2]int{i, (i + j) % n}
				return
			}
		}
	}
}

// normalTC is the total correlation of blocks of columns, for the normal distribution with their covariance C,
//
//	1/2 (sum_b log det C_b - log det C)
//
// in nats. It is 0 if and only if the blocks are uncorrelated, and infinite if a column is a linear function of columns
// of other blocks. A constant column, or a linear function of earlier columns in the same block, has no effect and is
// left out.
type normalTC struct {
	base
	*program.Independence
	columns    []int       // the columns that count
	block      []int       // of each column
	x          [][]float64 // deviations from the mean
	covariance [][]float64
	whole, own [][]float64 // Cholesky factors of C and of the C_b
	limit      float64     // infinite if the blocks are linearly dependent, NaN if the codes are not finite; otherwise 0
}

// collinear is a fraction of a column's variance: with less left, the column is a linear function of others.
const collinear = 1e-12

func (f *normalTC) cost(data *data) float64 {
	d := 0.0
	for _, b := range f.Blocks {
		d += float64(len(b))
	}
	return max(1, float64(data.rows)*d)
}

func (f *normalTC) value(m *evaluator, _ int) []float64 {
	out := f.values[:1]
	f.set(m, f.Blocks)
	if out[0] = f.limit; f.limit != 0 {
		return out
	}
	for i := range f.columns {
		out[0] += math.Log(f.own[i][i]) - math.Log(f.whole[i][i])
	}
	if out[0] < rounding {
		out[0] = 0
	}
	return out
}

// set computes the covariance of the columns that count.
func (f *normalTC) set(m *evaluator, blocks [][]int) {
	f.columns, f.block, f.x, f.limit = f.columns[:0], f.block[:0], f.x[:0], 0
	f.covariance, f.own = f.covariance[:0], f.own[:0]
	for b, columns := range blocks {
		for _, column := range columns {
			f.add(m.data.columns[column], column, b)
		}
	}
	f.whole = f.whole[:0]
	for i := range f.columns {
		row, left := cholesky(f.whole, f.covariance[i], func(int) bool { return true })
		f.whole = append(f.whole, row)
		switch {
		case math.IsNaN(left):
			f.limit = left
			return
		case left <= collinear*f.covariance[i][i]:
			f.limit = math.Inf(1)
			return
		}
	}
}

// add adds a column with its covariances, unless earlier columns of its block determine it.
func (f *normalTC) add(column []float64, c, block int) {
	n := float64(len(column))
	mean := pointMean(nil, column, 1)[0]
	x := make([]float64, len(column))
	for i, v := range column {
		x[i] = v - mean
	}
	var row []float64
	for _, other := range append(slices.Clone(f.x), x) {
		sum := 0.0
		for i, v := range x {
			sum += v * other[i]
		}
		row = append(row, sum/n)
	}
	own, left := cholesky(f.own, row, func(k int) bool { return f.block[k] == block })
	if variance := row[len(row)-1]; variance == 0 || left <= collinear*variance {
		return
	}
	f.columns, f.block, f.x = append(f.columns, c), append(f.block, block), append(f.x, x)
	f.covariance, f.own = append(f.covariance, row), append(f.own, own)
}

// cholesky takes a row of a matrix up to the diagonal. It returns the next row of the matrix's lower Cholesky factor,
// and the square of the row's last entry. Rows that do not belong to it count as uncorrelated.
func cholesky(factor [][]float64, row []float64, belongs func(k int) bool) (next []float64, left float64) {
	next = make([]float64, len(row))
	n := len(row) - 1
	left = row[n]
	for k := range n {
		if !belongs(k) {
			continue
		}
		sum := row[k]
		for j := range k {
			sum -= next[j] * factor[k][j]
		}
		next[k] = sum / factor[k][k]
		left -= next[k] * next[k]
	}
	next[n] = math.Sqrt(left)
	return next, left
}

// gradient adds 1/n (sum_b C_b^-1 - C^-1) x.
func (f *normalTC) gradient(m *evaluator, _ int, g []float64) {
	if g[0] == 0 || f.limit != 0 {
		return
	}
	d, scale := len(f.columns), g[0]/float64(m.data.rows)
	own, whole := make([]float64, d), make([]float64, d)
	for r := range m.data.rows {
		for k, x := range f.x {
			own[k], whole[k] = x[r], x[r]
		}
		solve(f.own, own)
		solve(f.whole, whole)
		for k, c := range f.columns {
			m.gradients[c][r] += scale * (own[k] - whole[k])
		}
	}
}

// solve overwrites x with (L L^T)^-1 x.
func solve(factor [][]float64, x []float64) {
	for i, row := range factor {
		for k := range i {
			x[i] -= row[k] * x[k]
		}
		x[i] /= row[i]
	}
	for i := len(factor) - 1; i >= 0; i-- {
		for k := i + 1; k < len(factor); k++ {
			x[i] -= factor[k][i] * x[k]
		}
		x[i] /= factor[i][i]
	}
}
