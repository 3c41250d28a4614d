package decode

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
)

// text formats controls, with the controls of their options in brackets.
func text(list []Control) string {
	var words []string
	for _, c := range list {
		word := fmt.Sprint(c.Kind, " ", c.Name, " ", c.Columns)
		if c.Kind == line {
			word += fmt.Sprintf(" %.4g to %.4g", c.Low, c.High)
		}
		for _, o := range c.Options {
			word += fmt.Sprintf(" (%.2f: %s)", o.Share, text(o.Controls))
		}
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}

// Every column has one control. A circle or a sphere has one control for all its columns. Each option has its own
// controls.
func TestControls(t *testing.T) {
	for want, c := range map[string]*Codes{
		"circle circle1 [0 1]; sphere sphere1 [2 3 4]; line z5 [5] 1 to 99; line z6 [6] -9.9 to -0.1":                                                                     cylinder(),
		"choice a0 [0] (0.50: line z0 [2] 0.52 to 2.48) (0.50: choice a1 [1] (0.33: ) (0.67: line z1 [3] 7.02 to 8.98)); line z2 [4] 10.05 to 49.5":                       tree(),
		"choice a0 [0] (0.50: ) (0.50: ) (0.00: ); circle circle1 [1 2]; sphere sphere1 [3 4 5]; sphere sphere2 [6 7 8]; line z8 [9] 1 to 99; turn spheres [3 4 5 6 7 8]": mix(),
		"sphere sphere1 [0 1 2 3]; line z4 [4] -2 to 2": {Spaces: []models.Space{{Width: 4, Unit: true}, {First: 4, Width: 1}}},
		"line z0 [0] 2 to 4":                            {Spaces: []models.Space{{Width: 1}}, Known: matrix.Matrix{Rows: 2, Cols: 1, Data: []float64{3, 3}}},
	} {
		must.Equal(t, text(c.Controls()), want, "controls")
	}
}

// If all codes have the same options, the control of a line and a walk of the same part cover the same range.
func TestControlsFollowParts(t *testing.T) {
	c := cylinder()
	for _, control := range c.Controls() {
		if control.Kind != line {
			continue
		}
		p := must.Get(c.Part(control.Name))(t)
		r, _ := c.Walk(c.Known.Row(0), p, 2)
		at := control.Columns[0]
		if !(math.Abs(r.Codes[0][at]-control.Low) <= 1e-12) || !(math.Abs(r.Codes[1][at]-control.High) <= 1e-12) {
			t.Errorf("%s moves from %v to %v, the part from %v to %v", control.Name, control.Low, control.High, r.Codes[0][at], r.Codes[1][at])
		}
	}
}
