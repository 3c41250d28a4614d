package metrics_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// TestKNNGolden computes the formulas of Wu et al. 2018 in double precision; see testdata/README.md.
func TestKNNGolden(t *testing.T) {
	var want map[string]struct {
		TrainRows int `json:"train_rows"`
		Settings  []struct {
			Metric      Distance
			K           int
			Temperature float64
			PerFactor   []float64 `json:"per_factor"`
		}
	}
	readJSON(t, "testdata/knn/expected.json", &want)
	checked := 0
	eachLibraryCase(t, "modularity", 21, func(t *testing.T, in *Input, _ map[string]libraryValue) {
		w, ok := want[filepath.Base(t.Name())]
		if !ok {
			return
		}
		checked++
		for _, s := range w.Settings {
			m := named("knn").(*KNN)
			m.K, m.Temperature, m.Distance, m.TrainRows = s.K, s.Temperature, s.Metric, w.TrainRows
			r := compute(t, m, in)
			for j, v := range s.PerFactor {
				near(t, string(s.Metric)+" "+in.Factors[j].Name, r.Part("per_factor")[j], v, 1e-12)
			}
		}
	})
	if checked != len(want) || checked != 5 {
		t.Errorf("%d of %d cases", checked, len(want))
	}
}

// A probe that trains on the first rows is the logistic regression of downstream, with scikit-learn's values.
func TestProbeGolden(t *testing.T) {
	var want map[string]struct {
		TrainRows int       `json:"train_rows"`
		Logistic  []float64 `json:"logistic"`
	}
	readJSON(t, "testdata/downstream/expected.json", &want)
	checked := 0
	eachLibraryCase(t, "modularity", 21, func(t *testing.T, in *Input, _ map[string]libraryValue) {
		w, ok := want[strings.TrimPrefix(filepath.Base(t.Name()), "B_")]
		if !ok {
			return
		}
		checked++
		m := named("probe").(*Probe)
		m.TrainRows = w.TrainRows
		r := compute(t, m, in)
		for j, v := range w.Logistic {
			near(t, in.Factors[j].Name, r.Part("per_factor")[j], v, 1.01/float64(in.Codes.Rows-w.TrainRows))
		}
	})
	must.Equal(t, checked, 8, "cases")
}

// neighbourCases are codes with neighbours that are equal in single precision, with copies, or without a direction.
func neighbourCases() map[string]matrix.Matrix {
	r := rng.New(7, "neighbours")
	codes := func(rows, columns int, f func(i, c int) float64) matrix.Matrix {
		m := matrix.Matrix{Rows: rows, Cols: columns}
		for i := range rows {
			for c := range columns {
				m.Data = append(m.Data, f(i, c))
			}
		}
		return m
	}
	some := make([]float64, 40)
	for i := range some {
		some[i] = r.NormFloat64()
	}
	return map[string]matrix.Matrix{
		"random":      codes(1400, 17, func(int, int) float64 { return r.NormFloat64() }),
		"wide":        codes(300, 200, func(int, int) float64 { return r.NormFloat64() }),
		"one column":  codes(200, 1, func(int, int) float64 { return r.NormFloat64() }),
		"close":       codes(900, 5, func(_, c int) float64 { return some[c] + 1e-9*r.NormFloat64() }),
		"copies":      codes(900, 4, func(i, c int) float64 { return some[i%10*4+c] }),
		"constant":    codes(700, 3, func(_, c int) float64 { return some[c] }),
		"zeros":       codes(300, 3, func(i, c int) float64 { return float64(i%3) * some[c] }),
		"far away":    codes(600, 3, func(int, int) float64 { return 1e6 + r.NormFloat64() }),
		"enormous":    codes(600, 3, func(int, int) float64 { return 1e300 * r.NormFloat64() }),
		"tiny":        codes(600, 3, func(int, int) float64 { return 1e-300 * r.NormFloat64() }),
		"one outlier": codes(600, 3, func(i, _ int) float64 { return r.NormFloat64() * math.Pow(1e5, float64(1-min(i, 1))) }),
	}
}

// Neighbours are exact in double precision, however close. Among equal ones the first row comes first.
func TestNeighbours(t *testing.T) {
	long.NotShort(t)
	for name, codes := range neighbourCases() {
		train, test := make([]int, 0, codes.Rows), make([]int, 0, codes.Rows)
		for i := range codes.Rows {
			if i%4 == 1 {
				test = append(test, i)
			} else {
				train = append(train, i)
			}
		}
		for _, distance := range []Distance{"cosine", "euclidean"} {
			all := bruteForce(codes, distance, train, test)
			for _, k := range []int{1, 20} {
				m := named("knn").(*KNN)
				m.K, m.Distance = k, distance
				rows, scores, err := Neighbours(m, codes, train, test)
				must.OK(t, err)
				for at := range test {
					want := all[at]
					got, s := rows[at*k:(at+1)*k], scores[at*k:(at+1)*k]
					for i, row := range got {
						if !(math.Abs(want[i].score-want[slices.IndexFunc(want, func(x ranked) bool { return x.row == row })].score) <= 1e-15) {
							t.Fatalf("%s, %s: neighbour %d of row %d is %d, want %d", name, distance, i, test[at], train[row], train[want[i].row])
						}
						if i > 0 && (!(s[i] <= s[i-1]) || s[i] == s[i-1] && row < got[i-1]) {
							t.Fatalf("%s, %s: neighbours of row %d are out of order", name, distance, test[at])
						}
					}
				}
			}
		}
	}
}

type ranked struct {
	row   int
	score float64
}

// bruteForce ranks all train rows for each test row with a separate formula.
func bruteForce(codes matrix.Matrix, d Distance, train, test []int) [][]ranked {
	size := 0.0
	for _, v := range codes.Data {
		size = max(size, math.Abs(v))
	}
	rows := make([][]float64, codes.Rows)
	for i := range rows {
		x := slices.Clone(codes.Row(i))
		var square float64
		for c := range x {
			x[c] /= size
			square += x[c] * x[c]
		}
		for c := range x {
			if d == "cosine" && square > 0 {
				x[c] /= math.Sqrt(square)
			}
		}
		rows[i] = x
	}
	all := make([][]ranked, len(test))
	for n, row := range test {
		for at, i := range train {
			var score float64
			for c, v := range rows[i] {
				if y := rows[row][c]; d == "cosine" {
					score += v * y
				} else {
					score -= (v - y) * (v - y) / 2
				}
			}
			all[n] = append(all[n], ranked{at, score})
		}
		slices.SortFunc(all[n], func(a, b ranked) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row)) })
	}
	return all
}

// directions returns codes with one direction for each level of each factor.
func directions(factors []factor.Factor) *Input {
	width := 0
	for _, f := range factors {
		width += f.Size
	}
	return gridInput(factors, width, func(l []int, z []float64) {
		clear(z)
		first := 0
		for j, level := range l {
			z[first+level] = 1
			first += factors[j].Size
		}
	})
}

func TestKNNOracles(t *testing.T) {
	in := directions(ordinals(4, 5, 6, 3, 3))
	n := in.Codes.Rows
	value := func(m Metric, in *Input) Result {
		in.Stream = rng.New(1, "knn")
		return compute(t, m, in)
	}
	one := named("knn").(*KNN)
	one.K = 1
	perfect := value(named("knn").(*KNN), in)
	if !(perfect.Value >= 0.99) {
		t.Errorf("codes with a direction for each level have %v", perfect.Value)
	}
	few := named("knn").(*KNN)
	few.Samples = n / 2
	if r := value(few, in); !(r.Value >= 0.95) || r.Basis.Rows != n/2 {
		t.Errorf("half of the rows have %v, %v", r.Value, r.Basis)
	}
	few.Samples = n
	if r := value(few, in); r.Value != perfect.Value || r.Notes != nil {
		t.Errorf("all rows as a sample have %v, %q, and %v without", r.Value, r.Notes, perfect.Value)
	}
	few.Samples, few.TrainRows = n/2, n/2
	if r := value(few, in); len(r.Notes) > 0 {
		t.Errorf("train_rows: %q", r.Notes)
	}
	scaled, permuted, doubled := *in, *in, *in
	scaled.Codes.Data, permuted.Codes.Data = slices.Clone(in.Codes.Data), slices.Clone(in.Codes.Data)
	doubled.Codes = matrix.Matrix{Rows: n, Cols: 2 * in.Codes.Cols}
	for i := range n {
		for c, v := range in.Codes.Row(i) {
			scaled.Codes.Data[i*in.Codes.Cols+c] = v * float64(1+i%7)
			permuted.Codes.Data[i*in.Codes.Cols+in.Codes.Cols-1-c] = v
		}
		doubled.Codes.Data = append(append(doubled.Codes.Data, in.Codes.Row(i)...), in.Codes.Row(i)...)
	}
	for name, other := range map[string]*Input{"lengths": &scaled, "an order of columns": &permuted, "columns twice": &doubled} {
		if v := value(named("knn").(*KNN), other).Value; !(math.Abs(v-perfect.Value) <= 0.02) {
			t.Errorf("with %s the value is %v, not %v", name, v, perfect.Value)
		}
	}
	copies := *in // every code twice: the copy, mostly a train row, reveals the levels
	copies.Codes = matrix.Matrix{Rows: 2 * n, Cols: in.Codes.Cols, Data: append(slices.Clone(in.Codes.Data), in.Codes.Data...)}
	copies.Levels = append(slices.Clone(in.Levels), in.Levels...)
	copies.Codes.Data = slices.Clone(copies.Codes.Data)
	r := rng.New(2, "noise")
	for i := range n * in.Codes.Cols {
		copies.Codes.Data[i] = r.NormFloat64()
		copies.Codes.Data[n*in.Codes.Cols+i] = copies.Codes.Data[i]
	}
	if v := value(one, &copies).Value; !(v >= 0.7) {
		t.Errorf("copies have %v", v)
	}
	constant := *in
	constant.Codes.Data = make([]float64, len(in.Codes.Data))
	for _, m := range []Metric{named("knn").(*KNN), named("probe").(*Probe)} {
		if r := value(m, &constant); !(r.Value <= 0.36) || r.Part("majority") == nil {
			t.Errorf("constant codes have %v", r.Value)
		}
	}
	if r := value(named("probe").(*Probe), &constant); !slices.Equal(r.Part("per_factor"), r.Part("majority")) {
		t.Errorf("probes of constant codes have %v, the most frequent levels %v", r.Part("per_factor"), r.Part("majority"))
	}
}

// Cosine sees only the sign of a single column. A note says so, unless the signs tell all values apart.
func TestKNNOfOneColumn(t *testing.T) {
	for levels, want := range map[int]bool{2: false, 3: true, 5: true} {
		in := &Input{Codes: matrix.Matrix{Rows: 200, Cols: 1}, Factors: ordinals(levels)}
		for i := range in.Codes.Rows {
			in.Codes.Data, in.Levels = append(in.Codes.Data, float64(i%levels)-float64(levels-1)/2), append(in.Levels, i%levels)
		}
		for _, distance := range []Distance{"cosine", "euclidean"} {
			m := named("knn").(*KNN)
			m.Distance, in.Stream = distance, rng.New(1, "knn")
			r, noted := compute(t, m, in), want && distance == "cosine"
			const note = "cosine sees only the sign of a single column; want metric: euclidean"
			if slices.Contains(r.Notes, note) != noted || (r.Value == 1) == noted {
				t.Errorf("%d levels, %s: %v, notes %q", levels, distance, r.Value, r.Notes)
			}
		}
	}
}

// R^2 is 1 for codes affine in levels, or in cosine and sine of angles. For continuous factors it is the score.
func TestProbeRegression(t *testing.T) {
	factors := ordinals(5, 6, 7, 3)
	factors[1].Kind, factors[3].Kind = factor.Circular, factor.Categorical
	in := gridInput(factors, 4, func(l []int, z []float64) {
		s, c := math.Sincos(2 * math.Pi * float64(l[1]) / 6)
		z[0], z[1], z[2], z[3] = 3-float64(l[0]), c+s, c-s, math.Pow(float64(l[2]), 2)
	})
	in.Exact = make([][]float64, 4)
	for i := range in.Codes.Rows {
		in.Exact[2] = append(in.Exact[2], math.Pow(float64(in.Levels[i*4+2]), 2)+1)
	}
	in.Stream = rng.New(1, "probe")
	r := compute(t, named("probe").(*Probe), in)
	for j, v := range r.Part("r2") {
		near(t, "R^2 of "+factors[j].Name, v, 1, 1e-4)
	}
	must.Equal(t, len(r.Part("r2")), 3, "values of R^2")
	near(t, "score of the continuous factor", r.Part("per_factor")[2], 1, 1e-4)
	if v := r.Part("per_factor")[3]; !(v <= 0.6) {
		t.Errorf("a factor that the codes do not have is predicted in %v", v)
	}
}

// The penalty of a probe, 1/C, does not depend on the other factors. The value is scikit-learn's: Ridge(alpha=1) on a
// column standardised by the train rows has the weight sum x (y - mean y) / (n + alpha).
func TestProbePenalty(t *testing.T) {
	const n, train = 24, 16
	columns := func(k int) *Input { // factors of n/4 levels, the first with the codes' order
		in := &Input{Codes: matrix.Matrix{Rows: n, Cols: 1}, Factors: ordinals(slices.Repeat([]int{n / 4}, k)...)}
		for i := range n {
			in.Codes.Data = append(in.Codes.Data, float64(i*7%n))
			for j := range k {
				in.Levels = append(in.Levels, (i*7%n/4+j*i)%(n/4))
			}
		}
		return in
	}
	probe := named("probe").(*Probe)
	probe.TrainRows = train
	in := columns(1)
	var mean, square, level, slope float64
	for i, z := range in.Codes.Data[:train] {
		mean, square, level = mean+z/train, square+z*z/train, level+float64(in.Levels[i])/train
	}
	deviation := math.Sqrt(square - mean*mean)
	for i, z := range in.Codes.Data[:train] {
		slope += (z - mean) / deviation * (float64(in.Levels[i]) - level) / (train + 1)
	}
	var errors, all, tested float64
	for _, l := range in.Levels[train:] {
		tested += float64(l) / (n - train)
	}
	for i := train; i < n; i++ {
		y := float64(in.Levels[i])
		e := y - level - slope*(in.Codes.Data[i]-mean)/deviation
		errors, all = errors+e*e, all+(y-tested)*(y-tested)
	}
	for k := range 3 {
		r := compute(t, probe, columns(k+1))
		near(t, fmt.Sprintf("R^2 of one of %d factors", k+1), r.Part("r2")[0], 1-errors/all, 1e-12)
	}
}

// Train and test rows are disjoint, and a metric stops when asked to.
func TestApart(t *testing.T) {
	in := directions(ordinals(10, 10, 5))
	for share, want := range map[float64]int{0.25: 125, 0.5: 250, 0.001: 1} {
		a := Apart{TestShare: share}
		in.Stream = rng.New(3, "apart")
		train, test, err := Rows(a, in)
		must.OK(t, err)
		all := append(slices.Clone(train), test...)
		slices.Sort(all)
		if len(test) != want || len(slices.Compact(all)) != 500 || !slices.IsSorted(test) || !slices.IsSorted(train) {
			t.Errorf("share %v: %d train and %d test rows of 500, %d in all", share, len(train), len(test), len(slices.Compact(all)))
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, m := range []Metric{named("knn").(*KNN), named("probe").(*Probe)} {
		if _, err := m.Compute(ended, in); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
	small := directions(ordinals(2, 3))
	for _, c := range []struct {
		change func(k *KNN, p *Probe)
		want   string
	}{
		{func(k *KNN, p *Probe) {}, "there are 4 train rows; want at least the 20 neighbours of k"},
		{func(k *KNN, p *Probe) { k.K = 0 }, "k: 0 is out of range"},
		{func(k *KNN, p *Probe) { k.Temperature = -1 }, "temperature: -1 is out of range"},
		{func(k *KNN, p *Probe) { k.Distance = "manhattan" }, `metric: unknown metric "manhattan"; want cosine or euclidean`},
		{func(k *KNN, p *Probe) { k.TestShare = 1 }, "test_share: 1 is out of range"},
		{func(k *KNN, p *Probe) { k.K, k.TrainRows = 1, 6 }, "6 of 6 rows are train rows"},
		{func(k *KNN, p *Probe) { k.K, p.C = 1, 0 }, "c: 0 is not a positive number"},
		{func(k *KNN, p *Probe) { k.K, p.Iterations = 1, 0 }, "iterations: 0 is too few"},
	} {
		k, p := named("knn").(*KNN), named("probe").(*Probe)
		c.change(k, p)
		small.Stream = rng.New(1, "small")
		_, err := k.Compute(context.Background(), small)
		if err == nil {
			_, err = p.Compute(context.Background(), small)
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
