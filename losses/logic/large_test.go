package logic

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
)

// largeSentences cover every path of the machine: groups, halves of symmetric pairs, tests of single rows, many tuples
// at once, parts of the work, and pairs of groups.
func largeSentences() []string {
	return []string{
		`forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall[sum] i, j: y(i) = y(j) -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall[mean-square] i, j: y.hue(i) = y.hue(j) -> z.big(i) + 0.5 * y(i) =[euclidean] z.big(j) + 0.5 * y(j)`,
		`forall[mean] i, j: z.big(i) =[squared] z.big(j)`,
		`forall[mean] i, j: 2 * z.shape(i) =[euclidean] 2 * z.shape(j)`,
		`forall[mean] i, j: z.shape(i) =[absolute] z.shape(j)`,
		`forall[mean] i, j: i != j -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall[mean-square] i, j: y.shape(i) != y.shape(j) -> z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)`,
		`forall i, j: y.shape(i) = y.shape(j) and i != j -> z[0](i) =[absolute] z[1](j)`,
		`forall[mean] i: exists j: y.shape(j) = y.shape(i) and j != i and z(i) =[squared] z(j)`,
		`exists i, j: i != j and z.shape(i) =[euclidean] z.shape(j)`,
		`forall[mean] i: z(i) =[squared] 0 or z(i) =[squared] [1, 0, 0, 1]`,
		`forall[mean-square] v in y.shape: forall[sum] i: y.shape(i) = v -> exists c in z.shape: forall[mean] j: y.shape(j) = v and i != j -> z.shape(j) =[euclidean] c`,
		`with and = norm, -> = root: forall[mean] v in y.shape: forall[mean] i: y.shape(i) = v -> (exists c in {0, 0.5}: z.shape(i) =[euclidean] c) and z[2](i) =[circular] z[3](i)`,
		`(forall[mean] i, j: z.shape(i) =[euclidean] z.shape(j)) -> 0.5 * (forall[mean] v in y.shape: forall[mean] i, j: y.shape(i) = v and y.shape(j) = v -> z.shape(i) =[euclidean] z.shape(j))`,
		`0.5 * (forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)) and 2 * (forall[max] v in y.shape: exists c in z.shape: forall i: y.shape(i) = v -> z.shape(i) =[euclidean] c) and (forall[mean] i: z(i) =[squared] 0)`,
		`3 * (forall[mean-square] v in y.shape: forall[mean] i, j: y.shape(i) = v and y.shape(j) = v -> z.shape(i) =[euclidean] z.shape(j))`,
		`not (forall[mean] i, j, k: y.shape(i) = y.shape(j) and y.hue(j) = y.hue(k) and y(i) = y(k) -> z(i) + z(k) =[euclidean] 2 * z(j))`,
	}
}

func TestLargeBatches(t *testing.T) {
	long.NotShort(t)
	b := batches(7, 210)["continuous"]
	b.z[17], b.z[40] = b.z[3], b.z[3] // repeated points
	for _, text := range long.Sample(largeSentences(), 8) {
		s := parsed(t, text)
		q := compiled(t, s)
		v := must.Get(q.Value(b.z, b.y, b.labels))(t)
		if !strings.Contains(text, "c in z") && !strings.Contains(text, "k") { // slow tuple by tuple
			w := q.world(Batch{Codes: b.z, Values: b.y, Labels: b.labels})
			if want := w.reference(s.tree.Quantale, s.tree.Body); !(math.Abs(v-want) <= 1e-11*max(1, want)) {
				t.Errorf("%s: %v, want %v", text, v, want)
			}
		}
		gradcheck.Check(t, gradcheck.Case{Name: text, Inputs: inputs(b, q), Build: build(q), Samples: 3, Tolerance: 1e-5, Tolerance32: 2e-4,
			Want: func([][]float64) []float64 { return []float64{v} }})
	}
}

// TestShapes tests which sentences run on half of the pairs.
func TestShapes(t *testing.T) {
	for k, text := range largeSentences()[:11] {
		q, ok := compiled(t, parsed(t, text)).program.Root.(*program.Quantifier)
		if half := k < 8 || k == 10; !ok || q.Symmetric != half {
			t.Errorf("%s: by halves %v, want %v", text, !half, half)
		}
	}
}

// TestWays compares the machine with the named losses, and float32 with float64.
func TestWays(t *testing.T) {
	b := batches(8, 150)["continuous"]
	for _, text := range largeSentences() {
		q := compiled(t, parsed(t, text))
		value, slope := evaluate(t, tensor.Float64, b, build(q))
		machine := func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error) {
			return q.NodeOf(Named{}, Inputs{Codes: z, Values: y, Labels: labels})
		}
		for name, node := range map[string]func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error){"named": q.Node, "machine": machine} {
			for dt, tolerance := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-4} {
				v, g := evaluate(t, dt, b, func(in []*gorgonia.Node) (*gorgonia.Node, error) { return node(in[0], in[1], in[2]) })
				if !(math.Abs(v-value) <= tolerance*max(1, value)) {
					t.Errorf("%s, %s in %v: %v, want %v", text, name, dt, v, value)
				}
				for i := range g {
					if !(math.Abs(g[i]-slope[i]) <= tolerance*max(1, math.Abs(slope[i]))) {
						t.Fatalf("%s, %s in %v: gradient %d is %v, want %v", text, name, dt, i, g[i], slope[i])
					}
				}
			}
		}
	}
}
