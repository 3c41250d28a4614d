package hierarchy

import (
	"math"
	"testing"
)

// The paper's example: an eighth of the codes has eight dimensions, the others have one, and flat vectors take 256
// bits.
func TestDescriptionOfThePaper(t *testing.T) {
	h := Hierarchy{{Options: []Hierarchy{{{}}, make(Hierarchy, 8)}}}
	d := h.Describe(800, 9, FloatBits, func(code int, choice []int) bool {
		choice[0] = 0
		if code%8 == 0 {
			choice[0] = 1
		}
		return true
	})
	if d.PerCode() != 61 || d.FlatPerCode() != 256 || d.Options != 800 || d.Values != 32*1500 || d.Outside != 0 || d.Codes != 800 {
		t.Errorf("%+v: %v bits a code, %v flat, want 61 and 256", d, d.PerCode(), d.FlatPerCode())
	}
}

func TestDescriptions(t *testing.T) {
	c := Node{}
	nested := Hierarchy{c, {Options: []Hierarchy{{}, {c, {Options: []Hierarchy{{}, {c}, {c, c}}}}}}} // lengths 1, 2, 3, 4
	for _, test := range []struct {
		name                        string
		h                           Hierarchy
		codes                       [][]int // nil: no place in the hierarchy
		options, values, rest, flat float64
		tree                        float64
	}{
		{"flat", Hierarchy{c, c}, [][]int{{}, {}}, 0, 4, 0, 4, 3 * math.Log2(3)},
		{"none", nil, [][]int{{}}, 0, 0, 0, 0, math.Log2(3)},
		{"paths", nested, [][]int{{0, -1}, {1, 0}, {1, 1}, {1, 2}}, 4 + 3*math.Log2(3), 10, 0, 16, (3+1+3+1+2+3)*math.Log2(3) + 3 + 4},
		{"an inactive choice counts nothing", nested, [][]int{{0, 2}}, 1, 1, 0, 1, 13*math.Log2(3) + 7},
		{"outside", Hierarchy{c}, [][]int{{}, nil, nil}, 0, 1, 2*5 + 3, 15, 2 * math.Log2(3)},
		{"all outside", nested, [][]int{nil}, 0, 0, 5 + 1, 5, 13*math.Log2(3) + 7},
	} {
		d := test.h.Describe(len(test.codes), 5, 1, func(code int, choice []int) bool {
			copy(choice, test.codes[code])
			return test.codes[code] != nil
		})
		for _, part := range []struct {
			name      string
			got, want float64
		}{{"options", d.Options, test.options}, {"values", d.Values, test.values}, {"outside", d.Outside, test.rest},
			{"flat", d.Flat, test.flat}, {"tree", d.Tree, test.tree}} {
			if !(math.Abs(part.got-part.want) <= 1e-12) {
				t.Errorf("%s: %s takes %v bits, want %v", test.name, part.name, part.got, part.want)
			}
		}
	}
}
