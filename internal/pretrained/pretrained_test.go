package pretrained

import (
	"archive/zip"
	"bytes"
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

func TestMain(m *testing.M) { os.Exit(long.Run(m)) }

// archives is the folder of the archives.
var archives = filepath.Join("..", "..", "results", "models")

// opened reads the archive of a model.
func opened(t testing.TB, name string) *Archive {
	t.Helper()
	return must.Get(Open(filepath.Join(archives, name+".zip")))(t)
}

// The table is consistent with the archives and the ledger.
func TestModels(t *testing.T) {
	long.NotShort(t)
	var all int64
	var names []string
	for _, m := range Models() {
		names = append(names, m.Archive())
		content := must.Read(t, filepath.Join(archives, m.Archive()))
		size := int64(len(content))
		if all += size; size != m.Size || size > 2e6 || sumOf(content) != m.SHA256 {
			t.Errorf("%s: %d bytes, SHA-256 %s; want %d, at most 2 MB, %s", m.Name, size, sumOf(content), m.Size, m.SHA256)
		}
		a := opened(t, m.Name)
		c, r, err := m.Record()
		must.OK(t, err)
		if text, err := c.Encode(); err != nil || !bytes.Equal(text, a.files[rundir.Config]) {
			t.Errorf("%s: %v, the config is not the config of the ledger's run", m.Name, err)
		}
		if a.Name != m.Name || a.Ledger != (Source{m.Folder, m.Scale, m.Run, r.Config, r.Seed}) || len(a.Metrics) != len(r.Metrics) {
			t.Errorf("%s: %+v", m.Name, a.Manifest)
		}
		for i, v := range a.Metrics {
			if want := r.Metrics[i]; v.Name != want.Name || v.Ledger != want.Value {
				t.Errorf("%s: %+v; the ledger has %s %v", m.Name, v, want.Name, want.Value)
			}
			if v.Name == m.Metric && v.Ledger != m.Value {
				t.Errorf("%s: %s %v; want %v, as in the ledger", m.Name, v.Name, m.Value, v.Ledger)
			}
			if !near(v.Rounded, v.Ledger) {
				t.Errorf("%s: %s is %v after rounding; the ledger has %v", m.Name, v.Name, v.Rounded, v.Ledger)
			}
		}
		must.Equal(t, m.File().URL, "https://github.com/unravel-ml/unravel/releases/latest/download/"+m.Archive())
	}
	if all > 5e6 || !slices.IsSorted(names) {
		t.Errorf("%d bytes, %v", all, names)
	}
	there, err := filepath.Glob(filepath.Join(archives, "*"))
	if err != nil || len(there) != len(names) {
		t.Errorf("%v, %v; want %v", there, err, names)
	}
	must.ErrorOf(Lookup("vae-sprite"))(t, `did you mean "vae-sprites"?`)
}

// near reports whether the metrics of the rounded model and the ledger differ by at most 0.001, or 0.1 % of a value
// above 1. The documents promise this.
func near(got, want float64) bool { return math.Abs(got-want) <= 0.001*max(1, math.Abs(want)) }

// Installed models give the metrics of their archives: exactly on the same instruction set, and nearly on others. The
// default test computes the fast metrics of one model.
func TestMeasures(t *testing.T) {
	long.NotShort(t)
	set := must.Get(kernel.InstructionSet())(t)
	list := []string{"cofhae-chopsticks"}
	if long.Enabled() {
		list = nil
		for _, m := range Models() {
			list = append(list, m.Name)
		}
	}
	for _, name := range list {
		t.Run(name, func(t *testing.T) {
			a, dir := opened(t, name), filepath.Join(t.TempDir(), "run")
			if already, err := a.Install(dir); already || err != nil {
				t.Fatal(already, err)
			}
			e, warning, err := train.OpenExperiment(dir)
			if err != nil || warning != "" {
				t.Fatal(err, warning)
			}
			e = e.Sample()
			codes := must.Get(e.Codes(context.Background()))(t)
			choices := e.Final()
			if !long.Enabled() {
				choices = slices.DeleteFunc(choices, func(c metrics.Choice) bool {
					return !slices.Contains([]string{"mig", "purity", "coverage", "h-error"}, c.Name)
				})
			}
			results, err := metrics.Evaluate(context.Background(), e.Input(codes), e.Config.Seed, choices)
			if err != nil || len(results) < 4 {
				t.Fatal(len(results), err)
			}
			for _, r := range results {
				i := slices.IndexFunc(a.Metrics, func(v Value) bool { return v.Name == r.Name })
				if i < 0 {
					t.Fatalf("%s is not in the archive", r.Name)
				}
				want := a.Metrics[i]
				if set == a.Training.Machine.Kernels && r.Value != want.Rounded || !near(r.Value, want.Ledger) {
					t.Errorf("%s: %v; want %v, and %v before rounding", r.Name, r.Value, want.Rounded, want.Ledger)
				}
			}
		})
	}
}

// An installed model is a finished run that agrees with its record. Install does not replace other content in its
// folder.
func TestInstall(t *testing.T) {
	a, parent := opened(t, "cofhae-chopsticks"), t.TempDir()
	dir := filepath.Join(parent, "runs", "model")
	left := filepath.Join(parent, "runs", ".model.unravel-tmp", "run")
	for _, d := range []string{dir, left} { // an empty folder, and the files of a killed process
		must.OK(t, os.MkdirAll(d, 0o777))
	}
	must.Write(t, filepath.Join(left, rundir.Config), "half")
	install := func(dir string) (already bool, err error) {
		already, err = a.Install(dir)
		if there, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*.unravel-tmp")); there != nil {
			t.Errorf("%v are left", there)
		}
		return already, err
	}
	if already, err := install(dir); already || err != nil {
		t.Fatal(already, err)
	}
	if list, err := rundir.Check(dir); len(list) > 0 || err != nil {
		t.Error(list, err)
	}
	if list, err := rundir.Others(dir); len(list) > 0 || err != nil {
		t.Error(list, err)
	}
	r, err := rundir.ReadRecord(dir)
	if err != nil || r == nil || r.Steps != 8800 || r.History.Other() != "up to step 8800 its weights were rounded to float16" {
		t.Errorf("%v, %+v", err, r)
	}
	if e, err := train.OpenEncoder(dir); err != nil || e == nil {
		t.Error(err)
	}
	if already, err := install(dir); !already || err != nil {
		t.Error(already, err)
	}
	card := filepath.Join(dir, rundir.CardFile)
	must.Write(t, card, "mine")
	must.ErrorOf(install(dir))(t, "holds the model, changed: README.md")
	if text, err := os.ReadFile(card); string(text) != "mine" {
		t.Errorf("%v, %q", err, text)
	}
	must.ErrorOf(install(filepath.Dir(dir)))(t, "holds other files")
	if _, err := install(filepath.Join(card, "run")); err == nil {
		t.Error("a folder below a file")
	}
}

func TestInstallReadOnly(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("everybody or root writes into every folder")
	}
	closed := filepath.Join(t.TempDir(), "closed")
	must.OK(t, os.Mkdir(closed, 0o555))
	must.ErrorOf(opened(t, "cofhae-chopsticks").Install(filepath.Join(closed, "run")))(t, "permission denied")
}

// zipped returns a zip file with names in the order of the list.
func zipped(t testing.TB, names []string, content map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write(content[name])
		}
		must.OK(t, err)
	}
	must.OK(t, z.Close())
	return b.Bytes()
}

// An archive whose content differs from its manifest gives an error that names the file.
func TestDamagedArchives(t *testing.T) {
	long.NotShort(t)
	good := opened(t, "cofhae-chopsticks")
	manifest := must.Get(good.manifest())(t)
	for _, test := range []struct {
		what, want string
		change     func(files map[string][]byte)
	}{
		{"no manifest", "it has no model.json", func(f map[string][]byte) { delete(f, rundir.ModelFile) }},
		{"a broken manifest", "model.json: unexpected end", func(f map[string][]byte) { f[rundir.ModelFile] = manifest[:100] }},
		{"a newer format", "it has format 2; want 1", func(f map[string][]byte) {
			f[rundir.ModelFile] = bytes.Replace(manifest, []byte(`"format": 1`), []byte(`"format": 2`), 1)
		}},
		{"a changed file", "config.yaml: its SHA-256 is", func(f map[string][]byte) { f[rundir.Config] = []byte("seed: 1\n") }},
		{"a file too few", "weights.safetensors is missing", func(f map[string][]byte) { delete(f, weightsFile) }},
		{"a file too many", "more: model.json does not list the file", func(f map[string][]byte) { f["more"] = nil }},
		{"a name outside", `has a name with ".."`, func(f map[string][]byte) { f["../more"] = nil }},
		{"an absolute name", "has an absolute name", func(f map[string][]byte) { f["/more"] = nil }},
		{"an unlisted config", "config.yaml is missing", func(f map[string][]byte) {
			f[rundir.ModelFile] = []byte(`{"format": 1, "files": {}}`)
			for name := range f {
				if name != rundir.ModelFile {
					delete(f, name)
				}
			}
		}},
	} {
		files := map[string][]byte{rundir.ModelFile: manifest}
		maps.Copy(files, good.files)
		test.change(files)
		names := slices.Sorted(maps.Keys(files))
		refused(t, test.what, test.want, zipped(t, names, files))
	}
	content := must.Read(t, filepath.Join(archives, "cofhae-chopsticks.zip"))
	refused(t, "half an archive", "want a whole zip file", content[:len(content)/2])
	content[len(content)/2] ^= 1
	refused(t, "a changed bit", "weights.safetensors", content)

	other := opened(t, "cofhae-chopsticks")
	other.files[weightsFile] = opened(t, "vae-sprites").files[weightsFile]
	dir := filepath.Join(t.TempDir(), "run")
	must.ErrorOf(other.Install(dir))(t, "weights.safetensors: tensor \"decoder/dense1/weight\" has shape")
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder of a wrong model stays")
	}
}

// refused checks the error of Open for an archive.
func refused(t *testing.T, what, want string, content []byte) {
	t.Helper()
	path := must.Write(t, filepath.Join(t.TempDir(), "model.zip"), content)
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
		t.Errorf("%s: %v; want %q", what, err, want)
	}
}

// Writing and reading an archive gives the same archive, and equal contents give equal bytes.
func TestWrite(t *testing.T) {
	a := small()
	var one, two bytes.Buffer
	for _, b := range []*bytes.Buffer{&one, &two} {
		must.OK(t, a.Write(b))
	}
	path := must.Write(t, filepath.Join(t.TempDir(), "model.zip"), one.Bytes())
	back, err := Open(path)
	if err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) || len(back.files) != len(a.files) {
		t.Errorf("%v, %d and %d bytes", err, one.Len(), two.Len())
	}
}

// small returns an archive with only the required files.
func small() *Archive {
	return &Archive{Manifest: Manifest{Format: format},
		files: map[string][]byte{rundir.Config: nil, weightsFile: {1, 2}, rundir.MetricsFile: nil, rundir.CardFile: {1}}}
}

func FuzzOpen(f *testing.F) {
	var b bytes.Buffer
	must.OK(f, small().Write(&b))
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()/2])
	f.Fuzz(func(t *testing.T, content []byte) {
		path := must.Write(t, filepath.Join(t.TempDir(), "model.zip"), content)
		a, err := Open(path)
		if err != nil {
			return
		}
		var b bytes.Buffer
		must.OK(t, a.Write(&b))
	})
}
