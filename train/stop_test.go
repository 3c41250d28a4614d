package train

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train/rundir"
)

// A run stops early. The metric does not improve, because the learning rate is almost 0.
func TestEarlyStopOfARun(t *testing.T) {
	dir := t.TempDir()
	r := trainIn(t, dir, load(t, "train.epochs=50", "metrics.every=2", "train.stop={metric: dlsbd, patience: 3}",
		"train.optimizer.adam.lr=1e-30"), false)
	if r.Epochs != 8 || r.Steps != 8*tinySteps {
		t.Errorf("%d epochs, %d steps; want 8 epochs: the best evaluation and three that are no better", r.Epochs, r.Steps)
	}
	must.Equal(t, strings.Count(logged(t, dir), `"metrics"`), 4, "evaluations in the log")
	if _, s, err := readOne(filepath.Join(dir, rundir.CheckpointFile)); err != nil || !s.Done || s.Watch.Seen != 4 || s.Watch.Since != 3 {
		t.Errorf("state %+v, %v", s, err)
	}
}

// A loss can end training like a metric, from an epoch on. An interrupted run ends after the same epoch.
func TestEarlyStopByLoss(t *testing.T) {
	still := []string{"train.epochs=50", "metrics.every=0", "train.optimizer.adam.lr=1e-30",
		"train.stop={loss: unsupervised/reconstruction, patience: 2, min_delta: 100, from: 3}"}
	dir := t.TempDir()
	must.Equal(t, trainIn(t, dir, load(t, still...), false).Epochs, 6, "epochs")
	part := t.TempDir()
	trainIn(t, part, load(t, append(still, "train.epochs=5")...), false)
	must.Equal(t, trainIn(t, part, load(t, still...), true).Epochs, 6, "epochs after an interruption")
	for settings, want := range map[string]string{
		"{loss: reconstruction, patience: 1}":                 `train.stop.loss: "reconstruction" is a loss of 2 objectives; want one of supervised/reconstruction, unsupervised/reconstruction`,
		"{loss: klx, patience: 1}":                            `train.stop.loss: there is no loss "klx"; want one of supervised/loss,`,
		"{loss: kl, metric: dlsbd, patience: 1}":              "train.stop.loss: want metric or loss, got both",
		"{patience: 1}":                                       "train.stop.metric: want the name of a metric, or the key loss",
		"{loss: unsupervised/kl, patience: 1, min_delta: -1}": "train.stop.min_delta: -1 is out of range",
		"{loss: unsupervised/kl, patience: 1, from: -1}":      "train.stop.from: -1 is out of range",
	} {
		c, err := Load("tiny.yaml", []byte(tiny), "train.stop="+settings)
		if err == nil {
			_, err = Run(t.Context(), c, Options{Dir: t.TempDir() + "/run"})
		}
		must.Error(t, err, want, settings)
	}
}

// Early stopping can use a sentence directly. Training then measures it, even without other metrics. A sentence that is
// already a metric, with a name and settings, is not measured twice.
func TestEarlyStopBySentence(t *testing.T) {
	const sentence = "forall[mean] i: z(i) =[squared] 0"
	dir := t.TempDir()
	c := load(t, "train.epochs=50", `train.stop={metric: "`+sentence+`", reach: 1e9}`, "metrics.final=[]")
	r := trainIn(t, dir, c, false)
	if r.Epochs < 1 || r.Epochs >= 50 {
		t.Errorf("%d epochs; want an end at the first evaluation", r.Epochs)
	}
	log := logged(t, dir)
	if !strings.Contains(log, `"metrics":{"logic":`) || strings.Count(log, `"metrics"`) != 1 {
		t.Errorf("the log has not the one evaluation of the sentence:\n%s", log)
	}
	text, err := c.Encode()
	if err != nil || !strings.Contains(string(text), `metric: "`+sentence+`"`) {
		t.Errorf("%v: the config lacks the sentence:\n%s", err, text)
	}
	c = load(t, "train.epochs=50", `train.stop={metric: "`+sentence+`", patience: 3}`, "train.optimizer.adam.lr=1e-30",
		`metrics={during: [dlsbd, {logic: {name: small, sentence: "`+sentence+`"}}], every: 2}`)
	dir = t.TempDir()
	if r = trainIn(t, dir, c, false); r.Epochs != 8 {
		t.Errorf("%d epochs; want 8: the best evaluation and three that are no better", r.Epochs)
	}
	if log := logged(t, dir); !strings.Contains(log, `"small":`) || strings.Contains(log, `"logic":`) {
		t.Errorf("the log has other metrics than dlsbd and small:\n%s", log)
	}
}

// A sentence is measured at least ten times, or after every epoch, unless the config sets an interval. It needs no
// other metric. If the metric assigns columns to factors, the line that ends training names them.
func TestEarlyStopBySentenceInTime(t *testing.T) {
	long.NotShort(t)
	const during = "metrics={during: [{logic: {name: small, sentence: 'forall[mean] i: z(i) =[squared] 0'}}]}"
	for _, c := range []struct {
		metric string
		more   []string
		epochs int
		say    string
	}{
		{"forall[mean] i: z(i) =[squared] 0", []string{"train.epochs=3", "metrics=[]"}, 1, "was to be reached\n"},
		{"forall[mean] i: z(i) =[squared] 0", []string{"train.epochs=45", "metrics=[]"}, 4, "was to be reached\n"},
		{"forall[mean] i: z(i) =[squared] 0", []string{"train.epochs=7", "metrics=[]", "metrics.every=2"}, 2, "was to be reached\n"},
		{"small", []string{"train.epochs=9", during}, 1, "was to be reached\n"},
		{"small", []string{"train.epochs=30", during, "metrics.every=6"}, 6, "was to be reached\n"},
		{"forall[mean] i: z.row(i) =[squared] 0", []string{"train.epochs=3", "metrics=[]", "model={ae: {encoder: {mlp: {hidden: [8]}}, latent: 3}}", "losses=[reconstruction]", "supervision=none"}, 1,
			"was to be reached; columns of factors: row "},
	} {
		var said strings.Builder
		r, err := Run(t.Context(), load(t, append(c.more, `train.stop={metric: "`+c.metric+`", reach: 1e9}`)...),
			Options{Dir: t.TempDir(), Log: plain.Logger(&said)})
		if err != nil || r.Epochs != c.epochs || !strings.Contains(said.String(), c.say) {
			t.Errorf("%s, %v: %+v, %v; want %d epochs and %q:\n%s", c.metric, c.more, r, err, c.epochs, c.say, said.String())
		}
	}
}

func TestEarlyStopBySentenceMistakes(t *testing.T) {
	for override, want := range map[string]string{
		`train.stop={metric: "forall i z(i)", reach: 1}`:                                     "train.stop.metric: 1:10: ",
		`train.stop={metric: "forall i: z(i) =[squared] 0"}`:                                 "neither reach nor patience",
		`train.stop={metric: dlsbd, reach: 1}`:                                               "train.stop watches a metric; want the number of epochs",
		`train.stop={metric: small, reach: 1}`:                                               `train.stop.metric: unknown metric "small"; want a metric of metrics.during`,
		`train.stop={metric: {logic: "forall i: z(i) =[squared] 0"}, reach: 1}`:              "train.stop.metric: want the name of a metric, or a sentence in quotes, got a mapping; a sentence with settings stands in metrics.during",
		`train={stop: {metric: "forall i: z(i) =[squared] 0", reach: 1}, keep: {best: mig}}`: `"mig" is not among the metrics that are measured during training: logic`,
	} {
		c, err := Load("run.yaml", []byte(tiny), override)
		if err == nil {
			err = c.Validate()
		}
		must.Error(t, err, want, override)
	}
	c := load(t, `train.stop={metric: "forall i: z.nothing(i) =[squared] 0", reach: 1}`)
	_, err := Run(t.Context(), c, Options{Dir: t.TempDir()})
	must.Error(t, err, `train.stop.metric: metric logic: 1:11: there is no sub-code "nothing"`)
}
