package logic

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// TestFunctionTruth compares quantities of sentences with functions with their truth, in exact arithmetic. Zero, up to
// rounding, is truth.
func TestFunctionTruth(t *testing.T) {
	held, broke := 0, 0
	for _, text := range functionSentences() {
		q := compiled(t, parsed(t, text))
		if truth := q.Sentence().Truth(); !truth.Equivalent {
			t.Errorf("%s: %v", text, truth)
		}
		for _, rows := range []int{1, 3, 7, 30} {
			for name, b := range batches(rows, rows) {
				v := must.Get(q.Value(b.z, b.y, b.labels))(t)
				holds := must.Get(q.Holds(b.z, b.y, b.labels))(t)
				largest := 1.0
				for _, x := range slices.Concat(slices.Concat(b.z...), slices.Concat(b.y...)) {
					largest = max(largest, math.Abs(x))
				}
				if zero := v <= 1e-11*largest; zero != holds {
					t.Errorf("%s of %d rows %s: %v, which is %v", text, rows, name, v, holds)
				}
				if holds {
					held++
				} else {
					broke++
				}
			}
		}
	}
	if held < 300 || broke < 300 {
		t.Errorf("of all pairs of a sentence and a batch %d are true and %d false: the test is too narrow", held, broke)
	}
}

// The minimum over functions passes through weights, and through conjunctions whose parts add up.
func TestFunctionsOfParts(t *testing.T) {
	const h = `exists h: z[0] -> z[1] in affine: `
	for _, c := range []struct {
		text  string
		parts map[string]float64 // weights of sentences with the same sum
	}{
		{h + `forall[mean-square] i: 3 * (h(z[0](i)) =[euclidean] z[1](i))`, map[string]float64{h + `forall[mean-square] i: h(z[0](i)) =[euclidean] z[1](i)`: 9}},
		{h + `forall[mean] i: 3 * (h(z[0](i)) =[squared] z[1](i))`, map[string]float64{h + `forall[mean] i: h(z[0](i)) =[squared] z[1](i)`: 3}},
		{h + `forall[sum] i: h(z[0](i)) =[squared] z[1](i) and z[2](i) =[absolute] z[3](i)`,
			map[string]float64{h + `forall[sum] i: h(z[0](i)) =[squared] z[1](i)`: 1, `forall[sum] i: z[2](i) =[absolute] z[3](i)`: 1}},
		{h + `forall[mean] i: y.shape(i) = 0 and y.hue(i) = 1 -> (h(z[0](i)) =[squared] z[1](i)) and 2 * (z[2](i) =[absolute] z[3](i))`,
			map[string]float64{h + `forall[mean] i: y.shape(i) = 0 and y.hue(i) = 1 -> h(z[0](i)) =[squared] z[1](i)`: 1,
				`forall[mean] i: y.shape(i) = 0 and y.hue(i) = 1 -> z[2](i) =[absolute] z[3](i)`: 2}},
	} {
		for name, b := range batches(30, 4) {
			value := func(text string) float64 {
				return must.Get(compiled(t, parsed(t, text)).Value(b.z, b.y, b.labels))(t)
			}
			got, want := value(c.text), 0.0
			for text, weight := range c.parts {
				want += weight * value(text)
			}
			if !(math.Abs(got-want) <= 1e-9*max(1, want)) {
				t.Errorf("%s on %s: %v, want %v", c.text, name, got, want)
			}
		}
	}
	for want, text := range map[string]string{
		"differs from the minima of the parts": h + `forall[mean] i: h(z[0](i)) =[squared] z[1](i) or z[2](i) =[absolute] z[3](i)`,
	} {
		must.ErrorOf(Compile(parsed(t, text), testSchema))(t, want, text)
	}
}

// TestRanks tests the truth of classes at points that distinguish the classes.
func TestRanks(t *testing.T) {
	line, turned := [][]float64{{0, 0, 1, 1}, {1, 0, 1, 2}, {0, 1, 0, 1}, {1, 1, 0, 2}}, [][]float64{{0, 0, 5, 5}, {1, 0, 5, 6}, {0, 2, 3, 5}}
	y := [][]float64{{1, 0, 0}, {1, 1, 0}, {2, 0, 1}, {2, 1, 1}}
	for _, c := range []struct {
		text string
		z    [][]float64
		want bool
	}{
		{`exists h: z[0:2] -> z[2:4] in affine: forall i: h(z[0:2](i)) =[euclidean] z[2:4](i)`, line, true},
		{`exists h: z[0:2] -> z[2:4] in linear: forall i: h(z[0:2](i)) =[euclidean] z[2:4](i)`, line, false},
		{`exists h: z[0] -> z[3] in affine: forall i: h(z[0](i)) =[euclidean] z[3](i)`, line, true},
		{`exists h: z[1] -> z[3] in affine: forall i: h(z[1](i)) =[euclidean] z[3](i)`, line, false},
		{`exists h: z[0:2] -> z[2:4] in isometry: forall[mean] i: h(z[0:2](i)) =[squared] z[2:4](i)`, turned, true},
		{`exists h: z[0:2] -> z[1:3] in isometry: forall[mean] i: h(z[0:2](i)) =[squared] z[1:3](i)`, line, false},
		{`exists m: y.shape -> z[1]: forall i: m(y.shape(i)) =[euclidean] z[1](i)`, line, true},
		{`exists m: y.shape -> z[0]: forall i: m(y.shape(i)) =[euclidean] z[0](i)`, line, false},
		{`exists m: y[0:2] -> z: forall i: m(y[0:2](i)) =[euclidean] z(i)`, line, true},
		{`exists m: y.shape -> z[1], h: z[1] -> z[3] in affine: (forall i: m(y.shape(i)) =[euclidean] z[1](i)) and forall i: h(z[1](i)) =[euclidean] z[3](i)`, line, false},
		{`exists m: y.shape -> z[1], h: z[1] -> z[3] in affine: (forall i: m(y.shape(i)) =[euclidean] z[1](i)) or forall i: h(z[1](i)) =[euclidean] z[3](i)`, line, true},
	} {
		q, n := compiled(t, parsed(t, c.text)), len(c.z)
		// The labels distinguish the rows by shape (0, 0, 1, 1) and the second factor (0, 1, 0, 1).
		labels := [][]float64{{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}}
		v, err := q.Value(c.z, y[:n], labels[:n])
		holds, err2 := q.Holds(c.z, y[:n], labels[:n])
		if err != nil || err2 != nil || holds != c.want || (v < 1e-12) != c.want {
			t.Errorf("%s: %v, %v (%v, %v), want %v", c.text, v, holds, err, err2, c.want)
		}
	}
}

// TestApproximation tests the best product function of codes, and maps with unknown rows.
func TestApproximation(t *testing.T) {
	// Example 5 of the paper has m(0, 0) = (1, 3), m(0, 1) = (3, 5), m(1, 0) = (5, 5), m(1, 1) = (7, 7). The best
	// product function is (0, 0) -> (2, 4), (0, 1) -> (2, 6), (1, 0) -> (6, 4), (1, 1) -> (6, 6).
	schema := Schema{Codes: 3, Factors: []string{"a", "b"}}
	z := [][]float64{{1, 3, 8}, {3, 5, 8}, {5, 5, 8}, {7, 7, 8}, {100, 100, 8}}
	labels := [][]float64{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {-1, 1}}
	for _, text := range []string{
		`exists m.a: y.a -> z[0], m.b: y.b -> z[1]: forall[mean] i: z[0](i) =[squared] m.a(y.a(i)) and z[1](i) =[squared] m.b(y.b(i))`,
		`exists m.a: y.a -> z[0], m.b: y.b -> z[1]: (forall v in y.a: forall i: y.a(i) = v and y.b(i) = y.b(i) -> z[0](i) =[euclidean] m.a(v)) and forall i: y.a(i) = y.a(i) -> z[1](i) =[euclidean] m.b(y.b(i))`,
		`exists m.a: y.a -> z[0] by least squares, m.b: y.b -> z[1] by max: forall[mean] i: z[0](i) =[absolute] m.a(y.a(i)) and z[1](i) =[absolute] m.b(y.b(i))`,
	} {
		q := must.Get(Compile(parsed(t, text), schema))(t)
		f, err := q.Approximation(Batch{Codes: z, Values: labels, Labels: labels})
		if err != nil || len(f) != 2 || f[0].Name != "m.a" || f[1].Name != "m.b" {
			t.Fatalf("%s: %v, %v", text, f, err)
		}
		for i, want := range [][]float64{{2, 4}, {2, 6}, {6, 4}, {6, 6}, {math.NaN(), 6}} {
			if got := Product(f, z)[i]; !(near(got[0], want[0]) || i == 4 && math.IsNaN(got[0])) || !near(got[1], want[1]) || got[2] != 8 {
				t.Errorf("%s: row %d is %v, want %v", text, i, got, want)
			}
		}
		if l := f[0].Levels; len(l) != 2 || l[0][0] != 0 || l[1][0] != 1 || !near(f[0].Points[1][0], 6) {
			t.Errorf("%s: levels %v, points %v", text, l, f[0].Points)
		}
	}
	q, err := Compile(parsed(t,
		`forall[mean] v in y.a: exists h: z[0] -> z[1] in affine: forall[mean] i: y.a(i) = v -> h(z[0](i)) =[squared] z[1](i)`), schema)
	must.OK(t, err)
	f, err := q.Approximation(Batch{Codes: z, Labels: labels})
	if err != nil || len(f) != 2 || !near(f[0].Matrix[0][0], 1) || !near(f[0].Offset[0], 2) || !near(f[1].Offset[0], 0) ||
		!near(f[1].Values[4][0], 100) {
		t.Errorf("%v, %v, want the lines z + 2 and z", f, err)
	}
	if f, err := compiled(t, parsed(t, `forall i: z(i) =[squared] 0`)).Approximation(Batch{Codes: [][]float64{{1, 2, 3, 4}}}); err != nil || f != nil {
		t.Errorf("%v, %v of a sentence without functions", f, err)
	}
	plain := Fitted{Name: "h", Function: "h: z -> y", FromCodes: true}
	line, point := plain, plain
	line.Matrix, line.Offset = [][]float64{{2}}, []float64{1}
	point.Levels, point.Points = [][]float64{{0}}, [][]float64{{3}}
	must.Equal(t, fmt.Sprint(line, "; ", point, "; ", plain),
		"h: z -> y, matrix [[2]], offset [1]; h: z -> y, levels [[0]], points [[3]]; h: z -> y", "functions are printed as")
	if _, err := q.Approximation(Batch{}); err == nil {
		t.Error("a batch without rows is taken")
	}
	if got := Product([]Fitted{{ToCodes: true, ToColumns: []int{0, 3}, Values: [][]float64{{5, 6}}}},
		[][]float64{{1, 2}, {3}}); !slices.EqualFunc(got, [][]float64{{5, 2}, {3}}, slices.Equal) {
		t.Errorf("product of a short batch is %v", got)
	}
}

// TestApproximationNotFinite tests that NaN and infinity in a function's domain give an error with row and column.
func TestApproximationNotFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	schema := Schema{Codes: 1, SubCodes: map[string][]int{"a": {0}}, Factors: []string{"a", "b"}}
	for _, f := range []struct {
		text         string
		codes, other bool // functions of codes; functions with factor b in the domain
	}{
		{`exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)`, true, true},
		{`exists h: z -> y in linear: forall[mean] i: h(z(i)) =[absolute] y(i)`, true, true},
		{`exists h: z -> y.b in isometry: forall[mean] i: h(z(i)) =[squared] y.b(i)`, true, true},
		{`exists h: z -> y in affine by least squares: forall i: h(z(i)) =[euclidean] y(i)`, true, true},
		{`exists h: y.b -> z in affine: forall i: h(y.b(i)) =[euclidean] z(i)`, true, true},
		{`exists m.a: y.a -> z.a: forall[mean] i: m.a(y.a(i)) =[squared] z.a(i)`, true, false},
		{`exists m.a: y.a -> z.a: forall i: m.a(y.a(i)) =[euclidean] z.a(i)`, true, false},
		{`exists h: z -> y in mlp {layers: [1]}: forall[mean] i: h(z(i)) =[squared] y(i)`, true, true},
		{`exists h: y -> z in mlp {layers: [1]}: forall[mean] i: h(y(i)) =[squared] z(i)`, true, true},
	} {
		q := must.Get(Compile(parsed(t, f.text), schema))(t)
		for _, c := range []struct {
			z, y, label float64
			want        string // a part of the error
		}{
			{1, 1, 1, ""},
			{nan, 1, 1, "NaN in row 1, column 0 of codes, want finite numbers"},
			{inf, 1, 1, "+Inf in row 1, column 0 of codes, want finite numbers"},
			{1, nan, 1, "NaN in row 1, column 1 of factors, want finite numbers"},
			{1, nan, -1, ""}, // outside the domain
		} {
			b := Batch{Codes: [][]float64{{0}, {c.z}, {2}}, Values: [][]float64{{0, 0}, {1, c.y}, {0, 1}},
				Labels: [][]float64{{0, 0}, {1, c.label}, {0, 1}}}
			got, err := q.Approximation(b)
			want := c.want
			if !f.other && !isFinite(c.y) {
				want = ""
			}
			if want == "" && (err != nil || len(got) != 1) || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
				t.Errorf("%s: %v, %v: %v, want an error that ends with %q", f.text, b.Codes, b.Values, err, want)
			}
			if v, err := q.ValueOf(b); err != nil || want == "" && !isFinite(v) {
				t.Errorf("%s: %v, %v: the quantity is %v, %v", f.text, b.Codes, b.Values, v, err)
			}
		}
	}
	b := Batch{Codes: [][]float64{{1, 2}}}
	if z := b.Draw(rng.New(0, "test")); !math.IsNaN(z[0][0]) || !math.IsNaN(z[0][1]) {
		t.Errorf("samples without log variances are %v, want NaN", z)
	}
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
