package gbt

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// made returns n numbers from a named random stream.
func made(n int, name string, number func(s *rng.Stream, i int) float64) []float64 {
	stream, values := rng.New(1, name), make([]float64, n)
	for i := range values {
		values[i] = number(stream, i)
	}
	return values
}

// ascendingColumns are ascending columns of several kinds.
func ascendingColumns(n int) map[string][]float64 {
	all := map[string][]float64{}
	for name, number := range map[string]func(s *rng.Stream, i int) float64{
		"whole":        func(s *rng.Stream, _ int) float64 { return float64(s.IntN(7)) },
		"continuous":   func(s *rng.Stream, _ int) float64 { return s.NormFloat64() },
		"nearly equal": func(s *rng.Stream, _ int) float64 { return 1 + 6e-8*float64(s.IntN(3*n)) },
		"constant":     func(*rng.Stream, int) float64 { return 3 },
		"far":          func(s *rng.Stream, _ int) float64 { return 1e30 * s.NormFloat64() },
		"two":          func(_ *rng.Stream, i int) float64 { return float64(i % 2) },
	} {
		all[name] = made(n, name, number)
		slices.Sort(all[name])
	}
	return all
}

// Trees on a Column agree with trees on a table with one column.
func TestColumnRegress(t *testing.T) {
	const n = 400
	for name, values := range ascendingColumns(n) {
		table := columns(t, n, 1, values)
		column := must.Get(NewColumn(values))(t)
		for target, of := range map[string]func(s *rng.Stream, i int) float64{
			"wave":  func(s *rng.Stream, i int) float64 { return math.Sin(5*values[i]) + 0.3*s.NormFloat64() },
			"noise": func(s *rng.Stream, _ int) float64 { return s.NormFloat64() },
			"offset": func(s *rng.Stream, i int) float64 {
				return 1e8 + values[i]/(1+math.Abs(values[i])) + 0.1*s.NormFloat64()
			},
			"tiny":     func(s *rng.Stream, _ int) float64 { return 3e-8 * s.NormFloat64() },
			"constant": func(*rng.Stream, int) float64 { return 0.1 },
			"steps":    func(_ *rng.Stream, i int) float64 { return math.Sqrt(float64(i / 77)) },
		} {
			targets := made(n, name+target, of)
			for _, o := range []Options{Defaults(), {Rounds: 30, Depth: 1, Rate: 1}, {Rounds: 20, Depth: 7, Rate: 0.5}} {
				r := regress(t, table, targets, o)
				got := must.Get(column.Regress(ctx, targets, o))(t)
				near := 1e-9*(slices.Max(targets)-slices.Min(targets)) + 1e-15*float64(o.Rounds)*math.Abs(targets[0])
				for i, want := range r.Fitted() {
					if v := got[column.group[i]]; !(math.Abs(v-want) <= near) {
						t.Fatalf("%s of %s, %+v: row %d is %v, want %v", target, name, o, i, v, want)
					}
				}
			}
		}
	}
}

// Two cuts of a classifier are often equally good, and rounding errors decide between them. The test compares the trees
// with the definition, and the deviance with the fit of a table with one column.
func TestColumnClassify(t *testing.T) {
	long.NotShort(t)
	const n = 400
	for name, values := range ascendingColumns(n) {
		table := columns(t, n, 1, values)
		column := must.Get(NewColumn(values))(t)
		for _, classes := range []int{2, 3, 7} {
			stream, labels := rng.New(uint64(classes), name), make([]int, n)
			for i := range labels {
				if labels[i] = -2 + 5*(i*classes/n); stream.IntN(3) == 0 {
					labels[i] = -2 + 5*stream.IntN(classes)
				}
			}
			o := Options{Rounds: 20, Depth: 3, Rate: 0.1}
			want := classify(t, table, labels, o)
			f := checkClassFit(t, fmt.Sprintf("%d classes of %s", classes, name), column, labels, want.classes, o)
			got := must.Get(column.Classify(ctx, labels, o))(t)
			scores := f.byGroup(f.scores)
			decided := bestClasses(scores)
			right, wantRight := 0, 0
			for i, class := range want.Fitted() {
				g := column.group[i]
				if k, _ := slices.BinarySearch(want.classes, got[g]); k != decided[g] {
					t.Fatalf("%d classes of %s: row %d is class %d, but class %d has the best score", classes, name, i, k, decided[g])
				}
				if got[g] == labels[i] {
					right++
				}
				if class == labels[i] {
					wantRight++
				}
			}
			if !(math.Abs(float64(right-wantRight)) <= 0.02*n) {
				t.Errorf("%d classes of %s: %d rows are right, want about %d", classes, name, right, wantRight)
			}
			near(t, "deviance", deviance(scores, column.group, labels, want.classes), deviance(want.model.scores, nil, labels, want.classes), 0.01)
		}
	}
}

// deviance returns the mean of -log p(class) over the rows. With nil groups, every row is a group.
func deviance(scores [][]float64, groups []int32, labels, classes []int) float64 {
	total := 0.0
	for i, label := range labels {
		g := i
		if groups != nil {
			g = int(groups[i])
		}
		own, _ := slices.BinarySearch(classes, label)
		if len(scores) == 1 {
			total += math.Log1p(math.Exp(float64(1-2*own) * scores[0][g]))
			continue
		}
		sum := 0.0
		for _, row := range scores {
			sum += math.Exp(row[g])
		}
		total += math.Log(sum) - scores[own][g]
	}
	return total / float64(len(labels))
}

// checkClassFit boosts one tree at a time, and checks each tree row by row.
func checkClassFit(t *testing.T, name string, c *Column, labels, classes []int, o Options) *classFit {
	t.Helper()
	f := newClassFit(c, labels, classes)
	residual, curvature := make([]float64, len(labels)), make([]float64, len(labels))
	for range o.Rounds {
		f.expect()
		before, expected := f.byGroup(f.scores), f.byGroup(f.expected)
		rises := make([]map[int]float64, len(before)) // by output and group: difference of the score
		for k := range before {
			rises[k] = map[int]float64{}
			class, scale := classes[k], float64(len(classes)-1)/float64(len(classes))
			if len(f.scores) == 1 {
				class, scale = classes[1], 1
			}
			for i, label := range labels {
				p := expected[k][c.group[i]]
				if residual[i], curvature[i] = -p, p*(1-p); label == class {
					residual[i] = 1 - p
				}
			}
			f.boost(k, o)
			checkTree(t, name, c, f.leaves, residual, o.Depth)
			for _, l := range f.leaves {
				first, second := 0.0, 0.0
				for i := int(c.count[l.low]); i < int(c.count[l.high]); i++ {
					first += residual[i]
					second += curvature[i]
				}
				for g := l.low; g < l.high; g++ {
					rises[k][g] = o.Rate * scale * first / second
				}
			}
		}
		f.addSteps()
		f.expect()
		for k, row := range f.byGroup(f.scores) {
			for g, score := range row {
				near(t, name, score-before[k][g], rises[k][g], 1e-9)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	return f
}

// byGroup expands a list by step to a list by group.
func (f *classFit) byGroup(values [][]float64) [][]float64 {
	all := make([][]float64, len(values))
	for k, row := range values {
		for s, v := range row {
			all[k] = append(all[k], slices.Repeat([]float64{v}, f.end(s)-f.starts[s])...)
		}
	}
	return all
}

// checkTree checks that leaves are the leaves of a greedy tree.
func checkTree(t *testing.T, name string, c *Column, leaves []segment, residual []float64, depth int) {
	t.Helper()
	if !greedy(c, leaves, residual, depth) {
		t.Fatalf("%s: leaves %v do not follow the best cuts", name, leaves)
	}
}

func greedy(c *Column, leaves []segment, residual []float64, depth int) bool {
	low, high := leaves[0].low, leaves[len(leaves)-1].high
	rows := residual[int(c.count[low]):int(c.count[high])]
	sum, squares := sumsOf(rows)
	n := float64(len(rows))
	if depth == 0 || high-low == 1 {
		return len(leaves) == 1
	}
	if squares/n-sum*sum/n/n < 1e-12 { // rounding errors decide whether it is split
		return true
	}
	gain := func(middle int) float64 {
		at := int(c.count[middle] - c.count[low])
		a, _ := sumsOf(rows[:at])
		m := float64(at)
		return a*a/m + (sum-a)*(sum-a)/(n-m) - sum*sum/n
	}
	best := 0.0
	for middle := low + 1; middle < high; middle++ {
		best = max(best, gain(middle))
	}
	for i := 1; i < len(leaves); i++ {
		if gain(leaves[i].low) >= best-1e-9*squares && greedy(c, leaves[:i], residual, depth-1) && greedy(c, leaves[i:], residual, depth-1) {
			return true
		}
	}
	return false
}

func sumsOf(rows []float64) (sum, squares float64) {
	for _, v := range rows {
		sum += v
		squares += v * v
	}
	return sum, squares
}

func TestColumnGroups(t *testing.T) {
	values := []float64{0, 0, 1, 1 + 5e-8, 2, 4}
	c := must.Get(NewColumn(values))(t)
	must.EqualSlices(t, c.group, []int32{0, 0, 1, 1, 2, 3}, "groups")
	got := c.Groups([]float64{-9, 0.4, 0.5, 0.5 + 1e-9, 0.51, 1.2, 3, 3.1, 1e30}) // the fourth is 0.5 in single precision
	must.EqualSlices(t, got, []int32{0, 0, 0, 0, 1, 1, 2, 3, 3}, "groups of others")
	targets := []float64{1, 2, 3, 5, 8, 13}
	r := regress(t, columns(t, len(values), 1, values), targets, Defaults())
	mine := must.Get(c.Regress(ctx, targets, Defaults()))(t)
	others := []float64{-1, 0.25, 0.5, 0.75, 1.4, 1.6, 3, 3.0001, 7}
	want := must.Get(r.Predict(ctx, columns(t, len(others), 1, others)))(t)
	for i, g := range c.Groups(others) {
		if !(math.Abs(mine[g]-want[i]) <= 1e-12) {
			t.Errorf("at %v: %v, want %v", others[i], mine[g], want[i])
		}
	}
}

// Calculated by hand: the first of equal cuts, and no cuts in pure nodes.
func TestColumnTrees(t *testing.T) {
	c := must.Get(NewColumn([]float64{0, 1, 2, 3}))(t)
	o := Options{Rounds: 1, Depth: 1, Rate: 0.1}
	got, err := c.Regress(ctx, []float64{0, 4, 4, 8}, o) // mean 4; cuts after 1 and 3 rows are equally good
	must.OK(t, err)
	for g, want := range []float64{3.6, 4 + 0.4/3, 4 + 0.4/3, 4 + 0.4/3} {
		near(t, "estimate", got[g], want, 1e-15)
	}
	o.Depth = 3
	for _, classes := range [][]int{{5, 5, 7, 7}, {5, 5, 7, 7, 7, 8, 8, 8}} {
		c := must.Get(NewColumn([]float64{0, 1, 2, 3, 4, 5, 6, 7}[:len(classes)]))(t)
		f := newClassFit(c, classes, slices.Compact(slices.Clone(classes)))
		f.expect()
		f.boost(0, o)
		if len(f.leaves) != 2 || f.leaves[0].high != 2 {
			t.Errorf("leaves %v of %v, want those of rows 0, 1 and of the others", f.leaves, classes)
		}
	}
}

func TestColumnMistakes(t *testing.T) {
	c := must.Get(NewColumn([]float64{1, 2}))(t)
	second := func(_ any, err error) error { return err }
	for want, err := range map[string]error{
		"no rows":                    second(NewColumn(nil)),
		"row 1 is 1, after 2":        second(NewColumn([]float64{2, 1})),
		"row 1 is NaN":               second(NewColumn([]float64{2, math.NaN()})),
		"row 0 is 1e+39":             second(NewColumn([]float64{1e39})),
		"targets of 1 rows; want 2":  second(c.Regress(ctx, []float64{1}, Defaults())),
		"target 1 is NaN":            second(c.Regress(ctx, []float64{1, math.NaN()}, Defaults())),
		"targets of 3 rows; want 2":  second(c.Classify(ctx, []int{1, 2, 3}, Defaults())),
		"all rows have class 4":      second(c.Classify(ctx, []int{4, 4}, Defaults())),
		"0 rounds; want 1 to 100000": second(c.Classify(ctx, []int{4, 5}, Options{Depth: 1, Rate: 1})),
	} {
		must.Error(t, err, want)
	}
}

func BenchmarkColumn(b *testing.B) {
	const n = 7500
	values := ascendingColumns(n)["continuous"]
	column := must.Get(NewColumn(values))(b)
	targets, classes := make([]float64, n), make([]int, n)
	stream := rng.New(5, "targets")
	for i, v := range values {
		targets[i], classes[i] = math.Sin(2*v)+0.2*stream.NormFloat64(), i*3/n+stream.IntN(2)
	}
	b.Run(fmt.Sprint("regress/", n), func(b *testing.B) {
		for b.Loop() {
			must.Get(column.Regress(ctx, targets, Defaults()))(b)
		}
	})
	b.Run(fmt.Sprint("classify/", n), func(b *testing.B) {
		for b.Loop() {
			must.Get(column.Classify(ctx, classes, Defaults()))(b)
		}
	})
}
