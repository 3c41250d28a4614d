package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train"
)

func (waiting) Better() metrics.Direction { return metrics.HigherIsBetter }

func (w waiting) Compute(context.Context, *metrics.Input) (metrics.Result, error) {
	return w()
}

func TestChosen(t *testing.T) {
	h, err := hierarchy.Parse([]byte(`[{"type": "categorical", "options": [[], []]}, {"type": "continuous"}, {"type": "categorical", "options": [[], [], []]}]`))
	must.OK(t, err)
	table := [][]float64{{1, 3, 9}, {2, 0, 9}, {2, 1.5, 9}, {3, 3, 9}, {0, -1, 9}}
	got := countOptions(h, len(table), func(i, column int) float64 { return table[i][column] })
	must.Equal(t, fmt.Sprint(got), "[[1 2] [0 0 2]]")
}

// Levels given as words have these names in reports.
func TestEvalNames(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Write(t, "codes.csv", "0,1\n1,0\n0.5,2\n")
	must.Write(t, "factors.csv", "animal,size\nowl,1\ncat,2\nowl,1\n")
	var e Evaluation
	must.OK(t, (&Command{Codes: "codes.csv", Factors: "factors.csv"}).readFiles(&e))
	if f := e.in.Factors; !slices.Equal(f[0].Names, []string{"cat", "owl"}) || f[1].Names != nil {
		t.Errorf("names %q and %q; want cat and owl, and none", f[0].Names, f[1].Names)
	}
	must.Write(t, "ids.csv", "id,size\n1152921504606846977,1.5\n1152921504606846978,2\n1152921504606846977,\n")
	if err := (&Command{Codes: "codes.csv", Factors: "ids.csv"}).readFiles(&e); err != nil || e.in.Factors[0].Size != 2 {
		t.Errorf("%+v, %v; want two ids", e.in.Factors, err)
	}
}

// Numbers in categorical columns of factors are options of the true hierarchy.
func TestTrueOptions(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Write(t, "codes.csv", "0,1\n1,0\n0.5,2\n0,4\n")
	must.Write(t, "tree.json", `[{"type": "categorical", "options": [[], []]}]`)
	for factors, want := range map[string]string{
		"kind\n1\n2\n\"\"\n0\n": "",
		"kind\nb\na\nb\nc\n":    "",
		"kind\n1\n2\n5\n0\n":    "factors.csv: line 4, column 0 (kind) is 5; want an option of its categorical dimension in tree.json, 1 to 2, or 0 (inactive)",
		"kind\n1\n2\n0\n1.5\n":  "line 5, column 0 (kind) is 1.5",
	} {
		must.Write(t, "factors.csv", factors)
		var e Evaluation
		c := &Command{Codes: "codes.csv", Factors: "factors.csv", TrueHierarchy: "tree.json"}
		must.OK(t, c.readFiles(&e))
		if err := c.readHierarchies(&e); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", factors, err, want)
		}
	}
}

// Remarks name rows of codes that were never filled, and equal columns.
func TestRemarksOnCodes(t *testing.T) {
	for _, c := range []struct {
		cols  int
		codes []float64
		want  string
	}{
		{2, []float64{1, 2, 0, 0, 3, 5, 0, 0}, "2 of 4 code rows are 0 in all columns, and other rows have no 0; leave them out if they were never filled"},
		{2, []float64{1, 2, 0, 0, 3, 5, 1, 1}, ""}, // one
		{2, []float64{1, 0, 0, 0, 3, 5, 0, 0}, ""}, // 0 is a usual code
		{1, []float64{1, 0, 0, 2}, ""},             // one column
		{2, []float64{0, 0, 0, 0, 0, 0}, "all 3 code rows are equal, so they say nothing about the factors"},
		{3, []float64{1, 2, 1, 2, 5, 2}, "1 repeated column of the codes, such as z2, equal to z0; mig and sap take the gap between equal columns"},
		{4, []float64{1, 1, 2, 1, 2, 2, 5, 2}, "2 repeated columns of the codes, such as z1, equal to z0; mig and sap take the gap between equal columns"},
		{3, []float64{1, 2, 1, 1, 2, 2}, ""}, // constant, and equal sums
	} {
		codes := &table.Table{Rows: len(c.codes) / c.cols, Cols: c.cols, Data: c.codes}
		must.Equal(t, strings.Join(remarksOnCodes(codes, &metrics.Input{}), "; "), c.want, c.codes)
	}
}

// A remark says that codes and factors are a row apart.
func TestRemarksOnOrder(t *testing.T) {
	for shift, want := range map[int]string{
		0:  "",
		1:  "the codes fit the factors of the row below better",
		-1: "the codes fit the factors of the row above better",
		2:  "",
	} {
		random := rng.New(1, "codes")
		const n = 300
		in := &metrics.Input{Codes: matrix.Matrix{Rows: n, Cols: 2},
			Factors: []factor.Factor{{Name: "a", Size: 6}, {Name: "b", Size: 4}}, Exact: [][]float64{nil, nil}}
		for range n {
			in.Levels = append(in.Levels, random.IntN(6), random.IntN(4))
		}
		in.Levels[7] = factor.Unknown
		for i := range n {
			for j := range 2 {
				in.Codes.Data = append(in.Codes.Data, float64(in.Levels[(i+shift+n)%n*2+j])+0.1*random.NormFloat64())
			}
		}
		if got := strings.Join(remarksOnOrder(in), "; "); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("shifted by %d: %q, want %q", shift, got, want)
		}
	}
}

// waiting is a metric that calls a test's function.
type waiting func() (metrics.Result, error)

func TestMeasure(t *testing.T) {
	e := func(w waiting) *Evaluation {
		return &Evaluation{chosen: []metrics.Choice{{Name: "waiting", Value: w}}, in: &metrics.Input{
			Codes: matrix.Matrix{Rows: 1, Cols: 1, Data: []float64{1}}, Levels: []int{0}, Factors: []factor.Factor{{Name: "x", Size: 1}}}}
	}
	never := func() { t.Error("a fast metric was called slow") }
	r, err := e(func() (metrics.Result, error) { return metrics.Result{Value: 3}, nil }).measure(t.Context(), 0, time.Hour, never)
	if err != nil || len(r) != 1 || r[0].Value != 3 || r[0].Name != "waiting" {
		t.Errorf("%v, %v", r, err)
	}
	if _, err = e(func() (metrics.Result, error) { return metrics.Result{}, errors.New("too few") }).measure(t.Context(),
		0, time.Hour, never); err == nil || err.Error() != "metric waiting: too few" {
		t.Error(err)
	}
	// slow must be called, because only slow ends the computation
	release := make(chan struct{})
	slow := e(func() (metrics.Result, error) { <-release; return metrics.Result{}, nil })
	if _, err = slow.measure(t.Context(), 0, time.Nanosecond, func() { close(release) }); err != nil {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	held := make(chan struct{})
	defer close(held)
	stopped := e(func() (metrics.Result, error) { stop(); <-held; return metrics.Result{}, nil })
	if _, err = stopped.measure(ctx, 0, time.Hour, never); !errors.Is(err, train.ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
	defer func() {
		if p, ok := recover().(*parallel.Panic); !ok || p.Value != "broken" {
			t.Errorf("the panic of a metric became %v", p)
		}
	}()
	_, _ = e(func() (metrics.Result, error) { panic("broken") }).measure(t.Context(), 0, time.Hour, never)
	t.Error("the panic of a metric was lost")
}
