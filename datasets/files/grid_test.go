package files_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	. "github.com/unravel-ml/unravel/datasets/files"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

func encode[T npy.Element](t testing.TB, shape []int, data []T) []byte {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, npy.Write(&b, shape, data))
	return b.Bytes()
}

// write makes a folder of arrays.
func write(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		must.Write(t, filepath.Join(dir, name+".npy"), content)
	}
	return dir
}

func ramp(n int) []uint8 {
	b := make([]uint8, n)
	for i := range b {
		b[i] = uint8(i)
	}
	return b
}

func TestGridFolder(t *testing.T) {
	dir := write(t, map[string][]byte{
		"images":  encode(t, []int{6, 2, 3}, ramp(36)),
		"factors": encode(t, []int{6, 2}, []float64{10, 0, 10, 1, 10, 2, 20, 2, 20, 1, 20, 0}),
	})
	d := datatest.Build(t, &GridFolder{Path: dir, Names: []string{"size", "turn"},
		Kinds: factor.ColumnKinds{List: []string{"ordinal", "circular"}}})
	conform(t, d)
	if h, w, c := d.ImageShape(); h != 2 || w != 3 || c != 1 || d.Len() != 6 || d.Name() != filepath.Base(dir) {
		t.Errorf("shape %d %d %d", h, w, c)
	}
	f := d.Factors()
	if f[0].Name != "size" || f[0].Size != 2 || f[0].Kind != factor.Ordinal || f[0].Value(1) != 20 || f[1].Size != 3 ||
		f[1].Values != nil || f[1].Kind != factor.Circular {
		t.Errorf("factors %+v", f)
	}
	pixels, levels := make([]float32, 6), make([]int, 2)
	d.Image(1, pixels)
	d.FactorsAt(3, levels)
	if pixels[2] != float32(8)/255 || !slices.Equal(levels, []int{1, 2}) {
		t.Errorf("pixels %v, levels %v", pixels, levels)
	}
}

// Factors in a text table have the names of its first line, and words are levels.
func TestGridFolderText(t *testing.T) {
	dir := write(t, map[string][]byte{"images": encode(t, []int{4, 2, 3}, ramp(24))})
	must.WriteAll(t, dir, map[string]string{"factors.csv": "colour,size\r\nred,2.5\r\nblue,1\r\n,1\r\nred,2.5\r\n",
		"other.tsv": "3\n3\n3\n1\n"})
	set := &GridFolder{Path: dir}
	d := datatest.Build(t, set)
	conform(t, d)
	f, levels := d.Factors(), make([]int, 2)
	if d.FactorsAt(3, levels); f[0].Name != "colour" || f[0].Kind != factor.Categorical ||
		!slices.Equal(f[0].Names, []string{"blue", "red"}) || !slices.Equal(levels, []int{1, 1}) {
		t.Errorf("factors %+v, levels %v of image 3", f, levels)
	}
	if missing := datasets.Missing(d); !slices.Equal(missing, []int{1, 0}) || f[1].Name != "size" || f[1].Value(1) != 2.5 {
		t.Errorf("factors %+v, %v levels unknown", f, missing)
	}
	if reads := set.Reads(); len(reads) != 2 || reads[1] != (datasets.Read{Key: "path/factors", Path: filepath.Join(dir, "factors.csv")}) {
		t.Errorf("it reads %v", reads)
	}
	must.Write(t, filepath.Join(dir, "factors.txt"), "1\n2\n3\n4\n")
	if notes := datatest.Build(t, set).(datasets.Noted).Notes(); len(notes) != 2 ||
		notes[1] != "factor colour: 0 is blue, 1 is red" || !strings.Contains(notes[0], "factors.txt is not read, as ") || !strings.Contains(notes[0], "factors.csv has the factors; arrays: {factors: factors.txt} would read it") {
		t.Errorf("two tables: notes %q", notes)
	}
	must.Write(t, filepath.Join(dir, "factors.npy"), encode(t, []int{4, 2}, []int64{0, 7, 1, 5, 0, 7, 1, 5}))
	if notes := datatest.Build(t, set).(datasets.Noted).Notes(); len(notes) != 3 ||
		!strings.Contains(notes[0], "factors.npy has the factors; arrays: {factors: factors.csv}") ||
		notes[2] != "factors factor0 and factor1 divide the images into the same groups, so metrics count them twice" {
		t.Errorf("an array and two tables: notes %q", notes)
	}
	marked := &GridFolder{Path: write(t, map[string][]byte{"images": encode(t, []int{5, 2, 3}, ramp(30)),
		"factors": encode(t, []int{5, 1}, []int64{-1, 0, 1, 2, -1})})}
	if notes := datatest.Build(t, marked).(datasets.Noted).Notes(); len(notes) != 1 ||
		!strings.HasPrefix(notes[0], "factor factor0 is -1 in 2 rows and 0 to 2 in the others") {
		t.Errorf("a number for unknown: notes %q", notes)
	}
	mixed := write(t, map[string][]byte{"images": encode(t, []int{4, 2, 3}, ramp(24))})
	must.Write(t, filepath.Join(mixed, "factors.csv"), "id,size\na,1\n7,2\na,1\n7,2\n")
	for _, kinds := range []factor.ColumnKinds{{List: []string{"categorical", "ordinal"}}, {Named: map[string]string{"id": "categorical"}}} {
		if f := datatest.Build(t, &GridFolder{Path: mixed, Kinds: kinds}).Factors(); !slices.Equal(f[0].Names, []string{"7", "a"}) {
			t.Errorf("words and numbers by %v: factors %+v", kinds, f)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "images.npy")} {
		other := datatest.Build(t, &GridFolder{Path: path, Arrays: GridArrays{Factors: "other.tsv"}})
		if f := other.Factors(); len(f) != 1 || f[0].Name != "factor0" || f[0].Value(1) != 3 {
			t.Errorf("%s: factors %+v", path, f)
		}
	}
}

// Angles come from values: a gap moves no level, and the turn from one image to another is the difference of their
// angles.
func TestGridAngles(t *testing.T) {
	for _, c := range []struct {
		kind   string
		values []float64
		want   string // size, angles in turns
	}{
		{"circular:24", []float64{0, 1, 2, 6, 23, 12}, "6 [0 0.0417 0.0833 0.25 0.5 0.958]"},
		{"circular:360", []float64{0, 360, -90, 270, 90, 450}, "4 []"},
		{"circular:1", []float64{0, 0.123456, 0.987654, 0.51, 0.123456, 0}, "4 [0 0.123 0.51 0.988]"},
		{"circular:360", []float64{60, 0, 120, 180, 240, 300}, "6 []"},
		{"angular", []float64{3, 4, 5, 3, 4, 5}, "3 []"},
	} {
		set := &GridFolder{Path: write(t, map[string][]byte{"images": encode(t, []int{6, 1, 1}, ramp(6)),
			"factors": encode(t, []int{6}, c.values)}), Kinds: factor.ColumnKinds{List: []string{c.kind}}}
		d := datatest.Build(t, set)
		conform(t, d)
		f := d.Factors()[0]
		turns := []string{}
		for _, a := range f.Angles {
			turns = append(turns, fmt.Sprintf("%.3g", a/(2*math.Pi)))
		}
		if got := fmt.Sprint(f.Size, " ", turns); got != c.want || f.Kind != factor.Circular {
			t.Errorf("%s %v: %s %v, want %s", c.kind, c.values, got, f.Kind, c.want)
		}
		s := datatest.Split(t, &supervision.Pairs{Count: 3}, d)
		level := make([]int, 1)
		for g, group := range s.Groups {
			from := 0.0
			for m, i := range group {
				d.FactorsAt(i, level)
				if m == 0 {
					from = f.Angle(level[0])
				}
				turn := float64(s.Transformations[g][m])
				if off := math.Remainder(turn-f.Angle(level[0])+from, 2*math.Pi); !(math.Abs(off) <= 1e-6) {
					t.Errorf("%s %v: group %v turns by %v", c.kind, c.values, group, turn)
				}
			}
		}
	}
}

func TestGridFolderForms(t *testing.T) {
	floats := []float32{0, 0.25, 0.5, 1}
	tests := []struct {
		name  string
		files map[string][]byte
		pixel float32 // of image 3
		level int     // of image 3, factor 0
		size  int
	}{
		{"floats", map[string][]byte{"images": encode(t, []int{4, 1, 1}, floats), "factors": encode(t, []int{4}, []int64{0, 1, 2, 3})}, 1, 3, 4},
		{"doubles", map[string][]byte{"images": encode(t, []int{4, 1, 1, 1}, []float64{0, 0.25, 0.5, 0.75}), "factors": encode(t, []int{4, 1}, []float32{5, 2, 5, 2})}, 0.75, 0, 2},
		{"bool", map[string][]byte{"images": encode(t, []int{4, 1, 1}, []bool{false, true, false, true}), "factors": encode(t, []int{4, 1}, []uint8{0, 0, 1, 1})}, 1, 1, 2},
		{"sizes and no factors", map[string][]byte{"images": encode(t, []int{4, 1, 1}, floats), "sizes": encode(t, []int{2}, []int64{2, 2})}, 1, 1, 2},
		{"missing levels", map[string][]byte{"images": encode(t, []int{4, 1, 1}, floats), "factors": encode(t, []int{4, 1}, []int16{0, 2, 4, 6}), "sizes": encode(t, []int{1}, []int32{8})}, 1, 6, 8},
		{"values as sizes say", map[string][]byte{"images": encode(t, []int{4, 1, 1}, floats), "factors": encode(t, []int{4, 1}, []float64{.5, 1.5, 2.5, 3.5}), "sizes": encode(t, []int{1}, []int32{4})}, 1, 3, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := datatest.Build(t, &GridFolder{Path: write(t, test.files)})
			pixels, levels := make([]float32, 1), make([]int, len(d.Factors()))
			d.Image(3, pixels)
			d.FactorsAt(3, levels)
			if pixels[0] != test.pixel || levels[0] != test.level || d.Factors()[0].Size != test.size || d.Factors()[0].Name != "factor0" {
				t.Errorf("pixel %v, levels %v, factors %+v", pixels, levels, d.Factors())
			}
		})
	}
}

// archive writes an .npz file from alternating names and arrays.
func archive(t *testing.T, members ...any) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w := must.Get(z.Create(members[i].(string) + ".npy"))(t)
		must.Get(w.Write(members[i+1].([]byte)))(t)
	}
	must.OK(t, z.Close())
	return must.Write(t, filepath.Join(t.TempDir(), "mine.npz"), b.Bytes())
}

func TestGridArchive(t *testing.T) {
	images, factors := encode(t, []int{4, 1, 2}, ramp(8)), encode(t, []int{4, 2}, []int64{0, 0, 0, 1, 1, 0, 1, 1})
	d := datatest.Build(t, &GridFolder{Path: archive(t, "images", images, "factors", factors)})
	conform(t, d)
	if d.Name() != "mine" || d.Len() != 4 {
		t.Errorf("%s: %d images", d.Name(), d.Len())
	}
	d = datatest.Build(t, &GridFolder{Path: archive(t, "arr_0", images)})
	if n := d.(datasets.Noted).Notes(); d.Len() != 4 || len(n) == 0 ||
		!strings.Contains(n[0], "mine.npz: its only array, arr_0, is read as images without factors") {
		t.Errorf("%d images, notes %q", d.Len(), n)
	}
	empty := t.TempDir()
	for want, path := range map[string]string{
		empty + " has no arrays; want images.npy (N x H x W x C)":                               empty,
		"members 1 and 3 of the archive are both called images.npy; want one":                   archive(t, "images", images, "factors", factors, "images", images),
		`no array "images"; there are factors; want the images' name`:                           archive(t, "factors", factors),
		`no array "images"; there are y, x; want the images' name, such as arrays: {images: x}`: archive(t, "y", factors, "x", images),
	} {
		must.ErrorOf((&GridFolder{Path: path}).Build(0))(t, want)
	}
}

// A set may have a single image with a row of factors.
func TestGridOneImage(t *testing.T) {
	d := datatest.Build(t, &GridFolder{Path: write(t, map[string][]byte{"images": encode(t, []int{1, 2, 3}, ramp(6)),
		"factors": encode(t, []int{1, 3}, []int64{5, 6, 7})})})
	if f := d.Factors(); d.Len() != 1 || len(f) != 3 || f[2].Value(0) != 7 {
		t.Errorf("%d images, factors %+v", d.Len(), f)
	}
}

// Notes name images that are all equal or nearly black, and black images at the end.
func TestGridPixelNotes(t *testing.T) {
	for _, c := range []struct {
		n     int
		pixel func(i int) float32
		real  bool
		want  string
	}{
		{20, func(i int) float32 { return float32(i) / 20 }, false, ""},
		{20, func(int) float32 { return 0.5 }, false, "all 20 images are equal; a model learns nothing from them"},
		{9, func(int) float32 { return 0.5 }, false, ""}, // few
		{20, func(int) float32 { return 0 }, false, "all 20 images are black; a model learns nothing from them"},
		{20, func(i int) float32 { return float32(i) / 400 }, false, "all 20 images are nearly black, with pixels up to 0.047 of white; want lighter pixels, such as each times 21"},
		{20, func(i int) float32 { return float32(i) / 400 }, true, ""},
		{200, func(i int) float32 { return float32(i) / 4000 }, false, "64 of 200 images, seen as a sample, are nearly black, with pixels up to 0.05 of white; want lighter pixels, such as each times 20"},
		{20, func(i int) float32 { return float32(max(0, 17-i)) / 20 }, false, "the last 3 of 20 images are 0 in all pixels; leave them out if they were never filled"},
		{20, func(i int) float32 { return float32(19-i) / 20 }, false, ""}, // one
	} {
		var pixels []float32
		for i := range c.n {
			pixels = append(pixels, 0, c.pixel(i))
		}
		g := &GridFolder{Path: write(t, map[string][]byte{"images": encode(t, []int{c.n, 1, 2}, pixels)}), Real: c.real}
		must.Equal(t, strings.Join(datatest.Build(t, g).(datasets.Noted).Notes(), "; "), c.want)
	}
}

// Floats slightly outside 0 to 1 by rounding are black or white. Others are errors.
func TestGridRounding(t *testing.T) {
	pixels := func(v ...float32) map[string][]byte { return map[string][]byte{"images": encode(t, []int{1, 1, 2}, v)} }
	for _, test := range []struct {
		v     []float32
		scale float64
		want  []float32 // nil: an error
	}{
		{[]float32{1.0000001, -1e-7}, 0, []float32{1, 0}}, {[]float32{1.00001, -1e-5}, 0, []float32{1, 0}}, {[]float32{255.00002, -1e-5}, 255, []float32{1, 0}},
		{[]float32{1.001, 0}, 0, nil}, {[]float32{1.1, 0}, 0, nil}, {[]float32{0, -.001}, 0, nil}, {[]float32{255.1, 0}, 255, nil},
	} {
		for _, round := range []bool{false, true} {
			d, err := (&GridFolder{Path: write(t, pixels(test.v...)), Scale: test.scale, Round: round}).Build(0)
			if test.want == nil {
				must.Error(t, err, "image 0 has a pixel", test.v, round)
				continue
			}
			if err != nil {
				t.Errorf("%v, round %v: %v", test.v, round, err)
				continue
			}
			got := make([]float32, 2)
			if d.Image(0, got); !slices.Equal(got, test.want) {
				t.Errorf("%v, round %v: %v, want %v", test.v, round, got, test.want)
			}
		}
	}
}

func TestGridErrors(t *testing.T) {
	images, factors := encode(t, []int{4, 1, 2}, ramp(8)), encode(t, []int{4, 2}, []int64{0, 0, 0, 1, 1, 0, 1, 1})
	tests := []struct {
		name  string
		files map[string][]byte
		set   GridFolder
		want  string
	}{
		{"no images", map[string][]byte{"factors": factors}, GridFolder{}, "images.npy: " + must.NoFile(t)},
		{"no named factors", map[string][]byte{"images": images}, GridFolder{Arrays: GridArrays{Factors: "levels"}}, "levels.npy: " + must.NoFile(t)},
		{"other factors", map[string][]byte{"images": images, "labels": factors}, GridFolder{}, "labels.npy ([4 2], int64) may be factors; want arrays: {factors: labels}, or arrays: {factors: none}"},
		{"several others", map[string][]byte{"images": images, "labels": factors, "extra": encode(t, []int{4}, make([]int64, 4))}, GridFolder{}, "labels.npy ([4 2], int64) may be factors; want arrays: {factors: extra}"},
		{"image shape", map[string][]byte{"images": encode(t, []int{8}, ramp(8))}, GridFolder{}, "images.npy has shape [8]; want N x H x W"},
		{"channels first", map[string][]byte{"images": encode(t, []int{2, 3, 8, 9}, make([]uint8, 432))}, GridFolder{},
			"images.npy has shape [2 3 8 9], which may be images of 3 or of 9 channels; want channels: first or channels: last"},
		{"small, channels first", map[string][]byte{"images": encode(t, []int{20, 3, 6, 7}, make([]uint8, 2520))}, GridFolder{}, "which may be images of 3 or of 7 channels; want channels: first or channels: last"},
		{"either", map[string][]byte{"images": encode(t, []int{2, 3, 8, 3}, make([]uint8, 144))}, GridFolder{}, "which may be images of 3 or of 3 channels"},
		{"grey or a sequence", map[string][]byte{"images": encode(t, []int{2, 1, 6, 7}, make([]uint8, 84))}, GridFolder{}, "which may be images of 1 or of 7 channels"},
		{"a gap in a circle", map[string][]byte{"images": images, "factors": encode(t, []int{4}, []int64{0, 15, 45, 60})}, GridFolder{Kinds: factor.ColumnKinds{List: []string{"circular"}}},
			"factors.npy ([4]): column 0: the circular values 0, 15, 45, 60 are not evenly spaced; want their period, such as circular:360"},
		{"unknown kind", map[string][]byte{"images": images, "factors": encode(t, []int{4}, []int64{0, 1, 2, 3})}, GridFolder{Kinds: factor.ColumnKinds{List: []string{"round"}}}, `kinds: unknown kind "round"`},
		{"real pixels", map[string][]byte{"images": images, "factors": factors}, GridFolder{Real: true}, "holds uint8, which are pixels; want floats, or real: false"},
		{"real NaN", map[string][]byte{"images": encode(t, []int{2, 2}, []float32{-3, 4, 0, float32(math.Inf(1))}), "factors": encode(t, []int{2}, []int64{0, 1})}, GridFolder{Real: true},
			"image 1 has a number +Inf; want finite numbers"},
		{"empty", map[string][]byte{"images": encode(t, []int{0, 2, 2}, ramp(0))}, GridFolder{}, "images.npy has shape [0 2 2]"},
		{"integers", map[string][]byte{"images": encode(t, []int{1, 2, 2}, []int32{1, 2, 3, 4})}, GridFolder{}, "images.npy ([1 2 2]) holds int32; want uint8"},
		{"range", map[string][]byte{"images": encode(t, []int{2, 1, 2}, []float32{0, 1, 0, 255})}, GridFolder{}, "image 1 has a pixel 255; want 0 to 1"},
		{"negative float", map[string][]byte{"images": encode(t, []int{2, 1, 2}, []float32{0, 1, -1, 1})}, GridFolder{}, "image 1 has a pixel -1; want 0 to 1, or real: true for real numbers"},
		{"NaN pixel", map[string][]byte{"images": encode(t, []int{1, 1, 1}, []float64{math.NaN()})}, GridFolder{}, "image 0 has a pixel NaN; want finite numbers"},
		{"large factors", map[string][]byte{"images": images, "factors": encode(t, []int{4}, []int64{0, 1, 1 << 60, 1<<60 + 1})}, GridFolder{}, "has 1152921504606846976 and 1152921504606846977, which are too large to tell apart"},
		{"rows", map[string][]byte{"images": images, "factors": encode(t, []int{3, 2}, make([]int64, 6))}, GridFolder{}, "factors.npy has shape [3 2]; want 4 x K"},
		{"infinite factor", map[string][]byte{"images": images, "factors": encode(t, []int{4}, []float64{0, math.Inf(1), 1, 2})}, GridFolder{}, "row 1, column 0 is +Inf; want finite numbers, or NaN"},
		{"no known factor", map[string][]byte{"images": images, "factors": encode(t, []int{4}, []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()})}, GridFolder{}, "column 0: all numbers are NaN"},
		{"scale of real numbers", nil, GridFolder{Real: true, Scale: 2}, "scale: is for pixels"},
		{"rounded real numbers", nil, GridFolder{Real: true, Round: true}, "round: is for pixels"},
		{"scale", nil, GridFolder{Scale: -1}, "scale: -1 is out of range"},
		{"another folder", nil, GridFolder{Arrays: GridArrays{Factors: "../x.csv"}}, `arrays.factors: "../x.csv" is not a table beside the images; want a file`},
		{"axis", nil, GridFolder{Channels: "middle"}, `channels: "middle" is not known; want auto, first, last`},
		{"white 1", map[string][]byte{"images": encode(t, []int{2, 1, 2}, []uint8{0, 1, 1, 0})}, GridFolder{}, "the largest number is 1; want scale: 1 if that is white, or scale: 255"},
		{"white 255", map[string][]byte{"images": encode(t, []int{2, 1, 2}, []uint16{0, 1, 200, 0})}, GridFolder{}, "the largest number is 200; want scale: 255 if that is white, or scale: 65535"},
		{"beyond white", map[string][]byte{"images": encode(t, []int{2, 1, 2}, []uint8{0, 1, 9, 12})}, GridFolder{Scale: 10}, "image 1 has a pixel 12; want 0 to 10, the value of white"},
		{"negative", map[string][]byte{"images": encode(t, []int{2, 1, 2}, []int16{0, 1, 9, -1})}, GridFolder{Scale: 10}, "image 1 has a pixel -1; want 0 to 10"},
		{"rounded NaN", map[string][]byte{"images": encode(t, []int{1, 1, 2}, []float64{1, math.NaN()})}, GridFolder{Round: true}, "image 0 has a pixel NaN; want finite numbers"},
		{"sizes", map[string][]byte{"images": images, "factors": factors, "sizes": encode(t, []int{3}, []int64{2, 2, 2})}, GridFolder{}, "sizes.npy has 3 numbers"},
		{"size 0", map[string][]byte{"images": images, "factors": factors, "sizes": encode(t, []int{2}, []int64{0, 2})}, GridFolder{}, "number 0 is 0; want 1 to"},
		{"sizes shape", map[string][]byte{"images": images, "factors": factors, "sizes": encode(t, []int{1, 2}, []int64{2, 2})}, GridFolder{}, "sizes.npy has shape [1 2]"},
		{"not the sizes", map[string][]byte{"images": images, "factors": encode(t, []int{4}, []float64{0, 1, 2.5, 3}), "sizes": encode(t, []int{1}, []int64{3})}, GridFolder{}, "4 distinct values from 0 to 3; want levels 0 to 2"},
		{"not full", map[string][]byte{"images": images, "sizes": encode(t, []int{2}, []int64{2, 3})}, GridFolder{}, "the 4 images of"},
		{"names", map[string][]byte{"images": images, "factors": factors}, GridFolder{Names: []string{"a"}}, "names: has 1 name; want one for each of the 2 factors"},
		{"kinds", map[string][]byte{"images": images, "factors": factors}, GridFolder{Kinds: factor.ColumnKinds{List: []string{"circular"}}}, "kinds: has 1 kind;"},
		{"twins", map[string][]byte{"images": images, "factors": factors}, GridFolder{Names: []string{"a", "a"}}, "repeated"},
		{"truncated", map[string][]byte{"images": images[:len(images)-1], "factors": factors}, GridFolder{}, "truncated"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.set.Path = write(t, test.files)
			must.ErrorOf(test.set.Build(0))(t, test.want)
		})
	}
	text := write(t, map[string][]byte{"images": images})
	for _, c := range []struct {
		text, want string
		set        GridFolder
	}{
		{"a,b\n0,1\n", "factors.csv has 1 row; want a row for each of the 4 images", GridFolder{}},
		{"", "factors.csv is empty", GridFolder{}},
		{"a,b\n9007199254740992,.5\n9007199254740993,1\n1,2\n2,\n", "column 0: has 9007199254740992 and 9007199254740993, which are too large to tell apart", GridFolder{}},
		{"a,b\n0,x\n0,y\n1,x\n1,2\n", `factors.csv: line 2, field 2: "x" is a word, and 2 in line 5 a number`, GridFolder{}},
		{"a\nx\ny\nx\ny\n", `kinds: factor a has words such as "x"; want categorical`, GridFolder{Kinds: factor.ColumnKinds{List: []string{"ordinal"}}}},
		{"a\n1\n2\n3\n4\n", "other.csv: " + must.NoFile(t), GridFolder{Arrays: GridArrays{Factors: "other.csv"}}},
	} {
		must.Write(t, filepath.Join(text, "factors.csv"), c.text)
		c.set.Path = text
		must.ErrorOf(c.set.Build(0))(t, c.want, c.text)
	}
	if _, err := (&GridFolder{Path: text, Arrays: GridArrays{Factors: "none"}}).Build(0); err != nil {
		t.Errorf("without factors: %v", err)
	}
	other := must.Write(t, filepath.Join(t.TempDir(), "images.txt"), "images")
	for path, want := range map[string]string{"": "path: is missing", other + "x": must.NoFile(t),
		other: "is no file of arrays; want .npy, .npz, HDF5"} {
		must.ErrorOf((&GridFolder{Path: path}).Build(0))(t, want, path)
	}
}

// Images of any size and channels, sequences and vectors keep their order.
func TestGridFolderShapes(t *testing.T) {
	const n = 3
	for _, tt := range []struct{ shape, want []int }{
		{[]int{n, 20}, []int{1, 20, 1}}, {[]int{n, 300}, []int{1, 300, 1}}, {[]int{n, 1}, []int{1, 1, 1}},
		{[]int{n, 1, 64, 2}, []int{1, 64, 2}}, {[]int{n, 1, 64, 16}, []int{1, 64, 16}}, {[]int{n, 1, 1, 40}, []int{1, 1, 40}}, {[]int{n, 1, 1, 12}, []int{1, 1, 12}}, {[]int{n, 4, 4, 3}, []int{4, 4, 3}},
		{[]int{n, 16, 16}, []int{16, 16, 1}}, {[]int{n, 17, 31}, []int{17, 31, 1}}, {[]int{n, 256, 16, 4}, []int{256, 16, 4}},
		{[]int{n, 33, 16, 16}, []int{33, 16, 16}}, {[]int{n, 40, 1, 3}, []int{40, 1, 3}}, {[]int{n, 5, 9, 17}, []int{5, 9, 17}},
	} {
		size := tt.want[0] * tt.want[1] * tt.want[2]
		numbers, bytes := make([]float32, n*size), make([]uint8, n*size)
		for i := range numbers {
			bytes[i] = uint8(i)
			numbers[i] = float32(i) - float32(size)
		}
		factors := encode(t, []int{n}, []int64{0, 1, 2})
		for name, images := range map[string][]byte{"uint8": encode(t, tt.shape, bytes), "real": encode(t, tt.shape, numbers)} {
			d := datatest.Build(t, &GridFolder{Path: write(t, map[string][]byte{"images": images, "factors": factors}), Real: name == "real"})
			conform(t, d)
			if h, w, c := d.ImageShape(); !slices.Equal([]int{h, w, c}, tt.want) || datasets.RealValued(d) != (name == "real") {
				t.Errorf("%s %v: images of %d x %d x %d, real-valued: %v; want %v", name, tt.shape, h, w, c, datasets.RealValued(d), tt.want)
			}
			pixels := make([]float32, size)
			d.Image(2, pixels)
			for i, v := range pixels {
				want := numbers[2*size+i]
				if name == "uint8" {
					want = float32(bytes[2*size+i]) / 255
				}
				if v != want {
					t.Fatalf("%s %v: number %d of image 2 is %v, want %v", name, tt.shape, i, v, want)
				}
			}
		}
	}
}

func FuzzGridFolder(f *testing.F) {
	f.Add(encode(f, []int{4, 1, 2}, ramp(8)), encode(f, []int{4, 2}, []int64{0, 0, 0, 1, 1, 0, 1, 1}), encode(f, []int{2}, []int64{2, 2}))
	f.Add(encode(f, []int{2, 1, 1}, []float32{0, 1}), encode(f, []int{2}, []float64{0.5, -3}), []byte{})
	f.Add(encode(f, []int{2, 3}, []float32{-1, 0, 2, 7, 1, 1}), encode(f, []int{2}, []int64{0, 1}), []byte{})
	f.Add(encode(f, []int{4, 1, 1, 1}, []bool{true, false, true, true}), []byte{}, encode(f, []int{2}, []uint8{2, 2}))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, images, factors, sizes []byte) {
		for name, content := range map[string][]byte{"images": images, "factors": factors, "sizes": sizes} {
			path := filepath.Join(dir, name+".npy")
			os.Remove(path)
			if len(content) == 0 {
				continue
			}
			must.Write(t, path, content)
		}
		real := len(images)%2 == 1 // read half of the inputs as real numbers
		d, err := (&GridFolder{Path: dir, Real: real}).Build(0)
		if err != nil {
			return
		}
		h, w, c := d.ImageShape()
		pixels, levels := make([]float32, h*w*c), make([]int, len(d.Factors()))
		for i := range d.Len() {
			d.Image(i, pixels)
			d.FactorsAt(i, levels)
			for k, l := range levels {
				if l < datasets.Unknown || l >= d.Factors()[k].Size {
					t.Fatalf("image %d: level %d of %+v", i, l, d.Factors()[k])
				}
			}
			for _, v := range pixels {
				if v-v != 0 || !real && !(v >= 0 && v <= 1) {
					t.Fatalf("image %d: pixel %v", i, v)
				}
			}
		}
	})
}
