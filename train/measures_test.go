package train

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
	"github.com/unravel-ml/unravel/train/internal/monitor"
	"github.com/unravel-ml/unravel/train/rundir"
)

// measuring formats the measures of a config.
func measuring(m Measures) string {
	var b strings.Builder
	list := func(l []metrics.Choice) {
		for _, c := range l {
			b.WriteString(" " + c.Name)
		}
	}
	b.WriteString("final")
	list(m.Final)
	b.WriteString("; during")
	if m.During.Fast {
		b.WriteString(" fast")
	}
	list(m.During.List)
	return b.String()
}

func TestMeasuresForms(t *testing.T) {
	for _, c := range []struct {
		overrides []string
		want      string
		every     int
	}{
		{nil, "final dlsbd; during", 0},
		{[]string{"metrics=[mig, dci]"}, "final mig dci; during", 0},
		{[]string{"metrics.every=2"}, "final dlsbd; during", 2},
		{[]string{"metrics.during=fast"}, "final dlsbd; during fast", 0},
		{[]string{"metrics.0.dlsbd.omega=3"}, "final dlsbd; during", 0},
		{[]string{"metrics.final.0=mig", "metrics.every=3"}, "final mig; during", 3},
		{[]string{"metrics={during: [fast, {mig: {bins: 5}}], every: 4}"}, "final; during fast mig", 4},
		{[]string{"metrics=null"}, "final; during", 0},
		{[]string{"metrics=[]"}, "final; during", 0},
	} {
		m := load(t, c.overrides...)
		if got := measuring(m.Metrics); got != c.want || m.Metrics.Every != c.every || m.Metrics.Images != 10000 {
			t.Errorf("%q: %s, every %d, %d images; want %s, every %d", c.overrides, got, m.Metrics.Every, m.Metrics.Images, c.want, c.every)
		}
		checkRoundTrip(t, m)
	}
}

func TestMeasuresMistakes(t *testing.T) {
	for source, want := range map[string]string{
		"metrics: 3\n":                                                    "t.yaml:1:10: metrics: want a list of metrics, or the keys final, on, sample, interval, encode, during, every, images",
		"metrics:\n  final: [mig]\n  evry: 1\n":                           `t.yaml:3:3: metrics.evry: unknown key "evry"; did you mean "every"?`,
		"metrics:\n  final:\n    - mig\n    - mig\n":                      "t.yaml:4:7: metrics.final.1: mig is in the list twice",
		"metrics: {interval: 20}\n":                                       "t.yaml:1:11: metrics.interval: 20 is out of range; want 50 to 99.9 percent",
		"metrics: {during: [mig, mig]}\n":                                 "t.yaml:1:25: metrics.during.1: mig is in the list twice",
		"metrics: {during: quick}\n":                                      "t.yaml:1:19: metrics.during: want fast or a list of metrics",
		"metrics: {during: [quick]}\n":                                    `t.yaml:1:20: metrics.during.0: unknown metric "quick"`,
		"metrics: {images: 0}\n":                                          "t.yaml:1:11: metrics.images: 0 is out of range",
		"metrics: {final: [mig], every: -2}\n":                            "t.yaml:1:25: metrics.every: -2 is out of range",
		"metrics: {every: 2}\n" + rest:                                    "t.yaml:1:11: metrics.every: there is no metric to measure",
		"metrics: [mig]\ntrain: {stop: {metric: mig, reach: 1}}\n" + rest: "metrics.every: train.stop watches a metric",
	} {
		_, err := Load("t.yaml", []byte(source))
		var one *config.Error
		if !errors.As(err, &one) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s%v\nwant %s", source, err, want)
		}
	}
}

const rest = "dataset: square\nmodel: vae\nlosses: [kl]\n"

// Metrics during training use the current codes, and do not change the training.
func TestMeasureDuringTraining(t *testing.T) {
	plain, watched := t.TempDir(), t.TempDir()
	trainIn(t, plain, load(t), false)
	r := trainIn(t, watched, load(t, "metrics.during=[fast, {mig: {bins: 7}}]", "metrics.every=1"), false)
	sameBits(t, "a run with measurements", bits(t, watched), bits(t, plain))

	var last map[string]float64
	count := 0
	for _, text := range strings.Split(strings.TrimSpace(logged(t, watched)), "\n") {
		var line rundir.Line
		must.OK(t, json.Unmarshal([]byte(text), &line))
		if len(line.Metrics) > 1 {
			last, count = line.Metrics, count+1
		}
	}
	if count != 3 || len(last) != len(metrics.FastNames()) {
		t.Fatalf("%d measurements, the last %v; want 3 of %v", count, last, metrics.FastNames())
	}
	e, _, err := OpenExperiment(watched)
	must.OK(t, err)
	codes := must.Get(e.Codes(context.Background()))(t)
	mig := metrics.Choice{Name: "mig", Value: &metrics.MIG{Histogram: mutual.Histogram{Bins: 7, Binning: mutual.EqualWidth}, Gap: "columns"}}
	want := must.Get(e.Evaluate(t.Context(), codes, []metrics.Choice{mig}))(t)
	if last["dlsbd"] != r.Metrics[0].Value || last["mig"] != want[0].Value {
		t.Errorf("measured %v; want dlsbd %v, mig %v", last, r.Metrics[0].Value, want[0].Value)
	}
}

func TestMonitor(t *testing.T) {
	open := func(overrides ...string) (*monitor.Monitor, error) {
		c := load(t, overrides...)
		e := must.Get(NewExperiment(c))(t)
		return newMonitor(e, 256)
	}
	if w, err := open(); w != nil || err != nil {
		t.Errorf("nothing is to be measured, got %v, %v", w, err)
	}
	w, err := open("metrics.during=fast")
	if err != nil || len(w.Images) != 256 || w.Every != 20 || len(w.Choices) != len(metrics.FastNames()) {
		t.Fatalf("%+v, %v; want all of the 256 images every 20 epochs of 256", w, err)
	}
	if w, err = open("metrics.during=[mig]", "metrics.images=100"); err != nil || w.Every != 8 || len(w.Images) != 100 ||
		!slices.IsSorted(w.Images) {
		t.Fatalf("%+v, %v; want 100 images, 2000 trained in 8 epochs", w, err)
	}
	again, err := open("metrics.during=fast", "metrics.images=100")
	if err != nil || !slices.Equal(again.Images, w.Images) || len(slices.Compact(slices.Clone(w.Images))) != 100 {
		t.Errorf("the images are not the same 100 of every run: %v, %v", again.Images, err)
	}
	if names := again.Choices; !slices.ContainsFunc(names, func(c metrics.Choice) bool { return c.Name == "dlsbd" }) {
		t.Error("fast lacks dlsbd, which any sample suits")
	}
	in := again.InputOf(matrix.Matrix{Rows: 100, Cols: 4}, again.Images)
	for row, i := range again.Images {
		if in.Levels[2*row] != i/16 || in.Levels[2*row+1] != i%16 {
			t.Fatalf("row %d has levels %v; want those of image %d", row, in.Levels[2*row:2*row+2], i)
		}
	}
	var mistake *config.Error
	if _, err = open("metrics.during=[dlsbd-workshop]", "metrics.images=100"); !errors.As(err, &mistake) ||
		!strings.Contains(err.Error(), "metrics.images sets the number") {
		t.Errorf("dlsbd-workshop of 100 images: %v", err)
	}
}

// Measuring can stop and resume.
func TestResumeWithMeasures(t *testing.T) {
	long.NotShort(t)
	c := load(t, "metrics.during=fast", "metrics.every=2", "train.stop={metric: med, patience: 9}")
	whole := t.TempDir()
	trainIn(t, whole, c, false)
	for n := 10; n < 30; n += 3 {
		dir := filepath.Join(t.TempDir(), "run")
		if _, err := Run(endAfter(n), c, Options{Dir: dir}); !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		trainIn(t, dir, c, true)
		sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
		if got, want := logged(t, dir), logged(t, whole); got != want {
			t.Errorf("stopped after %d looks: log\n%s\nwant\n%s", n, got, want)
		}
	}
}

// A metric with two sets of options has two named results, during training and at the end.
func TestMeasureTwice(t *testing.T) {
	dir := t.TempDir()
	r := trainIn(t, dir, load(t, "metrics={final: [mig, {mig: {bins: 2}}], every: 1, during: [{mig: {bins: 2}}, {mig: {bins: 3}}]}",
		"train.stop={metric: mig-2, patience: 1000}"), false)
	if len(r.Metrics) != 2 || r.Metrics[0].Name != "mig" || r.Metrics[1].Name != "mig-2" || r.Metrics[0].Value == r.Metrics[1].Value {
		t.Errorf("%+v", r.Metrics)
	}
	if text, err := os.ReadFile(filepath.Join(dir, rundir.LogFile)); err != nil || !strings.Contains(string(text), `"mig-2":`) {
		t.Errorf("no mig-2 in\n%s, %v", text, err)
	}
	const stop = "\ntrain: {stop: {metric: mig-3, patience: 1}}\n" + rest
	must.ErrorOf(Load("t.yaml", []byte("metrics: {during: [mig, {mig: {bins: 3}}]}"+stop)))(t,
		`"mig-3" is not among the metrics that are measured during training: mig, mig-2`)
}

// A run's final metrics have intervals, and its folder stores them.
func TestMeasureIntervals(t *testing.T) {
	dir := t.TempDir()
	r := trainIn(t, dir, load(t, "metrics={final: [mse, radius], interval: 90}"), false)
	if i := r.Metrics[0].Interval; i == nil || i.Percent != 90 || !(i.Low < i.High) || r.Metrics[1].Interval != nil {
		t.Fatalf("mse has the interval %+v, radius %+v", i, r.Metrics[1].Interval)
	}
	text, err := os.ReadFile(filepath.Join(dir, rundir.MetricsFile))
	var stored []metrics.Result
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err != nil || len(stored) != 2 || !reflect.DeepEqual(stored[0], r.Metrics[0]) {
		t.Errorf("stored %+v, %v; want %+v", stored, err, r.Metrics)
	}
}
