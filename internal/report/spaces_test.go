package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"

	"gonum.org/v1/plot"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestSpaces(t *testing.T) {
	var x, y, z Column
	for i := range 125 {
		x.Values, y.Values, z.Values = append(x.Values, float64(i%5)), append(y.Values, float64(i/5%5)), append(z.Values, float64(i/25))
	}
	z.Values[3] = math.NaN()
	x.Name, y.Name, z.Name = "x", "y", "z"
	for _, axes := range [][]Column{{x}, {x, y}, {x, y, z}} {
		row := SpaceRow{Factors: axes, Spaces: []Space{{Name: "factors", Axes: axes, Like: "y"}, {Name: "codes", Axes: axes[:1]}}}
		show(t, fmt.Sprintf("spaces of %d axes", len(axes)), func(w io.Writer) error { return Spaces(w, "two panels", []SpaceRow{row, row}) })
	}
}

// Panels of the same kind have the same limits.
func TestSpacesShareLimits(t *testing.T) {
	wide, narrow := []Column{{"a", []float64{0, 4}}, {"b", []float64{0, 1}}}, []Column{{"a", []float64{1, 2}}, {"b", []float64{-1, 0}}}
	r := SpaceRow{Spaces: []Space{{Axes: wide, Like: "z"}, {Axes: narrow, Like: "z"}, {Axes: narrow}}}
	must.Equal(t, r.limits(r.Spaces[1], 0, narrow[0]), [2]float64{0, 4}, "limits")
	must.Equal(t, r.limits(r.Spaces[2], 1, narrow[1]), [2]float64{-1, 0}, "limits")
}

func TestSpacesMistakes(t *testing.T) {
	one := Column{"x", []float64{1, 2}}
	for want, rows := range map[string][]SpaceRow{
		"want at least one row":                       nil,
		"0 coordinates of \"codes\"; want 1 to 3":     {{Factors: []Column{one}, Spaces: []Space{{Name: "codes"}}}},
		"1 values of \"y\", but 2 of \"x\"":           {{Factors: []Column{one}, Spaces: []Space{{Name: "codes", Axes: []Column{{"y", []float64{1}}}}}}},
		"a row of 1 panels and 0 factors; want 1 pan": {{Spaces: []Space{{Name: "codes", Axes: []Column{one}}}}},
	} {
		must.Error(t, Spaces(&bytes.Buffer{}, "", rows), want)
	}
}

// An axis has a sensible range, even if its values differ only by rounding errors.
func TestAxisOfRounding(t *testing.T) {
	a := plot.Axis{Min: 0.1, Max: math.Nextafter(math.Nextafter(0.1, 1), 1)}
	widenEmptyRange(&a)
	if !(math.Abs(a.Min-0.09) <= 1e-9) || !(math.Abs(a.Max-0.11) <= 1e-9) {
		t.Errorf("%v to %v; want 0.09 to 0.11", a.Min, a.Max)
	}
	small := plot.Axis{Min: 1e-200, Max: 2e-200}
	if widenEmptyRange(&small); small.Min != 1e-200 || small.Max != 2e-200 {
		t.Errorf("%v to %v; want a small range as it is", small.Min, small.Max)
	}
}
