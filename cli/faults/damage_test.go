package faults

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/safetensors"
)

const checkpoint = "checkpoint.safetensors"

// damages are ways to damage a file's content.
var damages = []struct {
	name   string
	damage func(content []byte) []byte
}{
	{"empty", func(b []byte) []byte { return nil }},
	{"7 bytes", func(b []byte) []byte { return b[:7] }},
	{"8 bytes", func(b []byte) []byte { return b[:8] }},
	{"cut in the header", func(b []byte) []byte { return b[:200] }},
	{"cut in the middle", func(b []byte) []byte { return b[:len(b)/2] }},
	{"one byte less", func(b []byte) []byte { return b[:len(b)-1] }},
	{"one byte more", func(b []byte) []byte { return append(b, 0) }},
	{"zeros", func(b []byte) []byte { clear(b); return b }},
	{"a page of zeros", func(b []byte) []byte { clear(b[len(b)/2 : len(b)/2+4096]); return b }},
	{"bit of the header's length", func(b []byte) []byte { return flip(b, 0) }},
	{"bit of the header's length, high", func(b []byte) []byte { return flip(b, 7) }},
	{"bit of the checksum", func(b []byte) []byte { return flip(b, 60) }},
	{"bit of the state", func(b []byte) []byte { return flip(b, strings.Index(string(b), "in_epoch")+12) }},
	{"bit of the noise", func(b []byte) []byte { return flip(b, strings.Index(string(b), `noise\":\"`)+15) }},
	{"bit of a shape", func(b []byte) []byte { return flip(b, strings.Index(string(b), `"shape":[`)+9) }},
	{"bit in the middle", func(b []byte) []byte { return flip(b, len(b)/2) }},
	{"last bit", func(b []byte) []byte { return flip(b, len(b)-1) }},
}

func flip(b []byte, i int) []byte {
	b[i] ^= 1
	return b
}

func damageFile(t *testing.T, path string, damage func([]byte) []byte) {
	t.Helper()
	before := must.Read(t, path)
	after := damage(slices.Clone(before))
	if string(before) == string(after) {
		t.Fatal("nothing was damaged")
	}
	must.Write(t, path, after)
}

// A damaged checkpoint is never used. The previous one is used with a warning, and training ends with the same result.
// If the previous one is damaged too, it is an error.
func TestDamagedCheckpoint(t *testing.T) {
	long.NotShort(t)
	t.Parallel()
	good := clitest.Finished(t)
	for _, d := range long.Sample(damages, 6) {
		t.Run(d.name, func(t *testing.T) {
			dir := clitest.Finished(t)
			newest := filepath.Join(dir, checkpoint)
			damageFile(t, newest, d.damage)
			o := clitest.Run(t, "eval", "--run", dir)
			if o.Code != 0 || !strings.HasPrefix(o.Log, "warning: checkpoint: "+newest+": ") ||
				!strings.Contains(o.Log, "using the checkpoint before it, of step 16\n") || strings.Count(o.Log, "\n") != 1 {
				t.Errorf("eval: %v", o)
			}
			both := clitest.Finished(t)
			damageFile(t, filepath.Join(both, checkpoint), d.damage)
			damageFile(t, filepath.Join(both, checkpoint+".prev"), d.damage)
			for _, args := range [][]string{{"eval"}, {"encode"}, {"train", "--resume"}} {
				clitest.Mistake(t, clitest.Run(t, append(args, "--run", both)...), 1,
					filepath.Join(both, checkpoint)+":", filepath.Join(both, checkpoint+".prev")+":", "the checkpoint before it")
			}
			o = clitest.Run(t, "train", "--resume", "--run", dir)
			if o.Code != 0 || strings.Count(o.Log, "warning: ") != 1 || !strings.Contains(o.Log, "continuing after step 16 (2 epochs)") {
				t.Errorf("train: %v", o)
			}
			clitest.SameRun(t, "continued from the checkpoint before", dir, good)
			clitest.OK(t, "eval", "--run", dir) // without a warning now
			if _, err := safetensors.ReadFile(newest + ".prev"); err != nil {
				t.Errorf("the damaged checkpoint was kept as the one before: %v", err)
			}
		})
	}
}

func TestMissingCheckpoint(t *testing.T) {
	good, dir := filepath.Join(t.TempDir(), "whole"), clitest.Finished(t)
	clitest.OK(t, "train", clitest.TinyFile(t), "--run", good)
	must.OK(t, os.Remove(filepath.Join(dir, checkpoint)))
	if o := clitest.Run(t, "eval", "--run", dir); o.Code != 0 || !strings.HasPrefix(o.Log, "warning: ") || !strings.Contains(o.Log, must.NoFile(t)) {
		t.Errorf("eval: %v", o)
	}
	must.OK(t, os.Remove(filepath.Join(dir, checkpoint+".prev")))
	for _, command := range []string{"eval", "encode"} {
		clitest.Mistake(t, clitest.Run(t, command, "--run", dir), 1, "there is no checkpoint in "+dir)
	}
	if o := clitest.Run(t, "train", "--resume", "--run", dir); o.Code != 0 ||
		!strings.Contains(o.Log, "there is no checkpoint yet: starting from the beginning") {
		t.Errorf("train: %v", o)
	}
	clitest.SameRun(t, "from the beginning", dir, good)
}

// Undamaged checkpoints of another run are errors.
func TestOtherCheckpoint(t *testing.T) {
	long.NotShort(t)
	config := clitest.TinyFile(t)
	for name, c := range map[string]struct {
		overrides []string
		words     []string
	}{
		"other width":  {[]string{"model.lsbd-vae.encoder.mlp.hidden=[17]"}, []string{"does not fit the config", "encoder/dense1", "[256 17]", "[256 16]"}},
		"other depth":  {[]string{"model.lsbd-vae.encoder.mlp.hidden=[16, 16]"}, []string{"does not fit the config"}},
		"other model":  {[]string{"model={vae: {latent: 3, encoder: {mlp: {hidden: [16]}}}}", "supervision=none", "losses=[reconstruction, kl]"}, []string{"does not fit the config"}},
		"other images": {[]string{"dataset.square.size=12", "supervision.pairs.count=10"}, []string{"does not fit the config"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, other := clitest.Finished(t), filepath.Join(t.TempDir(), "other")
			clitest.OK(t, append([]string{"train", config, "--run", other, "train.epochs=1"}, c.overrides...)...)
			must.Write(t, filepath.Join(dir, checkpoint), must.Read(t, filepath.Join(other, checkpoint)))
			for _, command := range []string{"eval", "encode"} {
				clitest.Mistake(t, clitest.Run(t, command, "--run", dir), 1, append(c.words, dir)...)
			}
			clitest.Mistake(t, clitest.Run(t, "train", "--resume", "--run", dir), 1, "does not fit the config", "the run began with", dir)
		})
	}
	for name, c := range map[string]struct{ state, word string }{
		"no state":      {"", "its state cannot be read"},
		"other version": {`{"version": 99}`, "it has version 99, want 1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := clitest.Finished(t)
			must.OK(t, os.Remove(filepath.Join(dir, checkpoint+".prev")))
			f := must.Get(safetensors.ReadFile(filepath.Join(dir, checkpoint)))(t)
			f.Metadata["unravel.state"] = c.state
			content := must.Get(safetensors.Encode(f))(t)
			must.Write(t, filepath.Join(dir, checkpoint), content)
			clitest.Mistake(t, clitest.Run(t, "eval", "--run", dir), 1, filepath.Join(dir, checkpoint), c.word)
			clitest.Mistake(t, clitest.Run(t, "train", "--resume", "--run", dir), 1, filepath.Join(dir, checkpoint), c.word)
		})
	}
}
