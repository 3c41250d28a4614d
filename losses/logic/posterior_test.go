package logic

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
)

// TestHardPosteriors tests values and gradients for equal posteriors, zero vectors and extreme numbers.
func TestHardPosteriors(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		text             string
		means, variances []float64 // two rows of one column; log variances
		value            float64
		slopes           []float64 // of means, then of log variances
	}{
		// Equal posteriors.
		{`forall[sum] i, j: z(i) =[kl] z(j)`, []float64{3, 3}, []float64{0.5, 0.5}, 0, []float64{0, 0, 0, 0}},
		{`forall[sum] i, j: z(i) =[wasserstein] z(j)`, []float64{3, 3}, []float64{0.5, 0.5}, 0, []float64{0, 0, 0, 0}},
		{`forall[sum] i: z(i) =[kl] z(i)`, []float64{3, 1}, []float64{0.5, -2}, 0, []float64{0, 0, 0, 0}},
		// Equal variances: half the squared distance, and the distance.
		{`forall i, j: z(i) =[kl] z(j)`, []float64{0, 2}, []float64{0, 0}, 2, []float64{-2, 2, 0, -2}},
		{`forall i, j: z(i) =[wasserstein] z(j)`, []float64{0, 2}, []float64{0, 0}, 2, []float64{-1, 1, 0, 0}},
		// Equal means: 1/2 (u/v - 1 - log(u/v)) with u/v = 4, which is larger than with 1/4.
		{`forall i, j: z(i) =[kl] z(j)`, []float64{5, 5}, []float64{0, math.Log(4)}, (3 - math.Log(4)) / 2, []float64{0, 0, -1.5, 1.5}},
		{`forall i, j: z(i) =[wasserstein] z(j)`, []float64{5, 5}, []float64{0, math.Log(4)}, 1, []float64{0, 0, -0.5, 1}},
		// Tiny differences: t^2/4.
		{`forall i, j: z(i) =[kl] z(j)`, []float64{0, 0}, []float64{0, 1e-8}, 2.5e-17 * (1 + 1e-8/3), []float64{0, 0, -5e-9, 5e-9}},
		// Small variances, and an infinite divergence without a gradient.
		{`exists i, j: i != j and z(i) =[kl] z(j)`, []float64{1, 1}, []float64{-600, -601}, math.Exp(-1) / 2, nil},
		{`forall i, j: z(i) =[kl] z(j)`, []float64{0, 1}, []float64{-2000, 0}, inf, []float64{0, 0, 0, 0}},
		{`forall i, j: z(i) =[wasserstein] z(j)`, []float64{0, 1}, []float64{-2000, -2000}, 1, []float64{-1, 1, 0, 0}},
		{`forall i, j: z(i) =[wasserstein] z(j)`, []float64{0, 1}, []float64{2000, 2000}, 1, []float64{-1, 1, 0, 0}},
		// Zero vectors, and vectors of equal and opposite directions.
		{`forall[sum] i, j: z(i) =[cosine] z(j)`, []float64{0, 0}, nil, 0, []float64{0, 0}},
		{`forall[sum] i, j: z(i) =[cosine] z(j)`, []float64{0, 2}, nil, 2, []float64{0, 0}},
		{`forall[sum] i, j: z(i) =[cosine] z(j)`, []float64{1, 2}, nil, 0, []float64{0, 0}},
		{`forall i, j: z(i) =[cosine] z(j)`, []float64{1, -1e-30}, nil, 2, []float64{0, 0}},
		// Zeros and ties of aggregators: the first zero of harmonic counts, and the only zero of a product.
		{`exists[harmonic] i: z(i) =[absolute] 0`, []float64{0, 0}, nil, 0, []float64{0, 0}},
		{`exists[harmonic] i: z(i) =[squared] 0`, []float64{2, 2}, nil, 2, []float64{1, 1}},
		{`exists[harmonic] i: z(i) + 1 =[absolute] z(i) + z(i)`, []float64{1, 3}, nil, 0, []float64{0, 0}},
		{`exists[logexp] i: z(i) =[absolute] 0 or z(i) =[absolute] 5`, []float64{0, 3}, nil, 0, []float64{0, 0}},
		{`exists[tanh] i: z(i) =[squared] 0`, []float64{30, 40}, nil, 900, []float64{60, 0}},
		{`exists[soft 2] i: z(i) =[squared] 0`, []float64{1, 1}, nil, 1, []float64{1, 1}},
		{`exists[soft 2] i: z(i) =[squared] 0`, []float64{0, 0}, nil, 0, []float64{0, 0}},
		{`forall[norm] i: z(i) =[squared] 0`, []float64{0, 0}, nil, 0, []float64{0, 0}},
		{`forall[root] i: z(i) =[squared] 0`, []float64{0, 3}, nil, 9, []float64{0, 6}},
		{`exists[harmonic] i: i != i and z(i) =[squared] 0`, []float64{0, 3}, nil, inf, []float64{0, 0}},
		{`exists[soft 1] i: i != i and z(i) =[squared] 0`, []float64{0, 3}, nil, inf, []float64{0, 0}},
		{`forall[product] i: i != i -> z(i) =[squared] 0`, []float64{0, 3}, nil, 0, []float64{0, 0}},
		// Strict operations are step functions of terms that do not vary.
		{`with -> = strict: forall[sum] i, j: z(i) =[discrete] z(j) -> z(i) =[squared] 0`, []float64{2, 2}, nil, 16, []float64{8, 8}},
		{`with -> = strict: forall[sum] i, j: z(i) =[discrete] z(j) -> z(i) =[squared] 0`, []float64{2, 1}, nil, 5, []float64{4, 2}},
		{`with not = strict: forall[sum] i, j: not z(i) =[discrete] z(j) or z(i) =[absolute] 0.25`, []float64{2, 0.5}, nil, 1.25, []float64{0, 1}},
	} {
		q, err := Compile(parsed(t, c.text), Schema{Codes: 1})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		b := batch{z: column(c.means...), y: column(0, 0)[:0], labels: column(0, 0)[:0]}
		if c.variances == nil {
			c.variances = []float64{0, 0}
		}
		b.logVariances, b.means = column(c.variances...), b.z
		checkHard(t, c.text, q, b, c.value, c.slopes)
	}
}

func checkHard(t *testing.T, text string, q *Quantity, b batch, value float64, slopes []float64) {
	t.Helper()
	e := load(t, q, batch{z: b.z, logVariances: b.logVariances})
	v, err := e.Value(false)
	if err != nil || !(v == value || math.Abs(v-value) <= 1e-9*value) {
		t.Errorf("%s: %v, %v, want %v", text, v, err, value)
		return
	}
	e.Gradient(1)
	got := append([]float64{}, e.Slope(0)...)
	if q.NeedsLogVariances() {
		got = append(got, e.Slope(q.program.Input(program.LogVariances, 1))...)
	}
	for i, want := range slopes {
		if !near(got[i], want) {
			t.Errorf("%s: gradient %v, want %v", text, got, slopes)
			return
		}
	}
}

// TestPosteriorGradients compares gradients in means and log variances, including extreme ones, with finite
// differences.
func TestPosteriorGradients(t *testing.T) {
	schema := Schema{Codes: 2, Factors: []string{"a"}}
	for _, text := range []string{
		`forall[mean] i, j: i != j -> z(i) =[kl] z(j)`,
		`forall[mean] i, j: i != j -> z(i) =[wasserstein] z(j)`,
		`with z ~ q: forall[mean] i, j: i != j -> z(i) =[squared] z(j) and z[0](i) =[kl] z[1](j)`,
		`forall[mean] i: exists[soft 0.5] j: i != j and z(i) =[wasserstein] z(j)`,
		`forall[norm] i, j: i != j -> z(i) =[cosine] z(j) and z(i) =[kl] z(j)`,
		`exists[harmonic] i, j: i != j and z(i) =[kl] z(j)`,
	} {
		q := must.Get(Compile(parsed(t, text), schema))(t)
		b := batch{z: [][]float64{{0.3, -1}, {2, 0.5}, {-0.7, 1.1}}, y: column(0, 1, 0), labels: column(0, 1, 0),
			logVariances: [][]float64{{-4, 0.5}, {1, -3}, {3, 0}}, means: [][]float64{{0.1, -1}, {1.5, 0.2}, {-0.2, 1}}}
		gradcheck.Check(t, gradcheck.Case{Name: text, Inputs: inputs(b, q), Build: build(q), Tolerance: 1e-5, Tolerance32: 1e-4})
	}
}

// TestPosteriorProperties tests properties of divergences and distances of posteriors: monotone in columns, additive,
// and a metric.
func TestPosteriorProperties(t *testing.T) {
	b := batches(12, 6)["continuous"]
	at := func(text string) float64 {
		t.Helper()
		q := compiled(t, parsed(t, text))
		return must.Get(q.ValueOf(Batch{Codes: b.z, LogVariances: b.logVariances}))(t)
	}
	if whole, parts := at(`forall[sum] i, j: z(i) =[kl] z(j)`),
		at(`forall[sum] i, j: z[0:2](i) =[kl] z[0:2](j) and z[2:4](i) =[kl] z[2:4](j)`); !(math.Abs(whole-parts) <= 1e-9*whole) {
		t.Errorf("a divergence of %v, of its columns %v", whole, parts)
	}
	if a, b := at(`forall[sum] i, j: z(i) =[wasserstein] z(j)`), at(`forall[sum] i, j: z(j) =[wasserstein] z(i)`); !(math.Abs(a-b) <= 1e-12*a) {
		t.Errorf("distances of %v and %v", a, b)
	}
	if v := at(`forall i, j, k: z(i) =[wasserstein] z(j) and z(j) =[wasserstein] z(k) -> z(i) =[wasserstein] z(k)`); !(v <= 1e-12) {
		t.Errorf("the triangle inequality fails by %v", v)
	}
	if a, b := at(`forall[sum] i, j: z(i) =[wasserstein] z(j)`), at(`forall[sum] i, j: z(i) =[euclidean] z(j)`); !(a >= b) {
		t.Errorf("distances of posteriors %v, of their means %v", a, b)
	}
	if v := at(`forall[mean] i, j: z(i) =[cosine] z(j) -> 4 * z(i) =[cosine] 0.5 * z(j)`) + at(`forall[mean] i, j: 4 * z(i) =[cosine] 0.5 * z(j) -> z(i) =[cosine] z(j)`); !(v <= 1e-12) {
		t.Errorf("cosines change by %v with lengths", v)
	}
}

// TestNoOperations tests that named losses as sentences compute without the losses' operations.
func TestNoOperations(t *testing.T) {
	for _, text := range []string{
		`forall[mean] v in y.shape: forall[mean] i, j: y.shape(i) = v and y.shape(j) = v -> z(i) =[squared] z(j)`,
		`forall i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)`,
		`with z ~ q: forall i, j: y.hue(i) = y.hue(j) -> z(i) =[euclidean] z(j)`,
	} {
		q, b := compiled(t, parsed(t, text)), batches(2, 12)["continuous"]
		if len(q.summands) == 0 {
			t.Errorf("%s is no named loss", text)
		}
		want, _ := evaluate(t, tensor.Float64, b, build(q))
		got, _ := evaluate(t, tensor.Float64, b, func(in []*gorgonia.Node) (*gorgonia.Node, error) { return q.NodeOf(Named{}, nodes(q, in)) })
		if got != want || want == 0 {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestDraws tests that a batch without samples gets samples from the log variances and the stream.
func TestDraws(t *testing.T) {
	q := must.Get(Compile(parsed(t, `with z ~ q: forall[mean] i: z(i) =[squared] 3`), Schema{Codes: 1}))(t)
	b := Batch{Codes: make([][]float64, 20000), LogVariances: make([][]float64, 20000)}
	for i := range b.Codes {
		b.Codes[i], b.LogVariances[i] = []float64{1}, []float64{math.Log(9)}
	}
	v, err := q.ValueOf(b)
	if err != nil || !(math.Abs(v-13) <= 0.5) { // (1 - 3)^2 + 9
		t.Errorf("%v, %v, want about 13", v, err)
	}
	if again, _ := q.ValueOf(b); again != v {
		t.Errorf("%v, then %v", v, again)
	}
	b.Samples = b.Codes
	must.Equal(t, must.Get(q.ValueOf(b))(t), 4, "of given samples")
	if _, err := q.ValueOf(Batch{Codes: b.Codes}); err == nil ||
		err.Error() != "logic: the sentence is about samples (z ~ q), but the model gives neither samples nor log variances" {
		t.Error(err)
	}
	if _, err := q.NodeOf(Named{},
		Inputs{Codes: gradcheck.Node(gorgonia.NewGraph(), tensor.Float64, "z", 2, 1)}); err == nil || err.Error() != "logic: the sentence is about samples (z ~ q), and there are none" {
		t.Error(err)
	}
}
