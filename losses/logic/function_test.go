package logic

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// functionSentences have functions of every class and method.
func functionSentences() []string {
	return []string{
		`exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)`,
		`exists h: z.big -> y in affine: forall[sum] i: y(i) =[squared] h(z.big(i))`,
		`exists h: z.shape -> y in linear: forall[mean-square] i: h(z.shape(i)) =[euclidean] y(i)`,
		`exists h: z.shape -> y in affine: forall[mean] i: h(z.shape(i)) =[absolute] y(i)`,
		`exists h: z.shape -> y.hue in linear: forall[sum] i: h(z.shape(i)) =[euclidean] y.hue(i)`,
		`exists h: z.shape -> y in affine: forall[mean] i: h(z.shape(i)) =[euclidean] y(i)`,
		`exists h: z.shape -> y in linear: forall[mean] i: h(z.shape(i)) =[euclidean] y(i)`,
		`exists h: z.shape -> y in affine: forall i: h(z.shape(i)) =[euclidean] y(i)`,
		`exists h: z.shape -> y in linear: forall i: h(z.shape(i)) =[squared] y(i)`,
		`exists h: z.shape -> y.hue in affine: forall i: h(z.shape(i)) =[absolute] y.hue(i)`,
		`exists h: z.shape -> y in isometry: forall[mean] i: h(z.shape(i)) =[squared] y(i)`,
		`exists h: z.shape -> z[1:3] in isometry: forall[mean-square] i: h(z.shape(i)) =[euclidean] z[1:3](i)`,
		`exists h: z.shape -> z[2:4] in affine: forall[mean] i: h(z.shape(i)) =[squared] z[2:4](i)`,
		`exists h: z.shape -> z[2:4] in affine: forall i: h(z.shape(i)) =[euclidean] z[2:4](i)`,
		`exists h: z.shape -> z[2:4] in affine: forall[mean] i: h(z.shape(i)) =[euclidean] z[2:4](i)`,
		`exists h: y -> z.shape in affine: forall[mean] i: h(y(i)) =[absolute] z.shape(i)`,
		`exists m.shape: y.shape -> z.shape: forall[mean] i: z.shape(i) =[squared] m.shape(y.shape(i))`,
		`exists m.shape: y.shape -> z.shape: forall[mean] i: z.shape(i) =[euclidean] m.shape(y.shape(i))`,
		`exists m.shape: y.shape -> z.shape: forall i: z.shape(i) =[squared] m.shape(y.shape(i))`,
		`exists m.shape: y.shape -> z.shape: forall[sum] i: z.shape(i) =[absolute] m.shape(y.shape(i))`,
		`exists m: y[0:2] -> z: forall[mean-square] i: y.hue(i) != 0 -> m(y[0:2](i)) =[euclidean] z(i)`,
		`exists m.shape: y.shape -> z.shape, m.hue: y.hue -> z[2]: forall[mean] i: z.shape(i) =[euclidean] m.shape(y.shape(i)) and 0.5 * (z[2](i) =[absolute] m.hue(y.hue(i)))`,
		`exists m.shape: y.shape -> z.shape: forall[mean] v in y.shape: forall i: y.shape(i) = v -> z.shape(i) =[euclidean] m.shape(v)`,
		`exists m.shape: y.shape -> z.shape: forall[mean] v in y.shape: forall[mean] i: y.shape(i) = v -> m.shape(y.shape(i)) =[squared] z.shape(i)`,
		`with and = norm: exists h.hue: z.shape -> y.hue in affine, h.shape: z.shape -> y.shape in affine: (forall i: h.hue(z.shape(i)) =[absolute] y.hue(i)) and (forall i: h.shape(z.shape(i)) =[absolute] y.shape(i))`,
		`exists h: z.shape -> y in affine by least squares: forall i: h(z.shape(i)) =[euclidean] y(i)`,
		`exists h: z.shape -> y in linear by least squares: forall[mean] i: h(z.shape(i)) =[absolute] y(i)`,
		`exists h: z.shape -> z[2:4] in affine by least squares: forall[mean] i: h(z.shape(i)) =[euclidean] z[2:4](i)`,
		`exists h: z.shape -> y in affine by absolute: forall[mean] i: h(z.shape(i)) =[squared] y(i)`,
		`exists h: z.shape -> z[2:4] in linear by absolute: forall i: h(z.shape(i)) =[euclidean] z[2:4](i)`,
		`exists h: z.shape -> y in affine by max: forall[mean] i: h(z.shape(i)) =[squared] y(i)`,
		`exists h: z.shape -> z[2:4] in linear by max: forall[mean] i: h(z.shape(i)) =[squared] z[2:4](i)`,
		`exists h: z.shape -> y.hue in affine by max: forall[mean] i: h(z.shape(i)) =[euclidean] y.hue(i)`,
		`exists h: z.shape -> z[1:4] in isometry by least squares: forall[mean] i: h(z.shape(i)) =[euclidean] z[1:4](i)`,
		`exists m.shape: y.shape -> z.shape by least squares: forall i: z.shape(i) =[euclidean] m.shape(y.shape(i))`,
		`exists m.shape: y.shape -> z.shape by max: forall[mean] i: z.shape(i) =[squared] m.shape(y.shape(i))`,
		`exists m.shape: y.shape -> z.shape by absolute: forall[mean] i: z.shape(i) =[squared] m.shape(y.shape(i))`,
		`forall[mean] v in y.hue: exists h: z.shape -> y.shape in affine: forall[mean] i: y.hue(i) = v -> h(z.shape(i)) =[squared] y.shape(i)`,
	}
}

// TestFunctionGradients compares gradients of sentences with functions with finite differences.
func TestFunctionGradients(t *testing.T) {
	long.NotShort(t)
	b := batches(3, 24)["continuous"]
	for i := range b.y { // targets in general position
		for k := range b.y[i] {
			b.y[i][k] += math.Sin(float64(7*i + 3*k))
		}
	}
	for _, text := range functionSentences() {
		q, err := Compile(parsed(t, text), testSchema)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		must.Equal(t, q.Sentence().String(), text, text, "is printed as")
		gradcheck.Check(t, gradcheck.Case{Name: text, Inputs: inputs(b, q), Build: build(q), Tolerance: 1e-5, Tolerance32: 1e-2, Floor32: 1})
	}
}
