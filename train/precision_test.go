package train

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// needsMixed skips a test if the processor cannot train in mixed precision.
func needsMixed(t *testing.T) {
	t.Helper()
	if err := kernel.Mixed(); err != nil {
		t.Skip(err)
	}
}

// mixedOptions give the tiny experiment convolutions, a discriminator and mixed precision.
var mixedOptions = []string{"train.precision=mixed", "model.lsbd-vae.encoder=conv64",
	"dataset.square={size: 32, side: 8, step: 4}", "train.batch=8", "train.epochs=2", "train.epoch_steps=3",
	"losses=[reconstruction, kl, lsbd, {tc: {estimator: adversarial, discriminator: {hidden: [8]}}}]", "metrics=[]"}

// A run in mixed precision, stopped and resumed on other numbers of threads, ends with the bits of an uninterrupted
// run.
func TestMixedResumes(t *testing.T) {
	long.NotShort(t)
	needsMixed(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir := t.TempDir()
	whole, single := filepath.Join(dir, "whole"), filepath.Join(dir, "single")
	trainIn(t, whole, load(t, mixedOptions...), false)
	trainIn(t, single, load(t, append(mixedOptions, "train.precision=float32")...), false)
	want := bits(t, whole)
	other, changed := bits(t, single), 0
	for name := range want {
		if strings.HasSuffix(name, "/weight") && other[name] != want[name] {
			changed++
		}
	}
	if changed == 0 {
		t.Errorf("all weights are those of float32")
	}
	for _, threads := range []int{2, 16} {
		at := filepath.Join(dir, fmt.Sprint(threads))
		runtime.GOMAXPROCS(threads)
		if _, err := Run(endAfter(2), load(t, mixedOptions...), Options{Dir: at}); err == nil {
			t.Fatal("the run was not stopped")
		}
		runtime.GOMAXPROCS(18 - threads)
		trainIn(t, at, load(t, mixedOptions...), true)
		sameBits(t, at, bits(t, at), want)
	}
	must.ErrorOf(Run(context.Background(), load(t, append(mixedOptions, "train.precision=float32")...),
		Options{Dir: whole, Resume: true}))(t, "train.precision: the run began with mixed, now float32", "resumed in another precision")
}

// Every model takes steps in mixed precision.
func TestEveryModelInMixed(t *testing.T) {
	needsMixed(t)
	hierarchy := matrixHierarchy(t)
	for model, m := range everyModel {
		loss, _, _ := strings.Cut(m.loss, ":")
		t.Run(model, func(t *testing.T) { tryLoss(t, loss, m.loss, model, hierarchy, "mixed", "") })
	}
}

// TestPrecisionKey checks that configs without the key have the hashes from before the key existed.
func TestPrecisionKey(t *testing.T) {
	hash := func(overrides ...string) string {
		c := load(t, overrides...)
		text := must.Get(c.Encode())(t)
		must.Equal(t, strings.Contains(string(text), "precision: mixed"),
			len(overrides) > 0 && overrides[0] == "train.precision=mixed", overrides, "the config names its precision")
		return must.Get(c.Hash())(t)
	}
	plain, single, mixed := hash(), hash("train.precision=float32"), hash("train.precision=mixed")
	if plain != single || plain == mixed {
		t.Errorf("hashes %s, of float32 %s, of mixed %s", plain, single, mixed)
	}
	_, err := Load("tiny.yaml", []byte(tiny), "train.precision=half")
	must.Error(t, err, `unknown precision "half"; want float32 or mixed`)
}

const refusedVariable = "UNRAVEL_TEST_MIXED_REFUSED"

// TestMixedRefused runs itself with kernels without mixed precision. Every command that would train fails at once.
func TestMixedRefused(t *testing.T) {
	if os.Getenv(refusedVariable) == "" {
		for _, set := range []string{"go", "avx2"} {
			command := exec.Command(os.Args[0], "-test.run=^TestMixedRefused$")
			command.Env = append(os.Environ(), refusedVariable+"=1", "UNRAVEL_KERNEL="+set)
			if out, err := command.CombinedOutput(); err != nil && !strings.Contains(string(out), "this processor only has") {
				t.Errorf("%s: %v\n%s", set, err, out)
			}
		}
		return
	}
	if _, err := kernel.InstructionSet(); err != nil {
		t.Skip(err)
	}
	c := load(t, "train.precision=mixed")
	dir := filepath.Join(t.TempDir(), "run")
	_, ran := Run(t.Context(), c, Options{Dir: dir})
	_, planned := Planned(t.Context(), c)
	_, rates := FindRate(t.Context(), c, NewRateTest())
	for name, err := range map[string]error{"Run": ran, "Planned": planned, "Check": Check(c), "FindRate": rates} {
		must.Error(t, err, "train.precision", name)
		must.Error(t, err, "AVX512_BF16", name)
		must.Error(t, err, "; want float32", name)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("the refused run has a folder")
	}
	if _, err := NewExperiment(c); err != nil {
		t.Errorf("a run of another machine cannot be opened: %v", err)
	}
}
