package supervision

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/rng"
)

// postings lists the images with known levels by the levels of each factor. It takes 8 bytes per image and factor.
type postings struct {
	levels []int32 // image by image
	width  int     // number of factors

	factors []byLevel
}

func newPostings(d datasets.Dataset) *postings {
	factors := d.Factors()
	p := &postings{width: len(factors), levels: levelsOf(d)}
	for row := range slices.Chunk(p.levels, p.width) {
		if slices.Contains(row, datasets.Unknown) {
			copy(row, slices.Repeat([]int32{datasets.Unknown}, p.width))
		}
	}
	for k, f := range factors {
		p.factors = append(p.factors, newByLevel(f.Size, d.Len(), func(i int) int { return int(p.levels[i*p.width+k]) }))
	}
	return p
}

func levelsOf(d datasets.Dataset) []int32 {
	row := make([]int, len(d.Factors()))
	levels := make([]int32, 0, d.Len()*len(row))
	for i := range d.Len() {
		d.FactorsAt(i, row)
		for _, l := range row {
			levels = append(levels, int32(l))
		}
	}
	return levels
}

// draw draws an image uniformly among the images that match: all factors except the free ones have the given levels,
// and the factors in differ have different levels. It returns false if no image matches.
func (p *postings) draw(s *rng.Stream, levels, free, differ []int) (int, bool) {
	var kept []int
	for k := range p.width {
		if !slices.Contains(free, k) {
			kept = append(kept, k)
		}
	}
	slices.SortStableFunc(kept, func(a, b int) int {
		return len(p.factors[a].imagesAt(levels[a])) - len(p.factors[b].imagesAt(levels[b]))
	})
	candidates := p.factors[0].images
	if len(kept) > 0 { // the shortest list
		candidates = p.factors[kept[0]].imagesAt(levels[kept[0]])
		kept = kept[1:]
	}
	var matches []int32
	for _, i := range candidates {
		row := p.levels[int(i)*p.width:][:p.width]
		if !slices.ContainsFunc(kept, func(k int) bool { return int(row[k]) != levels[k] }) &&
			!slices.ContainsFunc(differ, func(k int) bool { return int(row[k]) == levels[k] }) {
			matches = append(matches, i)
		}
	}
	if matches == nil {
		return 0, false
	}
	return int(matches[s.IntN(len(matches))]), true
}

// byLevel lists images by their level of a factor, in ascending order within each level.
type byLevel struct {
	images  []int32
	offsets []int32 // by level: index of the level's first image; last: number of images
}

// newByLevel lists the images, out of n, that have a known level from 0 to size-1.
func newByLevel(size, n int, level func(i int) int) byLevel {
	x := byLevel{offsets: make([]int32, size+1)}
	for i := range n {
		if l := level(i); l != datasets.Unknown {
			x.offsets[l+1]++
		}
	}
	for l := range size {
		x.offsets[l+1] += x.offsets[l]
	}
	x.images = make([]int32, x.offsets[size])
	next := slices.Clone(x.offsets)
	for i := range n {
		if l := level(i); l != datasets.Unknown {
			x.images[next[l]] = int32(i)
			next[l]++
		}
	}
	return x
}

func (x *byLevel) imagesAt(level int) []int32 { return x.images[x.offsets[level]:x.offsets[level+1]] }
func (x *byLevel) countLevels() int           { return len(slices.Compact(slices.Clone(x.offsets))) - 1 }

// levelRange returns the range of indices of the images that have the same level as the image at an index.
func (x *byLevel) levelRange(index int32) (from, to int32) {
	l, _ := slices.BinarySearch(x.offsets, index+1)
	return x.offsets[l-1], x.offsets[l]
}

// drawSame draws two different images of one level. Every level with images must have at least two.
func (x *byLevel) drawSame(r *rng.Stream) (a, b int) {
	i := int32(r.IntN(len(x.images)))
	from, to := x.levelRange(i)
	j := from + r.Int32N(to-from-1)
	if j >= i {
		j++
	}
	return int(x.images[i]), int(x.images[j])
}

// drawDifferent draws two images of different levels.
func (x *byLevel) drawDifferent(r *rng.Stream) (a, b int) {
	i := r.Int32N(int32(len(x.images)))
	from, to := x.levelRange(i)
	j := r.Int32N(int32(len(x.images)) - (to - from))
	if j >= from {
		j += to - from
	}
	return int(x.images[i]), int(x.images[j])
}
