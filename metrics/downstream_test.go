package metrics_test

import (
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

func downstream(p Predictor, sizes ...int) *Downstream {
	m := named("downstream").(*Downstream)
	m.Predictor, m.Sizes, m.TestShare = p, sizes, 0
	return m
}

// TestDownstreamGolden compares with scikit-learn's classifiers, fitted to convergence.
func TestDownstreamGolden(t *testing.T) {
	long.NotShort(t)
	var want map[string]struct {
		TrainRows   int       `json:"train_rows"`
		Logistic    []float64 `json:"logistic"`
		LogisticCV  []float64 `json:"logistic_cv"`
		LogisticCVC []float64 `json:"logistic_cv_c"`
		Boosted     []float64 `json:"boosted"`
	}
	readJSON(t, "testdata/downstream/expected.json", &want)
	checked := 0
	eachLibraryCase(t, "modularity", 21, func(t *testing.T, in *Input, _ map[string]libraryValue) {
		w, ok := want[strings.TrimPrefix(filepath.Base(t.Name()), "B_")]
		if !ok {
			return
		}
		checked++
		if strings.HasSuffix(t.Name(), "uneven_cardinality") {
			long.Only(t)
		}
		test := in.Codes.Rows - w.TrainRows
		for p, values := range map[Predictor][]float64{"logistic": w.Logistic, "logistic-cv": w.LogisticCV, "boosted": w.Boosted} {
			m := downstream(p, w.TrainRows)
			m.TrainRows = w.TrainRows
			r := compute(t, m, in)
			got := r.Part("per_factor")
			tolerance := 1.01 / float64(test) // one row on the border between two levels
			if p == "boosted" {
				tolerance = 4 / float64(test) // trees break ties at random in the reference
			}
			for j, v := range values {
				near(t, string(p)+" of "+in.Factors[j].Name, got[j], v, tolerance)
			}
		}
		weights := must.Get(CrossValidate(in, w.TrainRows))(t)
		for j, c := range w.LogisticCVC {
			near(t, "weight of "+in.Factors[j].Name, weights[j]/c, 1, 1e-12)
		}
	})
	if checked != len(want) || checked != 8 {
		t.Errorf("%d cases of %d", checked, len(want))
	}
}

func TestDownstreamOracles(t *testing.T) {
	factors := ordinals(3, 4)
	perfect := func(l []int, z []float64) {
		for c := range l {
			for v := range 4 {
				if l[c] == v {
					z[4*c+v] = 1
				}
			}
		}
	}
	for _, p := range []Predictor{"logistic-cv", "logistic", "boosted"} {
		in := gridInput(factors, 8, perfect)
		part := downstream(p, 12, 4)
		part.TrainRows = 12
		r4 := compute(t, part, in)
		near(t, "the first rows have one level of three", r4.Grids[0].Values[0][0], 1.0/3, 1e-12)
		near(t, "the largest size", r4.Value, 1, 0)
		near(t, "the smallest size", r4.Part("per_size")[0], average(r4.Grids[0].Values[0]), 1e-12)
		r := must.Get(Evaluate(ctx, in, 1, []Choice{{Name: "downstream", Value: downstream(p, 12, 6, 100)}}))(t)
		g := r[0].Grids[0]
		if !slices.Equal(g.Rows, []string{"6", "12"}) || len(g.Values[1]) != 2 ||
			!slices.Contains(r[0].Notes, "there are 12 rows for training: the sizes 100 are left out") {
			t.Errorf("%s: %+v", p, r[0])
		}
		m := downstream(p, 12)
		m.TrainRows = 12
		near(t, string(p)+", perfect", compute(t, m, in).Value, map[Predictor]float64{"logistic-cv": 1, "logistic": 1, "boosted": 1}[p], 0)
		constant := gridInput(factors, 2, func([]int, []float64) {})
		near(t, string(p)+", constant", compute(t, m, constant).Value, (1.0/3+1.0/4)/2, 1e-12)
		one := gridInput(ordinals(1, 4), 1, func(l []int, z []float64) { z[0] = float64(l[1]) })
		m.Sizes, m.TrainRows = []int{4}, 4
		single := compute(t, m, one)
		near(t, string(p)+", a factor of one level", single.Part("per_factor")[0], 1, 0)
	}
}

// The best columns are the ones that follow one factor each, without the noise and the mixture.
func TestDownstreamTop(t *testing.T) {
	in := gridInput(ordinals(3, 4), 4, func(l []int, z []float64) {
		z[0], z[1], z[2], z[3] = math.Sin(float64(l[0]+7*l[1])), float64(l[1]), float64(l[0]), float64(l[0]+3*l[1])
	})
	m := downstream("boosted", 12)
	m.TrainRows, m.TopK = 12, 1
	r := compute(t, m, in)
	if got := r.Part("selected"); !slices.Equal(got, []float64{1, 2}) || r.Value != 1 {
		t.Errorf("columns %v, %v", got, r.Value)
	}
	med := med()
	med.TopK = 1
	if want := compute(t, med, in); !slices.Equal(r.Part("selected"), want.Part("selected")) {
		t.Errorf("med chooses %v", want.Part("selected"))
	}
	m.TopK = 9
	if r = compute(t, m, in); len(r.Part("selected")) != 4 {
		t.Errorf("columns %v", r.Part("selected"))
	}
	silent := gridInput(ordinals(3, 4), 4, func([]int, []float64) {})
	r = compute(t, m, silent)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "12 train rows: no code column has") || len(r.Part("selected")) != 0 {
		t.Errorf("%+v", r)
	}
	m.TopK = 0
	near(t, "as good as guessing", r.Value, compute(t, m, silent).Value, 0)
}

// Test rows do not influence the choice of columns. In the test rows here, the other column follows the factor.
func TestDownstreamChoose(t *testing.T) {
	const rows, trained = 200, 60
	in := &Input{Factors: ordinals(2, 2), Codes: matrix.Matrix{Rows: rows, Cols: 2, Data: slices.Repeat([]float64{0.5}, 2*rows)}}
	for i := range rows {
		level, column := i%2, 0
		if i >= trained {
			column = 1
		}
		in.Levels = append(in.Levels, level, i/2%2) // no column has information about the second factor
		in.Codes.Row(i)[column] = float64(level)
	}
	m := downstream("logistic", 20, trained)
	m.TrainRows, m.TopK = trained, 1
	for choose, want := range map[Choose]float64{"": 0, "train": 0, "all": 1} {
		m.Choose = choose
		r := compute(t, m, in)
		must.EqualSlices(t, r.Part("selected"), []float64{want}, "choose", choose)
		near(t, string("accuracy, chosen by "+choose), r.Part("train_per_size")[1], []float64{0.75, 0.5}[int(want)], 0.02)
	}
	// the train rows of each size choose the columns
	for i := range 20 {
		in.Codes.Row(i)[0], in.Codes.Row(i)[1] = 0.5, in.Codes.Row(i)[0]
	}
	m.Choose, m.Sizes = "train", []int{20}
	r := compute(t, m, in)
	must.EqualSlices(t, r.Part("selected"), []float64{1}, "20 rows: columns")
}

func TestDownstreamErrors(t *testing.T) {
	in := gridInput(ordinals(4, 3), 2, func(l []int, z []float64) { z[0] = float64(l[0]) })
	refuses(t, in, func() *Downstream { return downstream("logistic", 5, 6) }, map[string]func(*Downstream){
		"the input's Stream is nil":       func(*Downstream) {},
		`unknown predictor "svm"`:         func(m *Downstream) { m.Predictor = "svm" },
		"sizes: there are none":           func(m *Downstream) { m.Sizes = nil },
		"sizes: 1 is repeated or out":     func(m *Downstream) { m.Sizes = []int{1} },
		"sizes: 5 is repeated or out":     func(m *Downstream) { m.Sizes = []int{5, 5} },
		"want at least 20, the sm":        func(m *Downstream) { m.Sizes = []int{30, 20} },
		"test: 0 is out of range":         func(m *Downstream) { m.Test = 0 },
		"c: -1 is not a positive":         func(m *Downstream) { m.C = -1 },
		"top: -1 is negative":             func(m *Downstream) { m.TopK = -1 },
		`unknown rows "test"; want train`: func(m *Downstream) { m.Choose = "test" },
		"train_rows: -2 is negative":      func(m *Downstream) { m.TrainRows = -2 },
		"at least the 13 of train_rows":   func(m *Downstream) { m.TrainRows = 13 },
	})
}

// The value depends on the seed, but not on the number of threads or the order of sizes.
func TestDownstreamThreads(t *testing.T) {
	long.NotShort(t)
	in := kept(wide(300, 4), 0, 1)
	value := func(seed uint64) Result {
		r, err := Evaluate(ctx, in, seed, []Choice{{Name: "downstream", Value: downstream("logistic-cv", 10, 90)}})
		must.OK(t, err)
		return r[0]
	}
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	one := value(3)
	runtime.GOMAXPROCS(4)
	if four := value(3); !reflect.DeepEqual(one, four) {
		t.Errorf("one thread %+v\nfour threads %+v", one, four)
	}
	if reflect.DeepEqual(one, value(4)) {
		t.Error("the seed has no effect")
	}
}

// BenchmarkDownstream measures all sizes up to 10,000 train rows of ten columns.
func BenchmarkDownstream(b *testing.B) {
	in := wide(15000, 10)
	for _, p := range []Predictor{"logistic-cv", "logistic"} {
		b.Run(string(p), func(b *testing.B) {
			for b.Loop() {
				must.Get(Evaluate(ctx, in, 0, []Choice{{Name: "downstream", Value: downstream(p, 10, 100, 1000, 10000)}}))(b)
			}
		})
	}
}
