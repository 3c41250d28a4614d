package supervision

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/graph/rng"
)

// rotations counts the factors that are rotations in space.
func rotations(d datasets.Dataset) int { return newTurns(d.Factors()).rotations }

// turns computes transformations from levels.
type turns struct {
	factors   []factor.Factor
	rotations int // number of factors that are rotations in space
}

func newTurns(factors []factor.Factor) turns {
	t := turns{factors: factors}
	for _, f := range factors {
		if f.Rotations != nil {
			t.rotations++
		}
	}
	return t
}

// between writes the transformation between two rows of levels: an angle for each factor, then an axis and an angle for
// each factor that is a rotation in space. It writes 0 for an unknown level. It returns the first circular or rotation
// factor with an unknown level, or -1 if all are known. If the first image has the pose R_1, image m has the pose g_m
// R_1. The rotation g_m = R_m R_1^-1 is in world axes; camera and light are fixed in the world.
func (t *turns) between(first, levels []int, row []float32) (unknown int) {
	unknown = -1
	clear(row)
	space := row[len(t.factors):]
	for j, f := range t.factors {
		if !f.Turns() {
			continue
		}
		var turn []float32
		if f.Rotations != nil {
			turn, space = space[:4], space[4:]
		}
		switch {
		case levels[j] == datasets.Unknown || first[j] == datasets.Unknown:
			if unknown < 0 {
				unknown = j
			}
		case f.Rotations == nil:
			row[j] = float32(turnBetween(f, first[j], levels[j]))
		case levels[j] != first[j]:
			between := rotation.Between(&f.Rotations[first[j]], &f.Rotations[levels[j]])
			axis, angle := rotation.AxisAngle(&between)
			for c, v := range axis {
				turn[c] = float32(v)
			}
			turn[3] = float32(angle)
		}
	}
	return unknown
}

// turnBetween returns the angle between two levels of a circular factor, from 0 up to a full turn.
func turnBetween(f factor.Factor, from, to int) float64 {
	if f.Angles == nil {
		return f.Angle((to - from + f.Size) % f.Size)
	}
	turn := math.Mod(f.Angles[to]-f.Angles[from], 2*math.Pi)
	if turn < 0 {
		turn += 2 * math.Pi
	}
	return turn
}

// within writes the transformations of a group's images relative to the first one. It returns the first image with an
// unknown level and the factor of this level, or -1.
func (t *turns) within(d datasets.Dataset, group []int, moves []float32) (image, unknown int) {
	k, columns := len(t.factors), t.columns()
	first, levels := make([]int, k), make([]int, k)
	d.FactorsAt(group[0], first)
	unknown = -1
	for m, i := range group {
		d.FactorsAt(i, levels)
		if j := t.between(first, levels, moves[m*columns:(m+1)*columns]); unknown < 0 {
			image, unknown = i, j
		}
	}
	return image, unknown
}

func (t *turns) columns() int { return len(t.factors) + 4*t.rotations }

// transformations returns the transformations of the images of group g relative to the first one.
func transformations(d datasets.Dataset, g int, group []int) ([]float32, error) {
	t := newTurns(d.Factors())
	moves := make([]float32, len(group)*t.columns())
	if i, j := t.within(d, group, moves); j >= 0 {
		return nil, fmt.Errorf("group %d has image %d of dataset %s, with unknown level of %q; want images with known levels of the turning factors", g, i, d.Name(), t.factors[j].Name)
	}
	return moves, nil
}

// poseDirections is the number of nearest rotations that a step is drawn among; ties may add more. Six correspond to up
// and down in three dimensions.
const poseDirections = 6

// stepOf draws a step of the given number of levels for a circular factor or a pose. On a circle, the step goes up or
// down. For a pose, the step repeats the rotation from this pose to one of its nearest poses.
func stepOf(f factor.Factor, level, step int, s *rng.Stream) int {
	if f.Rotations == nil {
		if s.IntN(2) == 1 {
			step = f.Size - step
		}
		return (level + step) % f.Size
	}
	near := rotation.Neighbours(f.Rotations, level, poseDirections)
	to := near[s.IntN(len(near))]
	if step == 1 {
		return to
	}
	between := rotation.Between(&f.Rotations[level], &f.Rotations[to])
	axis, angle := rotation.AxisAngle(&between)
	turn := rotation.AboutAxis(axis, float64(step)*angle)
	pose := rotation.Product(&turn, &f.Rotations[level])
	return rotation.Nearest(f.Rotations, &pose)
}

// longestStep returns the maximum step, in levels, for a circular factor or a pose: less than a full turn. It returns 0
// if all levels are equal.
func longestStep(f factor.Factor) int {
	if f.Rotations == nil {
		return f.Size - 1
	}
	near := rotation.Neighbours(f.Rotations, 0, 1)
	if near == nil {
		return 0
	}
	between := rotation.Between(&f.Rotations[0], &f.Rotations[near[0]])
	return int(math.Ceil(2*math.Pi/rotation.Angle(&between)-1e-6)) - 1
}
