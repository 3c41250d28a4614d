package mimosa

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// quick returns options for some thousand codes.
func quick() Options {
	o := Defaults()
	o.Neighbors, o.MinInitial, o.MinMerged = 30, 15, 200
	return o
}

func learn(t testing.TB, codes []float64, d int, o Options) *Result {
	t.Helper()
	return must.Get(Run(context.Background(), codes, d, o, nil))(t)
}

// cloud draws n points uniformly from a box with a centre and half widths.
func cloud(s *rng.Stream, n int, centre, half []float64) []float64 {
	var points []float64
	for range n {
		for c, v := range centre {
			points = append(points, v+half[c]*(2*s.Float64()-1))
		}
	}
	return points
}

func parse(t testing.TB, text string) hierarchy.Hierarchy {
	t.Helper()
	return must.Get(hierarchy.Parse([]byte(text)))(t)
}

const c = `{"type": "continuous"}`

func cat(options ...string) string {
	return `{"type": "categorical", "options": [` + strings.Join(options, ",") + `]}`
}

func TestKnownShapes(t *testing.T) {
	long.NotShort(t)
	s := rng.New(1, "shapes")
	zero := []float64{0, 0, 0}
	for _, test := range []struct {
		name  string
		codes []float64
		dims  []int
		want  string
		least float64 // minimum coverage
	}{
		{"a cluster", cloud(s, 1000, zero, []float64{1, 1, 1}), []int{3}, `[` + c + c + c + `]`, 0.99},
		{"a plane", cloud(s, 1000, zero, []float64{1, 1, 0}), []int{2}, `[` + c + c + `]`, 1},
		{"two separate planes", append(cloud(s, 900, zero, []float64{1, 1, 0}), cloud(s, 800, []float64{0, 0, 9}, []float64{1, 0, 1})...),
			[]int{2, 2}, `[` + cat(`[`+c+c+`]`, `[`+c+c+`]`) + `]`, 1},
		{"two planes that cross", append(cloud(s, 3000, zero, []float64{1, 1, 0}), cloud(s, 3000, zero, []float64{1, 0, 1})...),
			[]int{2, 2}, `[` + cat(`[`+c+c+`]`, `[`+c+c+`]`) + `]`, 0.9},
		{"a line across a plane", append(cloud(s, 3000, zero, []float64{1, 1, 0}), cloud(s, 600, zero, []float64{0, 0, 1})...),
			[]int{1, 2}, `[` + cat(`[`+c+`]`, `[`+c+c+`]`) + `]`, 0.95},
		{"a line within a plane", append(cloud(s, 3000, zero, []float64{1, 1, 0}), cloud(s, 900, zero, []float64{1, 0, 0})...),
			[]int{1, 2}, `[` + c + `,` + cat(`[]`, `[`+c+`]`) + `]`, 0.9},
		{"a plane and a line in a box", slices.Concat(cloud(s, 9000, zero, []float64{1, 1, 1}), cloud(s, 3000, zero, []float64{1, 1, 0}), cloud(s, 1500, zero, []float64{1, 0, 0})),
			[]int{1, 2, 3}, `[` + c + `,` + cat(`[]`, `[`+c+`,`+cat(`[]`, `[`+c+`]`)+`]`) + `]`, 0.8},
	} {
		o := quick()
		o.MinMerged = 0.05
		if test.name == "two planes that cross" { // near the crossing, codes look three-dimensional
			o.MinMerged = 1000
		}
		r := learn(t, test.codes, 3, o)
		var dims []int
		size := 0
		for i, component := range r.Components {
			dims = append(dims, component.Dim)
			size += len(component.Points)
			if !slices.IsSorted(component.Points) {
				t.Errorf("%s: the codes of component %d are not in order", test.name, i)
			}
			for _, p := range component.Points {
				if r.Labels[p] != i {
					t.Fatalf("%s: code %d is labelled %d, and listed in %d", test.name, p, r.Labels[p], i)
				}
			}
		}
		if !slices.Equal(dims, test.dims) || !(r.Coverage >= test.least) ||
			!(math.Abs(r.Coverage-float64(3*size)/float64(len(test.codes))) <= 1e-12) {
			t.Errorf("%s: dimensions %v, coverage %v", test.name, dims, r.Coverage)
		}
		want := parse(t, strings.ReplaceAll(test.want, "}{", "},{"))
		must.Equal(t, hierarchy.Distance(r.Hierarchy, want), 0, test.name, r.Hierarchy, want)
		checkChoices(t, r)
	}
}

// checkChoices checks that each code has as many active dimensions as its component, and that codes without a
// component have none.
func checkChoices(t *testing.T, r *Result) {
	t.Helper()
	k := len(r.Hierarchy.Categoricals())
	mask := make([]bool, r.Hierarchy.Continuous())
	if len(r.Choices) != k*len(r.Labels) {
		t.Fatalf("%d choices of %d codes", len(r.Choices), len(r.Labels))
	}
	seen := map[string]int{}
	for i, label := range r.Labels {
		row := r.Choices[i*k : (i+1)*k]
		if label < 0 {
			if slices.ContainsFunc(row, func(o int) bool { return o != -1 }) {
				t.Fatalf("code %d is in no component, but chooses %v", i, row)
			}
			continue
		}
		r.Hierarchy.Masks(row, mask)
		active := 0
		for _, on := range mask {
			if on {
				active++
			}
		}
		if active != r.Components[label].Dim {
			t.Fatalf("code %d of component %d, dimension %d, has %d dimensions", i, label, r.Components[label].Dim, active)
		}
		if other, ok := seen[fmt.Sprint(row)]; ok && other != label {
			t.Fatalf("components %d and %d make the same choices", label, other)
		}
		seen[fmt.Sprint(row)] = label
	}
}

// Codes like an encoder's, from true data, give the paper's hierarchies, with purity and coverage near table 1.
func TestChopsticks(t *testing.T) {
	long.NotShort(t)
	type chopsticks struct {
		variant          string
		depth, n         int
		purity, coverage float64
	}
	for _, test := range long.Sample([]chopsticks{{"slope", 2, 9000, 0.99, 0.95}, {"both", 2, 20000, 0.99, 0.9},
		{"inter", 3, 20000, 0.95, 0.95}, {"inter", 2, 9000, 0.99, 0.95}}, 2) {
		set := drawn.Chopsticks{Variant: test.variant, Depth: test.depth}
		codes, d, path := curved(t, set, test.n)
		o := Defaults()
		o.MinMerged = float64(test.n / 45)
		r := learn(t, codes, d, o)
		set.Samples, set.Overwrite = 1, "none"
		one := must.Get(set.Build(0))(t)
		if got := hierarchy.Distance(r.Hierarchy, one.(datasets.Hierarchical).Hierarchy()); got != 0 {
			t.Errorf("%s %d: H-error %d\n%v", test.variant, test.depth, got, r.Hierarchy)
		}
		if p := purity(r, path); !(p >= test.purity && r.Coverage >= test.coverage) {
			t.Errorf("%s %d: purity %v, coverage %v", test.variant, test.depth, p, r.Coverage)
		}
		checkChoices(t, r)
	}
}

// purity returns the fraction of codes with the most frequent path of their component.
func purity(r *Result, path []int) float64 {
	right, all := 0, 0
	for _, component := range r.Components {
		count := map[int]int{}
		most := 0
		for _, i := range component.Points {
			count[path[i]]++
			most = max(most, count[path[i]])
		}
		right, all = right+most, all+len(component.Points)
	}
	return float64(right) / float64(all)
}

// Repeated codes and a constant column do not change the hierarchy.
func TestDegenerateCodes(t *testing.T) {
	s := rng.New(4, "degenerate")
	plane := cloud(s, 1500, []float64{0, 0, 5}, []float64{1, 1, 0})
	for name, codes := range map[string][]float64{
		"a constant column": plane,
		"every code twice":  append(slices.Clone(plane), plane...),
		"one code often":    append(slices.Clone(plane), slices.Repeat(plane[:3], 25)...),
	} {
		r := learn(t, codes, 3, quick())
		if len(r.Components) != 1 || r.Components[0].Dim != 2 || !r.Hierarchy.Equal(parse(t, `[`+c+`,`+c+`]`)) {
			t.Errorf("%s: %+v", name, r.Hierarchy)
		}
	}
	// a point with more copies than a neighbourhood has no direction, so it is not in the plane
	r := learn(t, append(slices.Clone(plane), slices.Repeat(plane[:3], 100)...), 3, quick())
	if len(r.Components) != 1 || r.Labels[1599] != -1 {
		t.Errorf("100 copies of a code: %d components, label %d", len(r.Components), r.Labels[1599])
	}
	// codes on a grid have equal distances
	var grid []float64
	for i := range 60 * 60 {
		grid = append(grid, float64(i%60), float64(i/60), 1)
	}
	if r := learn(t, grid, 3, quick()); len(r.Components) != 1 || r.Components[0].Dim != 2 || !(r.Coverage >= 0.95) {
		t.Errorf("a grid: %d components, coverage %v", len(r.Components), r.Coverage)
	}
}

func TestNothingIsLeft(t *testing.T) {
	o := quick()
	o.MinMerged = 10000
	r := learn(t, cloud(rng.New(5, "few"), 300, []float64{0, 0}, []float64{1, 1}), 2, o)
	if len(r.Components) != 0 || len(r.Hierarchy) != 0 || r.Coverage != 0 || len(r.Choices) != 0 || slices.Max(r.Labels) != -1 {
		t.Errorf("%+v", r)
	}
}

// One column gives only components of dimension 1.
func TestOneColumn(t *testing.T) {
	s := rng.New(6, "one")
	r := learn(t, append(cloud(s, 500, []float64{0}, []float64{1}), cloud(s, 500, []float64{100}, []float64{1})...), 1, quick())
	if len(r.Components) != 1 || r.Coverage != 1 {
		t.Errorf("%d components, coverage %v", len(r.Components), r.Coverage)
	}
}

func TestErrors(t *testing.T) {
	s := rng.New(7, "errors")
	good := cloud(s, 50, []float64{0, 0}, []float64{1, 1})
	with := func(at int, v float64) []float64 {
		bad := slices.Clone(good)
		bad[at] = v
		return bad
	}
	for _, test := range []struct {
		codes []float64
		d     int
		want  string
	}{
		{good[:58], 2, "29 codes; want at least 30, the number of neighbours"},
		{slices.Repeat([]float64{1, 2}, 100), 2, "all 100 codes are equal"},
		{with(7, math.NaN()), 2, "row 3, column 1 is NaN"},
		{with(6, math.Inf(-1)), 2, "row 3, column 0 is -Inf"},
		{with(6, 1e101), 2, "at most 1e+100"},
		{good, 3, "100 numbers are not rows of 3"},
		{good, 0, "100 numbers are not rows of 0"},
		{make([]float64, 30*40), 30, "neighbors: 30 are too few for codes of 30 columns"},
		{nil, 2, "0 codes"},
	} {
		must.ErrorOf(Run(context.Background(), test.codes, test.d, quick(), nil))(t, test.want)
	}
	nan := math.NaN()
	for want, change := range map[string]func(o *Options){
		"equalize: -0.1":         func(o *Options) { o.Equalize = -0.1 },
		"equalize: 1.1":          func(o *Options) { o.Equalize = 1.1 },
		"equalize: NaN":          func(o *Options) { o.Equalize = nan },
		"neighbors: 2":           func(o *Options) { o.Neighbors = 2 },
		"neighbors: 1001":        func(o *Options) { o.Neighbors = 1001 },
		"ransac_fraction: 0":     func(o *Options) { o.RansacFraction = 0 },
		"ransac_fraction: NaN":   func(o *Options) { o.RansacFraction = nan },
		"min_variance: 1.1":      func(o *Options) { o.MinVariance = 1.1 },
		"min_decay: 0.5":         func(o *Options) { o.MinDecay = 0.5 },
		"min_cosine: -1":         func(o *Options) { o.MinCosine = -1 },
		"contagion: 31":          func(o *Options) { o.Contagion = 31 },
		"contagion: 0":           func(o *Options) { o.Contagion = 0 },
		"min_initial: 0":         func(o *Options) { o.MinInitial = 0 },
		"min_merged: -5":         func(o *Options) { o.MinMerged = -5 },
		"min_merged: 0 is":       func(o *Options) { o.MinMerged = 0 },
		"min_merged: 1.5 codes":  func(o *Options) { o.MinMerged = 1.5 },
		"min_merged: NaN":        func(o *Options) { o.MinMerged = nan },
		"min_common_edges: 0":    func(o *Options) { o.MinCommonEdges = 0 },
		"max_lengths: NaN":       func(o *Options) { o.MaxLengths = nan },
		"min_common_edges: +Inf": func(o *Options) { o.MinCommonEdges = math.Inf(1) },
	} {
		o := quick()
		change(&o)
		must.ErrorOf(Run(context.Background(), good, 2, o, nil))(t, want)
	}
}

func TestLeastMerged(t *testing.T) {
	for _, test := range []struct {
		merged float64
		n      int
		want   int
	}{
		{Defaults().MinMerged, 100_000, 2000}, // appendix A.5: "2% of the dataset size, or 2000 points"
		{Defaults().MinMerged, 2700, 54},
		{Defaults().MinMerged, 10, 1},
		{0.0222, 90_000, 1998},
		{1, 90_000, 1},
		{2000, 90_000, 2000},
	} {
		o := Options{MinMerged: test.merged}
		must.Equal(t, o.LeastMerged(test.n), test.want, test.merged, test.n, "codes")
	}
}

// Results do not depend on the number of threads or on the unit of the codes.
func TestSameResults(t *testing.T) {
	long.NotShort(t)
	codes, d, _ := curved(t, drawn.Chopsticks{Variant: "inter", Depth: 2}, 6000)
	o := Defaults()
	first := learn(t, codes, d, o)
	if len(first.Components) != 2 {
		t.Fatalf("%d components", len(first.Components))
	}
	for _, threads := range []int{1, 2, 3, 16} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
			r := learn(t, codes, d, o)
			if !slices.Equal(r.Labels, first.Labels) || !slices.Equal(r.Choices, first.Choices) ||
				r.Components[1].Lengths != first.Components[1].Lengths {
				t.Errorf("%d threads change the result", threads)
			}
		}()
	}
	large := slices.Clone(codes)
	for i := range large {
		large[i] *= 1024
	}
	if r := learn(t, large, d, o); !slices.Equal(r.Labels, first.Labels) || r.Components[1].Lengths != first.Components[1].Lengths {
		t.Error("the unit of the codes changes the result")
	}
}

func TestStops(t *testing.T) {
	long.NotShort(t)
	codes, d, _ := curved(t, drawn.Chopsticks{Variant: "either", Depth: 2}, 6000)
	stages := map[string]bool{}
	learnAll := func(stop string) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		o := Defaults()
		o.MinMerged = 100
		_, err := Run(ctx, codes, d, o, func(stage string, done, total int) {
			if stages[stage] = true; stage == stop {
				cancel()
			}
			if done < 0 || done > total {
				t.Errorf("%s: %d of %d", stage, done, total)
			}
		})
		return err
	}
	must.OK(t, learnAll(""))
	must.Equal(t, len(stages), 6, "stages", stages)
	for stage := range stages {
		if err := learnAll(stage); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped at %s: error %v", stage, err)
		}
	}
}

func Example() {
	// A plane that contains a line.
	s := rng.New(1, "example")
	var codes []float64
	for i := range 3000 {
		x, y := s.Float64(), s.Float64()
		if i%4 == 0 {
			y = 0.5
		}
		codes = append(codes, x, y, x+y)
	}
	o := Defaults()
	o.MinMerged = 200
	r, err := Run(context.Background(), codes, 3, o, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(r.Hierarchy)
	fmt.Println(r.Choices[:4])
	// Output:
	// z0
	// a0
	// ├─ 1: nothing more
	// └─ 2
	//    └─ z1
	// [0 1 1 1]
}
