// Package pairs measures distances of pairs of rows.
package pairs

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Shrink is the contraction of one pair (Zhang and Sugiyama 2024, equation 27), computed from the distances d(y, y') of
// the factors and d(z, z') of the codes:
//
//	max(d(y, y') - d(z, z'), 0)
func Shrink(factors, codes float64) float64 { return max(factors-codes, 0) }

// Contraction accumulates [Shrink] over pairs of rows.
type Contraction struct {
	Codes     matrix.Matrix
	Factors   []factor.Factor
	Positions []float64 // of the factors, by row
	Numbers   bool      // for factors of every kind, the distance is the difference of positions

	Pairs, Sum, Most float64 // number of added pairs, and the sum and the maximum of their Shrink
}

// All adds every pair to the maximum, if largest is true, or otherwise to the sum.
func (s *Contraction) All(ctx context.Context, largest bool) error {
	n := s.Codes.Rows
	z, y, others := s.points()
	results := make([]float64, (n+kernel.PairLanes-1)/kernel.PairLanes) // by block of lanes
	err := parallel.Each(ctx, len(results), func(block int) error {
		lane := block * kernel.PairLanes
		a, b := make([]float64, kernel.PairLanes*kernel.PairSources), make([]float64, kernel.PairLanes*kernel.PairSources)
		var once, twice [kernel.PairLanes]float64
		kernel.PairTiles(lane, n, func(source, count int, within bool) {
			z.Squares(a, lane, source, count)
			y.Squares(b, lane, source, count)
			for _, o := range others {
				o.points.AddPremetric(b, o.distance, true, 0, lane, source, count)
			}
			switch {
			case largest:
				kernel.MaxShrinks(once[:], a, b, count)
			case within:
				kernel.SumShrinks(twice[:], a, b, count)
			default:
				kernel.SumShrinks(once[:], a, b, count)
			}
		})
		for i := range min(kernel.PairLanes, n-lane) {
			if largest {
				results[block] = max(results[block], once[i])
			} else {
				results[block] += once[i] + twice[i]/2
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.Pairs = float64(n) * float64(n-1) / 2
	for _, v := range results {
		s.Sum += v
		s.Most = max(s.Most, v)
	}
	return nil
}

// column is a circular or categorical factor, whose distance is not a difference of positions.
type column struct {
	points   *kernel.Points[float64]
	distance kernel.Premetric
}

// points returns the codes z, the positions y of the factors that are numbers, and the other factors.
func (s *Contraction) points() (z, y *kernel.Points[float64], others []column) {
	n, k := s.Codes.Rows, len(s.Factors)
	z = kernel.NewPoints[float64](n, s.Codes.Cols)
	z.Resize(n)
	for i, v := range s.Codes.Data {
		z.Column(i % s.Codes.Cols)[i/s.Codes.Cols] = v
	}
	var ordinal []int
	for j, f := range s.Factors {
		if s.Numbers || f.Kind == factor.Ordinal {
			ordinal = append(ordinal, j)
			continue
		}
		o := column{kernel.NewPoints[float64](n, 1), kernel.Discrete()}
		if f.Kind == factor.Circular {
			o.distance = kernel.Circular(1)
		}
		o.points.Resize(n)
		for i := range n {
			o.points.Column(0)[i] = s.Positions[i*k+j]
		}
		others = append(others, o)
	}
	y = kernel.NewPoints[float64](n, max(1, len(ordinal))) // without ordinal factors, a column of zeros
	y.Zero(n)
	for at, j := range ordinal {
		for i := range n {
			y.Column(at)[i] = s.Positions[i*k+j]
		}
	}
	return z, y, others
}

// Add adds the pair of rows i and j.
func (s *Contraction) Add(i, j int) {
	k := len(s.Factors)
	var y, z float64
	a, b := s.Positions[i*k:(i+1)*k], s.Positions[j*k:(j+1)*k]
	for f := range s.Factors {
		d := math.Abs(a[f] - b[f])
		switch kind := s.Factors[f].Kind; {
		case s.Numbers:
		case kind == factor.Circular:
			d = min(d, 1-d)
		case kind == factor.Categorical && d > 0:
			d = 1
		}
		y += d * d
	}
	other := s.Codes.Row(j)
	for c, v := range s.Codes.Row(i) {
		z += (v - other[c]) * (v - other[c])
	}
	shrunk := Shrink(math.Sqrt(y), math.Sqrt(z))
	s.Pairs++
	s.Sum += shrunk
	s.Most = max(s.Most, shrunk)
}

// Distance returns the Euclidean distance between two rows in some columns.
func Distance(codes matrix.Matrix, columns []int, pair [2]int) (d float64) {
	a, b := codes.Row(pair[0]), codes.Row(pair[1])
	for _, c := range columns {
		d = math.Hypot(d, a[c]-b[c])
	}
	return d
}
