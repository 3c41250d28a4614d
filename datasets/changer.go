package datasets

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
)

// changer draws pairs of images that differ in some factors.
type changer struct {
	law       Changes
	different bool // factors that change get a different value
	set       Dataset
	factors   []factor.Factor
	moving    []int // factors that may change
	nuisance  []int

	known    []int             // images of known levels; nil: all
	index    *Index            // nil: most combinations of levels are missing, or images share them
	postings func() *postings  // made when first asked for
	near     map[int][]float64 // law laplace, by factor: weight of a distance
}

const (
	lookups  = 256  // levels that are drawn before images are listed that have some
	attempts = 4096 // first images that are drawn
	sparse   = 16   // combinations of levels for each image: beyond, images are listed by their levels at once
)

// prepare indexes the images, and reports a data set with few possible pairs.
func (c *changer) prepare() error {
	if Missing(c.set) != nil {
		if c.known = known(c.set); len(c.known) == 0 {
			return errNoneKnown
		}
	}
	grid := factor.Grid(c.factors)
	if countable(grid) == nil && grid.Len()/sparse <= c.set.Len() {
		c.index, _ = NewIndex(c.set) // an error: images share their levels
	}
	c.postings = sync.OnceValue(func() *postings { return newPostings(c.set) })
	if c.law.Law == "laplace" {
		c.near = map[int][]float64{}
		for _, k := range c.moving {
			size := c.factors[k].Size
			weights := make([]float64, size)
			for d := range weights {
				weights[d] = math.Exp(-float64(d) * c.law.Rate / math.Log(float64(size)))
			}
			c.near[k] = weights
		}
	}
	if c.index != nil && c.set.Len() == grid.Len() {
		return nil
	}
	return c.check()
}

// trials is the number of test draws that show whether an incomplete grid has enough pairs.
const trials = 200

// check reports a data set where few images have a partner, or where most pairs repeat one image.
func (c *changer) check() error {
	s, found, same := rng.New(0, "check"), 0, 0
	pair := make([]int, 2)
	for range trials {
		if c.try(s, pair) {
			if found++; pair[0] == pair[1] {
				same++
			}
		}
	}
	const enough = trials / 20
	changed := fmt.Sprintf("%v of its factors", c.law.K)
	if c.law.Law == "laplace" {
		changed = "its factors by the law laplace"
	}
	switch {
	case found < enough:
		return fmt.Errorf("dataset %s has second images for %d of %d images with changes of %s; want a data set with more combinations of levels, more factors that change, or law: independent", c.set.Name(), found, trials, changed)
	case found-same < enough:
		return fmt.Errorf("dataset %s has only the image itself for %d of %d images with changes of %s; want a data set with more combinations of levels, more factors that change, redraw: different, or law: independent", c.set.Name(), same, trials, changed)
	}
	return nil
}

// images returns the number of images available for pairs.
func (c *changer) images() int {
	if c.known != nil {
		return len(c.known)
	}
	return c.set.Len()
}

// draw draws a pair.
func (c *changer) draw(s *rng.Stream, pair []int) {
	for range attempts {
		if c.try(s, pair) {
			return
		}
	}
	pair[1] = pair[0] // check has found pairs much sooner
}

// try draws a first image and a second one. It returns false if no image can be second.
func (c *changer) try(s *rng.Stream, pair []int) bool {
	first := s.IntN(c.images())
	if c.known != nil {
		first = c.known[first]
	}
	scratch := make([]int, 2*len(c.factors))
	levels, target := scratch[:len(c.factors)], scratch[len(c.factors):]
	c.set.FactorsAt(first, levels)
	pair[0] = first
	var ok bool
	if c.law.Law == "laplace" {
		pair[1], ok = c.nearby(s, levels, target)
	} else {
		pair[1], ok = c.redrawn(s, levels, target, c.chosen(s))
	}
	return ok
}

// chosen draws the factors that change.
func (c *changer) chosen(s *rng.Stream) []int {
	f, k := len(c.moving), int(c.law.K)
	if k == 0 {
		k = 1 + s.IntN(max(f-1, 1))
	}
	if c.law.Law == "redraw" && c.law.HalfSingle && s.IntN(2) == 0 {
		k = 1
	}
	list := slices.Clone(c.moving)
	for i := range k {
		j := i + s.IntN(f-i)
		list[i], list[j] = list[j], list[i]
	}
	return list[:k]
}

// redrawn returns an image that differs from some levels in the chosen factors and in nuisance, uniformly among all
// such images.
func (c *changer) redrawn(s *rng.Stream, levels, target, chosen []int) (int, bool) {
	for n := 0; c.index != nil && n < lookups; n++ {
		copy(target, levels)
		for _, k := range chosen {
			size := c.factors[k].Size
			if !c.different {
				target[k] = s.IntN(size)
			} else if target[k] = s.IntN(size - 1); target[k] >= levels[k] {
				target[k]++
			}
		}
		for _, k := range c.nuisance {
			target[k] = s.IntN(c.factors[k].Size)
		}
		if i, ok := c.index.Find(target); ok {
			return i, true
		}
	}
	free := slices.Concat(chosen, c.nuisance)
	if !c.different {
		chosen = nil
	}
	return c.postings().draw(s, levels, free, chosen)
}

// nearby returns an image with levels moved by the law laplace.
func (c *changer) nearby(s *rng.Stream, levels, target []int) (int, bool) {
	copy(target, levels)
	changed := false
	for _, k := range c.moving {
		target[k] = c.stepFrom(s, k, levels[k], true)
		changed = changed || target[k] != levels[k]
	}
	if !changed {
		k := c.moving[s.IntN(len(c.moving))]
		target[k] = c.stepFrom(s, k, levels[k], false)
	}
	for _, k := range c.nuisance {
		target[k] = s.IntN(c.factors[k].Size)
	}
	if c.index != nil {
		return c.index.Find(target)
	}
	return c.postings().draw(s, target, nil, nil)
}

// stepFrom draws the level of a factor by the law laplace around a level. If stay is false, the level must change.
func (c *changer) stepFrom(s *rng.Stream, k, from int, stay bool) int {
	weights, sum := c.near[k], 0.0
	weight := func(v int) float64 {
		if v == from && !stay {
			return 0
		}
		return weights[max(v-from, from-v)]
	}
	for v := range weights {
		sum += weight(v)
	}
	at, last := s.Float64()*sum, from
	for v := range weights {
		w := weight(v)
		if w == 0 {
			continue
		}
		if last = v; at < w {
			return v
		}
		at -= w
	}
	return last
}
