package conformance

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
)

// CheckSupervision returns the faults of an entry of the registry of supervisions: faults of its settings, and faults
// of its splits ([CheckSplit]). It splits three data sets, if the supervision suits them: 64 x 64 images of two
// circular factors, 48 objects with 32 views and two sizes each, and 60 poses with 8 hues.
func CheckSupervision(e registry.Entry[supervision.Kind]) error {
	return faultsOfEntry("supervision", e, func(f *findings, s supervision.Kind) {
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
			f.add("it suits no data set of the test: %s; want a test by CheckSplit on a data set that it suits",
				strings.Join(refused, "; "))
		}
	})
}

// CheckSplit returns the faults of a supervision's splits of a data set: images that do not exist, groups of a wrong
// size, and transformations or labels that contradict the images' levels. A split that differs for equal streams or
// is the same for all streams is a fault. Batches that differ after a resume are a fault too.
func CheckSplit(name string, s supervision.Kind, d datasets.Dataset) error {
	return faultsOf("supervision "+name, func(f *findings) { checkSplit(f, s, d) })
}

// supervisedSets returns data sets without pixels, because a supervision uses only levels.
func supervisedSets() []datasets.Dataset {
	var sets []datasets.Dataset
	for _, s := range []struct {
		name string
		grid factor.Grid
	}{
		{"torus", factor.Grid{{Name: "row", Size: 64}, {Name: "column", Size: 64}}},
		{"objects", factor.Grid{{Name: "object", Size: 48, Kind: factor.Categorical}, {Name: "view", Size: 32},
			{Name: "size", Size: 2, Kind: factor.Ordinal}}},
		{"poses", factor.Grid{{Name: "pose", Size: 60, Kind: factor.Categorical, Rotations: rotation.Icosahedral()},
			{Name: "hue", Size: 8}}},
	} {
		var levels [][]int
		for _, l := range s.grid.All() {
			levels = append(levels, slices.Clone(l))
		}
		d, err := datasets.FromPixels(s.name, make([]uint8, s.grid.Len()), 1, 1, 1, s.grid, levels)
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
	dataset datasets.Dataset
	factors []factor.Factor
	split   *supervision.Split
}

func checkSplit(f *findings, s supervision.Kind, d datasets.Dataset) {
	x := &splits{findings: f, dataset: d, factors: d.Factors()}
	var err error
	x.split, err = s.Split(d, rng.New(seed, "supervision"))
	x.must(err, "dataset %s: Split", d.Name())
	if x.split == nil {
		x.fatal("dataset %s: Split returns nil", d.Name())
	}
	x.must(x.split.Validate(d), "dataset %s", d.Name())
	faults := len(x.errs)
	x.run(x.groups, x.actions, x.unlabelled, x.knownLabels)
	if len(x.errs) == faults { // these checks need a split without faults
		x.run(func() { x.streams(s) }, x.resume, x.drawnGroups)
	}
}

// groups checks the images of groups and the transformations between them.
func (x *splits) groups() {
	s, k := x.split, len(x.factors)
	x.checkOrder()
	columns := k + 4*s.Rotations
	for g, group := range s.Groups {
		for m, i := range group {
			row := s.Transformations[g][m*columns : (m+1)*columns]
			x.checkMoves(g, m, group[0], i, row)
			for r := range s.Rotations {
				if v := row[k+4*r : k+4*r+4]; slices.ContainsFunc(v, func(v float32) bool { return v-v != 0 }) ||
					m == 0 && v[3] != 0 {
					x.add("group %d, image %d: rotation %d in space is %v; want finite numbers, and the angle 0 for the first image",
						g, m, r, v)
				}
			}
		}
	}
}

// checkOrder checks that groups of M images come first, and that groups of equal size are adjacent.
func (x *splits) checkOrder() {
	sizes := map[int]bool{}
	for n, kind := range x.split.Kinds() {
		if kind.Drawn {
			break
		}
		if sizes[kind.M] || n == 0 && kind.M != x.split.M || kind.M == 0 {
			x.fatal("groups of %d images begin at group %d; want groups of M (%d) images first, and groups of equal size together", kind.M, kind.First, x.split.M)
		}
		sizes[kind.M] = true
	}
}

// checkMoves checks that a row of transformations maps the first image of group g to image m.
func (x *splits) checkMoves(g, m, firstImage, image int, row []float32) {
	firstLevels, levels := make([]int, len(x.factors)), make([]int, len(x.factors))
	x.dataset.FactorsAt(firstImage, firstLevels)
	x.dataset.FactorsAt(image, levels)
	for j, f := range x.factors {
		x.angle(g, m, f, firstLevels[j], levels[j], row[j])
	}
	x.poses(g, m, firstLevels, levels, row[len(x.factors):])
}

// angle checks that the angle of a factor maps one level to the other.
func (x *splits) angle(g, m int, f factor.Factor, firstLevel, level int, angle float32) {
	const tolerance = 1e-5
	turn := 0.0
	if f.Kind == factor.Circular {
		turn = f.Angle(level) - f.Angle(firstLevel)
	} else if firstLevel != level && f.Rotations == nil && x.split.Moves() {
		x.add("group %d, image %d: factor %q is %v and goes from level %d to %d; want factors without angles to be equal in a group", g, m, f.Name, f.Kind, firstLevel, level)
	}
	if deviation := math.Abs(math.Remainder(float64(angle)-turn, 2*math.Pi)); !(deviation <= tolerance) {
		x.add("group %d, image %d: factor %q turns by %v, and its level goes from %d to %d, by %v radians",
			g, m, f.Name, angle, firstLevel, level, turn)
	}
}

// poses checks that rotations in space map one pose to the other. The rotations of factors come first.
func (x *splits) poses(g, m int, firstLevels, levels []int, rotations []float32) {
	const tolerance = 1e-5
	for j, f := range x.factors {
		if f.Rotations == nil {
			continue
		}
		if len(rotations) < 4 {
			x.fatal("group %d, image %d: there is no rotation in space for factor %q; want one for each factor of rotations",
				g, m, f.Name)
		}
		turn := rotation.AboutAxis([3]float64{float64(rotations[0]), float64(rotations[1]), float64(rotations[2])},
			float64(rotations[3]))
		pose := rotation.Product(&turn, &f.Rotations[firstLevels[j]])
		rotations = rotations[4:]
		for e, v := range f.Rotations[levels[j]] {
			if !(math.Abs(pose[e]-v) <= tolerance) {
				x.fatal("group %d, image %d: the rotation of factor %q takes level %d to the pose %v, and level %d is %v",
					g, m, f.Name, firstLevels[j], pose, levels[j], f.Rotations[levels[j]])
			}
		}
	}
}

func (x *splits) unlabelled() {
	grouped := asSet(slices.Concat(x.split.Groups...))
	for _, i := range x.split.Unlabelled {
		if grouped[i] {
			x.add("image %d is in a group and among Unlabelled", i)
		}
	}
}

func (x *splits) knownLabels() {
	l := x.split.Known
	if l == nil {
		return
	}
	if len(l.Factors) == 0 {
		x.fatal("labels: there are no factors; want at least one")
	}
	x.must(factor.Validate(l.Factors), "labels")
	if !(l.Share >= 0 && l.Share < 1) {
		x.add("labels: Share is %v; want 0 or more, and less than 1", l.Share)
	}
	x.labels(l)
	x.pairs(l)
}

// labels checks the labelled images and their levels.
func (x *splits) labels(l *supervision.Labels) {
	levels, known := make([]int, len(x.factors)), make([]int32, len(l.Factors))
	for _, i := range l.Images {
		if !l.At(i, known) {
			continue
		}
		x.dataset.FactorsAt(i, levels)
		for k, f := range l.Factors {
			column := x.column(f)
			if known[k] < -1 || int(known[k]) >= f.Size || known[k] >= 0 && column >= 0 && int(known[k]) != levels[column] {
				x.add("labels: image %d has level %d of factor %q; want the data set's level, or -1 if it is unknown",
					i, known[k], f.Name)
			}
		}
	}
}

// pairs checks that the pairs agree with the levels of the data set.
func (x *splits) pairs(l *supervision.Labels) {
	levels, otherLevels := make([]int, len(x.factors)), make([]int, len(x.factors))
	for n, p := range l.Pairs {
		if p.A == p.B {
			x.fatal("labels: pair %d is %+v; want two different images", n, p)
		}
		x.dataset.FactorsAt(p.A, levels)
		x.dataset.FactorsAt(p.B, otherLevels)
		if column := x.column(l.Factors[p.Factor]); column >= 0 && (levels[column] != otherLevels[column]) != p.Different {
			answer := "agree"
			if p.Different {
				answer = "differ"
			}
			x.add("labels: pair %d says that images %d and %d %s in factor %q; their levels are %d and %d",
				n, p.A, p.B, answer, l.Factors[p.Factor].Name, levels[column], otherLevels[column])
		}
	}
}

// column returns a factor's index in the data set, or -1 for other factors.
func (x *splits) column(f factor.Factor) int {
	return slices.IndexFunc(x.factors, func(g factor.Factor) bool { return g.Name == f.Name && g.Size == f.Size })
}

func (x *splits) content(s *supervision.Split) []any {
	content := []any{s.M, s.Groups, s.Transformations, s.Rotations, s.Unlabelled, s.Actions, s.GroupActions}
	if l := s.Known; l != nil {
		var levels []int32
		known := make([]int32, len(l.Factors))
		for _, i := range l.Images {
			l.At(i, known)
			levels = append(levels, known...)
		}
		content = append(content, l.Factors, l.Images, l.Pairs, l.Share, l.Classes, levels)
	}
	return content
}

func (x *splits) streams(s supervision.Kind) {
	content, constant := x.content(x.split), true
	for n := range uint64(4) {
		repeated, err := s.Split(x.dataset, rng.New(seed+n, "supervision"))
		x.must(err, "dataset %s: Split, once more", x.dataset.Name())
		equal := reflect.DeepEqual(x.content(repeated), content)
		if n == 0 && !equal {
			x.fatal("two splits of dataset %s by the same stream differ; want everything random to come from the stream",
				x.dataset.Name())
		}
		constant = constant && equal
	}
	if count := x.supervisedImages(); constant && count > 0 && count < x.dataset.Len() {
		x.add("it chooses the same %d of the %d images of dataset %s for every stream; want a choice by the stream",
			count, x.dataset.Len(), x.dataset.Name())
	}
}

// supervisedImages counts the images with labels, similar pairs or groups.
func (x *splits) supervisedImages() int {
	images := slices.Concat(x.split.Groups...)
	if l := x.split.Known; l != nil {
		images = append(images, l.Images...)
	}
	return len(asSet(images))
}

func asSet(list []int) map[int]bool {
	set := map[int]bool{}
	for _, i := range list {
		set[i] = true
	}
	return set
}

// sampler returns a sampler of batches of about n images.
func (x *splits) sampler(n int) *supervision.Sampler {
	b, err := supervision.NewSampler(x.split, n, rng.New(seed, "batch"))
	x.must(err, "a sampler of dataset %s", x.dataset.Name())
	return b
}

func (x *splits) startEpoch(b *supervision.Sampler) {
	x.must(b.StartEpoch(), "a sampler of dataset %s", x.dataset.Name())
}

// resume compares the batches of a sampler with the batches of a sampler resumed in the middle of an epoch.
func (x *splits) resume() {
	const images, epochs = 64, 2
	sampler, resumed := x.sampler(images), x.sampler(images)
	var states []supervision.State
	var batches [][]byte
	for range epochs {
		x.startEpoch(sampler)
		for b, ok := sampler.Next(); ok; b, ok = sampler.Next() {
			batches, states = append(batches, fmt.Append(nil, b)), append(states, sampler.State())
		}
	}
	middle := len(batches) / 3
	x.must(resumed.Restore(states[middle]), "resuming a sampler of dataset %s", x.dataset.Name())
	for n := middle + 1; n < len(batches); n++ {
		b, ok := resumed.Next()
		if !ok {
			x.startEpoch(resumed)
			b, _ = resumed.Next()
		}
		if !bytes.Equal(fmt.Append(nil, b), batches[n]) {
			x.fatal("batch %d of dataset %s differs after a resume at batch %d", n, x.dataset.Name(), middle)
		}
	}
}

func (x *splits) actions() {
	for i, a := range x.split.Actions {
		if a.Name == "" {
			x.add("action %d is %+v; want a name", i, a)
		}
	}
}

// drawnGroups checks the groups drawn in two epochs, and their moves if these are known.
func (x *splits) drawnGroups() {
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
		x.add("two epochs of dataset %s draw the same %d groups; want them drawn anew", x.dataset.Name(), d.Count)
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
		x.checkMoves(row/b.Group, m, b.Indices[row-m], i, b.Transformations[row*columns:(row+1)*columns])
	}
}
