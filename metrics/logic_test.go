package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// sentence returns the metric of a sentence with defaults.
func sentence(t testing.TB, text string) *Logic {
	t.Helper()
	s := must.Get(logic.Parse(text))(t)
	l := NewLogic()
	l.Sentence = &s
	return l
}

// ofFactors joins copies of a sentence, one for each of three factors F.
func ofFactors(text string) string {
	var parts []string
	for _, f := range []string{"y1", "y2", "y3"} {
		parts = append(parts, "("+strings.ReplaceAll(text, "F", f)+")")
	}
	return strings.Join(parts, " and ")
}

// namedSentences are the sentences of named metrics of three factors, by the keys of table 2's values.
func namedSentences() map[string]string {
	return map[string]string{
		"rad":              ofFactors("forall v in y.F: exists c in z.F: forall i: y.F(i) = v -> z.F(i) =[euclidean] c"),
		"mad":              ofFactors("forall[mean] v in y.F: exists c in z.F: forall[mean] i: y.F(i) = v -> z.F(i) =[euclidean] c"),
		"var":              ofFactors("forall[mean] v in y.F: exists c in z.F: forall[mean] i: y.F(i) = v -> z.F(i) =[squared] c"),
		"diam":             ofFactors("forall v in y.F: forall i, j: y.F(i) = v and y.F(j) = v -> z.F(i) =[euclidean] z.F(j)"),
		"mpd":              ofFactors("forall[mean] v in y.F: 0.5 * (forall[mean] i, j: y.F(i) = v and y.F(j) = v -> z.F(i) =[euclidean] z.F(j))"),
		"mse":              "0.3333333333333333 * (exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i))",
		"mae":              "0.3333333333333333 * (exists h: z -> y in affine: forall[mean] i: h(z(i)) =[absolute] y(i))",
		"contraction_max":  "forall i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)",
		"contraction_mean": "forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)",
	}
}

// Sentences reproduce table 2 of Zhang and Sugiyama 2024 and the values of the named metrics.
func TestLogicGolden(t *testing.T) {
	long.NotShort(t)
	var golden map[string]map[string]expectation
	readJSON(t, "testdata/enriching/expected.json", &golden)
	sentences := namedSentences()
	for name, want := range golden {
		in, sub := encoded(t, name)
		shuffleRows(in)
		for key, text := range sentences {
			l := sentence(t, text)
			l.Codes = sub
			r := compute(t, l, in)
			if raw, ok := want[key+"_raw"]; ok {
				near(t, name+", "+key, r.Value, raw.values()[0], *raw.Tolerance)
			}
			near(t, name+", exp(-"+key+")", r.Part("score")[0], want[key].values()[0], *want[key].Tolerance)
		}
	}
}

// The largest errors of affine maps agree with the named metric me, jointly and by factor. For least squares, the
// largest error is one to two radii of the smallest ball around the errors.
func TestLogicLargestError(t *testing.T) {
	for _, name := range []string{"entanglement", "nonlinear", "constant", "complement"} {
		in, _ := encoded(t, name)
		minimax := compute(t, &MaxError{Fit: FitMinimax}, in)
		l := sentence(t, "exists h: z -> y in affine: forall i: h(z(i)) =[euclidean] y(i)")
		near(t, name+", minimax", compute(t, l, in).Value, minimax.Value, 1e-6)
		byFactor := compute(t, &MaxError{Fit: FitMinimaxByFactor}, in)
		for j, f := range []string{"y1", "y2", "y3"} {
			one := sentence(t, strings.ReplaceAll("exists h: z -> y.F in affine: forall i: h(z(i)) =[absolute] y.F(i)", "F", f))
			near(t, name+", minimax of "+f, compute(t, one, in).Value, byFactor.Part("per_factor")[j], 1e-6)
		}
		l = sentence(t, "exists h: z -> y in affine by least squares: forall i: h(z(i)) =[euclidean] y(i)")
		if v, ball := compute(t, l, in).Value, compute(t, &MaxError{Fit: FitLeastSquares}, in).Value; v < ball-1e-9 || !(v <= 2*ball+1e-9) {
			t.Errorf("%s: the largest error of least squares is %v; want %v, the radius of the smallest ball around its errors, to twice that", name, v, ball)
		}
	}
}

// A product sentence equals the modularity metric of its aggregate: variance, mad or radius.
func TestLogicProduct(t *testing.T) {
	in, sub := encoded(t, "rotation")
	for text, d := range map[string]factor.Deviation{
		"exists m.y1: y.y1 -> z.y1, m.y2: y.y2 -> z.y2, m.y3: y.y3 -> z.y3: forall[mean] i: m.y1(y.y1(i)) =[squared] z.y1(i) and m.y2(y.y2(i)) =[squared] z.y2(i) and m.y3(y.y3(i)) =[squared] z.y3(i)": factor.Variance,
		ofFactors("exists m: y.F -> z.F: forall[mean] i: m(y.F(i)) =[euclidean] z.F(i)"):                                                                                                                factor.MAD,
		ofFactors("exists m: y.F -> z.F: forall i: m(y.F(i)) =[euclidean] z.F(i)"):                                                                                                                      factor.Radius,
	} {
		l, named := sentence(t, text), NewSubCodeDeviation(d)
		l.Codes, named.Codes = sub, sub
		near(t, d.String(), compute(t, l, in).Value, compute(t, named, in).Value, 1e-9)
	}
}

// Without codes, factors get the columns of the named metrics: in order, or the best ones.
func TestLogicAssigns(t *testing.T) {
	text := namedSentences()["var"]
	for _, c := range []struct {
		encoder string
		assign  Assign
	}{{"misalignment", AssignAuto}, {"misalignment", AssignBest}, {"rotation", AssignBest}} {
		in, _ := encoded(t, c.encoder)
		l, named := sentence(t, text), NewSubCodeDeviation(factor.Variance)
		l.Assign, named.Assign = c.assign, c.assign
		r, want := compute(t, l, in), compute(t, named, in)
		near(t, c.encoder, r.Value, want.Value, 1e-12)
		must.EqualSlices(t, r.Part("columns"), want.Part("columns"), c.encoder, "columns")
	}
	l := sentence(t, text)
	l.SetCodes(factor.SubCodes{"y1": {2}}, AssignAuto)
	l.SetCodes(nil, AssignBest)
	if len(l.Codes) != 1 || l.Assign != AssignAuto {
		t.Errorf("codes %v, assign %q; want the codes that were set", l.Codes, l.Assign)
	}
}

// Rows with unknown levels are outside the domain and do not count.
func TestLogicUnknownLevels(t *testing.T) {
	_, some := gappy()
	names := factor.Names(some.Factors)
	for _, c := range []struct {
		text    string
		factors []int // known factors of measured rows
	}{
		{`forall[mean] v in y."A": exists c in z.own: forall[mean] i: y."A"(i) = v -> z.own(i) =[squared] c`, []int{0}},
		{`forall[mean] i, j: y."A"(i) = y."A"(j) -> z.own(i) =[euclidean] z.own(j)`, []int{0}},
		{`forall[mean] i: z.own(i) =[squared] y."A"(i) + y."B"(i)`, []int{0, 1}},
		{`forall[mean] i, j: y."A"(i) != y."A"(j) -> z.own(i) - z.own(j) =[absolute] y."B"(i) - y."B"(j)`, []int{0, 1}},
	} {
		l := sentence(t, strings.NewReplacer("A", names[0], "B", names[1]).Replace(c.text))
		l.Codes = factor.SubCodes{"own": {1}}
		got := evaluated(t, some, []Choice{{Name: "logic", Value: l}})
		known := compute(t, l, kept(some, c.factors...))
		near(t, c.text, got.Value, known.Value, 1e-12)
		if basis := got.Basis.String(); !strings.Contains(basis, names[0]+": ") || !strings.Contains(basis, "lost: 400 without a known level") {
			t.Errorf("basis %q does not say what is unknown", basis)
		}
	}
}

// A variable without a factor ranges over all rows, also if no level of a row is known.
func TestLogicAllRows(t *testing.T) {
	factors := ordinals(2, 2)
	codes := matrix.Matrix{Rows: 4, Cols: 1, Data: []float64{0, 1, 2, 7}}
	alone := &Input{Codes: codes, Factors: factors[:1], Levels: []int{0, 1, 1, -1}}
	beside := &Input{Codes: codes, Factors: factors, Levels: []int{0, 0, 1, 0, 1, 1, -1, 1}}
	for text, want := range map[string]float64{
		`forall[sum] i, j: y.f0(i) = 0 -> z(i) =[squared] z(j)`:                                         1 + 4 + 49,
		`forall[sum] i: y.f0(i) = 1 -> forall j: z(i) =[absolute] z(j)`:                                 6 + 5,
		`(forall[sum] i: z(i) =[absolute] y.f0(i)) and (forall[sum] j: z(j) =[squared] 0)`:              1 + 1 + 4 + 49,
		`forall[sum] v in y.f0: forall[sum] i: z(i) =[absolute] v`:                                      10 + 8,
		`forall[sum] v in y.f0: forall[sum] i: y.f0(i) = v -> forall[max] j: z(i) - z(j) =[absolute] v`: 7 + 7 + 6,
	} {
		for _, in := range []*Input{alone, beside} {
			near(t, text, evaluated(t, in, []Choice{{Name: "logic", Value: sentence(t, text)}}).Value, want, 1e-12)
		}
	}
}

// Names of levels, or values of levels without names, choose rows.
func TestLogicLevelNames(t *testing.T) {
	factors := ordinals(3, 4)
	factors[0].Names, factors[1].Values = []string{"ellipse", "heart", "square"}, []float64{-2, 0.5, 1, 7}
	in := gridInput(factors, 1, func(l []int, z []float64) { z[0] = float64(10*l[0] + l[1]) })
	for text, want := range map[string]float64{
		`forall i: y.f0(i) = "heart" -> z(i) =[absolute] 0`:                                13,
		`forall i: y.f1(i) = "0.5" and y.f0(i) != "square" -> z(i) =[absolute] 0`:          11,
		`forall c in {"-2", "1"}: exists i: y.f1(i) = c and z(i) =[absolute] 20`:           2,
		`exists[soft 1] i: y.f0(i) = "square" and y.f1(i) = "7" and z(i) =[absolute] 20.5`: 2.5,
	} {
		near(t, text, compute(t, sentence(t, text), in).Value, want, 1e-12)
	}
	for text, want := range map[string]string{
		`forall i: y.f0(i) = "hart" -> z(i) =[squared] 0`:                    `has no level "hart"; did you mean "heart"?`,
		`forall i: y.f1(i) = 7 -> z(i) =[squared] 0`:                         `the levels of the factor f1 are mapped to [0, 1], so none is 7; want a level in quotes, such as "7"`,
		`forall i: y(i) = [0, -3] -> z(i) =[squared] 0`:                      `mapped to [0, 1], so none is -3; want a level in quotes, such as "7"`,
		`forall i: 1.5 != y.f0(i) and y.f1(i) = 1 -> z(i) =[squared] 0`:      `of the factor f0 are mapped to [0, 1], so none is 1.5; want a level in quotes, such as "square"`,
		`forall i: y.f1(i) = 0.5 -> z(i) =[squared] 0`:                       `so none is 0.5; want a level in quotes, such as "0.5"`,
		`forall[mean] v in y.f1: forall[mean] i: v = 2 -> z(i) =[squared] 0`: `so none is 2`,
	} {
		must.ErrorOf(sentence(t, text).Compute(ctx, in))(t, want, text)
	}
	compute(t, sentence(t, `forall i: y.f1(i) = 0 or y.f1(i) = 1 -> z(i) =[squared] 0`), in)
	one := gridInput(ordinals(1, 2), 1, func(_ []int, z []float64) { z[0] = 1 })
	compute(t, sentence(t, `forall i: y.f0(i) = 0 -> z(i) =[squared] 0`), one)
	one.Factors[1].Kind = factor.Circular
	must.ErrorOf(sentence(t, `forall i: y.f1(i) = 1 -> z(i) =[squared] 0`).Compute(ctx, one))(t, "so none is 1", "a circular factor")
	in.Exact = [][]float64{nil, make([]float64, in.Codes.Rows)}
	m := sentence(t, `forall i: y.f1(i) = 7 -> z(i) =[squared] 0`)
	m.Units = "as-given"
	few := *in // the rows of one ellipse
	few.Codes.Rows, few.Codes.Data, few.Levels, few.Exact = 4, in.Codes.Data[:4], in.Levels[:8], nil
	for _, c := range []struct {
		m    *Logic
		in   *Input
		want string
	}{
		{m, in, "no row has the value in y.f1(i) = 7"}, // all exact values are 0
		{sentence(t, `forall i: y.f0(i) = 0.3 and y.f0(i) != 0.5 -> z(i) =[squared] 0`), in, "no row has the value in y.f0(i) = 0.3"},
		{sentence(t, `forall i: y.f0(i) = "heart" -> z(i) =[squared] 0`), &few, `no row has the value in y.f0(i) = "heart"`},
		{sentence(t, `forall i: y.f0(i) = "ellipse" -> z(i) =[squared] 0`), &few, ""},
	} {
		notes := compute(t, c.m, c.in).Notes
		notes = slices.DeleteFunc(notes, func(n string) bool { return !strings.HasPrefix(n, "no row") })
		must.Equal(t, strings.Join(notes, "; "), c.want, c.m.Sentence)
	}
}

// A note names the part of a sentence whose conditions no rows fulfil, so that it is 0 whatever the codes.
func TestLogicEmptyDomains(t *testing.T) {
	in := gridInput(ordinals(2, 3), 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), 1 })
	const never = "y.f1(i) = 0 and y.f1(i) = 1"
	for text, want := range map[string]string{
		"forall i: " + never + " -> z(i) =[squared] 0":                                              "forall i: " + never + " -> z(i) =[squared] 0",
		"forall[mean] i, j: y.f0(i) = y.f0(j) and y.f0(i) != y.f0(j) -> z(i) =[euclidean] z(j)":     "forall[mean] i, j: y.f0(i) = y.f0(j) and y.f0(i) != y.f0(j) -> z(i) =[euclidean] z(j)",
		"forall[mean] v in y.f0: forall[sum] i: y.f0(i) = v and " + never + " -> z(i) =[squared] 0": "forall[sum] i: y.f0(i) = v and " + never + " -> z(i) =[squared] 0",
		"exists c in z: forall[mean] i: " + never + " -> z(i) =[euclidean] c":                       "exists c in z: forall[mean] i: " + never + " -> z(i) =[euclidean] c",
		"exists h: z -> y in affine: forall[mean] i: " + never + " -> h(z(i)) =[squared] y(i)":      "forall[mean] i: " + never + " -> h(z(i)) =[squared] y(i)",
		"forall i: z(i) =[squared] 0 and (" + never + " -> z(i) =[squared] 1)":                      never + " -> z(i) =[squared] 1",
		"forall[mean] v in y.f1: forall[mean] i, j: v != v -> z(i) =[euclidean] z(j)":               "forall[mean] i, j: v != v -> z(i) =[euclidean] z(j)",
		"forall[norm] i: " + never + " -> z(i) =[squared] 0":                                        "forall[norm] i: " + never + " -> z(i) =[squared] 0",

		"forall i: y.f1(i) = 0 -> z(i) =[squared] 0":                                   "",
		"forall[mean] i, j: y.f0(i) = y.f0(j) -> z(i) =[euclidean] z(j)":               "",
		"forall[mean] v in y.f1: forall i: y.f1(i) = v and v = 1 -> z(i) =[squared] 0": "",
	} {
		notes := compute(t, sentence(t, text), in).Notes
		notes = slices.DeleteFunc(notes, func(n string) bool { return !strings.HasPrefix(n, "no row") })
		if want != "" {
			want = "no rows fulfil the condition, so this is 0 for any codes: " + want
		}
		must.Equal(t, strings.Join(notes, "; "), want, text)
	}
}

// Turns relate rows that agree in the other factors. Codes that turn have the value 0; other codes have the value over
// all such pairs.
func TestLogicMoves(t *testing.T) {
	factors := ordinals(8, 6, 3)
	factors[0].Kind, factors[1].Kind = factor.Circular, factor.Circular
	s := rng.New(2, "codes")
	in := gridInput(factors, 5, func(l []int, z []float64) {
		z[1], z[0] = math.Sincos(2 * math.Pi * float64(l[0]) / 8)
		z[3], z[2] = math.Sincos(2 * math.Pi * float64(l[1]) / 6)
		z[4] = float64(l[2])
	})
	names := factor.Names(factors)
	l := sentence(t, strings.ReplaceAll(`forall[mean] i, j, g(i, j): z."A"(j) =[squared] act(g, z."A"(i))`, "A", names[0]))
	l.Codes = factor.SubCodes{names[0]: {0, 1}, names[1]: {2, 3}}
	near(t, "codes that turn", compute(t, l, in).Value, 0, 1e-12)
	moved := sentence(t, "forall[mean] i, j, g(i, j): z(j) =[squared] act(g, z(i))") // all columns, in shares by factor
	if _, err := Evaluate(ctx, in, 1, []Choice{{Name: "logic", Value: moved}}); err == nil ||
		!strings.Contains(err.Error(), "such as z."+names[0]+" (codes, or --blocks of eval, name them)") {
		t.Errorf("5 columns of 3 factors: error %v", err)
	}
	own := sentence(t, fmt.Sprintf("forall[mean] i, j, g(i, j): z[0:2](j) =[squared] act(g.%s, z[0:2](i))", names[0]))
	near(t, "columns that the sentence names", compute(t, own, in).Value, 0, 1e-12)
	even := *in
	even.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: 6}
	for i := range in.Codes.Rows {
		even.Codes.Data = append(append(even.Codes.Data, in.Codes.Row(i)...), 1)
	}
	near(t, "codes that turn, in equal shares", compute(t, moved, &even).Value, 0, 1e-12)
	for i := range in.Codes.Data {
		in.Codes.Data[i] += 0.1 * s.NormFloat64()
	}
	in.Levels[3*7] = factor.Unknown   // turn of row 7
	in.Levels[3*9+2] = factor.Unknown // another factor of row 9
	sum, count := 0.0, 0.0
	for i := range in.Codes.Rows {
		for j := range in.Codes.Rows {
			a, b := in.Levels[3*i:3*i+3], in.Levels[3*j:3*j+3]
			if slices.Contains(a, factor.Unknown) || slices.Contains(b, factor.Unknown) || a[2] != b[2] {
				continue
			}
			x, y, angle := in.Codes.Row(i), in.Codes.Row(j), 2*math.Pi*float64(b[0]-a[0])/8
			sin, cos := math.Sincos(angle)
			sum += math.Pow(y[0]-cos*x[0]+sin*x[1], 2) + math.Pow(y[1]-sin*x[0]-cos*x[1], 2)
			count++
		}
	}
	near(t, "noisy codes", evaluated(t, in, []Choice{{Name: "logic", Value: l}}).Value, sum/count, 1e-9)
}

// A sentence about codes measures images without factors, but a sentence about factors does not.
func TestLogicWithoutFactors(t *testing.T) {
	whole, _ := gappy()
	in := &Input{Codes: whole.Codes, Levels: make([]int, whole.Codes.Rows),
		Factors: []factor.Factor{{Name: "unknown", Size: 1, Kind: factor.Categorical}}}
	alone := sentence(t, "forall[mean] i: z[0](i) =[squared] 0")
	want := 0.0
	for i := range in.Codes.Rows {
		want += in.Codes.Row(i)[0] * in.Codes.Row(i)[0] / float64(in.Codes.Rows)
	}
	near(t, "codes alone", evaluated(t, in, []Choice{{Name: "logic", Value: alone}}).Value, want, 1e-12)
	for _, text := range []string{"forall[mean] i: z(i) =[squared] y(i)", "forall[mean] i: z.unknown(i) =[squared] 0"} {
		if err := Suits(in, []Choice{{Name: "logic", Value: sentence(t, text)}}); !errors.Is(err, MissingFactors) {
			t.Errorf("%s: %v; want that factors are missing", text, err)
		}
	}
	named := sentence(t, "forall[mean] i: z.first(i) =[squared] 0")
	named.Codes = factor.SubCodes{"first": {0}}
	near(t, "columns by name", evaluated(t, in, []Choice{{Name: "logic", Value: named}}).Value, want, 1e-12)
}

// By the setting, continuous factors keep their units or use their range as the unit, with the values of contraction.
func TestLogicUnits(t *testing.T) {
	for _, name := range unitCases {
		in, _ := unitsInput(t, name)
		for _, u := range []Units{"as-given", "range"} {
			l := sentence(t, namedSentences()["contraction_mean"])
			l.Units = u
			near(t, name+" "+string(u), compute(t, l, in).Value, compute(t, &Contraction{Units: u}, in).Value, 1e-9)
		}
	}
}

func TestLogicSamples(t *testing.T) {
	s := rng.New(8, "codes")
	in := gridInput(ordinals(10, 10, 10), 3, func(l []int, z []float64) {
		for c := range z {
			z[c] = float64(l[c]) + s.NormFloat64()
		}
	})
	for _, c := range []struct {
		text            string
		samples, tuples int
		rows            int // measured
	}{
		{"forall[mean] i, j: z(i) =[absolute] z(j)", 0, 1e8, 1000},
		{"forall[mean] i, j: z(i) =[absolute] z(j)", 300, 1e8, 300},
		{"forall[mean] i, j: z(i) =[absolute] z(j)", 0, 20000, 200},             // 200 * 200 / 2
		{"forall[mean] i, j: z(i) - 2 * z(j) =[absolute] 0", 0, 40000, 200},     // 200 * 200
		{"forall[mean] i, j, k: z(i) - 2 * z(j) =[absolute] z(k)", 0, 1e6, 100}, // more than the limit for all rows
		{"forall[mean] i: z(i) =[absolute] y(i)", 0, 500, 500},
	} {
		l := sentence(t, c.text)
		l.Samples, l.Tuples = c.samples, c.tuples
		r := evaluated(t, in, []Choice{{Name: "logic", Value: l}})
		if r.Basis.Rows != c.rows || r.Basis.Of != 1000 {
			t.Errorf("%s: basis %v; want %d rows", c.text, &r.Basis, c.rows)
		}
		if strings.Contains(c.text, "k: ") {
			continue
		}
		whole := sentence(t, c.text)
		whole.Tuples = 1e9
		if all := evaluated(t, in, []Choice{{Name: "logic", Value: whole}}).Value; !(math.Abs(r.Value-all) <= 0.15*all) {
			t.Errorf("%s: %v of some rows, %v of all", c.text, r.Value, all)
		}
	}
}

// The result, its notes and JSON state the meaning of the value 0.
func TestLogicTruth(t *testing.T) {
	in, _ := encoded(t, "rotation")
	for text, want := range map[string]string{
		"forall[mean] i, j: y(i) = y(j) -> z(i) =[squared] z(j)":                    "equivalent",
		"forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)":       "implied",
		"not (forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j))": "undecided",
		"forall i: (not z[0](i) =[absolute] 0) -> z[0](i) =[absolute] 0.5":          "undecided",
	} {
		l := sentence(t, text)
		r := compute(t, l, in)
		if r.Truth != want || r.Sentence != l.Sentence.String() {
			t.Errorf("%s: %q, %q; want %s", text, r.Truth, r.Sentence, want)
		}
		if truth := l.Sentence.Truth().String(); !slices.Contains(r.Notes, truth) || !slices.Contains(r.Notes, l.Sentence.Formula()) {
			t.Errorf("%s: notes %q", text, r.Notes)
		}
		out, err := json.Marshal(r)
		if err != nil || !strings.Contains(string(out), `"truth":"`+want+`"`) {
			t.Errorf("%s, %v", out, err)
		}
	}
}

func TestLogicConfig(t *testing.T) {
	var c struct {
		Metrics []Choice `yaml:"metrics"`
	}
	src := `metrics:
  - logic: "forall[mean] i: z(i) =[squared] y(i)"
  - logic: {name: own, sentence: "forall i: z.a(i) =[squared] 0", codes: {a: [1, 2]}, tuples: 100}
  - logic: {sentence: "forall i: z(i) =[squared] 0"}
`
	must.OK(t, config.Load("metrics.yaml", []byte(src), &c))
	must.EqualSlices(t, ResultNames(c.Metrics), []string{"logic", "own", "logic-2"}, "names")
	text := must.Get(config.Encode(c))(t)
	first := slices.Clone(c.Metrics)
	c.Metrics = nil
	must.OK(t, config.Load("again.yaml", text, &c))
	for i, m := range c.Metrics {
		a, b := first[i].Value.(*Logic), m.Value.(*Logic)
		if a.Sentence.String() != b.Sentence.String() || a.Name != b.Name || fmt.Sprint(a.Codes) != fmt.Sprint(b.Codes) ||
			a.Tuples != b.Tuples || a.Units != b.Units {
			t.Errorf("%+v is read again as %+v", a, b)
		}
	}
}

func TestLogicErrors(t *testing.T) {
	for src, want := range map[string]string{
		`logic`:                                 "metrics.0.logic.sentence: want a sentence, such as: forall",
		`logic: ""`:                             "1:1: ",
		`{logic: "forall i z(i) =[squared] 0"}`: "1:10: ",
		`{logic: {sentence: "forall i: z(i) =[squared] 0", name: mpd}}`:    `mpd is another metric; want a new name`,
		`{logic: {sentence: "forall i: z(i) =[squared] 0", name: "My s"}}`: `"My s" has other characters`,
		`{logic: {sentence: "forall i: z(i) =[squared] 0", tuples: 0}}`:    "0 is out of range; want 1 to 1000000000",
		`{logic: {sentence: "forall i: z(i) =[squared] 0", samples: -1}}`:  "-1 is negative; want 0",
		`{logic: {sentence: "forall i: z(i) =[squared] 0", units: cm}}`:    `unknown units "cm"; want as-given or range`,
		`{logic: {sentence: "forall i: z(i) =[squared] 0", assign: x}}`:    `unknown assignment "x"; want order or best`,
		`{logic: [1]}`: "want a mapping",
	} {
		var c struct {
			Metrics []Choice `yaml:"metrics"`
		}
		err := config.Load("m.yaml", []byte("metrics:\n  - "+src+"\n"), &c)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "m.yaml:2:") {
			t.Errorf("%s: error %v; want %s", src, err, want)
		}
	}
	in, _ := encoded(t, "rotation")
	for text, want := range map[string]string{
		"forall i: z.y4(i) =[squared] 0":                            `1:11: there is no sub-code "y4"`,
		"forall i: z[3](i) =[squared] 0":                            "1:11: columns 3:4 do not exist: the codes have 3 columns",
		"forall i: y.y5(i) =[squared] 0":                            `1:11: there is no factor "y5"`,
		"exists i: y.y1(i) = 0.123 and z(i) =[squared] 0":           "the quantity is infinite",
		"with not = inverse: forall i, j: not z(i) =[squared] z(j)": "or not = inverse negates a quantity of 0",
		"forall i, j: z(i) =[kl] z(j)":                              "the sentence is about posteriors",
		"with z ~ q: forall i: z(i) =[squared] 0":                   "the sentence is about samples of posteriors",
		"forall i, j, g(i, j): z(j) =[squared] act(g, z(i))":        "1:14",
	} {
		_, err := Evaluate(context.Background(), in, 1, []Choice{{Name: "logic", Value: sentence(t, text)}})
		if err == nil || !strings.HasPrefix(err.Error(), "metric logic: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want %s", text, err, want)
		}
	}
	l := sentence(t, "forall i: z.a(i) =[squared] 0")
	l.Codes = factor.SubCodes{"a": {3}}
	must.Error(t, Suits(in, []Choice{{Name: "logic", Value: l}}), "codes.a: column 3 does not exist; codes have columns 0 to 2")
}

func TestLogicVariants(t *testing.T) {
	must.Equal(t, len(NewLogic().Variants()), 2, "variants")
}

// A function in mlp is fitted to convergence. It recovers a non-affine map, with equal results for one seed.
func TestLogicNetwork(t *testing.T) {
	long.NotShort(t)
	in := gridInput(ordinals(6, 5), 2, func(l []int, z []float64) {
		a, b := float64(l[0])/5, float64(l[1])/4
		z[0], z[1] = a*a, b+0.5*a*b
	})
	l := sentence(t, "exists h: z -> y in mlp {layers: [8]}: forall[mean] i: h(z(i)) =[squared] y(i)")
	r := evaluated(t, in, []Choice{{Name: "logic", Value: l}})
	affine := compute(t, sentence(t, "exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)"), in)
	if again := evaluated(t, in, []Choice{{Name: "logic", Value: l}}); !(r.Value <= affine.Value/20) || again.Value != r.Value {
		t.Errorf("%v, and again %v; an affine map has %v", r.Value, again.Value, affine.Value)
	}
}
