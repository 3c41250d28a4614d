package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

const yamlText = "dataset:\n  square: {size: 8, side: 2}\nmodel:\n  vae: {latent: 2, encoder: {mlp: {hidden: [4]}}}\nlosses: [{reconstruction: {}}, {kl: {weight: 1}}]\n"

// oneFile returns a file with two runs of the same config.
func oneFile() *File {
	f, c := &File{}, Config{configID(yamlText), yamlText}
	for seed := range uint64(2) {
		f.Put(c, Run{
			Name: "a_seed" + string(rune('0'+seed)), Config: c.ID, Seed: seed, Hash: textOf(yamlText).hash(seed),
			Settings: strings.Repeat("b", 15) + string(rune('0'+seed)),
			Scale:    "quick", Generation: version.Generation(), Version: "v", Machine: &rundir.Machine{OS: "linux"}, Seconds: 1.5, Steps: 3,
			Fit: &train.Fit{Reconstruction: 0.1, Variance: 0.3, Converged: true}, Codes: strings.Repeat("c", 64),
			Parameters: strings.Repeat("d", 64),
			Metrics: []metrics.Result{{Name: "mig", Value: 0.30000000000000004, Better: metrics.HigherIsBetter,
				Parts: []metrics.Part{{Name: "per_factor", Labels: []string{"x<y"}, Values: []float64{1e-300}}}}},
			Stored: map[string]json.RawMessage{"top-2.json": json.RawMessage(`{"run":"x"}`)},
		})
	}
	return f
}

func written(t *testing.T, f *File) string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, f.Write(&b))
	return b.String()
}

// Read returns the written file, with all digits.
func TestFile(t *testing.T) {
	f := oneFile()
	text := written(t, f)
	if strings.Count(text, "\n") != 3 || !strings.Contains(text, `"value":0.30000000000000004`) || !strings.Contains(text, "x<y") {
		t.Error(text)
	}
	again, err := Read("f", strings.NewReader(text))
	if err != nil || !reflect.DeepEqual(again, f) {
		t.Fatalf("%+v, %v; want %+v", again, err, f)
	}
	other := Config{configID(yamlText + "freeze: []\n"), yamlText + "freeze: []\n"}
	for _, r := range f.Runs { // the old config is removed
		r.Config = other.ID
		again.Put(other, r)
	}
	if len(again.Configs) != 1 || again.Configs[0] != other || len(again.Runs) != 2 {
		t.Errorf("%+v", again)
	}
	c, err := textOf(f.Config(f.Runs[1].Config)).load(&f.Runs[1])
	if err != nil || c.Seed != 1 || c.Name != "a_seed1" || c.Train.Keep.Last < 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if hash, err := c.Hash(); err != nil || hash == f.Runs[1].Hash {
		t.Errorf("hash %s, %v; want another one, as the text lacks keys", hash, err)
	}
	f.Runs[1].Seed = 2
	must.ErrorOf(textOf(yamlText).load(&f.Runs[1]))(t, "hash: the hash of its config is ")
}

func TestFileMistakes(t *testing.T) {
	text := written(t, oneFile())
	lines := strings.SplitAfter(text, "\n")
	for _, test := range []struct{ text, want string }{
		{"{", "f:1: the last line does not end with a line break"},
		{"{\n", "f:1: not a line of a ledger"},
		{"{}{}\n", "f:1: there is more behind the JSON object"},
		{strings.Replace(text, `"seconds"`, `"secunds"`, 1), `f:2: not a line of a ledger: json: unknown field "secunds"`},
		{strings.Replace(text, "size: 8", "size: 9", 1), "f:1: config: the text was changed"},
		{lines[0] + text, "f:2: config: "},
		{lines[1], "f:1: config: no line above has the config"},
		{text + lines[1], `f:4: settings: there are two lines of the settings "bbb`},
		{strings.Replace(text, `"run":"a_seed0"`, `"run":"../a"`, 1), `f:2: run: "../a" is not a folder's name`},
		{strings.Replace(text, `"generation":`, `"generation":9`, 1), "f:2: generation: 9"},
		{strings.Replace(text, fmt.Sprintf(`"generation":%d`, version.Generation()), `"generation":0`, 1), "f:2: generation: 0 is out of range; want 1 to"},
		{strings.Replace(text, `"hash":"`, `"hash":"A`, 1), "f:2: hash: "},
		{strings.Replace(text, `"settings":"b`, `"settings":"`, 1), "f:2: settings: "},
		{strings.Replace(text, `"codes":"c`, `"codes":"`, 1), "f:2: codes: "},
		{strings.Replace(text, "top-2.json", "../run.json", 1), `f:2: stored: no analysis is stored as "../run.json"`},
		{strings.Replace(text, `"scale"`, `"error":"NaN","scale"`, 1), "f:2: metrics: the run has failed; want none"},
		{strings.Replace(text, `"value":0.30000000000000004`, `"value":NaN`, 1), "f:2: not a line of a ledger"},
	} {
		must.ErrorOf(Read("f", strings.NewReader(test.text)))(t, test.want)
	}
}

// Read gives an error or a file. Writing and reading this file gives the same text.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	must.OK(f, oneFile().Write(&b))
	f.Add(b.Bytes())
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Read("f", bytes.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Error(err)
			}
			return
		}
		once := written(t, file)
		again, err := Read("f", strings.NewReader(once))
		if err != nil {
			t.Fatalf("%v:\n%s", err, once)
		}
		must.Equal(t, written(t, again), once, "written again")
	})
}

// If two records have the same settings, the later generation wins. Within a generation, the first file wins.
func TestBook(t *testing.T) {
	old, first, second := oneFile(), oneFile(), oneFile()
	old.Runs[0].Generation, old.Runs[0].Seconds = 1, 7
	first.Runs[0].Seconds, second.Runs[0].Seconds = 8, 9
	second.Runs[1].Settings, second.Runs[1].Hash = strings.Repeat("e", 16), strings.Repeat("e", 32)
	b, err := Open(fstest.MapFS{
		"x/a.jsonl": {Data: []byte(written(t, old))}, "x/b.jsonl": {Data: []byte(written(t, first))}, "x/c.jsonl": {Data: []byte(written(t, second))},
		"x/notes.txt": {Data: []byte("no")}, "y/a.jsonl": {Data: []byte("no")},
	}, "x")
	if err != nil || b.Len() != 3 || len(b.Runs()) != 3 {
		t.Fatalf("%d runs, %v", b.Len(), err)
	}
	if r := b.Settings(first.Runs[0].Settings); r.Seconds != 8 || b.Hash(r.Hash) != r {
		t.Errorf("%+v", r)
	}
	few := oneFile()
	few.Runs[0].Metrics, few.Runs[0].Seconds = few.Runs[0].Metrics[:len(few.Runs[0].Metrics)-1], 6
	b, err = Open(fstest.MapFS{"x/a.jsonl": {Data: []byte(written(t, few))}, "x/b.jsonl": {Data: []byte(written(t, first))}}, "x")
	must.OK(t, err)
	if r := b.Settings(first.Runs[0].Settings); r.Seconds != 8 || b.Hash(r.Hash) != r {
		t.Errorf("of two records of a generation that of fewer metrics counts: %+v", r)
	}
	must.ErrorOf(Open(fstest.MapFS{"y/a.jsonl": {Data: []byte("no\n")}}, "y"))(t, "y/a.jsonl:1: ")
	if b, err := Open(fstest.MapFS{}, "x"); err != nil || b.Len() != 0 || b.Settings("") != nil {
		t.Errorf("%v, %v", b, err)
	}
	none := &Book{}
	if none.Len() != 0 || none.Hash("x") != nil || none.Runs() != nil {
		t.Error("without a book there are runs")
	}
}

// A change affects an older run if the run's config names one of the changed parts.
func TestChanged(t *testing.T) {
	f := oneFile()
	f.Runs[0].Generation = 1
	b := must.Get(Open(fstest.MapFS{"x/a.jsonl": {Data: []byte(written(t, f))}}, "x"))(t)
	for _, test := range []struct {
		parts []string
		all   bool
		want  bool
	}{{nil, false, true}, {[]string{"vae"}, false, true}, {[]string{"conv64", "square"}, false, true}, {[]string{"conv64"}, false, false},
		{[]string{"vae", "square"}, true, true}, {[]string{"vae", "conv64"}, true, false}} {
		changes := []version.Change{{Generation: 2, What: "another order", Parts: test.parts, All: test.all}}
		if got := b.configs[b.Runs()[0].Config].changed(b.Runs()[0], changes); (got == "trained by an earlier version: another order") != test.want {
			t.Errorf("%v: %q", test.parts, got)
		}
		must.Equal(t, b.configs[b.Runs()[1].Config].changed(b.Runs()[1], changes), "", test.parts, "of a later run")
	}
	last := 1
	for _, c := range version.Changes {
		if c.Generation != last+1 || c.What == "" {
			t.Errorf("%+v does not follow generation %d", c, last)
		}
		last = c.Generation
	}
	must.Equal(t, last, version.Generation(), "the generation is", version.Generation())
}

// Clean finds machine paths in configs, errors and results.
func TestClean(t *testing.T) {
	c := Config{ID: "x", YAML: "freeze: [encoder/*, a/b]\nrate: 1/2\n"}
	if err := Clean(c, Run{Name: "a", Error: "loss is NaN, see encoder/0/w"}); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"file: /home/me/set.npz", "file: '/data/x.npz'", `file: C:\sets\x`, "~/sets"} {
		for _, err := range []error{Clean(Config{YAML: text}, Run{Name: "a"}), Clean(c, Run{Name: "a", Error: text})} {
			must.Error(t, err, "is a path of a machine", text)
		}
	}
}

func TestPruned(t *testing.T) {
	all := []metrics.Result{{Name: "mig", Value: 1, Grids: []metrics.Grid{{}}, Options: map[string]any{"a": 1},
		Like: []string{"x"}, Notes: []string{"n"},
		Parts: []metrics.Part{{Name: "few", Values: make([]float64, maxPart)}, {Name: "many", Values: make([]float64, maxPart+1)}}}}
	got := pruned(all)
	if len(got) != 1 || got[0].Grids != nil || got[0].Options != nil || got[0].Like != nil || len(got[0].Notes) != 1 ||
		len(got[0].Parts) != 1 || got[0].Parts[0].Name != "few" || len(all[0].Parts) != 2 {
		t.Errorf("%+v", got)
	}
}

// updates returns the updates of a folder by runs on twins, and writes them if write is true.
func updates(t *testing.T, dir string, f *File, write bool) []*Update {
	t.Helper()
	list := must.Get(Updates(dir, f, false))(t)
	for _, u := range list {
		if write {
			must.OK(t, u.Write())
		}
	}
	return list
}

// Updates adds runs to the files of their scales.
func TestUpdates(t *testing.T) {
	f := oneFile()
	f.Runs[1].Scale = "medium"
	dir := t.TempDir()
	real := must.Get(Updates(dir, f, true))(t)
	if len(real) != 2 || real[0].Path != filepath.Join(dir, "quick-real.jsonl") || real[1].Path != filepath.Join(dir, "medium-real.jsonl") {
		t.Error(real)
	}
	f.Runs = f.Runs[:1]
	for _, extension := range []string{extension, compressed} {
		dir := t.TempDir()
		path := filepath.Join(dir, "quick"+extension)
		for i, want := range [][2]int{{1, 0}, {0, 0}} { // the same record replaces nothing
			if extension == compressed && i == 0 {
				var empty bytes.Buffer
				must.OK(t, (&File{}).writeCompressed(&empty))
				must.Write(t, path, empty.Bytes())
			}
			u := updates(t, dir, f, true)
			if len(u) != 1 || u[0].Path != path || u[0].Added != want[0] || len(u[0].Replaced) != want[1] {
				t.Errorf("%s %d: %+v", extension, i, u[0])
			}
		}
		if again, err := readFile(path); err != nil || len(again.Runs) != 1 || again.Runs[0].Scale != "quick" {
			t.Errorf("%s: %+v, %v", extension, again, err)
		}
		b, err := Open(os.DirFS(filepath.Dir(dir)), filepath.Base(dir))
		if err != nil || b.Len() != 1 {
			t.Errorf("%s: %d runs, %v", extension, b.Len(), err)
		}
		whole := must.Read(t, path)
		for _, damaged := range []string{"x", string(whole[:len(whole)-3])} {
			must.Write(t, path, damaged)
			if _, err := Updates(dir, f, false); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: it replaced what it could not read: %v", extension, err)
			}
		}
	}
}

// An update lists every value that would change.
func TestReplacements(t *testing.T) {
	dir, f := t.TempDir(), oneFile()
	if u := updates(t, dir, f, true); u[0].Added != 2 || len(u[0].Replaced) != 0 {
		t.Errorf("of no file: %+v", u[0])
	}
	f.Runs[0].Metrics = slices.Clone(f.Runs[0].Metrics)
	was := f.Runs[0].Metrics[0]
	f.Runs[0].Metrics[0].Value += 0.25
	f.Runs[0].Epochs += 2
	u := updates(t, dir, f, true)
	list := u[0].Replaced
	if u[0].Added != 0 || len(list) != 1 || list[0].Run != f.Runs[0].Name || len(list[0].Changes) != 2 {
		t.Fatalf("%+v", u[0])
	}
	if want := fmt.Sprintf("metric %s: %v recorded, %v now", was.Name, was.Value, was.Value+0.25); !slices.Contains(list[0].Changes, want) {
		t.Errorf("%q lacks %q", list[0].Changes, want)
	}
	if again := updates(t, dir, f, false); len(again[0].Replaced) != 0 {
		t.Errorf("the record was not replaced: %+v", again[0])
	}
}

// Unravel's ledger can be read, and has no machine paths.
func TestShipped(t *testing.T) {
	long.NotShort(t)
	folders := must.Get(results.Files().(interface {
		ReadDir(string) ([]os.DirEntry, error)
	}).ReadDir("."))(t)
	size := 0
	for _, folder := range folders {
		b := must.Get(Open(results.Files(), folder.Name()))(t)
		for _, r := range b.Runs() {
			if err := Clean(Config{r.Config, b.configs[r.Config].yaml}, *r); err != nil {
				t.Errorf("%s: %v", folder.Name(), err)
			}
		}
		size += b.Len()
	}
	if size < 444 {
		t.Errorf("%d runs; want 444 or more", size)
	}
}
