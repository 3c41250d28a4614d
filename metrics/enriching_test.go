package metrics_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	drawnsets "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// encoded returns the input of an encoder in Zhang and Sugiyama 2024, appendix F.1.
func encoded(t testing.TB, name string) (*Input, factor.SubCodes) {
	t.Helper()
	for _, e := range drawnsets.AnalyticEncoders() {
		if e.Name != name {
			continue
		}
		s := &drawnsets.Entangled{Encoder: name, Levels: 11}
		codes, d, err := s.Codes(0)
		must.OK(t, err)
		set := must.Get(s.Build(0))(t)
		in := &Input{Codes: matrix.Matrix{Rows: set.Len(), Cols: d, Data: codes}, Levels: datasets.Levels(set), Factors: set.Factors()}
		if name == "random" {
			in.Codes.Data = must.Get(npy.ReadFile[float64]("testdata/enriching/" + name + ".npy"))(t).Data
		}
		sub := factor.SubCodes{}
		for i, f := range set.Factors() {
			sub[f.Name] = e.SubCodes[i]
		}
		return in, sub
	}
	t.Fatal(name)
	return nil, nil
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	must.ReadJSON(t, path, into)
}

// goldens returns a function that compares results with golden values, and the compared keys.
func goldens(t *testing.T, want map[string]expectation) (check func(key string, got ...float64), checked map[string]bool) {
	checked = map[string]bool{}
	return func(key string, got ...float64) {
		t.Helper()
		e, ok := want[key]
		if !ok || len(e.values()) != len(got) {
			t.Fatalf("%s: golden %v, got %v", key, e, got)
		}
		for i, w := range e.values() {
			near(t, fmt.Sprintf("%s[%d]", key, i), got[i], w, *e.Tolerance)
		}
		checked[key] = true
	}, checked
}

var measures = map[string]factor.Deviation{"rad": factor.Radius, "mad": factor.MAD, "var": factor.Variance,
	"diam": factor.Diameter, "mpd": factor.MPD}

func TestEnrichingGolden(t *testing.T) {
	var golden map[string]map[string]expectation
	readJSON(t, "testdata/enriching/expected.json", &golden)
	if len(golden) != 10 {
		t.Fatalf("%d encoders", len(golden))
	}
	for name, want := range golden {
		t.Run(name, func(t *testing.T) {
			in, sub := encoded(t, name)
			shuffleRows(in)
			check, checked := goldens(t, want)
			for key, m := range measures {
				s := NewSubCodeDeviation(m)
				s.Codes = sub
				r := compute(t, s, in)
				check(key, r.Part("score")...)
				check(key+"_raw", r.Value)
				check(key+"_raw_per_factor", r.Part("per_factor")...)
			}
			r := compute(t, &LeftInverse{Error: MeanSquaredError}, in)
			check("mse", r.Part("score")...)
			check("mse_per_factor_raw", r.Part("per_factor")...)
			r = compute(t, &LeftInverse{Error: MeanAbsoluteError}, in)
			check("mae", r.Part("score")...)
			check("mae_per_factor_raw", r.Part("per_factor")...)
			r = compute(t, &MaxError{Fit: FitLeastSquares}, in)
			check("me_paper", r.Part("score")...)
			r = compute(t, &MaxError{Fit: FitMinimaxByFactor}, in)
			check("me_chebyshev_l2", r.Part("score")...)
			check("me_chebyshev_per_factor_raw", r.Part("per_factor")...)
			for key, max := range map[string]bool{"contraction_max": true, "contraction_mean": false} {
				r = compute(t, &Contraction{Max: max}, in)
				check(key, r.Part("score")...)
				check(key+"_raw", r.Value)
			}
			check("mig", compute(t, mig(), in).Value)
			check("mig_codewise", compute(t, &MIG{Histogram: mutual.Histogram{Bins: 20, Binning: mutual.EqualWidth}, Gap: "factors"}, in).Value)
			must.Equal(t, len(checked), len(want))
		})
	}
}

// Zhang and Sugiyama 2024, table 4: subsets with missing or single levels.
func TestEnrichingSubsets(t *testing.T) {
	var golden struct {
		Subsets   [][]int
		PerSubset map[string][][]float64 `json:"per_subset"`
	}
	readJSON(t, "testdata/enriching/subsets.json", &golden)
	for name, values := range golden.PerSubset {
		all, sub := encoded(t, name)
		for n, rows := range golden.Subsets {
			in := subset(all, rows)
			for c, m := range []factor.Deviation{factor.Radius, factor.MAD, factor.Variance, factor.Diameter, factor.MPD} {
				s := NewSubCodeDeviation(m)
				s.Codes = sub
				r := compute(t, s, in)
				near(t, fmt.Sprintf("%s, subset %d, %v", name, n, m), math.Exp(-r.Value), values[n][c], 1e-6)
			}
		}
	}
}

// subset returns some rows of an input.
func subset(in *Input, rows []int) *Input {
	part := &Input{Codes: matrix.Matrix{Rows: len(rows), Cols: in.Codes.Cols}, Factors: in.Factors,
		Hierarchy: in.Hierarchy, TrueHierarchy: in.TrueHierarchy}
	k := len(in.Factors)
	for _, i := range rows {
		part.Codes.Data = append(part.Codes.Data, in.Codes.Row(i)...)
		part.Levels = append(part.Levels, in.Levels[i*k:(i+1)*k]...)
		if in.Components != nil {
			part.Components, part.Paths = append(part.Components, in.Components[i]), append(part.Paths, in.Paths[i])
		}
	}
	return part
}

func ExampleSubCodeDeviation() {
	s := &drawnsets.Entangled{Encoder: "misalignment", Levels: 11}
	codes, d, _ := s.Codes(0)
	set, err := s.Build(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	in := &Input{Codes: matrix.Matrix{Rows: set.Len(), Cols: d, Data: codes}, Levels: datasets.Levels(set), Factors: set.Factors()}
	metric := NewSubCodeDeviation(factor.MPD)
	r, _ := metric.Compute(ctx, in)
	fmt.Printf("in order: %.4f, score %.2f\n", r.Value, r.Part("score")[0])
	metric.Assign = AssignBest
	r, _ = metric.Compute(ctx, in)
	fmt.Printf("best: %.4f, %s\n", r.Value, r.Notes[0])
	// Output:
	// in order: 0.5455, score 0.58
	// best: 0.0000, columns of factors: y1 2, y2 0, y3 1
}
