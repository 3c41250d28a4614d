package datasets

import (
	"errors"
	"fmt"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/registry"
)

// newSplit computes the moves of groups of M images each, and lists the rest of
// the data set as unlabelled if that is wanted.
func newSplit(d Dataset, m int, groups [][]int, unlabelled bool) (*Split, error) {
	split := &Split{M: m, Groups: groups, Moves: make([][]float32, len(groups))}
	used := make([]bool, d.Len())
	for g, group := range groups {
		split.Moves[g] = moves(d, group)
		for _, i := range group {
			used[i] = true
		}
	}
	if unlabelled {
		for i, taken := range used {
			if !taken {
				split.Unlabelled = append(split.Unlabelled, i)
			}
		}
	}
	if len(groups) == 0 && len(split.Unlabelled) == 0 {
		return nil, errors.New("supervision leaves nothing to train on")
	}
	return split, nil
}

// moves are the angles of a group's images relative to its first one.
func moves(d Dataset, group []int) []float32 {
	factors := d.Factors()
	k := len(factors)
	first, levels := make([]int, k), make([]int, k)
	d.FactorsAt(group[0], first)
	angles := make([]float32, len(group)*k)
	for m, i := range group {
		d.FactorsAt(i, levels)
		for j, f := range factors {
			if f.Kind == factor.Circular {
				angles[m*k+j] = float32(f.Angle((levels[j] - first[j] + f.Size) % f.Size))
			}
		}
	}
	return angles
}

// factorNamed finds a factor by its name.
func factorNamed(d Dataset, name string) (int, error) {
	var names []string
	for k, f := range d.Factors() {
		if f.Name == name {
			return k, nil
		}
		names = append(names, f.Name)
	}
	return 0, fmt.Errorf("dataset %s has no factor %q%s", d.Name(), name, registry.Suggest(name, names))
}
