package supervision_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

func circle(name string, size int) factor.Factor {
	return factor.Factor{Name: name, Size: size, Kind: factor.Circular}
}

func object(size int) factor.Factor {
	return factor.Factor{Name: "object", Size: size, Kind: factor.Categorical}
}

// checkTransformations compares transformations with the levels of the images.
func checkTransformations(t *testing.T, d datasets.Dataset, s *Split) {
	t.Helper()
	factors := d.Factors()
	k := len(factors)
	first, levels := make([]int, k), make([]int, k)
	for g, group := range s.Groups {
		if len(group) != s.M || len(s.Transformations[g]) != s.M*k {
			t.Fatalf("group %d has %d images and %d angles", g, len(group), len(s.Transformations[g]))
		}
		d.FactorsAt(group[0], first)
		for m, i := range group {
			d.FactorsAt(i, levels)
			for j, f := range factors {
				angle := float64(s.Transformations[g][m*k+j])
				if f.Kind != factor.Circular {
					if angle != 0 || levels[j] != first[j] {
						t.Fatalf("group %d changes %s", g, f.Name)
					}
					continue
				}
				diff := angle - (f.Angle(levels[j]) - f.Angle(first[j]))
				if !(math.Abs(math.Remainder(diff, 2*math.Pi)) <= 1e-6) || !(angle >= 0 && angle < 2*math.Pi) || m == 0 && angle != 0 {
					t.Fatalf("group %d, image %d, factor %s: angle %v for levels %d to %d", g, m, f.Name, angle, first[j], levels[j])
				}
			}
		}
	}
}

// checkParts checks that every image is either labelled or unlabelled.
func checkParts(t *testing.T, d datasets.Dataset, s *Split) {
	t.Helper()
	seen := make([]int, d.Len())
	for _, g := range s.Groups {
		for _, i := range g {
			seen[i]++
		}
	}
	for _, i := range s.Unlabelled {
		seen[i]++
	}
	for i, n := range seen {
		if n != 1 {
			t.Fatalf("image %d is used %d times", i, n)
		}
	}
	if !slices.IsSorted(s.Unlabelled) {
		t.Error("unlabelled images are not in order")
	}
}

func TestPairs(t *testing.T) {
	d := datatest.ToyOf(circle("a", 64), circle("b", 64))
	for _, count := range []int{0, 1, 768, 2048} {
		s := datatest.Split(t, &Pairs{Count: count}, d)
		if len(s.Groups) != count || len(s.Unlabelled) != 4096-2*count || count > 0 && s.M != 2 {
			t.Errorf("%d pairs: %d groups, %d unlabelled", count, len(s.Groups), len(s.Unlabelled))
		}
		checkTransformations(t, d, s)
		checkParts(t, d, s)
	}
	a, b := datatest.Split(t, &Pairs{Count: 5}, d), datatest.Split(t, &Pairs{Count: 5}, d)
	must.Equal(t, fmt.Sprint(a), fmt.Sprint(b), "the same stream gives other pairs")
	odd := datatest.ToyOf(circle("a", 5), circle("b", 3))
	checkParts(t, odd, datatest.Split(t, &Pairs{Count: 7}, odd))

	// pairs of views of one object
	views := datatest.ToyOf(object(6), circle("view", 8))
	s := datatest.Split(t, &Pairs{Count: 24, Hold: []string{"object"}}, views)
	checkTransformations(t, views, s)
	checkParts(t, views, s)
}

func TestPaths(t *testing.T) {
	d := datatest.ToyOf(circle("a", 64), circle("b", 64), object(3))
	s := datatest.Split(t, &Paths{Count: 50, Length: 100, Step: 3}, d)
	if len(s.Groups) != 50 || s.M != 100 || s.Unlabelled != nil {
		t.Fatalf("%d groups of %d, %d unlabelled", len(s.Groups), s.M, len(s.Unlabelled))
	}
	checkTransformations(t, d, s)
	before, levels := make([]int, 3), make([]int, 3)
	directions := map[[2]int]int{}
	for _, path := range s.Groups {
		for m := 1; m < len(path); m++ {
			d.FactorsAt(path[m-1], before)
			d.FactorsAt(path[m], levels)
			moved := 0
			for k := range 3 {
				if step := (levels[k] - before[k] + 64) % 64; step == 3 || step == 61 {
					moved++
					directions[[2]int{k, step}]++
				} else if step != 0 {
					t.Fatalf("a step of %d levels", step)
				}
			}
			if moved != 1 {
				t.Fatalf("a step moves %d factors", moved)
			}
		}
	}
	must.Equal(t, len(directions), 4, "steps go", directions)
	for way, n := range directions { // 4950 steps in four directions
		if n < 1100 || n > 1380 {
			t.Errorf("%d steps go %v", n, way)
		}
	}
	few := datatest.ToyOf(circle("a", 16))
	s = datatest.Split(t, &Paths{Count: 1, Length: 3, Step: 1, Unlabelled: true}, few)
	if len(s.Unlabelled) < 13 {
		t.Errorf("unlabelled %v", s.Unlabelled)
	}
}

func TestViews(t *testing.T) {
	d := datatest.ToyOf(circle("view", 8), object(5), factor.Factor{Name: "light", Size: 2, Kind: factor.Ordinal})
	s := datatest.Split(t, &ObjectViews{}, d)
	if len(s.Groups) != 10 || s.M != 8 || s.Unlabelled != nil {
		t.Fatalf("%d groups of %d", len(s.Groups), s.M)
	}
	checkTransformations(t, d, s)
	checkParts(t, d, s)
	for m, want := range []float64{0, 1, 2, 3, 4, 5, 6, 7} {
		must.Equal(t, s.Transformations[3][3*m], float32(2*math.Pi*want/8), "view", m, "is at")
	}
	s = datatest.Split(t, &ObjectViews{Objects: 4}, d)
	if len(s.Groups) != 4 || len(s.Unlabelled) != 48 {
		t.Errorf("%d groups, %d unlabelled", len(s.Groups), len(s.Unlabelled))
	}
	checkParts(t, d, s)
	torus := datatest.ToyOf(circle("a", 4), circle("b", 6))
	s = datatest.Split(t, &ObjectViews{Factor: "b"}, torus)
	checkTransformations(t, torus, s)
	checkParts(t, torus, s)
}

func TestSupervisionErrors(t *testing.T) {
	torus, views := datatest.ToyOf(circle("a", 8), circle("b", 4)), datatest.ToyOf(object(6), circle("view", 8))
	objects, partial := datatest.ToyOf(object(6)), &datatest.Toy{Grid: factor.Grid{object(6), circle("view", 8)}, Missing: 1}
	tests := []struct {
		s    Kind
		d    datasets.Dataset
		want string
	}{
		{&Pairs{Count: -1}, torus, "count: -1 is negative"},
		{&Pairs{Count: 17}, torus, "17 pairs of distinct images cannot be drawn from the 32 images of dataset toy; want at most 16"},
		{&Pairs{Count: 3}, views, `factor "object" of dataset toy is categorical, and a transformation needs an angle`},
		{&Pairs{Count: 3, Hold: []string{"objekt"}}, views, `no factor "objekt"; did you mean "object"?`},
		{&Pairs{Count: 25, Hold: []string{"object"}}, views, "want at most 24"},
		{&Paths{Count: 0, Length: 2, Step: 1}, torus, "count: 0"},
		{&Paths{Count: 1, Length: 1, Step: 1}, torus, "length: 1"},
		{&Paths{Count: 1, Length: 5, Step: 0}, torus, "step: 0"},
		{&Paths{Count: math.MaxInt, Length: 2, Step: 1}, torus, "want at most 33554432 of this length"},
		{&Paths{Count: 1, Length: math.MaxInt, Step: 1}, torus, "are too many"},
		{&Paths{Count: 1, Length: 5, Step: 4}, torus, `step 4 is too long for factor "b" of dataset toy; want 1 to 3`},
		{&Paths{Count: 1, Length: 5, Step: 1}, objects, "no circular factor and no rotations"},
		{&Paths{Count: 50, Length: 50, Step: 1}, partial, "has no image with object 5, view 7"},
		{&ObjectViews{}, torus, "2 factors that turn; name one as factor: a, b"},
		{&ObjectViews{}, objects, "no circular factor"},
		{&ObjectViews{Factor: "object"}, views, `factor "object" of dataset toy is categorical`},
		{&ObjectViews{Factor: "c"}, torus, `no factor "c"`},
		{&ObjectViews{Objects: -1}, views, "objects: -1"},
		{&ObjectViews{Objects: 7}, views, "has 6 objects, not 7"},
		{&ObjectViews{}, &datatest.Toy{Grid: factor.Grid{circle("view", 8)}, Missing: 1}, "has 7 images; want all 8 views of every object"},
		{&ObjectViews{}, partial, "has no image with object 5, view 7; want all 8 views"},
	}
	for _, test := range tests {
		must.ErrorOf(test.s.Split(test.d, rng.New(0, "x")))(t, test.want, test.s)
	}
	if s, err := (Choices{}).Split(torus, 0); err != nil || len(s.Unlabelled) != 32 || s.K() != 0 {
		t.Errorf("no choice: %v, %v", s, err)
	}
}

func ExamplePairs() {
	d, _ := (&drawn.Square{Size: 8, Side: 2, Step: 1}).Build(0)
	s, err := (&Pairs{Count: 16}).Split(d, rng.New(1, "supervision"))
	fmt.Println(len(s.Groups), "pairs,", len(s.Unlabelled), "unlabelled images,", err)
	// Output: 16 pairs, 32 unlabelled images, <nil>
}

// bad is a supervision with a wrong split.
type bad struct{ split *Split }

func (b *bad) Split(datasets.Dataset, *rng.Stream) (*Split, error) { return b.split, nil }

// A mistake in another package's supervision is an error, not a panic during training.
func TestSplitsAreChecked(t *testing.T) {
	d := datatest.ToyOf(circle("a", 8))
	angles := [][]float32{{0, 1}}
	factors := []factor.Factor{{Name: "a", Size: 2, Kind: factor.Categorical}}
	for want, split := range map[string]*Split{
		"supervision own made no split":                                                  nil,
		"supervision own: there are 1 groups and transformations of 0":                   {M: 2, Groups: [][]int{{0, 1}}},
		"group 0 has image 8; want an image of dataset toy, 0 to 7":                      {M: 2, Groups: [][]int{{0, 8}}, Transformations: angles},
		"group 0 has 0 images; want 1":                                                   {M: 2, Groups: [][]int{{}}, Transformations: angles},
		"group 0 has 2 numbers as transformations; want 1 for each of its":               {M: 3, Groups: [][]int{{0, 1, 2}}, Transformations: angles},
		"Unlabelled has image 8 after -1; want images of dataset toy, 0 to 7, ascending": {Unlabelled: []int{8}},
		"Unlabelled has image 8 after 7; want images of dataset toy, 0 to 7":             {Unlabelled: []int{7, 8}},
		"Unlabelled has image 1 after 1; want images of dataset toy":                     {Unlabelled: []int{0, 1, 1}},
		"leaves nothing to train on":                                                     {},
		"Known.Images has image -1":                                                      {Unlabelled: []int{0}, Known: &Labels{Images: []int{-1}}},
		"pair 0 is {A:-1 B:3 Factor:0 Different:false}":                                  {Unlabelled: []int{0}, Known: &Labels{Factors: d.Factors(), Pairs: []SimilarPair{{A: -1, B: 3}}}},
		"pair 1 is {A:0 B:3 Factor:-1 Different:false}":                                  {Unlabelled: []int{0}, Known: &Labels{Factors: d.Factors(), Pairs: []SimilarPair{{A: 0, B: 3}, {A: 0, B: 3, Factor: -1}}}},
		"pair 0 is {A:0 B:3 Factor:9 Different:false}":                                   {Unlabelled: []int{0}, Known: &Labels{Factors: d.Factors(), Pairs: []SimilarPair{{A: 0, B: 3, Factor: 9}}}},
		"pair 0 is {A:0 B:9 Factor:0 Different:false}; want images from 0 to 7":          {Unlabelled: []int{0}, Known: &Labels{Pairs: []SimilarPair{{A: 0, B: 9}}}},
		"there are classes of 2 factors; want one list for each of the 0 factors":        {Unlabelled: []int{0}, Known: &Labels{Classes: make([][]int32, 2)}},
		"classes of factor \"a\" cover 1 images; want 8":                                 {Unlabelled: []int{0}, Known: &Labels{Factors: factors, Classes: [][]int32{{0}}}},
		"image 1 is in class -2 of factor \"a\"; want 0 to 16777213, or -1 for no class": {Unlabelled: []int{0}, Known: &Labels{Factors: factors, Classes: [][]int32{{0, -2, 0, 0, 0, 0, 0, 0}}}},
	} {
		must.ErrorOf(Of("own", &bad{split}).Split(d, 0))(t, want)
	}
}

// empty is a data set without images.
type empty struct{ *datatest.Toy }

func (empty) Len() int { return 0 }

// painted is a data set with images of white, or of unwritten pixels. The white grows with each image.
type painted struct {
	*datatest.Toy
	white, growth float32
}

func (p *painted) Image(_ int, dst []float32) {
	if p.white > 0 {
		dst[0], p.white = p.white, p.white+p.growth
	}
}

// lastWhite is a data set. Its last image is too white.
type lastWhite struct{ *datatest.Toy }

func (d lastWhite) Image(i int, dst []float32) { dst[0] = float32(2 * ((i + 1) / d.Len())) }

func TestDatasetsAreChecked(t *testing.T) {
	for want, d := range map[string]datasets.Dataset{
		"dataset toy has 0 images of 1 x 1 x 1":    empty{datatest.ToyOf(circle("a", 2))},
		"dataset toy has no factors":               datatest.ToyOf(),
		`dataset toy: two factors have the name`:   datatest.ToyOf(circle("a", 2), circle("a", 2)),
		"pixel 0 of image 0 is 255; want 0 to 1":   &painted{datatest.ToyOf(circle("a", 2)), 255, 0},
		"pixel 0 of image 2 is 2; want 0 to 1":     lastWhite{&datatest.Toy{Grid: factor.Grid{circle("a", 4)}, Missing: 1}},
		"pixel 0 of image 0 is 0.25, then 0.5; wa": &painted{datatest.ToyOf(circle("a", 2)), 0.25, 0.25},
		"pixel 0 of image 0 is unwritten, or NaN":  &painted{datatest.ToyOf(circle("a", 2)), 0, 0},
		"there is no data set; want Set of datase": nil,
	} {
		must.ErrorOf((catalog.Choice{Name: "own", Value: &datasets.Given{Set: d}}).Build(0))(t, want)
	}
}
