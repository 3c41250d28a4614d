//go:build unix

package faults

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// No command writes through links in a run's folder.
func TestPlantedLinks(t *testing.T) {
	long.NotShort(t)
	t.Parallel()
	config := clitest.TinyFile(t)
	for _, name := range []string{".lock", "log.jsonl", "events", ".state.json.unravel-tmp", "figures", "output.txt"} {
		t.Run(name, func(t *testing.T) {
			dir, outside := clitest.Finished(t), t.TempDir()
			victim := filepath.Join(outside, "victim")
			must.Write(t, victim, "precious")
			target := victim
			switch name {
			case "events":
				found, err := filepath.Glob(filepath.Join(dir, "events.*"))
				if err != nil || len(found) != 1 {
					t.Fatal(found, err)
				}
				name = filepath.Base(found[0])
			case "figures":
				target = outside
			}
			path := filepath.Join(dir, name)
			must.OK(t, errors.Join(os.RemoveAll(path), os.Symlink(target, path)))
			o := clitest.Run(t, "train", config, "train.figures=true", "train.epochs=4", "--resume", "--run", dir)
			if name != "output.txt" { // output.txt belongs to sweeps
				clitest.Mistake(t, clitest.Outcome{Code: o.Code, Out: o.Out, Log: o.Log[strings.LastIndex(o.Log, "unravel: "):]}, 1, path, "link", "remove it")
			} else {
				plan := filepath.Join(filepath.Dir(dir), "plan.yaml")
				must.Write(t, plan, "name: x\nbase: "+config+"\nset: {train.epochs: 5}\n")
				if o := clitest.Start(t, "sweep", plan, "--out", filepath.Dir(dir)).End(); o.Code != 0 {
					t.Fatal(o)
				}
				again := filepath.Join(filepath.Dir(dir), "tiny")
				must.OK(t, errors.Join(os.Remove(filepath.Join(again, "output.txt")), os.Remove(filepath.Join(again, "run.json")),
					os.Symlink(victim, filepath.Join(again, "output.txt"))))
				if o := clitest.Start(t, "sweep", plan, "--out", filepath.Dir(dir)).End(); o.Code != 1 || !strings.Contains(o.Log, "output.txt is a link") {
					t.Error(o)
				}
			}
			if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 || string(must.Read(t, victim)) != "precious" {
				t.Errorf("written outside: %v, %v", entries, err)
			}
		})
	}
}

// Moving or deleting a folder during training ends the run with an error.
func TestFolderLeaves(t *testing.T) {
	long.NotShort(t)
	for name, leave := range map[string]func(dir string) error{
		"moved":   func(dir string) error { return os.Rename(dir, dir+"-moved") },
		"deleted": os.RemoveAll,
	} {
		for _, checkpoint := range []string{"0", "0.02"} { // also by runs that save only at the end
			t.Run(name+" "+checkpoint, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "run")
				p := clitest.Start(t, append([]string{"train", "--run", dir}, append(busy(t, 100000), "train.checkpoint="+checkpoint)...)...)
				if !logged(p, dir, 5) || checkpoint != "0" && !p.Until(func() bool { return ui.Exists(filepath.Join(dir, "checkpoint.safetensors")) }) {
					t.Fatal(p.End())
				}
				for try := 0; ; try++ { // a file may appear while the folder is emptied
					err := leave(dir)
					if err == nil {
						break
					}
					if try == 100 {
						t.Fatal(err)
					}
				}
				o := p.End()
				if o.Code != 1 || !strings.Contains(o.Log,
					dir+": the run's folder was moved or deleted while the run was open; continue it with --resume where it is now") {
					t.Error(o)
				}
				clitest.NoTrace(t, o)
				if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("there is something under the old name: %v", err)
				}
				if moved := dir + "-moved"; name == "moved" && checkpoint != "0" {
					clitest.OK(t, "eval", "--run", moved)
				}
			})
		}
	}
}
