package train

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// A model trained without labels is measured on other data sets, including metrics of factors.
func TestMeasuredOn(t *testing.T) {
	long.NotShort(t)
	const on = "metrics={final: [mutual-information], on: [{dataset: {bumps: {}}, metrics: [mig, {dci: {bins: 8}}], sample: 600}, {dataset: {entangled: {}}, metrics: [total-correlation]}]}"
	dir := filepath.Join(t.TempDir(), "run")
	must.Get(runOf(t, validated, Options{Dir: dir}, "metrics=[mutual-information]"))(t)
	c, err := Load("validated.yaml", []byte(validated), on)
	if err == nil {
		err = Check(c)
	}
	must.Error(t, err, "metrics.on.1.dataset: entangled has images of")
	_, err = runOf(t, validated, Options{Dir: dir + "2"}, on, "metrics.on.1.dataset=bumps")
	must.Error(t, err, "bumps is in the list twice")
	for _, c := range []struct{ metrics, want string }{
		{"[{dataset: bumps}]", "there are no metrics for the data set bumps; want metrics in its entry, such as {dataset: bumps, metrics: [mig]}"},
		{"[mig, {dataset: bumps, metric: [mig]}]", "metric"},
		{"[mig, mig, {dataset: bumps}]", "mig is in the list twice"},
	} {
		must.ErrorOf(Load("validated.yaml", []byte(validated), "metrics="+c.metrics))(t, c.want, c.metrics)
	}
	for _, text := range []string{
		"[mutual-information, {dataset: bumps, metrics: [mig]}, {dataset: {bumps: {}}}]",
		"{final: [mutual-information], on: [{dataset: bumps, metrics: [mig]}, {dataset: bumps, metrics: [mutual-information]}]}",
	} {
		c := must.Get(Load("validated.yaml", []byte(validated), "metrics="+text))(t)
		on := c.Metrics.On
		if len(c.Metrics.Final) != 1 || len(on) != 2 || on[0].Dataset.Name != "bumps" || on[0].Metrics[0].Name != "mig" ||
			on[1].Metrics[0].Name != "mutual-information" {
			t.Errorf("metrics: %s: %+v", text, c.Metrics)
		}
	}
	r, err := runOf(t, validated, Options{Dir: dir + "3"},
		"metrics={final: [mutual-information], on: [{dataset: bumps, metrics: [mig, {dci: {bins: 8}}], sample: 600}]}")
	must.OK(t, err)
	var names []string
	for _, m := range r.Metrics {
		names = append(names, m.Name)
	}
	if want := []string{"mutual-information", "mig-on-bumps", "dci-on-bumps"}; !reflect.DeepEqual(names, want) ||
		r.Metrics[1].Basis.Rows != 600 {
		t.Errorf("results %v of %d rows; want %v of 600", names, r.Metrics[1].Basis.Rows, want)
	}
	e, _, err := OpenExperiment(dir + "3")
	must.OK(t, err)
	other := must.Get(e.On(e.Config.Metrics.On[0].Dataset, e.Data))(t)
	other = other.Some(600)
	codes := must.Get(other.Codes(context.Background()))(t)
	again, err := other.Evaluate(context.Background(), codes, e.Config.Metrics.On[0].Metrics)
	if err != nil || again[0].Value != r.Metrics[1].Value || again[1].Value != r.Metrics[2].Value {
		t.Errorf("%v, %v; want the values of the run", again, err)
	}
	a, err := HashParameters(dir)
	b, also := HashParameters(dir + "3")
	if err != nil || also != nil || a != b {
		t.Error("measuring on another data set changed the training")
	}
}
