package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/internal/decode"
)

// CodeTraversals draws decoded images while one part of the first known code moves at a time. Each choice cycles
// through its options, and each circle turns once. All spheres S^2 turn once together about each of three axes. A
// sphere of more dimensions goes once around the great circle towards each axis. Each other column goes from its 1st to
// its 99th percentile among the known codes. It shows at most 32 rows. The axes of S^2 come from the Q of the first
// sphere: they are the world's axes if the codes follow a pose.
func CodeTraversals(w io.Writer, codes *decode.Codes, spheres []Sphere, d Decoder) error {
	t := traversals{code: codes.Known.Row(0), codes: codes}
	parts := codes.Parts()
	for _, p := range parts {
		if p.Chooses() {
			t.choose(p)
		}
	}
	for _, p := range parts {
		if p.Turns() {
			t.walk(p, circleName(t.circles))
			t.circles++
		}
	}
	t.turns(spheres)
	for _, p := range parts {
		if _, width := p.Columns(); p.Round() && width > 3 {
			t.walk(p, p.Name)
			t.arcs++
		}
	}
	for _, p := range parts {
		if !p.Round() && !p.Chooses() {
			t.sweep(p)
		}
	}
	labels, title := t.axis()
	return traversalSheet(w, "Decoded images while one part of the code moves and the rest is fixed", title, t.names, labels, t.rows, d)
}

// traversals collects the rows of a figure of traversals.
type traversals struct {
	code  []float64
	codes *decode.Codes
	names []string
	rows  []float32

	choices, circles, turned, arcs, columns int // rows of each kind
}

// row adds a row of traversalSteps codes, unless the figure is full.
func (t *traversals) row(name string, at func(step int) []float64) {
	if len(t.names) == maxTraversals {
		return
	}
	t.names = append(t.names, name)
	for step := range traversalSteps {
		t.rows = appendRow(t.rows, at(step))
	}
}

// choose cycles through the options of a choice. The name of the row gives their number.
func (t *traversals) choose(p decode.Part) {
	r, _ := t.codes.Walk(t.code, p, 0)
	t.row(fmt.Sprintf("%s: 1 to %d", p.Name, len(r.Codes)), func(step int) []float64 { return r.Codes[step%len(r.Codes)] })
	t.choices++
}

// walk goes around a circle or a great circle.
func (t *traversals) walk(p decode.Part, name string) {
	r, _ := t.codes.Walk(t.code, p, traversalSteps)
	t.row(name, func(step int) []float64 { return r.Codes[step] })
}

// turns turns all spheres about each axis.
func (t *traversals) turns(spheres []Sphere) {
	if len(spheres) == 0 {
		return
	}
	for axis := range 3 {
		var k [3]float64
		k[axis] = 1
		t.row([]string{"about x", "about y", "about z"}[axis], func(step int) []float64 {
			return turnSpheres(t.code, spheres, rotation.AboutAxis(k, 2*math.Pi*float64(step)/traversalSteps))
		})
		t.turned++
	}
}

// sweep moves a column between its percentiles.
func (t *traversals) sweep(p decode.Part) {
	if len(t.names) == maxTraversals { // percentiles of all codes take time
		return
	}
	column, _ := p.Columns()
	values := sweep(t.codes.Known, upTo(t.codes.Known.Rows), column)
	t.row(fmt.Sprintf("%s: %.2g to %.2g", p.Name, values[0], values[traversalSteps-1]), func(step int) []float64 {
		code := slices.Clone(t.code)
		code[column] = values[step]
		return code
	})
	t.columns++
}

// axis returns the labels above the columns, and a title that explains them and the exceptions.
func (t *traversals) axis() (labels []string, title string) {
	labels = percentileLabels()
	var others []string
	if t.circles+t.turned+t.arcs == 0 {
		title = "percentile of the column"
	} else {
		for step := range labels {
			labels[step] = fmt.Sprint(360 * step / traversalSteps)
		}
		title = "angle on the circle, degrees"
		switch {
		case t.turned > 0:
			title = "angle on the circle, or of the turn of the spheres about an axis, degrees"
		case t.circles == 0:
			title = "angle on the great circle towards an axis, degrees"
		}
		if t.columns > 0 {
			others = append(others, fmt.Sprintf("of a column (z0, ...) its percentiles %d to %d", lowPercentile, highPercentile))
		}
	}
	if t.choices > 0 {
		others = append(others, "of a choice (a0, ...) its options in turn")
	}
	return labels, strings.Join(append([]string{title}, others...), "; ")
}
