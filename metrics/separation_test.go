package metrics_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/similarity"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// answered returns an input of rows with two columns and answers about factors x and y. Row 5 is in no class.
func answered(t *testing.T, codes []float64) *Input {
	t.Helper()
	in := &Input{Codes: matrix.Matrix{Rows: len(codes) / 2, Cols: 2, Data: codes}}
	a := &similarity.Answers{Rows: in.Codes.Rows}
	for _, x := range []struct {
		row, other int
		factor     string
		same       bool
	}{
		{0, 1, "x", true}, {2, 3, "x", true}, {0, 2, "x", false}, {1, 5, "x", false},
		{0, 4, "y", true}, {0, 3, "y", false},
	} {
		a.Add(x.row, x.other, x.factor, x.same)
	}
	classes, err := similarity.Unite(a, similarity.Options{})
	if err == nil {
		err = in.SetClasses(classes)
	}
	must.OK(t, err)
	return in
}

func TestSeparationOfAnswers(t *testing.T) {
	codes := []float64{0, 0, 0.5, 9, 0.25, 3, 1, 4, 2, 0, 0.5, 9}
	columns := factor.SubCodes{"x": {0}, "y": {1}}
	for _, test := range []struct {
		name   string
		change func(m *Separation, in *Input)
		want   float64
	}{
		{"by hand", func(m *Separation, in *Input) {}, (0.75 + 1) / 2.}, // |0 - 0.25| and |0.5 - 0.5|; |0 - 4| of y
		{"largest", func(m *Separation, in *Input) { m.Aggregate = factor.Max }, 1},
		{"margin", func(m *Separation, in *Input) { m.Margin = 5 }, (4.75+5)/2. + 1},
		{"both columns", func(m *Separation, in *Input) {
			m.Codes, m.Margin = factor.SubCodes{"x": {0, 1}, "y": {1}}, 4
		}, (4-math.Hypot(0.25, 3)+4)/2 + 0},
		{"constant codes", func(m *Separation, in *Input) { clear(in.Codes.Data) }, 2},
	} {
		in, m := answered(t, slices.Clone(codes)), named("separation").(*Separation)
		m.Codes = columns
		test.change(m, in)
		r := must.Get(Evaluate(ctx, in, 1, []Choice{{Name: "separation", Value: m}}))(t)
		near(t, test.name, r[0].Value, test.want, 1e-12)
		near(t, test.name+": score", r[0].Part("score")[0], math.Exp(-test.want), 1e-12)
		if !slices.Equal(r[0].Part("pairs"), []float64{2, 1}) || r[0].Basis.Rows != 6 {
			t.Errorf("%s: %+v", test.name, r[0])
		}
	}
	in := answered(t, codes)
	in.Differ = nil
	must.Error(t, Suits(in, []Choice{choice("separation")}), "at least one answer different")
}

// A repeated answer counts once, and a factor needs no answer same.
func TestSeparationOfDifferences(t *testing.T) {
	in := &Input{Codes: matrix.Matrix{Rows: 4, Cols: 2, Data: []float64{0, 0, 0.25, 0, 1, 0.5, 1, 0.75}}}
	a := &similarity.Answers{Rows: 4}
	for _, pair := range [][2]int{{0, 1}, {2, 3}, {1, 0}, {0, 1}} {
		a.Add(pair[0], pair[1], "x", false)
	}
	a.Add(0, 1, "y", true)
	a.Add(0, 2, "y", false)
	classes, err := similarity.Unite(a, similarity.Options{})
	if err == nil {
		err = in.SetClasses(classes)
	}
	must.OK(t, err)
	m, v := named("separation").(*Separation), NewSubCodeDeviation(factor.Variance)
	m.Codes, v.Codes = factor.SubCodes{"x": {0}, "y": {1}}, factor.SubCodes{"x": {1}, "y": {0}}
	got := evaluated(t, in, []Choice{{Name: "separation", Value: m}})
	near(t, "separation", got.Value, (0.75+1)/2+0.5, 1e-12)
	must.EqualSlices(t, got.Part("pairs"), []float64{2, 1}, "pairs")
	near(t, "variance of y", evaluated(t, in, []Choice{{Name: "variance", Value: v}}).Value, 1/64., 1e-12)
}

// Rows with different levels differ. Random pairs give a value near the value of all pairs.
func TestSeparationOfLevels(t *testing.T) {
	in := gridInput(ordinals(3, 2, 200), 3, func(l []int, z []float64) {
		z[0], z[1], z[2] = 0.25*float64(l[0]), 0.5*float64(l[1]), 2*float64(l[2])
	})
	m := named("separation").(*Separation)
	m.Pairs = 1 << 21
	r := compute(t, m, in)
	near(t, "all pairs", r.Value, (2*0.75+0.5)/3+0.5, 1e-9) // levels of the first factor are 1, 1 and 2 apart, equally often
	m.Pairs, in.Stream = 20000, rng.New(1, "pairs")
	near(t, "random pairs", compute(t, m, in).Value, r.Value, 0.02)
	in.Stream = nil
	must.ErrorOf(m.Compute(ctx, in))(t, "the input's Stream is nil")
	in.Stream, in.Levels[0] = rng.New(1, "pairs"), factor.Unknown
	if p := compute(t, m, in); p.Value == 0 {
		t.Errorf("an unknown level: %+v", p)
	}
	one := gridInput(ordinals(4, 1), 2, func(l []int, z []float64) { z[0] = float64(l[0]) })
	if r := compute(t, named("separation").(*Separation), one); r.Value != 0 || len(r.Notes) != 1 {
		t.Errorf("a constant factor: %+v", r)
	}
}

// Parts and permutations of rows keep their pairs.
func TestSeparationChance(t *testing.T) {
	codes := make([]float64, 200)
	a := &similarity.Answers{Rows: 100}
	for i := range 100 {
		codes[2*i] = float64(2 * (i % 2))
		if i >= 2 {
			a.Add(i, i-2, "x", true)
		}
		if i >= 1 {
			a.Add(i, i-1, "x", false)
		}
	}
	classes := must.Get(similarity.Unite(a, similarity.Options{}))(t)
	in := &Input{Codes: matrix.Matrix{Rows: 100, Cols: 2, Data: codes}}
	must.OK(t, in.SetClasses(classes))
	m := named("separation").(*Separation)
	m.Assign = AssignBest
	choices := []Choice{{Name: "separation", Value: m}}
	results, err := Evaluate(ctx, in, 1, choices)
	if err == nil {
		err = Chances{Shuffles: 5}.Add(ctx, in, 1, choices, results)
	}
	must.OK(t, err)
	if c := results[0].Chance; results[0].Value != 0 || c == nil || !(math.Abs(c.Mean-0.5) <= 0.1) || !c.Differs {
		t.Errorf("%+v, chance %+v; want 0, of shuffled rows 1/2", results[0], c)
	}
}

// Answers different count for a factor without answers same, if its columns are known.
func TestSeparationWithoutClasses(t *testing.T) {
	a := &similarity.Answers{Rows: 4}
	a.Add(0, 1, "b", false)
	a.Add(2, 3, "a", true)
	a.Add(1, 2, "a", false)
	both := must.Get(similarity.Unite(a, similarity.Options{}))(t)
	a = &similarity.Answers{Rows: 4}
	a.Add(0, 1, "b", false)
	alone := must.Get(similarity.Unite(a, similarity.Options{}))(t)
	named := factor.SubCodes{"b": {0}, "a": {1}}
	only := factor.SubCodes{"b": {0}}
	for name, c := range map[string]struct {
		classes *similarity.Classes
		metric  Metric
		want    string // per_factor, notes or the error
	}{
		"named":           {both, &Separation{Margin: 1, Codes: named, Pairs: 1}, "[0.75 0.5] []"},
		"best":            {both, &Separation{Margin: 1, Assign: AssignBest, Pairs: 1}, "[0] [columns of factors: a 0 factor b is left out: no two rows are known to agree in it; want its columns]"},
		"no class, named": {alone, &Separation{Margin: 1, Codes: only, Pairs: 1}, "[0.75] []"},
		"no class":        {alone, &Separation{Margin: 1, Assign: AssignBest, Pairs: 1}, "metric m: no two rows are known to agree in a factor; want at least one answer same, or the columns of each factor"},
		"variance":        {alone, &SubCodeDeviation{Codes: only}, "metric m: no two rows are known to agree in a factor; want at least one answer same"},
	} {
		in := &Input{Codes: matrix.Matrix{Rows: 4, Cols: 2, Data: []float64{0, 0.5, 0.25, 0.5, 9, 1, 3, 1}}}
		if err := in.SetClasses(c.classes); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		results, err := Evaluate(ctx, in, 1, []Choice{{Name: "m", Value: c.metric}})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(results[0].Part("per_factor"), results[0].Notes)
		}
		must.Equal(t, got, c.want, name)
	}
}
