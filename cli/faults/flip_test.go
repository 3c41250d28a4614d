package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// A table of two runs, with its reference file.
const (
	twoRuns = `name: own
title: Two runs
source: nobody
reference: {file: own.csv, dataset: D}
scales: {quick: {seeds: 2}}
rows: [{label: r, from: {runs: {config: small.yaml}}}]
columns: [{label: c, metric: dlsbd}]
`
	twoRunsReference = "table,dataset,row,column,mean,std,note\nT,D,r,c,0.97,,\n"
)

// The check finds a flipped bit in any file of a run. No command silently uses a wrong number, and resuming the run
// restores the correct ones.
func TestFlippedFiles(t *testing.T) {
	long.NotShort(t)
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	t.Chdir(t.TempDir())
	must.Write(t, "small.yaml",
		strings.Replace(clitest.SweepExperiment, "figures: false", "figures: true, keep: {last: 3}, checkpoint: 0.000001", 1))

	must.Write(t, "own.yaml", twoRuns)
	must.Write(t, "own.csv", twoRunsReference)
	t.Setenv(clitest.AsProgram, "1")
	clitest.OK(t, "table", "own.yaml", "--scale", "quick", "--runs", "runs")
	const a, b = "runs/r_quick_seed0", "runs/r_quick_seed1"
	commands := []string{"runs runs --csv --filter state=finished",
		"compare " + a + " " + b, "table own.yaml --runs runs --no-run", "eval --run " + a + " --chance 0"}
	want := map[string]string{}
	for _, c := range commands {
		want[c] = clitest.OK(t, strings.Fields(c)...).Out
	}
	row := func(out string) string { // the run's row without times
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "r_quick_seed0,") {
				return line
			}
		}
		return ""
	}
	type place struct {
		name    string
		at, bit int
	}
	var places []place
	entries, err := filepath.Glob(a + "/*")
	more, err2 := filepath.Glob(a + "/figures/*")
	if err != nil || err2 != nil || len(entries) < 10 {
		t.Fatal(entries, err, err2)
	}
	for _, name := range append(entries, more...) {
		if info, err := os.Stat(name); err != nil || info.IsDir() || filepath.Base(name) == ".lock" {
			continue
		}
		text := must.Read(t, name)
		n := min(len(text), 16)
		for i := range n {
			places = append(places, place{name, i * (len(text) - 1) / max(n-1, 1), len(places) % 7})
		}
		for at, b := range text { // change digits
			if filepath.Base(name) == rundir.Config && b >= '0' && b <= '9' {
				places = append(places, place{name, at, 0})
			}
		}
	}
	t.Logf("%d bits", len(places))
	before := t.TempDir()
	copyTo(t, before)
	for _, p := range long.Sample(places, 2) {
		dir := t.TempDir()
		t.Chdir(before)
		copyTo(t, dir)
		t.Chdir(dir)
		text := must.Read(t, p.name)
		text[p.at] ^= 1 << p.bit
		must.Write(t, p.name, text)
		file := filepath.Base(p.name)
		if o := clitest.Run(t, "check", a); o.Code != 1 && file != "output.txt" || !strings.Contains(o.Out, file) && file != "output.txt" {
			t.Errorf("%s, byte %d: check: %v", p.name, p.at, o)
		}
		for _, c := range commands {
			o := clitest.Run(t, strings.Fields(c)...)
			got, wanted := o.Out, want[c]
			if strings.HasPrefix(c, "runs") {
				if got, wanted = row(got), row(wanted); got == "" {
					continue
				}
			}
			if got != wanted && o.Code == 0 && !strings.Contains(o.Log, "warning: ") {
				t.Errorf("%s, byte %d bit %d: %s: %v\nwant %s", p.name, p.at, p.bit, c, o, wanted)
			}
		}
		if o := clitest.Run(t, "train", "--run", a, "--resume"); o.Code != 0 {
			if file != rundir.Config { // the config may be invalid or describe another training now
				t.Errorf("%s, byte %d: resume: %v", p.name, p.at, o)
			}
			continue
		}
		if got := clitest.Run(t, strings.Fields(commands[2])...); file != rundir.Config && (got.Out != want[commands[2]] || got.Code != 0) { // with a changed config, it may be another run now
			t.Errorf("%s, byte %d: after resume: %v", p.name, p.at, got)
		}
		if o := clitest.Run(t, "check", a); o.Code != 0 {
			t.Errorf("%s, byte %d: after resume: %v", p.name, p.at, o)
		}
	}
}

// copyTo copies the current folder into an empty folder.
func copyTo(t *testing.T, dir string) {
	t.Helper()
	must.OK(t, os.CopyFS(dir, os.DirFS(".")))
}
