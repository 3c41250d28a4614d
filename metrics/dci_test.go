package metrics_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

func computeDCI(t testing.TB, m *DCI, in *Input, seed uint64) Result {
	t.Helper()
	mine := *in
	mine.Stream = rng.New(seed, "dci")
	return compute(t, m, &mine)
}

// goldenDCI reads expected values of disentanglement_lib and scikit-learn by case.
func goldenDCI(t *testing.T) (want map[string]map[string]struct {
	Value     any
	Tolerance float64
	Settings  struct {
		TrainRows int         `json:"train_rows"`
		Matrix    [][]float64 `json:"importance_matrix"`
	}
}) {
	readJSON(t, "testdata/dci/expected.json", &want)
	if len(want) < 17 {
		t.Fatalf("%d cases", len(want))
	}
	return want
}

func TestDCIGolden(t *testing.T) {
	long.NotShort(t)
	all := goldenDCI(t)
	for _, name := range long.Sample(slices.Sorted(maps.Keys(all)), 5) {
		want := all[name]
		t.Run(name, func(t *testing.T) {
			if name == "highdim200" || name == "uneven_cardinality" {
				long.Only(t)
			}
			dir := filepath.Join("testdata/mig", name)
			if _, err := os.Stat(dir); err != nil {
				dir = filepath.Join("testdata/library", name)
			}
			codes := golden[float64](t, dir, "codes.npy")
			in := &Input{Codes: matrix.Matrix{Rows: codes.Shape[0], Cols: codes.Shape[1], Data: codes.Data},
				Levels: golden[int](t, dir, "factors.npy").Data, Factors: ordinals(golden[int](t, dir, "factor_sizes.npy").Data...)}
			sums := map[string]float64{}
			const repeats = 8 // ties are broken at random, also in the reference
			for seed := range uint64(repeats) {
				m := NewDCI()
				m.TrainRows = want["dci_disentanglement"].Settings.TrainRows
				r := computeDCI(t, m, in, seed)
				for _, part := range []string{"disentanglement", "completeness", "informativeness_train", "informativeness_test"} {
					sums[part] += r.Part(part)[0] / repeats
				}
			}
			for part, got := range sums {
				e := want["dci_"+part]
				near(t, part, got, e.Value.(float64), e.Tolerance)
			}
		})
	}
}

// The encoders of Zhang and Sugiyama 2024, with fewer trees.
func TestDCIEnriching(t *testing.T) {
	long.NotShort(t)
	var golden struct {
		Test     []int
		Encoders map[string]map[string]struct{ Value, Tolerance float64 }
	}
	readJSON(t, "testdata/dci/enriching.json", &golden)
	if len(golden.Encoders) != 10 || len(golden.Test) != 267 {
		t.Fatalf("%d encoders, %d rows", len(golden.Encoders), len(golden.Test))
	}
	for _, name := range long.Sample(slices.Sorted(maps.Keys(golden.Encoders)), 2) {
		want := golden.Encoders[name]
		in, _ := encoded(t, name)
		var train []int
		for i := range in.Codes.Rows {
			if !slices.Contains(golden.Test, i) {
				train = append(train, i)
			}
		}
		in = subset(in, append(train, golden.Test...))
		const repeats = 3
		sums := map[string]float64{}
		for seed := range uint64(repeats) {
			r := computeDCI(t, &DCI{Score: Disentanglement, TrainTest: TrainTest{TrainRows: len(train)}, Rounds: 40, Ties: "random"}, in, seed)
			for part := range want {
				sums[part] += r.Part(part)[0] / repeats
			}
		}
		for part, e := range want {
			near(t, name+" "+part, sums[part], e.Value, e.Tolerance)
		}
	}
}

// A fraction of the rows are test rows, the others train rows.
func TestDCIShare(t *testing.T) {
	noise := rng.New(2, "noise")
	in := gridInput(ordinals(20, 5), 2, func(l []int, z []float64) {
		z[0], z[1] = float64(l[0])+noise.NormFloat64(), float64(l[1])+noise.NormFloat64()
	})
	m := NewDCI()
	m.TestShare, m.Rounds = 0.25, 5
	r := computeDCI(t, m, in, 1)
	for part, rows := range map[string]float64{"per_factor_train": 75, "per_factor_test": 25} {
		for _, share := range r.Part(part) {
			if right := share * rows; !(math.Abs(right-math.Round(right)) <= 1e-9) {
				t.Errorf("%s: a share of %v is not one of %v rows", part, share, rows)
			}
		}
	}
	if other := computeDCI(t, m, in, 2); reflect.DeepEqual(r.Parts, other.Parts) {
		t.Error("the seed does not choose the rows")
	}
	more := *m
	more.Rounds = 50
	if r2 := computeDCI(t, &more, in, 1); !(r2.Part("informativeness_train")[0] > r.Part("informativeness_train")[0]) {
		t.Errorf("50 rounds fit no better than 5: %v and %v", r2.Parts, r.Parts)
	}
}

func TestDCIArithmetic(t *testing.T) {
	cases := 0
	for name, want := range goldenDCI(t) {
		e, ok := want["dci_scores_from_matrix"]
		if !ok {
			continue
		}
		cases++
		disentanglement, _ := Concentrations(e.Settings.Matrix)
		completeness, _ := Concentrations(Transposed(e.Settings.Matrix))
		values := e.Value.([]any)
		near(t, name+": disentanglement", disentanglement, values[0].(float64), e.Tolerance)
		near(t, name+": completeness", completeness, values[1].(float64), e.Tolerance)
	}
	if cases < 10 {
		t.Errorf("%d cases", cases)
	}
	zero, rows := Concentrations([][]float64{{0, 0}, {0, 0}, {0, 0}})
	near(t, "zero matrix", zero, 0, 1e-12)
	must.Equal(t, len(rows), 3, "rows")
}

func TestDCIOracles(t *testing.T) {
	noise := rng.New(4, "noise")
	factors := ordinals(3, 4, 2)
	tests := []struct {
		name                                           string
		d                                              int
		code                                           func(l []int, z []float64)
		disentanglement, completeness, informativeness float64 // NaN: no comparison
	}{
		{"perfect", 3, func(l []int, z []float64) { z[0], z[1], z[2] = float64(l[0]), -1e9*float64(l[1]), float64(l[2])/1000 }, 1, 1, 1},
		{"permuted", 3, func(l []int, z []float64) { z[2], z[0], z[1] = float64(l[0]), float64(l[1]), float64(l[2]) }, 1, 1, 1},
		{"duplicated", 6, func(l []int, z []float64) {
			for k, v := range l {
				z[k], z[k+3] = float64(v), float64(v)
			}
		}, 1, 1 - math.Log(2)/math.Log(6), 1},
		{"constant", 3, func([]int, []float64) {}, 0, 0, (1.0/3 + 1.0/4 + 1.0/2) / 3},
		{"below what trees can see", 2, func(l []int, z []float64) { z[0] = 1e-9 * float64(l[0]) }, 0, 0, math.NaN()},
		{"noise", 4, func(l []int, z []float64) {
			for c := range z {
				z[c] = noise.NormFloat64()
			}
		}, math.NaN(), math.NaN(), math.NaN()},
		{"one column", 1, func(l []int, z []float64) { z[0] = float64(l[0] + 3*l[1] + 12*l[2]) }, math.NaN(), math.NaN(), 1},
	}
	for _, test := range tests {
		in := gridInput(factors, test.d, test.code)
		for _, ties := range []Ties{"random", "first"} {
			m := &DCI{Rounds: 100, Score: Informativeness, TrainTest: TrainTest{TrainRows: in.Codes.Rows}, Ties: ties}
			r := computeDCI(t, m, in, 1)
			check := func(part string, want, tolerance float64) {
				if !math.IsNaN(want) {
					near(t, fmt.Sprintf("%s, %s, ties %s", test.name, part, ties), r.Part(part)[0], want, tolerance)
				}
			}
			check("disentanglement", test.disentanglement, 1e-6)
			if test.name == "duplicated" && ties == "first" {
				test.completeness = 1
			}
			check("completeness", test.completeness, 0.02)
			check("informativeness_test", test.informativeness, 1e-12)
			if test.name == "noise" && !(r.Part("disentanglement")[0] <= 0.3) {
				t.Errorf("noise: disentanglement %v", r.Part("disentanglement"))
			}
		}
	}
	r := computeDCI(t, &DCI{Rounds: 100, Score: Disentanglement, TrainTest: TrainTest{TrainRows: 24}, Ties: "random"},
		gridInput(factors, 3, tests[3].code), 1)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "all importances are 0") {
		t.Errorf("constant codes: %q", r.Notes)
	}
}

// The value does not depend on the number of threads.
func TestDCIThreads(t *testing.T) {
	noise := rng.New(5, "noise")
	in := gridInput(ordinals(2, 3, 7), 5, func(l []int, z []float64) {
		for c := range z {
			z[c] = float64(l[c%3]) + noise.NormFloat64()
		}
	})
	m := NewDCI()
	m.Train, m.Test = 300, 200
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	one := computeDCI(t, m, in, 7)
	runtime.GOMAXPROCS(5)
	if five := computeDCI(t, m, in, 7); !reflect.DeepEqual(one, five) {
		t.Errorf("one thread %+v\nfive threads %+v", one, five)
	}
	if other := computeDCI(t, m, in, 8); reflect.DeepEqual(one, other) {
		t.Error("the seed has no effect")
	}
	for score, part := range map[DCIScore]string{Disentanglement: "disentanglement", Completeness: "completeness",
		Informativeness: "informativeness_test"} {
		m.Score = score
		if r := computeDCI(t, m, in, 7); r.Value != one.Part(part)[0] {
			t.Errorf("%s is %v, want %v", score, r.Value, one.Part(part))
		}
	}
	if g := one.Grids[0]; g.Name != "importance" || len(g.Values) != 5 || len(g.Values[0]) != 3 {
		t.Errorf("%+v", one.Grids)
	}
}

func TestDCIErrors(t *testing.T) {
	plain := func(l []int, z []float64) { z[0] = float64(l[0]) }
	two := gridInput(ordinals(4, 3), 2, plain)
	huge := gridInput(ordinals(4, 3), 2, func(_ []int, z []float64) { z[1] = 1e300 })
	for _, test := range []struct {
		m    DCI
		in   *Input
		want string
	}{
		{DCI{Rounds: 100, Score: "x", TrainTest: TrainTest{TrainRows: 6}, Ties: "first"}, two, `unknown score "x"`},
		{DCI{Rounds: 100, Score: Completeness, TrainTest: TrainTest{TrainRows: 6}, Ties: "last"}, two, `unknown ties "last"`},
		{DCI{Rounds: 100, Score: Completeness, TrainTest: TrainTest{TrainRows: -1}, Ties: "first"}, two, "train_rows: -1 is negative"},
		{DCI{Rounds: 100, Score: Completeness, TrainTest: TrainTest{Test: 5}, Ties: "first"}, two, "train: 0 is out of range"},
		{DCI{Rounds: 100, Score: Completeness, TrainTest: TrainTest{Train: 5}, Ties: "first"}, two, "test: 0 is out of range"},
		{DCI{Rounds: 100, Score: Completeness, TrainTest: TrainTest{TrainRows: 6}, Bins: 257, Ties: "first"}, two, "bins: 257 is out of range"},
		{DCI{Score: Completeness, TrainTest: TrainTest{TrainRows: 6}, Ties: "first"}, two, "rounds: 0 is out of range"},
		{DCI{Rounds: 9, Score: Completeness, TrainTest: TrainTest{TestShare: 1}, Ties: "first"}, two, "test_share: 1 is out of range"},
		{DCI{Rounds: 9, Score: Completeness, TrainTest: TrainTest{TestShare: math.NaN()}, Ties: "first"}, two, "test_share: NaN is out of range"},
		{DCI{Rounds: 9, Score: Completeness, TrainTest: TrainTest{Train: 1, Test: 1, TestShare: 0.01}, Ties: "first"}, two, "test_share 0.01 takes 0 of"},
		{DCI{Rounds: 9, Score: Completeness, TrainTest: TrainTest{Train: 1, Test: 1, TestShare: 0.99}, Ties: "first"}, two, "test_share 0.99 takes 12 of"},
		{DCI{Rounds: 100, Score: Completeness, TrainTest: TrainTest{TrainRows: 13}, Ties: "first"}, two, "there are 12 rows; want at least the 13"},
		{DCI{Rounds: 100, Score: Completeness, TrainTest: TrainTest{TrainRows: 6}, Ties: "random"}, two, "the input's Stream is nil"},
		{DCI{Rounds: 100, Score: Completeness, TrainTest: TrainTest{TrainRows: 1}, Ties: "first"}, two, "want a factor that varies"},
		{DCI{Rounds: 100, Score: Disentanglement, TrainTest: TrainTest{TrainRows: 3}, Ties: "first"}, two, "one factor varies in the train rows"},
		{DCI{Rounds: 100, Score: Completeness, TrainTest: TrainTest{TrainRows: 6}, Ties: "first"}, huge, "want numbers within single precision"},
		{DCI{Rounds: 100, Score: Completeness, TrainTest: TrainTest{TrainRows: 6}, Ties: "first"}, gridInput(ordinals(4, 3), 1, plain), "one code column"},
		{DCI{Rounds: 100, Score: Disentanglement, TrainTest: TrainTest{TrainRows: 4}, Ties: "first"}, gridInput(ordinals(4), 2, plain), "want at least two"},
		{DCI{Rounds: 100, Score: Informativeness, TrainTest: TrainTest{TrainRows: 1}, Ties: "first"}, gridInput(ordinals(1), 2, plain), "every factor has only one level"},
	} {
		must.ErrorOf(test.m.Compute(ctx, test.in))(t, test.want, test.m)
	}
	one := &DCI{Rounds: 100, Score: Informativeness, TrainTest: TrainTest{TrainRows: 4}, Ties: "first"}
	near(t, "one factor", compute(t, one, gridInput(ordinals(4), 2, plain)).Value, 1, 0)
	r := compute(t, &DCI{Rounds: 100, Score: Informativeness, TrainTest: TrainTest{TrainRows: 3}, Ties: "first"}, two) // f0 is constant in the first three rows
	if len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "f0") || r.Part("disentanglement") != nil {
		t.Errorf("%+v", r)
	}
}

// With many rows, bins of equal count hardly change the scores.
func TestDCIBins(t *testing.T) {
	long.NotShort(t)
	all := mixed()
	in := &Input{Codes: all.Codes, Factors: all.Factors[:2]}
	for i := range in.Codes.Rows {
		in.Levels = append(in.Levels, all.Levels[5*i:5*i+2]...)
	}
	m := NewDCI()
	m.Train, m.Test, m.Rounds = 4000, 1000, 30
	exact := computeDCI(t, m, in, 1)
	m.Bins = 256
	bins := computeDCI(t, m, in, 1)
	for _, part := range []string{"disentanglement", "completeness", "informativeness_train", "informativeness_test"} {
		near(t, part, bins.Part(part)[0], exact.Part(part)[0], 0.02)
	}
	if bins.Value == exact.Value {
		t.Error("bins have no effect")
	}
}

// mixed returns a table of 15,000 rows with the factors of dSprites and ten columns, each dominated by one factor with
// noise of the others.
func mixed() *Input {
	stream := rng.New(6, "mixed")
	sizes := []int{3, 6, 40, 32, 32}
	in := &Input{Factors: ordinals(sizes...), Codes: matrix.Matrix{Rows: 15000, Cols: 10, Data: make([]float64, 150000)}}
	weights := make([][][3]float64, len(sizes)) // by factor and column
	for j := range weights {
		weights[j] = make([][3]float64, in.Codes.Cols)
		for c := range weights[j] {
			for f := range weights[j][c] {
				weights[j][c][f] = stream.NormFloat64() * map[bool]float64{true: 1, false: 0.15}[c%5 == j]
			}
		}
	}
	for i := range in.Codes.Rows {
		z := in.Codes.Row(i)
		for j, size := range sizes {
			l := stream.IntN(size)
			in.Levels = append(in.Levels, l)
			angle := 2 * math.Pi * float64(l) / float64(size)
			for c, w := range weights[j] {
				switch j {
				case 0:
					z[c] += w[l]
				case 2:
					z[c] += w[0]*math.Cos(angle) + w[1]*math.Sin(angle)
				default:
					z[c] += w[0] * (2*float64(l)/float64(size-1) - 1)
				}
			}
		}
		for c := range z {
			z[c] = math.Tanh(z[c]) + 0.1*stream.NormFloat64()
		}
	}
	return in
}

func BenchmarkDCI(b *testing.B) {
	in := mixed()
	for name, bins := range map[string]int{"exact": 0, "bins256": 256} {
		m := NewDCI()
		m.TrainRows, m.Bins = 10000, bins
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				computeDCI(b, m, in, 0)
			}
		})
	}
}
