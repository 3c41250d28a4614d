package drawn

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Chopsticks are the time series of Ross and Doshi-Velez 2021, section 4.2 and appendix A.2, stored as images of 1 x 1
// x 64. The first stick is a line over all times t = 0..63. Let r be the number of sticks that may still follow. With
// probability 1 - 2^-r, the right half of a stick breaks off and becomes another stick, which may break in the same
// way. Stick l = 0, 1, ... begins at s_l = 64 (1 - 2^-l), rounded down, and adds
//
//	inter_l + slope_l (t - s_l)   for t >= s_l,
//
// with inter_l uniform on [-0.2, 0.2] and slope_l on [-0.01, 0.01]. By variant, a stick has inter, slope, both, or one
// of the two with equal probability.
//
// Each stick has a dimension group in the hierarchy: its numbers (inter before slope) and a categorical dimension for
// the next stick. This dimension has an empty option (no further stick) and an option for the next stick. In variant
// either, the next stick has two options, with its intercept or with its slope, in this order. The root is then also a
// categorical dimension, inter or slope.
//
// Appendix A.2 defines these alternatives. MinOffset keeps inter and slope away from 0: the signs are random, and the
// absolute values are uniform from MinOffset times the bound to the bound. Noise adds independent normal numbers. With
// Overwrite, the slope of a stick replaces the line's previous slope, and its intercept replaces the line's height at
// s_l. Otherwise the stick adds to the line.
//
// Unlike pixels, the numbers can lie outside [0, 1].
type Chopsticks struct {
	Variant   string  `yaml:"variant" doc:"dimensions of a stick: slope, inter (intercept), both or either"`
	Depth     int     `yaml:"depth" doc:"most sticks in a row"`
	Samples   int     `yaml:"samples" doc:"number of series"`
	Noise     float64 `yaml:"noise" doc:"standard deviation of Gaussian noise"`
	MinOffset float64 `yaml:"min_offset" doc:"smallest absolute slope and intercept, as a fraction of the largest; less than 1"`
	Overwrite string  `yaml:"overwrite" doc:"line quantities that a further stick replaces, instead of adding to them: none, slope, inter or both"`
}

const (
	chopstickTimes = 64
	maxSticks      = 6 // with a seventh, the last stick would have a single time
	maxSamples     = 1 << 24
)

// kind is a dimension that a stick can have.
type kind int

const (
	inter kind = iota
	slope
	kinds
)

var (
	stickNames  = [kinds]string{"inter", "slope"}
	stickBounds = [kinds]float64{0.2, 0.01}
	variants    = []string{"slope", "inter", "both", "either"}
	sticks      = map[string][][]kind{ // by variant: the kinds of a stick's numbers
		"slope": {{slope}}, "inter": {{inter}}, "both": {{inter, slope}}, "either": {{inter}, {slope}},
	}
	overwrites = []string{"none", "slope", "inter", "both"}
)

func (c *Chopsticks) Validate() error {
	switch {
	case !slices.Contains(variants, c.Variant):
		return config.Invalid("variant", "unknown variant %q%s", c.Variant, registry.Suggest(c.Variant, variants))
	case c.Depth < 1 || c.Depth > maxSticks:
		return config.Invalid("depth", "%d is out of range; want 1 to %d", c.Depth, maxSticks)
	case c.Samples < 1 || c.Samples > maxSamples:
		return config.Invalid("samples", "%d is out of range; want 1 to %d", c.Samples, maxSamples)
	case !(c.Noise >= 0 && c.Noise <= 1000):
		return config.Invalid("noise", "%v is out of range; want 0 to 1000", c.Noise)
	case !(c.MinOffset >= 0 && c.MinOffset < 1):
		return config.Invalid("min_offset", "%v is out of range; want 0 or more and less than 1", c.MinOffset)
	case !slices.Contains(overwrites, c.Overwrite):
		return config.Invalid("overwrite", "unknown choice %q%s", c.Overwrite, registry.Suggest(c.Overwrite, overwrites))
	case (c.Variant == "slope" || c.Variant == "inter") && c.Overwrite != "none" && c.Overwrite != c.Variant:
		return config.Invalid("overwrite", "%q does not fit variant %q; want none or %s", c.Overwrite, c.Variant, c.Variant)
	}
	return nil
}

// Build draws the rows.
func (c *Chopsticks) Build(seed uint64) (datasets.Dataset, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	d := &chopsticks{
		dimensions: dimensions{name: "chopsticks", shape: [3]int{1, 1, chopstickTimes}},
		rows:       make([]float32, c.Samples*chopstickTimes),
	}
	start := &stick{level: -1, choice: -1}
	if c.Variant == "either" {
		start.choice = d.categorical("stick1", 2)
		d.tree = hierarchy.Hierarchy{{Options: c.follow(&d.dimensions, start, "")}}
	} else {
		d.tree = c.follow(&d.dimensions, start, "")[0]
	}
	d.draw(c.Samples, seed, func(i int, s *rng.Stream) {
		var l line
		c.fill(start, d.choiceRow(i), d.valueRow(i), &l, s)
		for t := range chopstickTimes {
			v := l.times[t]
			if c.Noise > 0 {
				v += float64(c.Noise * s.NormFloat64())
			}
			d.rows[i*chopstickTimes+t] = float32(v)
		}
	})
	return d, nil
}

type chopsticks struct {
	dimensions
	rows []float32
}

func (d *chopsticks) Image(i int, dst []float32) {
	copy(dst, d.rows[i*chopstickTimes:(i+1)*chopstickTimes])
}

// RealValued implements the interface of datasets.RealValued: sticks range from about -1 to 1.
func (d *chopsticks) RealValued() bool { return true }

// stick is a dimension group of the hierarchy.
type stick struct {
	level  int    // -1: before the first stick
	kinds  []kind // its numbers
	first  int    // its first continuous dimension
	choice int    // the categorical dimension for the next stick; -1: no choice
	next   []*stick
}

// follow adds the sticks that may follow a stick, and returns their groups. In variant either, path lists the previous
// sticks, which makes the names of the dimensions distinct.
func (c *Chopsticks) follow(d *dimensions, after *stick, path string) (groups []hierarchy.Hierarchy) {
	for _, stickKinds := range sticks[c.Variant] {
		next := &stick{level: after.level + 1, kinds: stickKinds, first: len(d.low), choice: -1}
		after.next = append(after.next, next)
		var group hierarchy.Hierarchy
		for _, k := range stickKinds {
			name := path + stickNames[k]
			d.continuous(fmt.Sprint(name, next.level+1), -stickBounds[k], stickBounds[k])
			group = append(group, hierarchy.Node{})
		}
		if next.level+1 < c.Depth {
			parent, name := "", fmt.Sprint("stick", next.level+2)
			if c.Variant == "either" {
				parent = fmt.Sprint(path, stickNames[stickKinds[0]], next.level+1, "-")
				name = parent + name
			}
			next.choice = d.categorical(name, 1+len(sticks[c.Variant]))
			options := append([]hierarchy.Hierarchy{{}}, c.follow(d, next, parent)...)
			group = append(group, hierarchy.Node{Options: options})
		}
		groups = append(groups, group)
	}
	return groups
}

// fill draws one row: its choices, its values and its line.
func (c *Chopsticks) fill(current *stick, choice []int8, values []float64, l *line, s *rng.Stream) {
	for {
		option := 0
		if len(current.next) > 1 {
			option = s.IntN(len(current.next))
		}
		if current.level >= 0 { // the line may end here, which is option 0
			left := c.Depth - current.level - 1
			if left == 0 {
				return
			}
			if s.Float64() < math.Ldexp(1, -left) {
				choice[current.choice] = 0
				return
			}
			choice[current.choice] = int8(1 + option)
		} else if current.choice >= 0 {
			choice[current.choice] = int8(option)
		}
		current = current.next[option]
		var numbers [kinds]float64
		for n, k := range current.kinds {
			v := stickBounds[k] * (c.MinOffset + float64((1-c.MinOffset)*s.Float64()))
			if s.IntN(2) == 0 {
				v = -v
			}
			values[current.first+n], numbers[k] = v, v
		}
		l.add(current, numbers, c.Overwrite)
	}
}

// line is a row without noise, up to the current stick.
type line struct {
	times  [chopstickTimes]float64
	start  int // start of the last stick
	height float64
	slope  float64 // slope per time
}

func (l *line) add(current *stick, numbers [kinds]float64, overwrite string) {
	start := chopstickTimes - chopstickTimes>>current.level
	l.height += float64(l.slope * float64(start-l.start)) // not fused on arm64
	l.start = start
	for _, k := range current.kinds {
		sum := &l.height
		if k == slope {
			sum = &l.slope
		}
		if overwrite == stickNames[k] || overwrite == "both" {
			*sum = 0
		}
		*sum += numbers[k]
	}
	for t := start; t < chopstickTimes; t++ {
		l.times[t] = l.height + float64(l.slope*float64(t-start))
	}
}
