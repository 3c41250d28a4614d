package supervision_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// drawing is a supervision that draws groups of consecutive images, with the parity of the step as the action.
type drawing struct {
	m, count int
	moves    bool
	bad      func(*Split)
}

func (w drawing) Split(d datasets.Dataset, _ *rng.Stream) (*Split, error) {
	s := &Split{M: w.m, Actions: []Action{{Name: "even"}, {Name: "odd"}}}
	s.Drawn = &Drawn{M: w.m, Count: w.count, Draw: func(s *rng.Stream, images []int, actions []int32) {
		at := s.IntN(d.Len())
		for m := range images {
			images[m] = (at + m) % d.Len()
			if m > 0 {
				actions[m] = int32(images[m] % 2)
			}
		}
	}}
	if w.moves {
		s.Drawn.Moves, s.Drawn.K = MovesOf(d)
	}
	if w.bad != nil {
		w.bad(s)
	}
	return s, nil
}

// dealt returns the batches of several epochs as text.
func dealt(t testing.TB, b *Sampler, epochs int) (list []string) {
	t.Helper()
	for range epochs {
		must.OK(t, b.StartEpoch())
		for batch, ok := b.Next(); ok; batch, ok = b.Next() {
			list = append(list, fmt.Sprint(batch))
		}
	}
	return list
}

// TestDrawnGroups checks sizes, transformations and actions of groups that change in every epoch, together with fixed
// groups.
func TestDrawnGroups(t *testing.T) {
	d := datatest.ToyOf(circle("a", 8), circle("b", 6))
	for _, moves := range []bool{true, false} {
		s := datatest.Split(t, seeded{Choices{{Name: "paths", Value: &Paths{Count: 5, Length: 4, Step: 1, Unlabelled: true}},
			{Name: "drawn", Value: drawing{m: 3, count: 7, moves: moves}}}, 3}, d)
		if s.M != 4 || s.GroupCount() != 12 || s.K() != 2 || s.Moves() != moves || len(s.GroupActions) != 5 {
			t.Fatalf("groups of %d, %d in all, %d columns, moves %v, actions of %d", s.M, s.GroupCount(), s.K(), s.Moves(), len(s.GroupActions))
		}
		b := datatest.Sampler(t, s, 6)
		must.Equal(t, b.Images(), 20+21+len(s.Unlabelled), "an epoch of", "images")
		seen := map[string]bool{}
		for range 2 {
			must.OK(t, b.StartEpoch())
			var sizes []string
			for batch, ok := b.Next(); ok; batch, ok = b.Next() {
				if !batch.Labelled {
					continue
				}
				sizes = append(sizes, fmt.Sprint(len(batch.Indices), "/", batch.Group))
				checkDrawn(t, d, batch, moves)
				seen[fmt.Sprint(batch.Indices)] = true
			}
			must.Equal(t, fmt.Sprint(sizes), "[4/4 4/4 4/4 4/4 4/4 6/3 6/3 6/3 3/3]", "batches of")
		}
		if len(seen) < 12 {
			t.Errorf("two epochs have %d different batches", len(seen))
		}
	}
}

// checkDrawn checks the drawn groups of a batch, and that paths have no actions.
func checkDrawn(t *testing.T, d datasets.Dataset, b Batch, moves bool) {
	t.Helper()
	first, levels := make([]int, 2), make([]int, 2)
	for row, i := range b.Indices {
		if b.Group == 4 {
			must.Equal(t, b.Actions[row], -1, "a path has action")
			continue
		}
		want := int32(-1)
		if row%3 > 0 {
			if want = int32(i % 2); i != (b.Indices[row-1]+1)%d.Len() {
				t.Errorf("group %v", b.Indices)
			}
		}
		if b.Actions[row] != want {
			t.Errorf("action %d of row %d, want %d", b.Actions[row], row, want)
		}
		d.FactorsAt(b.Indices[row/3*3], first)
		d.FactorsAt(i, levels)
		for k, f := range d.Factors() {
			angle := float32(0)
			if moves {
				angle = float32(f.Angle((levels[k] - first[k] + f.Size) % f.Size))
			}
			must.Equal(t, b.Transformations[2*row+k], angle, "factor", k, "turns by")
		}
	}
}

// TestDrawnPass checks that an image is in at most one group of a shuffled pass, and checks the omitted images.
func TestDrawnPass(t *testing.T) {
	s := &Split{M: 2, Drawn: &Drawn{M: 2, Count: 3, Pass: []int{1, 2, 3, 5, 8, 13, 21}}}
	b, left := datatest.Sampler(t, s, 4), map[int]bool{}
	for range 50 {
		var images []int
		for _, batch := range epoch(t, b) {
			if !batch.Labelled || batch.Group != 2 || len(batch.Transformations) > 0 {
				t.Fatalf("batch %+v", batch)
			}
			images = append(images, batch.Indices...)
		}
		for _, i := range s.Drawn.Pass {
			if !slices.Contains(images, i) {
				left[i] = true
			}
		}
		slices.Sort(images)
		if len(slices.Compact(images)) != 6 {
			t.Fatalf("an epoch of the images %v", images)
		}
	}
	must.Equal(t, len(left), 7, "only", "images were left out of one of 50 epochs")
}

// TestDrawnResume checks that a sampler restored at any batch returns the same groups.
func TestDrawnResume(t *testing.T) {
	d := datatest.ToyOf(circle("a", 8), circle("b", 6))
	for name, s := range map[string]*Split{
		"drawn":  datatest.Split(t, drawing{m: 3, count: 7, moves: true}, d),
		"pass":   {M: 2, Drawn: &Drawn{M: 2, Count: 10, Pass: numeric.UpTo(48)}, Unlabelled: []int{3, 4, 9}},
		"joined": datatest.Split(t, seeded{Choices{{Name: "pairs", Value: &Pairs{Count: 9}}, {Name: "drawn", Value: drawing{m: 2, count: 7}}, {Name: "labels", Value: &FactorLabels{Fraction: 0.5, Share: 0.3}}}, 3}, d),
	} {
		want := dealt(t, datatest.Sampler(t, s, 6), 3)
		one := datatest.Sampler(t, s, 6)
		for at := range want {
			if at%one.Batches() == 0 {
				must.OK(t, one.StartEpoch())
			}
			one.Next()
			text := must.Get(json.Marshal(one.State()))(t)
			var state State
			must.OK(t, json.Unmarshal(text, &state))
			other := must.Get(NewSampler(s, 6, rng.New(99, "other")))(t)
			must.OK(t, other.Restore(state))
			var got []string
			for batch, ok := other.Next(); ok; batch, ok = other.Next() {
				got = append(got, fmt.Sprint(batch))
			}
			got = append(got, dealt(t, other, 2-at/one.Batches())...)
			if !slices.Equal(got, want[at+1:]) {
				t.Fatalf("%s: restored after %d batches, it deals others", name, at+1)
			}
		}
	}
}

// seeded applies several kinds of supervision as a config does.
type seeded struct {
	s    Choices
	seed uint64
}

func (s seeded) Split(d datasets.Dataset, _ *rng.Stream) (*Split, error) { return s.s.Split(d, s.seed) }

// TestDrawnMistakes checks the errors for groups that cannot fill an epoch.
func TestDrawnMistakes(t *testing.T) {
	d := datatest.ToyOf(circle("a", 8), circle("b", 6))
	for want, bad := range map[string]func(*Split){
		"want at least 1 of 1 image":        func(s *Split) { s.Drawn.Count = 0 },
		"want at most 22369621":             func(s *Split) { s.Drawn.Count = 1 << 40 },
		"want one of Draw, Pass and Gro":    func(s *Split) { s.Drawn.Draw = nil },
		"from 3 images; want at least 21":   func(s *Split) { s.Drawn.Draw, s.Drawn.Pass = nil, []int{1, 2, 3} },
		"from image 48; want an image":      func(s *Split) { s.Drawn.Draw, s.Drawn.Pass, s.Drawn.Count = nil, []int{1, 2, 48}, 1 },
		"group 0 has image 48; want":        func(s *Split) { s.Drawn.Draw = func(_ *rng.Stream, images []int, _ []int32) { images[1] = 48 } },
		"image 1: action 2; want":           func(s *Split) { s.Drawn.Draw = func(_ *rng.Stream, _ []int, actions []int32) { actions[1] = 2 } },
		"image 0: action 0; want":           func(s *Split) { s.Drawn.Draw = func(_ *rng.Stream, _ []int, actions []int32) { actions[0] = 0 } },
		"(far) changes factor 2; want":      func(s *Split) { s.Actions = append(s.Actions, Action{"far", 2, 1}) },
		"5 numbers for each image as trans": func(s *Split) { s.Drawn.K = 5 },
		"and M is 0":                        func(s *Split) { s.M = 0 },
		"actions of 1; want": func(s *Split) {
			s.Groups, s.Transformations = [][]int{{1, 2, 3}, {1, 2, 3}}, [][]float32{make([]float32, 6), make([]float32, 6)}
			s.GroupActions = [][]int32{{-1, 0, 0}}
		},
	} {
		must.ErrorOf(Of("drawn", drawing{m: 3, count: 7, moves: true, bad: bad}).Split(d, 1))(t, want)
	}
	two := Choices{{Name: "a", Value: drawing{m: 3, count: 7}}, {Name: "b", Value: drawing{m: 2, count: 7}}}
	must.ErrorOf(two.Split(d, 1))(t, "two kinds of supervision draw groups")
	if s := datatest.Split(t, drawing{m: 2, count: 4}, d); !reflect.DeepEqual(s.Kinds(), []GroupKind{{M: 2, Count: 4, Drawn: true}}) {
		t.Errorf("kinds %+v", s.Kinds())
	}
}
