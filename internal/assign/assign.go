// Package assign solves assignment problems exactly.
package assign

import (
	"fmt"
	"math"
	"slices"
)

// Balanced assigns n items to k categories to minimise
//
//	sum_i cost[i, k_i] + balance sum_c n_c (n_c - 1)/2
//
// where n_c items have category c. costs has n rows and k columns. Costs and balance are rounded to integer multiples
// of about 1e-12 times the largest of them. The result is exact for these integers. For items with the same costs in
// every column, earlier items get earlier categories. Balanced inserts items one by one along shortest paths of
// reassignments. Because costs are convex in n_c, every intermediate assignment is optimal: O(n k^3 + n^2 k).
//
// Infinite and NaN costs, and a negative or infinite balance, are errors. Source: Jeong and Song 2019, equation 8, as a
// minimum-cost flow; Ahuja, Magnanti and Orlin 1993, section 14.5 (successive shortest paths with convex costs).
func Balanced(costs []float64, k int, balance float64) ([]int, error) {
	if k < 1 || len(costs)%k != 0 {
		return nil, fmt.Errorf("%d costs of %d categories; want rows of one cost for each", len(costs), k)
	}
	if !(balance >= 0) || math.IsInf(balance, 0) {
		return nil, fmt.Errorf("a balance of %v; want a number from 0 on", balance)
	}
	n := len(costs) / k
	most := balance * float64(n)
	for i, c := range costs {
		if math.IsNaN(c) || math.IsInf(c, 0) {
			return nil, fmt.Errorf("the cost of item %d in category %d is %v; want a number", i/k, i%k, c)
		}
		most = max(most, math.Abs(c))
	}
	p := newProblem(costs, n, k, balance, most)
	for item := range n {
		p.insert(item)
	}
	return p.of, nil
}

// problem is an optimal assignment of the items that have been inserted.
type problem struct {
	k       int
	cost    []int64
	balance int64
	of      []int   // category of each inserted item
	members [][]int // items of each category
	step    []int64 // [k, k]: minimum cost of moving a member of a category to another category
	mover   []int   // [k, k]: the member to move
	far     []int64 // minimum cost of a path that ends in a category
	from    []int   // previous category on the path; -1: start of the path
}

const unreachable = math.MaxInt64 / 4

func newProblem(costs []float64, n, k int, balance, most float64) *problem {
	scale := math.Ldexp(1, 40) / max(most, 1e-200)
	p := &problem{k: k, cost: make([]int64, len(costs)), balance: int64(math.Round(balance * scale)), of: make([]int, n),
		members: make([][]int, k),
		step:    slices.Repeat([]int64{unreachable}, k*k), mover: make([]int, k*k), far: make([]int64, k),
		from: make([]int, k)}
	for i, c := range costs {
		p.cost[i] = int64(math.Round(c * scale))
	}
	return p
}

// insert adds an item, and moves other items along the cheapest path.
func (p *problem) insert(item int) {
	for c := range p.k {
		p.far[c], p.from[c] = p.cost[item*p.k+c], -1
	}
	for changed := true; changed; { // Bellman-Ford; an optimal assignment has no negative cycle
		changed = false
		for a := range p.k {
			for b := range p.k {
				if s := p.step[a*p.k+b]; s < unreachable && p.far[a]+s < p.far[b] {
					p.far[b], p.from[b], changed = p.far[a]+s, a, true
				}
			}
		}
	}
	end := 0
	for c := range p.k {
		if p.total(c) < p.total(end) {
			end = c
		}
	}
	for to := end; ; {
		from := p.from[to]
		moved := item
		if from >= 0 {
			moved = p.mover[from*p.k+to]
			at := slices.Index(p.members[from], moved)
			p.members[from] = slices.Delete(p.members[from], at, at+1)
		}
		p.of[moved] = to
		p.members[to] = append(p.members[to], moved)
		p.update(to)
		if from < 0 {
			return
		}
		p.update(from)
		to = from
	}
}

// total is the cost of a path that ends in category c, including the cost of one more member.
func (p *problem) total(c int) int64 { return p.far[c] + p.balance*int64(len(p.members[c])) }

// update finds the cheapest move from category a to each other category.
func (p *problem) update(a int) {
	for b := range p.k {
		p.step[a*p.k+b] = unreachable
		if b == a {
			continue
		}
		for _, i := range p.members[a] {
			if s := p.cost[i*p.k+b] - p.cost[i*p.k+a]; s < p.step[a*p.k+b] {
				p.step[a*p.k+b], p.mover[a*p.k+b] = s, i
			}
		}
	}
}
