package train

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/internal/hints"
)

// writeConfigs writes files into a new folder and returns the folder.
func writeConfigs(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	must.WriteAll(t, dir, files)
	return dir
}

// loadFile loads a config of a folder.
func loadFile(dir, name string, overrides ...string) (Config, error) {
	file := filepath.Join(dir, name)
	source, err := config.ReadFile(file)
	if err != nil {
		return Config{}, err
	}
	return Load(file, source, overrides...)
}

// TestBase compares a config with a base with the base and equal overrides.
func TestBase(t *testing.T) {
	quickstart := must.Get(configs.Read(configs.Quickstart))(t)
	for _, c := range []struct {
		name, child string
		arguments   []string
		overrides   []string // overrides of quickstart with the same result
	}{
		{"nothing else", "base: quickstart\n", nil, nil},
		{"mappings merge", "base: quickstart\ntrain: {epochs: 2}\ndataset: {square: {side: 8}}\n", nil, []string{"train.epochs=2", "dataset.square.side=8"}},
		{"an entry of another name replaces", "base: quickstart\ndataset: {arrow: {size: 32}}\n", nil, []string{"dataset={arrow: {size: 32}}"}},
		{"a bare name replaces", "base: quickstart\ndataset: square\n", nil, []string{"dataset=square"}},
		{"a choice within a choice", "base: quickstart\nmodel: {lsbd-vae: {encoder: {mlp: {hidden: [8]}}}}\n", nil, []string{"model.lsbd-vae.encoder={mlp: {hidden: [8]}}"}},
		{"lists replace", "base: quickstart\nlosses: [reconstruction, kl]\n", nil, []string{"losses=[reconstruction, kl]"}},
		{"a number replaces a ramp", "base: middle.yaml\nlosses: [reconstruction, {kl: {weight: 2}}]\n", nil, []string{"name=middle", "train.epochs=7", "losses=[reconstruction, {kl: {weight: 2}}]"}},
		{"set", "base: quickstart\nset: {losses.2.lsbd.weight: 10, losses.+: {kl: {weight: 3}}}\n", nil, []string{"losses.2.lsbd.weight=10", "losses.+={kl: {weight: 3}}"}},
		{"set after keys", "base: quickstart\nset: {losses.1.kl.weight: 3}\nlosses: [reconstruction, kl]\n", nil, []string{"losses=[reconstruction, kl]", "losses.1.kl.weight=3"}},
		{"three levels", "base: middle.yaml\nname: third\n", nil, []string{"name=third", "train.epochs=7", "losses.1.kl.weight={from: 0, to: 1, steps: 9}"}},
		{"folders", "base: sub/deep.yaml\n", nil, []string{"name=middle", "train.epochs=7", "losses.1.kl.weight={from: 0, to: 1, steps: 9}", "seed=5"}},
		{"arguments last", "base: quickstart\nset: {seed: 3}\n", []string{"seed=4"}, []string{"seed=4"}},
		{"keys of the short list of metrics", "base: quickstart\nmetrics: {every: 2}\n", nil, []string{"metrics.every=2"}},
		{"a list of metrics keeps the other keys", "base: measured.yaml\nmetrics: [mig]\n", nil, []string{"metrics.every=2", "metrics.final=[mig]"}},
		{"null", "base: stopping.yaml\ntrain: {stop: null}\n", nil, nil},
		{"the twin of a public data set", "base: quickstart\ndataset: {sprites: {size: 32}}\n", []string{"dataset=dsprites"}, []string{"dataset={sprites: {size: 32}}", "dataset=dsprites"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeConfigs(t, map[string]string{
				"child.yaml":    c.child,
				"middle.yaml":   "base: quickstart\nname: middle\ntrain: {epochs: 7}\nset: {losses.1.kl.weight: {from: 0, to: 1, steps: 9}}\n",
				"sub/deep.yaml": "base: ../middle.yaml\nseed: 5\n",
				"measured.yaml": "base: quickstart\nmetrics: {every: 2}\n",
				"stopping.yaml": "base: quickstart\ntrain: {stop: {loss: loss, patience: 3}}\n",
			})
			got := must.Get(loadFile(dir, "child.yaml", c.arguments...))(t)
			want := must.Get(Load("quickstart.yaml", quickstart, c.overrides...))(t)
			a, errA := got.Encode()
			b, errB := want.Encode()
			if errA != nil || errB != nil || string(a) != string(b) {
				t.Errorf("got\n%s\nwant\n%s (%v, %v)", a, b, errA, errB)
			}
		})
	}
}

// TestBaseErrors checks that every mistake names its own file, line and column.
func TestBaseErrors(t *testing.T) {
	files := map[string]string{
		"cycle1.yaml": "name: a\nbase: cycle2.yaml\n", "cycle2.yaml": "base: sub/cycle3.yaml\n", "sub/cycle3.yaml": "base: ../cycle1.yaml\n",
		"own.yaml": "base: own.yaml\n", "wrong.yaml": "base: quickstart\ntrain:\n  epoch: 3\n", "broken.yaml": "base: quickstart\nname: [\n",
	}
	for _, c := range []struct{ child, want string }{
		{"base: cycle1.yaml\n", "DIR/sub/cycle3.yaml:1:7: base: configs that build on each other: DIR/cycle1.yaml -> DIR/cycle2.yaml -> DIR/sub/cycle3.yaml -> DIR/cycle1.yaml; want a base that does not lead back here"},
		{"base: own.yaml\n", "DIR/own.yaml:1:7: base: configs that build on each other: DIR/own.yaml -> DIR/own.yaml; want a base that does not lead back here"},
		{"base: wrong.yaml\n", `DIR/wrong.yaml:3:3: train.epoch: unknown key "epoch"; did you mean "epochs"?`},
		{"base: broken.yaml\n", "DIR/broken.yaml:2:7: this bracket is not closed; want a ]; line 2 is \"name: [\""},
		{"base: wrong.yaml\nseed: x\n", "DIR/child.yaml:2:7: seed: want an integer, got the text \"x\"\nDIR/wrong.yaml:3:3: train.epoch: unknown key \"epoch\"; did you mean \"epochs\"?"},
		{"base: quickstart\ndataset: {square: {sid: 8}}\n", `DIR/child.yaml:2:20: dataset.square.sid: unknown key "sid"; did you mean "side"?`},
		{"base: quickstart\nset: {train.epoch: 8}\n", `DIR/child.yaml:2:7: train.epoch: unknown key "epoch"; did you mean "epochs"?`},
		{"base: quickstart\nset: {losses.5.kl: {}}\n", `DIR/child.yaml:2:7: losses.5: losses is a list; want an index from 0 to 2, or + to add to it, got "5"`},
		{"base: quickstart\nset: [a]\n", "DIR/child.yaml:2:6: set: want a mapping, {key.path: value}"},
		{"base: quikstart\n", `DIR/child.yaml:1:7: base: there is neither a file nor an experiment "quikstart"; did you mean "quickstart"?`},
		{"base: quickstart.yaml\n", "DIR/child.yaml:1:7: base: there is no file quickstart.yaml; did you mean the experiment quickstart?"},
		{"base: wrnog.yaml\n", `DIR/child.yaml:1:7: base: there is no file wrnog.yaml; did you mean "wrong.yaml"?`},
		{"base: [quickstart]\n", "DIR/child.yaml:1:7: base: want a text, got a list"},
		{"base: \"\"\n", "DIR/child.yaml:1:7: base: there is no name; want a .yaml file, or a name of unravel list configs"},
		{"train: {base: quickstart}\n", "DIR/child.yaml:1:9: train.base: unknown key \"base\"; " + hints.Key("base")},
		{"base: quickstart\ntrain.epochs: 3\n", `DIR/child.yaml:2:1: "train.epochs": unknown key "train.epochs"; a path of keys stands under set, in a config with a base: set: {train.epochs: ...}`},
		{"base: quickstart\nseeds: [1, 2]\n", "DIR/child.yaml:2:1: seeds: unknown key \"seeds\"; " + hints.Key("seeds")},
	} {
		dir := writeConfigs(t, files)
		must.Write(t, filepath.Join(dir, "child.yaml"), c.child)
		_, err := loadFile(dir, "child.yaml")
		must.Equal(t, filepath.ToSlash(strings.ReplaceAll(fmt.Sprint(err), dir, "DIR")), c.want, c.child, "gives")
	}
}

// TestBaseDepth checks the limit of a chain of bases.
func TestBaseDepth(t *testing.T) {
	files := map[string]string{"0.yaml": "base: quickstart\n"}
	for i := 1; i < 40; i++ {
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("base: %d.yaml\n", i-1)
	}
	dir := writeConfigs(t, files)
	if _, err := loadFile(dir, "30.yaml"); err != nil {
		t.Error(err)
	}
	must.ErrorOf(loadFile(dir, "39.yaml"))(t, "33 configs that build on each other; want at most 32")
}

// TestRunHasNoBase checks that the config of a run reads no other file.
func TestRunHasNoBase(t *testing.T) {
	must.ErrorOf(LoadRun("run", []byte("base: quickstart\n")))(t, `base: unknown key "base"`)
}
