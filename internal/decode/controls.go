package decode

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Kinds of controls.
const (
	line   = "line"   // one column, from Low to High
	Circle = "circle" // two columns that hold a point of the unit circle
	Ball   = "sphere" // columns that hold a point of a unit sphere; three columns hold a point of S^2
	Turn   = "turn"   // columns of several spheres S^2 that turn together
	Choose = "choice" // one column, the number of an option from 1
)

// Control lets a user move a part of a code by hand.
type Control struct {
	Kind      string
	Name      string // as in parts, without an axis: z0, circle1, sphere1, spheres, a0
	Columns   []int
	Low, High float64  // 1st and 99th percentile of a line's column, among known codes that use the column
	Options   []Option // options of a choice
}

// Option is one value of a choice, with the controls that it opens.
type Option struct {
	Share    float64 // fraction of the known codes, among codes that use the choice
	Controls []Control
}

// Controls lists the controls of codes. The controls of an option's dimensions are under the option (Ross and
// Doshi-Velez 2021, figure 1).
func (c *Codes) Controls() []Control {
	b := &controls{Codes: c, values: c.usedValues(), names: c.spaceNames()}
	if c.Hierarchy != nil {
		b.continuous = c.options()
		list := b.of(c.Hierarchy)
		return append(list, c.together()...)
	}
	var list []Control
	for b.continuous < c.Width() {
		list = append(list, b.next()...)
	}
	return append(list, c.together()...)
}

// controls makes the controls of a code in the order of its dimensions.
type controls struct {
	*Codes
	values                  [][]float64 // sorted values of each column, among known codes that use the column
	names                   map[int]string
	categorical, continuous int // next columns
}

// of makes the controls of a group of dimensions.
func (b *controls) of(h hierarchy.Hierarchy) (list []Control) {
	for i := 0; i < len(h); i++ {
		if !h[i].Categorical() {
			before := b.continuous
			list = append(list, b.next()...)
			i += b.continuous - before - 1 // the other columns of a circle or a sphere
			continue
		}
		at := b.categorical
		b.categorical++
		choice := Control{Kind: Choose, Name: fmt.Sprint("a", at), Columns: []int{at}}
		for o, group := range h[i].Options {
			choice.Options = append(choice.Options, Option{Share: b.share(at, o+1), Controls: b.of(group)})
		}
		list = append(list, choice)
	}
	return list
}

// next makes the control of the next continuous column. For a circle or a sphere it makes one control of all columns.
func (b *controls) next() []Control {
	at := b.continuous
	s := b.space(at)
	if !unit(s) {
		b.continuous++
		low, high := limits(b.values[at])
		return []Control{{Kind: line, Name: fmt.Sprint("z", at-b.options()), Columns: []int{at}, Low: low, High: high}}
	}
	b.continuous += s.Width
	kind := Ball
	if s.Width == 2 {
		kind = Circle
	}
	return []Control{{Kind: kind, Name: b.names[s.First], Columns: columns(s)}}
}

// space returns the space of a column.
func (c *Codes) space(column int) models.Space {
	i := slices.IndexFunc(c.Spaces, func(s models.Space) bool { return column >= s.First && column < s.First+s.Width })
	return c.Spaces[i]
}

func columns(s models.Space) (list []int) {
	for i := range s.Width {
		list = append(list, s.First+i)
	}
	return list
}

// spaceNames returns the names of circles and spheres, by their first columns.
func (c *Codes) spaceNames() map[int]string {
	names := map[int]string{}
	circles, spheres := 0, 0
	for _, s := range c.Spaces {
		switch {
		case !unit(s):
		case s.Width == 2:
			circles++
			names[s.First] = fmt.Sprint("circle", circles)
		default:
			spheres++
			names[s.First] = fmt.Sprint("sphere", spheres)
		}
	}
	return names
}

// together returns one control that turns all spheres S^2, for codes with two or more spheres.
func (c *Codes) together() []Control {
	turn := Control{Kind: Turn, Name: "spheres"}
	for _, s := range c.Spaces {
		if s.Sphere {
			turn.Columns = append(turn.Columns, columns(s)...)
		}
	}
	if len(turn.Columns) < 6 {
		return nil
	}
	return []Control{turn}
}

// usedValues lists the sorted values of each column, among known codes that use the column.
func (c *Codes) usedValues() [][]float64 {
	list := make([][]float64, c.Width())
	for i := range c.Known.Rows {
		row := c.Known.Row(i)
		for j, used := range c.active(row) {
			if used {
				list[j] = append(list[j], row[j])
			}
		}
	}
	for _, values := range list {
		slices.Sort(values)
	}
	return list
}

// limits returns the 1st and the 99th percentile of sorted values. It returns a range of 1 around a constant value,
// and -2 and 2 without values.
func limits(sorted []float64) (low, high float64) {
	if len(sorted) == 0 {
		return -2, 2
	}
	low, high = numeric.Quantile(sorted, 0.01), numeric.Quantile(sorted, 0.99)
	if low == high {
		return low - 1, high + 1
	}
	return low, high
}

// share returns the fraction of known codes with an option, among known codes that use the choice.
func (b *controls) share(column, option int) float64 {
	values := b.values[column]
	if len(values) == 0 {
		return 0
	}
	n := 0
	for _, v := range values {
		if int(v+0.5) == option {
			n++
		}
	}
	return float64(n) / float64(len(values))
}

// Uses reports whether a code uses a column. Codes leave out the columns that their options do not open.
func (c *Codes) Uses(code []float64, column int) bool { return c.active(code)[column] }

// Options returns copies of a code, one for each option of the choice in a column, as [Codes.Walk] does.
func (c *Codes) Options(code []float64, column int) (codes [][]float64) {
	r, _ := c.choose(code, Part{kind: option, first: column, width: 1})
	return r.Codes
}
