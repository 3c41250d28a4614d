package decode

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/internal/numeric"
)

type kind uint8

const (
	coordinate kind = iota // one column
	circle                 // one rotation from angle 0
	towards                // along the great circle from the point towards an axis
	together               // one rotation of all spheres S^2 about an axis
	option                 // a discrete column
)

// Part is a piece of a code that varies separately.
type Part struct {
	// Name is circle1, circle2, ... for circles, and sphere1.x, sphere1.y, ... for spheres (sphere1.0, ... in more
	// dimensions). Two or more spheres also have spheres.x, ... for all spheres together. Coordinates are z0, z1,
	// ..., numbered by column, or by continuous dimension if the codes have discrete columns. Choices are a0, a1, ...
	Name string

	kind         kind
	first, width int // columns of the space
	axis         int
}

func (p Part) Turns() bool { return p.kind == circle }

func (p Part) Round() bool { return p.kind == circle || p.kind == towards || p.kind == together }

func (p Part) Chooses() bool { return p.kind == option }

// Columns returns the part's first column and its number of columns. The number is 0 for the rotations of all spheres.
func (p Part) Columns() (first, width int) { return p.first, p.width }

// UsesPart reports whether a part of a code is in use: its options may close a coordinate or a choice.
func (c *Codes) UsesPart(code []float64, p Part) bool {
	return p.kind == together || c.Uses(code, p.first)
}

// meets reports whether two parts change the same space.
func (p Part) meets(q Part) bool {
	if p.kind == together || q.kind == together {
		return p.Round() && q.Round() && !p.Turns() && !q.Turns()
	}
	return p.first == q.first
}

// Parts lists the parts of codes in the order of their columns.
func (c *Codes) Parts() (list []Part) {
	k := c.options()
	for i := range k {
		list = append(list, Part{Name: fmt.Sprint("a", i), kind: option, first: i, width: 1})
	}
	circles, spheres, inSpace := 0, 0, 0
	for _, s := range c.Spaces {
		if s.Sphere {
			inSpace++
		}
		switch {
		case s.Circle || unit(s) && s.Width == 2:
			circles++
			list = append(list, Part{Name: fmt.Sprint("circle", circles), kind: circle, first: s.First, width: 2})
		case unit(s):
			spheres++
			for axis := range s.Width {
				list = append(list, Part{Name: fmt.Sprintf("sphere%d.%s", spheres, axisName(axis, s.Width)), kind: towards,
					first: s.First, width: s.Width, axis: axis})
			}
		default:
			for i := max(s.First, k); i < s.First+s.Width; i++ {
				list = append(list, Part{Name: fmt.Sprint("z", i-k), first: i, width: 1})
			}
		}
	}
	for axis := range 3 {
		if inSpace > 1 {
			list = append(list, Part{Name: "spheres." + axisName(axis, 3), kind: together, axis: axis})
		}
	}
	return list
}

func axisName(axis, width int) string {
	if width == 3 {
		return []string{"x", "y", "z"}[axis]
	}
	return fmt.Sprint(axis)
}

func (c *Codes) Part(name string) (Part, error) {
	var names []string
	for _, p := range c.Parts() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Part{}, fmt.Errorf("the codes have no part %q%s", name, registry.Suggest(name, names))
}

// Walk returns copies of a code in which one part takes steps:
//
//   - a circle turns once from angle 0;
//   - a sphere goes once around the great circle from its point towards an axis;
//   - all spheres together turn once about an axis;
//   - a coordinate goes from the 1st to the 99th percentile of the known codes, if possible with the same options;
//   - a choice takes each of its options, for any steps. An option may open dimensions. Their values come from the
//     nearest known code with that option, compared in the other columns.
//
// The labels are angles in degrees, values, or numbers of options from 1.
func (c *Codes) Walk(code []float64, p Part, steps int) (r Row, labels []string) {
	return c.walk(code, p, steps, [][]float64{code})
}

// walk is Walk, with a coordinate's range from the known codes with the same options as one of the codes in like.
func (c *Codes) walk(code []float64, p Part, steps int, like [][]float64) (r Row, labels []string) {
	switch p.kind {
	case option:
		return c.choose(code, p)
	case coordinate:
		low, high := c.rangeOf(like, p.first)
		return c.line(code, p, steps, low, high)
	}
	r = Row{Label: p.Name, Cyclic: true}
	for i := range steps {
		angle := 2 * math.Pi * float64(i) / float64(steps)
		sin, cos := math.Sincos(angle)
		moved := slices.Clone(code)
		switch p.kind {
		case circle:
			moved[p.first], moved[p.first+1] = cos, sin
		case towards:
			point := moved[p.first : p.first+p.width]
			arc(point, tangent(point, p.axis), sin, cos)
		case together:
			c.turn(moved, p.axis, angle)
		}
		r.Codes = append(r.Codes, moved)
		labels = append(labels, degrees(360*float64(i)/float64(steps)))
	}
	return r, labels
}

func degrees(angle float64) string { return strconv.FormatFloat(math.Round(10*angle)/10, 'f', -1, 64) }

// turn rotates the points on all spheres about a coordinate axis.
func (c *Codes) turn(code []float64, axis int, angle float64) {
	var about [3]float64
	about[axis] = 1
	g := rotation.AboutAxis(about, angle)
	for _, s := range c.Spaces {
		if s.Sphere {
			turned := rotation.Apply(&g, [3]float64(code[s.First:s.First+3]))
			copy(code[s.First:], turned[:])
		}
	}
}

// line moves a coordinate from low to high. A code that does not use the coordinate keeps its value.
func (c *Codes) line(code []float64, p Part, steps int, low, high float64) (r Row, labels []string) {
	used := c.Uses(code, p.first)
	r.Label = fmt.Sprintf("%s %s to %s", p.Name, valueLabel(low, low, high, 100), valueLabel(high, low, high, 100))
	for i := range steps {
		v := (low + high) / 2
		if steps > 1 {
			v = low + (high-low)*float64(i)/float64(steps-1)
		}
		moved := slices.Clone(code)
		if used {
			moved[p.first] = v
		}
		r.Codes = append(r.Codes, moved)
		labels = append(labels, valueLabel(v, low, high, steps))
	}
	return r, labels
}

// valueLabel formats a value with 2 to 9 digits: enough to distinguish adjacent steps of a range.
func valueLabel(v, low, high float64, steps int) string {
	largest, step := max(math.Abs(low), math.Abs(high)), (high-low)/float64(max(steps-1, 1))
	digits := 2
	if step > 0 {
		whole := math.Floor(math.Log10(largest)) + 1
		digits = int(min(max(2, whole-math.Floor(math.Log10(step))), 9))
		if whole < 6 {
			digits = max(digits, int(whole))
		}
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// rangeOf returns the 1st and the 99th percentile of a column over the known codes that use it. It takes the
// known codes with the same options as a code in like. With fewer than two of them, it takes all.
func (c *Codes) rangeOf(like [][]float64, column int) (low, high float64) {
	var sameOptions, all []float64
	for i := range c.Known.Rows {
		row := c.Known.Row(i)
		if !c.Uses(row, column) {
			continue
		}
		all = append(all, row[column])
		if slices.ContainsFunc(like, func(code []float64) bool { return slices.Equal(c.choice(row), c.choice(code)) }) {
			sameOptions = append(sameOptions, row[column])
		}
	}
	if len(sameOptions) < 2 {
		sameOptions = all
	}
	if len(sameOptions) == 0 {
		return -2, 2
	}
	slices.Sort(sameOptions)
	return numeric.Quantile(sameOptions, 0.01), numeric.Quantile(sameOptions, 0.99)
}

// choose returns a copy of a code for every option of a discrete column.
func (c *Codes) choose(code []float64, p Part) (r Row, labels []string) {
	n := c.Hierarchy.Categoricals()[p.first]
	r.Label = fmt.Sprintf("%s, %d options", p.Name, n)
	for o := range n {
		r.Codes = append(r.Codes, c.withOption(code, p.first, o))
		labels = append(labels, fmt.Sprint(o+1))
	}
	return r, labels
}

// withOption returns a copy of a code with another option. If the option opens dimensions, their values come from the
// nearest known code with that option, or are 0 if there is none.
func (c *Codes) withOption(code []float64, column, option int) []float64 {
	k := c.options()
	from := c.nearest(code, column, option)
	choice, values := c.choice(code), slices.Clone(code[k:])
	choice[column] = option
	used := c.active(code)
	for i := range choice {
		if i != column && !used[i] {
			if choice[i] = 0; from != nil && from[i] > 0.5 {
				choice[i] = int(from[i]+0.5) - 1
			}
		}
	}
	for j := range values {
		if !used[k+j] && from != nil {
			values[j] = from[k+j]
		}
	}
	return c.row(choice, values)
}

// nearest returns the known code with the given option that is nearest in the columns used by both codes. Different
// options in other columns count far more than any distance. It returns nil if no known code has the option.
func (c *Codes) nearest(code []float64, column, option int) (best []float64) {
	k, smallest := c.options(), math.Inf(1)
	used := c.active(code)
	for i := range c.Known.Rows {
		row := c.Known.Row(i)
		if int(row[column]+0.5) != option+1 {
			continue
		}
		distance, shared := 0.0, c.active(row)
		for j := range row {
			switch {
			case j == column || !used[j] || !shared[j]:
			case j < k:
				if row[j] != code[j] {
					distance += 1e12
				}
			default:
				distance += (row[j] - code[j]) * (row[j] - code[j])
			}
		}
		if distance < smallest {
			best, smallest = row, distance
		}
	}
	return best
}

// Liveliest returns the part whose changes are most visible: the first circle, otherwise the first choice, otherwise
// the first sphere, otherwise the coordinate with the largest variance over the known codes. It skips parts in the same
// space as a part in except, and parts that the code does not use. ok is false if there is no other part.
func (c *Codes) Liveliest(code []float64, except ...Part) (best Part, ok bool) {
	order := []kind{circle, option, towards, coordinate}
	rank, largestSpread := len(order), 0.0
	for _, p := range c.Parts() {
		r := slices.Index(order, p.kind)
		excluded := slices.ContainsFunc(except, func(e Part) bool { return e.meets(p) })
		if r < 0 || r > rank || excluded || !c.UsesPart(code, p) {
			continue
		}
		spread := 0.0
		if p.kind == coordinate {
			spread = c.variance(p.first)
		}
		if r < rank || spread > largestSpread {
			best, ok, rank, largestSpread = p, true, r, spread
		}
	}
	return best, ok
}

// variance returns the variance of a column over the known codes.
func (c *Codes) variance(column int) float64 {
	var sum, squares float64
	for i := range c.Known.Rows {
		v := c.Known.Row(i)[column]
		sum, squares = sum+v, squares+v*v
	}
	n := float64(max(c.Known.Rows, 1))
	return squares/n - sum/n*sum/n
}
