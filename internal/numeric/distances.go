package numeric

import "github.com/unravel-ml/unravel/internal/kernel"

// Distances computes the sum of the Euclidean distances of all ordered pairs of points, and the gradient of the sum.
// The unit of parallel work is a block of kernel.PairLanes points.
type Distances[T Float] struct {
	Points *kernel.Points[T] // set it before Sum and Slopes
	Slope  *kernel.Points[T] // result of Slopes
	Ended  func() bool       // if not nil, called for every block; after it returns true, Sum skips the other blocks

	blocks       []distanceBlock[T]
	sums, slopes *Loop
}

// distanceBlock is the scratch memory for a block.
type distanceBlock[T Float] struct{ tile, lanes []T }

// NewDistances returns a Distances for at most maxRows points. A serial Distances runs on the caller's goroutine.
func NewDistances[T Float](maxRows, columns int, serial bool) *Distances[T] {
	d := &Distances[T]{Points: kernel.NewPoints[T](maxRows, columns), Slope: kernel.NewPoints[T](maxRows, columns)}
	d.blocks = make([]distanceBlock[T], (maxRows+kernel.PairLanes-1)/kernel.PairLanes)
	for i := range d.blocks {
		d.blocks[i] = distanceBlock[T]{make([]T, kernel.PairLanes*kernel.PairSources), make([]T, kernel.PairLanes)}
	}
	d.sums, d.slopes = NewLoop(maxRows, kernel.PairLanes, d.sumBlock), NewLoop(maxRows, kernel.PairLanes, d.slopeBlock)
	d.sums.serial, d.slopes.serial = serial, serial
	return d
}

// Sum returns sum_ij |x_i - x_j|.
func (d *Distances[T]) Sum() float64 {
	d.sums.Resize(d.Points.Rows)
	return d.sums.Run()
}

// sumBlock sums the distances between the points of a block, and twice the distances from them to later points.
func (d *Distances[T]) sumBlock(lo, hi int) float64 {
	b, sum := &d.blocks[lo/kernel.PairLanes], 0.0
	if d.Ended != nil && d.Ended() {
		return 0
	}
	for source := lo; source < d.Points.Rows; source += kernel.PairSources {
		n := min(kernel.PairSources, d.Points.Rows-source)
		clear(b.lanes)
		d.Points.Squares(b.tile, lo, source, n)
		kernel.SumRoots(b.lanes, b.tile, n)
		part := 0.0
		for _, v := range b.lanes[:hi-lo] {
			part += float64(v)
		}
		if source >= lo+kernel.PairLanes {
			part *= 2
		}
		sum += part
	}
	return sum
}

// Slopes sets Slope to sum_j (x_i - x_j) / |x_i - x_j| for every point i, half the gradient of Sum. For a distance of
// 0, the term is 0.
func (d *Distances[T]) Slopes() {
	d.Slope.Zero(d.Points.Rows)
	d.slopes.Resize(d.Points.Rows)
	d.slopes.Run()
}

func (d *Distances[T]) slopeBlock(lo, _ int) float64 {
	b := &d.blocks[lo/kernel.PairLanes]
	for source := 0; source < d.Points.Rows; source += kernel.PairSources {
		n := min(kernel.PairSources, d.Points.Rows-source)
		d.Points.Squares(b.tile, lo, source, n)
		kernel.InverseRoots(b.tile, n)
		d.Points.AddWeighted(d.Slope, b.tile, lo, source, n)
	}
	return 0
}
