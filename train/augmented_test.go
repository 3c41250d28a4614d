package train

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

const viewsConfig = `
dataset: {square: {size: 16, side: 5, step: 2}}
views: {pipeline: [flip, crop]}
model: {ae: {latent: 3, encoder: {mlp: {hidden: [8]}}}}
losses: [reconstruction]
train: {epochs: 2, batch: 20, figures: false, checkpoint: 0}
metrics: [mig]
`

func loadViews(t testing.TB, overrides ...string) Config {
	t.Helper()
	return must.Get(Load("views.yaml", []byte(viewsConfig), overrides...))(t)
}

// A model of images trains on single views. Metrics use images without views.
func TestViewsOfImages(t *testing.T) {
	for want, overrides := range map[string][]string{
		"the model takes images, and there are 2 views of each; want views.count=1":         nil,
		"the model takes images in [0, 1]; want views.pipeline without normalise":           {"views.count=1", "views.pipeline=[{normalise: {mean: [0.5], deviation: [0.5]}}]"},
		"views: solarise needs pixels in [0, 1], but dataset bumps has other numbers; want": {"views.count=1", "dataset=bumps", "views.pipeline=[flip]", "views.second=[solarise]"},
		"views: dataset square: augmentation 0, blur: images of 16 x 16 x 1: want more th":  {"views.count=1", "views.pipeline=[{blur: {kernel: 33}}]"},
	} {
		_, err := Run(t.Context(), loadViews(t, overrides...), Options{Dir: t.TempDir()})
		var mistake *config.Error
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	dir := t.TempDir()
	trained := func(name string, overrides ...string) map[string]string {
		trainIn(t, filepath.Join(dir, name), loadViews(t, append(overrides, "views.count=1")...), false)
		return bits(t, filepath.Join(dir, name))
	}
	want := trained("whole")
	sameBits(t, "one thread", trained("thread", "train.threads=1"), want)
	if got := trained("other", "views.pipeline=[]"); got["model/latent/code/weight"] == want["model/latent/code/weight"] {
		t.Error("views do not change the training")
	}
	for _, n := range long.Sample([]int{0, 2, 4, 6, 8, 10}, 3) { // a resumed run continues with the same views
		at := filepath.Join(dir, fmt.Sprint(n))
		if _, err := Run(endAfter(n), loadViews(t, "views.count=1"), Options{Dir: at}); !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		trainIn(t, at, loadViews(t, "views.count=1"), true)
		sameBits(t, fmt.Sprintf("stopped after %d looks", n), bits(t, at), want)
	}
	if _, err := Run(t.Context(), loadViews(t, "views.count=1", "views.pipeline=[flip]"),
		Options{Dir: filepath.Join(dir, "whole"), Resume: true}); err == nil {
		t.Error("a run goes on with other views")
	}
}

// Metrics normalise images like training views.
func TestViewsNormalise(t *testing.T) {
	e, err := NewExperiment(loadViews(t, "views.pipeline=[flip, {normalise: {mean: [0.25], deviation: [0.5]}}]"))
	must.OK(t, err)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	list := allImages(e.Data)
	must.Get(e.Coder.Encode(t.Context(), e.Data, list[:5]))(t)
	image := make([]float32, 16*16)
	e.Data.Image(4, image)
	for i, v := range image {
		if got := e.Coder.encoder.In[4*256+i]; got != (v-0.25)/0.5 {
			t.Fatalf("pixel %d of the encoder is %v, of the image %v", i, got, v)
		}
	}
}

// Without epochs, the initial model is measured, and can be trained later.
func TestNoEpochs(t *testing.T) {
	long.NotShort(t)
	dir := t.TempDir()
	c := load(t, "train.epochs=0", "train.figures=true", "metrics.during=fast")
	r := trainIn(t, dir, c, false)
	if r.Epochs != 0 || r.Steps != 0 || len(r.Metrics) != 1 {
		t.Errorf("%+v", r)
	}
	e := must.Get(NewExperiment(c))(t)
	codes := must.Get(e.Codes(t.Context()))(t)
	want, err := e.Evaluate(t.Context(), codes, c.Metrics.Final)
	if err != nil || want[0].Value != r.Metrics[0].Value {
		t.Errorf("%v, %v; want %v", r.Metrics, err, want)
	}
	again := trainIn(t, dir, c, true)
	must.Equal(t, again.Metrics[0].Value, r.Metrics[0].Value, "measured again", again.Metrics)
	longer, whole := trainIn(t, dir, load(t, "train.epochs=1"), true), t.TempDir()
	must.Equal(t, longer.Epochs, 1, longer)
	trainIn(t, whole, load(t, "train.epochs=1"), false)
	sameBits(t, "trained later", bits(t, dir), bits(t, whole))
}
