//go:build unix

package faults

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// killedTable writes a table of six short runs, or of four in the default test.
func killedTable(t *testing.T) (file string, runs int) {
	t.Helper()
	seeds := 2
	if long.Enabled() {
		seeds = 3
	}
	folder := t.TempDir()
	text := strings.Replace(clitest.SweepExperiment, "epochs: 2,", "epochs: 150, checkpoint: 0.02,", 1)
	must.Write(t, filepath.Join(folder, "tiny.yaml"), text)
	file = filepath.Join(folder, "own.yaml")
	must.Write(t, file, fmt.Appendf(nil, `name: own
title: Runs that are killed
source: nobody
reference: {file: own.csv, dataset: D}
scales: {quick: {seeds: %d}}
rows:
  - {label: r, from: {runs: {config: tiny.yaml}}}
  - {label: s, from: {runs: {config: tiny.yaml, set: {losses.1.kl.weight: 2}}}}
columns: [{label: c, metric: dlsbd}, {label: d, metric: mig}]
boxes: {title: Runs, column: c, rows: [r, s]}
`, seeds))
	must.Write(t, filepath.Join(folder, "own.csv"),
		"table,dataset,row,column,mean,std,note\nT,D,r,c,0.97,,\nT,D,r,d,0.1,,\nT,D,s,c,0.97,,\nT,D,s,d,,,none\n")

	return file, 2 * seeds
}

// Two processes make a table at once, and both are killed at random moments. The table ends like after an uninterrupted
// run: equal files, and no repeated or lost run.
func TestTableKilled(t *testing.T) {
	long.NotShort(t)
	t.Parallel()
	file, runs := killedTable(t)
	base := t.TempDir()
	command := func(name string) []string {
		return []string{"table", file, "--runs", filepath.Join(base, name), "--out", filepath.Join(base, name+"-out"), "--jobs", "2"}
	}
	begun := time.Now()
	calm := clitest.Start(t, command("calm")...).End()
	if calm.Code != 0 {
		t.Fatal(calm)
	}
	takes := time.Since(begun)
	random := rand.New(rand.NewPCG(3, 9))
	ended := map[string][]byte{} // run.json of finished runs
	var last clitest.Outcome
	for rounds := 0; ; rounds++ {
		if rounds > 30 {
			t.Fatal("it makes no progress")
		}
		both := []*clitest.Process{clitest.Start(t, command("killed")...), clitest.Start(t, command("killed")...)}
		for _, p := range both {
			after := time.Duration((0.05 + 0.3*random.Float64()) * float64(1+rounds) / 3 * float64(takes)) // a busy machine may be slower than before
			time.AfterFunc(after, func() { _ = p.Process.Kill() })
		}
		for _, p := range both {
			if o := p.End(); o.Code == 0 {
				last = o
			} else if o.Code != -1 {
				t.Fatal(o)
			}
		}
		checkEnded(t, filepath.Join(base, "killed"), ended)
		if last.Out != "" {
			t.Logf("%d rounds", rounds)
			break
		}
	}
	must.Equal(t, last.Out, calm.Out, "shows")
	if names := folders(t, filepath.Join(base, "killed")); len(names) != runs || len(ended) != runs ||
		strings.Join(names, " ") != strings.Join(folders(t, filepath.Join(base, "calm")), " ") {
		t.Errorf("runs %v, of which %d are finished", names, len(ended))
	}
	for _, extension := range []string{".md", ".csv", ".tex", ".html", ".png"} {
		want := must.Read(t, filepath.Join(base, "calm-out", "own"+extension))
		if got := must.Read(t, filepath.Join(base, "killed-out", "own"+extension)); !bytes.Equal(got, want) {
			t.Errorf("own%s differs", extension)
		}
	}
}

// checkEnded wants unchanged results of finished runs, and records newly finished runs.
func checkEnded(t *testing.T, dir string, ended map[string][]byte) {
	t.Helper()
	for _, name := range folders(t, dir) {
		text, err := os.ReadFile(filepath.Join(dir, name, "run.json"))
		if before, ok := ended[name]; ok && !bytes.Equal(before, text) {
			t.Errorf("%s was finished, and was made again", name)
		}
		if err == nil {
			ended[name] = text
		}
	}
}

// folders lists the folders in a folder, or none if the folder is missing.
func folders(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// If a reference file is cut off at any byte, its table reports this before any run.
func TestTableDamagedReference(t *testing.T) {
	long.NotShort(t)
	file, _ := killedTable(t)
	reference := strings.TrimSuffix(file, ".yaml") + ".csv"
	whole, runs := must.Read(t, reference), filepath.Join(t.TempDir(), "runs")
	for n := range whole {
		must.Write(t, reference, whole[:n])
		o := clitest.Run(t, "table", file, "--runs", runs)
		if o.Code != 1 && o.Code != 2 || !strings.Contains(o.Log, "own.csv") || o.Out != "" || ui.Exists(runs) {
			t.Fatalf("cut off after %d bytes: %v", n, o)
		}
	}
}
