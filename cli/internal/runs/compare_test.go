package runs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/runs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// compareJSON is the output of compare --json.
type compareJSON struct {
	Runs    []string
	Metrics []struct {
		Name, Better  string
		Values, Ranks []*float64
		Chances       []*metrics.Chance
	}
	Notes []string
	Tau   [][]*float64 `json:"kendall_tau"`
	UDR   *struct {
		Scores []float64
		Pairs  [][]float64
		Used   []int
	}
}

// values formats numbers, with - for null.
func values(list []*float64) string {
	var text []string
	for _, v := range list {
		if v == nil {
			text = append(text, "-")
		} else {
			text = append(text, fmt.Sprintf("%.4g", *v))
		}
	}
	return strings.Join(text, " ")
}

func compare(t *testing.T, args ...string) (compareJSON, string) {
	t.Helper()
	var x compareJSON
	o := clitest.OK(t, append([]string{"compare", "--json"}, args...)...)
	clitest.JSON(t, o.Out, &x)
	return x, o.Log
}

// threeCodes writes three codes of 48 images: good codes are the two factors, fair codes the factors with noise, and
// bad codes are unrelated.
func threeCodes(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	var factors, good, fair, bad strings.Builder
	factors.WriteString("a,b\n")
	for i := range 48 {
		a, b := i%4, i/4%3
		noise := math.Sin(float64(i * i))
		fmt.Fprintf(&factors, "%d,%d\n", a, b)
		fmt.Fprintf(&good, "%d,%d\n", a, b)
		fmt.Fprintf(&fair, "%v,%v\n", float64(b)+0.3*noise, -float64(a)+0.3*noise)
		fmt.Fprintf(&bad, "%v,%v\n", noise, math.Cos(float64(i*i*i)))
	}
	for name, b := range map[string]*strings.Builder{"factors.csv": &factors, "good.csv": &good, "fair.csv": &fair, "bad.csv": &bad} {
		must.Write(t, name, b.String())
	}
}

func TestCompareCodes(t *testing.T) {
	threeCodes(t)
	x, log := compare(t, "good.csv", "bad.csv", "fair.csv", "--factors", "factors.csv", "--types", "ordinal", "--metrics",
		"mig,mse,sap", "--out", "out")
	if fmt.Sprint(x.Runs) != "[good.csv bad.csv fair.csv]" || len(x.Metrics) != 4 ||
		!strings.Contains(log, "3 runs by 4 metrics with tables and figures in out\n") {
		t.Fatalf("%+v, log %s", x, log)
	}
	for i, name := range []string{"mig", "mse", "sap", "udr"} {
		m := x.Metrics[i]
		if m.Name != name || m.Better != map[bool]string{true: "lower", false: "higher"}[name == "mse"] || len(m.Values) != 3 {
			t.Errorf("%s: %+v", name, m)
		}
		if name == "mig" || name == "mse" {
			if got := values(m.Ranks); got != "1 3 2" {
				t.Errorf("%s: ranks %s of %s", name, got, values(m.Values))
			}
		}
	}
	if got := values(x.Tau[0]); !strings.HasPrefix(got, "1 1 ") || len(x.Tau) != 4 {
		t.Errorf("tau %s", got)
	}
	u := x.UDR
	if u == nil || len(u.Scores) != 3 || !(u.Pairs[0][2] > 3*u.Pairs[0][1]) || !(u.Scores[1] < u.Scores[0]) ||
		fmt.Sprint(u.Used) != "[2 2 2]" {
		t.Errorf("udr %+v", u)
	}
	alone, _ := clitest.Measure(t, "--codes", "fair.csv", "--factors", "factors.csv", "--types", "ordinal", "--metrics", "mig,mse,sap")
	for i, name := range []string{"mig", "mse", "sap"} {
		must.Equal(t, *x.Metrics[i].Values[2], alone[name].Value, name, "alone")
	}
	for name, want := range map[string]string{
		"compare.json": `{"runs":["good.csv"`, "metrics.csv": "metric,good.csv,bad.csv,fair.csv\nmig,", "ranks.csv": "rank,good.csv,bad.csv,fair.csv\nmig,1,3,2\nmse,1,3,2\n",
		"kendall.csv": "kendall_tau,mig,mse,sap,udr\nmig,1,1,", "udr.csv": "udr,good.csv,bad.csv,fair.csv\ngood.csv,NaN,",
		"ranks.png": "\x89PNG", "kendall.png": "\x89PNG", "udr.png": "\x89PNG",
	} {
		if got := string(must.Read(t, "out/"+name)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %.200s", name, got)
		}
	}
	o := clitest.OK(t, "compare", "good.csv", "bad.csv", "fair.csv", "--factors", "factors.csv", "--types", "ordinal", "--metrics", "mig,mse")
	for _, want := range []string{"2  bad.csv\n", "value (rank)", "mig, higher is better", "(3)", "Kendall's tau", "2 mse"} {
		if !strings.Contains(o.Out, want) {
			t.Errorf("%q is not in\n%s", want, o.Out)
		}
	}
}

// Ranking codes by agreement needs no factors.
func TestCompareUDR(t *testing.T) {
	threeCodes(t)
	x, log := compare(t, "good.csv", "fair.csv", "bad.csv", "--udr", "spearman")
	if len(x.Metrics) != 1 || x.Metrics[0].Name != "udr" || values(x.Metrics[0].Ranks)[4:] != "3" || log != "" {
		t.Errorf("%+v, %s", x.Metrics, log)
	}
	lasso, _ := compare(t, "good.csv", "fair.csv", "bad.csv")
	if lasso.UDR.Pairs[0][1] == x.UDR.Pairs[0][1] {
		t.Error("--udr changes nothing")
	}
	none, _ := compare(t, "good.csv", "fair.csv", "bad.csv", "--threshold", "100")
	must.Equal(t, fmt.Sprint(none.UDR.Used, none.UDR.Scores), "[0 0 0] [0 0 0]", none.UDR)
	if got := strings.Join(none.Notes, "; "); !strings.HasPrefix(got, "udr leaves out columns with a standard deviation below 100 (--threshold): ") {
		t.Errorf("notes %q", got)
	}
	must.Write(t, "copy.csv", must.Read(t, "good.csv"))
	if same, _ := compare(t, "good.csv", "fair.csv",
		"copy.csv"); fmt.Sprint(same.Notes) != "[runs 1 and 3 have the same codes, which raises their udr]" {
		t.Errorf("notes %q", same.Notes)
	}
	clitest.Mistake(t, clitest.Run(t, "compare", "good.csv", "fair.csv", "--udr", "none"), 1, "nothing to compare")

	// the kinds of factors in an archive
	levels := [][]float64{{0}, {1}, {2}, {3}, {4}}
	clitest.WriteNPZ(t, "a.npz", map[string][][]float64{"codes": {{1, 0}, {0.31, 0.95}, {-0.81, 0.59}, {-0.81, -0.59},
		{0.31, -0.95}}, "factors": levels})
	clitest.WriteNPZ(t, "b.npz", map[string][][]float64{"codes": {{3, 0}, {0, 1}, {2, 1}, {0, 0}, {1, 3}}, "factors": levels})
	if x, _ := compare(t, "a.npz", "b.npz", "--types", "circular", "--metrics", "dlsbd"); values(x.Metrics[0].Ranks) != "1 2" {
		t.Errorf("%+v", x.Metrics)
	}
}

// Stored metrics, of training and of eval, with gaps.
func TestCompareStored(t *testing.T) {
	threeCodes(t)
	dir := clitest.Finished(t)
	must.Write(t, "other.json", `{"metrics": {"dlsbd": {"value": 0.5, "better": "lower"}, "mig": {"value": 0.25, "better": "higher"}}}`)
	x, log := compare(t, dir, "other.json")
	var stored []struct{ Value float64 }
	must.OK(t, json.Unmarshal(must.Read(t, dir+"/metrics.json"), &stored))
	if len(x.Metrics) != 2 || *x.Metrics[0].Values[0] != stored[0].Value || values(x.Metrics[1].Values) != "- 0.25" ||
		values(x.Metrics[1].Ranks) != "- 1" {
		t.Errorf("%+v", x.Metrics)
	}
	if x.Tau[0][1] != nil || *x.Tau[0][0] != 1 || log != "left out: udr: other.json has no codes\n" {
		t.Errorf("tau %v, log %q", x.Tau, log)
	}
	must.Write(t, "opposite.json", `[{"name": "dlsbd", "value": 0.5, "better": "higher"}, {"name": "mig", "value": null}]`)
	x, _ = compare(t, "other.json", "opposite.json")
	want := "run 2 says that higher values of dlsbd are better; the ranks take lower values for better"
	if !slices.Contains(x.Notes, want) || values(x.Metrics[1].Values) != "0.25 -" {
		t.Errorf("notes %q, want %q; values %+v", x.Notes, want, x.Metrics)
	}
	for name, stored := range map[string]string{"mig": "0.25", "dlsbd": "0.5"} {
		x, _ = compare(t, dir, "other.json", "--metrics", name)
		if len(x.Metrics) != 1 || x.Metrics[0].Values[0] == nil || values(x.Metrics[0].Values[1:]) != stored {
			t.Errorf("%s was not computed or read: %+v", name, x.Metrics)
		}
	}
	o := clitest.OK(t, "compare", dir, "other.json")
	if !strings.Contains(o.Out, " -  ") {
		t.Errorf("no gap in\n%s", o.Out)
	}
	if _, log = compare(t, dir, "good.csv"); !strings.Contains(log, "left out: udr: good.csv has codes of 48 images") {
		t.Errorf("log %q", log)
	}
}

// The stored results of a run that has not ended are of an earlier end: the newest checkpoint counts.
func TestCompareUnfinished(t *testing.T) {
	ended, stopped := clitest.Finished(t), clitest.Finished(t)
	must.OK(t, os.Remove(stopped+"/run.json"))
	must.Write(t, stopped+"/metrics.json", `[{"name": "dlsbd", "value": 7, "better": "lower"}]`)
	x, log := compare(t, ended, stopped)
	if v := x.Metrics[0].Values; *v[0] != *v[1] || log != stopped+": the run has not ended; the newest checkpoint is measured\n" {
		t.Errorf("values %s, log %q", values(v), log)
	}
}

// A first line that numbers the columns is no row, which the factors show.
func TestCompareNumberedColumns(t *testing.T) {
	t.Chdir(t.TempDir())
	factors := "k\n"
	for _, name := range []string{"a", "b"} {
		codes := ""
		for i := range 20 {
			codes += fmt.Sprintf("%d,%d\n", 40+i*len(name)%7, i*i%(11+int(name[0]-'a')))
		}
		must.Write(t, name+".csv", codes)
		must.Write(t, name+"0.csv", "0,1\n"+codes)
	}
	must.Write(t, "k.csv", factors+strings.Repeat("0\n1\n", 10))
	plain, _ := compare(t, "a.csv", "b.csv", "--factors", "k.csv", "--metrics", "mig")
	if numbered, _ := compare(t, "a0.csv", "b0.csv", "--factors", "k.csv", "--metrics", "mig"); !slices.Equal(numbered.UDR.Scores, plain.UDR.Scores) {
		t.Errorf("udr %v; without numbers of columns %v", numbered.UDR.Scores, plain.UDR.Scores)
	}
}

// Runs on different images, even if equal in number, are not ranked by agreement. A run needs only results and codes.
func TestCompareImages(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, level := range map[string]int64{"a": 0, "b": 0, "c": 1} {
		must.OK(t, os.Mkdir(name, 0o777))
		must.Write(t, name+"/metrics.json", `[{"name":"mig","value":0.5,"better":"higher"}]`)
		must.WriteNPY(t, name+"/codes.npy", []int{3, 1}, []float32{1, 2, 4})
		must.WriteNPY(t, name+"/factors.npy", []int{3, 1}, []int64{0, 1, level})
	}
	if x, log := compare(t, "a", "b"); x.UDR == nil || log != "" || *x.Metrics[0].Ranks[1] != 1.5 {
		t.Errorf("%+v, log %q", x, log)
	}
	if x, log := compare(t, "a", "c"); x.UDR != nil || log != "left out: udr: c and a are runs with other images: their factors differ\n" {
		t.Errorf("%+v, log %q", x, log)
	}
	must.Write(t, "bare.yaml",
		"{name: bare, dataset: {grid: {path: one.npy}}, supervision: none, model: {vae: {encoder: {mlp: {hidden: [4]}}, latent: 2}}, "+
			"losses: [{reconstruction: {likelihood: gaussian}}, kl], train: {epochs: 1, figures: false}, metrics: [mutual-information]}")

	pixels := make([]uint8, 60*9)
	for i := range pixels {
		pixels[i] = uint8(i * i)
	}
	must.WriteNPY(t, "one.npy", []int{60, 3, 3}, pixels)
	slices.Reverse(pixels)
	must.WriteNPY(t, "two.npy", []int{60, 3, 3}, pixels)
	for run, settings := range map[string]string{"bare0": "seed=0", "bare1": "seed=1", "some0": "metrics.sample=30 seed=0",
		"some1": "metrics.sample=30 seed=1", "two": "dataset.grid.path=two.npy"} {
		clitest.OK(t, append([]string{"train", "bare.yaml", "-q", "--run", run}, strings.Fields(settings)...)...)
	}
	for runs, want := range map[string]string{
		"bare0 bare1": "",
		"some0 some1": "left out: udr: some1 and some0 have codes of other random images (metrics.sample); want codes of all images, from unravel encode\n",
		"bare0 two":   "left out: udr: two and bare0 are runs with other images: their files differ\n",
	} {
		if o := clitest.OK(t, append([]string{"compare"}, strings.Fields(runs)...)...); strings.Contains(o.Out, "udr") != (want == "") || o.Log != want {
			t.Errorf("%s: out %q, log %q, want %q", runs, o.Out, o.Log, want)
		}
	}
}

// runFolders writes folders of runs of the tiny experiment from overrides, a value of mig and a value of dci.
func runFolders(t *testing.T, runs map[string][]string) {
	t.Helper()
	for dir, overrides := range runs {
		c := must.Get(train.Load("tiny.yaml", []byte(clitest.Tiny), overrides[1:]...))(t)
		text := must.Get(c.Encode())(t)
		must.OK(t, os.Mkdir(dir, 0o777))
		must.Write(t, dir+"/config.yaml", text)
		must.Write(t, dir+"/metrics.json",
			fmt.Sprintf(`[{"name":"mig","value":%s,"better":"higher"},{"name":"dci","value":0.5,"better":"higher"}]`, overrides[0]))

		run := must.Get(rundir.Open(dir))(t)
		must.OK(t, errors.Join(new(rundir.Record).Write(run), run.Close()))
	}
}

// The comparison shows the settings that differ between runs, and the spread over seeds.
func TestCompareSettings(t *testing.T) {
	t.Chdir(t.TempDir())
	runFolders(t, map[string][]string{
		"a1": {"0.25", "name=a1"}, "a2": {"0.5", "seed=2"}, "a3": {"0.75", "seed=3", "train.threads=1"}, "same": {"0.25"},
		"b1": {"0.5", "losses.1.kl.weight=4", "train.epochs=7"}, "b2": {"1", "losses.1.kl.weight=4", "train.epochs=7", "seed=2"},
	})
	must.Write(t, "other.json", `[{"name":"mig","value":0.125,"better":"higher"}]`)
	for _, c := range []struct{ args, settings, seeds string }{
		{"a1 a2 a3", "", "[0 1 2] 0.5±0.25 0.25..0.75 of 3"},
		{"a1 a2 a3 other.json", "", "[0 1 2] 0.5±0.25 0.25..0.75 of 3"},
		{"a1 same", "", ""},
		{"a1 same a2", "", "[0 2] 0.375±0.1768 0.25..0.5 of 2"},
		{"a1 b1", "losses.1.kl.weight=1.0,4.0 train.epochs=3,7", ""},
		{"b1 a1 a2", "losses.1.kl.weight=4.0,1.0,1.0 seed=1,1,2 train.epochs=7,3,3", "[1 2] 0.375±0.1768 0.25..0.5 of 2"},
		{"a1 b1 other.json", "losses.1.kl.weight=1.0,4.0,- train.epochs=3,7,-", ""},
		{"a1 b1 a2 b2", "losses.1.kl.weight=1.0,4.0,1.0,4.0 seed=1,1,2,2 train.epochs=3,7,3,7", "[0 2] 0.375±0.1768 0.25..0.5 of 2 [1 3] 0.75±0.3536 0.5..1 of 2"},
	} {
		var x runs.Comparison
		o := clitest.OK(t, append([]string{"compare", "--json", "--udr", "none"}, strings.Fields(c.args)...)...)
		clitest.JSON(t, o.Out, &x)
		var settings, seeds []string
		for _, d := range x.Settings {
			var values []string
			for _, v := range d.Values {
				if v == nil {
					values = append(values, "-")
				} else {
					values = append(values, *v)
				}
			}
			settings = append(settings, d.Key+"="+strings.Join(values, ","))
		}
		for _, g := range x.Seeds {
			s := g.Spreads[0]
			seeds = append(seeds, fmt.Sprintf("%v %.4g±%.4g %v..%v of %d", g.Runs, s.Mean, s.Std, s.Least, s.Most, s.Count))
		}
		must.Equal(t, strings.Join(settings, " "), c.settings, c.args, "settings")
		must.Equal(t, strings.Join(seeds, " "), c.seeds, c.args, "seeds")
	}
	o := clitest.OK(t, "compare", "a1", "b1", "a2", "--udr", "none")
	for _, want := range []string{"losses.1.kl.weight ", "mean ± deviation over seeds (least to most)  runs 1, 3", "0.375 ± 0.1768 (0.25 to 0.5)"} {
		if !strings.Contains(o.Out, want) {
			t.Errorf("%q is not in\n%s", want, o.Out)
		}
	}
	must.Write(t, "a3/metrics.json", `[{"name":"dlsbd","value":null,"better":"lower"}]`)
	if o := clitest.OK(t, "compare", "a1", "a2", "a3", "--udr", "none"); !strings.Contains(o.Out,
		"0.375 ± 0.1768 (0.25 to 0.5) of 2 of 3 runs") {
		t.Errorf("a run without a value:\n%s", o.Out)
	}
	for dir, value := range map[string]string{"a1": "0.25", "a2": "0.5"} {
		must.Write(t, dir+"/metrics.json", `[{"name":"mig","value":`+value+
			`,"better":"higher","interval":{"low":0.125,"high":0.375,"estimate":0.3125}}]`)

	}
	if o := clitest.OK(t, "compare", "a1", "a2", "--udr", "none"); !strings.Contains(o.Out, "0.25 (2) [0.125, 0.375]") ||
		!strings.Contains(o.Out, "0.5 (1) estimate 0.3125 [0.125, 0.375]") {
		t.Errorf("intervals:\n%s", o.Out)
	}
	if o = clitest.OK(t, "compare", "a1", "a2", "--udr", "none", "--out", "out"); strings.Contains(o.Out, "Kendall") ||
		strings.Contains(o.Out, "setting") || ui.Exists("out/kendall.csv") {
		t.Errorf("tau of two runs, or settings that are equal:\n%s", o.Out)
	}
}

// A mean over runs names runs that count a seed twice, with other results, and no copies or runs of other groups.
func TestSeedTwice(t *testing.T) {
	t.Chdir(t.TempDir())
	runFolders(t, map[string][]string{"a": {"0.25"}, "again": {"0.5"}, "copy": {"0.25"}, "b": {"0.75", "seed=2"}})
	o := clitest.OK(t, "runs", ".", "--by", "model")
	if !strings.Contains(o.Log, "note: a seed counts twice: these have the config and seed of another run, and other results: again\n") {
		t.Errorf("%+v", o)
	}
	if o := clitest.OK(t, "runs", ".", "--by", "run"); strings.Contains(o.Log, "twice") {
		t.Errorf("%+v", o)
	}
}

// A folder of runs means all its runs, and a pattern may also match its list.
func TestCompareFolder(t *testing.T) {
	from, dir := clitest.Finished(t), t.TempDir()
	var want []string
	for _, name := range []string{"a", "b", "c"} {
		run := filepath.Join(dir, name)
		must.OK(t, os.CopyFS(run, os.DirFS(from)))
		want = append(want, run)
	}
	clitest.OK(t, "runs", dir)
	whole, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || !slices.Contains(whole, filepath.Join(dir, "runs.index")) {
		t.Fatalf("no list in %v: %v", whole, err)
	}
	for _, sources := range [][]string{{dir}, whole, want} {
		if x, _ := compare(t, sources...); !slices.Equal(x.Runs, want) {
			t.Errorf("%v: runs %v, want %v", sources, x.Runs, want)
		}
	}
	clitest.Mistake(t, clitest.Run(t, "compare", want[0]), 2, "there is one run, "+want[0]+"; want two or more to compare")
	clitest.Mistake(t, clitest.Run(t, "compare", dir, want[0]), 2, want[0]+" is named twice")
}

func TestCompareMistakes(t *testing.T) {
	threeCodes(t)
	must.Write(t, "broken.json", `{"metrics": 3}`)
	must.Write(t, "empty.json", `[]`)
	for _, test := range []struct {
		code int
		args []string
		want string
	}{
		{2, []string{"good.csv"}, "want two or more"},
		{2, []string{"nowhere"}, "nowhere does not exist"},
		{2, []string{"good.csv", "good.csv"}, "good.csv is named twice"},
		{2, []string{"good.csv", "bad.csv", "--types", "ordinal"}, "belong to --factors"},
		{2, []string{"good.csv", "bad.csv", "--metrics", "migg"}, `did you mean "mig"?`},
		{2, []string{"good.csv", "bad.csv", "--threshold", "-1"}, "--threshold"},
		{2, []string{"good.csv", "bad.csv", "--udr", "r2"}, "--udr"},
		{1, []string{"good.csv", "missing.npy"}, "missing.npy"},
		{1, []string{"good.csv", "runs/missing"}, "runs/missing: the folder does not exist; want the folder of a run"},
		{1, []string{"good.csv", "broken.json"}, "broken.json: results of metrics"},
		{1, []string{"empty.json", "good.csv", "--metrics", "mig"}, "empty.json: the metric mig is not among its 0 metrics"},
		{1, []string{"good.csv", "bad.csv", "--out", "good.csv"}, "is a file; want a folder"},
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"compare"}, test.args...)...), test.code, test.want)
	}
}
