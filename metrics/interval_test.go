package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/interval"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// intervals evaluates metrics and adds intervals.
func intervals(t testing.TB, in *Input, seed uint64, s Intervals, choices ...Choice) []Result {
	t.Helper()
	results := must.Get(Evaluate(ctx, in, seed, choices))(t)
	must.OK(t, s.Add(ctx, in, seed, choices, results))
	return results
}

// Independent codes have mutual information 0. Counting exceeds it, but the estimate does not. Codes with one
// informative column for every factor have MED 1, for any number of other columns.
func TestIntervalWithoutCountingBias(t *testing.T) {
	random := population(1600, rng.New(3, "random"))
	s := rng.New(4, "codes")
	for i := range random.Codes.Data {
		random.Codes.Data[i] = s.Float64()
	}
	for _, r := range intervals(t, random, 1, Intervals{Percent: 95, Repeats: 40}, choice("mig"), choice("mutual-information")) {
		if i := r.Interval; !(r.Value > 0) || !(i.Low <= 0 && i.Estimate <= r.Value/3) {
			t.Errorf("%s of independent codes is %v with the interval %+v; want one with 0, and an estimate far below the value", r.Name, r.Value, i)
		}
	}
	many := gridInput(ordinals(4, 5, 3), 60, func(l []int, z []float64) {
		z[0], z[1], z[2] = float64(l[0]), float64(l[1]), float64(l[2])
		for c := 3; c < len(z); c++ {
			z[c] = s.Float64()
		}
	})
	many = repeatedRows(many, 10, func(z []float64) {
		for c := 3; c < len(z); c++ {
			z[c] = s.Float64()
		}
	})
	r := intervals(t, many, 1, Intervals{Percent: 95, Repeats: 8}, choice("med"))[0]
	if i := r.Interval; !(r.Value <= 0.6 && i.Low <= 1 && i.High >= 0.999 && i.Estimate >= 0.99) {
		t.Errorf("med of one informative column for every factor is %v with %+v; want a value below .6 and the truth, 1, in the interval", r.Value, i)
	}
	if len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "of 180 pairs of a column and a factor have no more information than chance") {
		t.Errorf("notes %v", r.Notes)
	}
}

// Weak information that chance hides is within the interval: some pairs of this code count as independent, and all have
// information.
func TestIntervalOfWeakInformation(t *testing.T) {
	weak := func(n int, s *rng.Stream) *Input {
		in := &Input{Codes: matrix.Matrix{Rows: n, Cols: 3}, Factors: ordinals(5, 4)}
		for range n {
			a, b := s.IntN(5), s.IntN(4)
			in.Levels = append(in.Levels, a, b)
			for _, share := range [][2]float64{{1, 0.3}, {0.5, 0.2}, {0.2, 0.9}} {
				in.Codes.Data = append(in.Codes.Data, share[0]*float64(a)/4+share[1]*float64(b)/3+1.5*s.Float64())
			}
		}
		return in
	}
	choices := []Choice{choice("med"), choice("co-occurrence")}
	truth := must.Get(Evaluate(ctx, weak(100000, rng.New(1, "truth")), 1, choices))(t)
	const times = 20
	held := map[string]int{}
	for seed := range uint64(times) {
		for k, r := range intervals(t, weak(1000, rng.New(seed, "weak")), seed, Intervals{Percent: 95, Repeats: 8}, choices...) {
			if i := r.Interval; i.Low <= truth[k].Value && truth[k].Value <= i.High {
				held[r.Name]++
			}
		}
	}
	if held["med"] < 15 || held["co-occurrence"] < 15 { // without the pairs' information: 5 and 13
		t.Errorf("of %d intervals hold the true value: %v", times, held)
	}
}

// Halves take rows for independent, so repeated rows give a narrow interval. A note says so.
func TestIntervalOfRepeatedRows(t *testing.T) {
	for times, want := range map[int]int{1: 0, 2: 200, 5: 320} {
		in := population(400/times, rng.New(5, "once"))
		in.Codes = matrix.Matrix{Rows: 400, Cols: in.Codes.Cols, Data: slices.Repeat(in.Codes.Data, times)}
		in.Levels = slices.Repeat(in.Levels, times)
		notes := intervals(t, in, 1, Intervals{Percent: 95, Repeats: 20}, choice("mig"))[0].Notes
		note := fmt.Sprintf("%d of 400 rows repeat the codes and levels of another row, so the interval is too narrow", want)
		if slices.Contains(notes, note) != (times > 1) {
			t.Errorf("rows given %d times: notes %q", times, notes)
		}
	}
}

// repeatedRows repeats the rows of an input and changes the codes of every row.
func repeatedRows(in *Input, times int, change func(z []float64)) *Input {
	some := *in
	some.Codes = matrix.Matrix{Rows: times * in.Codes.Rows, Cols: in.Codes.Cols}
	some.Levels = nil
	for range times {
		some.Codes.Data, some.Levels = append(some.Codes.Data, in.Codes.Data...), append(some.Levels, in.Levels...)
	}
	for i := range some.Codes.Rows {
		change(some.Codes.Row(i))
	}
	return &some
}

// The bootstrap repeats rows, which raises mutual information. It moves away from the truth, and halves correct this.
func TestBootstrapAddsInformation(t *testing.T) {
	in := population(1000, rng.New(8, "rows"))
	m := choice("mutual-information")
	value := compute(t, m.Value, in).Value
	s := rng.New(9, "bootstrap")
	var mean float64
	for range 20 {
		rows := make([]int, in.Codes.Rows)
		for i := range rows {
			rows[i] = s.IntN(len(rows))
		}
		mean += compute(t, m.Value, subset(in, rows)).Value / 20
	}
	estimate := intervals(t, in, 1, Intervals{Percent: 95, Repeats: 20}, m)[0].Interval.Estimate
	if truth := 0.0406; !(mean > value+0.05) || !(math.Abs(estimate-truth) <= 0.02) || !(value >= 3*truth) {
		t.Errorf("value %.3f, of bootstrap samples %.3f, estimate %.3f; want %.3f", value, mean, estimate, truth)
	}
}

// Intervals depend on the seed, but not on other metrics or on watching.
func TestIntervalRepeats(t *testing.T) {
	long.NotShort(t)
	in := population(300, rng.New(5, "rows"))
	s := Intervals{Percent: 90, Repeats: 10}
	list := intervals(t, in, 7, s, choice("mse"), choice("sap"), choice("radius"), choice("irs"))
	calls := 0
	s.Watch = func(name string, done, of int) { calls++ }
	alone := intervals(t, in, 7, s, choice("sap"))[0]
	if !reflect.DeepEqual(list[1].Interval, alone.Interval) || calls != 10 {
		t.Errorf("sap has %+v, alone %+v after %d calls", list[1].Interval, alone.Interval, calls)
	}
	if i := list[0].Interval; i.Way != interval.Rows || i.Repeats != 10 || i.Percent != 90 ||
		!(i.Low < i.Estimate && i.Estimate < i.High) || !(i.Error > 0) {
		t.Errorf("mse has %+v", i)
	}
	if i := list[1].Interval; i.Way != interval.Draws {
		t.Errorf("sap has %+v", i)
	}
	for _, r := range list[2:] {
		if r.Interval != nil || !strings.Contains(strings.Join(r.Notes, ""), "grows with the number of images") {
			t.Errorf("%s: %+v", r.Name, r)
		}
	}
	if other := intervals(t, in, 8, s, choice("mse"))[0].Interval; reflect.DeepEqual(other, list[0].Interval) {
		t.Error("another seed gives the same interval")
	}
}

// Halves have the units of all rows. Intervals by ranges equal the intervals of factors scaled before.
func TestIntervalOfRanges(t *testing.T) {
	in := population(200, rng.New(2, "rows"))
	k, s := len(in.Factors), rng.New(3, "values")
	scaled := *in
	in.Exact, scaled.Exact = make([][]float64, k), make([][]float64, k)
	for j, f := range in.Factors {
		if f.Kind != factor.Ordinal {
			continue
		}
		for range in.Codes.Rows {
			in.Exact[j] = append(in.Exact[j], s.NormFloat64())
		}
		low, high := slices.Min(in.Exact[j]), slices.Max(in.Exact[j])
		for _, v := range in.Exact[j] {
			scaled.Exact[j] = append(scaled.Exact[j], (v-low)/(high-low))
		}
	}
	for _, text := range []string{"mse: {units: U}", "contraction-mean: {units: U}",
		`logic: {units: U, sentence: "forall[mean] i: z[0](i) =[squared] y.size(i)"}`} {
		var values []float64
		for units, in := range map[string]*Input{"range": in, "as-given": &scaled} {
			var read struct {
				Metrics []Choice `yaml:"metrics"`
			}
			must.OK(t, config.Load("units.yaml", []byte("metrics: [{"+strings.Replace(text, "U", units, 1)+"}]"), &read))
			values = append(values, intervals(t, in, 1, Intervals{Percent: 95, Repeats: 8}, read.Metrics...)[0].Interval.Estimate)
		}
		near(t, text, values[0], values[1], 1e-9)
	}
}

// Sentences of means have intervals. Other sentences state why they have none.
func TestIntervalOfSentences(t *testing.T) {
	in := population(200, rng.New(2, "rows"))
	for text, want := range map[string]string{
		"forall[mean] i, j: y.size(i) = y.size(j) -> z(i) =[squared] z(j)": "",
		"forall i, j: z(i) =[squared] z(j)":                                "no interval: its max over rows depends",
		"forall[mean] i: exists j: z(i) =[squared] z(j)":                   "no interval: its ",
	} {
		var read struct {
			Metrics []Choice `yaml:"metrics"`
		}
		must.OK(t, config.Load("sentence.yaml", []byte(fmt.Sprintf("metrics: [{logic: %q}]", text)), &read))
		r := intervals(t, in, 1, Intervals{Percent: 95, Repeats: 8}, read.Metrics...)[0]
		if notes := strings.Join(r.Notes, ", "); (r.Interval != nil) != (want == "") || !strings.Contains(notes, want) {
			t.Errorf("%s: interval %+v, notes %s", text, r.Interval, notes)
		}
	}
}

func TestIntervalErrors(t *testing.T) {
	must.Error(t, (Intervals{Percent: 0.95}).Validate(), "0.95 is out of range; want 95, of 50 to 99.9")
	for _, s := range []Intervals{{Percent: 0}, {Percent: 100}, {Percent: math.NaN()}, {Percent: 95, Repeats: 3}, {Percent: 95, Rows: 2}} {
		if s.Validate() == nil {
			t.Errorf("%+v is valid", s)
		}
	}
	sparse := intervals(t, population(300, rng.New(1, "few")), 1, Intervals{Percent: 95}, choice("mutual-information"))[0]
	if sparse.Interval != nil ||
		!strings.Contains(sparse.Notes[0], "no interval: 300 rows are too few to count 400 cells; want at least 800") {
		t.Errorf("300 rows: %+v", sparse)
	}
	few := intervals(t, population(20, rng.New(1, "few")), 1, Intervals{Percent: 95}, choice("mse"))[0]
	if few.Interval != nil || !strings.Contains(few.Notes[0], "no interval: 20 rows are too few") {
		t.Errorf("20 rows: %+v", few)
	}
	stranger := intervals(t, population(100, rng.New(1, "few")), 1, Intervals{Percent: 95},
		Choice{Name: "own", Value: own{Result{Value: 1}}})[0]
	if stranger.Interval != nil || !strings.Contains(stranger.Notes[0], "the metric does not say how") {
		t.Errorf("a metric without a way: %+v", stranger)
	}
}

// own is a metric with a given result, without intervals.
type own struct{ result Result }

func (own) Better() Direction { return HigherIsBetter }
func (o own) Compute(context.Context, *Input) (Result, error) {
	return o.result, nil
}

// Results of a program's own metrics have finite numbers, and labels that fit them: reports show both side by side.
func TestOwnResults(t *testing.T) {
	for want, r := range map[string]Result{
		"": {Value: 1, Parts: []Part{{Name: "p", Values: []float64{2}}, {Name: "q", Labels: []string{"a", "b"}, Values: []float64{2, 1}}},
			Grids: []Grid{{Name: "g", Rows: []string{"a"}, Columns: []string{"b", "c"}, Values: [][]float64{{1, 2}}}}},
		"the value, number 0, is NaN":                                       {Value: math.NaN()},
		"the part p has 2 values and 1 labels; want a label for each value": {Parts: []Part{{Name: "p", Labels: []string{"a"}, Values: []float64{2, 1}}}},
		"the grid g has not the 1 x 2 values of its labels":                 {Grids: []Grid{{Name: "g", Rows: []string{"a"}, Columns: []string{"b", "c"}}}},
		"the grid h has not the 1 x 1 values of its labels":                 {Grids: []Grid{{Name: "h", Rows: []string{"a"}, Columns: []string{"b"}, Values: [][]float64{{1, 2}}}}},
	} {
		_, err := Evaluate(ctx, population(20, rng.New(1, "few")), 1, []Choice{{Name: "own", Value: own{r}}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", r, err, want)
		}
	}
}

// If the context ends, the interval of the finished repeats remains.
func TestIntervalStopped(t *testing.T) {
	in := population(300, rng.New(5, "rows"))
	for name, way := range map[string]interval.Way{"mse": interval.Rows, "sap": interval.Draws} {
		c := []Choice{choice(name)}
		results, err := Evaluate(ctx, in, 1, c)
		must.OK(t, err)
		some, stop := context.WithCancel(ctx)
		s := Intervals{Percent: 95, Watch: func(_ string, done, _ int) {
			if done == 12 {
				stop()
			}
		}}
		err = s.Add(some, in, 1, c, results)
		if !errors.Is(err, context.Canceled) || results[0].Interval == nil || results[0].Interval.Repeats != 12 ||
			results[0].Interval.Way != way {
			t.Errorf("%s: error %v, interval %+v", name, err, results[0].Interval)
		}
		few, stopSoon := context.WithCancel(ctx)
		stopSoon()
		results[0].Interval = nil
		if err = s.Add(few, in, 1, c, results); !errors.Is(err, context.Canceled) || results[0].Interval != nil {
			t.Errorf("%s, stopped at once: error %v, interval %+v", name, err, results[0].Interval)
		}
	}
}

// Every metric of Unravel states how its interval is computed, or why it has none.
func TestMetricsResample(t *testing.T) {
	for _, entry := range Registry.Entries {
		switch way, why := WayOf(entry.New()); way {
		case interval.Rows, interval.Draws:
		case interval.None:
			if why == "" || strings.Contains(why, "does not say") {
				t.Errorf("%s does not say why it has no interval: traitsOf has no case for it", entry.Name)
			}
		default:
			t.Errorf("%s: unknown way %q", entry.Name, way)
		}
	}
}

// Slow metrics fit predictors. Metrics of angles use more than levels. Scaled values depend on the scale of the codes.
func TestTraits(t *testing.T) {
	got := map[string][]string{}
	for _, entry := range Registry.Entries {
		for _, trait := range Traits(entry.New()) {
			got[trait] = append(got[trait], entry.Name)
		}
	}
	for trait, want := range map[string]string{
		"slow":     "dci dci-regression downstream probe knn r4 r4c",
		"angles":   "dlsbd dlsbd-workshop dci-regression logic contraction-mean contraction-max mse mae me r4 r4c h-error",
		"scaled":   "variance mad radius diameter mpd logic contraction-mean contraction-max separation wasserstein-correlation sap beta-vae factor-vae",
		"whole":    "dlsbd dlsbd-workshop manipulation",
		"bins":     "mig modularity mutual-information med co-occurrence",
		"informed": "modularity med co-occurrence",
		"counts":   "dci dci-regression logic sampled sap explicitness beta-vae factor-vae r4 r4c",
		"draws":    "dci dci-regression sampled sap explicitness downstream probe knn beta-vae factor-vae r4 r4c",
	} {
		must.Equal(t, strings.Join(got[trait], " "), want, trait)
	}
}

// Results, streams and rules that do not fit are errors.
func TestAddMistakes(t *testing.T) {
	var none context.Context
	in, c := population(60, rng.New(1, "rows")), []Choice{choice("mig")}
	results := must.Get(Evaluate(ctx, in, 1, c))(t)
	_, stream := Manipulation(ctx, in, nil)
	_, assign := Approximate(ctx, in, nil, "nope")
	for want, err := range map[string]error{
		"0 results of 1 metrics; want":          Chances{Shuffles: 2}.Add(ctx, in, 1, c, nil),
		"0 results of 1 metrics; want the resu": Intervals{Percent: 95}.Add(ctx, in, 1, c, nil),
		"the results of Evaluate, and a contex": Chances{Shuffles: 2}.Add(none, in, 1, c, results),
		"there is no input":                     Intervals{Percent: 95}.Add(ctx, nil, 1, c, results),
		"want a stream such as":                 stream,
		`unknown assignment "nope"`:             assign,
	} {
		must.Error(t, err, want)
	}
}

// The bias of a deviation in small groups is not of order 1/n: halves have groups of one row.
func TestIntervalsOfSmallGroups(t *testing.T) {
	s := rng.New(3, "groups")
	in := &Input{Codes: matrix.Matrix{Rows: 360, Cols: 2}, Factors: ordinals(36, 40)}
	for i := range in.Codes.Rows {
		in.Levels = append(in.Levels, i%36, i%40)
		in.Codes.Data = append(in.Codes.Data, s.NormFloat64(), s.NormFloat64())
	}
	for name, want := range map[string]string{
		"f0": "", "f1": "no interval: 360 rows are too few for 40 levels of f1; want at least 400",
	} {
		v := NewSubCodeDeviation(factor.Variance)
		v.Codes = factor.SubCodes{name: {0}}
		text := strings.ReplaceAll("forall[mean] i, j: y.F(i) = y.F(j) -> z[0](i) =[squared] z[0](j)", "F", name)
		choices := []Choice{{Name: "variance", Value: v}, {Name: "logic", Value: sentence(t, text)}}
		results, err := Evaluate(ctx, in, 1, choices)
		if err == nil {
			err = (Intervals{Percent: 95, Repeats: 8}).Add(ctx, in, 1, choices, results)
		}
		must.OK(t, err)
		for _, r := range results {
			if (r.Interval == nil) != (want != "") || want != "" && !slices.Contains(r.Notes, want) {
				t.Errorf("%s of %s: interval %v, notes %q; want the note %q", r.Name, name, r.Interval, r.Notes, want)
			}
		}
	}
}
