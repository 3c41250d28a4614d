package conformance

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
)

// allSupervisions tests every registered supervision with its defaults, with [CheckSupervision]. It skips entries
// without valid defaults, such as a supervision that reads files. [CheckSplit] tests such entries.
func allSupervisions(t *testing.T) {
	for _, e := range supervision.Registry.Entries {
		t.Run(e.Name, func(t *testing.T) { verdict(t, CheckSupervision(e)) })
	}
}

// CheckSupervision returns the faults of an entry of the registry of supervisions: faults of its settings, and faults
// of its splits ([CheckSplit]). It splits three data sets, if the supervision suits them: 64 x 64 images of two
// circular factors, 48 objects with 32 views and two sizes each, and 60 poses with 8 hues.
func CheckSupervision(e registry.Entry[supervision.Kind]) error {
	f := &findings{part: "supervision " + e.Name}
	func() {
		defer f.guard()
		s, ok := entryOf(f, e)
		if !ok {
			return
		}
		var refused []string
		sets := supervisedSets()
		for _, d := range sets {
			if _, err := s.Split(d, rng.New(seed, "supervision")); err != nil {
				refused = append(refused, err.Error())
				continue
			}
			checkSplit(f, s, d)
		}
		if len(refused) == len(sets) {
			f.add("it suits no data set of the test: %s; test it with CheckSplit on one that it suits", strings.Join(refused, "; "))
		}
	}()
	return f.err()
}

// CheckSplit returns the faults of a supervision's splits of a data set: images that do not exist, groups of a wrong
// size, and transformations or labels that contradict the images' levels. A split that differs for equal streams or
// is the same for all streams is a fault. Batches that differ after a resume are a fault too.
func CheckSplit(name string, s supervision.Kind, d datasets.Dataset) error {
	f := &findings{part: "supervision " + name}
	func() {
		defer f.guard()
		checkSplit(f, s, d)
	}()
	return f.err()
}

// supervisedSets returns data sets without pixels, because a supervision uses only levels.
func supervisedSets() []datasets.Dataset {
	var sets []datasets.Dataset
	for i, g := range []factor.Grid{
		{{Name: "row", Size: 64}, {Name: "column", Size: 64}},
		{{Name: "object", Size: 48, Kind: factor.Categorical}, {Name: "view", Size: 32}, {Name: "size", Size: 2, Kind: factor.Ordinal}},
		{{Name: "pose", Size: 60, Kind: factor.Categorical, Rotations: rotation.Icosahedral()}, {Name: "hue", Size: 8}},
	} {
		name := []string{"torus", "objects", "poses"}[i]
		levels := make([][]int, g.Len())
		for i := range levels {
			levels[i] = make([]int, len(g))
			g.At(i, levels[i])
		}
		d, err := datasets.FromPixels(name, make([]uint8, g.Len()), 1, 1, 1, g, levels)
		if err != nil {
			panic(err) // the sets are valid
		}
		sets = append(sets, d)
	}
	return sets
}

// splits checks a supervision's splits of a data set.
type splits struct {
	*findings
	set     datasets.Dataset
	factors []factor.Factor
	split   *supervision.Split
}

func checkSplit(f *findings, s supervision.Kind, d datasets.Dataset) {
	x := &splits{findings: f, set: d, factors: d.Factors()}
	var err error
	if x.split, err = s.Split(d, rng.New(seed, "supervision")); err != nil {
		x.add("dataset %s: Split: %w", d.Name(), err)
		return
	}
	if x.split == nil {
		x.add("dataset %s: Split returns nil", d.Name())
		return
	}
	before := len(x.errs)
	x.groups()
	x.actions()
	x.drawnImages()
	x.unlabelled()
	x.known()
	if len(x.errs) > before {
		return // the checks below need a split without faults
	}
	x.streams(s)
	x.resume()
	x.drawn()
}

// groups checks the images of groups and the transformations between them.
func (x *splits) groups() {
	s, k := x.split, len(x.factors)
	if len(s.Transformations) != len(s.Groups) {
		x.add("there are %d groups and transformations of %d; want one for each", len(s.Groups), len(s.Transformations))
		return
	}
	if !x.ordered() {
		return
	}
	first, levels := make([]int, k), make([]int, k)
	for g, group := range s.Groups {
		columns := k + 4*s.Rotations
		if len(s.Transformations[g]) != len(group)*columns {
			x.add("group %d of %d images has %d numbers as transformations; want %d for each image, for %d factors and %d rotations in space",
				g, len(group), len(s.Transformations[g]), columns, k, s.Rotations)
			return
		}
		for m, i := range group {
			if i < 0 || i >= x.set.Len() {
				x.add("group %d has image %d of dataset %s; want 0 to %d", g, i, x.set.Name(), x.set.Len()-1)
				return
			}
			x.set.FactorsAt(group[0], first)
			x.set.FactorsAt(i, levels)
			row := s.Transformations[g][m*columns : (m+1)*columns]
			for j, f := range x.factors {
				x.angle(g, m, f, first[j], levels[j], row[j])
			}
			x.poses(g, m, first, levels, row[k:])
			for r := range s.Rotations {
				if v := row[k+4*r : k+4*r+4]; slices.ContainsFunc(v, func(v float32) bool { return v-v != 0 }) || m == 0 && v[3] != 0 {
					x.add("group %d, image %d: rotation %d in space is %v; want finite numbers, and the angle 0 for the first image", g, m, r, v)
				}
			}
		}
	}
}

// ordered checks that groups of M images come first, and groups of an equal number of images together.
func (x *splits) ordered() bool {
	seen := map[int]bool{}
	for n, kind := range x.split.Kinds() {
		if kind.Drawn {
			break
		}
		if seen[kind.M] || n == 0 && kind.M != x.split.M || kind.M == 0 {
			x.add("groups of %d images begin at group %d; want M (%d) images first, and those of one number together", kind.M, kind.First, x.split.M)
			return false
		}
		seen[kind.M] = true
	}
	return true
}

// angle checks that the angle of a factor leads from one level to another.
func (x *splits) angle(g, m int, f factor.Factor, from, to int, angle float32) {
	const tolerance = 1e-5
	way := 0.0
	if f.Kind == factor.Circular {
		way = f.Angle(to) - f.Angle(from)
	} else if from != to && f.Rotations == nil && x.split.Moves() {
		x.add("group %d, image %d: factor %q is %v and goes from level %d to %d; want factors without angles to be equal in a group", g, m, f.Name, f.Kind, from, to)
	}
	if off := math.Abs(math.Remainder(float64(angle)-way, 2*math.Pi)); !(off <= tolerance) {
		x.add("group %d, image %d: factor %q turns by %v, and its level goes from %d to %d, by %v radians", g, m, f.Name, angle, from, to, way)
	}
}

// poses checks that rotations in space lead from one pose to another. The rotations of factors come first.
func (x *splits) poses(g, m int, from, to []int, rotations []float32) {
	const tolerance = 1e-5
	for j, f := range x.factors {
		if f.Rotations == nil {
			continue
		}
		if len(rotations) < 4 {
			x.add("group %d, image %d: there is no rotation in space for factor %q; want one for each factor of rotations", g, m, f.Name)
			return
		}
		turn := rotation.AboutAxis([3]float64{float64(rotations[0]), float64(rotations[1]), float64(rotations[2])}, float64(rotations[3]))
		pose := rotation.Product(&turn, &f.Rotations[from[j]])
		rotations = rotations[4:]
		for e, v := range f.Rotations[to[j]] {
			if !(math.Abs(pose[e]-v) <= tolerance) {
				x.add("group %d, image %d: the rotation of factor %q takes level %d to the pose %v, and level %d is %v", g, m, f.Name, from[j], pose, to[j], f.Rotations[to[j]])
				return
			}
		}
	}
}

// unlabelled checks the images outside groups.
func (x *splits) unlabelled() {
	s := x.split
	grouped := map[int]bool{}
	for _, group := range s.Groups {
		for _, i := range group {
			grouped[i] = true
		}
	}
	for n, i := range s.Unlabelled {
		switch {
		case i < 0 || i >= x.set.Len():
			x.add("Unlabelled has image %d of dataset %s; want 0 to %d", i, x.set.Name(), x.set.Len()-1)
		case n > 0 && i <= s.Unlabelled[n-1]:
			x.add("Unlabelled has image %d after %d; want them ascending", i, s.Unlabelled[n-1])
		case grouped[i]:
			x.add("image %d is in a group and among Unlabelled", i)
		}
	}
	if s.GroupCount() == 0 && len(s.Unlabelled) == 0 {
		x.add("there are no groups and no unlabelled images; want something to train on, or an error")
	}
}

// known checks labels and similar pairs.
func (x *splits) known() {
	l := x.split.Known
	if l == nil {
		return
	}
	if len(l.Factors) == 0 {
		x.add("labels: there are no factors; want at least one")
		return
	}
	if err := factor.Validate(l.Factors); err != nil {
		x.add("labels: %w", err)
		return
	}
	if !(l.Share >= 0 && l.Share < 1) {
		x.add("labels: Share is %v; want 0 or more, and less than 1", l.Share)
	}
	if x.labels(l) {
		x.pairs(l)
	}
}

// labels checks the labelled images and their levels. It reports whether the images are of the data set, in order.
func (x *splits) labels(l *supervision.Labels) bool {
	levels, own := make([]int, len(x.factors)), make([]int32, len(l.Factors))
	for n, i := range l.Images {
		if i < 0 || i >= x.set.Len() || n > 0 && i <= l.Images[n-1] {
			x.add("labels: Images has %d; want images of the data set, ascending", i)
			return false
		}
		if !l.At(i, own) {
			continue
		}
		x.set.FactorsAt(i, levels)
		for k, f := range l.Factors {
			at := x.place(f)
			if own[k] < -1 || int(own[k]) >= f.Size || own[k] >= 0 && at >= 0 && int(own[k]) != levels[at] {
				x.add("labels: image %d has level %d of factor %q; want that of the data set, or -1 where it is not known", i, own[k], f.Name)
			}
		}
	}
	return true
}

// pairs checks that pairs with equal or different levels agree with the levels of the data set.
func (x *splits) pairs(l *supervision.Labels) {
	levels, other := make([]int, len(x.factors)), make([]int, len(x.factors))
	for n, p := range l.Pairs {
		if min(p.A, p.B) < 0 || max(p.A, p.B) >= x.set.Len() || p.A == p.B || p.Factor < 0 || p.Factor >= len(l.Factors) {
			x.add("labels: pair %d is %+v; want two different images, and one of the %d factors", n, p, len(l.Factors))
			return
		}
		x.set.FactorsAt(p.A, levels)
		x.set.FactorsAt(p.B, other)
		if at := x.place(l.Factors[p.Factor]); at >= 0 && (levels[at] != other[at]) != p.Different {
			said := "agree"
			if p.Different {
				said = "differ"
			}
			x.add("labels: pair %d says that images %d and %d %s in factor %q; their levels are %d and %d", n, p.A, p.B, said, l.Factors[p.Factor].Name, levels[at], other[at])
		}
	}
}

// place returns a factor's index in the data set, or -1 if it is not a factor of the set.
func (x *splits) place(f factor.Factor) int {
	return slices.IndexFunc(x.factors, func(g factor.Factor) bool { return g.Name == f.Name && g.Size == f.Size })
}

// chosen lists all choices of a split.
func (x *splits) chosen(s *supervision.Split) []any {
	said := []any{s.M, s.Groups, s.Transformations, s.Rotations, s.Unlabelled, s.Actions, s.GroupActions}
	if l := s.Known; l != nil {
		var levels []int32
		own := make([]int32, len(l.Factors))
		for _, i := range l.Images {
			l.At(i, own)
			levels = append(levels, own...)
		}
		said = append(said, l.Factors, l.Images, l.Pairs, l.Share, l.Classes, levels)
	}
	return said
}

// streams compares the splits of equal and of different streams.
func (x *splits) streams(s supervision.Kind) {
	want, same := x.chosen(x.split), true
	for n := range uint64(4) {
		r := rng.New(seed+n, "supervision")
		again, err := s.Split(x.set, r)
		if err != nil {
			x.add("dataset %s: Split, once more: %w", x.set.Name(), err)
			return
		}
		equal := reflect.DeepEqual(x.chosen(again), want)
		if n == 0 && !equal {
			x.add("two splits of dataset %s by the same stream are different; want everything random to come from the stream", x.set.Name())
			return
		}
		same = same && equal
	}
	if part := x.part(); same && part > 0 && part < x.set.Len() {
		x.add("it chooses the same %d of the %d images of dataset %s whatever its stream; want a choice that the stream makes", part, x.set.Len(), x.set.Name())
	}
}

// part counts the images with labels, similar pairs or groups.
func (x *splits) part() int {
	images := map[int]bool{}
	for _, group := range x.split.Groups {
		for _, i := range group {
			images[i] = true
		}
	}
	if l := x.split.Known; l != nil {
		for _, i := range l.Images {
			images[i] = true
		}
	}
	return len(images)
}

// resume compares the batches of a sampler with the batches of a sampler resumed in the middle of an epoch.
func (x *splits) resume() {
	const images, epochs = 64, 2
	sampler := func() *supervision.Sampler {
		b, err := supervision.NewSampler(x.split, images, rng.New(seed, "batch"))
		if err != nil {
			x.add("a sampler of dataset %s: %w", x.set.Name(), err)
		}
		return b
	}
	one := sampler()
	if one == nil {
		return
	}
	var states []supervision.State
	var dealt [][]byte
	for range epochs {
		if err := one.StartEpoch(); err != nil {
			x.add("a sampler of dataset %s: %w", x.set.Name(), err)
			return
		}
		for b, ok := one.Next(); ok; b, ok = one.Next() {
			dealt, states = append(dealt, fmt.Append(nil, b)), append(states, one.State())
		}
	}
	at := len(dealt) / 3
	other := sampler()
	if err := other.Restore(states[at]); err != nil {
		x.add("resuming a sampler of dataset %s: %w", x.set.Name(), err)
		return
	}
	for n := at + 1; n < len(dealt); n++ {
		b, ok := other.Next()
		if !ok {
			if err := other.StartEpoch(); err != nil {
				x.add("resuming a sampler of dataset %s: %w", x.set.Name(), err)
				return
			}
			b, _ = other.Next()
		}
		if !bytes.Equal(fmt.Append(nil, b), dealt[n]) {
			x.add("batch %d of dataset %s is another after a resume at batch %d", n, x.set.Name(), at)
			return
		}
	}
}
