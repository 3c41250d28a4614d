package supervision

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/rng"
)

// postings lists the images of known levels by the levels of each factor, in 8 bytes for each image and factor.
type postings struct {
	levels []int32 // image by image
	width  int     // factors
	images int

	begin [][]int32 // by factor and level: the first index of its images in list
	list  [][]int32 // by factor: images, level by level
}

func newPostings(d datasets.Dataset) *postings {
	factors := d.Factors()
	p := &postings{width: len(factors), images: d.Len(), levels: make([]int32, d.Len()*len(factors)), begin: make([][]int32, len(factors)), list: make([][]int32, len(factors))}
	row := make([]int, len(factors))
	for i := range d.Len() {
		d.FactorsAt(i, row)
		if slices.Contains(row, datasets.Unknown) {
			for k := range row {
				row[k] = datasets.Unknown
			}
		}
		for k, l := range row {
			p.levels[i*p.width+k] = int32(l)
		}
	}
	for k, f := range factors {
		begin := make([]int32, f.Size+1)
		for i := range d.Len() {
			if l := p.levels[i*p.width+k]; l != datasets.Unknown {
				begin[l+1]++
			}
		}
		for l := range f.Size {
			begin[l+1] += begin[l]
		}
		p.begin[k], p.list[k] = begin, make([]int32, begin[f.Size])
		next := slices.Clone(begin)
		for i := range d.Len() {
			if l := p.levels[i*p.width+k]; l != datasets.Unknown {
				p.list[k][next[l]] = int32(i)
				next[l]++
			}
		}
	}
	return p
}

// draw returns an image with the given levels of all factors except the free ones, uniformly among all such images. In
// the factors of differ the image has other levels. It returns false without such an image.
func (p *postings) draw(s *rng.Stream, levels, free, differ []int) (int, bool) {
	var kept []int
	for k := range p.width {
		if !slices.Contains(free, k) {
			kept = append(kept, k)
		}
	}
	slices.SortStableFunc(kept, func(a, b int) int { return len(p.of(a, levels[a])) - len(p.of(b, levels[b])) })
	candidates := p.list[0]
	if len(kept) > 0 { // the fewest
		candidates = p.of(kept[0], levels[kept[0]])
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

// of lists the images of a level.
func (p *postings) of(factor, level int) []int32 {
	return p.list[factor][p.begin[factor][level]:p.begin[factor][level+1]]
}
