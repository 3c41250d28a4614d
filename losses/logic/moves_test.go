package logic

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic/internal/eval"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

func movingSchema() Schema {
	return Schema{Codes: 9, SubCodes: map[string][]int{"hue": {0, 1}, "row": {3, 2}, "pose": {4, 5, 6}, "size": {7}},
		Factors: []string{"hue", "size"}, Turns: []Turn{{Name: "hue"}, {Name: "row"}, {Name: "pose", Space: true}}}
}

// moving is testdata/moves.json: a batch with sentences, values and gradients.
type moving struct {
	Z, Y, Labels [][]float64
	Groups       []int
	Moves        [][]*float64
	Sentences    []struct {
		Text     string
		Value    float64
		Gradient [][]float64
	}
}

func readMoving(t *testing.T) (moving, Batch) {
	t.Helper()
	var m moving
	must.ReadJSON(t, "testdata/moves.json", &m)
	b := Batch{Codes: m.Z, Values: m.Y, Labels: m.Labels, Groups: m.Groups}
	for _, row := range m.Moves {
		var numbers []float64
		for _, x := range row {
			if x == nil {
				numbers = append(numbers, math.NaN())
			} else {
				numbers = append(numbers, *x)
			}
		}
		b.Moves = append(b.Moves, numbers)
	}
	return m, b
}

// TestMoves compares values and gradients with another program's results.
func TestMoves(t *testing.T) {
	m, b := readMoving(t)
	for _, want := range m.Sentences {
		q, err := Compile(parsed(t, want.Text), movingSchema())
		if err != nil {
			t.Fatalf("%s: %v", want.Text, err)
		}
		must.Equal(t, q.Sentence().String(), want.Text, want.Text, "is printed as")
		v, err := q.ValueOf(b)
		if err != nil || !(math.Abs(v-want.Value) <= 1e-12*max(1, want.Value)) {
			t.Errorf("%s: %v, %v, want %v", want.Text, v, err, want.Value)
		}
		if w := q.world(b).reference(q.sentence.Quantale, q.sentence.Body); !(math.Abs(v-w) <= 1e-12*max(1, w)) {
			t.Errorf("%s: %v, and %v tuple by tuple", want.Text, v, w)
		}
		e := must.Get(eval.New(q.program, len(b.Codes)))(t)
		q.fill(e, b)
		must.Get(e.Value(true))(t)
		e.Gradient(1)
		for i, row := range want.Gradient {
			for k, g := range row {
				if got := e.Slope(k)[i]; !(math.Abs(got-g) <= 1e-12*max(1, math.Abs(g))) {
					t.Errorf("%s: gradient %v of column %d of row %d, want %v", want.Text, got, k, i, g)
				}
			}
		}
	}
}

// TestMovingNodes compares nodes of consecutive groups with values, finite differences and float32.
func TestMovingNodes(t *testing.T) {
	m, b := readMoving(t)
	b.Moves[10] = []float64{1, 2, 0, 0, 1, 3}
	b.Groups = nil
	for i := range b.Codes {
		b.Groups = append(b.Groups, i/4)
	}
	for _, s := range m.Sentences {
		q := must.Get(Compile(parsed(t, s.Text), movingSchema()))(t)
		want := must.Get(q.ValueOf(b))(t)
		in := []gradcheck.Input{flat(b.Codes, false), flat(b.Moves, true)}
		if q.NeedsValues() || q.NeedsLabels() {
			in = append(in, flat(b.Values, true), flat(b.Labels, true))
		}
		build := func(in []*gorgonia.Node) (*gorgonia.Node, error) {
			batch := Inputs{Codes: in[0], Moves: in[1], Group: 4}
			if len(in) > 2 {
				batch.Values, batch.Labels = in[2], in[3]
			}
			return q.NodeOf(Named{}, batch)
		}
		gradcheck.Check(t, gradcheck.Case{Name: s.Text, Inputs: in, Build: build, Samples: 12})
		for dt, tolerance := range map[tensor.Dtype]float64{tensor.Float64: 1e-13, tensor.Float32: 1e-5} {
			if got, _ := evaluateInputs(t, dt, in, build); !(math.Abs(got-want) <= tolerance*max(1, want)) {
				t.Errorf("%s: %v in %v, want %v", s.Text, got, dt, want)
			}
		}
	}
}

func flat(rows [][]float64, constant bool) gradcheck.Input {
	x := gradcheck.Input{Shape: []int{len(rows), len(rows[0])}, Constant: constant}
	for _, r := range rows {
		x.Values = append(x.Values, r...)
	}
	return x
}

// TestEquivariantCodes checks that equivariant codes have value 0 and truth, and other codes do not.
func TestEquivariantCodes(t *testing.T) {
	factors := []factor.Factor{{Name: "shape", Size: 2, Kind: factor.Categorical}, {Name: "hue", Size: 5, Kind: factor.Circular},
		{Name: "pose", Size: 24, Kind: factor.Categorical, Rotations: rotation.Octahedral()}}
	var levels [][]int
	for l := range 2 * 5 * 24 {
		levels = append(levels, []int{l % 2, l / 2 % 5, l / 10})
	}
	moves, groups := MovesOf(factors, levels)
	b := Batch{Moves: moves, Groups: groups}
	for _, l := range levels {
		sin, cos := math.Sincos(-2*factors[1].Angle(l[1]) + 0.3)
		p := rotation.Apply(&factors[2].Rotations[l[2]], [3]float64{0.2, 1, float64(l[0])})
		b.Codes = append(b.Codes, append([]float64{cos, sin, float64(l[0])}, p[:]...))
	}
	schema := Schema{Codes: 6, SubCodes: map[string][]int{"hue": {0, 1}, "shape": {2}, "pose": {3, 4, 5}}, Turns: Turns(factors)}
	for text, holds := range map[string]bool{
		"forall i, j, g(i, j): z.hue(j) =[squared] act[-2](g, z.hue(i))":   true,
		"forall i, j, g(i, j): z.hue(j) =[squared] act(g, z.hue(i))":       false,
		"forall i, j, g(i, j): z[2:6](j) =[squared] act(g, z[2:6](i))":     true,
		"forall i, j, g(i, j): i != j -> z.pose(j) =[euclidean] z.pose(i)": false,
	} {
		q, err := Compile(parsed(t, text), schema)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		v := must.Get(q.ValueOf(b))(t)
		is, err := q.HoldsOf(b)
		if err != nil || is != holds || (v < 1e-20) != holds {
			t.Errorf("%s: %v, %v, %v, want %v", text, v, is, err, holds)
		}
	}
	levels[7][0], levels[9][1] = -1, -1
	if moves, groups = MovesOf(factors, levels); groups[7] != -1 || !math.IsNaN(moves[9][0]) {
		t.Errorf("an unknown shape is in group %d, an unknown hue has the angle %v", groups[7], moves[9][0])
	}
}

func TestMoveErrors(t *testing.T) {
	parsed(t, "forall i, j, g(i, j): z.hue(i) =[squared] act[-1000000](g.hue, z.hue(j))") // the largest frequency
	for text, want := range map[string]string{
		"forall i, j, g(i): z(i) =[squared] z(j)":                                  `1:17: found ")", want a comma and a second row`,
		"forall i, j, g(i, k): z(i) =[squared] z(j)":                               "1:14: there is no variable k",
		"forall i, j, g(i, i): z(i) =[squared] z(j)":                               "1:14: g leads from i to itself; want two rows",
		"forall i, j, g(i, j) in y.hue: z(i) =[squared] z(j)":                      "1:14: a transformation leads from row to row",
		"forall i, j, i(i, j): z(i) =[squared] z(j)":                               "1:14: the variable i is named twice",
		"forall i, j: z(i) =[squared] act(g, z(j))":                                "1:30: there is no variable g",
		"forall i, j: z(i) =[squared] act(i, z(j))":                                "1:30: i stands for a row, want a transformation",
		"forall i, j, g(i, j): z(i) =[squared] act[0](g, z(j))":                    "1:43: the frequency 0 is out of range; want a number other than 0, to 1e+06",
		"forall i, j, g(i, j): z.hue(i) =[squared] act[1000001](g.hue, z.hue(j))":  "1:47: the frequency 1.000001e+06 is out of range",
		"forall i, j, g(i, j): z.hue(i) =[squared] act[-1000001](g.hue, z.hue(j))": "1:47: the frequency -1.000001e+06 is out of range",
		"forall i, j, g(i, j): z(i) =[squared] act[2](g, z(j))":                    "1:39: rotations in space have no frequency, and act[2] gives pose one; want act",
		"forall i, j, g(i, j): z(i) =[squared] act(g, y(j))":                       "1:39: y(j) cannot be turned; want one circular factor",
		"forall i, j, g(i, j): z(i) =[squared] act(g.hue, z(j))":                   "1:39: hue acts by a circle, and z(j) has 9 columns; want 2, or a multiple",
		"forall i, j, g(i, j): z(i) =[squared] act(g.hu, z(j))":                    `1:39: there is no transformation "hu"; did you mean "hue"?`,
		"forall i, j, g(i, j): z[0](i) =[squared] act(g, z[0](j))":                 "1:42: hue acts on the columns [0 1] of z.hue together, and z[0](j) has only some",
		"forall i, j, g(i, j): z.size(i) =[squared] act(g, z.size(j))":             "1:44: no transformation acts on the columns of z.size(j); want columns named after a turn, such as z.hue",
		"forall i, j, g(i, j): z.hue(i) =[squared] g":                              "1:43: g stands for a transformation; want codes, such as act(g, z(i))",
		"forall i, j, g(i, j): z.hue(g) =[squared] 0":                              "1:23: g stands for a transformation, want a variable that stands for a row",
		"forall i, j, g(i, j): y.hue(i) = act(g, y.hue(j))":                        "a transformation has no effect in a crisp formula",
		"forall i, j: forall v in y.hue: forall k, g(i, j): z(k) =[squared] 0":     "1:43: g relates only rows of other quantifiers",
		"forall v in y.hue: forall i, g(v, i): z(i) =[squared] 0":                  "1:30: v stands for a value of a factor, want a variable that stands for a row",
	} {
		s, err := Parse(text)
		if err == nil {
			_, err = Compile(s, movingSchema())
		}
		must.Error(t, err, want, text)
	}
	s := movingSchema()
	s.Turns = nil
	_, err := Compile(parsed(t, "forall i, j, g(i, j): z(i) =[squared] z(j)"), s)
	if want := "1:14: g(i, j): no transformations between images are known; want data with a circular factor or one of rotations"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	q := must.Get(Compile(parsed(t, "forall i, j, g(i, j): z.hue(i) =[squared] act(g, z.hue(j))"), movingSchema()))(t)
	z := [][]float64{make([]float64, 9)}
	for want, b := range map[string]Batch{
		"the sentence needs moves, and there are none":    {Codes: z},
		"row 0 of moves has 1 number, want 6":             {Codes: z, Moves: column(1)},
		"moves of 2 rows, want 1, one for each code":      {Codes: z, Moves: column(1, 2)},
		"groups of 2 rows, want 1":                        {Codes: z, Moves: [][]float64{make([]float64, 6)}, Groups: []int{1, 2}},
		"row 0 of moves is [+Inf 0 0 0 0 0], want finite": {Codes: z, Moves: [][]float64{{math.Inf(1), 0, 0, 0, 0, 0}}},
	} {
		must.ErrorOf(q.ValueOf(b))(t, want)
	}
}

// TestBuiltMoves builds sentences from functions.
func TestBuiltMoves(t *testing.T) {
	s := Sentence{syntax.Sentence{Body: ForAll(factor.Mean, Moving(Rows("i", "j"), "i", "j"),
		Equal(syntax.Squared, CodeColumns("j", syntax.Range{Lo: 0, Hi: 2}),
			&syntax.Moved{Name: "g", Turn: "hue", Frequency: 2, A: CodeColumns("i", syntax.Range{Lo: 0, Hi: 2})}))}}
	want := "forall[mean] i, j, g(i, j): z[0:2](j) =[squared] act[2](g.hue, z[0:2](i))"
	if s.String() != want || !s.Moves() {
		t.Errorf("%v, want %v", s, want)
	}
	if got, want := fmt.Sprint(s.Formula(), "; ", s.Quantity(), "; ", s.Truth().Equivalent),
		"∀ i, j, g(i, j): z[0:2](j) = act[2](g.hue, z[0:2](i)); mean{i, j, g(i, j)} ‖z[0:2](j) − act[2](g.hue, z[0:2](i))‖²; true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
