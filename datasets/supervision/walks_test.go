package supervision_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// walked returns a set of pixels with the levels of a grid, except for omitted images.
func walked(t *testing.T, grid factor.Grid, leave ...int) datasets.Dataset {
	t.Helper()
	var levels [][]int
	for i := range grid.Len() {
		row := make([]int, len(grid))
		grid.At(i, row)
		if len(leave) == 0 || i != leave[0] {
			levels = append(levels, row)
		}
	}
	return must.Get(datasets.FromPixels("walked", make([]uint8, len(levels)), 1, 1, 1, grid, levels))(t)
}

var walkedGrid = factor.Grid{
	{Name: "object", Size: 3, Kind: factor.Categorical}, {Name: "size", Size: 4, Kind: factor.Ordinal}, {Name: "turn", Size: 5, Kind: factor.Circular},
}

// A step changes one factor by its action and no other factor. All actions are equally frequent.
func TestWalksSteps(t *testing.T) {
	d := walked(t, walkedGrid)
	for _, w := range []*Walks{
		{Episodes: 10, Actions: 7, Step: 1, Ends: "stay", Factors: []string{"turn", "size"}},
		{Episodes: 10, Actions: 7, Step: 3, Ends: "reflect", Factors: []string{"turn", "size"}},
		{Episodes: 400, Actions: 7, Step: 1, Ends: "reflect", Factors: []string{"turn", "size"}, Fixed: true},
	} {
		if err := conformance.CheckSplit("walks", w, d); err != nil {
			t.Error(err)
		}
		split := must.Get(w.Split(d, rng.New(1, "walks")))(t)
		if got, want := fmt.Sprint(split.Actions),
			fmt.Sprintf("[{turn+%[1]d 2 %[1]d} {turn-%[1]d 2 -%[1]d} {size+%[1]d 1 %[1]d} {size-%[1]d 1 -%[1]d}]", w.Step); got != want {
			t.Errorf("actions %s, want %s", got, want)
		}
		if split.Moves() {
			t.Errorf("%+v: moves of ordinal factors are known", w)
		}
		counts, objects, total := map[int32]int{}, map[int]int{}, 0
		stream, images, taken := rng.New(2, "draw"), make([]int, 8), make([]int32, 8)
		for g := range 400 {
			if w.Fixed {
				copy(images, split.Groups[g])
				copy(taken, split.GroupActions[g])
			} else {
				split.Drawn.Draw(stream, images, taken)
			}
			from, to := make([]int, 3), make([]int, 3)
			d.FactorsAt(images[0], from)
			objects[from[0]]++
			for m := 1; m < 8; m++ {
				d.FactorsAt(images[m], to)
				a := split.Actions[taken[m]]
				want := after(w, a, from, d.Factors())
				if fmt.Sprint(to) != fmt.Sprint(want) {
					t.Fatalf("%+v: %s leads from %v to %v, want %v", w, a.Name, from, to, want)
				}
				counts[taken[m]]++
				total++
				copy(from, to)
			}
		}
		for a := range int32(4) {
			if p, want := float64(counts[a])/float64(total), 0.25; !(math.Abs(p-want) <= 4*math.Sqrt(want*(1-want)/float64(total))) {
				t.Errorf("action %d has the frequency %v", a, p)
			}
		}
		must.Equal(t, len(objects), 3, "episodes of objects", objects)
	}
}

// after returns the levels after an action.
func after(w *Walks, a Action, levels []int, factors []factor.Factor) []int {
	to, f := append([]int{}, levels...), factors[a.Factor]
	next := levels[a.Factor] + a.Step
	switch inside := next >= 0 && next < f.Size; {
	case inside:
		to[a.Factor] = next
	case f.Kind == factor.Circular:
		to[a.Factor] = (next + f.Size) % f.Size
	case w.Ends == "reflect":
		to[a.Factor] = []int{-next, 2*(f.Size-1) - next}[min(1, max(0, next))]
	}
	return to
}

// A fixed walk continues from episode to episode, except for factors without actions.
func TestWalksFixed(t *testing.T) {
	d := walked(t, walkedGrid[1:])
	w := &Walks{Episodes: 50, Actions: 3, Step: 1, Ends: "stay", Fixed: true, Factors: []string{"size", "turn"}}
	split := must.Get(w.Split(d, rng.New(1, "walks")))(t)
	last, first := make([]int, 2), make([]int, 2)
	for g := 1; g < len(split.Groups); g++ {
		d.FactorsAt(split.Groups[g-1][3], last)
		d.FactorsAt(split.Groups[g][0], first)
		size, turn := first[0]-last[0], (first[1]-last[1]+5)%5
		if size*size > 1 || turn != 0 && turn != 1 && turn != 4 || size != 0 && turn != 0 {
			t.Errorf("episode %d begins at %v, and the one before ends at %v", g, first, last)
		}
	}
	must.Equal(t, split.GroupActions[3][0], -1, "the first image of an episode has an action")
}

// Moves of circular factors agree with the levels.
func TestWalksMoves(t *testing.T) {
	w := NewWalks()
	for _, w.Fixed = range []bool{false, true} {
		split := must.Get(w.Split(walked(t, walkedGrid), rng.New(1, "walks")))(t)
		if !split.Moves() || len(split.Actions) != 2 {
			t.Errorf("fixed %v: moves known: %v, %d actions", w.Fixed, split.Moves(), len(split.Actions))
		}
	}
}

func TestWalksMistakes(t *testing.T) {
	with := func(change func(w *Walks)) *Walks {
		w := NewWalks()
		change(w)
		return w
	}
	full, hole := walked(t, walkedGrid), walked(t, walkedGrid, 22)
	for want, c := range map[string]struct {
		w *Walks
		d datasets.Dataset
	}{
		"actions: 0 is out of range":            {with(func(w *Walks) { w.Actions = 0 }), full},
		"episodes: 0 is out of range":           {with(func(w *Walks) { w.Episodes = 0 }), full},
		"step: 0 is out of range":               {with(func(w *Walks) { w.Step = 0 }), full},
		`ends: "wrap" is unknown; want stay or`: {with(func(w *Walks) { w.Ends = "wrap" }), full},
		"step 5 is too long for factor":         {with(func(w *Walks) { w.Step = 5 }), full},
		`has no factor "trun"; did you mean`:    {with(func(w *Walks) { w.Factors = []string{"trun"} }), full},
		`"turn" is repeated`:                    {with(func(w *Walks) { w.Factors = []string{"turn", "turn"} }), full},
		`"object" is categorical, without an`:   {with(func(w *Walks) { w.Factors = []string{"object"} }), full},
		"has no circular factor; name ordinal":  {NewWalks(), walked(t, walkedGrid[:2])},
		"has no image with object":              {NewWalks(), hole},
	} {
		must.ErrorOf(c.w.Split(c.d, rng.New(1, "walks")))(t, want)
	}
}
