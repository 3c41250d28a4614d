package factor_test

import (
	"encoding"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestGridIndex(t *testing.T) {
	levels := make([]int, len(sprites))
	for item, want := range sprites.All() {
		sprites.At(item, levels)
		if !slices.Equal(levels, want) || sprites.Index(levels) != item {
			t.Fatalf("item %d: At says %v, All %v, and Index %d", item, levels, want, sprites.Index(levels))
		}
	}
	for _, c := range []struct {
		levels []int
		want   string
	}{
		{[]int{3, 0, 0}, `factor "shape" has no level 3; want 0 to 2`},
		{[]int{0, 2, 0}, `factor "scale" has no level 2; want 0 to 1`},
		{[]int{0, 0, -1}, `factor "angle" has no level -1; want 0 to 3`},
		{[]int{0, 0}, "there are 2 levels; want 3"},
		{nil, "there are 0 levels; want 3"},
	} {
		if _, ok := sprites.Find(c.levels); ok {
			t.Errorf("%v is found", c.levels)
		}
		must.Error(t, sprites.Check(c.levels), c.want, c.levels)
		panics(t, c.want, func() { sprites.Index(c.levels) })
	}
	for _, item := range []int{-1, -25, 24, 1 << 40} {
		panics(t, "is out of range of a grid of 24", func() { sprites.At(item, levels) })
	}
	if err := sprites.Check([]int{2, 1, 3}); err != nil {
		t.Error(err)
	}
}

func panics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), want) {
			t.Errorf("panic %v, want %q", r, want)
		}
	}()
	f()
}

func TestSample(t *testing.T) {
	s, levels, counts := rng.New(3, "grid"), make([]int, len(sprites)), make([]int, sprites.Len())
	const draws = 24000
	for range draws {
		sprites.Sample(s, levels)
		counts[sprites.Index(levels)]++
	}
	for item, n := range counts {
		if !(math.Abs(float64(n)-1000) <= 5*math.Sqrt(1000)) {
			t.Errorf("item %d is drawn %d times of %d; want about 1000", item, n, draws)
		}
	}
}

func TestSubCodes(t *testing.T) {
	for _, c := range []struct {
		codes    factor.SubCodes
		validate string
		blocks   string
	}{
		{factor.SubCodes{"shape": {0, 1}, "angle": {4}}, "", ""},
		{factor.SubCodes{}, "", ""},
		{factor.SubCodes{"shape": {}}, "shape: there are no columns; want at least one", ""},
		{factor.SubCodes{"shape": {1, 1}}, "shape: [1 1] has a negative or repeated column; want distinct columns, numbered from 0", ""},
		{factor.SubCodes{"shape": {-1}}, "shape: [-1] has a negative", "codes.shape: column -1 does not exist; codes have columns 0 to 4"},
		{factor.SubCodes{"angle": {5}, "shape": {7}}, "", "codes.angle: column 5 does not exist; codes have columns 0 to 4"},
		{factor.SubCodes{"hue": {5}}, "", `codes: there is no factor "hue"; known: shape, scale, angle`},
	} {
		check := func(what string, err error, want string) {
			t.Helper()
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %v: error %v, want %q", what, c.codes, err, want)
			}
		}
		check("Validate", c.codes.Validate(), c.validate)
		_, err := c.codes.Blocks("codes", sprites, 5)
		check("Blocks", err, c.blocks)
	}
	blocks, err := factor.EvenBlocks(sprites, 6)
	if err != nil || fmt.Sprint(blocks) != "[{0 [0 1]} {1 [2 3]} {2 [4 5]}]" {
		t.Errorf("even blocks %v, %v", blocks, err)
	}
	for width, want := range map[int]string{
		2: "2 code columns cannot be divided evenly among 3 factors (shape, scale, angle); want codes, such as {shape: [0, 1]}",
		0: "0 code columns cannot", 7: "7 code columns cannot",
	} {
		must.ErrorOf(factor.EvenBlocks(sprites, width))(t, want, width)
	}
	must.ErrorOf(factor.EvenBlocks(nil, 3))(t, "there are no factors")
}

// name is a constant with a name: an aggregate, a deviation or a kind.
type name interface {
	fmt.Stringer
	encoding.TextMarshaler
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		values []name
		names  string
		read   func(text string) (name, error)
	}{
		{[]name{factor.Mean, factor.Max, factor.Sum, factor.MeanSquare}, "mean max sum mean-square",
			func(text string) (name, error) {
				var a factor.Aggregate
				err := a.UnmarshalText([]byte(text))
				return a, err
			}},
		{[]name{factor.Variance, factor.Diameter, factor.MPD, factor.Radius, factor.MAD}, "variance diameter mpd radius mad",
			func(text string) (name, error) {
				var d factor.Deviation
				err := d.UnmarshalText([]byte(text))
				return d, err
			}},
		{[]name{factor.Circular, factor.Ordinal, factor.Categorical}, "circular ordinal categorical",
			func(text string) (name, error) {
				var k factor.Kind
				err := k.UnmarshalText([]byte(text))
				return k, err
			}},
	} {
		names := strings.Fields(c.names)
		for i, v := range c.values {
			text, err := v.MarshalText()
			if err != nil || string(text) != names[i] {
				t.Errorf("%v is written %q, %v; want %q", v, text, err, names[i])
			}
			must.Equal(t, must.Get(c.read(names[i]))(t), v, names[i], "is read as")
		}
		must.ErrorOf(c.read("median"))(t, `"median"; known: `+strings.Join(names, ", "))
	}
	if a := factor.Aggregate(9); a.Known() || a.String() != "Aggregate(9)" {
		t.Errorf("aggregate 9 is %v, known %v", a, a.Known())
	}
	if d := factor.Deviation(9); d.Known() || d.String() != "Deviation(9)" {
		t.Errorf("deviation 9 is %v, known %v", d, d.Known())
	}
}

func TestAggregates(t *testing.T) {
	for a, want := range map[factor.Aggregate][2]float64{
		factor.Mean: {7. / 3, 1. / 3}, factor.Max: {4, 1}, factor.Sum: {7, 1}, factor.MeanSquare: {7, 8. / 3},
	} {
		q, slope := []float64{1, 2, 4}, make([]float64, 3)
		a.Slope(q, slope)
		if got := a.Of(q); !(math.Abs(got-want[0]) <= 1e-15) || !(math.Abs(slope[2]-want[1]) <= 1e-15) {
			t.Errorf("%v of %v is %v with slope %v; want %v", a, q, got, slope, want)
		}
		must.Equal(t, a.Of(nil), 0, a, "of nothing is")
	}
}

// The check of levels takes little time compared with drawing an image.
func BenchmarkGridIndex(b *testing.B) {
	levels := []int{2, 1, 3}
	for b.Loop() {
		sprites.Index(levels)
	}
}

// Levels get the names of their values, even if some names are unused. Other values get no names.
func TestNameLevels(t *testing.T) {
	words := []string{"cat", "dog", "owl"}
	for _, c := range []struct {
		values []float64
		want   []string
	}{{nil, words}, {[]float64{0, 2}, []string{"cat", "owl"}}, {[]float64{0, 1, 3}, nil}, {[]float64{0.5, 1}, nil}, {[]float64{-1, 1}, nil}} {
		f := factor.Factor{Name: "animal", Size: max(len(c.values), len(c.want)), Kind: factor.Categorical, Values: c.values}
		if f.NameLevels(words); !slices.Equal(f.Names, c.want) {
			t.Errorf("values %v have the names %q; want %q", c.values, f.Names, c.want)
		}
		if err := factor.Validate([]factor.Factor{f}); err != nil {
			t.Error(err)
		}
	}
	if err := factor.Validate([]factor.Factor{{Name: "animal", Size: 2, Names: words}}); err == nil {
		t.Error("three names of two levels are valid")
	}
}

// Evenly spaced values imply a full turn, unless they are angles or level numbers.
func TestFullTurn(t *testing.T) {
	for _, c := range []struct {
		f    factor.Factor
		want float64
	}{
		{factor.Factor{Size: 3, Kind: factor.Circular, Values: []float64{10, 20, 30}}, 30},
		{factor.Factor{Size: 2, Kind: factor.Circular, Values: []float64{-90, 90}}, 360},
		{factor.Factor{Size: 3, Kind: factor.Circular, Values: []float64{0, 1, 2}}, 0},
		{factor.Factor{Size: 3, Kind: factor.Circular}, 0},
		{factor.Factor{Size: 1, Kind: factor.Circular, Values: []float64{90}}, 0},
		{factor.Factor{Size: 2, Kind: factor.Circular, Values: []float64{0, 90}, Angles: []float64{0, 1}}, 0},
		{factor.Factor{Size: 3, Kind: factor.Ordinal, Values: []float64{10, 20, 30}}, 0},
	} {
		must.Equal(t, c.f.FullTurn(), c.want, c.f)
	}
}

// Levels of two factors are equal if their names, rotations, angles or values are, except for rounding.
func TestLevelsIn(t *testing.T) {
	turn := [9]float64{0, -1, 0, 1, 0, 0, 0, 0, 1}
	near := turn
	near[0] = 4e-8
	for _, c := range []struct {
		of, in factor.Factor
		want   []int
	}{
		{factor.Factor{Size: 3, Kind: factor.Ordinal, Values: []float64{0.1, 0.2, 0.5}}, factor.Factor{Size: 3, Kind: factor.Ordinal, Values: []float64{float64(float32(0.2)), 0.30000001, float64(float32(0.1))}}, []int{2, 0, -1}},
		{factor.Factor{Size: 2, Kind: factor.Ordinal, Values: []float64{1e9, 1e9 + 1}}, factor.Factor{Size: 2, Kind: factor.Ordinal, Values: []float64{1e9 + 1, 1e9 + 2}}, []int{-1, 0}},
		{factor.Factor{Size: 2, Names: []string{"owl", "cat"}}, factor.Factor{Size: 2, Names: []string{"cat", "dog"}}, []int{-1, 0}},
		{factor.Factor{Size: 2, Names: []string{"owl", "cat"}}, factor.Factor{Size: 2}, []int{-1, -1}},
		{factor.Factor{Size: 2, Kind: factor.Circular}, factor.Factor{Size: 4, Kind: factor.Circular}, []int{0, 2}},
		{factor.Factor{Size: 2}, factor.Factor{Size: 2, Kind: factor.Categorical}, []int{-1, -1}},
		{factor.Factor{Size: 1, Rotations: [][9]float64{turn}}, factor.Factor{Size: 2, Rotations: [][9]float64{{1, 0, 0, 0, 1, 0, 0, 0, 1}, near}}, []int{1}},
	} {
		must.EqualSlices(t, c.of.LevelsIn(c.in), c.want, c.of, "in", c.in)
	}
}

// A note names one-hot columns of one factor. A factor of two levels beside them belongs to none.
func TestOneHotNotes(t *testing.T) {
	factors := []factor.Factor{{Name: "wall", Size: 2}, {Name: "a", Size: 2}, {Name: "b", Size: 2}, {Name: "c", Size: 2}, {Name: "x", Size: 3}}
	const u = factor.Unknown
	for _, c := range []struct {
		levels []int
		want   int
	}{
		{[]int{0, 1, 0, 0, 2, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0}, 1},
		{[]int{0, 1, 0, 0, 2, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0}, 0}, // none in row 2
		{[]int{0, 1, 0, 0, 2, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0}, 0}, // two in row 1
		{[]int{0, 1, 0, 0, 2, 1, 0, 1, 0, 0, 0, 0, 0, u, 1, 1, 1, 0, 0, 0}, 0},
		{nil, 0},
	} {
		got := slices.DeleteFunc(factor.RepeatNotes(factors, c.levels), func(note string) bool { return !strings.Contains(note, "one-hot") })
		if len(got) != c.want || c.want == 1 && !strings.HasPrefix(got[0],
			"factors a to c are the one-hot columns of one factor, so metrics count it 3 times") {
			t.Errorf("%v: %q, want %d", c.levels, got, c.want)
		}
	}
}

// measured returns ten numbers from each number on.
func measured(step float64, from ...float64) (list []float64) {
	for _, v := range from {
		for i := range 10 {
			list = append(list, v+step*float64(i))
		}
	}
	return list
}

// A note names a number that may stand for unknown, bins that are too wide or divide groups, and numbers of rows.
func TestNumberNotes(t *testing.T) {
	nan, sum := math.NaN(), 0.2
	for _, c := range []struct {
		size    int
		numbers []float64
		want    string
	}{
		{9, []float64{-1, 0, 2, nan, 1, -1}, "factor a is -1 in 2 rows and 0 to 2 in the others; if -1 means unknown, want an empty field or NaN instead"},
		{9, []float64{0.5, -999, 0.25, -999, 1, -999}, "factor a is -999 in 3 rows and 0.25 to 1 in the others; if -999 means unknown, want an empty field or NaN instead"},
		{9, []float64{99, 3, 99, 5, 4}, "factor a is 99 in 2 rows and 3 to 5 in the others; if 99 means unknown, want an empty field or NaN instead"},
		{9, []float64{-9, 0, 90, 180, -9}, "factor a is -9 in 2 rows and 0 to 180 in the others; if -9 means unknown, want an empty field or NaN instead"},
		{9, []float64{999, 0, 342, 18, 999}, "factor a is 999 in 2 rows and 0 to 342 in the others; if 999 means unknown, want an empty field or NaN instead"},
		{9, []float64{999, 0, 900, 998, 999}, ""},
		{9, []float64{-8, 0, 90, 180, -8}, ""},
		{9, []float64{99, 3, 99, 13, 4}, ""}, // not far enough
		{9, []float64{-1, 0, 2, 1}, ""},      // in one row
		{9, []float64{-1, 0, 1, -1}, ""},     // few values
		{9, []float64{-1, -2, 0, 1, -1, -2}, ""},
		{2, append(slices.Repeat([]float64{0.5, 0.75}, 50), 900), "factor a is 0.5 to 0.75 in 100 rows, and 0.5 to 900 in all; its bins of equal width see little of it"},
		{3, append(slices.Repeat([]float64{0.5, 0.75}, 50), 900), ""}, // a level for each number
		{2, append(slices.Repeat([]float64{0.5, 0.75}, 50), 2), ""},   // several bins
		{6, measured(0.001, 0, 1, 4), "factor a has 30 numbers in 3 groups of width 0.009 at most, which bins may divide; want one number for each group, such as rounded ones"},
		{6, measured(0.01, 0, 1, 4), ""},   // too wide
		{30, measured(0.001, 0, 1, 4), ""}, // a level for each number
		{6, measured(0.001, 4), ""},
		{20, measured(11, 0, 2000, 3000, 4000, 5500, 6000, 7100, 8000, 9000, 9500), "factor a has another whole number in each row, 0 to 9599; leave it out if it is an index"},
		{20, measured(10, 0, 100, 200, 300, 400, 500, 600, 700, 800, 900), ""}, // equal steps
		{20, measured(1, 0, 10, 20, 30, 40, 50, 60, 70, 80, 90), ""},           // numbers of the rows
		{20, measured(11, 0, 2000, 3000, 4000, 5500), ""},                      // few rows
		{9, []float64{0.25, float64(float32(0.2)), 0.2, nan}, "factor a has 0.2 and 0.20000000298023224 as two levels, which differ by rounding alone; want one precision, such as np.float32(a)"},
		{9, []float64{0.25, 0.2, 0.1 + sum, 0.3}, "factor a has 0.3 and 0.30000000000000004 as two levels, which differ by rounding alone; want one precision, such as np.float32(a)"},
		{3, []float64{0.2, float64(float32(0.2)), 0.3, 0.4, 0.5, 0.6}, ""}, // one pair by chance
		{9, []float64{0.2, 0.2000001, 1 << 54, 1<<54 + 64}, ""},
		{0, []float64{nan}, ""},
		{0, nil, ""},
	} {
		must.Equal(t, strings.Join(factor.ColumnNotes(factor.Factor{Name: "a", Size: c.size}, c.numbers, nil), "; "), c.want, c.numbers)
	}
}

// A note names degrees that are taken for radians, and angles that are apart by a full turn.
func TestTurnNotes(t *testing.T) {
	for _, c := range []struct {
		numbers []float64
		period  float64
		want    string
	}{
		{[]float64{0, 30, 90, 120, 270}, 2 * math.Pi, "factor a has the whole numbers 0 to 270 as radians; if they are degrees, want circular:360"},
		{[]float64{-90, 0, 90, 180}, 6.283, "factor a has the whole numbers -90 to 180 as radians; if they are degrees, want circular:360"},
		{[]float64{0, 30, 90, 120, 270}, 360, ""},
		{[]float64{0, 1, 2, 3, 4, 5, 6}, 2 * math.Pi, ""},
		{[]float64{0, 2.5, 8.5, 30.25}, 2 * math.Pi, "factor a goes from 0 to 30.25, and a full turn is 6.28319, so numbers that differ by 6.28319 are one level"},
		{[]float64{0, 10, 180, 190, 350}, 180, "factor a goes from 0 to 350, and a full turn is 180, so numbers that differ by 180 are one level"},
		{[]float64{-180, -90, 0, 90, 180}, 360, ""},
		{[]float64{0, 1, 2}, 100, ""}, // a factor without Values
	} {
		kind := factor.ColumnKind{Kind: factor.Circular, Period: c.period}
		f, _, err := factor.FromNumbers("a", c.numbers, nil, &kind, 0)
		must.OK(t, err)
		must.Equal(t, strings.Join(factor.ColumnNotes(f, c.numbers, nil), "; "), c.want, c.numbers)
	}
}

// A note names two spellings of a word, and a word that may stand for unknown.
func TestWordNotes(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"Red", "blue", "red"}, `factor a has "Red" and "red" as two levels; want one spelling if they are one`},
		{[]string{"3 cm", "3cm"}, `factor a has "3 cm" and "3cm" as two levels; want one spelling if they are one`},
		{[]string{"'x1'", "x1"}, `factor a has "'x1'" and "x1" as two levels; want one spelling if they are one`},
		{[]string{"cafe\u0301", "caf\u00e9"}, `factor a has "cafe\u0301" and "caf\u00e9" as two levels; want one spelling if they are one`},
		{[]string{"Unknown", "x", "y", "z"}, `factor a has the level "Unknown"; if it means unknown, want an empty field instead`},
		{[]string{"no", "unknown", "yes"}, `factor a has the level "unknown"; if it means unknown, want an empty field instead`},
		{[]string{"None", "x", "y"}, `factor a has the level "None"; if it means unknown, want an empty field instead`},
		{[]string{"none", "x", "y"}, ""},
		{[]string{"0,5", "1,5", "2,5"}, "factor a has words such as 0,5; if they are numbers, want points instead of commas"},
		{[]string{"1,2", "2", "x"}, ""},
		{[]string{"off", "-"}, ""}, // two
		{[]string{"10 cm", "2.5 cm", "5cm"}, `factor a has numbers with the unit "cm" as words; want numbers alone, which have an order`},
		{[]string{"1 m", "2 cm", "3 m"}, ""},
		{[]string{"2d", "3d"}, ""},
		{[]string{"10:30", "11:30", "9:30"}, ""},
		{[]string{"1", "2", "x"}, ""},
		{[]string{"+", "-", "0"}, ""},
		{[]string{"A", "A-", "a", "b"}, ""}, // letters and grades
		{[]string{"light blue", "lightblue2"}, ""},
		{nil, ""},
	} {
		notes := factor.ColumnNotes(factor.Factor{Name: "a"}, nil, c.words)
		if got := strings.Join(notes[min(1, len(notes)):], "; "); got != c.want { // behind the numbers of the words
			t.Errorf("%q: %q; want %q", c.words, got, c.want)
		}
	}
}

// A note names factors with the same groups of images, in any order of levels.
func TestRepeatNotes(t *testing.T) {
	factors := []factor.Factor{{Name: "a", Size: 3}, {Name: "b", Size: 4}, {Name: "c", Size: 3}, {Name: "d", Size: 1}}
	const u = factor.Unknown
	for _, c := range []struct {
		levels []int
		want   []string
	}{
		{[]int{0, 3, 0, 0, 1, 0, 1, 0, 2, 1, 1, 0, 0, 3, 0, 0}, []string{"factors a and b divide the images into the same groups, so metrics count them twice"}},
		{[]int{0, 3, 2, 0, 1, 0, 1, 0, 1, 0, 1, 0, u, u, u, 0}, []string{
			"factors a and b divide the images into the same groups, so metrics count them twice",
			"factors a and c divide the images into the same groups, so metrics count them twice",
		}},
		{[]int{0, 0, u, 0, 1, 1, u, 0, 1, 2, u, 0}, nil}, // a level of a has two of b
		{[]int{0, 0, u, 0, 1, 1, u, 0, 2, 1, u, 0}, nil}, // a level of b has two of a
		{[]int{0, 0, u, 0, 1, 1, u, 0, u, 2, u, 0}, nil},
		{[]int{0, 0, 0, 0, 0, 0, 0, 0}, nil}, // one level each
		{[]int{0, 1, u, 0, 1, 0, u, 0}, nil}, // a level for each image
		{nil, nil},
	} {
		must.EqualSlices(t, factor.RepeatNotes(factors, c.levels), c.want, c.levels)
	}
}
