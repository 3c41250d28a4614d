package supervision

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Similarity gives Count random pairs of different images that share their level of one factor. It gives no other label
// (Zhang and Sugiyama 2024, appendix F.2; match pairing in Shu et al. 2020). The factor is uniform. The first image is
// uniform among the images that share their level with another image, and the second is uniform among these others. The
// pair may also agree in other factors by chance. An image with an unknown level shares it with no image.
//
// With the probability Different, a pair says that its images differ in the factor. The first image is then uniform
// among the images of known level, and the second is uniform among the images of another level. With Noise, each pair
// is wrong with this probability: similar pairs are drawn as differing pairs, and differing pairs as similar ones.
type Similarity struct {
	Count   int      `yaml:"count" doc:"number of pairs"`
	Share   float64  `yaml:"share" doc:"fraction of every batch that consists of pairs"`
	Factors []string `yaml:"factors" doc:"factors whose level a pair may share; empty: all"`
	Noise   float64  `yaml:"noise" doc:"probability that a pair is wrong: that its images do not share the level after all, or that those said to differ do; from 0 to less than 1"`

	Different float64 `yaml:"different" doc:"probability that a pair is said to differ in the factor, for losses such as separation; from 0 to 1"`
}

// maxPairs bounds the number of pairs (24 bytes each).
const maxPairs = 1 << 26

// Validate checks the settings.
func (s *Similarity) Validate() error {
	if s.Count < 1 || s.Count > maxPairs {
		return config.Invalid("count", "%d is out of range; want 1 to %d", s.Count, maxPairs)
	}
	if s.Share == 0 {
		return config.Invalid("share", "0 leaves no room for pairs in a batch; want more than 0, and less than 1")
	}
	if !(s.Noise >= 0 && s.Noise < 1) {
		return config.Invalid("noise", "%v is out of range; want 0 or more, and less than 1", s.Noise)
	}
	if !(s.Different >= 0 && s.Different <= 1) {
		return config.Invalid("different", "%v is out of range; want 0 to 1", s.Different)
	}
	return validShare(s.Share, s.Factors)
}

// Split draws the pairs.
func (s *Similarity) Split(d datasets.Dataset, r *rng.Stream) (*Split, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	known := &Labels{Share: s.Share, set: d}
	if err := known.choose(d.Factors(), s.Factors); err != nil {
		return nil, fmt.Errorf("similarity: %w", err)
	}
	alike, unlike := make([]*likeness, len(known.Factors)), make([]*unlikeness, len(known.Factors))
	for k, f := range known.Factors {
		if s.Noise > 0 || s.Different > 0 {
			if unlike[k] = newUnlikeness(d, known.column[k]); unlike[k].levels() < 2 {
				return nil, fmt.Errorf("similarity: no two images of dataset %s differ in factor %q, as noise and different want; leave it out of factors", d.Name(), f.Name)
			}
		}
		if s.Different == 1 && s.Noise == 0 {
			continue
		}
		if alike[k] = newLikeness(d, known.column[k]); len(alike[k].images) == 0 {
			return nil, fmt.Errorf("similarity: no two images of dataset %s agree in factor %q; leave it out of factors", d.Name(), f.Name)
		}
	}
	known.Pairs = make([]SimilarPair, s.Count)
	for n := range known.Pairs {
		k := r.IntN(len(alike))
		different := s.Different > 0 && r.Float64() < s.Different
		draw := alike[k].draw
		if wrong := s.Noise > 0 && r.Float64() < s.Noise; wrong != different {
			draw = unlike[k].draw
		}
		a, b := draw(r)
		known.Pairs[n] = SimilarPair{A: a, B: b, Factor: k, Different: different}
		known.Images = append(known.Images, a, b)
	}
	slices.Sort(known.Images)
	known.Images = slices.Compact(known.Images)
	return knowing(d, known)
}

// likeness lists the images that share their level of a factor with another image, level by level.
type likeness struct {
	set    datasets.Dataset
	factor int
	levels []int // scratch

	images []int32
	begin  []int32 // by level: index of its first image
	count  []int32 // by level: the number of its images, single ones included
}

func newLikeness(d datasets.Dataset, factor int) *likeness {
	size := d.Factors()[factor].Size
	x := &likeness{set: d, factor: factor, levels: make([]int, len(d.Factors())), begin: make([]int32, size), count: make([]int32, size)}
	for i := range d.Len() {
		if l := x.level(i); l != datasets.Unknown {
			x.count[l]++
		}
	}
	total := int32(0)
	for l, n := range x.count {
		if x.begin[l] = total; n > 1 {
			total += n
		}
	}
	x.images = make([]int32, total)
	next := slices.Clone(x.begin)
	for i := range d.Len() {
		if l := x.level(i); l != datasets.Unknown && x.count[l] > 1 {
			x.images[next[l]] = int32(i)
			next[l]++
		}
	}
	return x
}

func (x *likeness) level(i int) int {
	x.set.FactorsAt(i, x.levels)
	return x.levels[x.factor]
}

// draw returns two different images of one level.
func (x *likeness) draw(r *rng.Stream) (a, b int) {
	at := int32(r.IntN(len(x.images)))
	l := x.level(int(x.images[at]))
	other := x.begin[l] + r.Int32N(x.count[l]-1)
	if other >= at {
		other++
	}
	return int(x.images[at]), int(x.images[other])
}

// unlikeness lists the images of known level of a factor, level by level.
type unlikeness struct {
	images []int32
	begin  []int32 // by level: index of its first image; at the end the number of images
}

func newUnlikeness(d datasets.Dataset, factor int) *unlikeness {
	size, levels := d.Factors()[factor].Size, make([]int, len(d.Factors()))
	x := &unlikeness{begin: make([]int32, size+1)}
	for i := range d.Len() {
		if d.FactorsAt(i, levels); levels[factor] != datasets.Unknown {
			x.begin[levels[factor]+1]++
		}
	}
	for l := range size {
		x.begin[l+1] += x.begin[l]
	}
	x.images = make([]int32, x.begin[size])
	next := slices.Clone(x.begin)
	for i := range d.Len() {
		if d.FactorsAt(i, levels); levels[factor] != datasets.Unknown {
			x.images[next[levels[factor]]] = int32(i)
			next[levels[factor]]++
		}
	}
	return x
}

// levels returns the number of levels with images.
func (x *unlikeness) levels() int {
	n := 0
	for l, from := range x.begin[:len(x.begin)-1] {
		if x.begin[l+1] > from {
			n++
		}
	}
	return n
}

// draw returns two images of different levels.
func (x *unlikeness) draw(r *rng.Stream) (a, b int) {
	at := r.Int32N(int32(len(x.images)))
	l, _ := slices.BinarySearch(x.begin, at+1)
	from, to := x.begin[l-1], x.begin[l]
	other := r.Int32N(int32(len(x.images)) - (to - from))
	if other >= from {
		other += to - from
	}
	return int(x.images[at]), int(x.images[other])
}
