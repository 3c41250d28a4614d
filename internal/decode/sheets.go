package decode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/models"
)

// Point is a code with a label, such as an object's name.
type Point struct {
	Label string
	Code  []float64
}

// Traversals varies every part of a code separately, with one row per part and the given number of steps. Parts that
// the code does not use have no row. The sheet has at most the given number of rows; dropped counts the other parts.
func (c *Codes) Traversals(from Point, steps, rows int) (s *Sheet, dropped int) {
	s = &Sheet{Name: "traversals-" + from.Label, Title: "Decoded images while one part of the code of image " +
		from.Label + " moves", Moves: true}
	turning, widest := true, steps
	used := c.active(from.Code)
	for _, p := range c.Parts() {
		if p.kind != together && !used[p.first] {
			continue
		}
		if len(s.Rows) == rows {
			dropped++
			continue
		}
		r, labels := c.Walk(from.Code, p, steps)
		if s.Rows = append(s.Rows, r); r.Cyclic {
			s.Columns = labels
		}
		turning, widest = turning && r.Cyclic, max(widest, len(r.Codes))
	}
	if s.ColumnTitle = "angle, degrees"; turning {
		return s, dropped
	}
	s.ColumnTitle, s.Columns = "step; rows: "+strings.Join(c.partNotes(), ", "), nil
	for i := range widest {
		s.Columns = append(s.Columns, fmt.Sprint(i+1))
	}
	return s, dropped
}

// partNotes describes how the parts of codes vary.
func (c *Codes) partNotes() (list []string) {
	parts := c.Parts()
	for _, way := range []struct {
		name string
		of   func(p Part) bool
	}{
		{"a part from the 1st to the 99th percentile of the codes", func(p Part) bool { return p.kind == coordinate }},
		{"a turn", Part.Round},
		{"the options", Part.Chooses},
	} {
		if slices.ContainsFunc(parts, way.of) {
			list = append(list, way.name)
		}
	}
	return list
}

// Grid varies one part of several codes. Rows are codes, and columns are the steps of the part. A coordinate has one
// range for all rows, even if they differ in options.
func (c *Codes) Grid(rows []Point, p Part, steps int) *Sheet {
	s := &Sheet{Name: "grid", Moves: true,
		ColumnTitle: map[kind]string{coordinate: "value of " + p.Name, option: "option of " + p.Name}[p.kind]}
	s.ColumnTitle = cmp.Or(s.ColumnTitle, p.Name+", degrees")
	like := make([][]float64, len(rows))
	for i, from := range rows {
		like[i] = from.Code
	}
	for _, from := range rows {
		r, labels := c.walk(from.Code, p, steps, like)
		r.Label, s.Columns = from.Label, labels
		s.Rows = append(s.Rows, r)
	}
	return s
}

// Steps returns the steps of a part from a code, as the rows of a grid.
func (c *Codes) Steps(code []float64, p Part, steps int) (list []Point) {
	r, labels := c.Walk(code, p, steps)
	for i, moved := range r.Codes {
		list = append(list, Point{p.Name + " " + labels[i], moved})
	}
	return list
}

// BetweenImages interpolates from each point to the next one. If a model has both R^n and circles or spheres,
// additional rows vary only R^n, or only circles and spheres.
func (c *Codes) BetweenImages(points []Point, steps int) *Sheet {
	s := &Sheet{Name: "interpolation", Moves: true, ColumnTitle: "fraction of the way", Columns: fractions(steps)}
	straight, round := func(s models.Space) bool { return !unit(s) && s.Options == 0 }, unit
	both := slices.ContainsFunc(c.Spaces, straight) && slices.ContainsFunc(c.Spaces, round)
	for i := range len(points) - 1 {
		a, b := points[i], points[i+1]
		label := a.Label + " to " + b.Label
		s.Rows = append(s.Rows, Row{Label: label, Codes: c.Between(a.Code, b.Code, steps, nil)})
		if both {
			s.Rows = append(s.Rows, Row{Label: label + ", R^n alone", Codes: c.Between(a.Code, b.Code, steps, straight)},
				Row{Label: label + ", spheres alone", Codes: c.Between(a.Code, b.Code, steps, round)})
		}
	}
	return s
}

// BetweenObjects interpolates from one object to another at every step of a part, such as the circle of the objects'
// rotation (Tonnaer et al. 2022, figures 11 and 12). Rows are the steps of the part, and columns the steps of the
// interpolation.
func (c *Codes) BetweenObjects(a, b Point, p Part, rows, steps int) *Sheet {
	s := &Sheet{Name: fmt.Sprintf("interpolation-%s-%s", a.Label, b.Label), Moves: true,
		ColumnTitle: "fraction of the way; rows: " + p.Name, Columns: fractions(steps)}
	from, labels := c.Walk(a.Code, p, rows)
	to, _ := c.Walk(b.Code, p, rows)
	for i := range from.Codes {
		s.Rows = append(s.Rows, Row{Label: labels[i], Codes: c.Between(from.Codes[i], to.Codes[i], steps, nil)})
	}
	return s
}

func fractions(steps int) (labels []string) {
	for i := range steps {
		labels = append(labels, fmt.Sprintf("%.2g", float64(i)/float64(max(steps-1, 1))))
	}
	return labels
}
