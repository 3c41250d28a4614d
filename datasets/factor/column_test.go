package factor_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/unravel-ml/unravel/datasets/factor"
)

func TestColumnLevels(t *testing.T) {
	nan, turn := math.NaN(), 2*math.Pi
	for name, c := range map[string]struct {
		kind    string
		numbers []float64
		want    string // values, angles in turns, levels
	}{
		"from 1":                  {"ordinal", []float64{1, 4, 2, nan}, "[1 2 4] [] [0 2 1 -1]"},
		"two angles, not four":    {"circular:360", []float64{0, 360, -90, 270}, "[0 90 180 270] [] [0 0 3 3]"},
		"rounded radians":         {"circular:6.283185307179586", []float64{-turn / 4, 3 * turn / 4, turn, 0}, "[0 1.5707963267948966 3.141592653589793 4.71238898038469] [] [3 3 0 0]"},
		"a full turn":             {"circular:360", []float64{90, 0, 180, 270}, "[0 90 180 270] [] [1 0 2 3]"},
		"a full turn, not from 0": {"circular:360", []float64{45, 225, 135, 315}, "[45 135 225 315] [] [0 2 1 3]"},
		"a gap":                   {"circular:4", []float64{0, 1, 3}, "[0 1 2 3] [] [0 1 3]"},
		"a gap in degrees":        {"circular:360", []float64{50, 230, 320, 5}, "[5 50 95 140 185 230 275 320] [] [1 5 7 0]"},
		"a rounded turn":          {"circular:6.2832", []float64{0, turn / 4, turn / 2, 3 * turn / 4, turn}, "[0 1.5707963267948966 3.141592653589793 4.71238898038469] [] [0 1 2 3 0]"},
		"rounded angles":          {"circular:360", []float64{51.43, 102.86, 154.29, 257.14, 0}, "[0 51.43 102.86 154.29 205.71428571428572 257.14 308.57142857142856] [] [1 2 3 5 0]"},
		"nearly equal angles":     {"circular:1", []float64{0, 0.00001, 0.00002}, "[0 1e-05 2e-05] [0 1e-05 2e-05] [0 1 2]"},
		"nearly a turn":           {"circular:1", []float64{0, 0.5, 0.99995}, "[0 0.5 0.99995] [0 0.5 0.99995] [0 1 2]"},
		"real angles":             {"circular:8", []float64{0, 0.1234567, 2.7, nan}, "[0 0.1234567 2.7] [0 0.0154320875 0.3375] [0 1 2 -1]"},
		"one angle":               {"circular:4", []float64{5, 1}, "[1] [] [0 0]"},
		"even, without a period":  {"angular", []float64{3, 5, 7}, "[3 5 7] [] [0 1 2]"},
	} {
		k, err := ParseColumnKind(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		f, levels, err := k.Levels(c.numbers)
		turns := slices.Clone(f.Angles)
		for i := range turns {
			turns[i] /= turn
		}
		if got := fmt.Sprint(f.Values, turns, levels); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
	_, _, err := ColumnKind{Kind: Circular}.Levels([]float64{0, 15, 45})
	if err == nil || !strings.Contains(err.Error(), "0, 15, 45 are not evenly spaced; want their period, such as circular:360") {
		t.Errorf("values with a gap: %v", err)
	}
	quarters := []float64{-turn / 4, 0, turn / 4, turn / 2, 3 * turn / 4, turn}
	for text, want := range map[string]string{
		"circular:6.28":        "the angles 0 and 0.00318531 may be one angle",
		"circular:6.2832":      "as the period 6.2832 is a rounded full turn; want circular:6.283185307",
		"circular:6.283":       "the angles 0 and 0.000185307 may be one angle",
		"circular:6.283185307": "",
		"circular:6.2":         "",
	} {
		k, _ := ParseColumnKind(text)
		f, _, err := k.Levels(quarters)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %d levels; want %q", text, err, f.Size, want)
		}
		if _, _, err := k.Levels(quarters[1:4]); err != nil {
			t.Errorf("%s, angles within a turn: %v", text, err)
		}
	}
	for _, text := range []string{"round", "ordinal:3", "circular:0", "circular:x", ""} {
		if _, err := ParseColumnKind(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// The place of a level on the circle depends on its angle, not on its index.
func TestScaledAngles(t *testing.T) {
	f := Factor{Kind: Circular, Size: 3, Angles: []float64{0, math.Pi / 2, -math.Pi / 2}}
	if got := []float64{f.Scaled(0), f.Scaled(1), f.Scaled(2)}; !slices.Equal(got, []float64{0, 0.25, 0.75}) {
		t.Error(got)
	}
}
