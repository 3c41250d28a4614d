package gbt

import (
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

func columns(t testing.TB, rows, cols int, data []float64) *Columns {
	t.Helper()
	return must.Get(NewColumns(rows, cols, data))(t)
}

func classify(t testing.TB, x *Columns, classes []int, o Options) *Classifier {
	t.Helper()
	return must.Get(FitClassifier(ctx, x, classes, o))(t)
}

func regress(t testing.TB, x *Columns, targets []float64, o Options) *Regressor {
	t.Helper()
	return must.Get(FitRegressor(ctx, x, targets, o))(t)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, tolerance)
	}
}

// The first round, calculated by hand.
func TestFirstRound(t *testing.T) {
	x := columns(t, 4, 1, []float64{3, 0, 2, 1})
	o := Options{Rounds: 1, Depth: 1, Rate: 0.1}
	r := regress(t, x, []float64{8, 0, 4, 4}, o) // mean 4; cuts after 1 and 3 rows are equally good: the first wins
	for i, want := range []float64{4 + 0.4/3, 3.6, 4 + 0.4/3, 4 + 0.4/3} {
		near(t, "estimate", r.Fitted()[i], want, 1e-15)
	}
	two := classify(t, x, []int{7, 5, 7, 5}, o) // residuals 1/2, curvature 1/4
	for i, want := range []float64{0.2, -0.2, 0.2, -0.2} {
		near(t, "log-odds", two.model.scores[0][i], want, 1e-15)
	}
	must.EqualSlices(t, two.Fitted(), []int{7, 5, 7, 5}, "classes")
	three := classify(t, x, []int{2, 0, 1, 1}, o) // priors 1/4, 1/2, 1/4; steps of 2/3 residual/curvature
	for i, want := range []float64{-0.25, 0.75, -0.25, -0.25} {
		step := 0.1 * 2 / 3 * map[bool]float64{true: 0.75, false: -0.25}[want > 0] / (0.25 * 0.75)
		near(t, "score of class 0", three.model.scores[0][i], math.Log(0.25)+step, 1e-14)
	}
}

// Thresholds are midpoints. Test rows on a threshold go left. Values within 1e-7 are not separated.
func TestThresholds(t *testing.T) {
	o := Options{Rounds: 1, Depth: 1, Rate: 1}
	r := regress(t, columns(t, 4, 1, []float64{1, 2, 5, 6}), []float64{0, 0, 1, 1}, o)
	got, err := r.Predict(ctx, columns(t, 4, 1, []float64{3.5, 3.5000002, -9, 9}))
	if err != nil || !slices.Equal(got, []float64{0, 1, 0, 1}) {
		t.Errorf("%v, %v", got, err)
	}
	close := regress(t, columns(t, 2, 1, []float64{0, 0.9e-7}), []float64{0, 1}, o)
	if !slices.Equal(close.Fitted(), []float64{0.5, 0.5}) || close.Importance()[0] != 0 {
		t.Errorf("values within 1e-7: %v, importance %v", close.Fitted(), close.Importance())
	}
	apart := regress(t, columns(t, 2, 1, []float64{0, 1.1e-7}), []float64{0, 1}, o)
	if !slices.Equal(apart.Fitted(), []float64{0, 1}) || apart.Importance()[0] != 1 {
		t.Errorf("values apart: %v, importance %v", apart.Fitted(), apart.Importance())
	}
}

// checker compares trees with the definition, without sorted columns.
type checker struct {
	t                 *testing.T
	x                 *Columns
	target, curvature []float64
	importance        []float64
}

// gain returns the decrease of the sum of squares by a split; negative: the split is not allowed.
func (c *checker) gain(rows []int, column int, threshold float64) (gain float64, left, right []int) {
	low, high, sum := float32(math.Inf(-1)), float32(math.Inf(1)), [2]float64{}
	for _, i := range rows {
		if v := c.x.values[column][i]; float64(v) <= threshold {
			left, low = append(left, i), max(low, v)
			sum[0] += c.target[i]
		} else {
			right, high = append(right, i), min(high, v)
			sum[1] += c.target[i]
		}
	}
	if len(left) == 0 || len(right) == 0 || high-low <= 1e-7 {
		return -1, nil, nil
	}
	l, r := float64(len(left)), float64(len(right))
	d := sum[0]/l - sum[1]/r
	return l * r / (l + r) * d * d, left, right
}

// check reports splits that are not optimal, and leaves with wrong steps.
func (c *checker) check(tree tree, at int, rows []int, depth int, scale float64) {
	mean, variance, curvature := 0.0, 0.0, 0.0
	for _, i := range rows {
		mean += c.target[i] / float64(len(rows))
		curvature += c.curvature[i]
	}
	for _, i := range rows {
		variance += (c.target[i] - mean) * (c.target[i] - mean) / float64(len(rows))
	}
	best := -1.0
	for j, values := range c.x.values {
		for _, i := range rows {
			g, _, _ := c.gain(rows, j, float64(values[i]))
			best = max(best, g)
		}
	}
	node := tree[at]
	if node.column < 0 {
		if depth > 0 && best >= 0 && variance > 1e-12 {
			c.t.Errorf("a leaf of %d rows could be split, gain %v", len(rows), best)
		}
		near(c.t, "step of a leaf", node.value, scale*mean*float64(len(rows))/curvature, 1e-9)
		return
	}
	g, left, right := c.gain(rows, int(node.column), node.threshold)
	near(c.t, "gain of a split", g, best, 1e-12*float64(len(rows)))
	c.importance[node.column] += g
	c.check(tree, int(node.leftChild), left, depth-1, scale)
	c.check(tree, int(node.leftChild)+1, right, depth-1, scale)
}

func TestAgainstDefinition(t *testing.T) {
	stream := rng.New(1, "gbt")
	const rows, cols = 60, 4
	data, classes, all := make([]float64, rows*cols), make([]int, rows), make([]int, rows)
	for i := range rows {
		for j := range cols {
			data[i*cols+j] = stream.NormFloat64()
		}
		data[i*cols] = float64(stream.IntN(4)) // equal values
		classes[i], all[i] = 10*(stream.IntN(3)+int(data[i*cols]/3)), i
	}
	x := columns(t, rows, cols, data)
	for _, count := range []int{2, 4} {
		labels := make([]int, rows)
		for i := range labels {
			labels[i] = min(classes[i], 10*(count-1))
		}
		checkClassifier(t, x, labels, all)
	}
}

func checkClassifier(t *testing.T, x *Columns, classes, all []int) {
	t.Helper()
	o := Options{Rounds: 20, Depth: 3, Rate: 0.3}
	c := classify(t, x, classes, o)
	outputs, rows := len(c.model.prior), len(all)
	check := &checker{t, x, make([]float64, rows), make([]float64, rows), make([]float64, len(x.values))}
	scores := make([][]float64, rows)
	for i := range scores {
		scores[i] = slices.Clone(c.model.prior)
	}
	for _, trees := range c.model.rounds {
		next := make([][]float64, rows)
		for i := range next {
			next[i] = slices.Clone(scores[i])
		}
		for k, tree := range trees {
			scale := 1.0
			for i, row := range scores {
				p := 1 / (1 + math.Exp(-row[0]))
				class := c.classes[1]
				if outputs > 1 {
					sum := 0.0
					for _, v := range row {
						sum += math.Exp(v)
					}
					p, class, scale = math.Exp(row[k])/sum, c.classes[k], float64(outputs-1)/float64(outputs)
				}
				check.target[i], check.curvature[i] = -p, p*(1-p)
				if classes[i] == class {
					check.target[i] = 1 - p
				}
			}
			check.check(tree, 0, all, o.Depth, scale)
			for i := range next {
				next[i][k] += o.Rate * tree.leaf(x.values, i).value
			}
		}
		scores = next
	}
	sum := 0.0
	for _, v := range check.importance {
		sum += v
	}
	for j, v := range c.Importance() {
		near(t, "importance", v, check.importance[j]/sum, 1e-9)
	}
	predicted := must.Get(c.model.predict(ctx, x))(t)
	for i := range rows {
		for k := range outputs {
			near(t, "score", c.model.scores[k][i], scores[i][k], 1e-9)
			near(t, "predicted score", predicted[k][i], scores[i][k], 1e-9)
		}
	}
}

// Of equal columns, the first one or a random one is split.
func TestTies(t *testing.T) {
	stream := rng.New(2, "ties")
	const rows = 200
	data, classes := make([]float64, 3*rows), make([]int, rows)
	for i := range rows {
		v := stream.NormFloat64()
		data[3*i], data[3*i+1], data[3*i+2] = 1, v, v
		classes[i] = int(3 + math.Round(v))
	}
	x := columns(t, rows, 3, data)
	if got := classify(t, x, classes, Defaults()).Importance(); got[0] != 0 || got[1] != 1 || got[2] != 0 {
		t.Errorf("first: %v", got)
	}
	o := Defaults()
	o.Ties = rng.New(1, "trees")
	if got := classify(t, x, classes, o).Importance(); got[0] != 0 || !(math.Abs(got[1]-0.5) <= 0.3) {
		t.Errorf("random: %v", got)
	}
}

// Results do not depend on the number of threads: with few outputs, columns run in parallel; with many outputs, trees
// do.
func TestThreads(t *testing.T) {
	stream := rng.New(3, "threads")
	const rows, cols = 300, 6
	data, targets := make([]float64, rows*cols), make([]float64, rows)
	for i := range data {
		data[i] = stream.NormFloat64()
	}
	for i := range targets {
		targets[i] = data[i*cols] * data[i*cols+1]
	}
	run := func(x *Columns, threads int) (got []any) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		o := Defaults()
		o.Rounds, o.Ties = 30, rng.New(1, "trees")
		r := regress(t, x, targets, o)
		got = append(got, r.Fitted(), r.Importance())
		classes := make([]int, rows)
		for i, v := range targets {
			classes[i] = int(math.Round(2 * v))
		}
		c := classify(t, x, classes, o)
		return append(got, c.Fitted(), c.Importance(), c.model.scores)
	}
	for name, x := range map[string]*Columns{"exact": columns(t, rows, cols, data), "binned": binned(t, rows, cols, data, 20)} {
		one := run(x, 1)
		for _, threads := range []int{2, 3, 16} {
			if got := run(x, threads); !reflect.DeepEqual(got, one) {
				t.Errorf("%s, %d threads: results differ from those of one", name, threads)
			}
		}
	}
}

// Too few rows, trees deeper than the number of rows, equal targets.
func TestDegenerate(t *testing.T) {
	deep := Options{Rounds: 1, Depth: 20, Rate: 1}
	r := regress(t, columns(t, 5, 1, []float64{5, 4, 3, 2, 1}), []float64{1, -3, 7, 0, 2}, deep)
	for i, want := range []float64{1, -3, 7, 0, 2} {
		near(t, "a deep tree", r.Fitted()[i], want, 1e-12)
	}
	r = regress(t, columns(t, 3, 2, make([]float64, 6)), []float64{4, 4, 4}, Defaults())
	if !slices.Equal(r.Fitted(), []float64{4, 4, 4}) || !slices.Equal(r.Importance(), []float64{0, 0}) {
		t.Errorf("constant target: %v, %v", r.Fitted(), r.Importance())
	}
	r = regress(t, columns(t, 1, 1, []float64{2}), []float64{9}, Defaults())
	near(t, "one row", r.Fitted()[0], 9, 0)
	c := classify(t, columns(t, 3, 1, make([]float64, 3)), []int{4, -2, 4}, Defaults())
	must.EqualSlices(t, c.Fitted(), []int{4, 4, 4}, "constant column")
}

func TestErrors(t *testing.T) {
	x := columns(t, 2, 1, []float64{0, 1})
	fit := func(classes []int, o Options) error {
		_, err := FitClassifier(ctx, x, classes, o)
		return err
	}
	_, short := NewColumns(2, 2, make([]float64, 3))
	_, nan := NewColumns(1, 2, []float64{0, math.NaN()})
	_, large := NewColumns(2, 1, []float64{0, -1e39})
	_, targets := FitRegressor(ctx, x, []float64{1}, Defaults())
	_, inf := FitRegressor(ctx, x, []float64{1, math.Inf(1)}, Defaults())
	_, options := FitRegressor(ctx, x, []float64{1, 2}, Options{Rounds: 1, Depth: 99, Rate: 1})
	_, predict := regress(t, x, []float64{1, 2}, Defaults()).Predict(ctx, columns(t, 1, 2, []float64{1, 2}))
	_, predictClass := classify(t, x, []int{1, 2}, Defaults()).Predict(ctx, columns(t, 1, 2, []float64{1, 2}))
	for _, test := range []struct {
		err  error
		want string
	}{
		{short, "3 numbers are no table of 2 x 2"},
		{nan, "row 0, column 1 is NaN"},
		{large, "row 1, column 0 is -1e+39; want numbers within single precision"},
		{fit([]int{1, 2, 3}, Defaults()), "there are 3 classes of rows; want 2"},
		{fit([]int{1, 1}, Defaults()), "all rows have class 1"},
		{fit([]int{1, 2}, Options{Depth: 3, Rate: 1}), "0 rounds"},
		{fit([]int{1, 2}, Options{Rounds: 1, Depth: 3}), "learning rate 0"},
		{fit([]int{1, 2}, Options{Rounds: 1, Depth: 3, Rate: math.NaN()}), "learning rate NaN"},
		{targets, "there are 1 targets; want 2"},
		{inf, "target 1 is +Inf"},
		{options, "depth 99; want 1 to 24"},
		{predict, "there are 2 columns; want 1"},
		{predictClass, "there are 2 columns; want 1"},
	} {
		must.Error(t, test.err, test.want)
	}
}

// BenchmarkFit uses 10,000 rows of ten columns: a factor with 32 values, and a regression.
func BenchmarkFit(b *testing.B) {
	stream := rng.New(4, "bench")
	const rows, cols = 10000, 10
	data, classes, targets := make([]float64, rows*cols), make([]int, rows), make([]float64, rows)
	for i := range rows {
		classes[i] = stream.IntN(32)
		targets[i] = float64(classes[i])
		for j := range cols {
			data[i*cols+j] = stream.NormFloat64()
		}
		data[i*cols] += targets[i]
	}
	x := columns(b, rows, cols, data)
	b.Run("classes32", func(b *testing.B) {
		for b.Loop() {
			classify(b, x, classes, Defaults())
		}
	})
	b.Run("regression", func(b *testing.B) {
		for b.Loop() {
			regress(b, x, targets, Defaults())
		}
	})
}
