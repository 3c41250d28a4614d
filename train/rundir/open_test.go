//go:build unix

package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/must"
)

// A link or pipe in place of a run's file is an error and remains.
func TestForeign(t *testing.T) {
	for _, name := range []string{lockName, "log.jsonl", "state.json", "figures/loss.png"} {
		for kind, plant := range map[string]func(path, victim string) error{
			"link":      func(path, victim string) error { return os.Symlink(victim, path) },
			"hard link": func(path, victim string) error { return os.Link(victim, path) },
			"pipe":      func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				folder, dir := t.TempDir(), filepath.Join(t.TempDir(), "run")
				victim := filepath.Join(folder, "victim")
				must.OK(t, errors.Join(os.WriteFile(victim, []byte("precious"), 0o666), os.MkdirAll(dir, 0o777)))
				path := filepath.Join(dir, name)
				switch name {
				case "state.json": // its new version has this path
					path = filepath.Join(dir, "."+name+disk.TemporarySuffix)
				case "figures/loss.png":
					if kind != "link" {
						t.Skip("of folders there are links only")
					}
					path = filepath.Join(dir, "figures")
					victim = folder
				}
				if name == lockName {
					must.OK(t, plant(path, victim))
					if _, err := Create(dir); !errors.Is(err, disk.ErrForeign) {
						t.Errorf("error %v", err)
					}
				} else {
					r, err := Create(dir)
					must.OK(t, err)
					defer r.Close()
					must.OK(t, plant(path, victim))
					if name == "log.jsonl" {
						var l *Log
						if l, err = r.ResumeLog(name, 5); err == nil {
							err = l.Close()
						}
					} else {
						err = r.Write(name, text("new"))
					}
					// Temporary files and logs are created anew, because writing would change the other hard link.
					if err == nil && kind != "hard link" {
						t.Error("no error")
					}
				}
				entries, err := os.ReadDir(folder)
				if err != nil || len(entries) != 1 {
					t.Errorf("something was written beside the victim: %v, %v", entries, err)
				}
				if got, err := os.ReadFile(filepath.Join(folder, "victim")); err != nil || string(got) != "precious" {
					t.Errorf("the victim holds %q, %v", got, err)
				}
			})
		}
	}
}

// An error reports a moved or replaced folder, and nothing is written under its old name.
func TestMoved(t *testing.T) {
	for name, leave := range map[string]func(dir string) error{
		"moved":   func(dir string) error { return os.Rename(dir, dir+"2") },
		"deleted": os.RemoveAll,
		"another": func(dir string) error { return errors.Join(os.Rename(dir, dir+"2"), os.Mkdir(dir, 0o777)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			r := must.Get(Create(dir))(t)
			defer r.Close()
			must.OK(t, errors.Join(r.Present(), r.Write("a", text("1")), leave(dir)))
			_, resumed := r.ResumeLog("log.jsonl", 0)
			for i, err := range []error{r.Present(), r.Write("a", text("2")), r.WriteLast("figures/b", 2, text("2")),
				r.Remove("a"), r.RestoreVersion("a", 1), resumed} {
				if !errors.Is(err, errMoved) || !strings.Contains(err.Error(), dir) {
					t.Errorf("call %d: error %v", i, err)
				}
			}
			entries, err := os.ReadDir(dir)
			if name == "another" && (err != nil || len(entries) > 0) || name != "another" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("under the old name there is %v, %v", entries, err)
			}
		})
	}
}

func TestCheckName(t *testing.T) {
	for name, want := range map[string]bool{"a": true, "A-1.b_c": true, "": false, ".": false, "..": false, ".a": false,
		"a/b": false, `a\b`: false, "../../evil": false, "a b": false, "a\n": false} {
		if err := CheckName(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}
