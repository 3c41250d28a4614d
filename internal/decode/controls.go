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
	line   = "line"   // one column, between Low and High
	Circle = "circle" // two columns with a point of the unit circle
	Ball   = "sphere" // columns with a point of a unit sphere; three columns have a point of S^2
	Turn   = "turn"   // columns of several spheres S^2, rotated together
	Choose = "choice" // one column with the number of an option, from 1
)

// Control lets a user change a part of a code by hand.
type Control struct {
	Kind      string
	Name      string // as in Part.Name, without an axis: z0, circle1, sphere1, spheres, a0
	Columns   []int
	Low, High float64  // 1st and 99th percentile of a line's column, over the known codes that use the column
	Options   []Option // options of a choice
}

// Option is a value of a choice, with the controls of the dimensions that it opens.
type Option struct {
	Share    float64 // fraction of the known codes that use the choice
	Controls []Control
}

// Controls lists the controls of codes. The controls of an option's dimensions are in the option (Ross and Doshi-Velez
// 2021, figure 1).
func (c *Codes) Controls() []Control {
	b := &controls{Codes: c, values: c.usedValues(), names: c.spaceNames()}
	if c.Hierarchy != nil {
		b.continuous = c.options()
		list := b.groupControls(c.Hierarchy)
		return append(list, c.allSpheres()...)
	}
	var list []Control
	for b.continuous < c.Width() {
		list = append(list, b.nextControl()...)
	}
	return append(list, c.allSpheres()...)
}

// controls creates the controls of a code in the order of its dimensions.
type controls struct {
	*Codes
	values                  [][]float64 // sorted values of each column, over the known codes that use the column
	names                   map[int]string
	categorical, continuous int // indices of the next columns
}

// groupControls creates the controls of a group of dimensions.
func (b *controls) groupControls(h hierarchy.Hierarchy) (list []Control) {
	for i := 0; i < len(h); i++ {
		if !h[i].Categorical() {
			before := b.continuous
			list = append(list, b.nextControl()...)
			i += b.continuous - before - 1 // skips the other columns of a circle or a sphere
			continue
		}
		column := b.categorical
		b.categorical++
		choice := Control{Kind: Choose, Name: fmt.Sprint("a", column), Columns: []int{column}}
		for o, group := range h[i].Options {
			choice.Options = append(choice.Options, Option{Share: b.share(column, o+1), Controls: b.groupControls(group)})
		}
		list = append(list, choice)
	}
	return list
}

// nextControl creates the control of the next continuous column. A circle or a sphere has one control for all its
// columns.
func (b *controls) nextControl() []Control {
	column := b.continuous
	s := b.space(column)
	if !unit(s) {
		b.continuous++
		low, high := limits(b.values[column])
		return []Control{{Kind: line, Name: fmt.Sprint("z", column-b.options()), Columns: []int{column}, Low: low,
			High: high}}
	}
	b.continuous += s.Width
	kind := Ball
	if s.Width == 2 {
		kind = Circle
	}
	return []Control{{Kind: kind, Name: b.names[s.First], Columns: columns(s)}}
}

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

// spaceNames returns the names of circles and spheres by their first column.
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

// allSpheres returns one control that rotates all spheres S^2, for codes with two or more of them.
func (c *Codes) allSpheres() []Control {
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

// usedValues returns the sorted values of each column, over the known codes that use the column.
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

// limits returns the 1st and the 99th percentile of sorted values. For a constant value, it returns the value minus
// and plus 1. Without values, it returns -2 and 2.
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

// share returns the fraction of known codes with an option, among the known codes that use the choice.
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

// Uses reports whether a code uses a column. A code does not use the columns that its options do not open.
func (c *Codes) Uses(code []float64, column int) bool { return c.active(code)[column] }

// Options returns copies of a code, one for each option of the choice in a column, like [Codes.Walk].
func (c *Codes) Options(code []float64, column int) (codes [][]float64) {
	r, _ := c.choose(code, Part{kind: option, first: column, width: 1})
	return r.Codes
}
