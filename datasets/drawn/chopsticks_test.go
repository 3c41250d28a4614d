package drawn_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	. "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

func readArray[T npy.Element](t *testing.T, path string) []T {
	t.Helper()
	a := must.Get(npy.ReadFile[T](path))(t)
	return a.Data
}

func hierarchical(t testing.TB, b datasets.Builder) datasets.Hierarchical {
	t.Helper()
	return datatest.Build(t, b).(datasets.Hierarchical)
}

// pathsOfAll lists the paths in a data set.
func pathsOfAll(d datasets.Hierarchical) [][]int {
	_, choices := datasets.PathsOf(d, numeric.UpTo(d.Len()))
	return choices
}

var nan = math.NaN()

// golden is the output of the paper's code for a variant of depth 2.
type golden struct {
	Patterns    [][]int             `json:"patterns"`
	Frequencies []float64           `json:"frequencies"`
	Mean        []float64           `json:"mean"`
	Std         []float64           `json:"std"`
	Hierarchy   hierarchy.Hierarchy `json:"hierarchy"`

	FrequenciesTolerance float64 `json:"frequencies_tolerance"`
	MeanTolerance        float64 `json:"mean_tolerance"`
	StdTolerance         float64 `json:"std_tolerance"`
}

func goldenChopsticks(t *testing.T) map[string]golden {
	t.Helper()
	var all map[string]golden
	must.ReadJSON(t, "testdata/chopsticks/expected.json", &all)
	if len(all) != 4 {
		t.Fatalf("%d variants", len(all))
	}
	return all
}

func TestChopsticksGoldenRows(t *testing.T) {
	for variant := range goldenChopsticks(t) {
		dir := "testdata/chopsticks/" + variant + "/"
		a, z, rows := readArray[int](t, dir+"a.npy"), readArray[float64](t, dir+"factors.npy"), readArray[float64](t, dir+"codes.npy")
		if len(a) != 60 || len(rows) != 30*64 {
			t.Fatalf("%s: %d choices, %d numbers", variant, len(a), len(rows))
		}
		for i := range 30 {
			var sticks [][2]float64
			for l, what := range a[2*i : 2*i+2] {
				stick := [2]float64{nan, nan}
				switch {
				case what == 0:
					continue
				case variant == "both":
					stick = [2]float64{z[4*i+2*l], z[4*i+2*l+1]}
				case variant == "inter" || variant == "either" && what == 1:
					stick[0] = z[2*i+l]
				default:
					stick[1] = z[2*i+l]
				}
				sticks = append(sticks, stick)
			}
			for at, v := range ChopsticksLine("none", sticks...) {
				if want := rows[64*i+at]; !(math.Abs(v-want) <= 1e-12) {
					t.Fatalf("%s: row %d at %d is %v, want %v", variant, i, at, v, want)
				}
			}
		}
	}
}

// The statistics of 20,000 rows agree with the paper's code within random variation.
func TestChopsticksGoldenStatistics(t *testing.T) {
	for variant, want := range goldenChopsticks(t) {
		d := hierarchical(t, &Chopsticks{Variant: variant, Depth: 2, Samples: 20000, Overwrite: "none"})
		if !d.Hierarchy().Equal(want.Hierarchy) {
			t.Errorf("%s: hierarchy\n%vwant\n%v", variant, d.Hierarchy(), want.Hierarchy)
		}
		var sum, square [64]float64
		counts := map[string]float64{}
		row, choice := make([]float32, 64), make([]int, len(d.Hierarchy().Categoricals()))
		for i := range d.Len() {
			d.Image(i, row)
			for at, v := range row {
				sum[at] += float64(v) / 20000
				square[at] += float64(v) * float64(v) / 20000
			}
			d.Choices(i, choice)
			pattern := []int{1, choice[0]} // by stick, like the reference's rows
			if variant == "either" {
				pattern = []int{1 + choice[0], choice[1+choice[0]]}
			}
			counts[fmt.Sprint(pattern)] += 1.0 / 20000
		}
		for at := range row {
			std := math.Sqrt(square[at] - sum[at]*sum[at])
			if !(math.Abs(sum[at]-want.Mean[at]) <= want.MeanTolerance) || !(math.Abs(std-want.Std[at]) <= want.StdTolerance) {
				t.Errorf("%s: at %d mean %v and deviation %v, want %v and %v", variant, at, sum[at], std, want.Mean[at], want.Std[at])
			}
		}
		for p, pattern := range want.Patterns {
			if got := counts[fmt.Sprint(pattern)]; !(math.Abs(got-want.Frequencies[p]) <= want.FrequenciesTolerance) {
				t.Errorf("%s: frequency of %v is %v, want %v", variant, pattern, got, want.Frequencies[p])
			}
		}
		must.Equal(t, len(counts), len(want.Patterns), variant, "patterns", counts, want.Patterns)
	}
}

// The dimensions of a row determine its values, and the dimensions follow the hierarchy.
func TestChopsticksRowsFollowTheirDimensions(t *testing.T) {
	for _, variant := range []string{"slope", "inter", "both", "either"} {
		for depth := 1; depth <= 6; depth++ {
			d := hierarchical(t, &Chopsticks{Variant: variant, Depth: depth, Samples: 700, MinOffset: 0.25, Overwrite: "none"})
			factors, tree := d.Factors(), d.Hierarchy()
			cats := tree.Categoricals()
			choice, values, mask := make([]int, len(cats)), make([]float64, tree.Continuous()), make([]bool, tree.Continuous())
			if len(factors) != len(cats)+len(values) {
				t.Fatalf("%s, depth %d: %d factors of %v", variant, depth, len(factors), tree)
			}
			row := make([]float32, 64)
			for i := range d.Len() {
				d.Choices(i, choice)
				d.Values(i, values)
				d.Image(i, row)
				tree.Masks(choice, mask)
				var sticks [][2]float64
				for j, on := range mask {
					if (values[j] != 0) != on {
						t.Fatalf("%s, depth %d, row %d: value %v, active %v", variant, depth, i, values[j], on)
					}
					if !on {
						continue
					}
					name := factors[len(cats)+j].Name
					name = name[strings.LastIndex(name, "-")+1:] // "slope2"
					kind, level, bound := 0, int(name[5]-'1'), 0.2
					if name[:5] == "slope" {
						kind, bound = 1, 0.01
					}
					if v := math.Abs(values[j]); !(v >= bound/4 && v <= bound) {
						t.Fatalf("%s %v", name, values[j])
					}
					for len(sticks) <= level {
						sticks = append(sticks, [2]float64{nan, nan})
					}
					sticks[level][kind] = values[j]
				}
				for at, v := range ChopsticksLine("none", sticks...) {
					if float32(v) != row[at] {
						t.Fatalf("%s, depth %d, row %d at %d: %v, want %v", variant, depth, i, at, row[at], v)
					}
				}
			}
		}
	}
}

func TestChopsticksStopOftenEnough(t *testing.T) {
	d := hierarchical(t, &Chopsticks{Variant: "slope", Depth: 4, Samples: 50000, Overwrite: "none"})
	count, choice := make([]float64, 4), make([]int, 3)
	for i := range d.Len() {
		d.Choices(i, choice)
		sticks := 0
		for sticks < 3 && choice[sticks] == 1 {
			sticks++
		}
		if sticks < 2 && choice[2] != -1 {
			t.Fatalf("row %d: choices %v", i, choice)
		}
		count[sticks] += 1.0 / 50000
	}
	for sticks, want := range []float64{1.0 / 8, 7.0 / 8 / 4, 7.0 / 8 * 3 / 4 / 2, 7.0 / 8 * 3 / 4 / 2} {
		if !(math.Abs(count[sticks]-want) <= 0.008) {
			t.Errorf("%d further sticks: %v, want %v", sticks, count[sticks], want)
		}
	}
}

func TestChopsticksOverwrite(t *testing.T) {
	one, two := [2]float64{0.1, 0.01}, [2]float64{-0.05, 0.002}
	for overwrite, want := range map[string][2]float64{ // at times 32 and 42
		"none":  {0.1 + 0.32 - 0.05, 0.1 + 0.32 - 0.05 + 0.12},
		"slope": {0.1 + 0.32 - 0.05, 0.1 + 0.32 - 0.05 + 0.02},
		"inter": {-0.05, -0.05 + 0.12},
		"both":  {-0.05, -0.05 + 0.02},
	} {
		got := ChopsticksLine(overwrite, one, two)
		if !(math.Abs(got[32]-want[0]) <= 1e-12) || !(math.Abs(got[42]-want[1]) <= 1e-12) || !(math.Abs(got[31]-0.41) <= 1e-12) {
			t.Errorf("overwrite %s: %v and %v, want %v", overwrite, got[32], got[42], want)
		}
	}
	if got := ChopsticksLine("both", one, [2]float64{nan, 0.002}); !(math.Abs(got[32]-0.42) <= 1e-12) {
		t.Errorf("a stick without an intercept moves the line to %v", got[32])
	}
}

func TestChopsticksNoise(t *testing.T) {
	plain := datatest.Build(t, &Chopsticks{Variant: "slope", Depth: 1, Samples: 400, Overwrite: "none"})
	noisy := hierarchical(t, &Chopsticks{Variant: "slope", Depth: 1, Samples: 400, Noise: 0.5, Overwrite: "none"})
	a, value := make([]float32, 64), make([]float64, 1)
	var sum, square float64
	for i := range noisy.Len() {
		noisy.Image(i, a)
		noisy.Values(i, value)
		for at, v := range a {
			e := float64(v) - value[0]*float64(at)
			sum, square = sum+e/(400*64), square+e*e/(400*64)
		}
	}
	if !(math.Abs(sum) <= 0.01) || !(math.Abs(math.Sqrt(square)-0.5) <= 0.01) {
		t.Errorf("noise of mean %v and deviation %v", sum, math.Sqrt(square))
	}
	must.Equal(t, plain.Len(), 400)
}

// Data depend on the seed, but not on the number of threads.
func TestHierarchicalSetsAreDeterministic(t *testing.T) {
	long.NotShort(t)
	for _, b := range []datasets.Builder{
		&Chopsticks{Variant: "either", Depth: 3, Samples: 1777, Noise: 0.1, Overwrite: "none"},
		&Spaceshapes{Samples: 1230},
	} {
		image := func(seed uint64, threads int) []float32 {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
			d := must.Get(b.Build(seed))(t)
			h, w, c := d.ImageShape()
			all := make([]float32, d.Len()*h*w*c)
			for i := range d.Len() {
				d.Image(i, all[i*h*w*c:(i+1)*h*w*c])
			}
			return all
		}
		first := image(3, 1)
		if !slices.Equal(first, image(3, 4)) || slices.Equal(first, image(4, 4)) {
			t.Errorf("%T: the images do not depend on the seed alone", b)
		}
	}
}

func TestHierarchicalSettings(t *testing.T) {
	good := Chopsticks{Variant: "either", Depth: 2, Samples: 10, Overwrite: "none"}
	for _, test := range []struct {
		change func(c *Chopsticks)
		want   string
	}{
		{func(c *Chopsticks) { c.Variant = "slpe" }, `did you mean "slope"?`},
		{func(c *Chopsticks) { c.Depth = 7 }, "depth: 7 is out of range; want 1 to 6"},
		{func(c *Chopsticks) { c.Depth = 0 }, "depth: 0"},
		{func(c *Chopsticks) { c.Samples = 0 }, "samples: 0"},
		{func(c *Chopsticks) { c.Noise = nan }, "noise: NaN"},
		{func(c *Chopsticks) { c.MinOffset = 1 }, "min_offset: 1"},
		{func(c *Chopsticks) { c.Overwrite = "" }, "overwrite:"},
		{func(c *Chopsticks) { c.Variant, c.Overwrite = "slope", "inter" }, `"inter" does not fit variant "slope"`},
		{func(c *Chopsticks) { c.Variant, c.Overwrite = "inter", "both" }, `want none or inter`},
	} {
		bad := good
		test.change(&bad)
		must.ErrorOf(bad.Build(0))(t, test.want, bad)
	}
	must.ErrorOf((&Spaceshapes{}).Build(0))(t, "samples: 0")
}

func ExampleChopsticks() {
	d, err := (&Chopsticks{Variant: "both", Depth: 2, Samples: 1000, Overwrite: "none"}).Build(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	h := d.(datasets.Hierarchical)
	choice, values := make([]int, 1), make([]float64, 4)
	h.Choices(7, choice)
	h.Values(7, values)
	fmt.Print(h.Hierarchy())
	fmt.Printf("%v %.4f\n", choice, values)
	// Output:
	// z0
	// z1
	// a0
	// ├─ 1: nothing more
	// └─ 2
	//    ├─ z2
	//    └─ z3
	// [0] [-0.1388 0.0082 0.0000 0.0000]
}

func BenchmarkChopsticks(b *testing.B) {
	for b.Loop() {
		must.Get((&Chopsticks{Variant: "either", Depth: 3, Samples: 100000, Overwrite: "none"}).Build(0))(b)
	}
}
