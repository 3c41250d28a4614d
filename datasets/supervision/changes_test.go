package supervision_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/configtest"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// changed returns the default settings with changes.
func changed(change func(*Changes)) *Changes {
	c := NewChanges()
	if change != nil {
		change(c)
	}
	return c
}

// drawnPairs calls look with the levels of n pairs.
func drawnPairs(t testing.TB, s *Changes, d datasets.Dataset, n int, look func(a, b []int, pair []int)) {
	t.Helper()
	drawn := datatest.Split(t, s, d).Drawn
	a, b := make([]int, len(d.Factors())), make([]int, len(d.Factors()))
	stream, pair := rng.New(5, "pairs"), make([]int, 2)
	for range n {
		drawn.Draw(stream, pair, nil)
		d.FactorsAt(pair[0], a)
		d.FactorsAt(pair[1], b)
		look(a, b, pair)
	}
}

// wantShare checks the frequency of an event with probability p in n trials.
func wantShare(t *testing.T, what string, count, n int, p float64) {
	t.Helper()
	if got := float64(count) / float64(n); !(math.Abs(got-p) <= 4*math.Sqrt(p*(1-p)/float64(n))) {
		t.Errorf("%s: %.5f of %d pairs, want %.5f", what, got, n, p)
	}
}

func ordinals(sizes ...int) datasets.Dataset {
	var list []factor.Factor
	for k, size := range sizes {
		list = append(list, factor.Factor{Name: fmt.Sprint("f", k), Size: size, Kind: factor.Ordinal})
	}
	return datatest.ToyOf(list...)
}

func differing(a, b []int) (n int) {
	for k := range a {
		if a[k] != b[k] {
			n++
		}
	}
	return n
}

// TestChangesGolden compares the number of factors that differ in a pair with the exact probabilities.
func TestChangesGolden(t *testing.T) {
	long.NotShort(t)
	const n = 100_000
	text := must.Read(t, "testdata/pairs/expected.json")
	var cases map[string]struct {
		Value    []float64
		Settings struct {
			Sizes []int
			K     int
		}
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) != 18 {
		t.Fatal(len(cases), err)
	}
	for _, name := range long.Sample(slices.Sorted(maps.Keys(cases)), 6) {
		c := cases[name]
		s := changed(func(s *Changes) { s.K = ChangedCount(max(c.Settings.K, 0)) })
		if strings.Contains(name, "different") {
			s.Law = "uniform"
		}
		counts := make([]int, len(c.Value))
		drawnPairs(t, s, ordinals(c.Settings.Sizes...), n, func(a, b, _ []int) { counts[differing(a, b)]++ })
		for k, p := range c.Value {
			wantShare(t, fmt.Sprintf("%s: %d differ", name, k), counts[k], n, min(p, 1))
		}
	}
}

// TestChangesRoles checks fixed factors, nuisance factors, and the levels that a factor gets.
func TestChangesRoles(t *testing.T) {
	const n = 40_000
	d := ordinals(4, 3, 5, 2)
	s := changed(func(s *Changes) { s.K, s.Nuisance, s.Fixed, s.Redraw = 1, []string{"f1"}, []string{"f3"}, "different" })
	first, nuisance, to := make([]int, 4), make([]int, 9), make([]int, 4)
	both := 0
	drawnPairs(t, s, d, n, func(a, b, _ []int) {
		first[a[0]]++
		nuisance[3*a[1]+b[1]]++
		if a[3] != b[3] || (a[0] != b[0]) == (a[2] != b[2]) {
			t.Fatalf("levels %v and %v", a, b)
		}
		if a[0] == 2 && b[0] != 2 {
			to[b[0]]++
			both++
		}
	})
	for l, c := range first {
		wantShare(t, fmt.Sprint("first image at level ", l), c, n, 0.25)
	}
	for l, c := range nuisance {
		wantShare(t, fmt.Sprint("nuisance levels ", l), c, n, 1./9)
	}
	for _, l := range []int{0, 1, 3} {
		wantShare(t, fmt.Sprint("second image at level ", l), to[l], both, 1./3)
	}
}

// TestChangesLaplace checks the distribution around every level, that categorical factors do not change, and that at
// least one factor changes.
func TestChangesLaplace(t *testing.T) {
	const n, rate = 60_000, 1.5
	d := datatest.ToyOf(factor.Factor{Name: "shape", Size: 3, Kind: factor.Categorical},
		factor.Factor{Name: "size", Size: 5, Kind: factor.Ordinal}, circle("angle", 4))
	prob := func(size, from, to int) float64 {
		sum, c := 0.0, rate/math.Log(float64(size))
		for v := range size {
			sum += math.Exp(-math.Abs(float64(v-from)) * c)
		}
		return math.Exp(-math.Abs(float64(to-from))*c) / sum
	}
	from, moved := make([]int, 20), map[[4]int]int{}
	drawnPairs(t, changed(func(s *Changes) { s.Law, s.Rate = "laplace", rate }), d, n, func(a, b, _ []int) {
		if a[0] != b[0] || a[1] == b[1] && a[2] == b[2] {
			t.Fatalf("levels %v and %v", a, b)
		}
		from[4*a[1]+a[2]]++
		moved[[4]int{a[1], a[2], b[1], b[2]}]++
	})
	for _, c := range [][4]int{{0, 0, 1, 0}, {2, 1, 2, 3}, {4, 3, 0, 0}, {3, 2, 2, 2}, {1, 0, 1, 1}} {
		p, q := func(to int) float64 { return prob(5, c[0], to) }, func(to int) float64 { return prob(4, c[1], to) }
		want := p(c[2]) * q(c[3])
		still := p(c[0]) * q(c[1])
		if c[3] == c[1] { // one of two factors must change
			want += still / 2 * p(c[2]) / (1 - p(c[0]))
		}
		if c[2] == c[0] {
			want += still / 2 * q(c[3]) / (1 - q(c[1]))
		}
		wantShare(t, fmt.Sprint("moves ", c), moved[c], from[4*c[0]+c[1]], want)
	}
}

// A nuisance factor has any level, also with the law laplace and without a full grid.
func TestChangesLaplaceNuisance(t *testing.T) {
	full := ordinals(5, 3)
	gaps := sparse(t, factor.Grid{{Name: "f0", Size: 1 << 12, Kind: factor.Ordinal},
		{Name: "f1", Size: 3, Kind: factor.Ordinal}, {Name: "f2", Size: 1 << 12, Kind: factor.Ordinal}},
		[]int{0, 0, 0}, []int{0, 1, 0}, []int{0, 2, 0}, []int{1, 0, 0}, []int{1, 1, 0}, []int{1, 2, 0})
	for name, d := range map[string]datasets.Dataset{"full": full, "gaps": gaps} {
		n, counts := 20_000, make([]int, 9)
		if name == "gaps" { // it draws from many levels
			n = 1000
		}
		drawnPairs(t, changed(func(s *Changes) { s.Law, s.Rate, s.Nuisance = "laplace", 30, []string{"f1"} }), d, n, func(a, b, _ []int) {
			counts[3*a[1]+b[1]]++
			if a[0] == b[0] {
				t.Fatalf("%s: levels %v and %v", name, a, b)
			}
		})
		for l, c := range counts {
			wantShare(t, fmt.Sprint(name, ": nuisance levels ", l), c, n, 1./9)
		}
	}
}

// TestChangesIndependent checks the passes of independent pairs.
func TestChangesIndependent(t *testing.T) {
	s := datatest.Split(t, changed(func(s *Changes) { s.Law = "independent" }), ordinals(3, 5))
	if s.M != 2 || s.Drawn.Count != 7 || len(s.Drawn.Pass) != 15 || s.Unlabelled != nil {
		t.Errorf("%+v", s.Drawn)
	}
	s = datatest.Split(t, changed(func(s *Changes) { s.Law, s.Count, s.Unlabelled = "independent", 5, true }), ordinals(3, 5))
	if s.Drawn.Count != 5 || len(s.Unlabelled) != 15 {
		t.Errorf("%d pairs, %d unlabelled images", s.Drawn.Count, len(s.Unlabelled))
	}
}

// sparse returns a data set with given levels.
func sparse(t *testing.T, grid factor.Grid, levels ...[]int) datasets.Dataset {
	t.Helper()
	return must.Get(datasets.FromPixels("sparse", make([]uint8, len(levels)), 1, 1, 1, grid, levels))(t)
}

// TestChangesSparse checks data with missing combinations of levels, several images with equal levels, and images with
// unknown levels. The second image is uniform among the images that agree in all other factors.
func TestChangesSparse(t *testing.T) {
	const n = 30_000
	names := factor.Grid{{Name: "x", Size: 50, Kind: factor.Ordinal}, {Name: "y", Size: 50, Kind: factor.Ordinal},
		{Name: "z", Size: 3, Kind: factor.Ordinal}}
	levels := [][]int{{0, 7, 1}, {10, 7, 1}, {20, 7, 1}, {20, 7, 1}, {49, 7, 2}, {30, 8, 1}, {30, 9, 1}, {30, 7, 1}, {30, 7, datasets.Unknown}}
	d := sparse(t, names, levels...)
	counts, firsts := map[[2]int]int{}, map[int]int{}
	drawnPairs(t, changed(func(s *Changes) { s.K, s.HalfSingle, s.Fixed = 1, false, []string{"z"} }), d, n, func(_, _ []int, pair []int) {
		counts[[2]int(pair)]++
		firsts[pair[0]]++
	})
	for i := range 8 {
		wantShare(t, fmt.Sprint("first image ", i), firsts[i], n, 1./8)
	}
	// x changes in half of the pairs, and y in the other half
	for second, want := range map[int]float64{0: 0.6, 1: 0.1, 2: 0.1, 3: 0.1, 7: 0.1} {
		wantShare(t, fmt.Sprint("0 with ", second), counts[[2]int{0, second}], firsts[0], want)
	}
	wantShare(t, "3 with 2", counts[[2]int{3, 2}], firsts[3], 0.5/5+0.5/2)
	wantShare(t, "7 with 6", counts[[2]int{7, 6}], firsts[7], 0.5/3)
	if counts[[2]int{4, 4}] != firsts[4] || firsts[8] > 0 {
		t.Errorf("image 4 alone has %d of %d, image 8 of unknown levels %d pairs", counts[[2]int{4, 4}], firsts[4], firsts[8])
	}
	drawnPairs(t, changed(func(s *Changes) { s.Law, s.K, s.Nuisance = "uniform", 1, []string{"z"} }), d, 3000, func(a, b []int, pair []int) {
		if (a[0] == b[0]) == (a[1] == b[1]) {
			t.Fatalf("pair %v", pair)
		}
	})
}

// TestChangesHoles checks a grid with missing combinations. It draws levels until an image has them.
func TestChangesHoles(t *testing.T) {
	const n = 30_000
	var levels [][]int
	for x := range 4 {
		for y := range 4 {
			if x != y {
				levels = append(levels, []int{x, y})
			}
		}
	}
	d := sparse(t, factor.Grid{{Name: "x", Size: 4, Kind: factor.Ordinal}, {Name: "y", Size: 4, Kind: factor.Ordinal}}, levels...)
	same, moved := 0, 0
	drawnPairs(t, changed(nil), d, n, func(a, b []int, _ []int) {
		if a[0] == b[0] && a[1] == b[1] {
			same++
		} else {
			moved++
		}
	})
	wantShare(t, "the same image", same, n, 1./3)
	law := changed(func(s *Changes) { s.Law, s.Rate = "laplace", 0.3 })
	d = sparse(t, d.Factors(), []int{0, 0}, []int{0, 1}, []int{1, 0}, []int{1, 1}, []int{3, 3}) // the last has few neighbours
	firsts := make([]int, d.Len())
	drawnPairs(t, law, d, n, func(a, b []int, pair []int) {
		if firsts[pair[0]]++; differing(a, b) == 0 {
			t.Fatal("nothing has changed")
		}
	})
	for i, count := range firsts {
		wantShare(t, fmt.Sprint("laplace, first image ", i), count, n, 1/float64(d.Len()))
	}
}

func TestChangesMistakes(t *testing.T) {
	grid := factor.Grid{{Name: "x", Size: 20, Kind: factor.Ordinal}, {Name: "y", Size: 20, Kind: factor.Ordinal}}
	var diagonal [][]int
	for l := range 20 {
		diagonal = append(diagonal, []int{l, l})
	}
	lonely, square := sparse(t, grid, diagonal...), ordinals(4, 4)
	nowhere := sparse(t, grid, []int{datasets.Unknown, 3}, []int{5, datasets.Unknown})
	for want, c := range map[string]struct {
		d      datasets.Dataset
		change func(*Changes)
	}{
		`unknown law "lap"`:                   {square, func(s *Changes) { s.Law = "lap" }},
		`unknown values "none"`:               {square, func(s *Changes) { s.Redraw = "none" }},
		"rate: 0 is out of range":             {square, func(s *Changes) { s.Rate = 0 }},
		"count: -1 is out of range":           {square, func(s *Changes) { s.Count = -1 }},
		"k: the law laplace has no number":    {square, func(s *Changes) { s.Law, s.K = "laplace", 2 }},
		"want random, or 1 to 2":              {square, func(s *Changes) { s.K = 3 }},
		"law: independent pairs have no":      {square, func(s *Changes) { s.Law, s.Fixed = "independent", []string{"f0"} }},
		"file: the pairs come from a file":    {square, func(s *Changes) { s.File, s.K = "x.csv", 1 }},
		"count: 9 is too many":                {square, func(s *Changes) { s.Law, s.Count = "independent", 9 }},
		`fixed[0]: dataset toy has no factor`: {square, func(s *Changes) { s.Fixed = []string{"size"} }},
		`fixed[0]: factor "f0" is named`:      {square, func(s *Changes) { s.Fixed, s.Nuisance = []string{"f0"}, []string{"f0"} }},
		"no factor that may change":           {square, func(s *Changes) { s.Fixed = []string{"f0", "f1"} }},
		"no image has known levels":           {nowhere, nil},
		"has only the image itself":           {lonely, func(s *Changes) { s.K = 1 }},
		"has second images for 0 of 200":      {lonely, func(s *Changes) { s.K, s.Redraw = 1, "different" }},
		"gives no pair; want two images":      {ordinals(1), func(s *Changes) { s.Law = "independent" }},
	} {
		must.ErrorOf(changed(c.change).Split(c.d, rng.New(1, "")))(t, want)
	}
}

func TestChangesConfig(t *testing.T) {
	for text, want := range map[string]string{
		"{changes: {k: 2}}":                "2",
		"{changes: {k: random}}":           "random",
		"changes":                          "random",
		"{changes: {k: 0}}":                "want random, or a number",
		"{changes: {k: many}}":             "want random, or a number",
		"{pairs: {k: 1}}":                  "pairs with few changed factors are supervision: {changes: {k: 1}}",
		"{pairs: {count: 3, redraw: any}}": "pairs with few changed factors are supervision: {changes: {k: 1}}",
	} {
		s, err := configtest.Decode("supervision: " + text)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		k := s.Supervision[0].Value.(*Changes).K
		if out, err := k.EncodeConfig(); k.String() != want || fmt.Sprint(out) != want || err != nil {
			t.Errorf("%s: k is %v, written %v", text, k, out)
		}
	}
}
