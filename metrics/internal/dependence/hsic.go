package dependence

import (
	"context"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// centred is the criterion of two kernel matrices K and L of n rows (Gretton et al. 2005, definition 2, with 1/n^2),
// from the sum of their products and the sums of their rows:
//
//	1/n^2 trace(K H L H) = 1/n^2 sum_ij K_ij L_ij - 2/n^3 sum_i k_i l_i + 1/n^4 sum_i k_i sum_i l_i
func centred(products float64, k, l []float64) float64 {
	n := float64(len(k))
	var both, ks, ls float64
	for i := range k {
		both += k[i] / n * (l[i] / n)
		ks += k[i] / n
		ls += l[i] / n
	}
	return max(products/(n*n)-2*both/n+ks/n*(ls/n), 0) // rounding
}

// Kernel is a kernel of rows of points. It is Gaussian, exp(-|a - b|^2/(2 s^2)), or 1 for equal points.
type Kernel struct {
	points []float64 // rows x width
	width  int
	equal  bool    // 1 for equal points, otherwise 0
	s      float64 // of Gaussian Kernel
}

// NewKernel returns the Gaussian kernel of some columns; the bandwidth 0 is the median distance.
func NewKernel(codes matrix.Matrix, columns []int, bandwidth float64) *Kernel {
	some := codes.Columns(columns)
	k := &Kernel{points: some.Data, width: some.Cols, s: bandwidth}
	if k.s == 0 {
		k.s = k.median(some.Rows)
	}
	return k
}

// FactorKernel returns the kernel of a factor with values in [0, 1]: equality of a categorical factor, otherwise
// Gaussian. A circular factor lies on a circle of circumference 1.
func FactorKernel(kind factor.Kind, values []float64) *Kernel {
	k := &Kernel{points: values, width: 1, equal: kind == factor.Categorical}
	if kind == factor.Circular {
		var turned []float64
		for _, v := range k.points {
			s, c := math.Sincos(2 * math.Pi * v)
			turned = append(turned, c/(2*math.Pi), s/(2*math.Pi))
		}
		k.points, k.width = turned, 2
	}
	k.s = k.median(len(values))
	return k
}

// medianRows is the number of rows from which the median takes its pairs.
const medianRows = 362

// median returns the lower median distance of pairs of rows, or 1 if it is 0.
func (k *Kernel) median(n int) float64 {
	m := min(n, medianRows)
	var squares []float64
	for a := range m {
		for b := range a {
			squares = append(squares, k.square(a*n/m, b*n/m))
		}
	}
	if len(squares) == 0 {
		return 1
	}
	slices.Sort(squares)
	if s := math.Sqrt(squares[(len(squares)-1)/2]); s > 0 {
		return s
	}
	return 1
}

// square returns the squared distance of two rows.
func (k *Kernel) square(a, b int) (sum float64) {
	for c := range k.width {
		d := k.points[a*k.width+c] - k.points[b*k.width+c]
		sum += d * d
	}
	return sum
}

// row sets dst to the Kernel of row i with all rows, and returns their sum.
func (k *Kernel) row(i int, dst []float64) (sum float64) {
	scale := 1 / (2 * k.s * k.s)
	for j := range dst {
		switch square := k.square(i, j); {
		case k.equal && square > 0:
			dst[j] = 0
		case k.equal:
			dst[j] = 1
		default:
			dst[j] = math.Exp(-square * scale)
		}
		sum += dst[j]
	}
	return sum
}

// inner returns the inner product of a and b.
func inner(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// HSIC returns the criterion of each wanted pair of kernels of n rows.
func HSIC(ctx context.Context, n int, sides []*Kernel, wanted func(i, j int) bool) ([][]float64, error) {
	k := len(sides)
	sums := make([][]float64, k) // by side and row
	for i := range sums {
		sums[i] = make([]float64, n)
	}
	products := make([][]float64, n) // by row: of pairs of sides
	err := parallel.Each(ctx, n, func(row int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		alike := make([][]float64, k)
		for i, side := range sides {
			alike[i] = make([]float64, n)
			sums[i][row] = side.row(row, alike[i])
		}
		products[row] = make([]float64, k*k)
		for i := range k {
			for j := range k {
				if wanted(i, j) {
					products[row][i*k+j] = inner(alike[i], alike[j])
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	values := make([][]float64, k)
	for i := range k {
		values[i] = make([]float64, k)
		for j := range k {
			if !wanted(i, j) {
				continue
			}
			var sum float64
			for _, row := range products {
				sum += row[i*k+j]
			}
			values[i][j] = centred(sum, sums[i], sums[j])
		}
	}
	return values, nil
}
