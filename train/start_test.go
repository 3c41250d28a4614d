package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/weights"
)

// source is a run of a few steps with batch norms, as a source of parameters.
const source = `
name: source
seed: 3
dataset: {square: {size: 16, side: 4}}
views: {pipeline: [flip, crop], count: 2}
model: {byol: {encoder: {conv64-norm: {features: 12, norm: batch}}, hidden: 8, projected: 4, predictor: 8}}
losses: [cosine-regression]
train: {epochs: 1, epoch_steps: 3, batch: 32, figures: false}
`

// started is an experiment on the source's encoder.
const started = `
name: started
seed: 4
dataset: {square: {size: 16, side: 4}}
supervision: {labels: {fraction: 0.5}}
model: {encoder: {encoder: {conv64-norm: {features: 12, norm: batch}}, latent: 2}}
losses: [variance, contraction]
train: {epochs: 2, epoch_steps: 3, batch: 32, figures: false}
`

// trainSource trains the source in a folder. It returns the folder and a file of the weights in a layout.
func trainSource(t *testing.T, layout weights.Layout) (dir, file string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "byol")
	c := must.Get(Load("source.yaml", []byte(source)))(t)
	trainIn(t, dir, c, false)
	e, _, err := OpenExperiment(dir)
	must.OK(t, err)
	file = filepath.Join(t.TempDir(), "w.safetensors")
	f := must.Get(os.Create(file))(t)
	defer f.Close()
	must.Get((&weights.Source{Model: e.Model, Data: models.DataOf(e.Data)}).WriteSafetensors(f, "", layout))(t)
	return dir, file
}

func startedConfig(t *testing.T, overrides ...string) Config {
	t.Helper()
	return must.Get(Load("started.yaml", []byte(started), overrides...))(t)
}

// A start sets the named parameters, including running moments. The other parameters come from the seed. It reads a
// run, or a file in any layout.
func TestInit(t *testing.T) {
	long.NotShort(t)
	dir, native := trainSource(t, weights.Native)
	_, torch := trainSource(t, weights.PyTorch)
	from, _, err := OpenExperiment(dir)
	must.OK(t, err)
	fresh := must.Get(NewExperiment(startedConfig(t)))(t)
	must.OK(t, os.CopyFS(dir+"4", os.DirFS(dir)))
	contents := map[string]string{}
	for name, c := range map[string]struct {
		overrides []string
		takes     string
	}{
		"run":        {[]string{"init.run=" + dir, "init.only=[encoder/*]"}, "encoder/*"},
		"file":       {[]string{"init.file=" + native, "init.only=[encoder/*]"}, "encoder/*"},
		"pytorch":    {[]string{"init.file=" + torch, "init.only=[encoder/*]"}, "encoder/*"},
		"checkpoint": {[]string{"init.file=" + filepath.Join(dir, rundir.CheckpointFile), "init.only=[encoder/*]", "init.as={model/: ''}"}, "encoder/*"},
		"of a seed":  {[]string{"init.run=" + dir + "{seed}", "init.only=[encoder/*]"}, "encoder/*"},
		"some":       {[]string{"init.run=" + dir, "init.only=[encoder/conv1/*, encoder/norm1/running]"}, "encoder/*1/*"},
		"what fits":  {[]string{"init.run=" + dir, "init.strict=false"}, "encoder/*"},
		"renamed":    {[]string{"init.run=" + dir, "init={as: {target/encoder/: encoder/, encoder/: old/}, only: [encoder/conv*], run: " + dir + "}"}, ""},
	} {
		e, err := NewExperiment(startedConfig(t, c.overrides...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "renamed" {
			if got, want := e.Model.Params().Get("encoder/conv2/bias").Float32s(),
				from.Model.Params().Get("target/encoder/conv2/bias").Float32s(); !slices.Equal(got, want) {
				t.Error("renamed: the target's parameters were not taken")
			}
			continue
		}
		for _, p := range e.Model.Params().Names() {
			want := fresh.Model.Params().Get(p).Float32s()
			if nn.Match(c.takes, p) && (name != "some" || p != "encoder/norm1/gamma" && p != "encoder/norm1/beta") {
				want = from.Model.Params().Get(p).Float32s()
			}
			if !slices.Equal(e.Model.Params().Get(p).Float32s(), want) {
				t.Errorf("%s: %s is not what it begins with", name, p)
			}
		}
		s := e.Start
		if len(s.Taken)+len(s.Fresh) != len(e.Model.Params().Names()) || len(s.Derived) > 0 || !slices.Contains(s.Fresh, "latent/code/weight") {
			t.Errorf("%s: the report is %+v", name, s)
		}
		contents[name] = s.Content
	}
	if contents["run"] != contents["file"] || contents["run"] != contents["of a seed"] ||
		contents["run"] == contents["some"] || contents["run"] == "" {
		t.Errorf("contents %v", contents)
	}
}

// EMA targets become copies of loaded parameters, unless the start also loads the targets.
func TestInitTargets(t *testing.T) {
	dir, _ := trainSource(t, weights.Native)
	for only, copies := range map[string]bool{"[encoder/*]": true, "[encoder/*, target/encoder/*]": false} {
		c := must.Get(Load("source.yaml", []byte(source), "seed=9", "init.run="+dir, "init.only="+only))(t)
		e := must.Get(NewExperiment(c))(t)
		p := e.Model.Params()
		if same := slices.Equal(p.Get("target/encoder/conv3/weight").Float32s(),
			p.Get("encoder/conv3/weight").Float32s()); same != copies || copies != (len(e.Start.Derived) > 0) {
			t.Errorf("%s: the target is a copy: %v, want %v; derived %v", only, same, copies, e.Start.Derived)
		}
		if !slices.Equal(p.Get("target/projector/dense1/weight").Float32s(), p.Get("projector/dense1/weight").Float32s()) {
			t.Errorf("%s: the target of what was drawn is no copy", only)
		}
	}
}

// Errors name the key, its place, the parameter and both shapes.
func TestInitMistakes(t *testing.T) {
	dir, file := trainSource(t, weights.Native)
	damaged := filepath.Join(t.TempDir(), "damaged")
	must.OK(t, os.CopyFS(damaged, os.DirFS(dir)))
	must.Write(t, filepath.Join(damaged, rundir.CheckpointFile), "broken")
	for _, c := range []struct {
		overrides []string
		want      []string
	}{
		{[]string{"init.run=" + dir + "l"}, []string{"init.run", "there is no run", "did you mean", dir}},
		{[]string{"init.run=" + damaged}, []string{"init.run", "checkpoint", "not a safetensors file"}},
		{[]string{"init.file=" + file + "x"}, []string{"init.file", must.NoFile(t)}},
		{[]string{"init={only: [encoder/*]}"}, []string{"init.run", "neither run nor file is given"}},
		{[]string{"init.run=" + dir, "init.file=" + file}, []string{"init.file", "both run and file"}},
		{[]string{"init.run=" + dir, "init.layout=pytorch"}, []string{"init.layout", "a run has the layout unravel"}},
		{[]string{"init.run=" + dir, "init.only=[encoder/*, encoder/conv7/*]"}, []string{"init.only.1", `no parameter fits "encoder/conv7/*"`}},
		{[]string{"init.run=" + dir, "init.only=[encoder/*, latent/*]"}, []string{"init", "missing: latent/code/weight, latent/code/bias"}},
		{[]string{"init.run=" + dir}, []string{"init", "tensors that the model does not have", "predictor/dense1/weight", "want only: [...]"}},
		{[]string{"init.run=" + dir, "init.only=[encoder/*]", "model.encoder.encoder.conv64-norm.features=13"},
			[]string{"init", `"encoder/conv6/weight" has shape [128 12], want [128 13]`}},
		{[]string{"init.run=" + dir, "init.only=[encoder/*]", "init.as={encode/: x}"}, []string{"init", `no tensor begins with "encode/"`}},
		{[]string{"init.run=" + dir, "init.only=[latent/*]", "init.strict=false"}, []string{"init", "none of its", "is a parameter of the model"}},
		{[]string{"init.run=" + dir, "init.only=[encoder/*]", "init.content=abc"}, []string{"init.content", "has other parameters than this start", "want abc"}},
		{[]string{"init.run=" + dir, "init.only=['']"}, []string{"init.only.0", "the pattern is empty"}},
		{[]string{"freeze=[encoder/con7*]"}, []string{"freeze.0", `no parameter fits "encoder/con7*"`}},
		{[]string{"freeze=[encoder/*, encoder/*]"}, []string{"freeze.1", "twice"}},
		{[]string{"freeze=['*']"}, []string{"freeze", "all parameters that the losses depend on are frozen"}},
	} {
		settings, err := Load("started.yaml", []byte(started), c.overrides...)
		if err == nil {
			err = Check(settings)
		}
		var e *config.Error
		if !errors.As(err, &e) {
			t.Errorf("%v: error %v is not located", c.overrides, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %q lacks %q", c.overrides, err, want)
			}
		}
	}
	settings, err := Load("started.yaml", []byte(started+"init: {run: nowhere}\n"))
	if err == nil {
		err = Check(settings)
	}
	if err == nil || !strings.HasPrefix(err.Error(), "started.yaml:9:8: init.run: nowhere: there is no run") {
		t.Errorf("error %v has no place", err)
	}
	loose := startedConfig(t, "init.run="+dir, "init.strict=false", "model.encoder.encoder.conv64-norm.features=13")
	e := must.Get(NewExperiment(loose))(t)
	if !slices.Equal(e.Start.Misfits, []string{"encoder/conv6/weight ([128 12], want [128 13])", "encoder/conv6/bias ([12], want [13])"}) {
		t.Errorf("misfits %q", e.Start.Misfits)
	}
}

// A run with a start, stopped anywhere, even before its first step, resumes to the same bits without its source. It
// logs where its parameters came from.
func TestInitResumes(t *testing.T) {
	long.NotShort(t)
	dir, _ := trainSource(t, weights.Native)
	c := startedConfig(t, "init.run="+dir, "init.only=[encoder/*]", "freeze=[encoder/conv1/*, encoder/norm1/*]")
	root := t.TempDir()
	whole := filepath.Join(root, "whole")
	trainIn(t, whole, c, false)
	want := bits(t, whole)
	record, err := rundir.ReadRecord(whole)
	if err != nil || record.Start == nil || record.Start.From != dir || len(record.Start.Taken) != 27 {
		t.Fatalf("record %+v, %v", record, err)
	}
	for _, n := range long.Sample([]int{0, 1, 4}, 2) {
		at := filepath.Join(root, "stopped", string(rune('a'+n)))
		if _, err := Run(endAfter(n), c, Options{Dir: at}); !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		gone := dir + "-gone"
		must.OK(t, os.Rename(dir, gone))
		trainIn(t, at, c, true)
		must.OK(t, os.Rename(gone, dir))
		sameBits(t, "resumed without the source", bits(t, at), want)
		again, err := rundir.ReadRecord(at)
		if err != nil || !reflect.DeepEqual(again.Start, record.Start) {
			t.Errorf("stopped after %d looks: start %+v, want %+v; %v", n, again.Start, record.Start, err)
		}
	}
	killed := filepath.Join(root, "killed") // before it saved
	crash := engine.Hook{Name: "crash", OnStep: func(context.Context, *engine.Loop, *engine.StepReport) error { return errors.New("crash") }}
	if _, err := Run(context.Background(), c, Options{Dir: killed, Hooks: []engine.Hook{crash}}); err == nil {
		t.Fatal("the run did not crash")
	}
	must.OK(t, os.Rename(dir, dir+"-gone"))
	trainIn(t, killed, c, true)
	sameBits(t, "killed in the first step", bits(t, killed), want)
	must.OK(t, os.Rename(dir+"-gone", dir))
	stored := must.Get(ReadConfig(whole))(t)
	must.Equal(t, stored.Init.Content, record.Start.Content, "content")
	elsewhere := filepath.Join(t.TempDir(), "moved")
	must.OK(t, os.CopyFS(elsewhere, os.DirFS(dir)))
	trainIn(t, filepath.Join(root, "moved"),
		startedConfig(t, "init.run="+elsewhere, "init.only=[encoder/*]", "freeze=[encoder/conv1/*, encoder/norm1/*]"), false)
	sameBits(t, "from a copy", bits(t, filepath.Join(root, "moved")), want)
	hashesAgree(t, stored, c, elsewhere)
	must.ErrorOf(Run(context.Background(), startedConfig(t), Options{Dir: whole, Resume: true}))(t,
		"resumed with the config it was started with", "a run from a start resumed without")
	for _, other := range []string{"init.only=[encoder/conv*]", "init.run=nowhere"} {
		c := startedConfig(t, "init.run="+dir, "init.only=[encoder/*]", "freeze=[encoder/conv1/*, encoder/norm1/*]", other)
		must.ErrorOf(Run(context.Background(), c, Options{Dir: whole, Resume: true}))(t,
			"resumed with the config it was started with", "a run resumed with", other)
	}
	trainIn(t, whole, startedConfig(t, "init.run="+elsewhere, "init.only=[encoder/*]", "freeze=[encoder/conv1/*, encoder/norm1/*]"), true)
	opened, _, err := OpenExperiment(whole)
	if err != nil || opened.Start == nil {
		t.Errorf("opened: %v, start %v", err, opened.Start)
	}
}

// A start that loads all parameters also resumes without its source. An omitted setting does not change the start.
func TestInitOfAllResumes(t *testing.T) {
	long.NotShort(t)
	dir, _ := trainSource(t, weights.Native)
	c := must.Get(Load("source.yaml", []byte(source), "seed=3", "init.run="+dir))(t)
	at := filepath.Join(t.TempDir(), "run")
	if _, err := Run(endAfter(1), c, Options{Dir: at}); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	must.OK(t, os.RemoveAll(dir))
	trainIn(t, at, c, true)
}

// hashesAgree checks that the content of a start identifies a run, but its location does not.
func hashesAgree(t *testing.T, stored, c Config, elsewhere string) {
	t.Helper()
	hash := func(c Config) string {
		return must.Get(c.Hash())(t)
	}
	resolved := must.Get(c.Resolve())(t)
	moved := *c.Init
	moved.Run = elsewhere
	c.Init = &moved
	there := must.Get(c.Resolve())(t)
	if hash(stored) != hash(resolved) || hash(stored) != hash(there) {
		t.Errorf("hashes %s, %s and %s differ", hash(stored), hash(resolved), hash(there))
	}
	other := *there.Init
	other.Content = "other"
	there.Init = &other
	if hash(stored) == hash(there) {
		t.Error("another content has the same hash")
	}
}

// A folder with a config but no checkpoint, as made by sweeps, begins with the start.
func TestInitOfPreparedFolder(t *testing.T) {
	long.NotShort(t)
	dir, _ := trainSource(t, weights.Native)
	c := must.Get(startedConfig(t, "init.run="+dir, "init.only=[encoder/*]").Resolve())(t)
	root := t.TempDir()
	trainIn(t, filepath.Join(root, "whole"), c, false)
	text := must.Get(c.Encode())(t)
	prepared := filepath.Join(root, "prepared")
	must.Write(t, filepath.Join(prepared, rundir.Config), text)
	trainIn(t, prepared, c, true)
	sameBits(t, "prepared", bits(t, prepared), bits(t, filepath.Join(root, "whole")))
}

// The start and frozen parts belong to the staged model, not to the earlier stage. The earlier stage is not trained if
// the source is missing.
func TestInitOfStages(t *testing.T) {
	overrides := []string{"model.cofhae.hierarchy=mimosa",
		"supervision=none", "losses=[reconstruction, {assignment: {weight: 1}}]", "metrics=[h-error]"}
	dir := filepath.Join(t.TempDir(), "first")
	trainIn(t, dir, sticksConfig(t), false)
	c := sticksConfig(t, append(slices.Clone(overrides), "init.run="+dir, "init.only=[encoder/*]", "freeze=[encoder/*]")...)
	initial, err := c.initialConfig()
	if err != nil || initial.Init != nil || initial.Freeze != nil {
		t.Errorf("the stage before has a start: %+v, %v, %v", initial.Init, initial.Freeze, err)
	}
	c.Init.Run += "-gone"
	at := filepath.Join(t.TempDir(), "run")
	must.ErrorOf(Run(context.Background(), c, Options{Dir: at}))(t, "there is no run")
	if _, err := os.Stat(at + initialSuffix); err == nil {
		t.Error("the stage before was trained for a start that is missing")
	}
}
