package files

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/bmp"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/table"
)

// newFolder returns the default settings of a folder with a temporary cache.
func newFolder(t *testing.T, path string) *Folder {
	t.Helper()
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	f := NewFolder()
	f.Path = path
	return f
}

// writePictures writes pictures of one colour each.
func writePictures(t *testing.T, dir string, names ...string) {
	t.Helper()
	for i, name := range names {
		m := image.NewRGBA(image.Rect(0, 0, 6, 4))
		for p := range m.Pix {
			m.Pix[p] = uint8(10 * (i + 1))
			if p%4 == 3 {
				m.Pix[p] = 255
			}
		}
		var b bytes.Buffer
		must.OK(t, png.Encode(&b, m))
		placed(t, dir, name, b.String())
	}
}

func placed(t *testing.T, dir, name, content string) {
	t.Helper()
	must.Write(t, filepath.Join(dir, filepath.FromSlash(name)), content)
}

// byPixel identifies the images of drawn pictures by their first pixel.
func byPixel(d datasets.Dataset) []int {
	h, w, c := d.ImageShape()
	pixels, list := make([]float32, h*w*c), make([]int, d.Len())
	for i := range list {
		d.Image(i, pixels)
		list[i] = int(pixels[0]*255/10 + 0.5)
	}
	return list
}

// Pictures and tables of the sample folder have the expected levels and, up to JPEG decoders, pixels.
func TestFolderSample(t *testing.T) {
	files, _ := datatest.ReadGolden(t, "images")
	want := files["labels.csv"]
	for _, table := range []string{"labels.csv", "labels_bom_crlf.csv"} {
		f := newFolder(t, "testdata/images/pictures")
		f.Labels, f.Size = "testdata/images/"+table, nil
		d := must.Get(f.Build(0))(t)
		h, w, c := d.ImageShape()
		if shape := []int{d.Len(), h, w, c}; !slices.Equal(shape, want.Shape) {
			t.Fatalf("shape %v; want %v", shape, want.Shape)
		}
		pixels := make([]float32, h*w*c)
		levels := make([]int, 4)
		for row, sum := range want.Sums {
			i := 0
			fmt.Sscan(row, &i)
			d.Image(i, pixels)
			got := 0
			for _, v := range pixels {
				got += int(v*255 + 0.5)
			}
			if d.FactorsAt(i, levels); !slices.Equal(levels, want.Labels[row]) || max(got-sum, sum-got) > len(pixels)/20 {
				t.Errorf("row %d: levels %v, sum %d; want %v, %d", i, levels, got, want.Labels[row], sum)
			}
		}
		for k, g := range d.Factors() {
			if g.Size != want.Sizes[k] || g.Name != want.Names[k] || (g.Kind == factor.Categorical) != (k < 2) {
				t.Errorf("factor %+v; want %s of %d levels", g, want.Names[k], want.Sizes[k])
			}
		}
		must.EqualSlices(t, d.Factors()[2].Values, []float64{8, 14}, "values")
	}
}

// Errors for broken tables and pictures give file, line and reason.
func TestFolderBroken(t *testing.T) {
	for table, words := range map[string][]string{
		"missing.csv": {`"img_99.png" (line 4)`, "1 row names no picture", "dataset.folder.unlabelled=skip"}, "columns.csv": {"line 3 has 4 fields; want 5"}, "quote.csv": {"line 3", `"`},
		"dotdot.csv": {"line 2", `".."`}, "twice.csv": {"lines 2 and 3 are both about img_1.png"}, "empty.csv": {"the only line, file,colour,shape,size,..., is taken for names"},
		"header.csv": {`two columns are called "colour"`}, "absolute.csv": {"line 2", "absolute"},
		"smallsize.csv": {"size.png", "10 x 10", "48 x 40"}, "notpicture.csv": {"text.png", "no picture"},
	} {
		dir := t.TempDir()
		for _, name := range []string{"pictures/img_1.png", "pictures/img_2.png", "pictures/img_3.png", "broken/size.png", "broken/text.png"} {
			if base := strings.TrimPrefix(name, "broken/"); base == name || table == "smallsize.csv" && base == "size.png" ||
				table == "notpicture.csv" && base == "text.png" {
				content := must.Read(t, "testdata/images/"+name)
				placed(t, dir, filepath.Base(name), string(content))
			}
		}
		f := newFolder(t, dir)
		f.Labels, f.Size, f.Unlabelled = "testdata/images/broken/"+table, nil, "skip"
		if table == "missing.csv" {
			f.Unlabelled = "refuse"
		}
		_, err := f.Build(0)
		for _, w := range words {
			must.Error(t, err, w, table)
		}
	}
}

func TestFolderWithoutLabels(t *testing.T) {
	dir := t.TempDir()
	writePictures(t, dir, "b.png", "a.PNG", "sub/c.png", ".hidden.png", ".git/d.png")
	placed(t, dir, "notes.txt", "text")
	f := newFolder(t, dir)
	d := must.Get(f.Build(0))(t)
	if got := byPixel(d); !slices.Equal(got, []int{2, 1, 3}) || d.Factors()[0].Size != 1 || d.Name() != filepath.Base(dir) {
		t.Errorf("pictures %v, factors %v", got, d.Factors())
	}
	if h, w, c := d.ImageShape(); h != 64 || w != 64 || c != 3 {
		t.Errorf("%d x %d x %d", h, w, c)
	}
	for labels, want := range map[string]string{"": "labels=folders would take", "none": ""} {
		f.Labels = labels
		if got := strings.Join(datatest.Build(t, f).(datasets.Noted).Notes(), "\n"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("labels %q: notes %q; want %q", labels, got, want)
		}
	}
	placed(t, dir, "labels.csv", "file,size\na.PNG,1\n")
	f.Labels = ""
	if got := datatest.Build(t, f).(datasets.Noted).Notes(); len(got) != 1 ||
		!strings.Contains(got[0], "labels=labels.csv would read them from "+dir) {
		t.Errorf("a table: notes %q", got)
	}
	must.ErrorOf((&GridFolder{Path: dir}).Build(0))(t, "folder: {path: ")
}

func TestFolderLabels(t *testing.T) {
	dir := t.TempDir()
	writePictures(t, dir, "a/x.png", "a/y.png", "b/z.png", "b/x.png")
	for _, c := range []struct {
		name    string
		table   string
		change  func(*Folder)
		factors string // name size kind, values
		levels  []int
		order   []int
	}{
		{"semicolons and decimal commas", "image;v\na/x.png;0,5\nb\\z.png;1,5\n./a/y.png;0,5\nb/x.png;\n", nil, "v 2 ordinal [0.5 1.5]", []int{0, 1, 0, -1}, []int{1, 3, 2, 4}},
		{"tabs, names without folder or ending", "v\tFile\n7\ty\n8\tz.png\nNA\ta/x\nn/a\tb/x\n", nil, "v 2 ordinal [7 8]", []int{0, 1, -1, -1}, []int{2, 3, 1, 4}},
		{"the folder's name", "id,v\n%s/a/x.png,dog\n%[1]s/a/y.png,cat\nb/z.png,dog\nb/x.png,null\n", nil, "v 2 categorical []", []int{1, 0, 1, -1}, []int{1, 2, 3, 4}},
		{"an index column", ",name,v\n0,a/x.png,0\n1,a/y.png,1\n2,b/x.png,2\n3,b/z.png,1\n", nil, "v 3 ordinal []", []int{0, 1, 2, 1}, []int{1, 2, 4, 3}},
		{"angles", "file,v,w\na/x.png,0,a\na/y.png,90,b\nb/x.png,180,c\nb/z.png,450,d\n",
			func(f *Folder) {
				f.Factors = []string{"v"}
				f.Kinds = factor.ColumnKinds{Named: map[string]string{"v": "circular:360"}}
			}, "v 4 circular [0 90 180 270]", []int{0, 1, 2, 1}, []int{1, 2, 4, 3}},
		{"bins", "file,v\na/x.png,0.5\na/y.png,1\nb/x.png,10.5\nb/z.png,3\n", func(f *Folder) { f.Bins = 2 }, "v 2 ordinal [3 8]", []int{0, 0, 1, 0}, []int{1, 2, 4, 3}},
		{"one bin", "file,v\na/x.png,0\na/y.png,1\nb/x.png,10.5\nb/z.png,3\n", func(f *Folder) { f.Bins = 1 }, "v 1 ordinal [5.25]", []int{0, 0, 0, 0}, []int{1, 2, 4, 3}},
		{"unlabelled are kept", "file,v\nb/z.png,4\n", func(f *Folder) { f.Unlabelled = "keep" }, "v 1 ordinal [4]", []int{0, -1, -1, -1}, []int{3, 1, 2, 4}},
		{"unlabelled are skipped", "file,v\nb/z.png,4\nc/z.png,5\na/x.png,6\n", func(f *Folder) { f.Unlabelled = "skip" }, "v 2 ordinal [4 6]", []int{0, 1}, []int{3, 1}},
		{"folders", "", func(f *Folder) { f.Labels = "folders" }, "folder1 2 categorical []", []int{0, 0, 1, 1}, []int{1, 2, 4, 3}},
	} {
		f := newFolder(t, dir)
		if c.table != "" {
			f.Labels = filepath.Join(t.TempDir(), "labels.csv")
			text := c.table
			if strings.Contains(text, "%s") {
				text = fmt.Sprintf(text, filepath.Base(dir))
			}
			placed(t, filepath.Dir(f.Labels), "labels.csv", text)
		}
		if c.change != nil {
			c.change(f)
		}
		d, err := f.Build(0)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		g := d.Factors()[0]
		if text := fmt.Sprint(g.Name, " ", g.Size, " ", g.Kind, " ", g.Values); text != c.factors ||
			!slices.Equal(datasets.Levels(d), c.levels) || !slices.Equal(byPixel(d), c.order) {
			t.Errorf("%s: %s, levels %v, pictures %v; want %s, %v, %v", c.name, text, datasets.Levels(d), byPixel(d), c.factors, c.levels, c.order)
		}
	}
}

// Words become names of levels, but numbers do not. The names do not affect the identity of the set. Images and
// selected images have the names of their files.
func TestFolderNames(t *testing.T) {
	dir := t.TempDir()
	writePictures(t, dir, "a/x.png", "a/y.png", "b/z.png")
	f := newFolder(t, dir)
	f.Labels = "labels.csv"
	placed(t, dir, "labels.csv", "file,animal,count,size\na/x.png,owl,1,small\na/y.png,,2,big\nb/z.png,cat,3,small\n")
	f.Kinds = factor.ColumnKinds{Named: map[string]string{"size": "ordinal"}}
	d := must.Get(f.Build(0))(t)
	var names []string
	for _, of := range d.Factors() {
		names = append(names, fmt.Sprint(of.Name, of.Names))
	}
	must.EqualSlices(t, names, []string{"animal[cat owl]", "count[]", "size[big small]"}, "names")
	if some := datasets.Sample(d, []int{2, 0}); datasets.FileName(some, 0) != "b/z.png" || datasets.FileName(d, 1) != "a/y.png" {
		t.Errorf("files %q, %q", datasets.FileName(some, 0), datasets.FileName(d, 1))
	}
	placed(t, dir, "labels.csv", "file,animal,number\na/x.png,owl,7\na/y.png,owl,7\nb/z.png,cat,3\n")
	f.Kinds = factor.ColumnKinds{}
	if notes := datatest.Build(t, f).(datasets.Noted).Notes(); !slices.Contains(notes,
		"factors animal and number divide the images into the same groups, so metrics count them twice") {
		t.Errorf("notes %q", notes)
	}
	set := d.(*folderSet)
	set.Columns[0].Names = nil
	must.Equal(t, labelsHash(set.Set), set.LabelsHash, "the hash of the labels is", "without names")
}

func TestFolderMistakes(t *testing.T) {
	long.NotShort(t)
	dir, flat := t.TempDir(), t.TempDir()
	writePictures(t, dir, "a.png", "b.png", "s/b.png")
	writePictures(t, flat, "a.png")
	words := "file,v,w\n"
	for i := range 120 {
		writePictures(t, dir, fmt.Sprintf("many/%d.png", i))
		words += fmt.Sprintf("many/%d.png,word %d,1\n", i, i)
	}
	for _, c := range []struct {
		name, table string
		change      func(*Folder)
		want        string
	}{
		{"no names", "a.png,1\nb.png,2\n", nil, "labels.csv: line 1 names the picture a.png; want names of the columns there"},
		{"no rows for some", "file,v\na.png,1\n", nil, "122 of 123 pictures have no row: b.png, many/0.png"},
		{"ambiguous", "file,v\nb,1\nb.png,1\ns/b.png,1\n", nil, "line 2: \"b\" is the name of several"},
		{"no such column", "file,v\na.png,1\n", func(f *Folder) { f.Factors = []string{"u"} }, "factors: "},
		{"no such file column", "file,v\na.png,1\n", func(f *Folder) { f.File = "u" }, "file: "},
		{"kinds of what", "file,v\na.png,1\n", func(f *Folder) { f.Kinds.Named = map[string]string{"u": "ordinal"} }, "kinds: "},
		{"circular words", "file,v\na.png,x\n", func(f *Folder) { f.Kinds.List = []string{"circular"} }, `"x"`},
		{"no values", "file,v\na.png,\n", nil, "no value"},
		{"words that are no levels", words, nil, "line 2, column v: the column has 120 different words"},
		{"UTF-16 without a mark", "f\x00,\x00", nil, "UTF-16"},
		{"no table", "", func(f *Folder) { f.Labels = "nowhere.csv" }, "nowhere.csv; want a table of labels, folders or none"},
		{"a folder for a table", "", func(f *Folder) { f.Labels = dir }, "is no file"},
		{"no folder", "", func(f *Folder) { f.Path = filepath.Join(dir, "none") }, "want a folder with pictures"},
		{"no pictures", "", func(f *Folder) { f.Path = t.TempDir() }, "has no pictures"},
		{"a file for a folder", "", func(f *Folder) { f.Path = filepath.Join(dir, "a.png") }, "is a file"},
		{"repeated factors", "", func(f *Folder) { f.Factors = []string{"u", "v", "u"} }, `factors: name 2, "u", is empty or repeated; want distinct names`},
		{"an empty factor", "", func(f *Folder) { f.Factors = []string{""} }, `factors: name 0, "", is empty or repeated`},
		{"factors without labels", "", func(f *Folder) { f.Labels, f.Factors = noLabels, []string{"u"} }, "factors: there are no labels"},
		{"names of folders", "", func(f *Folder) { f.Labels, f.Factors = "folders", []string{"u", "v"} }, "factors: has 2 names; want one for each of the 1 levels of folders"},
		{"no folders", "", func(f *Folder) { f.Labels, f.Path = "folders", flat }, "labels: there are no pictures in folders below " + flat},
		{"fit", "", func(f *Folder) { f.Fit = "squeeze" }, "fit: "},
		{"filter", "", func(f *Folder) { f.Filter = "nearest" }, "filter: "},
		{"channels", "", func(f *Folder) { f.Channels = 4 }, "channels: "},
		{"size", "", func(f *Folder) { f.Size = datasets.PictureSize{0, 3} }, "size: "},
	} {
		f := newFolder(t, dir)
		f.Unlabelled = "skip"
		if c.name == "no rows for some" {
			f.Unlabelled = "refuse"
		}
		if c.table != "" {
			f.Labels = filepath.Join(t.TempDir(), "labels.csv")
			placed(t, filepath.Dir(f.Labels), "labels.csv", c.table)
		}
		if c.change != nil {
			c.change(f)
		}
		must.ErrorOf(f.Build(0))(t, c.want, c.name)
	}
}

// Errors count and name broken pictures, or the set omits them with their rows.
func TestFolderSkipsBroken(t *testing.T) {
	dir := t.TempDir()
	writePictures(t, dir, "a.png", "b.png", "c.png")
	for i := range 7 {
		placed(t, dir, fmt.Sprintf("bad%d.png", i), "text")
	}
	placed(t, dir, "phone.heic", "\x00\x00\x00\x18ftypheic....")
	placed(t, dir, "labels.csv", "file,v\nc.png,3\nbad0.png,9\nb.png,2\n")
	f := newFolder(t, dir)
	for range 2 { // decoded, then from the cache
		_, err := f.Build(0)
		for _, w := range []string{"8 of 11 pictures cannot be read", "bad0.png: it is no picture", "and 3 more", "dataset.folder.skip_broken=true"} {
			must.Error(t, err, w)
		}
	}
	f.SkipBroken = true
	d, err := f.Build(0)
	if err != nil || !slices.Equal(byPixel(d), []int{1, 2, 3}) {
		t.Fatalf("%v", err)
	}
	notes := strings.Join(d.(datasets.Noted).Notes(), "\n")
	if !strings.Contains(notes, "8 of 11 pictures cannot be read and are left out: bad0.png") {
		t.Errorf("notes %q", notes)
	}
	f.Labels, f.Unlabelled = "labels.csv", "skip" // in the folder
	if d, err = f.Build(0); err != nil || !slices.Equal(byPixel(d), []int{3, 2}) || !slices.Equal(datasets.Levels(d), []int{1, 0}) {
		t.Errorf("%v", err)
	}
}

// Names of folders are labels, also if they stand for missing values in tables.
func TestFolderNamesAsLabels(t *testing.T) {
	dir := t.TempDir()
	writePictures(t, dir, "na/x.png", "null/x.png", "us/x.png", "x.png")
	f := newFolder(t, dir)
	f.Labels = "folders"
	d := must.Get(f.Build(0))(t)
	if of := d.Factors()[0]; !slices.Equal(of.Names, []string{"na", "null", "us"}) || !slices.Equal(datasets.Levels(d), []int{0, 1, 2, -1}) {
		t.Errorf("%+v, levels %v", of, datasets.Levels(d))
	}
}

// Two folders with files of equal names, sizes and times have separate pixels. A copy of a folder shares its cached
// set.
func TestFolderSameNames(t *testing.T) {
	f := newFolder(t, "")
	f.Size = nil
	fixed := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	folder := func(levels ...uint8) string {
		dir := t.TempDir()
		for i, level := range levels {
			m := image.NewRGBA(image.Rect(0, 0, 4, 4))
			for p := range m.Pix {
				m.Pix[p] = level | uint8(p%4/3*255)
			}
			var b bytes.Buffer
			must.OK(t, bmp.Encode(&b, m))
			name := fmt.Sprintf("%d.bmp", i)
			placed(t, dir, name, b.String())
			must.OK(t, os.Chtimes(filepath.Join(dir, name), fixed, fixed))
		}
		return dir
	}
	for _, levels := range [][]uint8{{40, 50, 60}, {200, 210, 220}, {40, 50, 60}} {
		f.Path = folder(levels...)
		d := must.Get(f.Build(0))(t)
		pixels := make([]float32, 4*4*3)
		for i, want := range levels {
			if d.Image(i, pixels); pixels[0] != float32(want)/255 {
				t.Errorf("%v: picture %d has the pixel %v", levels, i, pixels[0]*255)
			}
		}
	}
	must.Equal(t, len(must.Get(cache.List())(t)), 2, "sets")
}

// A changed folder is read again, and the old set leaves the cache, except on Windows, where it is still mapped.
func TestFolderChanges(t *testing.T) {
	sets := func(want int) {
		if got := len(must.Get(cache.List())(t)); runtime.GOOS != "windows" {
			must.Equal(t, got, want, "sets")
		}
	}
	dir := t.TempDir()
	writePictures(t, dir, "a.png", "b.png")
	f := newFolder(t, dir)
	built := func() []int {
		d := must.Get(f.Build(0))(t)
		return byPixel(d)
	}
	must.EqualSlices(t, built(), []int{1, 2})
	writePictures(t, dir, "b.png", "c.png")
	must.EqualSlices(t, built(), []int{1, 1, 2})
	sets(1)
	f.Channels = 1
	built()
	sets(2)
	must.OK(t, os.Remove(filepath.Join(dir, "c.png")))
	must.OK(t, os.Remove(filepath.Join(dir, "a.png")))
	placed(t, dir, "b.png", "new")
	err := f.Prepare(t.Context(), func(string, int64, int64) { writePictures(t, dir, "b.png") })
	must.Error(t, err, "b.png: the file changes while it is read; start again", "a file that changes")
}

// checkNotes checks the notes on a folder of pictures without labels.
func checkNotes(t *testing.T, dir string, want ...string) {
	t.Helper()
	f := newFolder(t, dir)
	f.Labels, f.Size = "none", nil
	must.EqualSlices(t, datatest.Build(t, f).(datasets.Noted).Notes(), want, "notes")
}

// A note names pictures that are nearly black, such as 12-bit numbers in 16 bits.
func TestFolderDark(t *testing.T) {
	dir := t.TempDir()
	for i := range 10 {
		m := image.NewGray16(image.Rect(0, 0, 4, 4))
		m.SetGray16(0, 0, color.Gray16{Y: uint16(400 * i)})
		var b bytes.Buffer
		must.OK(t, png.Encode(&b, m))
		placed(t, dir, fmt.Sprint(i, ".png"), b.String())
	}
	want := []string{"all 10 images are nearly black, with pixels up to 0.055 of white; want lighter pixels, such as each times 18"}
	checkNotes(t, dir, want...)
}

// A note names pictures whose 16-bit values become black, also beside light ones. Pictures of zeros are black.
func TestFolderDim(t *testing.T) {
	dir := t.TempDir()
	for i, v := range []color.Color{color.White, color.Black, color.Gray16{Y: 255}, color.RGBA64{G: 9, A: 0xffff}, color.Gray16{Y: 256}} {
		m := draw.Image(image.NewGray16(image.Rect(0, 0, 4, 4)))
		if _, ok := v.(color.RGBA64); ok {
			m = image.NewRGBA64(m.Bounds())
		}
		m.Set(1, 2, v)
		var b bytes.Buffer
		must.OK(t, png.Encode(&b, m))
		placed(t, dir, fmt.Sprint(i, ".png"), b.String())
	}
	want := []string{"2 of 5 pictures are black: their 16-bit values are up to 255 of 65,535; want values times 257: 2.png, 3.png"}
	checkNotes(t, dir, want...)
}

// A note names a number that may stand for unknown.
func TestFolderMarker(t *testing.T) {
	dir := t.TempDir()
	writePictures(t, dir, "a.png", "b.png", "c.png", "d.png", "e.png")
	placed(t, dir, "labels.csv", "file,size\na.png,-1\nb.png,0\nc.png,1\nd.png,2\ne.png,-1\n")
	f := newFolder(t, dir)
	f.Labels = "labels.csv"
	want := []string{"factor size is -1 in 2 rows and 0 to 2 in the others; if -1 means unknown, want an empty field or NaN instead"}
	must.EqualSlices(t, datatest.Build(t, f).(datasets.Noted).Notes(), want, "notes")
}

func TestFolderLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	writePictures(t, dir, "a.png")
	writePictures(t, other, "secret.png")
	for name, to := range map[string]string{"inside.png": "a.png", "outside.png": filepath.Join(other, "secret.png"),
		"nowhere.png": "none.png", "folder": other} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	d, err := newFolder(t, dir).Build(0)
	if err != nil || d.Len() != 2 {
		t.Fatalf("%v", err)
	}
	want := []string{"left out 3 links; want relative links to files within " + dir + ", or files"}
	must.EqualSlices(t, d.(datasets.Noted).Notes(), want, "notes")
	must.OK(t, os.Remove(filepath.Join(dir, "a.png")))
	must.ErrorOf(newFolder(t, dir).Build(0))(t, "left out 4 links; want relative links")
}

// TestFits fits a wide picture with three vertical stripes, and a high picture with three horizontal stripes.
func TestFits(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	for high, dir := range dirs {
		m := image.NewGray(image.Rect(0, 0, 12-8*high, 4+8*high))
		for x := range m.Rect.Dx() {
			for y := range m.Rect.Dy() {
				m.SetGray(x, y, color.Gray{uint8(100 + 50*(max(x, y*high)/4))})
			}
		}
		var b bytes.Buffer
		must.OK(t, png.Encode(&b, m))
		placed(t, dir, "a.png", b.String())
	}
	for _, c := range []struct {
		fit           string
		height, width int
		want          []int
	}{
		{"crop", 3, 3, []int{150, 150, 150, 150, 150, 150, 150, 150, 150}},
		{"crop", 2, 5, []int{100, 125, 150, 175, 200, 100, 125, 150, 175, 200}},
		{"stretch", 3, 3, []int{100, 150, 200, 100, 150, 200, 100, 150, 200}},
		{"pad", 3, 3, []int{0, 0, 0, 100, 150, 200, 0, 0, 0}},
		{"pad", 3, 5, []int{100, 117, 150, 183, 200, 100, 117, 150, 183, 200, 0, 0, 0, 0, 0}},
	} {
		for high, dir := range dirs {
			f := newFolder(t, dir)
			f.Size, f.Channels, f.Fit, f.Filter = datasets.PictureSize{c.height, c.width}, 1, c.fit, "box"
			if high == 1 {
				f.Size = datasets.PictureSize{c.width, c.height}
			}
			d := must.Get(f.Build(0))(t)
			pixels, got := make([]float32, c.height*c.width), make([]int, c.height*c.width)
			d.Image(0, pixels)
			for i, v := range pixels {
				if high == 1 {
					i = i%c.height*c.width + i/c.height
				}
				got[i] = int(v*255 + 0.5)
			}
			must.EqualSlices(t, got, c.want, c.fit, "to", f.Size)
		}
	}
}

// Any table of labels gives levels within their factors, or an error.
func FuzzFolderTable(f *testing.F) {
	f.Add("file,v\na.png,1\nb,word\n", "circular:360")
	f.Add("v;id\n1,5;a\n;b.png\n", "")
	f.Add("file,v\na.png,1e308\nb.png,-1e308\n", "continuous")
	list := &pictures.List{Path: "photos", Files: []pictures.File{{Name: "a.png"}, {Name: "b.png"}, {Name: "s/b.png"}}}
	f.Fuzz(func(t *testing.T, text, kind string) {
		name := must.Write(t, filepath.Join(t.TempDir(), "labels.csv"), text)
		settings := &Folder{Path: "photos", Labels: name, Bins: 20, Unlabelled: "keep"}
		labels, err := settings.readLabels(list)
		if err != nil {
			return
		}
		parsed, err := factor.ParseColumnKind(kind)
		if err != nil {
			return
		}
		rows := table.NewText(labels.source, labels.columns, labels.rows, labels.lines, labels.comma)
		for _, j := range labels.factors {
			of, levels, _, err := settings.factor(rows, j, &parsed)
			if err != nil {
				continue
			}
			if err := factor.Validate([]factor.Factor{of}); err != nil {
				t.Errorf("%+v: %v", of, err)
			}
			for _, l := range levels {
				if l < datasets.Unknown || int(l) >= of.Size {
					t.Errorf("level %d of %+v", l, of)
				}
			}
		}
	})
}

// A change of labels changes the recorded files of runs. Labels with equal levels, and a record without labels, count
// as unchanged.
func TestFolderChanged(t *testing.T) {
	dir := t.TempDir()
	writePictures(t, dir, "a.png", "b.png", "c.png")
	f := newFolder(t, dir)
	f.Labels = "labels.csv"
	files := func(table string) *datasets.Files {
		t.Helper()
		placed(t, dir, f.Labels, table)
		d := must.Get(f.Build(0))(t)
		return datasets.FilesOf(d)
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
		if text := now.Changed(began); (text != "") != c.changed ||
			c.changed && !strings.Contains(text, "the data set folder has changed since the run began: its labels") {
			t.Errorf("%s: %q", name, text)
		}
		old := *began
		old.Labels = ""
		if text := now.Changed(&old); text != "" || old.Changed(now) != "" {
			t.Errorf("%s, of a run from before labels were noted: %q", name, text)
		}
	}
}

// A column of words and numbers is a factor only with an explicit kind. The error names both.
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
