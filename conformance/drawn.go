package conformance

import (
	"fmt"

	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
)

func (x *splits) actions() {
	s := x.split
	if s.GroupActions != nil && len(s.GroupActions) != len(s.Groups) {
		x.fatal("there are %d groups and actions of %d; want actions of each, or of none", len(s.Groups), len(s.GroupActions))
	}
	for i, a := range s.Actions {
		if a.Name == "" || a.Factor < 0 || a.Factor >= len(x.factors) {
			x.add("action %d is %+v; want a name, and one of the %d factors", i, a, len(x.factors))
		}
	}
	for g, taken := range s.GroupActions {
		x.taken(fmt.Sprint("group ", g), taken, len(s.Groups[g]))
	}
}

// taken checks the actions in groups of m images each.
func (x *splits) taken(where string, taken []int32, m int) {
	if len(taken)%m != 0 {
		x.fatal("%s has %d actions; want one for each of %d images", where, len(taken), m)
	}
	for i, a := range taken {
		if a < -1 || int(a) >= len(x.split.Actions) || i%m == 0 && a != -1 {
			x.fatal("%s: action %d of image %d; want -1 for a group's first image, and -1 to %d", where, a, i%m, len(x.split.Actions)-1)
		}
	}
}

// drawnImages draws groups, and checks their images and actions.
func (x *splits) drawnImages() {
	d := x.split.Drawn
	if d == nil || d.Draw == nil {
		return
	}
	stream, images, taken := rng.New(seed, "draw"), make([]int, d.M), make([]int32, d.M)
	for range 100 {
		for m := range taken {
			taken[m] = -1
		}
		d.Draw(stream, images, taken)
		for _, i := range images {
			x.image(i, "a drawn group")
		}
		x.taken("a drawn group", taken, d.M)
	}
}

// drawn checks the groups drawn in two epochs, and their moves if these are known.
func (x *splits) drawn() {
	d := x.split.Drawn
	if d == nil {
		return
	}
	b := x.sampler(10 * d.M)
	var epochs [2]string
	for n := range epochs {
		x.startEpoch(b)
		for batch, ok := b.Next(); ok; batch, ok = b.Next() {
			if batch.Labelled && batch.Group == d.M {
				epochs[n] += fmt.Sprint(batch.Indices)
				x.drawnBatch(batch)
			}
		}
	}
	if d.Count > 5 && epochs[0] == epochs[1] {
		x.add("two epochs of dataset %s draw the same %d groups; want them drawn anew", x.set.Name(), d.Count)
	}
}

// drawnBatch checks the moves of a batch of groups.
func (x *splits) drawnBatch(b supervision.Batch) {
	if !x.split.Moves() {
		return
	}
	columns := x.split.K()
	for row, i := range b.Indices {
		m := row % b.Group
		x.moves(row/b.Group, m, b.Indices[row-m], i, b.Transformations[row*columns:(row+1)*columns])
	}
}
