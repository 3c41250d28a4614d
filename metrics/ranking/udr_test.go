package ranking_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	. "github.com/unravel-ml/unravel/metrics/ranking"
)

// goldenUDR holds expected values of scikit-learn and SciPy.
type goldenUDR struct {
	Codes           [][][]float64
	Lasso, Spearman Agreement
	Kendall         []struct {
		A, B []float64
		Tau  *float64
	}
}

func readUDR(t *testing.T) (want goldenUDR, codes []matrix.Matrix) {
	must.ReadJSON(t, "testdata/udr.json", &want)
	for _, rows := range want.Codes {
		m := matrix.Matrix{Rows: len(rows), Cols: len(rows[0])}
		for _, row := range rows {
			m.Data = append(m.Data, row...)
		}
		codes = append(codes, m)
	}
	if len(codes) != 6 || len(want.Kendall) != 10 {
		t.Fatalf("%d representations, %d lists", len(codes), len(want.Kendall))
	}
	return want, codes
}

func TestUDRGolden(t *testing.T) {
	want, codes := readUDR(t)
	for relation, w := range map[Relation]Agreement{Lasso: want.Lasso, Spearman: want.Spearman} {
		got := must.Get(NewUDR(relation).Compare(t.Context(), codes))(t)
		for i, row := range w.Pairs {
			near(t, fmt.Sprint(relation, i), got.Scores[i], w.Scores[i], 1e-9)
			for j, v := range row {
				near(t, fmt.Sprint(relation, i, j), got.Pairs[i][j], v, 1e-9)
			}
		}
		must.EqualSlices(t, got.Used, []int{4, 4, 4, 4, 2, 4}, relation, "columns")
		before := runtime.GOMAXPROCS(1)
		one, err := NewUDR(relation).Compare(t.Context(), codes)
		runtime.GOMAXPROCS(before)
		if err != nil || !reflect.DeepEqual(one, got) {
			t.Errorf("%s: one thread %v, %v", relation, one, err)
		}
	}
}

// Columns in another order, with other signs and scales, agree fully by rank. Constant columns do not agree.
func TestUDROracles(t *testing.T) {
	a := gridCodes(3, func(l []int, z []float64) { z[0], z[1], z[2] = float64(l[0]), float64(l[1]), float64(l[2]) })
	b := gridCodes(5, func(l []int, z []float64) {
		z[0], z[2], z[3] = -1e6*float64(l[2]), math.Exp(float64(l[1])), float64(l[0])
	})
	still := gridCodes(2, func([]int, []float64) {})
	got, err := NewUDR(Spearman).Compare(t.Context(), []matrix.Matrix{a, b})
	must.OK(t, err)
	near(t, "the same in other words", got.Scores[0], 1, 1e-12)
	got, err = NewUDR(Lasso).Compare(t.Context(), []matrix.Matrix{a, b, still})
	if err != nil || got.Pairs[0][2] != 0 || got.Pairs[2][0] != 0 || got.Scores[2] != 0 || got.Used[2] != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	// columns are independent, so coefficients are correlations minus alpha; the correlation of 0..5 and its
	// exponential is known
	near(t, "shrunk by the penalty", got.Pairs[0][1], (0.9+0.9+0.846786508885349-0.1)/3, 1e-12)
	near(t, "between two", got.Scores[0], got.Pairs[1][0]/2, 1e-12)
	mixed := gridCodes(1, func(l []int, z []float64) { z[0] = float64(l[0]) })
	if got, err = NewUDR(Lasso).Compare(t.Context(), []matrix.Matrix{mixed, mixed}); err != nil {
		t.Fatal(err)
	}
	near(t, "one column, less alpha", got.Scores[0], 0.9, 1e-12)
}

// Coordinate descent needs a million steps for two nearly equal columns. The second column alone has the least penalty.
func TestUDROfNearlyEqualColumns(t *testing.T) {
	a, b := matrix.Matrix{Rows: 4, Cols: 2}, matrix.Matrix{Rows: 4, Cols: 1}
	for _, row := range [][2]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
		b.Data = append(b.Data, row[0]+1e-3*row[1])
		a.Data = append(a.Data, row[0], row[0]+1e-3*row[1])
	}
	got := must.Get(NewUDR(Lasso).Compare(t.Context(), []matrix.Matrix{a, b}))(t)
	near(t, "one coefficient of 0.9", got.Pairs[0][1], (0.9+0.9/2)/2, 1e-9)
}

func TestUDRErrors(t *testing.T) {
	m := matrix.Matrix{Rows: 3, Cols: 1, Data: []float64{1, 2, 3}}
	for want, change := range map[string]func(*UDR, *[]matrix.Matrix){
		"unknown relation":           func(u *UDR, _ *[]matrix.Matrix) { u.Relation = "r2" },
		"alpha: 0 is not a positive": func(u *UDR, _ *[]matrix.Matrix) { u.Alpha = 0 },
		"threshold: -1 is not":       func(u *UDR, _ *[]matrix.Matrix) { u.Threshold = -1 },
		"there is 1 representation":  func(_ *UDR, c *[]matrix.Matrix) { *c = (*c)[:1] },
		"has 2 rows, and the first":  func(_ *UDR, c *[]matrix.Matrix) { (*c)[1] = matrix.Matrix{Rows: 2, Cols: 1, Data: []float64{1, 2}} },
		"row 1, column 0 is NaN":     func(_ *UDR, c *[]matrix.Matrix) { (*c)[1].Data = []float64{1, math.NaN(), 2} },
	} {
		u, codes := NewUDR(Lasso), []matrix.Matrix{m, m}
		change(u, &codes)
		must.ErrorOf(u.Compare(t.Context(), codes))(t, want)
	}
}

func TestKendallTau(t *testing.T) {
	want, _ := readUDR(t)
	for i, k := range want.Kendall {
		got := KendallTau(k.A, k.B)
		if k.Tau == nil {
			if !math.IsNaN(got) {
				t.Errorf("lists %d: %v", i, got)
			}
			continue
		}
		near(t, fmt.Sprint("lists ", i), got, *k.Tau, 1e-12)
		near(t, "the other way round", KendallTau(k.B, k.A), *k.Tau, 1e-12)
	}
	nan := math.NaN()
	near(t, "with gaps", KendallTau([]float64{1, nan, 2, 3}, []float64{5, 0, 6, 4}), KendallTau([]float64{1, 2, 3}, []float64{5, 6, 4}), 0)
	if v := KendallTau([]float64{1, 1}, []float64{1, 2}); !math.IsNaN(v) {
		t.Errorf("equal values: %v", v)
	}
}

func TestRanks(t *testing.T) {
	values := []float64{3, 1, math.NaN(), 3, 2}
	for better, want := range map[metrics.Direction]string{metrics.HigherIsBetter: "[1.5 4 NaN 1.5 3]", metrics.LowerIsBetter: "[3.5 1 NaN 3.5 2]"} {
		must.Equal(t, fmt.Sprint(Ranks(values, better)), want, better)
	}
}

func ExampleKendallTau() {
	mig := []float64{0.1, 0.4, 0.3, 0.8}
	dci := []float64{0.2, 0.3, 0.5, 0.9}
	fmt.Printf("%.3f\n", KendallTau(mig, dci))
	// Output: 0.667
}

func ExampleUDR_Compare() {
	a := matrix.Matrix{Rows: 4, Cols: 2, Data: []float64{0, 0, 0, 1, 1, 0, 1, 1}}
	b := matrix.Matrix{Rows: 4, Cols: 2, Data: []float64{0, 9, 5, 9, 0, 2, 5, 2}} // the same columns in other order and size
	agreement, err := NewUDR(Spearman).Compare(context.Background(), []matrix.Matrix{a, b})
	fmt.Println(agreement.Scores, err)
	// Output: [1 1] <nil>
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v to %v", what, got, want, tolerance)
	}
}

// gridCodes returns codes of d columns for all levels of factors of 5, 6 and 7 levels.
func gridCodes(d int, code func(levels []int, z []float64)) matrix.Matrix {
	m := matrix.Matrix{Rows: 5 * 6 * 7, Cols: d, Data: make([]float64, 5*6*7*d)}
	for i := range m.Rows {
		code([]int{i / 42, i / 7 % 6, i % 7}, m.Row(i))
	}
	return m
}
