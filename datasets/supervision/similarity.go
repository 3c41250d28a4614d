package supervision

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Similarity draws Count random pairs of different images that have the same level of one factor. It gives no other
// label (Zhang and Sugiyama 2024, appendix F.2; match pairing in Shu et al. 2020). The factor is uniform. The first
// image is uniform among the images that share their level with another image, and the second is uniform among the
// other images of this level. The images of a pair may also agree in other factors by chance. An unknown level is the
// same as no other level.
//
// With probability Different, the pair has different levels of the factor. The first image is then uniform among the
// images with a known level, and the second is uniform among the images with a different level. With probability Noise,
// a pair is wrong: a similar pair is drawn as a different one, and vice versa.
type Similarity struct {
	Count   int      `yaml:"count" doc:"number of pairs"`
	Share   float64  `yaml:"share" doc:"fraction of every batch that consists of pairs"`
	Factors []string `yaml:"factors" doc:"factors whose level a pair may share; empty: all"`
	Noise   float64  `yaml:"noise" doc:"probability of a wrong pair: a same pair differs, or a different pair shares the level; 0 to less than 1"`

	Different float64 `yaml:"different" doc:"probability of a pair labelled different in the factor, for losses such as separation; 0 to 1"`
}

// maxPairs is the maximum number of pairs (24 bytes each).
const maxPairs = 1 << 26

// Validate checks the settings.
func (s *Similarity) Validate() error {
	if s.Count < 1 || s.Count > maxPairs {
		return config.Invalid("count", "%d is out of range; want 1 to %d", s.Count, maxPairs)
	}
	if !(s.Noise >= 0 && s.Noise < 1) {
		return config.Invalid("noise", "%v is out of range; want 0 or more, and less than 1", s.Noise)
	}
	if !(s.Different >= 0 && s.Different <= 1) {
		return config.Invalid("different", "%v is out of range; want 0 to 1", s.Different)
	}
	return validPairShare(s.Share, s.Factors)
}

// Split draws the pairs.
func (s *Similarity) Split(d datasets.Dataset, r *rng.Stream) (*Split, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	known := &Labels{Share: s.Share}
	if err := known.chooseOf(d, s.Factors); err != nil {
		return nil, fmt.Errorf("similarity: %w", err)
	}
	alike, all := make([]byLevel, len(known.Factors)), make([]byLevel, len(known.Factors))
	levels := make([]int, len(d.Factors()))
	for k, f := range known.Factors {
		level := func(i int) int {
			d.FactorsAt(i, levels)
			return levels[known.column[k]]
		}
		size := d.Factors()[known.column[k]].Size
		all[k] = newByLevel(size, d.Len(), level)
		if (s.Noise > 0 || s.Different > 0) && all[k].levels() < 2 {
			return nil, fmt.Errorf("similarity: no two images of dataset %s differ in factor %q, as noise and different want; leave it out of factors", d.Name(), f.Name)
		}
		if s.Different == 1 && s.Noise == 0 {
			continue
		}
		alike[k] = newByLevel(size, d.Len(), func(i int) int {
			l := level(i)
			if l != datasets.Unknown && len(all[k].of(l)) < 2 {
				return datasets.Unknown // no other image has the level
			}
			return l
		})
		if len(alike[k].images) == 0 {
			return nil, fmt.Errorf("similarity: no two images of dataset %s agree in factor %q; leave it out of factors", d.Name(), f.Name)
		}
	}
	known.Pairs = make([]SimilarPair, s.Count)
	for n := range known.Pairs {
		k := r.IntN(len(alike))
		different := s.Different > 0 && r.Float64() < s.Different
		draw := alike[k].alike
		if wrong := s.Noise > 0 && r.Float64() < s.Noise; wrong != different {
			draw = all[k].unlike
		}
		a, b := draw(r)
		known.Pairs[n] = SimilarPair{A: a, B: b, Factor: k, Different: different}
		known.Images = append(known.Images, a, b)
	}
	slices.Sort(known.Images)
	known.Images = slices.Compact(known.Images)
	return knowing(d, known)
}
