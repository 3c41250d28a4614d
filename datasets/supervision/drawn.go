package supervision

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Drawn describes groups that change in every epoch. There are three ways. Draw draws each group separately. Or the
// groups are consecutive images of a shuffled pass over Pass: an image is then in at most one group of an epoch. Or the
// groups are a random selection from Groups, in random order. All random numbers come from the stream of the epoch, so
// a resumed epoch has the same groups.
type Drawn struct {
	M     int // images per group
	Count int // groups per epoch

	// Draw draws a group: its M images, and the M actions between them (see Split.GroupActions). An action that Draw
	// does not set stays -1. Draw keeps no state between calls.
	Draw   func(s *rng.Stream, images []int, actions []int32)
	Pass   []int // images of the pass, at least M*Count
	Groups []int // images of the groups, M each, at least M*Count

	// Moves writes the transformations within a group, M*K numbers in the format of Split.Transformations; nil if they
	// are unknown. [MovesOf] computes them from the levels.
	Moves func(images []int, moves []float32)
	K     int // number of columns of Moves
}

// Action transforms an image into another. It changes a factor by Step levels, or a pose by Step times the rotation to
// a neighbouring pose.
type Action struct {
	Name   string
	Factor int // index of the factor in the data set
	Step   int
}

// MovesOf returns a function for Drawn.Moves, and its number of columns. The function computes the transformations
// within a group from the levels of the circular factors and the poses. For an unknown level, it uses the level of the
// group's first image.
func MovesOf(d datasets.Dataset) (moves func(images []int, moves []float32), columns int) {
	turns := newTurns(d.Factors())
	return func(images []int, moves []float32) { turns.within(d, images, moves) }, turns.columns()
}

// sampled is the number of test draws that check Draw.
const sampled = 16

// validate returns an error for groups that cannot fill an epoch, and for images outside the data set.
func (g *Drawn) validate(d datasets.Dataset, actions int) error {
	switch {
	case g.M < 1 || g.Count < 1:
		return fmt.Errorf("%d groups of %d images are drawn; want at least 1 of 1 image", g.Count, g.M)
	case g.Count > maxWalked/g.M:
		return fmt.Errorf("%d groups of %d images are drawn for an epoch; want at most %d", g.Count, g.M, maxWalked/g.M)
	case g.Draw != nil && (g.Pass != nil || g.Groups != nil) || g.Draw == nil && (g.Pass == nil) == (g.Groups == nil):
		return fmt.Errorf("drawn groups want one of Draw, Pass and Groups")
	case g.Draw == nil && len(g.Pass)+len(g.Groups) < g.M*g.Count:
		return fmt.Errorf("%d groups of %d images are drawn from %d images; want at least %d", g.Count, g.M, len(g.Pass)+len(g.Groups), g.M*g.Count)
	case len(g.Groups)%g.M != 0:
		return fmt.Errorf("groups of %d images are drawn from %d images of groups; want a multiple", g.M, len(g.Groups))
	}
	for _, i := range append(g.Pass[:len(g.Pass):len(g.Pass)], g.Groups...) {
		if i < 0 || i >= d.Len() {
			return fmt.Errorf("groups are drawn from image %d; want an image of dataset %s, 0 to %d", i, d.Name(), d.Len()-1)
		}
	}
	if g.Draw == nil {
		return nil
	}
	group, stream := make([]int, g.M), rng.New(0, "check")
	taken := make([]int32, g.M)
	for n := range min(g.Count, sampled) {
		for m := range taken {
			taken[m] = -1
		}
		g.Draw(stream, group, taken)
		if err := checkGroup(d, n, group, g.M); err != nil {
			return fmt.Errorf("drawn: %w", err)
		}
		if err := checkActions(n, taken, g.M, actions); err != nil {
			return fmt.Errorf("drawn: %w", err)
		}
	}
	return nil
}

// checkActions returns an error if the actions of group g do not match its m images.
func checkActions(g int, taken []int32, m, actions int) error {
	if len(taken) != m {
		return fmt.Errorf("group %d of %d images has %d actions; want one for each", g, m, len(taken))
	}
	for i, a := range taken {
		if a < -1 || int(a) >= actions || i == 0 && a != -1 {
			return fmt.Errorf("group %d, image %d: action %d; want -1 for a group's first image, and -1 to %d", g, i, a, actions-1)
		}
	}
	return nil
}

// fill draws the groups of an epoch.
func (g *Drawn) fill(s *rng.Stream, images []int, moves []float32, columns int, actions []int32) {
	if g.Draw == nil {
		g.deal(s, images)
	}
	scratch := make([]int32, g.M)
	for n := range g.Count {
		group, taken := images[n*g.M:(n+1)*g.M], scratch
		if actions != nil {
			taken = actions[n*g.M : (n+1)*g.M]
		}
		for m := range taken {
			taken[m] = -1
		}
		if g.Draw != nil {
			g.Draw(s, group, taken)
		}
		if g.Moves != nil {
			g.Moves(group, moves[n*g.M*columns:(n+1)*g.M*columns])
		}
	}
}

// deal writes the images of Pass in random order, or random groups of Groups, to images.
func (g *Drawn) deal(s *rng.Stream, images []int) {
	if g.Groups == nil {
		order := slices.Clone(g.Pass)
		s.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		copy(images, order)
		return
	}
	for n, group := range s.Perm(len(g.Groups) / g.M)[:g.Count] {
		copy(images[n*g.M:(n+1)*g.M], g.Groups[group*g.M:])
	}
}
