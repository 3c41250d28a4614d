package geometry

import (
	"math"
	"sync/atomic"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Pairs computes the distances of all pairs of points in parallel. The results do not depend on the number of threads.
type Pairs struct {
	points   *kernel.Points[float64]
	scale    float64 // a power of two
	capacity int

	// Interrupt, if not nil, is called regularly; its error ends the computation.
	Interrupt func() error

	workers []pairScratch
	results []float64 // one for each block of lanes
}

type pairScratch struct{ tile, between, within []float64 }

// Set copies the points from the rows of a matrix.
func (p *Pairs) Set(points []float64, columns int) error {
	rows, err := rowsOf("points", points, columns)
	if err != nil {
		return err
	}
	largest := 0.0
	for i, v := range points {
		largest = max(largest, math.Abs(v-points[i%columns]))
	}
	if math.IsInf(largest, 0) {
		return errTooLarge
	}
	_, exponent := math.Frexp(largest)
	p.scale = math.Ldexp(1, exponent)
	if p.points == nil || p.points.Columns != columns || rows > p.capacity {
		p.points, p.capacity = kernel.NewPoints[float64](rows, columns), rows
	}
	p.points.Resize(rows)
	for c := range columns {
		column := p.points.Column(c)
		for i := range column {
			column[i] = (points[i*columns+c] - points[c]) / p.scale
		}
	}
	return nil
}

// Mean returns the mean distance of two different points; 0 for a single point.
func (p *Pairs) Mean() (float64, error) {
	n := p.points.Rows
	if n < 2 {
		return 0, nil
	}
	err := p.eachBlock(func(s *pairScratch, lane int) float64 {
		clear(s.between)
		clear(s.within)
		kernel.PairTiles(lane, n, func(source, count int, within bool) {
			p.points.Squares(s.tile, lane, source, count)
			sums := s.between
			if within {
				sums = s.within
			}
			kernel.SumRoots(sums, s.tile, count)
		})
		var sum float64
		for i := range min(kernel.PairLanes, n-lane) {
			sum += s.between[i] + s.within[i]/2
		}
		return sum
	})
	var mean float64
	pairs := float64(n) * float64(n-1) / 2
	for _, sum := range p.results {
		mean += sum / pairs
	}
	return mean * p.scale, err
}

// Diameter returns the largest distance of two points, and the first pair (i, j) with this distance in lexicographic
// order, i < j. A single point has diameter 0 and i = j = 0.
func (p *Pairs) Diameter() (distance float64, i, j int, err error) {
	n := p.points.Rows
	if err := p.eachBlock(func(s *pairScratch, lane int) float64 {
		clear(s.between)
		kernel.PairTiles(lane, n, func(source, count int, _ bool) {
			p.points.Squares(s.tile, lane, source, count)
			kernel.MaxLanes(s.between, s.tile, count)
		})
		var largest float64
		for _, v := range s.between[:min(kernel.PairLanes, n-lane)] {
			largest = max(largest, v)
		}
		return largest
	}); err != nil {
		return 0, 0, 0, err
	}
	var largest float64
	for _, v := range p.results {
		largest = max(largest, v)
	}
	i, j = p.firstPair(largest)
	return math.Sqrt(largest) * p.scale, i, j, nil
}

// firstPair returns the first pair with the given squared distance. At least one block has such a pair.
func (p *Pairs) firstPair(square float64) (a, b int) {
	n := p.points.Rows
	if n < 2 {
		return 0, 0
	}
	a, b = n, n
	for block, v := range p.results {
		if v != square {
			continue
		}
		lane, tile := block*kernel.PairLanes, p.workers[0].tile
		kernel.PairTiles(lane, n, func(source, count int, _ bool) {
			if source > a {
				return
			}
			p.points.Squares(tile, lane, source, count)
			for k := range count {
				for l := range min(kernel.PairLanes, n-lane) {
					if i, j := source+k, lane+l; i < j && tile[k*kernel.PairLanes+l] == square && (i < a || i == a && j < b) {
						a, b = i, j
					}
				}
			}
		})
	}
	return a, b
}

// eachBlock stores the result of f for every block of lanes, unless it is interrupted.
func (p *Pairs) eachBlock(f func(s *pairScratch, lane int) float64) error {
	blocks := (p.points.Rows + kernel.PairLanes - 1) / kernel.PairLanes
	p.results = resize(p.results, blocks)
	for len(p.workers) < max(1, min(parallel.Threads(), blocks)) {
		p.workers = append(p.workers, pairScratch{make([]float64, kernel.PairLanes*kernel.PairSources),
			make([]float64, kernel.PairLanes), make([]float64, kernel.PairLanes)})
	}
	var stopped atomic.Bool
	parallel.ForWorkers(len(p.workers), blocks, func(worker, block int) {
		if stopped.Load() || interrupted(p.Interrupt) != nil {
			stopped.Store(true)
			return
		}
		p.results[block] = f(&p.workers[worker], block*kernel.PairLanes)
	})
	return interrupted(p.Interrupt)
}
