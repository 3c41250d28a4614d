package hierarchy

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// shapes is the hierarchy of Spaceshapes.
var shapes = Hierarchy{c, c, options(Hierarchy{c}, Hierarchy{c}, Hierarchy{c, options(none, Hierarchy{c})})}

func Example() {
	h, err := Parse([]byte(`[{"type": "continuous"},
		{"type": "categorical", "options": [[], [{"type": "continuous"}, {"type": "continuous"}]]}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(h)
	fmt.Println(h.Names(), "options", h.Categoricals())
	fmt.Println("distance from three dimensions:", Distance(h, make(Hierarchy, 3)))
	// Output:
	// z0
	// a0
	// ├─ 1: nothing more
	// └─ 2
	//    ├─ z1
	//    └─ z2
	// [a0 z0 z1 z2] options [2]
	// distance from three dimensions: 2
}

func TestCounts(t *testing.T) {
	for _, test := range []struct {
		h                      Hierarchy
		continuous, dimensions int
		categoricals           []int
	}{
		{none, 0, 0, nil},
		{Hierarchy{c, c}, 2, 2, nil},
		{shapes, 6, 8, []int{3, 2}},
		{Hierarchy{options(none), c, options(none, Hierarchy{options(none, none, none)})}, 1, 4, []int{1, 2, 3}},
	} {
		h := test.h
		if h.Continuous() != test.continuous || h.Dimensions() != test.dimensions || !slices.Equal(h.Categoricals(), test.categoricals) {
			t.Errorf("%d continuous of %d dimensions, options %v, of\n%v", h.Continuous(), h.Dimensions(), h.Categoricals(), h)
		}
		if len(h.Names()) != test.dimensions {
			t.Errorf("names %v", h.Names())
		}
	}
	if c.Categorical() || !options(none).Categorical() {
		t.Error("what is categorical?")
	}
}

func TestLayouts(t *testing.T) {
	values := []float64{10, 11, 12, 13, 14, 15}
	for _, test := range []struct {
		choice []int
		mask   string // of continuous dimensions
		row    []float64
	}{
		{[]int{0, -1}, "111000", []float64{1, 0, 10, 11, 12, 0, 0, 0}},
		{[]int{1, 1}, "110100", []float64{2, 0, 10, 11, 0, 13, 0, 0}},
		{[]int{2, 0}, "110010", []float64{3, 1, 10, 11, 0, 0, 14, 0}},
		{[]int{2, 1}, "110011", []float64{3, 2, 10, 11, 0, 0, 14, 15}},
		{[]int{-1, 1}, "110000", []float64{0, 0, 10, 11, 0, 0, 0, 0}},
	} {
		mask := make([]bool, 6)
		shapes.Masks(test.choice, mask)
		got := ""
		for _, on := range mask {
			got += map[bool]string{true: "1", false: "0"}[on]
		}
		must.Equal(t, got, test.mask, "mask of", test.choice)
		row := slices.Repeat([]float64{7}, 8)
		if err := shapes.Row(test.choice, values, row); err != nil || !slices.Equal(row, test.row) {
			t.Errorf("row of %v is %v, want %v; %v", test.choice, row, test.row, err)
		}
	}
	for want, err := range map[string]error{
		"1 choices and 6 values; want 2 and 6":              shapes.Row([]int{1}, values, make([]float64, 8)),
		"2 choices and 5 values; want 2 and 6":              shapes.Row([]int{1, 0}, values[1:], make([]float64, 8)),
		"a row of 7 numbers; want 8":                        shapes.Row([]int{1, 0}, values, make([]float64, 7)),
		"option 3 of categorical dimension 0; want 0 to 2":  shapes.Row([]int{3, 0}, values, make([]float64, 8)),
		"option -2 of categorical dimension 1; want 0 to 1": shapes.Row([]int{0, -2}, values, make([]float64, 8)),
	} {
		must.Error(t, err, want)
	}
}

// For random choices, a dimension is active exactly if all its enclosing options are chosen.
func TestMasksRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		h := randomHierarchy(r, 5, 4)
		var choice []int
		for _, n := range h.Categoricals() {
			choice = append(choice, r.IntN(n+1)-1)
		}
		mask := make([]bool, h.Continuous())
		h.Masks(choice, mask)
		a, z := 0, 0
		var check func(h Hierarchy, open []bool)
		check = func(h Hierarchy, open []bool) {
			for _, n := range h {
				if !n.Categorical() {
					if mask[z] != !slices.Contains(open, false) {
						t.Fatalf("choices %v, mask %v of\n%v", choice, mask, h)
					}
					z++
					continue
				}
				mine := choice[a]
				a++
				for o, option := range n.Options {
					check(option, append(slices.Clone(open), o == mine))
				}
			}
		}
		check(h, nil)
	}
}

func TestText(t *testing.T) {
	got := shapes.Text(Labels{Categorical: []string{"shape"}, Continuous: []string{"x", "y", "phase"}, Rows: [][]int{{5, 6}}})
	want := `x
y
shape
├─ 1 (5 rows)
│  └─ phase
├─ 2 (6 rows)
│  └─ z3
└─ 3
   ├─ z4
   └─ a1
      ├─ 1: nothing more
      └─ 2
         └─ z5
`
	must.Equal(t, got, want)
	must.Equal(t, none.String(), "no dimensions\n")
	must.Equal(t, (Hierarchy{options(none), options(Hierarchy{options(none), c})}).String(),
		"a0\n└─ 1: nothing more\na1\n└─ 1\n   ├─ a2\n   │  └─ 1: nothing more\n   └─ z0\n")
}

func TestEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		a, b := randomHierarchy(r, 3, 2), randomHierarchy(r, 3, 2)
		if got := a.Equal(b); got != (a.String() == b.String()) || !a.Equal(a) {
			t.Errorf("%v of\n%v\n%v", got, a, b)
		}
	}
	if (Hierarchy{c}).Equal(Hierarchy{options(none)}) || none.Equal(Hierarchy{c}) || !none.Equal(nil) {
		t.Error("unequal ones are equal")
	}
}

func TestValidate(t *testing.T) {
	deep := Hierarchy{c}
	for range maxDepth - 1 {
		deep = Hierarchy{options(none, deep)}
	}
	for _, test := range []struct {
		h    Hierarchy
		want string
	}{
		{shapes, ""},
		{deep, ""},
		{Hierarchy{options(deep)}, "groups are nested more than 64 deep"},
		{Hierarchy{c, options(none, Hierarchy{{Options: []Hierarchy{}}})}, "$[1].options[1][0]: a categorical dimension has no options"},
		{make(Hierarchy, maxNodes), ""},
		{make(Hierarchy, maxNodes+1), "$[4096]: there are more than 4096"},
		{Hierarchy{c, options(make([]Hierarchy, maxNodes)...)}, "$[1]: there are more than 4096"},
	} {
		err := test.h.Validate()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
		text, jsonErr := test.h.MarshalJSON()
		must.Equal(t, jsonErr == nil, test.want == "", "JSON", jsonErr)
		if jsonErr == nil {
			if back, err := Parse(text); err != nil || !back.Equal(test.h) {
				t.Errorf("read back: %v", err)
			}
		}
	}
	if !reflect.DeepEqual(options(none), Node{Options: []Hierarchy{{}}}) {
		t.Error("an option is empty")
	}
}
