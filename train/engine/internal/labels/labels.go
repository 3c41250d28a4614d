// Package labels fills the inputs of a program with the known factors of a batch.
package labels

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
)

// Inputs are the inputs of a program with the known factors of a batch. They are created when first requested.
type Inputs struct {
	known  *supervision.Labels
	scaled [][]float32 // the values, by factor and level

	groups, levels *gorgonia.Node // levels is groups if no similarities are known
	different      *gorgonia.Node
	values, given  *gorgonia.Node // in the units range and as-given; equal if no factor is continuous

	data       datasets.Hierarchical // nil: the data set is not hierarchical
	exact      *gorgonia.Node
	labelled   *gorgonia.Node // 1 where exact is known
	columns    []int          // by dimension: its factor in the labels; -1: none
	row        []float64      // scratch: the dimensions of an image
	own        []int32        // scratch: the levels of an image
	sizes      []float64      // largest level of each dimension
	continuous []span         // by factor
}

// span locates the exact values of a factor, and holds their range in the data set.
type span struct {
	dimension int // -1: the factor only has levels
	low, high float64
}

func New(known *supervision.Labels, data datasets.Dataset) *Inputs {
	l := &Inputs{known: known}
	l.data, _ = data.(datasets.Hierarchical)
	for _, f := range known.Factors {
		scaled := make([]float32, f.Size)
		for level := range scaled {
			scaled[level] = float32(f.Scaled(level))
		}
		l.scaled = append(l.scaled, scaled)
	}
	if l.own = make([]int32, len(known.Factors)); l.data != nil {
		l.row = make([]float64, l.data.Hierarchy().Continuous())
	}
	l.continuous = l.spans()
	return l
}

// spans finds the factors with exact values in the data set; their levels are bins of equal width.
func (l *Inputs) spans() []span {
	list := make([]span, len(l.known.Factors))
	for k, f := range l.known.Factors {
		list[k].dimension = -1
		if l.data == nil {
			continue
		}
		factors := l.data.Factors()
		own := factors[len(factors)-len(l.row):]
		at := slices.IndexFunc(own,
			func(o factor.Factor) bool { return o.Name == f.Name && slices.Equal(o.Values, f.Values) })
		if n := len(f.Values); at >= 0 && n > 1 {
			half := (f.Values[1] - f.Values[0]) / 2
			list[k] = span{at, f.Values[0] - half, f.Values[n-1] + half}
		}
	}
	return list
}

// Offer returns the inputs for losses: a row for each image and, in a model of two views, for its second view.
func (l *Inputs) Offer(g *nn.Graph, rows int) *losses.Labels {
	k := len(l.known.Factors)
	input := func(n **gorgonia.Node, name string) (*gorgonia.Node, error) {
		var err error
		if *n == nil {
			*n, err = g.Input(name, rows, k)
		}
		return *n, err
	}
	offered := &losses.Labels{
		Factors:  l.known.Factors,
		Assigned: l.known.Assigned,
		Groups:   func() (*gorgonia.Node, error) { return input(&l.groups, "labels/groups") },
		Values: func(u losses.Units) (values, known *gorgonia.Node, err error) {
			if !l.known.KnowsLevels() {
				return nil, nil, errors.New("it needs values of the factors, but the supervision only has similarities; want {labels: ...}")
			}
			if u == losses.UnitsAsGiven && slices.ContainsFunc(l.continuous, func(s span) bool { return s.dimension >= 0 }) {
				values, err = input(&l.given, "labels/given")
			} else {
				values, err = input(&l.values, "labels/values")
			}
			if err != nil {
				return nil, nil, err
			}
			if l.known.Pairs == nil {
				known, err = input(&l.groups, "labels/groups")
			} else {
				known, err = input(&l.levels, "labels/levels")
			}
			return values, known, err
		},
	}
	if l.known.TellsApart() {
		offered.Different = func() (*gorgonia.Node, error) { return input(&l.different, "labels/different") }
	}
	if l.data != nil {
		offered.Exact = func() (values, known *gorgonia.Node, err error) {
			if l.exact == nil {
				err = l.offerExact(g, rows)
			}
			return l.exact, l.labelled, err
		}
	}
	return offered
}

// Fill writes the labels of a batch, image by image, and again for a second view.
func (l *Inputs) Fill(b supervision.Batch) {
	l.write(l.groups, b.Levels, (*Inputs).group)
	l.write(l.levels, b.Levels, (*Inputs).level)
	l.write(l.values, b.Levels, (*Inputs).value)
	l.write(l.given, b.Levels, (*Inputs).value)
	l.writeDifferent(b)
	l.writeExact(l.values, b, true)
	l.writeExact(l.given, b, false)
	l.fillExact(b)
}

// offerExact creates the inputs of exact values. It returns an error if no dimension has labels.
func (l *Inputs) offerExact(g *nn.Graph, rows int) (err error) {
	n := l.data.Hierarchy().Continuous()
	own := l.data.Factors()[len(l.data.Factors())-n:]
	l.sizes, l.columns = levelSizes(own), make([]int, n)
	for c, f := range own {
		l.columns[c] = slices.IndexFunc(l.known.Factors, func(k factor.Factor) bool { return k.Name == f.Name })
	}
	if !l.known.KnowsLevels() || n > 0 && slices.Max(l.columns) < 0 {
		return errors.New("it needs values of continuous dimensions, but there are no labels of them; want {labels: ...}")
	}
	if l.exact, err = g.Input("labels/exact", rows, n); err == nil {
		l.labelled, err = g.Input("labels/exact-known", rows, n)
	}
	return err
}

func (l *Inputs) fillExact(b supervision.Batch) {
	if l.exact == nil {
		return
	}
	to, known, width, k := nn.Data(l.exact), nn.Data(l.labelled), len(l.row), len(l.known.Factors)
	clear(to)
	clear(known)
	for row := 0; row*width < len(to) && len(b.Levels) > 0; row++ {
		n := row % len(b.Indices)
		l.data.Values(b.Indices[n], l.row)
		l.known.At(b.Indices[n], l.own)
		for c, v := range l.row {
			if f := l.columns[c]; f >= 0 && l.exactly(f, b.Levels[n*k+f]) {
				to[row*width+c], known[row*width+c] = float32(v/l.sizes[c]), 1
			}
		}
	}
}

// write fills an input with the converted numbers of a batch; without numbers, every element is -1.
func (l *Inputs) write(n *gorgonia.Node, numbers []int32, meaning func(l *Inputs, factor int, number int32) float32) {
	if n == nil {
		return
	}
	for i, data := 0, nn.Data(n); i < len(data); i++ {
		number := int32(-1)
		if len(numbers) > 0 {
			number = numbers[i%len(numbers)]
		}
		data[i] = meaning(l, i%len(l.scaled), number)
	}
}

// writeDifferent writes, for each row, the row of a different image; rows of the second view refer to the second view.
func (l *Inputs) writeDifferent(b supervision.Batch) {
	if l.different == nil {
		return
	}
	data := nn.Data(l.different)
	for i := range data {
		if data[i] = -1; len(b.Different) == 0 {
			continue
		}
		if row := b.Different[i%len(b.Different)]; row >= 0 {
			data[i] = float32(int(row) + i/len(b.Different)*len(b.Indices))
		}
	}
}

// exactly reports whether the exact value of a factor is known. Images that share a level may differ in their values,
// so the image in own needs its own label.
func (l *Inputs) exactly(factor int, number int32) bool {
	return l.own[factor] >= 0 && l.level(factor, number) >= 0
}

// writeExact writes the exact values of continuous factors where they are known.
func (l *Inputs) writeExact(n *gorgonia.Node, b supervision.Batch, scaled bool) {
	if n == nil || l.data == nil || len(b.Levels) == 0 {
		return
	}
	for i, data, k := 0, nn.Data(n), len(l.continuous); i < len(data); i++ {
		s, number := l.continuous[i%k], b.Levels[i%len(b.Levels)]
		image := b.Indices[i/k%len(b.Indices)]
		if i%k == 0 {
			l.known.At(image, l.own)
		}
		if s.dimension < 0 || !l.exactly(i%k, number) {
			continue
		}
		l.data.Values(image, l.row)
		v := l.row[s.dimension]
		if scaled {
			v = (v - s.low) / (s.high - s.low)
		}
		data[i] = float32(v)
	}
}

// group returns the number itself, of a level or of a pair.
func (l *Inputs) group(_ int, number int32) float32 { return float32(number) }

// level returns the number of a level, and -1 for the number of a pair.
func (l *Inputs) level(factor int, number int32) float32 {
	if int(number) >= len(l.scaled[factor]) {
		return -1
	}
	return float32(number)
}

// value returns the value of a level, or 0 if the level is unknown.
func (l *Inputs) value(factor int, number int32) float32 {
	if number < 0 || int(number) >= len(l.scaled[factor]) {
		return 0
	}
	return l.scaled[factor][number]
}

// levelSizes returns the largest absolute value of each factor's levels, or 1 if all are 0.
func levelSizes(factors []factor.Factor) []float64 {
	sizes := make([]float64, len(factors))
	for j, f := range factors {
		for level := range f.Size {
			sizes[j] = max(sizes[j], math.Abs(f.Value(level)))
		}
		sizes[j] = cmp.Or(sizes[j], 1)
	}
	return sizes
}
