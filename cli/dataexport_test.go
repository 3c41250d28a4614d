package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/export"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestDataExport(t *testing.T) {
	t.Chdir(t.TempDir())
	o := clitest.OK(t, "data", "export", "square", "size=16", "side=4", "--out", "here/square")
	want := `dataset: {grid: {path: "here/square", channels: last, rows: first, names: ["row", "column"], kinds: ["circular", "circular"]}}` + "\n"
	if o.Out != want || !strings.Contains(o.Log, "256 images of 16 x 16 x 1, uint8, in here/square\n") {
		t.Errorf("%v, want %s", o, want)
	}
	for _, name := range []string{"images.npy", "factors.npy", "levels.npy", "sizes.npy", "set.json"} {
		if info, err := os.Stat(filepath.Join("here/square", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text := string(must.Read(t, "here/square/README.md")); !strings.Contains(text, "256 images of 16 x 16 pixels and 1 channel, ") {
		t.Errorf("README:\n%s", text)
	}

	// omissions and guesses of a data set
	clitest.WriteNPZ(t, "x.npz", map[string][][]float64{"x": {{0, 1, 0}, {1, 0, 0}}})
	o = clitest.OK(t, "data", "export", "grid", "path=x.npz", "--out=plain")
	if want := "grid: x.npz: its only array, x, is read as images without factors\n"; !strings.Contains(o.Log, want) {
		t.Errorf("%v, want %q", o, want)
	}

	var set export.Set
	o = clitest.OK(t, "data", "export", "spaceshapes", "samples=20", "--seed=2", "--out=shapes", "--json")
	clitest.JSON(t, o.Out, &set)
	if set.Shape != [4]int{20, 64, 64, 1} || set.Seed != 2 || len(set.Lost) == 0 || !strings.Contains(o.Log, "note: "+set.Lost[0]) {
		t.Errorf("%+v\n%v", set, o)
	}

	for want, args := range map[string][]string{
		"--shard 0 is out of range":         {"square", "--out=a", "--shard=0"},
		`"x" is not an option`:              {"square", "x", "--out=a"},
		"missing flags: --out":              {"square"},
		"dataset.square.side: 90 is":        {"square", "side=90", "--out=a"},
		`did you mean "square"?`:            {"sqare", "--out=a"},
		"set.json is a file; want a folder": {"square", "--out=here/square/set.json/b"},
	} {
		if o := clitest.Run(t, append([]string{"data", "export"}, args...)...); o.Code == 0 || !strings.Contains(o.Log, want) {
			t.Errorf("%q: %v, want %q", args, o, want)
		}
	}
}

// Arrays of other origin remain.
func TestDataExportKeeps(t *testing.T) {
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "images.npy"), "mine")
	clitest.Mistake(t, clitest.Run(t, "data", "export", "square", "size=16", "side=4", "--out", dir), 1, "no export has written this array")
}
