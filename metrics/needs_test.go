package metrics_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
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

// gappy returns codes of 400 rows with three factors, with all levels and with unknown levels: a third of each of the
// first two factors, and all of a fourth factor.
func gappy() (whole, some *Input) {
	s := rng.New(5, "gappy")
	factors := append(ordinals(4, 5, 3), factor.Factor{Name: "lost", Size: 2, Kind: factor.Categorical})
	whole = &Input{Codes: matrix.Matrix{Rows: 400, Cols: 4}, Factors: factors}
	for range whole.Codes.Rows {
		row := []int{s.IntN(4), s.IntN(5), s.IntN(3), s.IntN(2)}
		whole.Levels = append(whole.Levels, row...)
		for c := range 4 {
			whole.Codes.Data = append(whole.Codes.Data, float64(row[c%3])+0.3*s.NormFloat64())
		}
	}
	gaps := *whole
	gaps.Levels = slices.Clone(whole.Levels)
	for i := range whole.Codes.Rows {
		for j, unknown := range []bool{s.IntN(3) == 0, s.IntN(3) == 0, false, true} {
			if unknown {
				gaps.Levels[4*i+j] = factor.Unknown
			}
		}
	}
	return whole, &gaps
}

// kept returns some factors of an input, and the rows where all of them are known, with separate code.
func kept(in *Input, factors ...int) *Input {
	some := &Input{Codes: matrix.Matrix{Cols: in.Codes.Cols}}
	for _, j := range factors {
		some.Factors = append(some.Factors, in.Factors[j])
	}
	k := len(in.Factors)
	for i := range in.Codes.Rows {
		var row []int
		for _, j := range factors {
			row = append(row, in.Levels[i*k+j])
		}
		if slices.Min(row) < 0 {
			continue
		}
		some.Levels = append(some.Levels, row...)
		some.Codes.Data = append(some.Codes.Data, in.Codes.Row(i)...)
		some.Codes.Rows++
	}
	return some
}

// fewRows returns a metric with fewer drawn rows.
func fewRows(name string) Choice {
	c := choice(name)
	switch m := c.Value.(type) {
	case *DCI:
		m.Train, m.Test, m.Rounds = 300, 200, 10
	case *SAP:
		m.Train, m.Test = 300, 200
	case *Explicitness:
		m.Train, m.Test = 300, 200
	case *BetaVAE:
		m.Train, m.Test = 300, 200
	case *FactorVAE:
		m.Train, m.Test = 300, 200
	case *Downstream:
		m.Test, m.Sizes = 200, []int{10, 100}
	case *R4:
		m.Splits = 2
	case *R4C:
		m.Splits = 2
	}
	return c
}

// TestUnknownLevels checks every metric on an input with gaps against its needs: all levels, one factor at a time,
// known levels only, or none.
func TestUnknownLevels(t *testing.T) {
	long.NotShort(t)
	whole, some := gappy()
	for _, e := range entries() {
		t.Run(e.Name, func(t *testing.T) {
			c := []Choice{fewRows(e.Name)}
			if err := Suits(some, c); err != nil {
				wellSaid(t, e.Name, err)
				if Suits(kept(some, 0, 1, 2), c) == nil {
					t.Errorf("it suits the rows that are known, and not the input: %v", err)
				}
				return
			}
			r := evaluated(t, some, c)
			needs := c[0].Value.(Needy).Needs()
			basis := r.Basis.String()
			if needs != NoLevels && !strings.Contains(basis, "lost: 400 without a known level") {
				t.Errorf("basis %q does not name the unknown factor", basis)
			}
			switch needs {
			case NoLevels:
				near(t, "value", r.Value, evaluated(t, whole, c).Value, 0)
			case AllLevels:
				near(t, "value", r.Value, evaluated(t, kept(some, 0, 1, 2), c).Value, 0)
				if n := some.Codes.Rows - kept(some, 0, 1, 2).Codes.Rows; !strings.Contains(basis,
					fmt.Sprintf("%d with an unknown level", n)) || r.Basis.Rows != 400-n {
					t.Errorf("basis %q does not say that %d rows are left out", basis, n)
				}
			case EachLevel:
				mean := 0.0
				for j := range 3 {
					one := evaluated(t, kept(some, j), c).Value
					mean += one / 3
					if part := r.Part("per_factor"); len(part) != 3 || part[j] != one {
						t.Errorf("per_factor %v; want %v of factor %d", part, one, j)
					}
				}
				near(t, "value", r.Value, mean, 1e-15)
			}
			if n := 400 - kept(some, 0).Codes.Rows; needs != NoLevels && needs != AllLevels && !strings.Contains(basis,
				fmt.Sprintf("%s: %d with an unknown level", some.Factors[0].Name, n)) {
				t.Errorf("basis %q does not count the rows left out", basis)
			}
		})
	}
}

// withUnknownRows adds rows of large codes with only unknown levels.
func withUnknownRows(in *Input) *Input {
	more := *in
	s := rng.New(9, "unknown rows")
	more.Codes.Data, more.Levels = slices.Clone(in.Codes.Data), slices.Clone(in.Levels)
	for range in.Codes.Rows {
		for range in.Codes.Cols {
			more.Codes.Data = append(more.Codes.Data, 100*s.NormFloat64())
		}
		more.Levels = append(more.Levels, slices.Repeat([]int{factor.Unknown}, len(in.Factors))...)
	}
	more.Codes.Rows *= 2
	return &more
}

// TestUnknownRows checks that rows without known levels do not change metrics of levels.
func TestUnknownRows(t *testing.T) {
	long.NotShort(t)
	whole, some := gappy()
	for name, in := range map[string]*Input{"whole": kept(whole, 0, 1, 2), "gaps": some} {
		more := withUnknownRows(in)
		for i, e := range entries() {
			c := []Choice{fewRows(e.Name)}
			if c[0].Value.(Needy).Needs() == NoLevels || Suits(in, c) != nil {
				continue
			}
			if m, ok := c[0].Value.(SubCoded); ok {
				m.SetCodes(nil, AssignBest)
			}
			near(t, name+" "+e.Name, evaluated(t, more, c).Value, evaluated(t, in, c).Value, 1e-14)
			if i%3 != 0 && !long.Enabled() {
				continue // the default test takes every third interval
			}
			add := Intervals{Percent: 95, Repeats: 8}
			a, b := []Result{{Name: e.Name, Value: 1}}, []Result{{Name: e.Name, Value: 1}}
			must.OK(t, errors.Join(add.Add(ctx, in, 1, c, a), add.Add(ctx, more, 1, c, b)))
			if needs := c[0].Value.(Needy).Needs(); needs != EachLevel && !reflect.DeepEqual(a[0].Interval, b[0].Interval) {
				t.Errorf("%s %s: intervals %v and %v", name, e.Name, a[0].Interval, b[0].Interval)
			}
		}
	}
}

// TestAssignedColumn checks that a factor gets its best column on the rows where the factor is known.
func TestAssignedColumn(t *testing.T) {
	s := rng.New(3, "assigned")
	in := &Input{Codes: matrix.Matrix{Rows: 200, Cols: 3}, Factors: ordinals(4, 3)}
	for i := range in.Codes.Rows {
		levels := []int{s.IntN(4), s.IntN(3)}
		noise := 0.5
		if i >= 100 {
			noise, levels[0] = 100, factor.Unknown
		}
		own := 0.1*s.NormFloat64() + float64(max(levels[0], 0))
		in.Codes.Data = append(in.Codes.Data, own, noise*s.NormFloat64(), float64(levels[1])+0.1*s.NormFloat64())
		in.Levels = append(in.Levels, levels...)
	}
	r := evaluated(t, in, []Choice{choice("variance")})
	must.EqualSlices(t, r.Part("columns"), []float64{0, 2}, "columns")
}

// A metric that measures each factor on its own rows leaves out factors that it cannot measure.
func TestOneFactorLeft(t *testing.T) {
	whole, _ := gappy()
	some := kept(whole, 0, 1, 2)
	for i := range some.Codes.Rows {
		if i > 0 {
			some.Levels[3*i+1], some.Levels[3*i+2] = factor.Unknown, factor.Unknown
		}
	}
	for _, name := range []string{"sap", "explicitness"} {
		r := evaluated(t, some, []Choice{choice(name)})
		if part := r.Part("per_factor"); len(part) != 1 || part[0] != r.Value ||
			!strings.Contains(strings.Join(r.Notes, "; "), "factor f1 has only one level and is left out") {
			t.Errorf("%s: per_factor %v, notes %q", name, part, r.Notes)
		}
	}
}

// Factors without a known level change neither the columns nor the values of the other factors.
func TestColumnsOfKnownFactors(t *testing.T) {
	s := rng.New(3, "columns")
	in := &Input{Codes: matrix.Matrix{Rows: 200, Cols: 8}, Factors: ordinals(4, 3, 5, 4)}
	for range in.Codes.Rows {
		for _, f := range in.Factors {
			level := s.IntN(f.Size)
			in.Levels = append(in.Levels, level)
			in.Codes.Data = append(in.Codes.Data, float64(level)+0.1*s.NormFloat64(), 0.1*s.NormFloat64())
		}
	}
	some := *in
	some.Levels = slices.Clone(in.Levels)
	for at := range some.Levels {
		if j := at % len(in.Factors); j == 0 || j == 2 {
			some.Levels[at] = factor.Unknown
		}
	}
	codes := factor.SubCodes{"f0": {1}, "f1": {2, 5}, "f3": {7}}
	for name, m := range map[string]Metric{
		"order":  NewSubCodeDeviation(factor.Variance),
		"named":  &SubCodeDeviation{Deviation: factor.MPD, Codes: codes},
		"blocks": &SubCodeDeviation{Deviation: factor.MAD, Project: "blocks"},
		"pairs":  &Separation{Margin: 1, Pairs: 1 << 20, Codes: codes},
	} {
		whole, part := evaluated(t, in, []Choice{{name, m}}), evaluated(t, &some, []Choice{{name, m}})
		want := map[string]float64{}
		for i, label := range whole.Parts[0].Labels {
			want[label] = whole.Parts[0].Values[i]
		}
		if got := part.Parts[0]; !slices.Equal(got.Labels, []string{"f1", "f3"}) || got.Values[0] != want["f1"] || got.Values[1] != want["f3"] {
			t.Errorf("%s: %v of %v; want the values of %v", name, got.Values, got.Labels, want)
		}
	}
	few := some
	few.Codes = in.Codes.Columns([]int{0, 2, 4, 6})
	must.Equal(t, evaluated(t, &few,
		[]Choice{{"direct", &FactorVAE{Batch: 8, Train: 100, Test: 100, Direct: true}}}).Value, 1, "votes for the columns of their factors")
	must.ErrorOf(Evaluate(ctx, &some, 3, []Choice{{"unknown", &SubCodeDeviation{Codes: factor.SubCodes{"f0": {1}}}}}))(t,
		"no factor with columns has a known level", "columns of an unknown factor")
}

func evaluated(t *testing.T, in *Input, c []Choice) Result {
	t.Helper()
	r := must.Get(Evaluate(ctx, in, 3, c))(t)
	return r[0]
}

// A metric of some factors measures the rows where these are known.
func TestContractionOfSomeFactors(t *testing.T) {
	_, some := gappy()
	for _, list := range [][]int{{0}, {1}, {2}, {1, 2}} {
		for _, largest := range []bool{false, true} {
			c := &Contraction{Max: largest}
			for _, j := range list {
				c.Factors = append(c.Factors, some.Factors[j].Name)
			}
			got, known := evaluated(t, some, []Choice{{Name: "contraction", Value: c}}), kept(some, list...)
			near(t, fmt.Sprint(c.Factors), got.Value, compute(t, &Contraction{Max: largest}, known).Value, 1e-12)
			must.Equal(t, got.Basis.Rows, known.Codes.Rows, c.Factors, "rows")
		}
	}
}

// The range of a continuous factor is over all rows, also rows where another factor is unknown.
func TestRangeOfAllRows(t *testing.T) {
	continuous := factor.Factor{Name: "size", Size: 3, Kind: factor.Ordinal}
	codes := matrix.Matrix{Rows: 3, Cols: 1, Data: []float64{0, 0, 0}}
	in := &Input{Codes: codes, Factors: append(ordinals(2), continuous),
		Levels: []int{0, 0, 1, 1, factor.Unknown, 2}, Exact: [][]float64{nil, {0, 1, 10}}}
	for name, m := range map[string]Metric{
		"contraction": &Contraction{Max: true, Units: "range"}, // the distance of the two known factors
		"me":          &MaxError{Fit: FitLeastSquares, Units: "range"},
	} {
		want := math.Sqrt(1 + 0.01)
		if name == "me" {
			want /= 2 // the radius
		}
		near(t, name, evaluated(t, in, []Choice{{Name: name, Value: m}}).Value, want, 1e-12)
	}
}

// A sample is drawn from the rows that the other metric measures.
func TestSampledRows(t *testing.T) {
	_, some := gappy()
	for _, name := range []string{"total-correlation", "mig", "mse", "contraction-mean"} {
		own := evaluated(t, some, []Choice{choice(name)})
		m := &Sampled{Rows: 20000, Draws: 1, Of: choice(name)}
		got := evaluated(t, some, []Choice{{Name: "sampled", Value: m}})
		must.Equal(t, got.Basis.Rows, own.Basis.Rows, name, "rows")
		near(t, name, got.Value, own.Value, 0.02)
		if err := Suits(lost(some), []Choice{{Name: "sampled", Value: m}}); (err == nil) != (name == "total-correlation") {
			t.Errorf("%s without factors: %v", name, err)
		}
	}
}

// lost returns an input where no level is known.
func lost(in *Input) *Input {
	none := *in
	none.Factors = []factor.Factor{{Name: "lost", Size: 1, Kind: factor.Categorical}}
	none.Levels = slices.Repeat([]int{factor.Unknown}, in.Codes.Rows)
	return &none
}

// Compute rejects a factor without a known level, which Evaluate omits.
func TestFactorUnknown(t *testing.T) {
	_, in := gappy()
	for at := 1; at < len(in.Levels); at += len(in.Factors) {
		in.Levels[at] = factor.Unknown
	}
	in.Stream = rng.New(1, "metric")
	for _, name := range []string{"irs", "beta-vae", "factor-vae", "knn"} {
		must.ErrorOf(named(name).Compute(ctx, in))(t, "unknown", name)
	}
}

// TestKnownLevels compares metrics that handle unknown levels by factor with their values on the known rows.
func TestKnownLevels(t *testing.T) {
	_, some := gappy()
	c := choice("irs")
	c.Value.(*IRS).Bins = 0
	c.Value.(*IRS).Quantile = 1
	near(t, "irs", evaluated(t, some, []Choice{c}).Value, bruteIRS(some), 1e-12)
	for name, of := range map[string]func(r *Result, j int) float64{
		"variance": func(r *Result, j int) float64 { return r.Part("per_factor")[j] },
		"mig":      func(r *Result, j int) float64 { return r.Grids[0].Values[j][j] },
	} {
		c := choice(name)
		if m, ok := c.Value.(*SubCodeDeviation); ok {
			m.Codes = factor.SubCodes{some.Factors[0].Name: {0}, some.Factors[1].Name: {1}, some.Factors[2].Name: {2}}
		}
		r := evaluated(t, some, []Choice{c})
		for j := range 3 {
			one := kept(some, j)
			one.Factors = append(one.Factors, factor.Factor{Name: "other", Size: 2})
			one.Levels = slices.Concat(pairsOf(one.Levels)...)
			d := choice(name)
			if m, ok := d.Value.(*SubCodeDeviation); ok {
				m.Codes = factor.SubCodes{some.Factors[j].Name: {j}}
				alone := evaluated(t, one, []Choice{d})
				near(t, fmt.Sprint(name, " of factor ", j), of(&r, j), alone.Part("per_factor")[0], 1e-12)
				continue
			}
			// if the known rows contain the smallest and the largest code, all rows and known rows have equal bins
			if alone := evaluated(t, one, []Choice{d}); sameRange(some.Codes, one.Codes, j) {
				near(t, fmt.Sprint(name, " of factor ", j), of(&r, j), alone.Grids[0].Values[j][0], 1e-12)
			}
		}
	}
}

// pairsOf adds an alternating second level, 0 or 1, to each level.
func pairsOf(levels []int) (rows [][]int) {
	for i, l := range levels {
		rows = append(rows, []int{l, i % 2})
	}
	return rows
}

func sameRange(a, b matrix.Matrix, c int) bool {
	limits := func(m matrix.Matrix) (low, high float64) {
		low, high = m.Data[c], m.Data[c]
		for i := range m.Rows {
			low, high = min(low, m.Row(i)[c]), max(high, m.Row(i)[c])
		}
		return low, high
	}
	la, ha := limits(a)
	lb, hb := limits(b)
	return la == lb && ha == hb
}

// TestNothingKnown checks images without factors. Metrics of codes measure them, and other metrics name the missing
// input.
func TestNothingKnown(t *testing.T) {
	whole, _ := gappy()
	for name, in := range map[string]*Input{
		"one level": {Codes: whole.Codes, Levels: make([]int, 400), Factors: []factor.Factor{{Name: "unknown", Size: 1, Kind: factor.Categorical}}},
		"unknown":   {Codes: whole.Codes, Levels: slices.Repeat([]int{factor.Unknown}, 400), Factors: ordinals(6)},
	} {
		for _, e := range entries() {
			c := []Choice{choice(e.Name)}
			err := Suits(in, c)
			if _, evaluateErr := Evaluate(ctx, in, 3, c); (err == nil) != (evaluateErr == nil) {
				t.Errorf("%s, %s: Suits says %v, Evaluate %v", name, e.Name, err, evaluateErr)
			}
			switch {
			case e.Name == "conditional-tc": // it needs a hierarchy
			case unsupervised(e.Name) && err != nil:
				t.Errorf("%s, %s: %v", name, e.Name, err)
			case e.Name == "h-error" || e.Name == "coverage" || e.Name == "description-length":
			case !unsupervised(e.Name) && !errors.Is(err, MissingFactors):
				t.Errorf("%s, %s: error %v, want %v", name, e.Name, err, MissingFactors)
			}
		}
	}
}

// TestDisjointRows checks two factors that are never known in the same row.
func TestDisjointRows(t *testing.T) {
	whole, _ := gappy()
	in := kept(whole, 0, 1)
	for i := range in.Codes.Rows {
		in.Levels[2*i+i%2] = factor.Unknown
	}
	for name, want := range map[string]string{
		"sap": "", "mig": "", "dci": "", "beta-vae": "", "knn": "", "variance": "",
		"contraction-mean": "no row has known levels of all factors",
	} {
		_, err := Evaluate(ctx, in, 3, []Choice{fewRows(name)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}

// bruteIRS computes the paper's IRS by definition, with largest deviations and unbinned levels.
func bruteIRS(in *Input) float64 {
	k := len(in.Factors)
	var sum, weights float64
	for c := range in.Codes.Cols {
		var all []float64
		for i := range in.Codes.Rows {
			all = append(all, in.Codes.Row(i)[c])
		}
		largest := farthest(all)
		best := math.Inf(-1)
		for j, f := range in.Factors {
			var total, levels float64
			for l := range f.Size {
				var own []float64
				for i := range in.Codes.Rows {
					if in.Levels[i*k+j] == l {
						own = append(own, in.Codes.Row(i)[c])
					}
				}
				if own != nil {
					total += farthest(own) / largest
					levels++
				}
			}
			if levels > 0 {
				best = max(best, 1-total/levels)
			}
		}
		sum += best * largest
		weights += largest
	}
	return sum / weights
}

// farthest returns the largest distance of numbers to their mean.
func farthest(x []float64) (most float64) {
	mean := factor.Mean.Of(x)
	for _, v := range x {
		most = max(most, math.Abs(v-mean))
	}
	return most
}
