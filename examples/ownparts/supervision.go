package main

import (
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
)

// neighbours is a supervision: pairs of images that differ by one level of one circular factor. The
// transformation from the first to the second is known.
type neighbours struct {
	Count  int    `yaml:"count" doc:"number of labelled pairs"`
	Factor string `yaml:"factor" doc:"circular factor in which the images of a pair differ"`
}

func (n *neighbours) Validate() error {
	if n.Count < 1 {
		return config.Invalid("count", "got %d; want 1 or more", n.Count)
	}
	return nil
}

// Split implements supervision.Kind.
func (n *neighbours) Split(d datasets.Dataset, s *rng.Stream) (*supervision.Split, error) {
	k, factors := -1, d.Factors()
	for i, f := range factors {
		if f.Kind == factor.Circular && (f.Name == n.Factor || n.Factor == "" && k < 0) {
			k = i
		}
	}
	if k < 0 {
		return nil, fmt.Errorf("the data set %s has no circular factor %q", d.Name(), n.Factor)
	}
	index, err := datasets.NewIndex(d)
	if err != nil {
		return nil, err
	}
	var pairs [][]int
	used, levels := make([]bool, d.Len()), make([]int, len(factors))
	for _, first := range s.Perm(d.Len()) {
		d.FactorsAt(first, levels)
		levels[k] = (levels[k] + 1) % factors[k].Size
		if second, ok := index.Find(levels); ok && !used[first] && !used[second] && len(pairs) < n.Count {
			used[first], used[second] = true, true
			pairs = append(pairs, []int{first, second})
		}
	}
	return supervision.NewSplit(d, 2, pairs, true)
}
