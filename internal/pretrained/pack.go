package pretrained

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/results"
	"github.com/unravel-ml/unravel/results/ledger"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/weights"
)

// Record returns the model's run in the ledger, and its config with the name of the model.
func (m *Model) Record() (c train.Config, r *ledger.Run, err error) {
	book, err := ledger.Open(results.Files(), m.Folder)
	if err != nil {
		return c, nil, err
	}
	all := book.Runs()
	i := slices.IndexFunc(all, func(r *ledger.Run) bool { return r.Name == m.Run && r.Scale == m.Scale })
	if i < 0 {
		return c, nil, fmt.Errorf("%s: the ledger has no run %s of the scale %s in %s", m.Name, m.Run, m.Scale, m.Folder)
	}
	c, err = book.Load(all[i])
	c.Name = m.Name
	return c, all[i], err
}

// Pack creates the archive of a model from a finished run that repeats its run in the ledger. It rounds the weights,
// and computes the metrics of the rounded model.
func Pack(ctx context.Context, m Model, dir string) (a *Archive, err error) {
	settings, r, err := m.Record()
	if err != nil {
		return nil, err
	}
	text, err := settings.Encode()
	if err != nil {
		return nil, err
	}
	e, warning, err := train.OpenExperiment(dir)
	if err == nil && warning != "" {
		err = errors.New(warning)
	}
	if err == nil {
		err = repeats(dir, r)
	}
	if err != nil {
		return nil, err
	}
	a = &Archive{files: map[string][]byte{rundir.Config: text}}
	var file bytes.Buffer
	source := weights.Source{Model: e.Model, Data: models.DataOf(e.Data), Views: e.Config.Views, Half: true}
	source.Config, source.Version = string(text), r.Version
	if _, err := source.WriteSafetensors(&file, "", weights.Native); err != nil {
		return nil, err
	}
	a.files[weightsFile] = file.Bytes()
	if err := a.addStage(e, dir); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "pretrained")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	found, err := a.measure(ctx, scratch)
	if err != nil {
		return nil, err
	}
	if a.Manifest, err = manifestOf(m, settings, r, found); err != nil {
		return nil, err
	}
	a.files[rundir.CardFile] = a.card(m, e, text)
	return a, nil
}

// repeats returns an error if the parameters of a run differ from the ledger's run.
func repeats(dir string, r *ledger.Run) error {
	has, err := train.HashParameters(dir)
	if err == nil && has != r.Parameters {
		err = fmt.Errorf("%s: the parameters have the hash %s; want %s, as the ledger's run %s (instruction set %s)",
			dir, has, r.Parameters, r.Name, r.Machine.Kernels)
	}
	return err
}

// addStage adds the files of the stage before a run's training.
func (a *Archive) addStage(e *train.Experiment, dir string) error {
	staged, ok := e.Config.Model.Value.(models.Staged)
	if !ok || e.Learned == nil {
		return nil
	}
	folder := staged.Stage().Name
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == "timings.json" { // specific to this repetition
			continue
		}
		name := path.Join(folder, entry.Name())
		if a.files[name], err = rundir.ReadFile(dir, name); err != nil {
			return err
		}
	}
	return nil
}

// measure computes the final metrics of the rounded model in a scratch folder.
func (a *Archive) measure(ctx context.Context, scratch string) ([]metrics.Result, error) {
	e, err := a.begin(filepath.Join(scratch, "run"), filepath.Join(scratch, "stage"))
	if err != nil {
		return nil, err
	}
	e = e.Sample()
	codes, err := e.Codes(ctx)
	if err != nil {
		return nil, err
	}
	found, err := e.Evaluate(ctx, codes, e.Final())
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = rundir.JSON(found)(&text)
	a.files[rundir.MetricsFile] = text.Bytes()
	return found, err
}

// manifestOf describes a model with the results found after rounding.
func manifestOf(m Model, c train.Config, r *ledger.Run, found []metrics.Result) (Manifest, error) {
	hash, err := c.Hash()
	if err != nil {
		return Manifest{}, err
	}
	x := Manifest{Format: format, Name: m.Name, Ledger: Source{m.Folder, m.Scale, r.Name, r.Config, r.Seed}}
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	x.Training = rundir.Record{
		Begun: *r.Begun, Ended: r.Begun.Add(took), Seconds: r.Seconds, CPU: r.CPU, Epochs: r.Epochs, Steps: r.Steps,
		Version: r.Version, Machine: *r.Machine, Generation: r.Generation,
		History: rundir.History{{
			To: r.Steps, Config: hash, Version: r.Version, Kernels: r.Machine.Kernels, Generation: r.Generation,
			Other: "its weights were rounded to float16",
		}},
	}
	if len(found) != len(r.Metrics) {
		return x, fmt.Errorf("the model has %d results; want the %d of the ledger's run", len(found), len(r.Metrics))
	}
	for i, want := range r.Metrics {
		got := found[i]
		if got.Name != want.Name {
			return x, fmt.Errorf("result %d is %s; want %s, as in the ledger's run", i+1, got.Name, want.Name)
		}
		x.Metrics = append(x.Metrics, Value{want.Name, fmt.Sprint(got.Better), want.Value, got.Value})
	}
	return x, nil
}

// card is the model card in Markdown, with the front matter of Hugging Face.
func (a *Archive) card(m Model, e *train.Experiment, config []byte) []byte {
	h, w, c := e.Data.ImageShape()
	var b strings.Builder
	b.WriteString("---\nlibrary_name: unravel\nlicense: mit\ntags: [disentanglement, representation-learning, " +
		e.Config.Model.Name + "]\n---\n\n")
	fmt.Fprintf(&b, "# %s\n\n%s on %s: a small model to try commands on.\n\n", m.Name, m.Method, m.Dataset)
	b.WriteString("| | |\n|---|---|\n")
	row := func(name, format string, values ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, fmt.Sprintf(format, values...))
	}
	row("data set", "`%s`, %d images of %d x %d x %d, drawn by Unravel", m.Dataset, e.Data.Len(), h, w, c)
	row("code", "%s", wording.Count(e.Coder.Width(), "column"))
	row("parameters", "%d, each rounded to the nearest float16, ties to even", e.Model.Params().Count())
	row("training", "%s, %s, seed %d",
		wording.Count(a.Training.Epochs, "epoch"), wording.Count(a.Training.Steps, "step"), a.Ledger.Seed)
	row("scale", "`%s` of the table, which trains less than the paper", m.Scale)
	row("ledger", "run `%s` in `results/%s`", m.Run, m.Folder)
	row("trained by", "unravel %s, instruction set %s", a.Training.Version, a.Training.Machine.Kernels)
	row("licence", "MIT, as Unravel")
	fmt.Fprintf(&b, "\n```sh\nunravel pull %s\nunravel eval --run runs/%[1]s\n```\n\n## Metrics\n\n", m.Name)
	b.WriteString("The ledger's run has float32 weights. `unravel eval` gives the values of the rounded weights.\n\n")
	b.WriteString("| metric | better | ledger | rounded |\n|---|---|---:|---:|\n")
	for _, v := range a.Metrics {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.Name, v.Better, report.Number(v.Ledger), report.Number(v.Rounded))
	}
	fmt.Fprintf(&b, "\n## Config\n\n```yaml\n%s```\n", config)
	return []byte(b.String())
}
