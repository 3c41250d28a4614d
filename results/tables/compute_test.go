package tables_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	drawnsets "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	. "github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/results/tables/internal/codes"
)

// seeded is a source whose codes repeat the seed twenty times. It can return an error for a seed instead.
type seeded struct {
	random bool
	err    func(seed uint64) error
	asked  *[]uint64
}

func (s seeded) Random() bool { return s.random }

func (s seeded) Sample(_ context.Context, seed uint64) (*Sample, error) {
	if s.asked != nil {
		*s.asked = append(*s.asked, seed)
	}
	if s.err != nil {
		if err := s.err(seed); err != nil {
			return nil, err
		}
	}
	in := &metrics.Input{Factors: []factor.Factor{{Name: "row", Size: 20, Kind: factor.Ordinal}},
		Codes: matrix.Matrix{Rows: 20, Cols: 1}, Exact: [][]float64{nil}}
	in.Exact[0] = make([]float64, 20)
	for i := range 20 {
		in.Codes.Data = append(in.Codes.Data, float64(seed))
		in.Levels = append(in.Levels, i)
		in.Exact[0][i] = float64(i)
	}
	return &Sample{Input: in}, nil
}

// reading is a metric that reveals its input: its value is the first code, or the first code plus a random number.
type reading struct {
	Draws bool    `yaml:"draws"`
	Add   float64 `yaml:"add"`
	fail  error
	seen  func(*metrics.Input)
}

func (*reading) Better() metrics.Direction { return metrics.HigherIsBetter }

func (m *reading) Compute(_ context.Context, in *metrics.Input) (metrics.Result, error) {
	if m.seen != nil {
		m.seen(in)
	}
	r := metrics.Result{Value: in.Codes.Data[0] + m.Add,
		Parts: []metrics.Part{{Name: "half", Values: []float64{in.Codes.Data[0] / 2}}, {Name: "two", Values: []float64{1, 2}}}}
	if m.Draws {
		r.Value += in.Stream.Float64()
	}
	return r, m.fail
}

// table returns a table with one cell: a source, a metric and a line of the reference file.
func table(t *testing.T, source Source, metric metrics.Metric, printed string) *Table {
	t.Helper()
	x := &Table{
		Name: "x", Decimals: 3, Scales: Scales{{Name: QuickScale, Seeds: 4}, {Name: FullScale, Seeds: 9}},
		Printed: ReferenceFile{Dataset: "D", Draws: 1},
		Rows:    []Row{{Label: "r", From: SourceChoice{Name: "seeded", Value: source}}},
		Columns: []Column{{Label: "c", Metric: metrics.Choice{Name: "reading", Value: metric}, Transform: "x"}},
	}
	must.OK(t, x.Print(header+printed+"\n"))
	return x
}

// header is the first line of a reference file.
const header = "table,dataset,row,column,mean,std,note\n"

func scaleOf(full bool) string {
	if full {
		return FullScale
	}
	return QuickScale
}

func compute(t *testing.T, table *Table, full bool) *Result {
	t.Helper()
	return must.Get(table.Compute(t.Context(), Options{Scale: scaleOf(full)}))(t)
}

func TestComputeSeeds(t *testing.T) {
	one := "T,D,r,c,1.5,,"
	for name, test := range map[string]struct {
		random, draws, exact bool
		full                 bool
		n, asked             int
		mean                 float64
	}{
		"exact":         {exact: true, n: 1, asked: 1, mean: 0},
		"exact, full":   {exact: true, full: true, n: 1, asked: 1, mean: 0},
		"random metric": {draws: true, n: 4, asked: 1, mean: math.NaN()},
		"random codes":  {random: true, n: 4, asked: 4, mean: 1.5},
		"full":          {random: true, full: true, n: 9, asked: 9, mean: 4},
	} {
		var asked []uint64
		r := compute(t, table(t, seeded{random: test.random, asked: &asked}, &reading{Draws: test.draws}, one), test.full)
		c := r.Rows[0].Cells[0]
		if c.Draws != test.n || c.Exact != test.exact || len(asked) != test.asked || !math.IsNaN(test.mean) && *c.Ours != test.mean {
			t.Errorf("%s: %+v, mean %v, seeds %v", name, c, *c.Ours, asked)
		}
		if test.draws && (!(*c.Ours > 0 && *c.Ours < 1) || c.Deviation == 0) {
			t.Errorf("%s: %v, deviation %v", name, *c.Ours, c.Deviation)
		}
	}
}

// Columns with the same settings share one computation, and show its parts.
func TestComputeColumns(t *testing.T) {
	calls := 0
	counted := func(add float64) metrics.Choice {
		return metrics.Choice{Name: "reading", Value: &reading{Add: add, seen: func(*metrics.Input) { calls++ }}}
	}
	x := table(t, seeded{random: true}, &reading{},
		"T,D,r,c,3.0,,\nT,D,r,d,0.75,,\nT,D,r,e,0.1,,\nT,D,r,f,2.0,,\nT,D,r,g,,,dash\nT,D,r,h,,,dash")
	x.Columns = []Column{
		{Label: "c", Metric: counted(0), Transform: "2x"},
		{Label: "d", Metric: counted(0), Part: "half", Transform: "x"},
		{Label: "e", Metric: counted(0), Transform: "exp(-x)"},
		{Label: "f", Metric: counted(1), Part: "two", Transform: "x"},
		{Label: "g", Metric: counted(1), Transform: "100x"},
		{Label: "h", Metric: counted(0), Transform: "x<1.5"},
	}
	var steps []string
	r := must.Get(x.Compute(t.Context(), Options{Progress: func(done, all int, row, metric string) {
		steps = append(steps, fmt.Sprint(done, all, row, metric))
	}}))(t)
	if calls != 8 || !slices.Equal(steps, []string{"0 2rreading", "1 2rreading"}) {
		t.Errorf("%d calls, %q", calls, steps)
	}
	mean := (math.Exp(0) + math.Exp(-1) + math.Exp(-2) + math.Exp(-3)) / 4
	for label, want := range map[string]float64{"c": 3, "d": 0.75, "e": mean, "g": 250, "h": 0.5} {
		if c := r.Cell("r", label); c.Ours == nil || !(math.Abs(*c.Ours-want) <= 1e-15) {
			t.Errorf("%s: %+v, want %v", label, c, want)
		}
	}
	if c := r.Cell("r", "f"); c.Status != Missing || c.Reason != `metric reading: its part "two" has 2 numbers; want one, or of: its label` {
		t.Errorf("%+v", c)
	}
	if c := r.Cell("r", "g"); c.Status != Unprinted || c.Theirs != nil || c.Difference != nil {
		t.Errorf("%+v", c)
	}
	if r.Printed != 4 || r.Reproduced != 3 {
		t.Errorf("%d of %d", r.Reproduced, r.Printed)
	}
	if r.Cell("r", "z") != nil || r.Cell("z", "c") != nil {
		t.Error("a cell that is not there was found")
	}
}

// A subset of the codes has different rows for every seed.
func TestComputeSubset(t *testing.T) {
	var seen [][]int
	x := table(t, &codes.Entangled{Entangled: drawnsets.Entangled{Encoder: "rotation", Levels: 3}, Subset: 6}, &reading{seen: func(in *metrics.Input) {
		var rows []int
		for i := 0; i < len(in.Levels); i += 3 {
			rows = append(rows, in.Levels[i]*9+in.Levels[i+1]*3+in.Levels[i+2])
		}
		if seen = append(seen, rows); in.Codes.Rows != 6 || len(in.Codes.Data) != 6*3 {
			t.Errorf("%+v", in)
		}
	}}, "T,D,r,c,0,,")
	if c := compute(t, x, false).Rows[0].Cells[0]; c.Draws != 4 || c.Exact {
		t.Errorf("%+v", c)
	}
	for i, rows := range seen {
		if len(rows) != 6 || !slices.IsSorted(rows) || len(slices.Compact(slices.Clone(rows))) != 6 {
			t.Errorf("rows %v", rows)
		}
		if i > 0 && slices.Equal(rows, seen[0]) {
			t.Errorf("seeds 0 and %d have the same rows %v", i, rows)
		}
	}
	large := strings.Replace(small, "levels: 3", "levels: 3, subset: 28", 1)
	if _, err := load(large, smallCSV); large == small || err == nil ||
		!strings.Contains(err.Error(), "subset: 28 is out of range; want 0 (all rows) to 27") {
		t.Errorf("%v", err)
	}
}

func TestComputeMissing(t *testing.T) {
	late := fmt.Errorf("seed of run 2: %w", ErrNotRun)
	source := func(err func(seed uint64) error) Source { return seeded{random: true, err: err} }
	some := source(func(seed uint64) error {
		if seed == 2 {
			return late
		}
		return nil
	})
	if c := compute(t, table(t, some, &reading{}, "T,D,r,c,1,,"), false).Rows[0].Cells[0]; c.Draws != 3 || *c.Ours != 4.0/3 {
		t.Errorf("%+v", c)
	}
	for want, x := range map[string]*Table{
		"seed of run 2: not run yet": table(t, source(func(uint64) error { return late }), &reading{}, "T,D,r,c,1,,"),
		"no such file":               table(t, source(func(uint64) error { return errors.New("no such file") }), &reading{}, "T,D,r,c,1,,"),
		"metric reading: too few":    table(t, source(nil), &reading{fail: errors.New("too few")}, "T,D,r,c,1,,"),
		"metric reading is +Inf":     table(t, source(nil), &reading{Add: math.Inf(1)}, "T,D,r,c,1,,"),
		"no model":                   table(t, nil, &reading{}, "T,D,r,c,1,,"),
	} {
		if want == "no model" {
			x.Rows[0] = Row{Label: "r", Missing: "no model"}
		}
		r := compute(t, x, false)
		if c := r.Rows[0].Cells[0]; c.Status != Missing || c.Reason != want || c.Ours != nil || c.Difference != nil ||
			r.Reproduced != 0 || r.Printed != 1 {
			t.Errorf("%+v, want %q", c, want)
		}
	}
}

func TestComputeStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	calls := 0
	x := table(t, seeded{random: true}, &reading{seen: func(*metrics.Input) { calls++; stop() }}, "T,D,r,c,1,,")
	if r, err := x.Compute(ctx, Options{}); !errors.Is(err, context.Canceled) || r != nil || calls != 1 {
		t.Errorf("%v, %v after %d calls", r, err, calls)
	}
}

// The codes of the seeds 0 to 3 have mean 1.5 and standard deviation 1.29. The difference between their mean and one
// draw has standard deviation 1.29 sqrt(1/4 + 1) = 1.44.
func TestStatus(t *testing.T) {
	for name, test := range map[string]struct {
		printed string
		random  bool
		draws   int
		note    string
		want    Status
	}{
		"equal":                     {"0.00", false, 1, "", Same},
		"rounds to it":              {"0.4", true, 1, "", Near},
		"half a unit":               {"1", true, 1, "", Same},
		"exact, half a unit":        {"0.5", false, 1, "", Differs},
		"exact, known":              {"0.5", false, 1, "why", Known},
		"exact, stale":              {"0", false, 1, "why", Stale},
		"two deviations":            {"4.3", true, 1, "", Near},
		"more":                      {"4.5", true, 1, "", Differs},
		"more, known":               {"4.5", true, 1, "why", Known},
		"within two, noted":         {"4.3", true, 1, "why", Stale},
		"of ten draws":              {"3.0", true, 10, "", Near},
		"of ten draws, more":        {"3.2", true, 10, "", Differs},
		"printed deviation":         {"2.7,0.01", true, 1, "", Near},
		"printed deviation, more":   {"2.9,0.01", true, 1, "", Differs},
		"large printed deviation":   {"9.5,4", true, 1, "", Near},
		"exact, printed deviation":  {"0.3,1", false, 1, "", Differs},
		"below":                     {"-1.4", true, 1, "", Near},
		"below more":                {"-1.6", true, 1, "", Differs},
		"nothing printed, but note": {"", true, 1, "why", Unprinted},
	} {
		mean, std, _ := strings.Cut(test.printed, ",")
		x := table(t, seeded{random: test.random}, &reading{}, fmt.Sprintf("T,D,r,c,%s,%s,dash", mean, std))
		x.Printed.Draws = test.draws
		if test.note != "" {
			x.Notes = []Note{{Rows: []string{"r"}, Columns: []string{"c"}, Reason: test.note}}
		}
		r := compute(t, x, false)
		c := r.Rows[0].Cells[0]
		if c.Status != test.want || r.Count(test.want) != 1 ||
			(r.Reproduced == 1) != (test.want == Same || test.want == Near || test.want == Stale) {
			t.Errorf("%s: %+v, ours %v, want %s", name, c, *c.Ours, test.want)
		}
		if c.Difference != nil && *c.Difference != *c.Ours-*c.Theirs {
			t.Errorf("%s: difference %v of %v and %v", name, *c.Difference, *c.Ours, *c.Theirs)
		}
	}
}

// Metrics with sub-codes receive them.
func TestComputeSubCodes(t *testing.T) {
	for encoder, want := range map[string]float64{"redundancy": 1, "misalignment": math.Exp(-1.5)} {
		source := &codes.Entangled{Entangled: drawnsets.Entangled{Encoder: encoder, Levels: 11}}
		x := table(t, source, metrics.NewSubCodeDeviation(factor.Radius), "T,D,r,c,1,,")
		x.Columns[0].Transform = "exp(-x)"
		if c := compute(t, x, false).Rows[0].Cells[0]; c.Ours == nil || !(math.Abs(*c.Ours-want) <= 1e-12) {
			t.Errorf("%s: %+v", encoder, c)
		}
		if codes := x.Columns[0].Metric.Value.(*metrics.SubCodeDeviation).Codes; codes != nil {
			t.Errorf("%s: the table's metric has kept the sub-codes %v", encoder, codes)
		}
	}
}
