package interval

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// The interval of a mean follows from its standard error. A bias of c/n is extrapolated to 0.
func TestHalves(t *testing.T) {
	const n = 1000
	x, s := make([]float64, n), rng.New(1, "interval")
	var square float64
	for i := range x {
		x[i] = float64(i%2)*2 - 1 // mean 0, variance 1
		square += x[i] * x[i] / n
	}
	of := func(rows []int) (sum float64) {
		for _, i := range rows {
			sum += x[i] / float64(len(rows))
		}
		return sum + 5/float64(len(rows))
	}
	v := Value{Value: 5.0 / n, Least: math.Inf(-1), Most: math.Inf(1), Repeats: 400, Rows: n, Used: n}
	got, err := Settings{Percent: 95}.Halves(context.Background(), v, s, func(rows []int, _ int, _ string) (float64, error) {
		return of(rows), nil
	})
	must.OK(t, err)
	if want := math.Sqrt(square / n); !(math.Abs(got.Error/want-1) <= 0.1) || !(math.Abs(got.Estimate) <= 1e-12) || got.Way != Rows {
		t.Errorf("%+v; want the standard error %v, around 0", got, want)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		s    Settings
		want string
	}{
		{Settings{Percent: 50}, ""}, {Settings{Percent: 99.9, Repeats: 8, Rows: 16}, ""}, {Settings{Percent: 95, Repeats: 100000, Rows: 1e9}, ""},
		{Settings{Percent: 0.5}, "percent: 0.5 is out of range; want 50, of 50 to 99.9"}, {Settings{Percent: 0.955}, "percent: 0.955 is out of range; want 95.5, of 50 to 99.9"},
		{Settings{Percent: 1}, "percent: 1 is out of range; want 50 to 99.9"}, {Settings{Percent: 0.49}, "percent: 0.49 is out of range; want 50 to 99.9"},
		{Settings{Percent: 49.9}, "percent: 49.9 is out of range; want 50 to 99.9"}, {Settings{Percent: 99.95}, "percent: 99.95 is out of range; want 50 to 99.9"},
		{Settings{Percent: math.NaN()}, "percent: NaN is out of range; want 50 to 99.9"},
		{Settings{Percent: 95, Repeats: 7}, "repeats: 7 is out of range; want 8 to 100000, or 0 (as suits the metric)"},
		{Settings{Percent: 95, Repeats: 100001}, "repeats: 100001 is out of range; want 8 to 100000, or 0 (as suits the metric)"},
		{Settings{Percent: 95, Repeats: -1}, "repeats: -1 is out of range; want 8 to 100000, or 0 (as suits the metric)"},
		{Settings{Percent: 95, Rows: 15}, "rows: 15 is out of range; want at least 16, or 0"},
	} {
		if err := c.s.Validate(); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
}

// Pairs of halves are disjoint. Quarters are the first parts of halves. The number of rows is bounded.
func TestHalvesOfRows(t *testing.T) {
	for _, c := range []struct{ rows, most, half, repeats int }{{33, 0, 16, 8}, {40, 16, 16, 7}, {12000, 0, 5000, 2}} {
		var watched []int
		set := Settings{Percent: 95, Rows: c.most, Watch: func(_ string, done, of int) { watched = append(watched, done, of) }}
		v := Value{Least: math.Inf(-1), Most: math.Inf(1), Repeats: c.repeats, Rows: c.rows, Used: c.rows, Quarters: true}
		halves, quarters, even := 0, 0, c.repeats+c.repeats%2
		seen := map[int]bool{}
		var last []int
		got, err := set.Halves(t.Context(), v, rng.New(3, "halves"), func(rows []int, b int, of string) (float64, error) {
			want := c.half
			switch {
			case of == "quarters":
				if quarters, want = quarters+1, c.half/2; &rows[0] != &last[0] {
					t.Errorf("repeat %d: the quarter is not part of its half", b)
				}
			case b != halves:
				t.Errorf("repeat %d instead of %d", b, halves)
			default:
				if halves, last = halves+1, rows; b%2 == 0 {
					clear(seen)
				}
				for _, i := range rows {
					if seen[i] {
						t.Errorf("repeat %d: row %d again", b, i)
					}
					seen[i] = true
				}
			}
			must.Equal(t, len(rows), want, "repeat", b, "rows", of)
			n := float64(len(rows))
			return 2 + 3/n + 5/(n*n) + float64(b%2), nil
		})
		if err != nil || halves != even || quarters != even || got.Repeats != even || len(watched) != 2*even ||
			watched[2*even-2] != even-1 || watched[1] != even {
			t.Fatalf("%d rows: %d halves, %d quarters, watched %v: %+v, %v", c.rows, halves, quarters, watched, got, err)
		}
	}
}

// Three sizes extrapolate a parabola in 1/n to 0, and two sizes a line. A value of as few rows as a half does not
// count.
func TestEndless(t *testing.T) {
	bias := func(n float64) float64 { return 2 + 3/n + 50/(n*n) }
	for _, c := range []struct {
		quarters bool
		used     int
		want     float64
	}{
		{true, 64, 2}, {false, 64, 2*bias(64) - bias(32)}, {true, 32, 2*bias(32) - bias(16)}, {false, 32, bias(32)}, {false, 31, bias(32)},
		{false, 33, (33*bias(33) - 32*bias(32)) / (33 - 32)},
	} {
		v := Value{Value: bias(float64(c.used)), Least: math.Inf(-1), Most: math.Inf(1), Repeats: 8, Rows: 64, Used: c.used, Quarters: c.quarters}
		got, err := Settings{Percent: 95}.Halves(t.Context(), v, rng.New(1, "endless"), func(rows []int, _ int, _ string) (float64, error) {
			return bias(float64(len(rows))), nil
		})
		if err != nil || !(math.Abs(got.Estimate-c.want) <= 1e-12) {
			t.Errorf("%+v: %+v, %v; want %v", c, got, err, c.want)
		}
	}
}

// The interval of draws is Student's interval for their mean, within the bounds.
func TestDraws(t *testing.T) {
	draws := []float64{3, 1, 2, 6, 4, 5, 8, 7, 0} // mean 4, variance 60/8
	measure := func(b int) (float64, error) {
		if b == 0 {
			t.Error("the value was measured again")
		}
		return draws[b], nil
	}
	v := Value{Value: draws[0], Least: math.Inf(-1), Most: math.Inf(1), Repeats: len(draws)}
	got, err := Settings{Percent: 95}.Draws(t.Context(), v, measure)
	e := math.Sqrt(7.5 / 9)
	const student = 2.306004135204166 // 0.975 quantile, 8 degrees of freedom: scipy.stats.t.ppf(0.975, 8)
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if err != nil || !near(got.Estimate, 4) || !near(got.Error, e) || !near(got.Low, 4-student*e) ||
		!near(got.High, 4+student*e) || got.Way != Draws || got.Repeats != 9 || got.Percent != 95 {
		t.Errorf("%+v, %v", got, err)
	}
	v.Least, v.Most = 3.5, 3.9
	if got, err = (Settings{Percent: 95}).Draws(t.Context(), v, measure); err != nil || got.Low != 3.5 ||
		got.High != 3.9 || got.Estimate != 3.9 {
		t.Errorf("within bounds: %+v, %v", got, err)
	}
	if mean, deviation := MeanAndDeviation([]float64{5}); mean != 5 || deviation != 0 {
		t.Errorf("of one number: %v, %v", mean, deviation)
	}
}

// Wrong settings and too few repeats are errors.
func TestMistakes(t *testing.T) {
	for want, c := range map[string]struct {
		s Settings
		v Value
	}{
		"percent: 0 is out of range":                       {Settings{}, Value{Repeats: 8, Rows: 40, Used: 40}},
		"rows: -3 is out of range":                         {Settings{Percent: 95, Rows: -3}, Value{Repeats: 8, Rows: 40, Used: 40}},
		"interval: the value has 0 repeats; want at least": {Settings{Percent: 95, Repeats: 8}, Value{Rows: 40, Used: 40}},
	} {
		must.ErrorOf(c.s.Draws(t.Context(), c.v, func(int) (float64, error) { return 1, nil }))(t, want)
		must.ErrorOf(c.s.Halves(t.Context(), c.v, rng.New(1, "mistakes"),
			func([]int, int, string) (float64, error) { return 1, nil }))(t, want)
	}
}

// After eight repeats, the end of the context gives the interval so far. Earlier, or for other errors, there is none.
func TestStopped(t *testing.T) {
	fault := errors.New("a fault")
	for _, c := range []struct {
		after int
		err   error
		some  bool
	}{{7, context.Canceled, false}, {8, context.Canceled, true}, {8, fault, false}} {
		ctx, cancel := context.WithCancel(t.Context())
		stop := func(b int) error {
			if b < c.after {
				return nil
			}
			cancel()
			return c.err
		}
		v := Value{Value: 1, Least: math.Inf(-1), Most: math.Inf(1), Repeats: 20, Rows: 40, Used: 40, Quarters: true}
		draws, err := Settings{Percent: 95}.Draws(ctx, v, func(b int) (float64, error) { return 1, stop(b) })
		halves, err2 := Settings{Percent: 95}.Halves(ctx, v, rng.New(1, "stopped"),
			func(_ []int, b int, _ string) (float64, error) { return 1, stop(b) })
		if !errors.Is(err, c.err) || !errors.Is(err2, c.err) || (draws != nil) != c.some || (halves != nil) != c.some {
			t.Errorf("%v after %d repeats: %+v, %v, %+v, %v", c.err, c.after, draws, err, halves, err2)
		}
		if c.some && (draws.Repeats != 8 || halves.Repeats != 8 || halves.Estimate != 1) {
			t.Errorf("after 8 repeats: %+v, %+v", draws, halves)
		}
		cancel()
	}
}

// The deviation has the same digits for numbers of any size.
func TestMeanAndDeviation(t *testing.T) {
	for _, size := range []float64{0x1p-1070, 0x1p-600, 1, 0x1p600, 0x1p1021} {
		mean, deviation := MeanAndDeviation([]float64{-1 * size, size, 3 * size})
		if mean != size || deviation != 2*size {
			t.Errorf("numbers of size %g: mean %g and deviation %g, want %g and %g", size, mean, deviation, size, 2*size)
		}
	}
}
