package logic_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/logic"
)

func inverseOf(kind losses.Inverse) func(in nodes) (*gorgonia.Node, error) {
	return func(in nodes) (*gorgonia.Node, error) { return losses.LeftInverse(kind, 0, in[0], in[1], in[2]) }
}

// productOf computes the paper's q_product of three factors and their codes.
func productOf(d factor.Deviation, a factor.Aggregate) func(in nodes) (*gorgonia.Node, error) {
	return func(in nodes) (*gorgonia.Node, error) {
		return losses.Modularity(d, a, losses.Plain, in[0], in[2], factor.Block{Factor: 0, Columns: []int{0, 1}},
			factor.Block{Factor: 1, Columns: []int{2}}, factor.Block{Factor: 2, Columns: []int{3}})
	}
}

// functionLosses are named losses as sentences with functions.
func functionLosses() map[string]struct {
	text  string
	named int // parts with a ready operation
	node  func(in nodes) (*gorgonia.Node, error)
} {
	type entry = struct {
		text  string
		named int
		node  func(in nodes) (*gorgonia.Node, error)
	}
	product := func(outer, inner, premetric string) string {
		body := func(factor, code string) string {
			return `(forall[` + outer + `] v in y.` + factor + `: forall[` + inner + `] i: y.` + factor + `(i) = v -> ` +
				code + `(i) =[` + premetric + `] m.` + factor + `(v))`
		}
		return `exists m.shape: y.shape -> z.shape, m."x y": y."x y" -> z."x y", m.hue: y.hue -> z[3]: ` +
			body("shape", "z.shape") + ` and ` + body(`"x y"`, `z."x y"`) + ` and ` + body("hue", "z[3]")
	}
	return map[string]entry{
		"least squares":  {`0.3333333333333333 * (exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i))`, 0, inverseOf(losses.LeastSquares)},
		"least absolute": {`0.3333333333333333 * (exists h: z -> y in affine: forall[mean] i: h(z(i)) =[absolute] y(i))`, 0, inverseOf(losses.LeastAbsolute)},
		"minimax":        {`exists h: z -> y in affine: forall i: h(z(i)) =[euclidean] y(i)`, 0, inverseOf(losses.Minimax)},
		"minimax by factor": {`with and = norm: exists h.a: z -> y[0] in affine, h.b: z -> y[1] in affine, h.c: z -> y[2] in affine:
			(forall i: y(i) = y(i) -> h.a(z(i)) =[absolute] y[0](i)) and (forall i: y(i) = y(i) -> h.b(z(i)) =[absolute] y[1](i)) and (forall i: y(i) = y(i) -> h.c(z(i)) =[absolute] y[2](i))`, 0, inverseOf(losses.MinimaxByFactor)},
		"product variance":     {product("mean", "mean-square", "euclidean"), 3, productOf(factor.Variance, factor.Mean)},
		"product square":       {product("sum", "mean", "squared"), 3, productOf(factor.Variance, factor.Sum)},
		"product mad":          {product("mean", "mean", "euclidean"), 3, productOf(factor.MAD, factor.Mean)},
		"product radius":       {product("max", "max", "euclidean"), 3, productOf(factor.Radius, factor.Max)},
		"product over all":     {`exists m.shape: y.shape -> z.shape: forall i: z.shape(i) =[euclidean] m.shape(y.shape(i))`, 1, blocksOf(factor.Radius, factor.Max, 0, 0, 1)},
		"product of one":       {`exists m.hue: y.hue -> z[3]: 2 * (forall[mean] v in y.hue: 0.5 * (forall[mean] i: y.hue(i) = v -> m.hue(y.hue(i)) =[absolute] z[3](i)))`, 1, blocksOf(factor.MAD, factor.Mean, 2, 3)},
		"product at the level": {`exists m.hue: y.hue -> z[3]: forall[mean-square] v in y.hue: forall[mean] i: y.hue(i) = v -> m.hue(y.hue(i)) =[euclidean] z[3](i)`, 1, blocksOf(factor.MAD, factor.MeanSquare, 2, 3)},
	}
}

// TestFunctionsAreNamedLosses compares sentences with functions with the equal named losses, in values and gradients,
// with and without the operations of these losses.
func TestFunctionsAreNamedLosses(t *testing.T) {
	for name, c := range functionLosses() {
		q := logic.Compiled(t, logic.Parsed(t, c.text))
		must.Equal(t, q.Summands(), c.named, name, "named parts")
		for _, data := range []string{"continuous", "grid", "copy", "constant", "one level"} {
			b := logic.Batches(3, 41)[data]
			for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
				tolerance := 1e-9
				if dt == tensor.Float32 {
					tolerance = 1e-5
				}
				want, slope := logic.Evaluate(t, dt, b, c.node)
				for way, node := range map[string]func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error){"named": named(q), "sentence": q.Node} {
					got, gradient := logic.Evaluate(t, dt, b, func(in nodes) (*gorgonia.Node, error) { return node(in[0], in[1], in[2]) })
					if !(math.Abs(got-want) <= tolerance*max(1, want)) {
						t.Errorf("%s as %s of %s in %v: %v, want %v", name, way, data, dt, got, want)
					}
					if data != "continuous" { // one-sided at ties
						continue
					}
					for i, g := range gradient {
						if !(math.Abs(g-slope[i]) <= 10*tolerance*max(1, math.Abs(slope[i]))) {
							t.Errorf("%s as %s in %v: gradient %d is %v, want %v", name, way, dt, i, g, slope[i])
							break
						}
					}
				}
			}
		}
	}
}
