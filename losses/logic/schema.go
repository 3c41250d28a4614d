package logic

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
)

// Schema describes a batch: the columns of its codes and factors, with the names that a
// sentence can use.
type Schema struct {
	Codes    int                 // number of columns of the codes z
	SubCodes map[string][]int    // z.name(i) selects these columns of z(i)
	Factors  []string            // names of the columns of the factors y
	Levels   map[string][]string // names of a factor's levels, if it has any
	Turns    []Turn              // transformations of the data, in the order of their columns in Batch.Moves
}

// check returns an error if the schema is inconsistent.
func (s Schema) check() error {
	if s.Codes < 1 {
		return fmt.Errorf("codes of %d columns, want at least one", s.Codes)
	}
	for _, name := range slices.Sorted(maps.Keys(s.SubCodes)) {
		if len(s.SubCodes[name]) == 0 {
			return fmt.Errorf("the sub-code %s has no columns, want at least one", name)
		}
		for _, c := range s.SubCodes[name] {
			if c < 0 || c >= s.Codes {
				return fmt.Errorf("the sub-code %s has column %d, want columns from 0 to %d", name, c, s.Codes-1)
			}
		}
	}
	for i, name := range s.Factors {
		if name == "" || slices.Contains(s.Factors[:i], name) {
			return fmt.Errorf("factor %d is called %q, want distinct names", i, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Levels)) {
		if !slices.Contains(s.Factors, name) {
			return fmt.Errorf("names of levels of %q: there is no such factor%s", name, registry.Suggest(name, s.Factors))
		}
	}
	for i, t := range s.Turns {
		if t.Name == "" || slices.ContainsFunc(s.Turns[:i], func(o Turn) bool { return o.Name == t.Name }) {
			return fmt.Errorf("turn %d is called %q, want distinct names", i, t.Name)
		}
	}
	return nil
}

// Turn is a transformation of the data in a sentence: by the angles of a circular factor, or by rotations in space. It
// acts on the columns of the sub-code with its name.
type Turn struct {
	Name string
	// rotations in space, each an axis and an angle in radians (4 columns of moves); otherwise an angle in radians (1
	// column)
	Space bool
}

// Columns returns the number of columns of the turn in [Batch.Moves].
func (t Turn) Columns() int {
	if t.Space {
		return 4
	}
	return 1
}

// width is the number of coordinates that the turn acts on together.
func (t Turn) width() int {
	if t.Space {
		return 3
	}
	return 2
}

// Turns lists the transformations of circular factors and of factors with rotations as levels.
func Turns(factors []factor.Factor) []Turn {
	var all []Turn
	for _, f := range factors {
		if f.Turns() {
			all = append(all, Turn{f.Name, f.Rotations != nil})
		}
	}
	return all
}

// LevelNames returns names for [Schema.Levels]. The name of a level without one is its value, such as "2".
func LevelNames(factors []factor.Factor) map[string][]string {
	all := map[string][]string{}
	for _, f := range factors {
		names := f.Names
		for level := 0; f.Names == nil && level < f.Size; level++ {
			names = append(names, strconv.FormatFloat(f.Value(level), 'g', -1, 64))
		}
		all[f.Name] = names
	}
	return all
}

// MovesOf returns the moves of images with the given levels [n, K] of factors, and their groups: images with equal
// values of all other factors are related by a transformation. An unknown level is negative. A row with an unknown
// level of a turning factor has no known transformation; a row with another unknown factor is in no group.
func MovesOf(factors []factor.Factor, levels [][]int) (moves [][]float64, groups []int) {
	moves, groups = make([][]float64, len(levels)), make([]int, len(levels))
	numbers := map[string]int{}
	for i, row := range levels {
		var rest strings.Builder
		unknown := false
		for k, f := range factors {
			if f.Turns() {
				moves[i] = append(moves[i], turnOf(f, row[k])...)
				continue
			}
			unknown = unknown || row[k] < 0
			fmt.Fprintf(&rest, "%d ", row[k])
		}
		if groups[i] = -1; unknown {
			continue
		}
		if _, ok := numbers[rest.String()]; !ok {
			numbers[rest.String()] = len(numbers)
		}
		groups[i] = numbers[rest.String()]
	}
	return moves, groups
}

// turnOf returns the angle of a level, or its axis and angle; an unknown level gives NaN.
func turnOf(f factor.Factor, level int) []float64 {
	switch {
	case level < 0 && f.Rotations != nil:
		return slices.Repeat([]float64{math.NaN()}, 4)
	case level < 0:
		return []float64{math.NaN()}
	case f.Rotations == nil:
		return []float64{f.Angle(level)}
	}
	axis, angle := rotation.AxisAngle(&f.Rotations[level])
	return append(axis[:], angle)
}

// moves returns the number of columns of moves.
func (s Schema) moves() (columns int) {
	for _, t := range s.Turns {
		columns += t.Columns()
	}
	return columns
}
