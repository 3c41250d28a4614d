package eval_test

import (
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestEvalHierarchy(t *testing.T) {
	long.NotShort(t)
	clitest.HierarchicalFiles(t)
	files := []string{"--codes", "codes.npy", "--factors", "factors.csv"}
	with := func(args ...string) []string { return append(append([]string{}, files...), args...) }
	all, log := clitest.Measure(t, with("--metrics", "r4,r4c,h-error,purity,coverage", "--hierarchy", "hierarchy.json",
		"--true-hierarchy", "hierarchy.json", "--components", "components.npy")...)
	for name, want := range map[string]float64{"r4c": 1, "h-error": 0, "purity": 1, "coverage": 399. / 400} {
		if !(math.Abs(all[name].Value-want) <= 0.01) {
			t.Errorf("%s is %v, want %v", name, all[name].Value, want)
		}
	}
	must.Equal(t, log, "factors are taken as kind ordinal (2 levels), size continuous (20 bins with values), x continuous (20 bins with values); --types sets other kinds\n", "log")
	continuous, _ := clitest.Measure(t, with("--metrics", "r4", "--types", "continuous")...)
	if v := all["r4"]; !(v.Value >= 0.9) || v.Value != continuous["r4"].Value || len(v.PerFactor) != 3 || len(v.Grids) != 3 {
		t.Errorf("r4 %+v; of continuous factors %v", v, continuous["r4"].Value)
	}
	flat, log := clitest.Measure(t, with("--metrics", "h-error", "--hierarchy", "flat.json", "--true-hierarchy", "hierarchy.json")...)
	must.Equal(t, flat["h-error"].Value, 2, "h-error of a flat hierarchy")
	if want := "the hierarchy flat.json has 2 dimensions, but there are 3 columns of codes\n"; !strings.HasSuffix(log,
		want) || strings.Contains(log, "the hierarchy hierarchy.json") {
		t.Errorf("log %q, want the end %q", log, want)
	}

	_, log = clitest.Measure(t, clitest.FewTrees(files...)...)
	for _, line := range []string{"metric r4c: the hierarchy of the codes is not known; eval takes it with --hierarchy", "metric h-error: ",
		"metric purity: the components of the codes are not known; eval takes them with --components", "metric coverage: "} {
		if !strings.Contains(log, "left out: "+line) {
			t.Errorf("%q is not in the log %s", line, log)
		}
	}

	clitest.OK(t, append([]string{"eval", "--hierarchy", "hierarchy.json", "--true-hierarchy", "hierarchy.json", "--metrics",
		"r4c", "--out", "out"}, files...)...)
	for name, want := range map[string]string{"hierarchy.png": "\x89PNG", "histograms.png": "\x89PNG",
		"true-hierarchy.png": "\x89PNG", "r4c-rows.csv": "rows,kind,size,x\na0,400,200,400\nz0,200,200,200\n"} {
		if got := must.Read(t, "out/"+name); !strings.HasPrefix(string(got), want) {
			t.Errorf("%s: %.60q", name, got)
		}
	}
	// the hierarchy does not fit the codes
	must.Write(t, "wide.json", "["+strings.Repeat(`{"type": "categorical", "options": [[]]},`, 9)+`{"type": "continuous"}]`)
	clitest.OK(t, append([]string{"eval", "--hierarchy", "wide.json", "--true-hierarchy", "wide.json", "--metrics", "h-error",
		"--out", "wide"}, files...)...)
	run, _ := clitest.Measure(t, "--run", clitest.Finished(t), "--hierarchy", "flat.json", "--true-hierarchy", "flat.json", "--metrics", "h-error")
	must.Equal(t, run["h-error"].Value, 0, "h-error of a run", run)
}

func TestEvalHierarchyMistakes(t *testing.T) {
	clitest.HierarchicalFiles(t)
	must.Write(t, "typo.json", "[\n  {\"type\": \"continous\"}\n]\n")
	must.Write(t, "short.csv", "1\n2\n")
	must.Write(t, "half.csv", strings.Repeat("1\n", 399)+"0.5\n")
	must.Write(t, "negative.csv", strings.Repeat("1\n", 399)+"-2\n")
	for _, c := range []struct {
		args  []string
		words []string
	}{
		{[]string{"--hierarchy", "missing.json"}, []string{"missing.json", must.NoFile(t)}},
		{[]string{"--hierarchy", "typo.json"}, []string{`typo.json:2:12: $[0].type: want "continuous" or "categorical", got the text "continous"`}},
		{[]string{"--true-hierarchy", "codes.npy"}, []string{"codes.npy:1:1: not JSON"}},
		{[]string{"--hierarchy", "flat.json", "--metrics", "r4c"}, []string{"metric r4c", "has 2 dimensions (0 categorical, then 2 continuous), but there are 3 code columns"}},
		{[]string{"--metrics", "h-error", "--hierarchy", "flat.json"}, []string{"the true hierarchy is not known", "--true-hierarchy"}},
		{[]string{"--components", "codes.npy"}, []string{"codes.npy", "[400 3], want [400 1]"}},
		{[]string{"--components", "short.csv"}, []string{"short.csv", "[2 1], want [400 1]"}},
		{[]string{"--components", "half.csv"}, []string{"half.csv: row 399 is 0.5"}},
		{[]string{"--components", "negative.csv"}, []string{"negative.csv: row 399 is -2", "-1 (discarded)"}},
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"eval", "--codes", "codes.npy", "--factors", "factors.csv"}, c.args...)...), 1, c.words...)
	}
}
