package factor_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestColumnLevels(t *testing.T) {
	nan, turn, three := math.NaN(), 2*math.Pi, 3.0
	for name, c := range map[string]struct {
		kind    string
		numbers []float64
		want    string // values, angles in turns, levels
	}{
		"from 1":                  {"ordinal", []float64{1, 4, 2, nan}, "[1 2 4] [] [0 2 1 -1]"},
		"rounded":                 {"ordinal", []float64{0.3, 0.1 * three, nan, 0, 0.1}, "[0 0.1 0.3] [] [2 2 -1 0 1]"},
		"rounded to float32":      {"categorical", []float64{float64(float32(0.3)), float64(math.Nextafter32(0.3, 1)), -1}, "[-1 0.30000001192092896] [] [1 1 0]"},
		"far from 0":              {"ordinal", []float64{1e6 + 0.25, 1e6 + 0.125, 1e6}, "[1e+06 1.000000125e+06 1.00000025e+06] [] [2 1 0]"},
		"large and whole":         {"ordinal", []float64{1 << 30, 1<<30 + 128, 0}, "[0 1.073741824e+09 1.073741952e+09] [] [1 2 0]"},
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
		k := must.Get(ParseColumnKind(c.kind))(t)
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
	must.Error(t, err, "0, 15, 45 are not evenly spaced; want their period, such as circular:360")
	for _, period := range []float64{-1, math.Inf(1), nan} {
		_, _, err := ColumnKind{Kind: Circular, Period: period}.Levels([]float64{0, 90, 90})
		must.Error(t, err, "want a positive number, such as 360, or 0", period)
	}
	for _, kind := range []ColumnKind{{Kind: Ordinal}, {Kind: Circular, Period: 360}} {
		_, _, err := kind.Levels([]float64{nan, 1, math.Inf(-1)})
		must.Error(t, err, "number 2 is -Inf; want finite numbers, or NaN for unknown levels", kind)
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
		must.Error(t, err, want, text, f.Size)
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
	must.EqualSlices(t, []float64{f.Scaled(0), f.Scaled(1), f.Scaled(2)}, []float64{0, 0.25, 0.75})
}

// Numbers become levels, or bins if there are too many of them. Bins without numbers are no levels.
func TestFromNumbers(t *testing.T) {
	steps := func(n int, step float64) (list []float64) {
		for i := range n {
			list = append(list, step*float64(i))
		}
		return list
	}
	nan := math.NaN()
	for i, c := range []struct {
		kind    string
		bins    int
		numbers []float64
		size    int
		want    string // values and levels; empty: any
	}{
		{"", 0, []float64{2, 0, 1, nan}, 3, "[] [2 0 1 -1]"},
		{"", 0, []float64{8, 3, nan}, 2, "[3 8] [1 0 -1]"},
		{"continuous", 4, []float64{0.5, 1, 10.5, 3, nan}, 3, "[1.75 4.25 9.25] [0 0 2 1 -1]"},
		{"continuous", 4, []float64{5, 5}, 1, "[5] [0 0]"},
		{"continuous", 30, []float64{0, 1.6, 1.7, 3}, 3, "[0.05 1.6500000000000001 2.9499999999999997] [0 1 1 2]"}, // as in NumPy, 17 * 0.1 is more than 1.7
		{"continuous", 2, []float64{-math.MaxFloat64, 0, math.MaxFloat64}, 2, ""},
		{"continuous", 0, steps(3, 1), 3, ""},
		{"", 3, steps(3, 0.5), 3, "[0 0.5 1] [0 1 2]"},
		{"", 3, steps(4, 0.5), 3, "[0.25 0.75 1.25] [0 1 2 2]"},
		{"ordinal", 3, steps(4, 0.5), 4, "[0 0.5 1 1.5] [0 1 2 3]"},
		{"", 0, steps(20, 0.5), 20, ""},
		{"", 0, steps(30, 0.5), 20, ""},
		{"", 0, steps(256, 1), 256, ""},
		{"", 0, steps(257, 1), 20, ""},
	} {
		var given *ColumnKind
		if c.kind != "" {
			k := must.Get(ParseColumnKind(c.kind))(t)
			given = &k
		}
		f, levels, err := FromNumbers("size", c.numbers, nil, given, c.bins)
		got := fmt.Sprint(f.Values, levels)
		if err != nil || f.Name != "size" || f.Size != c.size || c.want != "" && got != c.want {
			t.Errorf("%d: %d levels, %s, %v; want %d, %s", i, f.Size, got, err, c.size, c.want)
		}
	}
	if _, _, err := FromNumbers("size", []float64{nan}, nil, nil, 0); err == nil || !strings.Contains(err.Error(), "has no value in any row") {
		t.Errorf("no numbers: %v", err)
	}
	_, _, err := FromNumbers("size", steps(3, 1), nil, nil, -1)
	must.Error(t, err, "the number of bins is -1; want 1 to")
}

// Kinds belong to columns by order, or by name. One column more than names or kinds is an index.
func TestCategorical(t *testing.T) {
	byName := ColumnKinds{Named: map[string]string{"shape": "categorical", "size": "ordinal"}}
	inOrder := ColumnKinds{List: []string{"ordinal", "discrete"}}
	for i, c := range []struct {
		kinds           ColumnKinds
		names           []string
		name            string
		column, columns int
		want            bool
	}{
		{byName, nil, "shape", 3, 4, true},
		{byName, nil, "size", 3, 4, false},
		{byName, nil, "other", 0, 1, false},
		{byName, []string{"shape", "size"}, "", 0, 2, true},
		{byName, []string{"shape", "size"}, "", 1, 2, false},
		{byName, []string{"shape", "size"}, "", 1, 3, true},
		{byName, []string{"shape", "size"}, "", 0, 3, false},
		{inOrder, nil, "", 1, 2, true},
		{inOrder, nil, "", 0, 2, false},
		{inOrder, nil, "", 2, 3, true},
		{inOrder, nil, "", 1, 3, false},
		{inOrder, nil, "", 0, 3, false},
		{inOrder, nil, "", 2, 4, false},
	} {
		must.Equal(t, c.kinds.Categorical(c.names)(c.name, c.column, c.columns), c.want, i, "categorical is")
	}
	for size, want := range map[int]bool{100: false, 101: true} {
		if note, ok := KindNote(Factor{Name: "pose", Kind: Ordinal, Size: size}, "kinds"); ok != want ||
			!strings.Contains(note, fmt.Sprintf("factor pose has %d levels; kinds={pose: circular:360}", size)) {
			t.Errorf("%d levels: %q, %v", size, note, ok)
		}
	}
	if _, ok := KindNote(Factor{Kind: Circular, Size: 101}, "kinds"); ok {
		t.Error("a note on a factor with a kind")
	}
}
