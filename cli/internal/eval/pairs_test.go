package eval_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// TestEvalPairs measures codes with a file of answers only. The result equals the result with the same classes as
// factors.
func TestEvalPairs(t *testing.T) {
	t.Chdir(t.TempDir())
	var codes []float64
	var pairs, factors strings.Builder
	factors.WriteString("size,side\n")
	for i := range 40 {
		codes = append(codes, float64(i%4)+0.1*math.Sin(float64(i)), float64(i/20)+0.2*math.Cos(float64(i)))
		fmt.Fprintf(&factors, "%d,%d\n", i%4, i/20)
		if i >= 4 {
			fmt.Fprintf(&pairs, "%d,%d,size,same\n", i-4, i)
		}
		if i%20 > 0 {
			fmt.Fprintf(&pairs, "%d,%d,side,same\n%d,%d,size,different\n", i, i-1, i, i-1)
		}
	}
	must.WriteNPY(t, "codes.npy", []int{40, 2}, codes)
	must.Write(t, "factors.csv", factors.String())
	must.Write(t, "pairs.csv", pairs.String())
	const names = "variance,mad,radius,diameter,mpd"
	want, _ := clitest.Measure(t, "--codes", "codes.npy", "--factors", "factors.csv", "--metrics", names)
	got, log := clitest.Measure(t, "--codes", "codes.npy", "--pairs", "pairs.csv", "--metrics", names)
	for name, m := range want {
		if got[name].Value != m.Value || m.Value == 0 {
			t.Errorf("%s is %v from pairs, %v from factors", name, got[name].Value, m.Value)
		}
	}
	if !strings.Contains(log, "pairs: 112 answers, 74 of them same: side 2 classes of 40 rows, size 4 classes of 40 rows") {
		t.Errorf("log %q", log)
	}
	_, log = clitest.Measure(t, "--codes", "codes.npy", "--pairs", "pairs.csv", "--out", "all")
	if !strings.Contains(log, "left out: dlsbd, dlsbd-workshop, mig, dci, dci-regression, contraction-mean") {
		t.Errorf("log %q", log)
	}

	apart, _ := clitest.Measure(t, "--codes", "codes.npy", "--pairs", "pairs.csv", "--metrics", "separation", "--option", "separation.margin=2")
	if v := apart["separation"].Value; !(v >= 0.5 && v <= 1.2) { // sizes are 1 and 3 apart, with a margin of 2 and noise
		t.Errorf("separation %v", v)
	}

	must.Write(t, "broken.csv", "0,1,size,same\n1,2,size,same\n2,0,size,different\n5,6,size,same\n")
	for _, c := range []struct {
		want string
		code int
		args []string
	}{
		{"it needs the levels of factors, and pairs only say which rows agree; want a metric of modularity", 1, []string{"--pairs", "pairs.csv", "--metrics", "mig"}},
		{"pairs: broken.csv: answers contradict each other", 1, []string{"--pairs", "broken.csv"}},
		{"size: rows 2 and 0 are different (line 3), but the same: 2 = 1 (line 2), 1 = 0 (line 1)", 1, []string{"--pairs", "broken.csv"}},
		{"--pairs replaces the factors", 2, []string{"--pairs", "pairs.csv", "--factors", "factors.csv"}},
		{"--conflicts and --noise belong to --pairs", 2, []string{"--factors", "factors.csv", "--noise", "0.1"}},
		{`--conflicts: unknown rule of conflicts "vote"`, 2, []string{"--pairs", "pairs.csv", "--conflicts", "vote"}},
		{"noise 0.7 is out of range", 2, []string{"--pairs", "pairs.csv", "--noise", "0.7"}},
		{"nothing.csv", 1, []string{"--pairs", "nothing.csv"}},
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"eval", "--codes", "codes.npy"}, c.args...)...), c.code, c.want)
	}
	dropped, log := clitest.Measure(t, "--codes", "codes.npy", "--pairs", "broken.csv", "--conflicts", "drop", "--metrics", "variance")
	if !(dropped["variance"].Value > 0) || !strings.Contains(log, "size 1 class of 2 rows") ||
		!strings.Contains(log, "3 answers are dropped") {
		t.Errorf("%v, log %q", dropped, log)
	}
}

// TestEvalRunPairs measures a run with pairs of its images.
func TestEvalRunPairs(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	clitest.OK(t, "train", "entangled/both", "train.epochs=1", "metrics=[]", "--run", "r")
	if o := clitest.OK(t, "eval", "--run", "r"); o.Out != "" || !strings.Contains(o.Log, "the config of the run has no metrics; --metrics all") {
		t.Errorf("eval of a run without metrics: %v", o)
	}
	var pairs strings.Builder
	for i := range 121 {
		fmt.Fprintf(&pairs, "%d,%d,y1,same\n", i, (i+1)%121)
	}
	must.Write(t, "pairs.csv", pairs.String())
	got, log := clitest.Measure(t, "--run", "r", "--pairs", "pairs.csv", "--metrics", "variance,mpd")
	if !(got["variance"].Value > 0 && got["mpd"].Value > 0) || !strings.Contains(log, "y1 1 class of 121 rows") {
		t.Errorf("%v, log %q", got, log)
	}
	clitest.Mistake(t, clitest.Run(t, "eval", "--run", "r", "--pairs", "pairs.csv", "--metrics", "mig"), 1, "it needs the levels of factors")
}
