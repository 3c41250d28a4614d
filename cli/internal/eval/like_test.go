package eval_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestEvalLike(t *testing.T) {
	clitest.MixedFiles(t)
	files := []string{"--codes", "codes.npy", "--factors", "factors.csv", "--types", "ordinal,continuous,ordinal"}
	m, log := clitest.Measure(t, append(files, "--like", "enriching", "--metrics", "fast")...)
	if mig := m["mig"]; len(m) != 2 || mig.Options["gap"] != "factors" || !slices.Contains(mig.Like, "enriching") {
		t.Errorf("like enriching: %v", m)
	}
	must.Equal(t, log, "left out: dlsbd, modularity, med: not in enriching\n", "log")
	m, _ = clitest.Measure(t, append(files, "--like", "disent", "--metrics", "mig", "--option", "mig.bins=10")...)
	if mig := m["mig"]; mig.Options["bins"] != 10.0 || len(mig.Like) > 0 {
		t.Errorf("a changed option: %v is like %v", mig.Options, mig.Like)
	}
	for _, test := range []struct{ args, want string }{
		{"--like disent --metrics med", "--like: med is not in disent; it has factor-vae, mig,"},
		{"--like dissent", `unknown dialect "dissent"; did you mean "disent"?`},
	} {
		if got := clitest.Run(t, append(append([]string{"eval"}, files...), strings.Fields(test.args)...)...).Log; !strings.Contains(got, test.want) {
			t.Errorf("%s: %q; want %q", test.args, got, test.want)
		}
	}
}

func TestListDialects(t *testing.T) {
	if out := clitest.OK(t, "list", "dialect", "disent").Out; !strings.Contains(out, "Source: disent 0.8") ||
		!strings.Contains(out, "prune: 0.0") {
		t.Errorf("disent: %s", out)
	}
}

func TestEvalInterval(t *testing.T) {
	long.NotShort(t)
	clitest.MixedFiles(t)
	files := []string{"eval", "--codes", "codes.npy", "--factors", "factors.csv", "--types", "ordinal,continuous,ordinal",
		"--metrics", "mse,radius,sap"}
	args := append(files, "--interval", "90", "--repeats", "8")
	if out := clitest.OK(t, args...).Out; !strings.Contains(out, "(90 %), estimate ") || !strings.Contains(out, "of 8 halves of the rows") ||
		!strings.Contains(out, "of 8 draws") || !strings.Contains(out, "no interval: the value is an extreme") {
		t.Errorf("text: %s", out)
	}
	m, _ := clitest.Measure(t, append(args, "--out", "out")[1:]...)
	mse, sap := m["mse"].Interval, m["sap"].Interval
	if mse == nil || sap == nil || m["radius"].Interval != nil || mse.Percent != 90 || mse.Repeats != 8 ||
		!(mse.Low < mse.High) || sap.Way != "draws" {
		t.Errorf("intervals %+v, %+v", mse, sap)
	}
	if text := string(must.Read(t, "out/metrics.csv")); !strings.HasPrefix(text, "metric,value,better,score,low,high,estimate\n") {
		t.Errorf("metrics.csv: %s", text)
	}
	clitest.OK(t, append(files, "--out", "plain")...)
	if out := clitest.OK(t, "compare", "out/metrics.json", "plain/metrics.json").Out; strings.Count(out, " [") != 2 {
		t.Errorf("compare: %s", out)
	}
	clitest.Mistake(t, clitest.Run(t, append(files, "--repeats", "9")...), 2, "--repeats needs --interval, such as --interval 95")
	for _, wrong := range []string{"--interval 20", "--interval 95 --repeats 2"} {
		if o := clitest.Run(t, append(files, strings.Fields(wrong)...)...); o.Code == 0 || !strings.Contains(o.Log, "--interval and --repeats: ") {
			t.Errorf("%s: %v", wrong, o)
		}
	}
}
