package cli_test

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/train"
)

// copyEarlier copies a run of an earlier version to the folder run in a temporary current folder.
func copyEarlier(t *testing.T, name string) {
	t.Helper()
	from := must.Get(filepath.Abs(filepath.Join("testdata/earlier", name)))(t)
	t.Chdir(t.TempDir())
	must.OK(t, os.CopyFS("run", os.DirFS(from)))
}

// sameCodes wants the codes of two files to differ only by rounding.
func sameCodes(t *testing.T, got, want string) {
	t.Helper()
	a := must.Get(npy.ReadFile[float32](got))(t)
	b := must.Get(npy.ReadFile[float32](want))(t)
	if !slices.EqualFunc(a.Data, b.Data, func(x, y float32) bool { return math.Abs(float64(x-y)) <= 1e-5 }) {
		t.Errorf("codes %v, want %v", a.Data, b.Data)
	}
}

// Runs of each earlier layout can be listed, encoded to the same codes, measured and trained further.
func TestEarlierRuns(t *testing.T) {
	for _, name := range long.Sample([]string{"2026-11-20", "2026-11-22", "2026-11-24", "2026-11-26"}, 2) {
		t.Run(name, func(t *testing.T) {
			copyEarlier(t, name)
			if o := clitest.OK(t, "runs", "run"); !strings.Contains(o.Out, "finished") {
				t.Errorf("runs: %v", o)
			}
			clitest.OK(t, "check", "run")
			clitest.OK(t, "encode", "--run", "run", "--out", "again.npy")
			sameCodes(t, "again.npy", "run/codes.npy")
			if o := clitest.OK(t, "eval", "--run", "run", "--json"); !strings.Contains(o.Out, `"mig":{"name":"mig","value":`) {
				t.Errorf("eval: %v", o)
			}
			o := clitest.OK(t, "train", "--run", "run", "--resume", "train.epochs=2")
			if !strings.Contains(o.Log, "finished 2 epochs (2 steps)") {
				t.Errorf("train: %v", o)
			}
		})
	}
}

// The error for a run with a removed key names the replacement, and the edited run opens.
func TestEarlierRunWithRemovedKey(t *testing.T) {
	copyEarlier(t, "2026-11-20-first")
	for _, args := range [][]string{{"eval", "--run", "run"}, {"encode", "--run", "run"},
		{"train", "--run", "run", "--resume"}, {"report", "--run", "run"}} {
		clitest.Mistake(t, clitest.Run(t, args...), ui.ExitUsage, "config.yaml:42:3: train.evaluate", "for evaluate: 0 delete the line")
	}
	config := must.Read(t, "run/config.yaml")
	must.Write(t, "run/config.yaml", bytes.Replace(config, []byte("  evaluate: 0\n"), nil, 1))
	clitest.OK(t, "encode", "--run", "run", "--out", "again.npy")
	sameCodes(t, "again.npy", "run/codes.npy")
	clitest.OK(t, "eval", "--run", "run", "--metrics", "mig")
}

// Resolved configs of earlier versions are valid configs.
func TestEarlierConfigs(t *testing.T) {
	names, err := fs.Glob(os.DirFS("testdata/earlier/configs"), "*.yaml")
	if err != nil || len(names) < 8 {
		t.Fatalf("%d configs, %v", len(names), err)
	}
	for _, name := range names {
		path := filepath.Join("testdata/earlier/configs", name)
		if _, err := train.LoadWhole(path, must.Read(t, path)); err != nil {
			t.Error(err)
		}
	}
}
