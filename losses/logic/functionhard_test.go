package logic

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// TestFunctionsAtHardPoints tests values and gradients for few, equal and unknown rows, and for ties.
func TestFunctionsAtHardPoints(t *testing.T) {
	squares := `exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)`
	levels := `exists m: y.a -> z: forall[mean] i: z(i) =[euclidean] m(y.a(i))`
	for _, c := range []struct {
		text      string
		z, labels [][]float64
		value     float64
		gradient  []float64
	}{
		{squares, column(0, 1, 2), column(0, 0, 1), 1. / 18, []float64{-1. / 18, 1. / 9, -1. / 18}},
		{squares, column(1, 2), column(0, 1), 0, []float64{0, 0}},                   // as many rows as parameters
		{squares, column(3), column(1), 0, []float64{0}},                            // fewer rows than parameters
		{squares, column(1, 1, 1), column(0, 1, 2), 2. / 3, []float64{0, 0, 0}},     // constant codes
		{squares, column(1, 1, 2, 2), column(0, 0, 1, 1), 0, []float64{0, 0, 0, 0}}, // repeated rows
		{squares, column(0, 1, 2, 9), column(0, 0, 1, -1), 1. / 18, []float64{-1. / 18, 1. / 9, -1. / 18, 0}},
		{squares, column(1, 2), column(-1, -1), 0, []float64{0, 0}}, // no rows
		{`exists h: z -> y in linear: forall[sum] i: h(z(i)) =[squared] y(i)`, column(1, 2), column(1, 1), 1. / 5, []float64{-12. / 25, 6. / 25}},
		{`exists h: z -> y in linear: forall i: h(z(i)) =[squared] y(i)`, column(0, 0), column(1, 2), 4, []float64{0, 0}},
		{`exists h: z -> y in affine: forall[sum] i: h(z(i)) =[absolute] y(i)`, column(0, 0), column(0, 1), 1, []float64{0, 0}},
		{`exists h: z -> y in affine: forall i: h(z(i)) =[euclidean] y(i)`, column(0, 1, 2), column(0, 0, 1), 0.25, []float64{-1. / 8, 1. / 4, -1. / 8}},
		{`exists h: z -> y in affine: forall i: h(z(i)) =[euclidean] y(i)`, column(0, 1, 2), column(0, 1, 0), 0.5, []float64{0, 0, 0}},
		{`exists h: z -> y in isometry: forall[mean] i: h(z(i)) =[squared] y(i)`, column(0, 1), column(0, 2), 0.25, []float64{0.5, -0.5}},
		{`exists h: z -> y in isometry: forall[mean] i: h(z(i)) =[squared] y(i)`, column(3, 3), column(1, 1), 0, []float64{0, 0}},
		{levels, column(1, 3, 9, 100), column(0, 0, 1, -1), 2. / 3, []float64{-1. / 3, 1. / 3, 0, 0}},
		{levels, column(1, 1, 9), column(0, 0, 1), 0, []float64{0, 0, 0}},
		{levels, column(1, 2), column(-1, -1), 0, []float64{0, 0}},
		{`exists m: y.a -> z: forall i: z(i) =[euclidean] m(y.a(i))`, column(0, 2, 0, 2), column(0, 0, 1, 1), 1, []float64{-0.5, 0.5, 0, 0}}, // the first tie
		{`exists m: y.a -> z: forall[sum] i: z(i) =[absolute] m(y.a(i))`, column(0, 1, 5, 7), column(2, 2, 2, 0), 5, []float64{-1, 0, 1, 0}},
		{`exists m: y.a -> z: forall[mean] v in y.a: forall[mean] i: y.a(i) = v -> z(i) =[squared] m(v)`, column(0, 2, 5), column(3, 3, 1), 0.5, []float64{-0.5, 0.5, 0}},
		{`exists h: z -> y in affine by least squares: forall i: h(z(i)) =[euclidean] y(i)`, column(0, 1, 2), column(0, 0, 1), 1. / 3, []float64{-1. / 6, 1. / 3, -1. / 6}},
		{`exists h: z -> y in affine by least squares: forall i: h(z(i)) =[euclidean] y(i)`, column(0, 1), column(5, 7), 0, []float64{0, 0}},
		{`exists h: z -> y in affine by max: forall[mean] i: h(z(i)) =[absolute] y(i)`, column(2, 2), column(5, 7), 1, []float64{0, 0}},
		{`exists h: z -> y in affine by absolute: forall[mean] i: h(z(i)) =[squared] y(i)`, column(1, 1, 1), column(0, 1, 3), 5. / 3, []float64{0, 0, 0}},
		{`exists m: y.a -> z by least squares: forall i: z(i) =[euclidean] m(y.a(i))`, column(0, 3, 3, 7), column(0, 0, 0, 1), 2, []float64{-2. / 3, 1. / 3, 1. / 3, 0}},
		{`exists m: y.a -> z by absolute: forall i: z(i) =[squared] m(y.a(i))`, column(4), column(0), 0, []float64{0}},
		{`(exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)) or forall i: z(i) =[absolute] 1`, column(1, 2), column(0, 1), 0, []float64{0, 0}},
	} {
		q, err := Compile(parsed(t, c.text), lineSchema)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			v, g := evaluate(t, dt, batch{z: c.z, y: c.labels, labels: c.labels}, build(q))
			if !(math.Abs(v-c.value) <= 1e-6) || !slices.EqualFunc(g, c.gradient, func(a, b float64) bool { return math.Abs(a-b) <= 2e-6 }) {
				t.Errorf("%s of %v, %v: %v, gradient %v in %v, want %v, %v", c.text, c.z, c.labels, v, g, dt, c.value, c.gradient)
			}
		}
	}
}

// TestFunctionsNotFinite tests that NaN and infinity in codes propagate to value and gradient.
func TestFunctionsNotFinite(t *testing.T) {
	for _, text := range functionSentences() {
		q, b := compiled(t, parsed(t, text)), batches(1, 9)["continuous"]
		for _, z := range b.z {
			z[0], z[1], z[2], z[3] = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		}
		v, g := evaluate(t, tensor.Float64, b, build(q))
		if !math.IsNaN(v) || !slices.ContainsFunc(g, math.IsNaN) {
			t.Errorf("%s: %v, gradient %v, want NaN", text, v, g)
		}
	}
}

// TestDegenerateFunctions tests that values and gradients are finite, and values nonnegative, for all batches.
func TestDegenerateFunctions(t *testing.T) {
	long.NotShort(t)
	for _, text := range functionSentences() {
		q := compiled(t, parsed(t, text))
		for _, rows := range long.Sample([]int{1, 2, 3, 9, 40}, 3) {
			for name, b := range batches(rows, rows) {
				for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
					v, g := evaluate(t, dt, b, build(q))
					if !(v >= 0) || math.IsInf(v, 0) || slices.ContainsFunc(g, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
						t.Errorf("%s of %d rows %s: %v, gradient %v in %v", text, rows, name, v, g, dt)
					}
				}
			}
		}
	}
}

// A map fitted to all columns at once has a limit on the number of parameters. Fits of single columns and functions of
// levels have none.
func TestLargeFunctions(t *testing.T) {
	all := numeric.UpTo(50)
	schema := Schema{Codes: 50, SubCodes: map[string][]int{"most": all[:39], "less": all[:38]}, Factors: []string{"a"}}
	const large = "a map of 2000 numbers, want fewer than 2000 for forall["
	for text, want := range map[string]string{
		"exists h: z.most -> z in affine: forall i: h(z.most(i)) =[euclidean] z(i)":       large + "max] with =[euclidean]", // (39 + 1) * 50
		"exists h: z.most -> z in affine: forall i: h(z.most(i)) =[squared] z(i)":         large + "max] with =[squared]",
		"exists h: z.most -> z in affine: forall[mean] i: h(z.most(i)) =[euclidean] z(i)": large + "mean] with =[euclidean]",
		"exists h: z.most -> z in affine: forall[mean] i: h(z.most(i)) =[squared] z(i)":   "",
		"exists h: z.most -> z in affine: forall[mean] i: h(z.most(i)) =[absolute] z(i)":  "",
		"exists h: z.less -> z in affine: forall i: h(z.less(i)) =[euclidean] z(i)":       "",
		"exists h: z.less -> z in affine: forall[mean] i: h(z.less(i)) =[euclidean] z(i)": "",
		"exists m: y.a -> z: forall i: m(y.a(i)) =[euclidean] z(i)":                       "",
	} {
		must.ErrorOf(Compile(parsed(t, text), schema))(t, want, text)
	}
}

func TestFunctionErrors(t *testing.T) {
	for text, want := range map[string]string{
		`forall h: z -> y in affine: forall i: h(z(i)) =[squared] y(i)`:                                               `1:8: found a function after forall, want exists`,
		`exists h: z -> x in affine: forall i: h(z(i)) =[squared] y(i)`:                                               `1:16: found "x", want y (factors) or z (codes)`,
		`exists h: z -> y in afine: forall i: h(z(i)) =[squared] y(i)`:                                                `1:21: unknown class "afine" of functions; did you mean "affine"?`,
		`exists h: z -> y in affine by squares: forall i: h(z(i)) =[squared] y(i)`:                                    `1:31: found "squares", want what a function is fitted by: least squares, absolute or max`,
		`exists h: z -> y in affine by least norm: forall i: h(z(i)) =[squared] y(i)`:                                 `1:37: found "norm", want squares`,
		`exists h: z -> y: forall i: h(z(i)) =[squared] y(i)`:                                                         `1:8: h has no class, and only functions of levels may omit it`,
		`exists h: z -> y in isometry: forall[mean] i: h(z(i)) =[squared] y(i)`:                                       `1:8: there is no isometry of 4 columns into 3 columns`,
		`exists h: z.shape -> y in isometry: forall i: h(z.shape(i)) =[squared] y(i)`:                                 `1:61: an isometry by max with =[squared] has no exact solution here: want exists`,
		`exists h: z -> y in affine, h: z -> y in linear: forall i: h(z(i)) =[squared] y(i)`:                          `1:29: the function h is named twice`,
		`exists h: z -> y in affine: forall i: z(i) =[squared] z(i)`:                                                  `1:8: the function h is not applied`,
		`exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y.hue(i)`:                                     `1:53: h(z(i)) has 3 columns and the other term 1 column, want terms of one width`,
		`exists h: z -> y in affine: forall[mean] i: h(z.shape(i)) =[squared] y(i)`:                                   `1:45: h is a function of z, got z.shape(i)`,
		`exists h: z -> y in affine: forall[mean] i: h(z(i)) =[circular] y(i)`:                                        `1:53: =[circular] of a function's values`,
		`exists h: z -> y in affine: forall i: h(z(i)) =[absolute] y(i)`:                                              `1:47: forall[max] with =[absolute] has no exact solution here: want exists`,
		`exists h: z -> y in affine: forall[mean-square] i: h(z(i)) =[squared] y(i)`:                                  `1:60: forall[mean-square] with =[squared] has no exact solution here`,
		`exists h: z -> y in affine: forall[mean] i: h(z(i)) - y(i) =[squared] 0`:                                     `1:60: a function's value is not alone on its side`,
		`exists h: z -> z in affine: forall[mean] i: h(z(i)) =[squared] h(z(i))`:                                      `1:53: two functions are applied in one equality`,
		`exists h: z -> z in affine: forall[mean] i: h(h(z(i))) =[squared] z(i)`:                                      `1:56: two functions are applied in one equality`,
		`exists h: z -> y in affine: (forall[mean] i: h(z(i)) =[squared] y(i)) and forall i: h(z(i)) =[squared] y(i)`: `1:85: h is applied twice, and its quantities are not separate`,
		`exists h: z -> y in affine: not forall[mean] i: h(z(i)) =[squared] y(i)`:                                     `1:29: a function is applied in a negation, where smaller is not better`,
		`exists h: z -> y in affine: (forall i: h(z(i)) =[squared] y(i)) -> forall i: z(i) =[squared] 0`:              `1:65: a function is applied left of ->, where smaller is not better`,
		`exists h: z -> y in affine: exists i: h(z(i)) =[squared] y(i)`:                                               `1:39: h(z(i)) is used where no function can be fitted`,
		`exists h: z -> y in affine: forall i: h(z(i)) = y(i)`:                                                        `1:39: a plain = of`,
		`exists h: z -> y in affine: forall v in y.hue: forall[mean] i: y.hue(i) = v -> h(z(i)) =[squared] y(i)`:      `1:80: h is one function for all v, and each of them would need its own`,
		`exists m: y.hue -> z: forall v in y.shape: forall[mean] i: y.shape(i) = v -> m(y.hue(i)) =[squared] z(i)`:    `1:78: m is one function for all v`,
		`exists m: y.hue -> z: forall[mean] i: m(y.shape(i)) =[squared] z(i)`:                                         `1:39: m is a function of y.hue, got y.shape(i)`,
		`exists m: y.hue -> z: forall[mean] i: m(0) =[squared] z(i)`:                                                  `1:39: m is a function of levels of y.hue, got 0`,
		`exists h: z -> y in affine: forall i: h(z(i)) =[squared] y(i) or z(i) =[squared] 0`:                          `1:63: the minimum under forall[max] differs from the minima of the parts, combined by or`,
		`exists h: z -> y in affine: forall i: h(z(i)) =[squared] y(i) and z(i) =[squared] 0`:                         `1:63: the minimum under forall[max] differs from the minima of the parts, combined by and`,
		`with and = max: exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i) and z(i) =[squared] 0`:   `1:85: the minimum under forall[mean] differs from the minima of the parts, combined by and`,
		`exists h: z -> y in mlp {layers: [0]}: forall i: h(z(i)) =[squared] y(i)`:                                    `1:35: found "0", want the width of a layer`,
		`exists h: z -> y.size in affine: forall i: h(z(i)) =[squared] y(i)`:                                          `1:16: there is no factor "size"`,
		`exists[soft 1] h: z -> y in affine: forall i: h(z(i)) =[squared] y(i)`:                                       `1:1: exists[soft`,
		`exists h: z -> y in affine: forall[norm] i: h(z(i)) =[squared] y(i)`:                                         `1:29: forall[norm] of a function's values`,
	} {
		s, err := Parse(text)
		if err == nil {
			_, err = Compile(s, testSchema)
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	// Names of functions are also valid names of variables and rows.
	for _, text := range []string{`exists h: z(h) =[squared] 0`, `forall by, affine: z(by) =[squared] z(affine)`,
		`exists h in {0, 1}: forall i: z(i) =[squared] h`} {
		if _, err := Compile(parsed(t, text), testSchema); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
