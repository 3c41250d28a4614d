package gbt

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Column is a single sorted column of numbers for fitting trees. A sum of trees on one column is a step function: rows
// that no tree can separate form a group with one value. Fits equal the fits of a table with one column
// ([FitClassifier]) up to rounding, but are much faster. The rows of a node are contiguous, so only sums over groups
// are necessary.
type Column struct {
	group []int32   // by row
	count []float64 // by group: rows before the group; last: all rows
	edges []float64 // by group except the last: the upper threshold of the group
}

// NewColumn groups sorted numbers, rounded to single precision.
func NewColumn(ascending []float64) (*Column, error) {
	if len(ascending) == 0 {
		return nil, fmt.Errorf("gbt: there are no rows; want at least one")
	}
	c := &Column{group: make([]int32, len(ascending)), count: make([]float64, 1, len(ascending)+1)}
	previous := float32(0)
	for i, v := range ascending {
		value := float32(v)
		switch {
		case !(math.Abs(v) <= math.MaxFloat32):
			return nil, fmt.Errorf("gbt: row %d is %v; want numbers within single precision", i, v)
		case i > 0 && v < ascending[i-1]:
			return nil, fmt.Errorf("gbt: row %d is %v, after %v; want ascending numbers", i, v, ascending[i-1])
		case i > 0 && value > previous+tieTolerance:
			c.edges = append(c.edges, threshold(previous, value))
			c.count = append(c.count, float64(i))
		}
		c.group[i], previous = int32(len(c.edges)), value
	}
	c.count = append(c.count, float64(len(ascending)))
	return c, nil
}

// Groups returns the groups of other sorted numbers.
func (c *Column) Groups(ascending []float64) []int32 {
	groups := make([]int32, len(ascending))
	g := 0
	for i, v := range ascending {
		for g < len(c.edges) && float64(float32(v)) > c.edges[g] {
			g++
		}
		groups[i] = int32(g)
	}
	return groups
}

// Regress fits trees to the targets of rows and returns the prediction for every group.
func (c *Column) Regress(ctx context.Context, targets []float64, o Options) ([]float64, error) {
	if err := c.check(len(targets), o); err != nil {
		return nil, err
	}
	mean, err := meanTarget(targets)
	if err != nil {
		return nil, err
	}
	f := newMeanFit(c, targets, mean)
	for range o.Rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f.boost(o)
	}
	return f.estimates(), nil
}

// Classify fits trees to the classes of rows and returns the most probable class of every group. There must be two or
// more different classes. For ties, the first class wins.
func (c *Column) Classify(ctx context.Context, classes []int, o Options) ([]int, error) {
	if err := c.check(len(classes), o); err != nil {
		return nil, err
	}
	names := slices.Clone(classes)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) < 2 {
		return nil, fmt.Errorf("gbt: all rows have class %d; want two classes or more", names[0])
	}
	f := newClassFit(c, classes, names)
	for range o.Rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f.expect()
		for k := range f.scores {
			f.boost(k, o)
		}
		f.addSteps()
	}
	f.expect()
	predicted := make([]int, len(c.count)-1)
	for s, k := range bestClasses(f.scores) {
		for g := f.starts[s]; g < f.end(s); g++ {
			predicted[g] = names[k]
		}
	}
	return predicted, nil
}

func (c *Column) check(rows int, o Options) error {
	if rows != len(c.group) {
		return fmt.Errorf("gbt: there are targets of %d rows; want %d", rows, len(c.group))
	}
	return o.Validate()
}

// rows returns the number of rows in groups [low, high).
func (c *Column) rows(low, high int) float64 { return c.count[high] - c.count[low] }

// segment is a node: groups [low, high) and the sum of their residuals.
type segment struct {
	low, high int
	sum       float64
}

// split appends the leaves of a tree from left to right. sums has the cumulative residuals before each group. squares
// returns the sum of squared residuals in a node.
func (c *Column) split(s segment, sums []float64, squares func(low, high int) float64, depth int, leaves []segment) []segment {
	if depth == 0 || s.high-s.low < 2 {
		return append(leaves, s)
	}
	n := c.rows(s.low, s.high)
	mean := s.sum / n
	start, first := sums[s.low], c.count[s.low]
	gain, cut := bestCut(sums[s.low+1:s.high], c.count[s.low+1:s.high], start-mean*first, mean, first, n)
	// The gain is at most the variance. For most nodes, this proves that the variance is large enough, without a sum of
	// squares.
	if gain <= 2*minVariance && squares(s.low, s.high)/n-mean*mean <= minVariance {
		return append(leaves, s)
	}
	middle := s.low + cut + 1
	left := sums[middle] - start
	leaves = c.split(segment{s.low, middle, left}, sums, squares, depth-1, leaves)
	return c.split(segment{middle, s.high, s.sum - left}, sums, squares, depth-1, leaves)
}

// bestCut returns the first cut with the largest gain d^2/weight (Friedman 2001, equation 35). Here d = sum - mean
// count - offset is the sum of centred residuals before the cut, and weight is the product of the numbers of rows on
// both sides. bestCut tests four cuts at a time, because one bound excludes most groups of four.
func bestCut(sums, counts []float64, offset, mean, first, n float64) (gain float64, index int) {
	gain = -1
	counts = counts[:len(sums)]
	consider := func(i int, d float64) {
		count := counts[i] - first
		if weight := count * (n - count); d*d > gain*weight {
			gain, index = d*d/weight, i
		}
	}
	i := 0
	for ; i+4 <= len(sums); i += 4 {
		s, c := sums[i:i+4:i+4], counts[i:i+4:i+4]
		d0, d1, d2, d3 := s[0]-mean*c[0]-offset, s[1]-mean*c[1]-offset, s[2]-mean*c[2]-offset, s[3]-mean*c[3]-offset
		low, high := c[0]-first, c[3]-first
		minWeight, highWeight := low*(n-low), high*(n-high) // weights increase, then decrease
		if highWeight < minWeight {
			minWeight = highWeight
		}
		if limit := gain * minWeight; d0*d0 > limit || d1*d1 > limit || d2*d2 > limit || d3*d3 > limit {
			consider(i, d0)
			consider(i+1, d1)
			consider(i+2, d2)
			consider(i+3, d3)
		}
	}
	for ; i < len(sums); i++ {
		consider(i, sums[i]-mean*counts[i]-offset)
	}
	return gain, index
}

// meanFit is the state of a regressor on one column.
type meanFit struct {
	column       *Column
	sums         []float64 // cumulative residuals before each group
	groupSquares []float64 // by group: sum of squared deviations from its mean, the same for all trees
	increments   []float64 // difference of the prediction to the previous group
	leaves       []segment // leaves of the last tree
}

func newMeanFit(c *Column, targets []float64, mean float64) *meanFit {
	groups := len(c.count) - 1
	f := &meanFit{column: c, sums: make([]float64, groups+1), groupSquares: make([]float64, groups),
		increments: make([]float64, groups+1)}
	f.increments[0] = mean
	for i, v := range targets {
		f.sums[c.group[i]+1] += v - mean
	}
	for i, v := range targets {
		g := int(c.group[i])
		d := v - mean - f.sums[g+1]/c.rows(g, g+1)
		f.groupSquares[g] += d * d
	}
	for g := range groups {
		f.sums[g+1] += f.sums[g]
	}
	return f
}

func (f *meanFit) boost(o Options) {
	c, groups := f.column, len(f.groupSquares)
	f.leaves = c.split(segment{0, groups, f.sums[groups]}, f.sums, f.squares, o.Depth, f.leaves[:0])
	total := 0.0 // cumulative decrease of the sums
	for _, l := range f.leaves {
		step, first := o.Rate*l.sum/c.rows(l.low, l.high), c.count[l.low]
		f.increments[l.low] += step
		f.increments[l.high] -= step
		after, counts := f.sums[l.low+1:l.high+1], c.count[l.low+1:l.high+1]
		for i := range after {
			after[i] -= total + step*(counts[i]-first)
		}
		total += step * (c.count[l.high] - first)
	}
}

// squares returns the sum of squared residuals.
func (f *meanFit) squares(low, high int) (total float64) {
	for g := low; g < high; g++ {
		r := f.sums[g+1] - f.sums[g]
		total += f.groupSquares[g] + r*r/f.column.rows(g, g+1)
	}
	return total
}

func (f *meanFit) estimates() []float64 {
	sum, values := 0.0, make([]float64, len(f.groupSquares))
	for g := range values {
		sum += f.increments[g]
		values[g] = sum
	}
	return values
}

// classFit is the state of a classifier on one column. Its scores are step functions with far fewer steps than groups;
// starts has the first group of each step.
type classFit struct {
	column     *Column
	members    [][]float64 // by output and group: rows of the class before the group; last: all of them
	prior      []float64   // by output; two classes have one output
	increments [][]float64 // by output and group: difference of the score to the previous group
	starts     []int
	scores     [][]float64 // by output and step
	expected   [][]float64 // by output and step: probability
	sums       []float64   // cumulative residuals before each group
	leaves     []segment   // leaves of the last tree
	newStarts  []int       // starts of new leaves, not yet merged into starts
}

func newClassFit(c *Column, classes, names []int) *classFit {
	groups := len(c.count) - 1
	f := &classFit{column: c, starts: []int{0}, sums: make([]float64, groups+1)}
	for range names {
		f.members = append(f.members, make([]float64, groups+1))
	}
	for i, class := range classes {
		k, _ := slices.BinarySearch(names, class)
		f.members[k][c.group[i]+1]++
	}
	counts := make([]float64, len(names))
	for k, row := range f.members {
		for g := range groups {
			row[g+1] += row[g]
		}
		counts[k] = row[groups]
	}
	if f.prior = priorScores(counts, len(classes)); len(f.prior) == 1 {
		f.members = f.members[1:]
	}
	for range f.prior {
		f.increments = append(f.increments, make([]float64, groups+1))
	}
	f.scores, f.expected = make([][]float64, len(f.prior)), make([][]float64, len(f.prior))
	return f
}

// expect computes the scores and probabilities of every step.
func (f *classFit) expect() {
	for k, rises := range f.increments {
		f.scores[k], f.expected[k] = f.scores[k][:0], f.expected[k][:0]
		score := f.prior[k]
		for _, g := range f.starts {
			score += rises[g]
			f.scores[k] = append(f.scores[k], score)
		}
	}
	for s := range f.starts {
		if len(f.scores) == 1 {
			f.expected[0] = append(f.expected[0], 1/(1+math.Exp(-f.scores[0][s])))
			continue
		}
		top, total := math.Inf(-1), 0.0
		for _, row := range f.scores {
			top = max(top, row[s])
		}
		for k, row := range f.scores {
			p := math.Exp(row[s] - top)
			f.expected[k] = append(f.expected[k], p)
			total += p
		}
		for _, row := range f.expected {
			row[s] /= total
		}
	}
}

// end returns the first group after a step.
func (f *classFit) end(step int) int {
	if step+1 < len(f.starts) {
		return f.starts[step+1]
	}
	return len(f.column.count) - 1
}

// boost fits a tree to the residuals of an output, for the scores of the last expect.
func (f *classFit) boost(k int, o Options) {
	c, members := f.column, f.members[k]
	total := 0.0 // cumulative expected value before the step
	for s, p := range f.expected[k] {
		first, from, to := c.count[f.starts[s]], f.starts[s]+1, f.end(s)+1
		sums, group, counts := f.sums[from:to], members[from:to], c.count[from:to]
		for i := range sums {
			sums[i] = group[i] - total - p*(counts[i]-first)
		}
		total += p * (c.count[to-1] - first)
	}
	groups := len(f.sums) - 1
	squares := func(low, high int) float64 { return f.squares(k, low, high) }
	f.leaves = c.split(segment{0, groups, f.sums[groups]}, f.sums, squares, o.Depth, f.leaves[:0])
	scale := o.Rate * newtonScale(len(f.prior))
	for _, l := range f.leaves {
		f.newStarts = append(f.newStarts, l.low)
		curvature := 0.0
		f.forSteps(k, l.low, l.high, func(p float64, low, high int) { curvature += p * (1 - p) * c.rows(low, high) })
		if curvature >= minCurvature {
			f.increments[k][l.low] += scale * l.sum / curvature
			f.increments[k][l.high] -= scale * l.sum / curvature
		}
	}
}

// addSteps adds steps at the leaves of the trees since the last cut.
func (f *classFit) addSteps() {
	for _, g := range f.newStarts {
		if i, found := slices.BinarySearch(f.starts, g); !found {
			f.starts = slices.Insert(f.starts, i, g)
		}
	}
	f.newStarts = f.newStarts[:0]
}

// forSteps calls body for every step in [low, high), with its probability and its groups.
func (f *classFit) forSteps(k, low, high int, body func(p float64, low, high int)) {
	s, found := slices.BinarySearch(f.starts, low)
	if !found {
		s--
	}
	for ; s < len(f.starts) && f.starts[s] < high; s++ {
		body(f.expected[k][s], max(low, f.starts[s]), min(high, f.end(s)))
	}
}

// squares returns the sum of squared residuals of an output.
func (f *classFit) squares(k, low, high int) (total float64) {
	f.forSteps(k, low, high, func(p float64, low, high int) {
		members := f.members[k][high] - f.members[k][low]
		total += members*(1-p)*(1-p) + (f.column.rows(low, high)-members)*p*p
	})
	return total
}
