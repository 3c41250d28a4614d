package sweep

import (
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// machines parses a list. Only runs take time on these machines.
func machines(t *testing.T, text string) *Machines {
	t.Helper()
	m := must.Get(ParseMachines(text + ",start=0,spread=0,latency=0,folder=0,run=0"))(t)
	m.Array = 1e9
	return m
}

func equalRuns(n int, seconds float64) []Piece {
	list := make([]Piece, n)
	for i := range list {
		list[i].Seconds = seconds
	}
	return list
}

// Wall times agree with closed forms.
func TestSimulate(t *testing.T) {
	chain := equalRuns(5, 10)
	for i := 1; i < 5; i++ {
		chain[i].After = []int{i - 1}
	}
	fan := equalRuns(9, 10) // eight runs start from the first
	for i := 1; i < 9; i++ {
		fan[i].After = []int{0}
	}
	long := equalRuns(9, 10)
	long[0].Seconds = 100
	late := equalRuns(8, 10)
	late = append(late, Piece{Seconds: 100})
	for _, c := range []struct {
		what, machines string
		runs           []Piece
		wall, use      float64
		limit          string
	}{
		{"equal runs", "nodes=2,cores=2", equalRuns(10, 10), 30, 100. / 120, "the number of cores"},
		{"as many places as runs", "nodes=5,cores=2", equalRuns(10, 10), 10, 1, "the longest run"},
		{"more places than runs", "nodes=10,cores=4", equalRuns(10, 10), 10, 0.25, "the longest run"},
		{"one after the other", "nodes=1,cores=1", equalRuns(10, 10), 100, 1, "the number of cores"},
		{"two cores for a run", "nodes=1,cores=5,threads=2", equalRuns(4, 10), 20, 80. / 100, "the number of cores"},
		{"one long run", "nodes=1,cores=3", long, 100, 180. / 300, "the longest run"},
		{"a long run last", "nodes=1,cores=4", late, 120, 180. / 480, "the number of cores"},
		{"a chain", "nodes=1,cores=4", chain, 50, 0.25, "the number of cores"},
		{"eight start from one", "nodes=1,cores=4", fan, 30, 90. / 120, "the number of cores"},
	} {
		s, err := machines(t, c.machines).Simulate(c.runs)
		if err != nil {
			t.Fatal(c.what, err)
		}
		span := s.Wall - s.Begin
		use := s.Use * s.Wall / span
		if !(math.Abs(span-c.wall) <= 1e-9) || c.what != "two cores for a run" && !(math.Abs(use-c.use) <= 1e-9) ||
			s.Limit(machines(t, c.machines)) != c.limit {
			t.Errorf("%s: %v s, use %v, limit %q; want %v s, %v, %q", c.what, span, use, s.Limit(machines(t, c.machines)), c.wall, c.use, c.limit)
		}
	}
}

// Shared resources of the machines become the limit.
func TestSimulateLimits(t *testing.T) {
	for text, want := range map[string]string{
		"nodes=64,cores=64,array=100":                      "the scheduler's largest array",
		"nodes=64,cores=64,array=5000,ops=1000":            "operations of the file system",
		"nodes=64,cores=64,array=5000,ops=1e8,bandwidth=1": "bandwidth of the file system",
		"nodes=64,cores=64,array=5000,ops=1e6,folder=1000": "tasks that look at all folders when they begin",
		"nodes=64,cores=64,array=5000,ops=1e8":             "the number of cores",
		"nodes=1,cores=2,start=0.5,spread=0,latency=0":     "the number of cores",
	} {
		m := must.Get(ParseMachines(text))(t)
		s, err := m.Simulate(equalRuns(20000, 60))
		if err != nil || s.Limit(m) != want {
			t.Errorf("%s: %q, %v; want %q (%+v)", text, s.Limit(m), err, want, s)
		}
	}
	m, _ := ParseMachines("nodes=1,cores=1")
	if s, err := m.Simulate(nil); err != nil || s.Wall != 0 || s.Limit(m) != "there is no run" {
		t.Errorf("no runs: %+v, %v", s, err)
	}
	for _, wrong := range [][]Piece{{{After: []int{0}}}, {{After: []int{1}}, {After: []int{0}}}, {{After: []int{7}}}} {
		if _, err := m.Simulate(wrong); err == nil {
			t.Errorf("%v: no error", wrong)
		}
	}
	m.Spread, m.Start = 0.3, 0
	sum := 0.0
	for i := range 10000 {
		sum += m.stragglerFactor(i)
	}
	if !(math.Abs(sum/10000-1) <= 1e-3) {
		t.Errorf("the mean of durations' factors is %v, want 1", sum/10000)
	}
}

func TestParseMachines(t *testing.T) {
	m, err := ParseMachines("nodes=64, cores=128,threads=4,start=2.5")
	if err != nil || m.Places() != 64*32 || m.Start != 2.5 || m.Ops != 10000 {
		t.Errorf("%+v, %v", m, err)
	}
	if got, want := strings.Join(m.Assumed, ","),
		"spread=0.1,array=1001,ops=10000,latency=0.3,bandwidth=1000,checkpoint=5,interval=30,run=1000,folder=15"; got != want {
		t.Errorf("assumed: %s; want %s", got, want)
	}
	for text, want := range map[string]string{
		"": "want KEY=NUMBER", "nodes=64": "cores is missing", "nodes=64,cores": `"cores": want KEY=NUMBER`, "nodes=0,cores=1": "nodes=0: want a whole number of 1 or more",
		"nodes=1.5,cores=1": "want a whole number", "nodes=1,cores=NaN": "cores=NaN", "nodes=1,cores=1,nodes=2": "nodes is given twice",
		"nodes=1,core=1": `unknown key "core"; did you mean "cores"?`, "nodes=1,cores=2,threads=4": "a node has 2 cores", "nodes=1,cores=1,start=-1": "start=-1: want a number of 0 or more",
		"nodes=1e12,cores=1": "nodes=1e12", "nodes=1,cores=1,start=soon": "start=soon",
	} {
		must.ErrorOf(ParseMachines(text))(t, want, text)
	}
}
