package cli_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

const spritesFile = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"

// smallSprites returns a small file in the format of dSprites.
func smallSprites(t *testing.T) []byte {
	return must.Read(t, filepath.Join("..", "datasets", "public", "testdata", "dsprites", spritesFile))
}

// ownData sets a temporary folder for data sets.
func ownData(t *testing.T) string {
	t.Helper()
	root := must.MappedDir(t)
	t.Setenv(cache.RootVariable, root)
	return root
}

// serveSprites serves the small file with a correct server.
func serveSprites(t *testing.T) *httptest.Server {
	t.Helper()
	content := smallSprites(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, spritesFile, time.Unix(1_600_000_000, 0), bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	return s
}

// words collapses the blanks in a text.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// A public set is fetched, converted, listed, checked and shown, and used for training.
func TestDataFetch(t *testing.T) {
	long.NotShort(t)
	root, s := ownData(t), serveSprites(t)
	if o := clitest.OK(t, "data", "list"); !strings.Contains(words(o.Out), "dsprites not here") || !strings.Contains(o.Out, root) {
		t.Error(o)
	}
	o := clitest.OK(t, "data", "fetch", "dsprites", "--from", s.URL+"/")
	for _, w := range []string{"384 images of 64x64x1", "Apache 2.0", "Matthey"} {
		if !strings.Contains(o.Out, w) {
			t.Errorf("%v; want %q", o, w)
		}
	}
	if !strings.Contains(o.Log, "SHA-256 2011bbcdcb4f085e2ec48d0d95bae7f2a5d87e8929a706fdbcf47f46e0c2a630; no published hash") {
		t.Error(o)
	}
	s.Close() // from now on, all files are local
	if o := clitest.OK(t, "data", "fetch", "dsprites"); !strings.Contains(o.Out, "dsprites is here already") {
		t.Error(o)
	}
	if o := clitest.OK(t, "data", "list"); !strings.Contains(words(o.Out),
		"dsprites here: 1.51 MiB converted, 12.9 KiB of downloads") || !strings.Contains(words(o.Out), "cars3d not here: download of") {
		t.Error(o)
	}
	if o := clitest.OK(t, "data", "check"); strings.Count(o.Out, "whole\n") != 2 {
		t.Error(o)
	}
	if err := os.RemoveAll(filepath.Join(root, "downloads")); err != nil { // they are no longer needed
		t.Fatal(err)
	}
	for _, args := range []string{"data fetch dsprites", "data fetch dsprites variant=noise", "data check dsprites"} {
		clitest.OK(t, strings.Fields(args)...)
	}
	t.Chdir(t.TempDir())
	clitest.OK(t, "data", "show", "dsprites", "variant=color")
	dir := filepath.Join(t.TempDir(), "run")
	for _, variant := range []string{"", " dataset.dsprites.variant=noise"} {
		args := strings.Fields("train encoder/sprites dataset=dsprites train.epochs=1 train.epoch_steps=2 train.batch=16 train.figures=false metrics=[] --run " + dir + variant)
		clitest.OK(t, args...)
		must.OK(t, os.RemoveAll(dir))
	}
}

// --data sets the folder for one command.
func TestDataFolder(t *testing.T) {
	root, other, s := ownData(t), must.MappedDir(t), serveSprites(t)
	clitest.OK(t, "data", "fetch", "dsprites", "--from", s.URL+"/", "--data", other)
	if o := clitest.OK(t, "data", "list", "--data", other); !strings.Contains(words(o.Out), "dsprites here") {
		t.Error(o)
	}
	if o := clitest.OK(t, "data", "list"); !strings.Contains(words(o.Out), "dsprites not here") || os.Getenv(cache.RootVariable) != root {
		t.Error(o)
	}
}

// Errors about mistakes and missing files are one line with a remedy.
func TestDataMistakes(t *testing.T) {
	root, s := ownData(t), serveSprites(t)
	t.Chdir(t.TempDir())
	s.Close()
	clitest.Mistake(t, clitest.Run(t, "data", "fetch", "square"), 2, "no published files", "dsprites")
	clitest.Mistake(t, clitest.Run(t, "data", "fetch", "dsprite"), 2, `did you mean "dsprites"`)
	clitest.Mistake(t, clitest.Run(t, "data", "fetch", "dsprites", "variant=pink"), 2, "want plain, color, noise, scream")
	clitest.Mistake(t, clitest.Run(t, "data", "fetch", "dsprites", "--file", "x"), 2, "no such file", spritesFile)
	clitest.Mistake(t, clitest.Run(t, "data", "fetch", "dsprites", "--from", s.URL+"/"), 1, "cannot be reached",
		spritesFile, "https://github.com/", filepath.Join(root, "downloads", "dsprites"))
	clitest.Mistake(t, clitest.Run(t, "data", "fetch", "dsprites", "--from", "none.npz"), 1, "none.npz")
	for _, args := range []string{"data show dsprites", "train encoder/sprites dataset=dsprites --run run"} {
		clitest.Mistake(t, clitest.Run(t, strings.Fields(args)...), 1, "unravel data fetch dsprites",
			spritesFile, "https://github.com/", filepath.Join(root, "downloads", "dsprites"))
	}
	clitest.Mistake(t, clitest.Run(t, "data", "check", "dsprites"), 1, "unravel data fetch dsprites")
	must.Write(t, "rows.npz", "not a file")
	if o := clitest.Run(t, "data", "fetch", "dsprites", "--from", "rows.npz"); o.Code != 1 || !strings.Contains(o.Log, "not a .npz file") {
		t.Error(o)
	}
}

// The error about a broken set gives the repair. If its file exists, the set is repaired at once.
func TestDataBroken(t *testing.T) {
	root, s := ownData(t), serveSprites(t)
	t.Chdir(t.TempDir())
	clitest.OK(t, "data", "fetch", "dsprites", "--from", s.URL+"/")
	images := filepath.Join(root, "sets", "dsprites", "images.npy")
	whole := must.Read(t, images)
	for _, c := range []struct {
		broken []byte
		want   string
	}{
		{whole[:1000], "dsprites broken: "},
		{append(append([]byte{}, whole[:len(whole)-1]...), 7), "dsprites modified since the conversion; want `unravel data check dsprites`"},
	} {
		overwrite(t, images, c.broken)
		must.OK(t, os.Chtimes(images, time.Time{}, time.Unix(1_700_000_000, 0)))
		if o := clitest.OK(t, "data", "list"); !strings.Contains(words(o.Out), c.want) {
			t.Error(o)
		}
		if o := clitest.Run(t, "data", "check", "dsprites"); o.Code != 1 || !strings.Contains(o.Out, images) ||
			!strings.Contains(o.Out, "unravel data fetch dsprites") {
			t.Error(o)
		}
		clitest.OK(t, "data", "show", "dsprites")
		if !bytes.Equal(must.Read(t, images), whole) {
			t.Error("it was not made again")
		}
	}
	overwrite(t, images, whole[:1000])
	file := filepath.Join(root, "downloads", "dsprites", spritesFile)
	must.Write(t, file, must.Read(t, file)[:5000])
	if o := clitest.Run(t, "data", "check"); o.Code != 1 || strings.Count(o.Out, "unravel data fetch dsprites") != 2 {
		t.Error(o)
	}
	must.OK(t, os.Remove(file))
	clitest.Mistake(t, clitest.Run(t, "data", "show", "dsprites"), 1, images, "it has 1000 bytes", "unravel data fetch dsprites")
}

// overwrite damages a file that may be mapped into memory. Windows keeps mapped files.
func overwrite(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o666); runtime.GOOS == "windows" && err != nil {
		t.Skip(err)
	} else {
		must.OK(t, err)
	}
}

// The list of converted sets includes a user's pictures with their unknown parts. Broken sets are converted again.
func TestDataOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.WritePhotos(t)
	labels := string(must.Read(t, "labels.csv"))
	must.Write(t, "labels.csv", strings.Replace(labels, "7.png,2,0", "7.png,,0", 1))
	show := []string{"data", "show", "folder", "path=photos", "labels=labels.csv"}
	if o := clitest.OK(t, show...); !strings.Contains(o.Log, "brightness: 5 levels, ordinal, unknown of 1 image\n  half: 2 levels, ordinal\n") {
		t.Error(o)
	}
	_, own, _ := strings.Cut(clitest.OK(t, "data", "list").Out, "other converted sets in ")
	if !strings.Contains(own, "folder-") || !strings.Contains(own, "480 KiB") {
		t.Errorf("list: %q", own)
	}
	sets, err := filepath.Glob(filepath.Join(cache.Root(), "sets", "folder-*", cache.ImagesFile))
	if err != nil || len(sets) != 1 {
		t.Fatal(sets, err)
	}
	whole := must.Read(t, sets[0])
	overwrite(t, sets[0], whole[:1000])
	if o := clitest.Run(t, "data", "check"); o.Code != 1 || !strings.Contains(o.Out, sets[0]) || !strings.Contains(o.Out, "makes it again") {
		t.Error(o)
	}
	clitest.OK(t, show...)
	if !bytes.Equal(must.Read(t, sets[0]), whole) {
		t.Error("it was not made again")
	}
}

// The record of a run names the files of its data set. If the data set has changed since, commands report it.
func TestDataRecord(t *testing.T) {
	long.NotShort(t)
	ownData(t)
	small := smallSprites(t)
	t.Chdir(t.TempDir())
	must.Write(t, "one.npz", small)
	clitest.OK(t, "data", "fetch", "dsprites", "--from", "one.npz")
	args := strings.Fields("train encoder/sprites dataset=dsprites train.epoch_steps=2 train.batch=16 train.figures=false metrics=[] metrics.sample=20 --run run")
	clitest.OK(t, append(args, "train.epochs=1")...)
	for _, name := range []string{"run.json", "data.json"} {
		text := string(must.Read(t, filepath.Join("run", name)))
		for _, w := range []string{`"name": "dsprites"`, "2011bbcdcb4f085e2ec48d0d95bae7f2a5d87e8929a706fdbcf47f46e0c2a630", spritesFile} {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %s; want %q", name, text, w)
			}
		}
	}
	const warning = "warning: the data set dsprites has changed since the run began: its file " + spritesFile + " had the SHA-256 2011bbcd"
	eval := []string{"eval", "--run", "run", "--metrics", "variance"}
	if o := clitest.Run(t, eval...); o.Code != 0 || strings.Contains(o.Log, "warning") {
		t.Error(o)
	}
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps the mapped files of this process")
	}
	must.Write(t, "two.npz", otherSprites(t))
	clitest.OK(t, "data", "fetch", "dsprites", "--from", "two.npz")
	if o := clitest.Run(t, eval...); o.Code != 0 || !strings.Contains(o.Log, warning) {
		t.Error(o)
	}
	if o := clitest.Run(t, append(args, "train.epochs=2", "--resume")...); o.Code != 0 || !strings.Contains(o.Log, warning) {
		t.Error(o)
	}
}

// Edited labels are a change of a run's data set. A run that did not record labels gives no warning.
func TestLabelsRecord(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	clitest.WritePhotos(t)
	clitest.OK(t, strings.Fields("train vae/folder train.epochs=1 train.figures=false metrics=[] --run run")...)
	eval := []string{"eval", "--run", "run", "--metrics", "variance"}
	const warning = "warning: the data set folder has changed since the run began: its labels had the hash "
	if o := clitest.Run(t, eval...); o.Code != 0 || strings.Contains(o.Log, "warning") {
		t.Error(o)
	}
	lines := strings.SplitAfter(string(must.Read(t, "labels.csv")), "\n")
	lines[1], lines[2] = lines[2], lines[1]
	must.Write(t, "labels.csv", strings.Join(lines, ""))
	if o := clitest.Run(t, eval...); o.Code != 0 || strings.Count(o.Log, warning) != 1 {
		t.Error(o)
	}
	data := filepath.Join("run", "data.json")
	text := regexp.MustCompile(`,\s*"labels": "[^"]*"`).ReplaceAll(must.Read(t, data), nil)
	must.Write(t, data, text)
	if o := clitest.Run(t, eval...); o.Code != 0 || strings.Contains(o.Log, "has changed") || strings.Contains(string(text), `"labels":`) {
		t.Error(o)
	}
}

// Commands that open a run name a user's file that changed after the run began: arrays, labels, pairs and answers.
func TestInputsRecord(t *testing.T) {
	long.NotShort(t)
	cases := map[string]struct {
		file, key string
		write     func(number int)
		settings  string
	}{
		"arrays": {"data.npy", "dataset.grid.path", func(n int) {
			must.WriteNPY(t, "data.npy", []int{32, 8, 8}, bytes.Repeat([]byte{uint8(n)}, 32*8*8))
		}, "dataset: {grid: {path: data.npy}}\nmodel: {vae: {latent: 2, encoder: mlp}}"},
		"folder of arrays": {filepath.Join("data", "factors.npy"), "dataset.grid.path/factors", func(n int) {
			_ = os.Mkdir("data", 0o777)
			must.WriteNPY(t, filepath.Join("data", "images.npy"), []int{32, 8, 8}, make([]uint8, 32*8*8))
			must.WriteNPY(t, filepath.Join("data", "factors.npy"), []int{32, 1}, bytes.Repeat([]byte{0, uint8(n)}, 16))
		}, "dataset: {grid: {path: data}}\nmodel: {vae: {latent: 2, encoder: mlp}}"},
		"labels": {"labels.csv", "supervision.labels.file", func(n int) {
			must.Write(t, "labels.csv", "kind\n"+strings.Repeat(fmt.Sprintf("%d\n0\n", n), 32))
		}, "dataset: {square: {size: 8, side: 2}}\nmodel: {vae: {latent: 2, encoder: mlp}}\nsupervision: {labels: {file: labels.csv}}"},
		"pairs": {"pairs.csv", "supervision.1.changes.file", func(n int) {
			must.Write(t, "pairs.csv", fmt.Appendf(nil, "0,1\n1,%d\n", n))
		}, "dataset: {square: {size: 8, side: 2}}\nmodel: {ada-gvae: {latent: 2, encoder: mlp}}\nsupervision: [{labels: {}}, {changes: {file: pairs.csv}}]"},
	}
	for _, name := range long.Sample(slices.Sorted(maps.Keys(cases)), 2) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			t.Setenv(clitest.AsProgram, "1") // for the processes of the sweep
			t.Setenv(cache.RootVariable, must.MappedDir(t))
			t.Chdir(t.TempDir())
			c.write(2)
			must.Write(t, "run.yaml", c.settings+
				"\nlosses: [reconstruction, kl]\ntrain: {epochs: 1, batch: 16, figures: false}\nmetrics: []\n")

			must.Write(t, "sweep.yaml", "name: runs\nbase: run.yaml\n")
			clitest.OK(t, "train", "run.yaml", "--run", "run")
			sweep := []string{"sweep", "sweep.yaml", "--out", "runs"}
			clitest.OK(t, sweep...)
			commands := [][]string{{"eval", "--run", "run", "--metrics", "total-correlation", "--chance", "0"}, {"encode", "--run", "run"}, sweep}
			for _, args := range commands {
				if o := clitest.Run(t, args...); strings.Contains(o.Log, "changed") {
					t.Errorf("%v, before: %v", args, o)
				}
			}
			c.write(3)
			for _, args := range append(commands, []string{"train", "--run", "run", "--resume", "train.epochs=2"}) {
				if o := clitest.Run(t, args...); !strings.Contains(o.Log, "warning: ") ||
					!strings.Contains(o.Log, c.key+": "+c.file+" has changed since the run began") {
					t.Errorf("%v: %v", args, o)
				}
			}
		})
	}
}

// otherSprites returns the small file with one different pixel.
func otherSprites(t *testing.T) []byte {
	t.Helper()
	z := must.Get(npy.OpenNPZ("one.npz"))(t)
	defer z.Close()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, name := range []string{"imgs", "latents_classes"} {
		r := must.Get(z.Open(name))(t)
		a := must.Get(npy.ReadAll[uint8](r))(t)
		if name == "imgs" {
			a.Data[5] ^= 1
		}
		to, err := w.Create(name + ".npy")
		if err == nil {
			err = npy.Write(to, a.Shape, a.Data)
		}
		must.OK(t, err)
	}
	must.OK(t, w.Close())
	return archive.Bytes()
}

// A single file of a set can be fetched, and an alternative replaces the required file.
func TestDataFile(t *testing.T) {
	root := ownData(t)
	folder := must.Get(filepath.Abs(filepath.Join("..", "datasets", "public", "testdata", "dsprites")))(t)
	hdf5 := strings.TrimSuffix(spritesFile, ".npz") + ".hdf5"
	if o := clitest.Run(t, "data", "fetch", "dsprites", "--from", filepath.Join(folder, hdf5)); o.Code != 1 ||
		!strings.Contains(o.Log, "it has 205312 bytes; want 28024106") {
		t.Error(o)
	}
	if o := clitest.OK(t, "data", "fetch", "dsprites", "--file", hdf5, "--from", folder, "--trust"); !strings.Contains(o.Out,
		"48 images") || !strings.Contains(o.Log, "which differs from the known hash") {
		t.Error(o)
	}
	if _, err := os.Stat(filepath.Join(root, "downloads", "dsprites", spritesFile)); err == nil {
		t.Error("the npz was brought, too")
	}
}
