package logic

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
)

// column returns rows of one number each.
func column(x ...float64) [][]float64 {
	var rows [][]float64
	for _, v := range x {
		rows = append(rows, []float64{v})
	}
	return rows
}

var lineSchema = Schema{Codes: 1, SubCodes: map[string][]int{"a": {0}}, Factors: []string{"a"}}

// TestHardPoints tests values and gradients at kinks, and with unknown and empty groups.
func TestHardPoints(t *testing.T) {
	for _, c := range []struct {
		text      string
		z, labels [][]float64
		value     float64
		gradient  []float64
	}{
		// A distance of 0 has no gradient, and neither has a row paired with itself.
		{`forall[sum] i, j: z(i) =[euclidean] z(j)`, column(1, 1), column(0, 0), 0, []float64{0, 0}},
		{`forall[sum] i, j: z(i) =[euclidean] z(j)`, column(1, 1, 3), column(0, 0, 0), 8, []float64{-2, -2, 4}},
		{`forall[sum] i, j: z(i) =[absolute] z(j)`, column(1, 1, 3), column(0, 0, 0), 8, []float64{-2, -2, 4}},
		// Among equal maxima or minima, the first counts.
		{`forall i, j: z(i) =[euclidean] z(j)`, column(0, 2, 0, 2), column(0, 0, 0, 0), 2, []float64{-1, 1, 0, 0}},
		{`forall i, j: i != j -> z(i) =[euclidean] z(j)`, column(2, 0, 2, 0), column(0, 0, 0, 0), 2, []float64{1, -1, 0, 0}},
		{`exists i: z(i) =[squared] 0`, column(2, 2, -2), column(0, 0, 0), 4, []float64{4, 0, 0}},
		{`exists i: z(i) =[absolute] 0 or z(i) =[squared] 0`, column(1, 1), column(0, 0), 1, []float64{1, 0}},
		{`with and = max: forall[sum] i: z(i) =[squared] 0 and z(i) =[absolute] 0`, column(1), column(0), 1, []float64{2}},
		{`forall i: exists c in {1, -1}: z(i) =[absolute] c`, column(0, 0), column(0, 0), 1, []float64{-1, 0}},
		// A truncated subtraction of 0 has no gradient.
		{`forall[sum] i: z(i) =[absolute] 0 -> 2 =[absolute] 0`, column(2, 3, 1), column(0, 0, 0), 1, []float64{0, 0, -1}},
		{`forall[sum] i: not z(i) =[absolute] 0`, column(1, 0.5, 3), column(0, 0, 0), 0.5, []float64{0, -1, 0}},
		// Half a turn has a one-sided gradient. Whole turns have none.
		{`forall[sum] i: z(i) =[circular 2] 0`, column(1, 2, -1.5, 0.25), column(0, 0, 0, 0), 1.75, []float64{1, 0, 1, 1}},
		// Rows with unknown labels do not count, and groups of one row are 0.
		{`forall[mean] i, j: y.a(i) = y.a(j) -> z(i) =[squared] z(j)`, column(1, 3, 9, 100), column(0, 0, 1, -1), 8. / 5, []float64{-8. / 5, 8. / 5, 0, 0}},
		{`forall[mean] i: y.a(i) != 7 -> z(i) =[absolute] 0`, column(1, 3, 9, 100), column(0, 0, 1, -1), 13. / 3, []float64{1. / 3, 1. / 3, 1. / 3, 0}},
		{`forall[mean] i: z(i) =[absolute] 0`, column(1, 3), column(-1, -1), 2, []float64{0.5, 0.5}},
		{`forall[mean] v in y.a: forall[mean] i: y.a(i) = v -> z(i) =[absolute] 0`, column(1, 3, 9, 100), column(5, 5, 2, -1), 5.5, []float64{0.25, 0.25, 0.5, 0}},
		{`forall[sum] v in y.a: forall[mean] i: y.a(i) = v and v != 5 -> z(i) =[absolute] v`, column(1, 3, 9, 10), column(5, 5, 2, 3), 14, []float64{0, 0, 1, 1}},
		{`forall[sum] i: (exists v in y.a: v = 5 and z(i) =[absolute] v) or y.a(i) = 2`, column(1, 3, 9, 10), column(5, 5, 2, 3), 11, []float64{-1, -1, 0, 1}},
		{`forall[sum] c in {2, 5}: forall[sum] i: y.a(i) = c -> z(i) =[absolute] c`, column(1, 3, 9, 10), column(5, 5, 2, 3), 13, []float64{-1, -1, 1, 0}},
		// forall over nothing is 0, and exists over nothing is infinite.
		{`forall[mean] i, j: y.a(i) = y.a(j) -> z(i) =[euclidean] z(j)`, column(1, 2), column(-1, -1), 0, []float64{0, 0}},
		{`forall[max] v in y.a: exists c in z: forall i: y.a(i) = v -> z(i) =[euclidean] c`, column(1, 2), column(-1, -1), 0, []float64{0, 0}},
		{`forall i: exists j: i != j and z(i) =[euclidean] z(j)`, column(1), column(0), math.Inf(1), []float64{0}},
		{`forall[mean] i: (exists j: i != j and z(i) =[euclidean] z(j)) or z(i) =[squared] 0`, column(3), column(0), 9, []float64{6}},
		{`forall[mean] i: (exists j: i != j and y.a(i) = y.a(j)) -> exists j: i != j and y.a(i) = y.a(j) and z(i) =[euclidean] z(j)`, column(3, 4, 9), column(0, 0, 1), 1, []float64{-1, 1, 0}},
		// The inverse of 0 is infinite.
		{`with not = inverse: forall[sum] i: not z(i) =[absolute] 0`, column(0, 2), column(0, 0), math.Inf(1), []float64{0, -0.25}},
		{`with not = inverse: forall[sum] i: (not z(i) =[absolute] 0) or 4 =[absolute] 0`, column(0, 2), column(0, 0), 4.5, []float64{0, -0.25}},
		{`with not = inverse: forall[mean-square] i: not z(i) =[absolute] 0`, column(0, 2), column(0, 0), math.Inf(1), []float64{0, -0.125}},
		// Centres of one point and of equal points.
		{`exists c in z: forall i: z(i) =[euclidean] c`, column(2, 2), column(0, 0), 0, []float64{0, 0}},
		{`exists c in z: forall[mean] i: z(i) =[euclidean] c`, column(2), column(0), 0, []float64{0}},
		{`exists c in z: forall[sum] i: z(i) =[euclidean] c`, column(0, 1, 5), column(0, 0, 0), 5, []float64{-1, 0, 1}},
		{`exists c in z: forall i: z(i) =[squared] c`, column(0, 1, 4), column(0, 0, 0), 4, []float64{-2, 0, 2}},
		{`exists c in z: forall[sum] i: z(i) =[squared] c`, column(0, 1, 5), column(0, 0, 0), 14, []float64{-4, -2, 6}},
	} {
		q, err := Compile(parsed(t, c.text), lineSchema)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		b := batch{z: c.z, y: c.labels, labels: c.labels}
		if v, err := q.Value(b.z, b.y, b.labels); err != nil || !near(v, c.value) {
			t.Errorf("%s: %v, %v, want %v", c.text, v, err, c.value)
		}
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			if v, g := evaluate(t, dt, b, build(q)); !near(v, c.value) || !slices.EqualFunc(g, c.gradient, near) {
				t.Errorf("%s: %v, gradient %v in %v, want %v, %v", c.text, v, g, dt, c.value, c.gradient)
			}
		}
	}
}

func near(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }

// TestTuples compares tuples of factors with one number, which is repeated.
func TestTuples(t *testing.T) {
	b := batch{z: [][]float64{{1, 0, 0, 0}, {2, 0, 0, 0}, {4, 0, 0, 0}, {8, 0, 0, 0}},
		y: [][]float64{{0, 0, 0}, {0, 0, 1}, {1, 1, 1}, {1, 1, 0.1}}, labels: [][]float64{{0, 0, 0}, {0, 0, 1}, {1, 1, 1}, {1, 1, 2}}}
	for text, want := range map[string]float64{
		`forall[sum] i: y(i) = 1 or 0 = y(i) -> z(i) =[absolute] 0`:                                        5,
		`forall[sum] i: [0, 0, 1] = y(i) -> z(i) =[absolute] 0`:                                            2,
		`forall[sum] i: y[0:2](i) = [1, 1] and y.hue(i) = 0.1 -> z(i) =[absolute] 0`:                       8,
		`forall[sum] c in {0, 1}: forall[sum] i: y[0:2](i) = c -> z(i) =[absolute] 2 * c`:                  23,
		`forall[sum] c in {[0, 0], [1, 1]}: forall[sum] i: y[0:2](i) = c and c != 0 -> z(i) =[absolute] 0`: 12,
	} {
		q := compiled(t, parsed(t, text))
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			must.Equal(t, run(t, dt, q, b), want, text)
		}
	}
}

// TestNotFinite tests that NaN and infinity in codes propagate to the value.
func TestNotFinite(t *testing.T) {
	for _, text := range append(largeSentences(), `forall i, j: z(i) =[euclidean] z(j)`, `exists c in z: forall i: z(i) =[euclidean] c`) {
		q, b := compiled(t, parsed(t, text)), batches(1, 9)["continuous"]
		for _, z := range b.z {
			z[0], z[1], z[2], z[3] = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		}
		if v, err := q.Value(b.z, b.y, b.labels); err != nil || !math.IsNaN(v) {
			t.Errorf("%s: %v, %v, want NaN", text, v, err)
		}
	}
}

func TestValueErrors(t *testing.T) {
	one, two, three := [][]float64{{1, 2, 3, 4}}, [][]float64{{1, 2, 3}, {1, 2, 3}}, [][]float64{{1, 2, 3}}
	guarded, valued := `forall i, j: y.hue(i) = y.hue(j) -> z(i) =[squared] z(j)`, `forall i: z.big(i) =[squared] y(i)`
	for _, c := range []struct {
		text         string
		z, y, labels [][]float64
		want         string
	}{
		{guarded, nil, nil, nil, "logic: no rows of codes, want at least one"},
		{guarded, one, three, nil, "logic: the sentence compares factors of rows, and there are no labels"},
		{valued, one, nil, three, "logic: the sentence is about values of factors, and there are none"},
		{guarded, three, nil, three, "logic: row 0 of codes has 3 numbers, want 4"},
		{guarded, one, nil, two, "logic: labels of 2 rows, want 1, one for each code"},
		{valued, one, one, nil, "logic: row 0 of factors has 4 numbers, want 3"},
	} {
		q := compiled(t, parsed(t, c.text))
		if _, err := q.Value(c.z, c.y, c.labels); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
		if _, err := q.Holds(c.z, c.y, c.labels); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
	q := compiled(t, parsed(t, guarded))
	if v, err := q.Value([][]float64{{1, 0, 0, 0}, {0, 0, 0, 0}}, nil, [][]float64{{0, 0, 0}, {0, 0, 0}}); err != nil ||
		v != 1 || q.NeedsValues() || !q.NeedsLabels() {
		t.Errorf("%v, %v without values", v, err)
	}
	q = compiled(t, parsed(t, valued))
	if v, err := q.Value(one, three, nil); err != nil || v != 1+1+9-3 && v == 0 || !q.NeedsValues() || q.NeedsLabels() {
		t.Errorf("%v, %v without labels", v, err)
	}
}

func TestNodeErrors(t *testing.T) {
	q := compiled(t, parsed(t, `forall i, j: y.hue(i) = y.hue(j) and y(i) = y(j) -> z(i) =[squared] z(j)`))
	for want, shapes := range map[string][2][]int{
		"want codes of shape [rows, 4], got (5, 3)":           {{5, 3}, {5, 3}},
		"want factors and labels of shape [5, 3], got (5, 4)": {{5, 4}, {5, 4}},
		"want factors and labels of shape [5, 3], got (4,":    {{5, 4}, {4, 3}},
	} {
		g := gorgonia.NewGraph()
		input := func(name string, shape []int) *gorgonia.Node {
			return gorgonia.NewTensor(g, tensor.Float64, 2, gorgonia.WithShape(shape...), gorgonia.WithName(name))
		}
		must.ErrorOf(q.Node(input("z", shapes[0]), nil, input("labels", shapes[1])))(t, want, shapes)
	}
	g := gorgonia.NewGraph()
	if _, err := q.Node(gorgonia.NewTensor(g, tensor.Float64, 3, gorgonia.WithShape(2, 4, 1), gorgonia.WithName("z")), nil,
		gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(2, 3), gorgonia.WithName("l"))); err == nil {
		t.Error("codes of three dimensions are taken")
	}
	if _, err := q.Node(nil, nil, nil); err == nil {
		t.Error("a nil node is taken")
	}
	z := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(4096, 4), gorgonia.WithName("z"))
	must.ErrorOf(q.Node(z, nil, nil))(t, "there are no labels")
	for _, text := range []string{
		`forall[mean] i, j, k: z(i) + z(j) =[euclidean] z(k)`,
		`forall[mean] i: (exists j, k: i != j and j != k) -> z(i) =[euclidean] 0`,
		`forall[mean] i: z(i) =[euclidean] 0 -> (forall j: exists k: z(k) =[euclidean] z(j))`,
	} {
		q := compiled(t, parsed(t, text))
		must.ErrorOf(q.Node(z, nil, nil))(t, "tuples of 4096 rows, want at most 1e+09", text)
	}
	// Groups depend on the batch.
	q = compiled(t, parsed(t, `forall[mean] i, j, k: y.hue(i) = y.hue(j) and y.hue(k) = y.hue(j) -> z(i) + z(j) =[euclidean] z(k)`))
	rows, labels := make([][]float64, 4096), make([][]float64, 4096)
	for i := range rows {
		rows[i], labels[i] = []float64{1, 2, 3, 4}, []float64{0, 0, float64(i / 16)}
	}
	if v, err := q.Value(rows, nil, labels); err != nil || !near(v, math.Sqrt(30)) {
		t.Errorf("%v, %v", v, err)
	}
	for i := range labels {
		labels[i][2] = 0
	}
	must.ErrorOf(q.Value(rows, nil, labels))(t, "6.9e+10 tuples")
}

// TestLabelVector has labels of one factor as a vector.
func TestLabelVector(t *testing.T) {
	q := must.Get(Compile(parsed(t, `forall[mean] i, j: y.a(i) = y.a(j) -> z(i) =[euclidean] z(j)`), lineSchema))(t)
	gradcheck.Check(t, gradcheck.Case{
		Name: "vector", Inputs: []gradcheck.Input{{Shape: []int{5, 1}}, {Shape: []int{5}, Values: []float64{0, 1, 0, -1, 1}, Constant: true}},
		Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) { return q.Node(in[0], nil, in[1]) },
	})
}

// TestAllocations tests that a second run allocates nothing.
func TestAllocations(t *testing.T) {
	for _, text := range largeSentences() {
		if strings.Contains(text, "k") || strings.Contains(text, "in z") {
			continue
		}
		q, b := compiled(t, parsed(t, text)), batches(1, 200)["continuous"]
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			g := gorgonia.NewGraph()
			var in []*gorgonia.Node
			for i, x := range inputs(b, q) {
				v := tensor.New(tensor.Of(dt), tensor.WithShape(x.Shape...))
				in = append(in, gorgonia.NewMatrix(g, dt, gorgonia.WithShape(x.Shape...), gorgonia.WithValue(v),
					gorgonia.WithName([]string{"z", "y", "labels", "log variances", "means"}[i])))
			}
			n := must.Get(q.NodeOf(Named{}, Inputs{Codes: in[0], Values: in[1], Labels: in[2]}))(t)
			grads := must.Get(gorgonia.Grad(n, in[0]))(t)
			m := must.Get(machine.New(n.Graph(), n, grads[0]))(t)
			run := func() {
				must.OK(t, m.RunAll())
			}
			run()
			if n := testing.AllocsPerRun(5, run); n >= 1 {
				t.Errorf("%s in %v: %v allocations in a run", text, dt, n)
			}
		}
	}
}

// TestDivergenceDirection tests that a mean over pairs contains divergences in both directions.
func TestDivergenceDirection(t *testing.T) {
	q := compiled(t, parsed(t, `forall[mean] i, j: i != j -> z[0:1](i) =[kl] z[0:1](j)`))
	mean, variance := []float64{1, -0.5}, []float64{4, 0.25}
	b := Batch{Codes: make([][]float64, 2), LogVariances: make([][]float64, 2)}
	for i := range mean {
		b.Codes[i], b.LogVariances[i] = make([]float64, testSchema.Codes), make([]float64, testSchema.Codes)
		b.Codes[i][0], b.LogVariances[i][0] = mean[i], math.Log(variance[i])
	}
	want := 0.0
	for i, j := range []int{1, 0} {
		d := mean[i] - mean[j]
		want += (math.Log(variance[j]/variance[i]) + (variance[i]+d*d)/variance[j] - 1) / 2 / 2
	}
	if v, err := q.ValueOf(b); err != nil || !(math.Abs(v-want) <= 1e-12) {
		t.Errorf("%v, %v, want %v", v, err, want)
	}
}

// TestTruth tests the meaning of zero.
func TestTruth(t *testing.T) {
	for text, want := range map[string]string{
		`forall i, j: y.hue(i) = y.hue(j) -> z(i) =[squared] z(j)`:                                                     "0 if and only if the sentence is true",
		`exists i: y.hue(i) = 1 -> z(i) =[squared] 0`:                                                                  "0 if and only if the sentence is true",
		`with and = root, or = tanh: forall i: z(i) =[squared] 0 and (z(i) =[discrete] 0 or 2 * (z(i) =[absolute] 1))`: "0 if and only if the sentence is true",
		`exists c in z: forall[mean] i: z(i) =[euclidean] c`:                                                           "0 if and only if the sentence is true",
		`forall i: z(i) =[squared] 0 -> z[0](i) =[squared] 0`:                                                          "0 implies that the sentence is true, but a true sentence may not have 0: the implication z(i) =[squared] 0 -> z[0](i) =[squared] 0 may be true",
		`forall i: not z(i) =[squared] 0`:                                                                              "0 implies that the sentence is true, but a true sentence may not have 0: the negation of z(i) =[squared] 0 may be true and not 0",
		`not (forall i: not z(i) =[squared] 0)`:                                                                        "0 does not show that the sentence is true: forall i: not z(i) =[squared] 0, which is negated, may be true and not 0",
		`(forall i: not z(i) =[squared] 0) -> exists i: z(i) =[squared] 1`:                                             "0 does not show that the sentence is true: forall i: not z(i) =[squared] 0, from which exists i: z(i) =[squared] 1 follows, may be true and not 0",
		`forall i: z(i) =[squared] 0 and (z(i) =[squared] 0 -> not not z(i) =[squared] 0)`:                             "0 does not show that the sentence is true: not z(i) =[squared] 0, which is negated",
	} {
		if got := parsed(t, text).Truth().String(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	// Zero without truth: theorem 1 overlooks this case.
	s := parsed(t, `not (forall i: z(i) =[absolute] 0 -> 2 =[absolute] 0)`)
	q := must.Get(Compile(s, lineSchema))(t)
	z := column(0.5)
	v, _ := q.Value(z, nil, nil)
	if holds, _ := q.Holds(z, nil, nil); v != 0 || holds || s.Truth().Implied {
		t.Errorf("%v of a sentence that is %v, %v", v, holds, s.Truth())
	}
}
