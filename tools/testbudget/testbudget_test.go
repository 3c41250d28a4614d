package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/must"
)

const recorded = `{"Action":"start","Package":"github.com/unravel-ml/unravel/a"}
{"Action":"output","Package":"github.com/unravel-ml/unravel/a","Test":"TestGood","Output":"quiet\n"}
{"Action":"pass","Package":"github.com/unravel-ml/unravel/a","Test":"TestGood/sub","Elapsed":9}
{"Action":"pass","Package":"github.com/unravel-ml/unravel/a","Test":"TestGood","Elapsed":2}
{"Action":"output","Package":"github.com/unravel-ml/unravel/a","Test":"TestBad","Output":"    a_test.go:7: wrong\n"}
{"Action":"fail","Package":"github.com/unravel-ml/unravel/a","Test":"TestBad","Elapsed":3}
{"Action":"output","Package":"github.com/unravel-ml/unravel/a","Test":"TestBrowser","Output":"    b_test.go:3: there is no Chromium\n"}
{"Action":"skip","Package":"github.com/unravel-ml/unravel/a","Test":"TestBrowser","Elapsed":0}
{"Action":"output","Package":"github.com/unravel-ml/unravel/a","Test":"TestAll","Output":"    b_test.go:3: a complete test: it runs with -long\n"}
{"Action":"skip","Package":"github.com/unravel-ml/unravel/a","Test":"TestAll","Elapsed":0}
{"Action":"fail","Package":"github.com/unravel-ml/unravel/a","Elapsed":6}
{"Action":"pass","Package":"github.com/unravel-ml/unravel/b","Elapsed":1.5}
`

func TestRead(t *testing.T) {
	r := must.Get(read(strings.NewReader(recorded)))(t)
	must.EqualSlices(t, r.failed(), []string{"a"}, "failed")
	must.Equal(t, r.total(), 7500*time.Millisecond, "all packages took")
	var b bytes.Buffer
	r.print(&b, 500*time.Millisecond)
	text := b.String()
	for _, want := range []string{"FAIL a\n    a_test.go:7: wrong\n", "    3.00  a TestBad\n    2.00  a TestGood\n",
		"    6.00 (6.00)  a\n", "7.5 seconds on cores, 15 units of 500ms\n",
		"skipped: a TestBrowser: there is no Chromium\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for _, hidden := range []string{"quiet", "TestGood/sub", "TestAll:"} {
		if strings.Contains(text, hidden) {
			t.Errorf("%q is in\n%s", hidden, text)
		}
	}
	must.ErrorOf(read(strings.NewReader("ok a 1.0s\n")))(t, `"ok a 1.0s`)
}

func TestBudget(t *testing.T) {
	r := &results{packages: map[string]*packageResult{"a": {cpu: 10 * time.Second}, "b": {cpu: 500 * time.Millisecond}}}
	for _, c := range []struct {
		budget budget
		unit   time.Duration
		want   []string
	}{
		{budget{11, map[string]float64{"a": 10}}, time.Second, nil},
		{budget{8.5, map[string]float64{"a": 8}}, time.Second, nil},                                                    // the tolerance is 25 %
		{budget{8.3, map[string]float64{"a": 7.9}}, time.Second, []string{"a: tests took 10.0 units", "all packages"}}, // but not more
		{budget{23, nil}, 500 * time.Millisecond, []string{"a: tests took 20.0 units, the budget is 12"}},
		{budget{11, map[string]float64{"a": 10}}, 25 * time.Millisecond, []string{"a: tests took 400.0 units", "b: tests took 20.0 units", "all packages: tests took 420.0"}},
	} {
		err := c.budget.check(r, c.unit)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%v in units of %v: %v", c.budget, c.unit, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %q is missing in %v", c.budget, want, err)
			}
		}
		if err != nil && strings.Count(err.Error(), "the budget is") != len(c.want) {
			t.Errorf("%v: want %d complaints, got %v", c.budget, len(c.want), err)
		}
	}
	if b := r.budget(time.Second); b.Total != 17 || b.Packages["a"] != 16 || len(b.Packages) != 1 {
		t.Errorf("the budget of the tests: %v", b)
	}
}

func TestBudgetsFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "budgets.json")
	must.OK(t, (budgets{"default": {3, map[string]float64{"x": 2}}}).write(name))
	b, err := readBudgets(name)
	if err != nil || b["default"].Total != 3 || b["default"].Packages["x"] != 2 {
		t.Errorf("%v, %v", b, err)
	}
	must.Write(t, name, `{"default": {"totals": 3}}`)
	must.ErrorOf(readBudgets(name))(t, "totals")
	if b, err := readBudgets("budgets.json"); err != nil || !(b["default"].Total > 0) {
		t.Errorf("the budgets of this module: %v, %v", b["default"], err)
	}
}

// A test binary that does not end is stopped with a message, and its CPU time is stored.
func TestMeasure(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are scripts for a Unix shell")
	}
	dir := t.TempDir()
	for _, c := range []struct {
		script string
		limit  string
		want   int
	}{{"exit 0", "1m", 0}, {"exit 3", "1m", 3}, {"exec sleep 100", "100ms", 1}} {
		must.Equal(t, measure([]string{dir, c.limit, "/bin/sh", "-c", c.script}), c.want, c.script, "exit status")
	}
	must.Equal(t, len(must.Get(os.ReadDir(dir))(t)), 3, "times are stored")
}
