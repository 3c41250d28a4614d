package supervision

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Walks are episodes with known actions (Quessard et al. 2020; Caselles-Dupré et al. 2019). An episode starts at a
// random image. Each of its Actions steps moves one of Factors by Step levels up or down. Actions are uniform and
// independent. Action 2f moves the f-th of Factors up, and 2f+1 moves it down. The other factors are drawn with the
// first image of the episode and do not change.
//
// A circular factor wraps around from its last level to its first. For other factors, Ends decides what happens at an
// end. Images with unknown levels are in no episode.
//
// Episodes are drawn anew in every epoch. With Fixed, the episodes are cut from one long walk that is drawn once. A
// step leads from the last image of an episode to the first image of the next; its action is unknown. The next episode
// draws new levels of the other factors.
//
// Transformations within episodes are only known if all Factors are circular.
type Walks struct {
	Episodes int      `yaml:"episodes" doc:"episodes in an epoch; a step has train.batch/(actions+1) episodes"`
	Actions  int      `yaml:"actions" doc:"actions in an episode; the episode has actions+1 images"`
	Factors  []string `yaml:"factors" doc:"factors that actions change; empty: all circular ones"`
	Step     int      `yaml:"step" doc:"levels that an action changes its factor by"`
	Ends     string   `yaml:"ends" doc:"step beyond the end of a non-circular factor: stay (nothing changes) or reflect (turn back)"`
	Fixed    bool     `yaml:"fixed" doc:"draw one long walk and cut it into the same episodes for every epoch"`
}

// The effects of a step beyond the end of a factor.
const (
	endsStay    = "stay"
	endsReflect = "reflect"
)

// NewWalks returns the default settings.
func NewWalks() *Walks { return &Walks{Episodes: 1600, Actions: 5, Step: 1, Ends: endsStay} }

func (w *Walks) Validate() error {
	switch {
	case w.Actions < 1 || w.Actions >= maxGroupImages:
		return config.Invalid("actions", "%d is out of range; want 1 to %d", w.Actions, maxGroupImages-1)
	case w.Episodes < 1 || w.Episodes > maxGroupImages/(w.Actions+1):
		return config.Invalid("episodes", "%d is out of range; want 1 to %d of this length",
			w.Episodes, maxGroupImages/(w.Actions+1))
	case w.Step < 1:
		return config.Invalid("step", "%d is out of range; want 1 or more", w.Step)
	case w.Ends != endsStay && w.Ends != endsReflect:
		return config.Invalid("ends", "%q is unknown; want %s or %s", w.Ends, endsStay, endsReflect)
	}
	return nil
}

// Split draws the fixed walk, or prepares the draws of episodes.
func (w *Walks) Split(d datasets.Dataset, s *rng.Stream) (*Split, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	e, err := w.episodes(d)
	if err != nil {
		return nil, fmt.Errorf("walks: %w", err)
	}
	if w.Fixed {
		return w.fixedSplit(d, e, s)
	}
	split := &Split{M: w.Actions + 1, Rotations: countRotations(d), Actions: e.actions,
		Drawn: &Drawn{M: w.Actions + 1, Count: w.Episodes, Draw: e.draw}}
	if e.circular() {
		split.Drawn.Moves, split.Drawn.K = MovesOf(d)
	}
	return split, nil
}

// fixedSplit draws one walk and cuts it into episodes.
func (w *Walks) fixedSplit(d datasets.Dataset, e *episodes, s *rng.Stream) (*Split, error) {
	groups, taken := make([][]int, w.Episodes), make([][]int32, w.Episodes)
	levels, start := make([]int, len(e.factors)), make([]int, len(e.factors))
	for g := range groups {
		groups[g], taken[g] = make([]int, w.Actions+1), make([]int32, w.Actions+1)
		if g == 0 {
			e.start(levels, s)
		} else {
			e.apply(levels, s.IntN(len(e.actions)))
			e.start(start, s)
			for k, changed := range e.changed {
				if !changed {
					levels[k] = start[k]
				}
			}
			if !e.hasImage(levels) {
				copy(levels, start)
			}
		}
		if err := e.walk(levels, groups[g], taken[g], s); err != nil {
			return nil, err
		}
	}
	split, err := NewSplit(d, w.Actions+1, groups, false)
	if err != nil {
		return nil, err
	}
	split.Actions, split.GroupActions, split.Unmoved = e.actions, taken, !e.circular()
	return split, nil
}

// episodes draws episodes of a data set.
type episodes struct {
	Walks
	set     datasets.Dataset
	factors []factor.Factor
	changed []bool // by factor: actions change the factor
	actions []Action
	index   *datasets.Index
	starts  []int // images at which episodes can start
}

func (w *Walks) episodes(d datasets.Dataset) (*episodes, error) {
	e := &episodes{Walks: *w, set: d, factors: d.Factors(), changed: make([]bool, len(d.Factors())),
		starts: knownImages(d)}
	if len(e.starts) == 0 {
		return nil, fmt.Errorf("dataset %s has no image with all levels known", d.Name())
	}
	if err := e.chooseActions(); err != nil {
		return nil, err
	}
	var err error
	if e.index, err = datasets.NewIndex(d); err != nil {
		return nil, err
	}
	return e, e.checkComplete()
}

// chooseActions lists the actions.
func (e *episodes) chooseActions() error {
	var chosen []int
	for i, name := range e.Factors {
		k, err := factorIndex(e.set, name)
		switch f := e.factors; {
		case err != nil:
			return fmt.Errorf("factors[%d]: %w", i, err)
		case e.changed[k]:
			return fmt.Errorf("factors[%d]: %q is repeated", i, name)
		case f[k].Rotations != nil || f[k].Kind == factor.Categorical:
			return fmt.Errorf("factors[%d]: %q is %s, without an order for steps; want circular or ordinal factors",
				i, name, f[k].Kind)
		}
		chosen, e.changed[k] = append(chosen, k), true
	}
	for k, f := range e.factors {
		if len(e.Factors) == 0 && f.Kind == factor.Circular {
			chosen, e.changed[k] = append(chosen, k), true
		}
	}
	if chosen == nil {
		return fmt.Errorf("dataset %s has no circular factor; name ordinal ones as factors", e.set.Name())
	}
	for _, k := range chosen {
		f := e.factors[k]
		if e.Step >= f.Size {
			return fmt.Errorf("step %d is too long for factor %q of dataset %s; want 1 to %d",
				e.Step, f.Name, e.set.Name(), f.Size-1)
		}
		for _, step := range []int{e.Step, -e.Step} {
			e.actions = append(e.actions, Action{Name: fmt.Sprintf("%s%+d", f.Name, step), Factor: k, Step: step})
		}
	}
	return nil
}

// checkComplete returns an error if an action leads from an image to levels without an image.
func (e *episodes) checkComplete() error {
	if len(e.starts) == factor.Grid(e.factors).Len() {
		return nil
	}
	levels := make([]int, len(e.factors))
	for _, i := range e.starts {
		for a := range e.actions {
			e.set.FactorsAt(i, levels)
			if e.apply(levels, a); !e.hasImage(levels) {
				return fmt.Errorf("dataset %s has no image with %s; want every combination of the levels of the factors that actions change", e.set.Name(), factor.Describe(e.factors, levels))
			}
		}
	}
	return nil
}

func (e *episodes) hasImage(levels []int) bool {
	_, ok := e.index.Find(levels)
	return ok
}

// circular reports whether all factors that actions change are circular.
func (e *episodes) circular() bool {
	for k, f := range e.factors {
		if e.changed[k] && f.Kind != factor.Circular {
			return false
		}
	}
	return true
}

func (e *episodes) start(levels []int, s *rng.Stream) {
	e.set.FactorsAt(e.starts[s.IntN(len(e.starts))], levels)
}

func (e *episodes) apply(levels []int, action int) {
	k, step := e.actions[action].Factor, e.actions[action].Step
	last := e.factors[k].Size - 1
	switch target := levels[k] + step; {
	case e.factors[k].Kind == factor.Circular:
		levels[k] = (target + last + 1) % (last + 1)
	case target >= 0 && target <= last:
		levels[k] = target
	case e.Ends == endsReflect && target < 0:
		levels[k] = -target
	case e.Ends == endsReflect:
		levels[k] = 2*last - target
	}
}

func (e *episodes) draw(s *rng.Stream, images []int, actions []int32) {
	levels := make([]int, len(e.factors))
	e.start(levels, s)
	if err := e.walk(levels, images, actions, s); err != nil {
		panic(err) // unreachable: checkComplete has checked all actions
	}
}

var errNoImage = errors.New("walks: an action leads to levels without an image; want images of all combinations of the levels that actions change")

// walk takes random actions, starting at levels. At the end, levels holds the levels of the last image.
func (e *episodes) walk(levels, images []int, actions []int32, s *rng.Stream) error {
	for t := range images {
		actions[t] = -1
		if t > 0 {
			a := s.IntN(len(e.actions))
			e.apply(levels, a)
			actions[t] = int32(a)
		}
		var ok bool
		if images[t], ok = e.index.Find(levels); !ok {
			return errNoImage
		}
	}
	return nil
}

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

// Action changes a factor of an image by Step levels, or a pose by Step times the rotation to a neighbouring pose.
type Action struct {
	Name   string
	Factor int // index of the factor in the data set
	Step   int
}

// MovesOf returns a function for Drawn.Moves, and its number of columns. The function computes the transformations
// within a group from the levels of the circular factors and the poses. For an unknown level, it uses the level of the
// group's first image.
func MovesOf(d datasets.Dataset) (moves func(images []int, moves []float32), columns int) {
	turns := newLevelTransforms(d.Factors())
	return func(images []int, moves []float32) { turns.transformGroup(d, images, moves) }, turns.columns()
}

// testDraws is the number of test draws that check Draw.
const testDraws = 100

// validate returns an error for groups that cannot fill an epoch, and for images outside the data set.
func (g *Drawn) validate(d datasets.Dataset, actions int) error {
	switch {
	case g.M < 1 || g.Count < 1:
		return fmt.Errorf("%d groups of %d images are drawn; want at least 1 of 1 image", g.Count, g.M)
	case g.Count > maxGroupImages/g.M:
		return fmt.Errorf("%d groups of %d images are drawn for an epoch; want at most %d", g.Count, g.M, maxGroupImages/g.M)
	case g.Draw != nil && (g.Pass != nil || g.Groups != nil) || g.Draw == nil && (g.Pass == nil) == (g.Groups == nil):
		return fmt.Errorf("drawn groups want one of Draw, Pass and Groups")
	case g.Draw == nil && len(g.Pass)+len(g.Groups) < g.M*g.Count:
		return fmt.Errorf("%d groups of %d images are drawn from %d images; want at least %d",
			g.Count, g.M, len(g.Pass)+len(g.Groups), g.M*g.Count)
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
	for n := range min(g.Count, testDraws) {
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
			return fmt.Errorf("group %d, image %d: action %d; want -1 for a group's first image, and -1 to %d",
				g, i, a, actions-1)
		}
	}
	return nil
}

// fill draws the groups of an epoch.
func (g *Drawn) fill(s *rng.Stream, images []int, moves []float32, columns int, actions []int32) {
	if g.Draw == nil {
		g.drawFromList(s, images)
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

// drawFromList writes the images of Pass in random order, or random groups of Groups, to images.
func (g *Drawn) drawFromList(s *rng.Stream, images []int) {
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
