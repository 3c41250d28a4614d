package geometry

import (
	"math"
	"sync/atomic"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Pairs computes the distances of all pairs of points in parallel. The results do not depend on the number of threads.
type Pairs struct {
	points *kernel.Points[float64]
	scale  float64 // a power of two
	room   int

	// Interrupt, if not nil, is called regularly; its error ends the computation.
	Interrupt func() error

	workers []pairScratch
	results []float64 // one for each block of lanes
}

type pairScratch struct{ tile, once, twice []float64 }

// Set copies the points from the rows of a matrix.
func (p *Pairs) Set(points []float64, columns int) error {
	rows, err := rowsOf("points", points, columns)
	if err != nil {
		return err
	}
	most := 0.0
	for i, v := range points {
		most = max(most, math.Abs(v-points[i%columns]))
	}
	if math.IsInf(most, 0) {
		return errTooLarge
	}
	_, exponent := math.Frexp(most)
	p.scale = math.Ldexp(1, exponent)
	if p.points == nil || p.points.Columns != columns || rows > p.room {
		p.points, p.room = kernel.NewPoints[float64](rows, columns), rows
	}
	p.points.Resize(rows)
	for c := range columns {
		to := p.points.Column(c)
		for i := range to {
			to[i] = (points[i*columns+c] - points[c]) / p.scale
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
		clear(s.once)
		clear(s.twice)
		kernel.PairTiles(lane, n, func(source, count int, within bool) {
			p.points.Squares(s.tile, lane, source, count)
			to := s.once
			if within {
				to = s.twice
			}
			kernel.SumRoots(to, s.tile, count)
		})
		var sum float64
		for i := range min(kernel.PairLanes, n-lane) {
			sum += s.once[i] + s.twice[i]/2
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
		clear(s.once)
		kernel.PairTiles(lane, n, func(source, count int, _ bool) {
			p.points.Squares(s.tile, lane, source, count)
			kernel.MaxLanes(s.once, s.tile, count)
		})
		var most float64
		for _, v := range s.once[:min(kernel.PairLanes, n-lane)] {
			most = max(most, v)
		}
		return most
	}); err != nil {
		return 0, 0, 0, err
	}
	var most float64
	for _, v := range p.results {
		most = max(most, v)
	}
	i, j = p.first(most)
	return math.Sqrt(most) * p.scale, i, j, nil
}

// first returns the first pair with the given squared distance. At least one block has such a pair.
func (p *Pairs) first(square float64) (a, b int) {
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
	var ended atomic.Bool
	parallel.ForWorkers(len(p.workers), blocks, func(worker, block int) {
		if ended.Load() || interrupted(p.Interrupt) != nil {
			ended.Store(true)
			return
		}
		p.results[block] = f(&p.workers[worker], block*kernel.PairLanes)
	})
	return interrupted(p.Interrupt)
}
