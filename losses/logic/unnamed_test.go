package logic

import (
	"math"
	"testing"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/must"
)

// TestUnnamed tests sentences that resemble named losses. The machine of sentences computes them literally.
func TestUnnamed(t *testing.T) {
	schema := testSchema
	schema.SubCodes = map[string][]int{"shape": {0, 1}, "twice": {0, 0}}
	for _, text := range []string{
		`forall[mean] v in y.shape: forall[mean] i, j: y.shape(i) = v and y.shape(i) = v -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall[mean] v in y.shape: forall[mean] i, j: y.shape(i) = v and y.shape(j) != v -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall[mean] v in y.shape: forall[mean] i, j: y.shape(i) = v and y.hue(j) = 0.5 -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall[mean] v in y.shape: forall[mean] i, j: y.shape(i) = v and y.shape(j) = v -> z.shape(i) =[euclidean] z.shape(i)`,
		`forall[mean] v in y.shape: forall[mean] i, j: y.shape(i) = v and y.shape(j) = v -> z.shape(i) =[euclidean] z[1:3](j)`,
		`forall[mean] v in y.shape: forall[mean] i, j: y.shape(i) = v and y.shape(j) = v -> z.shape(i) =[euclidean] y[0:2](j)`,
		`forall[mean] v in y.shape: forall[mean] i, j: y.shape(i) = v and y.shape(j) = v -> z.twice(i) =[euclidean] z.twice(j)`,
		`forall[mean] v in y.shape: forall[sum] i, j: y.shape(i) = v and y.shape(j) = v -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall[mean] v in y.shape: forall[max] i, j: y.shape(i) = v and y.shape(j) = v -> z.shape(i) =[squared] z.shape(j)`,
		`forall[mean] v in y.shape: exists c in z.shape: forall[sum] i: y.shape(i) = v -> z.shape(i) =[euclidean] c`,
		`forall[mean] v in y.shape: exists c in z.shape: forall i: y.shape(i) = v -> z.shape(i) =[squared] c`,
		`forall[mean] v in y.shape: exists c in z.twice: forall i: y.shape(i) = v -> z.twice(i) =[euclidean] c`,
		`forall[mean] v in y.shape: exists c in z.shape: forall i: y.shape(i) != v -> z.shape(i) =[euclidean] c`,
		`forall[sum] v, w in y.shape: forall[mean] i, j: y.shape(i) = v and y.shape(j) = v -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall i, j: y.shape(i) != y.shape(j) -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall i, j: y[0:2](i) = y[0:2](j) -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall i, j: y.shape(i) = y.shape(i) -> z.shape(i) =[euclidean] z.shape(j)`,
		`forall[mean] i, j: z(i) =[euclidean] z(i) -> y(i) =[euclidean] y(j)`,
		`forall[mean] i, j: z(i) =[squared] z(j) -> y(i) =[euclidean] y(j)`,
		`forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[squared] y(j)`,
		`forall[mean] i, j: z(i) =[euclidean] z(j) -> y(j) =[euclidean] y(j)`,
		`forall[mean] i, j: z.twice(i) =[euclidean] z.twice(j) -> y(i) =[euclidean] y(j)`,
		`with -> = norm: forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)`,
		`forall[mean] i, j: i != j -> z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)`,
		`with and = max: (forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)) and forall[mean] i: z(i) =[squared] 0`,
	} {
		s := parsed(t, text)
		q := must.Get(Compile(s, schema))(t)
		if len(q.summands) > 0 {
			t.Errorf("%s is taken for a named loss", text)
		}
		b := batches(5, 17)["continuous"]
		want := q.world(Batch{Codes: b.z, Values: b.y, Labels: b.labels}).reference(s.tree.Quantale, s.tree.Body)
		if v := run(t, tensor.Float64, q, b); !(math.Abs(v-want) <= 1e-3*want) {
			t.Errorf("%s: %v, want %v", text, v, want)
		}
	}
}
