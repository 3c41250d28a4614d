package train

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// rates tests the rates of the tiny experiment.
func rates(t *testing.T, test RateTest, overrides ...string) *Rates {
	t.Helper()
	return must.Get(FindRate(context.Background(), load(t, overrides...), test))(t)
}

// Rates rise by a constant factor from the lowest to the highest, with or without a schedule in the config. Threads do
// not change the result, and no files remain.
func TestFindRate(t *testing.T) {
	t.Chdir(t.TempDir())
	test := RateTest{Low: 1e-5, High: 1e-1, Steps: 41}
	r := rates(t, test, "train.epochs=1", "train.warmup=1", "train.schedule=cosine")
	if len(r.Points) != 41 || r.Diverged != "" || r.Objective != "unsupervised" || r.Optimizer != "adam" || r.Configured != 1e-3 {
		t.Fatalf("%+v", r)
	}
	for i, p := range r.Points {
		if want := 1e-5 * math.Pow(10, float64(i)/10); p.Step != i+1 || !(math.Abs(p.Rate-want) <= 1e-9*want) {
			t.Errorf("update %d has a rate of %v, want %v", p.Step, p.Rate, want)
		}
	}
	if !(r.Suggested > 1e-5 && r.Suggested <= r.Lowest.Rate) {
		t.Errorf("suggests %v; the loss is lowest at %v", r.Suggested, r.Lowest.Rate)
	}
	func() {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		if again := rates(t, test, "train.threads=1"); fmt.Sprint(again) != fmt.Sprint(r) {
			t.Error("other rates with one thread, or another schedule")
		}
	}()
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("left %v, %v", files, err)
	}
	var table, picture bytes.Buffer
	if err := r.WriteCSV(&table); err != nil || strings.Count(table.String(), "\n") != 42 {
		t.Errorf("%v\n%s", err, &table)
	}
	if err := r.Draw(&picture, "rates"); err != nil || !bytes.HasPrefix(picture.Bytes(), []byte("\x89PNG")) {
		t.Error(err)
	}
}

// Each smoothed loss is a weighted mean of its objective's losses and of the batches of an update.
func TestFindRateSmoothed(t *testing.T) {
	r := rates(t, RateTest{Low: 1e-6, High: 1e-4, Steps: 20}, "train.accumulate=2", "train.optimizer={sgd: {lr: 1}}")
	mean, weight := map[string]float64{}, map[string]float64{}
	for _, p := range r.Points {
		mean[p.Objective] = 0.9*mean[p.Objective] + 0.1*p.Loss
		weight[p.Objective] = 0.9*weight[p.Objective] + 0.1
		if want := mean[p.Objective] / weight[p.Objective]; !(math.Abs(p.Smoothed-want) <= 1e-9*math.Abs(want)) {
			t.Errorf("update %d: smoothed %v, want %v", p.Step, p.Smoothed, want)
		}
	}
	must.Equal(t, len(mean), 2, "losses of", "objectives")
}

// A test ends when the loss rises far above its minimum, or is not finite.
func TestFindRateDiverges(t *testing.T) {
	for _, c := range []struct {
		high  float64
		steps int
		why   string
	}{{1e3, 60, "the smoothed loss of"}, {1e38, 20, "try a smaller learning rate"}} {
		r := rates(t, RateTest{Low: 1e-3, High: c.high, Steps: c.steps}, "train.optimizer={sgd: {momentum: 0}}",
			"losses.0={reconstruction: {likelihood: bernoulli}}")
		if len(r.Points) == c.steps || !strings.Contains(r.Diverged, c.why) {
			t.Errorf("to %v: %d points, %q", c.high, len(r.Points), r.Diverged)
		}
	}
}

func TestFindRateMistakes(t *testing.T) {
	for test, want := range map[RateTest]string{
		{Low: 0, High: 1, Steps: 50}:    "want 0 < low < high",
		{Low: 1, High: 0.5, Steps: 50}:  "want 0 < low < high",
		{Low: 0.1, High: 0.5, Steps: 2}: "2 steps; want 20 to",
	} {
		must.ErrorOf(FindRate(context.Background(), load(t), test))(t, want, test)
	}
}
