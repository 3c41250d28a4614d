package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/latent"
	"github.com/unravel-ml/unravel/train/engine"
)

// own lists the kinds and names of this program's parts, as in the output of `list`.
var own = map[string]string{"losses": "sparsity", "encoders": "residual", "layers": "mixed", "latents": "laplace",
	"models": "denoising", "metrics": "active-units",
	"datasets": "hand", "supervisions": "neighbours", "augmentations": "invert",
	"optimizers": "momentum", "schedules": "halving", "sources": "noisy"}

func TestMain(m *testing.M) {
	if err := register(); err != nil {
		log.Fatal(err)
	}
	if os.Getenv("OWNPARTS") != "" { // a process of a sweep also runs the test program as its command line
		cli.Main()
	}
	os.Exit(m.Run())
}

// TestParts tests this program's parts with the checks of Unravel's own parts.
func TestParts(t *testing.T) {
	conforms(t, losses.Registry, own["losses"], conformance.CheckLoss)
	conforms(t, nn.Encoders, own["encoders"], conformance.CheckEncoder)
	conforms(t, nn.Parts, own["layers"], conformance.CheckLayer)
	conforms(t, latent.Registry, own["latents"], conformance.CheckLatent)
	conforms(t, models.Registry, own["models"], conformance.CheckModel)
	conforms(t, metrics.Registry, own["metrics"], conformance.CheckMetric)
	conforms(t, catalog.Registry, own["datasets"], conformance.CheckDataset)
	conforms(t, supervision.Registry, own["supervisions"], conformance.CheckSupervision)
	conforms(t, augment.Registry, own["augmentations"], conformance.CheckAugmentation)
	conforms(t, engine.Optimizers, own["optimizers"], conformance.CheckOptimizer)
	conforms(t, engine.Schedules, own["schedules"], conformance.CheckSchedule)
}

func conforms[T any](t *testing.T, all *registry.Registry[T], name string, check func(registry.Entry[T]) error) {
	t.Helper()
	e, err := all.Lookup(name)
	if err == nil {
		err = check(e)
	}
	if err != nil {
		t.Errorf("%s %s: %v", all.Kind, name, err)
	}
}

// run runs a command line of this program in a folder.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Dir, c.Env = dir, append(os.Environ(), "OWNPARTS=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) != 6 {
		t.Fatal(files, err)
	}
	files = append(files, "table.csv")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	schema := run(t, dir, "list", "schema") + run(t, dir, "list", "schema", "table")
	for kind, name := range own {
		if !strings.Contains(schema, fmt.Sprintf("%q: {", name)) {
			t.Errorf("the schemas do not have %s of the %s", name, kind)
		}
		if out := run(t, dir, "list", kind); !strings.Contains(out, name) {
			t.Errorf("list %s does not have %s:\n%s", kind, name, out)
		}
	}
	for _, name := range []string{"denoising", "turning", "views", "descending"} {
		run(t, dir, "train", name+".yaml", "--run", name, "train.epochs=3")
		if out := run(t, dir, "eval", "--run", name, "--metrics", "active-units"); !strings.Contains(out, "active-units") {
			t.Errorf("%s: eval says %s", name, out)
		}
	}
	if out := run(t, dir, "table", "table.yaml"); !strings.Contains(out, "2 of 2 printed cells reproduced") {
		t.Errorf("table says %s", out)
	}
	run(t, dir, "sweep", "sweep.yaml")
	if out := run(t, dir, "runs", filepath.Join("runs", "noise")); strings.Count(out, "finished") < 6 {
		t.Errorf("the sweep has %s", out)
	}
}
