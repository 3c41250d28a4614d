package supervision

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/internal/wording"
)

// Changes draws pairs of images that differ in few factors, with new pairs in every epoch (Locatello et al. 2020,
// section 3). A model only gets the pairs, neither levels nor the names of the changed factors. The law determines how
// a pair differs:
//
//   - redraw: k factors get a new value; with HalfSingle, half of the pairs change only one factor;
//   - uniform (UNI in Klindt et al. 2021): k factors get a different value;
//   - laplace (LAP in the same paper): every ordinal or circular factor changes from its value u to v with a
//     probability proportional to exp(-|v-u| rate/log(size)), and at least one factor changes;
//   - independent: the images are consecutive images of a shuffled pass, without repetition.
//
// The first image is drawn uniformly. A random k is uniform on 1..F-1, where F factors may change. If combinations of
// levels are missing, the second image is uniform among the images that have the same levels in all unchanged factors.
// Images with unknown levels are in no pair.
type Changes struct {
	Law        string       `yaml:"law" doc:"redraw: k factors get a new value; uniform: k factors get a different value; laplace: all ordinal and circular factors move a little; independent: consecutive images of a shuffled pass"`
	K          ChangedCount `yaml:"k" doc:"number of factors that change, or random: 1 to the number of factors minus 1"`
	HalfSingle bool         `yaml:"half_single" doc:"law redraw: change only one factor in half of the pairs"`
	Redraw     string       `yaml:"redraw" doc:"law redraw: any (any value, also the old value) or different"`
	Rate       float64      `yaml:"rate" doc:"rate of the law laplace"`
	Nuisance   []string     `yaml:"nuisance" doc:"factors that both images draw independently"`
	Fixed      []string     `yaml:"fixed" doc:"factors that never change"`
	Count      int          `yaml:"count" doc:"pairs in an epoch; 0: half the number of images, or all pairs of the file"`
	File       string       `yaml:"file" doc:"your pairs, instead of a law: a .csv, .npy or .npz file with two image indices, or names of picture files, in each row"`
	Unlabelled bool         `yaml:"unlabelled" doc:"train also on single images"`
}

// NewChanges returns the settings of disentanglement_lib as defaults.
func NewChanges() *Changes { return &Changes{Law: "redraw", HalfSingle: true, Redraw: "any", Rate: 1} }

func (p *Changes) Validate() error {
	switch {
	case !slices.Contains([]string{"redraw", "uniform", "laplace", "independent"}, p.Law):
		return config.Invalid("law", "unknown law %q; known: redraw, uniform, laplace, independent", p.Law)
	case p.K < 0:
		return config.Invalid("k", "%d is negative; want random, or 1 or more", int(p.K))
	case p.Redraw != "any" && p.Redraw != "different":
		return config.Invalid("redraw", "unknown values %q; known: any, different", p.Redraw)
	case !(p.Rate > 0 && p.Rate <= 1e6):
		return config.Invalid("rate", "%v is out of range; want more than 0, and at most 1e6", p.Rate)
	case p.Count < 0 || p.Count > maxGroupImages/2:
		return config.Invalid("count", "%d is out of range; want 0 to %d", p.Count, maxGroupImages/2)
	case p.K > 0 && (p.Law == "laplace" || p.Law == "independent"):
		return config.Invalid("k", "the law %s has no number of factors that change; want random", p.Law)
	case p.Law == "independent" && len(p.Nuisance)+len(p.Fixed) > 0:
		return config.Invalid("law", "independent pairs have no factors; want no nuisance and no fixed")
	case p.File != "" && (p.Law != "redraw" || p.K > 0 || len(p.Nuisance)+len(p.Fixed) > 0):
		return config.Invalid("file", "the pairs come from a file; remove law, k, nuisance or fixed")
	}
	return nil
}

func (p *Changes) Reads() []datasets.Read { return datasets.ReadOf("file", p.File) }

// Split prepares the draws of pairs.
func (p *Changes) Split(d datasets.Dataset, _ *rng.Stream) (*Split, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	drawn, err := p.drawnPairs(d)
	if err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	split := &Split{M: 2, Drawn: drawn, Rotations: countRotations(d)}
	if p.Unlabelled {
		split.Unlabelled = numeric.UpTo(d.Len())
	}
	return split, nil
}

func (p *Changes) drawnPairs(d datasets.Dataset) (*Drawn, error) {
	switch {
	case p.File != "":
		pairs, err := readPairs(p.File, d)
		if err != nil {
			return nil, err
		}
		return p.setCount(&Drawn{M: 2, Groups: pairs}, len(pairs)/2, p.File+" has")
	case p.Law == "independent":
		return p.setCount(&Drawn{M: 2, Pass: numeric.UpTo(d.Len())}, d.Len()/2, "dataset "+d.Name()+" gives")
	}
	c, err := p.changer(d)
	if err != nil {
		return nil, err
	}
	draw := func(s *rng.Stream, images []int, _ []int32) { c.draw(s, images) }
	return &Drawn{M: 2, Count: cmp.Or(p.Count, max(1, c.images()/2)), Draw: draw}, nil
}

// setCount sets the number of pairs per epoch to Count or, if Count is 0, to the number of all pairs.
func (p *Changes) setCount(g *Drawn, pairs int, source string) (*Drawn, error) {
	switch {
	case pairs == 0:
		return nil, fmt.Errorf("%s no pair; want two images or more", source)
	case p.Count > pairs:
		return nil, config.Invalid("count", "%d is too many: %s %d pairs; want at most as many", p.Count, source, pairs)
	}
	g.Count = cmp.Or(p.Count, pairs)
	return g, nil
}

// changer prepares the law for changes of factors.
func (p *Changes) changer(d datasets.Dataset) (*changer, error) {
	c := &changer{set: d, factors: d.Factors(), law: *p, different: p.Law == "uniform" || p.Redraw == "different"}
	role := make([]string, len(c.factors))
	for _, list := range []struct {
		key   string
		names []string
	}{{"nuisance", p.Nuisance}, {"fixed", p.Fixed}} {
		for i, name := range list.names {
			k, err := factorIndex(d, name)
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", list.key, i, err)
			}
			if role[k] != "" {
				return nil, fmt.Errorf("%s[%d]: factor %q is named before; want it once, in nuisance or in fixed",
					list.key, i, name)
			}
			role[k] = list.key
		}
	}
	for k, f := range c.factors {
		switch {
		case f.Size < 2:
		case role[k] == "nuisance":
			c.nuisance = append(c.nuisance, k)
		case role[k] == "" && !(p.Law == "laplace" && f.Kind == factor.Categorical):
			c.moving = append(c.moving, k)
		}
	}
	if len(c.moving) == 0 {
		return nil, fmt.Errorf("dataset %s has no factor that may change; want a factor with two levels or more outside nuisance and fixed, or law: independent", d.Name())
	}
	if int(p.K) > len(c.moving) {
		return nil, fmt.Errorf("k: dataset %s has %d factors that may change; want random, or 1 to %d",
			d.Name(), len(c.moving), len(c.moving))
	}
	return c, c.prepare()
}

// ChangedCount is the number of factors that change; 0: random.
type ChangedCount int

// DecodeConfig reads a number, or the word random.
func (k *ChangedCount) DecodeConfig(n *config.Node) error {
	var text string
	if n.Decode(&text) == nil && text == "random" {
		*k = 0
		return nil
	}
	var count int
	if n.Decode(&count) != nil || count < 1 {
		return n.Errorf("want random, or a number of factors from 1 on")
	}
	*k = ChangedCount(count)
	return nil
}

// EncodeConfig writes a number, or the word random.
func (k ChangedCount) EncodeConfig() (any, error) {
	if k == 0 {
		return "random", nil
	}
	return int(k), nil
}

func (ChangedCount) ConfigForms() []any { return []any{0, config.Words{"random"}} }
func (ChangedCount) ConfigType() string { return "random, or a number" }

func (k ChangedCount) String() string {
	if k == 0 {
		return "random"
	}
	return strconv.Itoa(int(k))
}

// changer draws pairs of images that differ in some factors.
type changer struct {
	law       Changes
	different bool // factors that change get a different value
	set       datasets.Dataset
	factors   []factor.Factor
	moving    []int // factors that may change
	nuisance  []int

	known           []int             // images with known levels; nil: all
	index           *datasets.Index   // nil: images share levels, or, except for laplace, the grid is sparse
	postings        func() *postings  // created on first use
	distanceWeights map[int][]float64 // law laplace, by factor: weight of each distance
}

const (
	maxLookups  = 256  // combinations of levels to try before the images are listed by their levels
	maxAttempts = 4096 // first images to try
	sparseGrid  = 16   // combinations of levels per image above which the images are listed by their levels
	listLookups = 16   // combinations of levels to try in these lists
)

// prepare indexes the images. It returns an error if only few pairs are possible.
func (c *changer) prepare() error {
	if datasets.Missing(c.set) != nil {
		if c.known = knownImages(c.set); len(c.known) == 0 {
			return errors.New("no image has known levels of all factors; want some, or law: independent")
		}
	}
	grid := factor.Grid(c.factors)
	if stored.Countable(grid) == nil && (grid.Len()/sparseGrid <= c.set.Len() || c.law.Law == "laplace") {
		c.index, _ = datasets.NewIndex(c.set) // error: several images have equal levels
	}
	c.postings = sync.OnceValue(func() *postings { return newPostings(c.set) })
	if c.law.Law == "laplace" {
		c.distanceWeights = map[int][]float64{}
		for _, k := range c.moving {
			size := c.factors[k].Size
			weights := make([]float64, size)
			for d := range weights {
				weights[d] = math.Exp(-float64(d) * c.law.Rate / math.Log(float64(size)))
			}
			c.distanceWeights[k] = weights
		}
	}
	if c.index != nil && c.set.Len() == grid.Len() {
		return nil
	}
	return c.check()
}

// testPairs is the number of test draws that check whether an incomplete grid has enough pairs.
const testPairs = 200

// check returns an error if few images have a partner, or if most pairs repeat the same image.
func (c *changer) check() error {
	s, pairs, repeats := rng.New(0, "check"), 0, 0
	pair := make([]int, 2)
	for range testPairs {
		if c.tryDraw(s, pair) {
			if pairs++; pair[0] == pair[1] {
				repeats++
			}
		}
	}
	const minPairs = testPairs / 20
	changed := fmt.Sprintf("%v of its factors", c.law.K)
	if c.law.Law == "laplace" {
		changed = "its factors by the law laplace"
	}
	switch {
	case pairs < minPairs:
		return fmt.Errorf("dataset %s has second images for %d of %d images with changes of %s; want a data set with more combinations of levels, more factors that change, or law: independent", c.set.Name(), pairs, testPairs, changed)
	case pairs-repeats < minPairs:
		return fmt.Errorf("dataset %s has only the image itself for %d of %d images with changes of %s; want a data set with more combinations of levels, more factors that change, redraw: different, or law: independent", c.set.Name(), repeats, testPairs, changed)
	}
	return nil
}

// images returns the number of images available for pairs.
func (c *changer) images() int {
	if c.known != nil {
		return len(c.known)
	}
	return c.set.Len()
}

func (c *changer) draw(s *rng.Stream, pair []int) {
	for range maxAttempts {
		if c.tryDraw(s, pair) {
			return
		}
	}
	pair[1] = pair[0] // unreachable: check has found pairs in far fewer attempts
}

// tryDraw draws a first and a second image. It returns false if the first image has no possible partner.
func (c *changer) tryDraw(s *rng.Stream, pair []int) bool {
	first := s.IntN(c.images())
	if c.known != nil {
		first = c.known[first]
	}
	scratch := make([]int, 2*len(c.factors))
	levels, target := scratch[:len(c.factors)], scratch[len(c.factors):]
	c.set.FactorsAt(first, levels)
	pair[0] = first
	var ok bool
	if c.law.Law == "laplace" {
		pair[1], ok = c.laplaceImage(s, levels, target)
	} else {
		pair[1], ok = c.uniformImage(s, levels, target, c.drawFactors(s))
	}
	return ok
}

// drawFactors draws the factors to change.
func (c *changer) drawFactors(s *rng.Stream) []int {
	f, k := len(c.moving), int(c.law.K)
	if k == 0 {
		k = 1 + s.IntN(max(f-1, 1))
	}
	if c.law.Law == "redraw" && c.law.HalfSingle && s.IntN(2) == 0 {
		k = 1
	}
	list := slices.Clone(c.moving)
	for i := range k {
		j := i + s.IntN(f-i)
		list[i], list[j] = list[j], list[i]
	}
	return list[:k]
}

// uniformImage returns a uniform image among those with different levels in the chosen factors and in nuisance.
func (c *changer) uniformImage(s *rng.Stream, levels, target, chosen []int) (int, bool) {
	for n := 0; c.index != nil && n < maxLookups; n++ {
		copy(target, levels)
		for _, k := range chosen {
			size := c.factors[k].Size
			if !c.different {
				target[k] = s.IntN(size)
			} else if target[k] = s.IntN(size - 1); target[k] >= levels[k] {
				target[k]++
			}
		}
		for _, k := range c.nuisance {
			target[k] = s.IntN(c.factors[k].Size)
		}
		if i, ok := c.index.Find(target); ok {
			return i, true
		}
	}
	free := slices.Concat(chosen, c.nuisance)
	if !c.different {
		chosen = nil
	}
	return c.postings().draw(s, levels, free, chosen)
}

// laplaceImage returns an image with levels that the law laplace has changed. It draws again while there is no such
// image: a new first image instead would make images with few neighbours rare.
func (c *changer) laplaceImage(s *rng.Stream, levels, target []int) (image int, ok bool) {
	for n := 0; !ok && (n < listLookups || c.index != nil && n < maxLookups); n++ {
		copy(target, levels)
		for _, k := range c.moving {
			target[k] = c.stepFrom(s, k, levels[k], true)
		}
		if slices.Equal(target, levels) {
			k := c.moving[s.IntN(len(c.moving))]
			target[k] = c.stepFrom(s, k, levels[k], false)
		}
		for _, k := range c.nuisance {
			target[k] = s.IntN(c.factors[k].Size)
		}
		if c.index != nil {
			image, ok = c.index.Find(target)
		} else {
			image, ok = c.postings().draw(s, target, nil, nil)
		}
	}
	return image, ok
}

// stepFrom draws the level of a factor around a level by the law laplace. Unless stay is true, the level must change.
func (c *changer) stepFrom(s *rng.Stream, k, level int, stay bool) int {
	weights, sum := c.distanceWeights[k], 0.0
	weight := func(v int) float64 {
		if v == level && !stay {
			return 0
		}
		return weights[max(v-level, level-v)]
	}
	for v := range weights {
		sum += weight(v)
	}
	u, last := s.Float64()*sum, level
	for v := range weights {
		w := weight(v)
		if w == 0 {
			continue
		}
		if last = v; u < w {
			return v
		}
		u -= w
	}
	return last
}

// readPairs reads the two images in each row of a file.
func readPairs(path string, d datasets.Dataset) ([]int, error) {
	rows, cols, err := table.Size(path, "pairs")
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	const want = "want at most %d rows of two, the images of a pair"
	if rows >= 0 && cols != 2 && cols != 3 || rows > maxGroupImages/2 { // check the shape before reading
		return nil, fmt.Errorf("file: %s has %s of %s; "+want, path, wording.Count(rows, "row"),
			wording.Count(cols, "number"), maxGroupImages/2)
	}
	t, err := table.ReadPairs(path, RowsOf(d).Find)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	if t.Cols == 3 { // the first column is an index
		t.DropCounter()
	}
	if t.Cols != 2 || t.Rows > maxGroupImages/2 {
		return nil, fmt.Errorf("file: %s has %s of %s; "+want, path, wording.Count(t.Rows, "row"),
			wording.Count(t.Cols, "number"), maxGroupImages/2)
	}
	pairs := make([]int, len(t.Data))
	for i, v := range t.Data {
		if !(v >= 0 && v < float64(d.Len())) || v != float64(int(v)) {
			return nil, fmt.Errorf("file: %s: %s is %v; want an image of dataset %s, 0 to %d",
				path, t.Place(i/2, i%2), v, d.Name(), d.Len()-1)
		}
		pairs[i] = int(v)
	}
	return pairs, nil
}
