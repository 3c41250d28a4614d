package eval_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
)

// needNoLevels reports whether all measured metrics work without levels of factors.
func needNoLevels(t *testing.T, all map[string]clitest.Measured) bool {
	t.Helper()
	for name := range all {
		m := must.Get(metrics.Named(name))(t)
		if n, ok := m.Value.(metrics.Needy); !ok || n.Needs() != metrics.NoLevels {
			return false
		}
	}
	return true
}

func TestEvalTypes(t *testing.T) {
	clitest.MixedFiles(t)
	files := []string{"--codes", "codes.npy", "--factors", "factors.csv"}
	with := func(args ...string) []string { return append(append([]string{}, files...), args...) }

	found, log := clitest.Measure(t, with("--metrics", "mse,mig")...)
	must.Equal(t, log, "factors are taken as size ordinal (3 levels), depth continuous (19 bins with values), angle ordinal (8 levels); --types sets other kinds\n", "log")
	named, log := clitest.Measure(t, with("--metrics", "mse,mig", "--types", "ordinal,continuous,ordinal")...)
	if log != "" || fmt.Sprint(found) == "" || named["mse"].Value != found["mse"].Value || named["mig"].Value != found["mig"].Value {
		t.Errorf("the same kinds named: %v, want %v; log %q", named, found, log)
	}
	if e := named["mse"].PerFactor; len(e) != 3 || !(e[0] <= 1e-20) || !(e[1] <= 1e-20) || !(e[2] >= 0.01) {
		t.Errorf("mse per factor %v: the exact values of depth were not used", e)
	}
	few, _ := clitest.Measure(t, with("--metrics", "mse,mig", "--bins", "3")...)
	if few["mse"].Value != found["mse"].Value || few["mig"].Value == found["mig"].Value {
		t.Errorf("3 bins: %v, with 20 %v", few, found)
	}
	angular, log := clitest.Measure(t, with("--metrics", "contraction-max", "--types", "discrete,ordinal,angular")...)
	ordinal, _ := clitest.Measure(t, with("--metrics", "contraction-max", "--types", "ordinal")...)
	if log != "" || angular["contraction-max"].Value == ordinal["contraction-max"].Value {
		t.Errorf("kinds change nothing: %v, %v; log %q", angular, ordinal, log)
	}
	clitest.Mistake(t, clitest.Run(t, append([]string{"eval"}, with("--metrics", "mse", "--types", "circular")...)...), 1,
		"factors.csv: factor depth: the circular values 0, 1, ", "are not evenly spaced; want their period, such as circular:360")
}

// The metrics `all` omit unsuitable metrics and measure the rest.
func TestEvalLeftOut(t *testing.T) {
	long.NotShort(t)
	clitest.MixedFiles(t)
	files := []string{"--codes", "codes.npy", "--factors", "factors.csv"}
	for _, args := range [][]string{files, append(files, "--metrics", "all")} {
		all, log := clitest.Measure(t, clitest.FewTrees(args...)...)
		if _, ok := all["dlsbd"]; ok || !strings.Contains(log, "left out: metric dlsbd: ") ||
			!strings.Contains(log, "left out: metric dlsbd-workshop: ") {
			t.Errorf("%v: %v, log %s", args, all, log)
		}
		for _, name := range []string{"mpd", "mse", "contraction-mean"} {
			m, ok := all[name]
			if !ok || m.Score == nil || !(math.Abs(*m.Score-math.Exp(-m.Value)) <= 1e-15) || len(m.Parts) == 0 {
				t.Errorf("%s: %+v", name, m)
			}
		}
		if m := all["mpd"]; len(m.PerFactor) != 3 || m.PerFactor[2] != m.Parts[0].Values[2] {
			t.Errorf("per factor: %+v", m)
		}
		if m := all["mig"]; m.Score != nil || len(m.Grids) != 1 {
			t.Errorf("mig: %+v", m)
		}
	}
	// constant factors do not stop other metrics
	must.Write(t, "factors.csv", strings.Repeat("7\n", 60))
	if all, log := clitest.Measure(t, files...); len(all) < 5 || !strings.Contains(log, "left out: metric mig: every factor has only one level") {
		t.Errorf("a constant factor: %v, log %s", all, log)
	}
}

func TestEvalBlocks(t *testing.T) {
	clitest.MixedFiles(t)
	files := []string{"--codes", "codes.npy", "--factors", "factors.csv", "--types", "ordinal"}
	right, _ := clitest.Measure(t, append(files, "--metrics", "radius,mse", "--blocks", "0; 1;2-3")...)
	if r := right["radius"]; r.PerFactor[0] != 0 || r.PerFactor[1] != 0 || !(r.PerFactor[2] <= 1e-12) || len(right) != 2 {
		t.Errorf("right blocks: %+v", right)
	}
	wrong, _ := clitest.Measure(t, append(files, "--metrics", "radius", "--blocks", "1;0,3;2")...)
	if r := wrong["radius"]; !(r.PerFactor[0] > 1) || r.PerFactor[1] != 0 || !(r.PerFactor[2] <= 1e-12) {
		t.Errorf("wrong blocks: %+v", wrong)
	}
	dir := clitest.Finished(t)
	first, _ := clitest.Measure(t, "--run", dir, "--metrics", "mpd", "--blocks", "0,1;2,3")
	ranges, _ := clitest.Measure(t, "--run", dir, "--metrics", "mpd", "--blocks", "0-1;2-3")
	if first["mpd"].Value != ranges["mpd"].Value || !(first["mpd"].Value > 0) {
		t.Errorf("blocks of a run: %v, %v", first, ranges)
	}
}

// Without --blocks, eval does not group columns, even if their number fits.
func TestEvalAssigns(t *testing.T) {
	clitest.MixedFiles(t)
	must.Write(t, "two.csv", "a,b\n"+strings.Repeat("0,0\n1,0\n0,1\n1,1\n", 3))
	var codes strings.Builder
	for i := range 12 {
		fmt.Fprintf(&codes, "%d,%d,%d,%d\n", i/4, i/2%2, 7, i%2)
	}
	must.Write(t, "four.csv", codes.String())
	all, _ := clitest.Measure(t, "--codes", "four.csv", "--factors", "two.csv", "--metrics", "variance")
	if v := all["variance"]; v.Value != 0 || len(v.Parts) < 2 || fmt.Sprint(v.Parts[1].Values) != "[3 1]" {
		t.Errorf("best columns: %+v", v)
	}
	for _, args := range [][]string{
		{"variance: {codes: {a: [0, 2], b: [1]}}"},
		{"variance", "--option", "variance.codes={a: [0, 2], b: [1]}"},
		{"variance: {assign: order}", "--option", "variance.codes={a: [0, 2], b: [1]}", "--blocks", "3;1"},
	} {
		all, _ = clitest.Measure(t, append([]string{"--codes", "four.csv", "--factors", "two.csv", "--metrics"}, args...)...)
		if v := all["variance"]; fmt.Sprint(v.PerFactor) != fmt.Sprint([]float64{2. / 3, 0}) {
			t.Errorf("%v: %+v; want the variances of columns 0 and 1", args, v)
		}
	}
	must.Write(t, "swapped.csv", "b,a\n"+strings.Repeat("0,0\n0,1\n1,0\n1,1\n", 3))
	all, _ = clitest.Measure(t, "--codes", "swapped.csv", "--factors", "two.csv", "--metrics", "variance")
	const note = "factors get the columns in order; with assign: best the value is 0 (columns of factors: a 1, b 0)"
	if v := all["variance"]; v.Value != 0.5 || !slices.Contains(v.Notes, note) {
		t.Errorf("one column each, in order: %+v; want the note %s", all, note)
	}
	all, _ = clitest.Measure(t, "--codes", "two.csv", "--factors", "two.csv", "--metrics", "variance")
	if v := all["variance"]; v.Value != 0 || v.Notes != nil {
		t.Errorf("columns in the order of the factors: %+v; want no note", v)
	}
}

// --option takes the keys of a config.
func TestEvalOption(t *testing.T) {
	long.NotShort(t)
	clitest.MixedFiles(t)
	files := []string{"--codes", "codes.npy", "--factors", "factors.csv", "--types", "ordinal"}
	plain, _ := clitest.Measure(t, append(files, "--metrics", "med,mig")...)
	some, _ := clitest.Measure(t, append(files, "--metrics", "med,mig", "--option", "med.k=1", "--option", "med.log=natural",
		"--option", "mig.bins=3")...)
	if some["mig"].Value == plain["mig"].Value || some["med"].Value == plain["med"].Value ||
		len(some["med"].Parts) != len(plain["med"].Parts)+1 {
		t.Errorf("%+v, with options %+v", plain, some)
	}
	if both, _ := clitest.Measure(t, append(files, "--metrics",
		"mig, mig: {bins: 3}")...); both["mig"].Value != plain["mig"].Value || both["mig-2"].Value != some["mig"].Value {
		t.Errorf("a repeated metric: %+v", both)
	}
	if all, _ := clitest.Measure(t, clitest.FewTrees(append(files, "--option",
		"downstream.sizes=[30]")...)...); len(all["downstream"].Grids) != 1 || len(all["downstream"].Notes) != 0 {
		t.Errorf("%+v", all["downstream"])
	}
	for option, want := range map[string]string{
		"med": "want METRIC.KEY=VALUE", "k=3": "want METRIC.KEY=VALUE", "med.k=-1": "k: -1 is negative", "med.kk=1": `did you mean "k"?`, "med.k=x": "k", "dci.bins=3": "dci is not among --metrics",
		"med.k=[": "--option", "med.k=1, bins: 3}": "--option", "med.k=1\nx: 3": "want METRIC.KEY=VALUE",
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"eval", "--metrics", "med", "--option", option}, files...)...), 2, want)
	}
	clitest.Mistake(t, clitest.Run(t, append([]string{"eval", "--option", "x.k=1"}, files...)...), 2, "x is not among --metrics")
	clitest.Mistake(t, clitest.Run(t, "eval", "--run", "x", "--option", "med.k=1"), 2, "--option belongs to --metrics")
}

func TestEvalOut(t *testing.T) {
	long.NotShort(t)
	clitest.MixedFiles(t)
	files := []string{"eval", "--codes", "codes.npy", "--factors", "factors.csv", "--types", "ordinal,continuous,circular"}
	o := clitest.OK(t, append(files, "--metrics", "mig,mpd", "--json", "--out", "deep/out")...)
	if o.Log != "2 metrics with tables and figures in deep/out\n" || o.Out != string(must.Read(t, "deep/out/metrics.json")) {
		t.Errorf("%v", o)
	}
	first := map[string][]byte{}
	for name, want := range map[string]string{
		"metrics.csv": "metric,value,better,score\nmig,0.", "mig-mutual_information.csv": "mutual_information,size,depth,angle\nz0,1.09861228866",
		"mig-mutual_information.png": "\x89PNG", "codes.png": "\x89PNG", "metrics.json": `{"metrics":{"mig":{"name":"mig"`,
		"ranks.csv": "metric,matrix,factor,1,2,3,4\nmig,mutual_information,size,z0,",
	} {
		if first[name] = must.Read(t, "deep/out/"+name); !strings.HasPrefix(string(first[name]), want) {
			t.Errorf("%s: %.200s", name, first[name])
		}
	}
	lines := strings.Split(strings.TrimSpace(string(first["metrics.csv"])), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[1], ",higher,") || !strings.Contains(lines[2], ",lower,0.") {
		t.Errorf("metrics.csv: %q", lines)
	}
	clitest.OK(t, append(files, "--metrics", "mig,mpd", "--out", "deep/out")...) // overwrites it
	for name, want := range first {
		must.Equal(t, string(must.Read(t, "deep/out/"+name)), string(want), name, "the same evaluation writes other bytes")
	}
	clitest.Mistake(t, clitest.Run(t, append(files, "--metrics", "mig", "--out", "codes.npy")...), 1, "codes.npy is a file; want a folder")
	must.Write(t, "deep/out/mine.csv", "mine")
	clitest.OK(t, append(files, "--metrics", "sap", "--out", "deep/out")...)
	if ui.Exists("deep/out/mig-mutual_information.csv") || ui.Exists("deep/out/mig-mutual_information.png") ||
		!ui.Exists("deep/out/metrics.csv") || !ui.Exists("deep/out/mine.csv") {
		t.Error("the folder does not have this evaluation's files and one's own alone")
	}
	must.Write(t, "deep/out/made-by-eval.txt", "mine")
	clitest.Mistake(t, clitest.Run(t, append(files, "--metrics", "sap", "--out", "deep/out")...), 1,
		"made-by-eval.txt is no list of files that unravel has made; want another folder")
	ofRun := []string{"eval", "--run", clitest.Finished(t), "--out", "run"}
	if !long.Enabled() {
		ofRun = append(ofRun, "--metrics", "dlsbd,manipulation")
	}
	clitest.OK(t, ofRun...)
	if !strings.Contains(string(must.Read(t, "run/metrics.csv")), "dlsbd,") {
		t.Error("a run's metrics are not written")
	}
	if got := string(must.Read(t, "run/manipulation.csv")); !strings.HasPrefix(got, "manipulation,row,column\nz0,") ||
		!strings.HasPrefix(string(must.Read(t, "run/manipulation.png")), "\x89PNG") {
		t.Errorf("manipulation.csv: %.200s", got)
	}
	if ui.Exists("run/med-selected.png") {
		t.Error("columns are chosen by med, which is not measured")
	}
	clitest.OK(t, "eval", "--run", clitest.Finished(t), "--out", "run", "--metrics", "med")
	if !strings.HasPrefix(string(must.Read(t, "run/med-selected.png")), "\x89PNG") {
		t.Error("the columns that med chooses are not drawn")
	}
	// only matrices of columns and factors, with the best column first, and empty fields for omitted columns
	clitest.OK(t, append(files, "--metrics", "irs,mutual-information,sap", "--out", "ranks")...)
	ranks := strings.Split(strings.TrimSpace(string(must.Read(t, "ranks/ranks.csv"))), "\n")
	if len(ranks) != 7 || !strings.HasPrefix(ranks[1], "irs,irs,size,z0,") || !strings.HasPrefix(ranks[5], "sap,score,depth,z1,") {
		t.Errorf("ranks.csv: %q", ranks)
	}
	must.Write(t, "constant.csv", strings.Repeat("1,5,1\n2,5,1\n", 30))
	clitest.OK(t, "eval", "--codes", "constant.csv", "--factors", "constant.csv", "--metrics", "irs", "--out", "constant")
	if got := string(must.Read(t, "constant/ranks.csv")); !strings.Contains(got, "irs,irs,factor0,z0,,\n") {
		t.Errorf("ranks.csv: %s", got)
	}
	must.Write(t, "flat.csv", strings.Repeat("1,5\n", 60))
	clitest.OK(t, "eval", "--codes", "constant.csv", "--factors", "flat.csv", "--metrics", "irs", "--out", "flat")
	if ui.Exists("flat/approximation.png") {
		t.Error("codes are approximated by functions of factors that never vary")
	}
	// many rows and factors
	must.Write(t, "many.csv", strings.Repeat("1,2,3,4,5,6,7,8,9\n2,1,2,1,2,1,2,1,2\n", 1100))
	clitest.OK(t, "eval", "--codes", "many.csv", "--factors", "many.csv", "--metrics", "mse", "--out", "many")
	if ui.Exists("many/manipulation.csv") {
		t.Error("factors that never move alone are manipulated")
	}
}

// eval finds codes and factors in one archive. The values equal docs/faq.md.
func TestEvalOneArchive(t *testing.T) {
	t.Chdir(t.TempDir())
	var levels, circles [][]float64
	for i := range 256 {
		y := []float64{float64(i / 16), float64(i % 16)}
		levels = append(levels, y)
		s0, c0 := math.Sincos(math.Pi / 8 * y[0])
		s1, c1 := math.Sincos(math.Pi / 8 * y[1])
		circles = append(circles, []float64{c0, s0, c1, s1})
	}
	clitest.WriteNPZ(t, "levels.npz", map[string][][]float64{"codes": levels, "factors": levels})
	clitest.WriteNPZ(t, "circles.npz", map[string][][]float64{"z": circles, "factors": levels})
	clitest.WriteNPZ(t, "codes.npz", map[string][][]float64{"codes": circles})
	clitest.WriteNPZ(t, "factors.npz", map[string][][]float64{"factors": circles})
	for _, c := range []struct {
		args, metric string
		want         string
	}{
		{"--codes levels.npz", "mig", "1.00"},
		{"--codes levels.npz:codes --types ordinal", "mig", "1.00"},
		{"--codes levels.npz --option mig.bins=10", "mig", "0.81"},
		{"--codes circles.npz:z", "mig", "0.03"},
		{"--codes circles.npz:z --types circular,circular", "dlsbd", "0.00"},
		{"--codes circles.npz:z --types circular,circular", "med", "1.00"},
	} {
		m, _ := clitest.Measure(t, append(strings.Fields(c.args), "--metrics", c.metric)...)
		must.Equal(t, fmt.Sprintf("%.2f", m[c.metric].Value), c.want, c.args, c.metric)
	}
	for _, codes := range []string{"codes.npz", "factors.npz", "circles.npz:factors"} { // there are no factors beside these
		clitest.Mistake(t, clitest.Run(t, "eval", "--codes", codes, "--metrics", "mig"), 2,
			"takes the factors of the rows with --factors", "the array factors of the codes' file")
	}
	clitest.Mistake(t, clitest.Run(t, "eval", "--codes", "circles.npz:z", "--metrics", "dlsbd"), 1,
		"metric dlsbd: there is no circular factor; want at least one; eval takes the kinds of factors with --types, such as --types circular")
}
