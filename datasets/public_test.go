package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/fetch"
)

// publicFiles places files of testdata as the source files of a public data set, under the given names or their own.
// The folder for data sets is temporary. The files are accepted with any hash.
func publicFiles(t *testing.T, set string, files map[string]string) {
	t.Helper()
	root, err := os.MkdirTemp("", "unravel-data")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) }) // mapped files stay on Windows
	t.Setenv(cache.RootVariable, root)
	for name, from := range files {
		if err := fetch.Place(t.Context(), cache.Downloads(set), fetch.File{Name: name}, filepath.Join("testdata", from), true); err != nil {
			t.Fatal(err)
		}
	}
}

// golden is an entry of an expected.json.
type golden struct {
	Shape  []int                `json:"shape_nhwc"`
	Sizes  []int                `json:"factor_sizes"`
	Hash   string               `json:"sha256_nhwc"`
	Values map[string][]float64 `json:"values_of_row"`
	Labels map[string][]int     `json:"labels_of_row"`
	Names  []string             `json:"factor_names"`
	Sums   map[string]int       `json:"pixel_sum_of_row"`
}

// readGolden reads an expected.json of a folder of testdata.
func readGolden(t *testing.T, folder string) (files map[string]golden, broken map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	files = map[string]golden{}
	for name, entry := range all {
		var g golden
		var err error
		if name == "broken" {
			err = json.Unmarshal(entry, &broken)
		} else {
			err = json.Unmarshal(entry, &g)
			files[name] = g
		}
		var other *json.UnmarshalTypeError // labels that are no integers, and entries that are no files
		if err != nil && !errors.As(err, &other) {
			t.Fatal(name, err)
		}
	}
	return files, broken
}

// pixelHash returns the SHA-256 of all pixels of a set, which are 8-bit numbers over 255, each divided by unit.
func pixelHash(d Dataset, unit float32) string {
	h, w, c := d.ImageShape()
	image, line := make([]float32, h*w*c), make([]uint8, h*w*c)
	sum := sha256.New()
	for i := range d.Len() {
		d.Image(i, image)
		for p, v := range image {
			line[p] = uint8(v*255/unit + 0.5)
		}
		sum.Write(line)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// A set without its files on this machine names the missing files in one line.
func TestNotFetched(t *testing.T) {
	t.Setenv(cache.RootVariable, t.TempDir())
	_, err := (&DSprites{}).Build(0)
	var absent *NotFetchedError
	if !errors.As(err, &absent) || !errors.Is(err, ErrNotFetched) || len(absent.Files) != 1 {
		t.Fatal(err)
	}
	for _, words := range []string{"unravel data fetch dsprites", cache.Downloads("dsprites"), dspritesNPZ, dspritesURL} {
		if !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want %s, in one line", err, words)
		}
	}
}

// A change of labels changes the files that runs record. Labels with equal levels, and a record without labels, count
// as unchanged.
func TestFolderChanged(t *testing.T) {
	dir := t.TempDir()
	writePictures(t, dir, "a.png", "b.png", "c.png")
	f := newFolder(t, dir)
	f.Labels = "labels.csv"
	files := func(table string) *Files {
		t.Helper()
		placed(t, dir, f.Labels, table)
		d, err := f.Build(0)
		if err != nil {
			t.Fatal(err)
		}
		return FilesOf(d)
	}
	began := files("file,v\na.png,1\nb.png,2\nc.png,1\n")
	for name, c := range map[string]struct {
		table   string
		changed bool
	}{
		"as it was":          {"file,v\na.png,1\nb.png,2\nc.png,1\n", false},
		"written otherwise":  {"file;v\r\na;1.0\r\nb.png;2\r\nc.png;1\r\n", false},
		"a field":            {"file,v\na.png,1\nb.png,2\nc.png,2\n", true},
		"a value of a level": {"file,v\na.png,1\nb.png,3\nc.png,1\n", true},
		"an unknown label":   {"file,v\na.png,1\nb.png,2\nc.png,\n", true},
		"the order of rows":  {"file,v\nc.png,1\nb.png,2\na.png,1\n", true},
		"a name":             {"file,w\na.png,1\nb.png,2\nc.png,1\n", true},
		"a column more":      {"file,v,w\na.png,1,1\nb.png,2,1\nc.png,1,2\n", true},
	} {
		now := files(c.table)
		if text := now.Changed(began); (text != "") != c.changed || c.changed && !strings.Contains(text, "the data set folder has changed since the run began: its labels") {
			t.Errorf("%s: %q", name, text)
		}
		old := *began
		old.Labels = ""
		if text := now.Changed(&old); text != "" || old.Changed(now) != "" {
			t.Errorf("%s, of a run from before labels were noted: %q", name, text)
		}
	}
}

// A column of words and numbers is no factor unless its kind says so: the error names both.
func TestFolderMixed(t *testing.T) {
	dir := t.TempDir()
	writePictures(t, dir, "a.png", "b.png", "c.png", "d.png", "e.png", "f.png")
	for _, c := range []struct {
		name, sizes string
		kinds       map[string]string
		want        string
	}{
		{"numbers", "1 2 3 1 2 3", nil, ""},
		{"an unknown one", "1 2 NA 1 2 ?", nil, ""},
		{"words", "one two x one zzz ?", nil, ""},
		{"one word", "1 2 3 1 zzz 3", nil, `line 6, column size: "zzz" is a word, and 1 in line 2 a number; want numbers (empty where one is not known) or words in all lines, or kind categorical`},
		{"a date", "1 2 3 1 2024-01-31 3", nil, `line 6, column size: "2024-01-31" looks like a date`},
		{"names by choice", "1 2 3 1 zzz 3", map[string]string{"size": "categorical"}, ""},
		{"a gap in a circle", "0 15 45 60 0 0", map[string]string{"size": "circular"}, `column "size" the circular values 0, 15, 45, 60 are not evenly spaced; want their period`},
	} {
		table := "file,size\n"
		for i, size := range strings.Fields(c.sizes) {
			table += string(rune('a'+i)) + ".png," + size + "\n"
		}
		placed(t, dir, "labels.csv", table)
		f := newFolder(t, dir)
		f.Labels, f.Kinds.Named = "labels.csv", c.kinds
		if _, err := f.Build(0); err == nil != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
