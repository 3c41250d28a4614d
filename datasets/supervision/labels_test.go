package supervision_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/configtest"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

func ordinal(name string, size int) factor.Factor {
	return factor.Factor{Name: name, Size: size, Kind: factor.Ordinal}
}

// trio has 4 x 3 x 5 images.
func trio() *datatest.Toy { return datatest.ToyOf(object(4), ordinal("size", 3), ordinal("x", 5)) }

func TestFactorLabels(t *testing.T) {
	d := trio()
	for fraction, count := range map[float64]int{1: 60, 0.5: 30, 0.1: 6, 0.001: 1, 0.04: 2} {
		s := datatest.Split(t, &FactorLabels{Fraction: fraction, Share: 0.5, Factors: []string{"x", "object"}}, d)
		known := s.Known
		if len(known.Images) != count || !slices.IsSorted(known.Images) || len(slices.Compact(slices.Clone(known.Images))) != count {
			t.Errorf("fraction %v: images %v", fraction, known.Images)
		}
		if len(s.Unlabelled) != 60 || len(s.Groups) != 0 || known.Pairs != nil {
			t.Errorf("fraction %v: %d unlabelled images, %d groups", fraction, len(s.Unlabelled), len(s.Groups))
		}
		must.Equal(t, known.Share == 0, fraction == 1, "fraction", fraction, "share", known.Share)
		if len(known.Factors) != 2 || known.Factors[0].Name != "x" || known.Factors[1].Size != 4 {
			t.Errorf("factors %v", known.Factors)
		}
		levels, all := make([]int32, 2), make([]int, 3)
		for i := range 60 {
			d.FactorsAt(i, all)
			_, want := slices.BinarySearch(known.Images, i)
			switch got := known.At(i, levels); {
			case got != want:
				t.Errorf("image %d is known: %v", i, got)
			case want && (int(levels[0]) != all[2] || int(levels[1]) != all[0]), !want && (levels[0] != -1 || levels[1] != -1):
				t.Errorf("image %d with levels %v has labels %v", i, all, levels)
			}
		}
	}
}

// For one seed, fewer labels are a subset of more labels. Another seed gives other labels.
func TestFactorLabelsSeed(t *testing.T) {
	d := datatest.Build(t, &drawn.Square{Size: 16, Side: 4, Step: 1})
	draw := func(seed uint64, fraction float64) []int {
		s := must.Get((&FactorLabels{Fraction: fraction}).Split(d, rng.New(seed, "supervision")))(t)
		return s.Known.Images
	}
	few, more := draw(1, 0.1), draw(1, 0.3)
	for _, i := range few {
		if !slices.Contains(more, i) {
			t.Errorf("image %d is labelled at 10 %%, not at 30 %%", i)
		}
	}
	if slices.Equal(few, draw(2, 0.1)) || !slices.Equal(few, draw(1, 0.1)) {
		t.Error("labels do not follow the seed")
	}
}

func labelFile[T npy.Element](t *testing.T, shape []int, data ...T) string {
	t.Helper()
	return must.WriteNPY(t, filepath.Join(t.TempDir(), "labels.npy"), shape, data)
}

func TestLabelFile(t *testing.T) {
	d := datatest.ToyOf(ordinal("x", 6))
	path := labelFile(t, []int{6, 2}, int16(0), -1, 1, 4, 2, -300, 0, 0, -1, -1, 1, 2)
	s := datatest.Split(t, &FactorLabels{Fraction: 1, Share: 0.25, File: path, Names: []string{"class", "size"},
		Kinds: factor.ColumnKinds{List: []string{"categorical", "ordinal"}}}, d)
	known := s.Known
	if !slices.Equal(known.Images, []int{0, 1, 2, 3, 5}) || known.Share != 0.25 || len(s.Unlabelled) != 6 {
		t.Errorf("images %v, share %v", known.Images, known.Share)
	}
	if f := known.Factors; len(f) != 2 || f[0].Name != "class" || f[0].Size != 3 || f[0].Kind != factor.Categorical ||
		f[1].Name != "size" || f[1].Size != 5 || f[1].Kind != factor.Ordinal {
		t.Error(f)
	}
	var all []int32
	for i := range 6 {
		levels := make([]int32, 2)
		known.At(i, levels)
		all = append(all, levels...)
	}
	must.EqualSlices(t, all, []int32{0, -1, 1, 4, 2, -1, 0, 0, -1, -1, 1, 2}, "labels")
	notes := []string{"labels of class below 0 mean unknown, in 1 row", "labels of size below 0 mean unknown, in 3 rows"}
	must.EqualSlices(t, known.Notes, notes, "notes")
	// Only images with a label in a single column count.
	known = datatest.Split(t, &FactorLabels{Fraction: 1, Share: 0.5, File: path, Factors: []string{"label1"}}, d).Known
	if !slices.Equal(known.Images, []int{1, 3, 5}) || known.Factors[0].Kind != factor.Categorical || known.Factors[0].Name != "label1" {
		t.Errorf("%v: images %v", known.Factors, known.Images)
	}
	known = datatest.Split(t, &FactorLabels{Fraction: 0.4, File: path}, d).Known
	must.Equal(t, known.Notes[len(known.Notes)-1], "2 of 5 images with labels in "+path+" keep them; fraction: 1 keeps all")
	// one dimension, all levels known: no share
	known = datatest.Split(t, &FactorLabels{Fraction: 1, Share: 0.5, File: labelFile(t, []int{6}, uint8(3), 1, 4, 1, 5, 9)}, d).Known
	if len(known.Images) != 6 || known.Share != 0 || known.Factors[0].Size != 10 {
		t.Errorf("%+v", known)
	}
}

func TestLabelErrors(t *testing.T) {
	long.NotShort(t)
	d := datatest.ToyOf(ordinal("x", 6))
	tests := []struct {
		s    Kind
		want string
	}{
		{&FactorLabels{}, "fraction: 0 is out of range"},
		{&FactorLabels{Fraction: 1.5}, "fraction: 1.5 is out of range"},
		{&FactorLabels{Fraction: 1, Share: 1}, "share: 1 is out of range"},
		{&FactorLabels{Fraction: 1, Share: -1}, "share: -1 is out of range"},
		{&FactorLabels{Fraction: 1, Names: []string{"a"}}, "names: they name the columns of a file"},
		{&FactorLabels{Fraction: 1, Kinds: factor.ColumnKinds{List: []string{"ordinal"}}}, "kinds: they belong"},
		{&FactorLabels{Fraction: 1, Factors: []string{"x", "x"}}, `factors: name 1, "x", is empty or repeated`},
		{&FactorLabels{Fraction: 1, Factors: []string{"z"}}, `labels: factors[0]: there is no factor "z"`},
		{&FactorLabels{Fraction: 1, File: "nothing.npy"}, "nothing.npy"},
		{&FactorLabels{Fraction: 1, File: labelFile(t, []int{5}, 0, 1, 2, 3, 4)}, "labels.npy has 5 rows of 1 number; want a row for each of the 6 images of dataset toy"},
		{&FactorLabels{Fraction: 1, File: labelFile(t, []int{6, 1, 1}, 0, 1, 2, 3, 4, 5)}, "labels.npy: the array has shape [6 1 1]; want two dimensions"},
		{&FactorLabels{Fraction: 1, File: labelFile(t, []int{6, 0}, []int{}...)}, "labels.npy has 6 rows of 0 numbers"},
		{&FactorLabels{Fraction: 1, File: labelFile(t, []int{6}, 0.5, 1, 2, 3, 4, 5)}, "labels.npy: row 0, column 0 is 0.5; want whole numbers (negative: unknown), or the kind circular:PERIOD"},
		{&FactorLabels{Fraction: 1, File: labelFile(t, []int{6, 2}, 0, 0, 1, 1, 2, 2, 2, 1<<24, 4, 4, 5, 5)}, "labels.npy: row 3, column 1 is 16777216; want less than 16777216"},
		{&FactorLabels{Fraction: 1, File: labelFile(t, []int{6, 2}, 0, -1, 1, -1, 2, -2, 2, -4, 4, -1, 5, -1)}, "labels.npy: column 1 has no label"},
		{&FactorLabels{Fraction: 1, Names: []string{"a", "b"}, File: labelFile(t, []int{6}, 0, 1, 2, 3, 4, 5)}, "names: has 2 names; want one for each of the 1 columns"},
		{&FactorLabels{Fraction: 1, Kinds: factor.ColumnKinds{List: []string{"circular", "circular"}}, File: labelFile(t, []int{6}, 0, 1, 2, 3, 4, 5)}, "kinds: has 2 kinds"},
		{&Similarity{Share: 0.5}, "count: 0 is out of range"},
		{&Similarity{Count: 1}, "share: 0 is out of range for the pairs of a batch; want more than 0"},
		{&Similarity{Count: 1, Share: 1}, "share: 1 is out of range for the pairs of a batch; want more than 0"},
		{&Similarity{Count: 1, Share: 0.5, Factors: []string{"y"}}, `there is no factor "y"`},
		{&Similarity{Count: 1, Share: 0.5, Noise: 1}, "noise: 1 is out of range"},
		{&Similarity{Count: 1, Share: 0.5, Noise: -0.1}, "noise: -0.1 is out of range"},
		{&Similarity{Count: 1, Share: 0.5, Noise: math.NaN()}, "noise: NaN is out of range"},
		{&Similarity{Count: 1, Share: 0.5}, `no two images of dataset toy agree in factor "x"`},
	}
	for _, test := range tests {
		must.ErrorOf(test.s.Split(d, rng.New(0, "")))(t, test.want, test.s)
	}
	scalar := &FactorLabels{Fraction: 1, File: labelFile(t, []int{}, 3)}
	must.ErrorOf(scalar.Split(datatest.ToyOf(ordinal("x", 1)), rng.New(0, "")))(t, "has shape []")
	huge := datatest.ToyOf(ordinal("x", 1<<24+1))
	must.ErrorOf((&FactorLabels{Fraction: 1}).Split(huge, rng.New(0, "")))(t, "has 16777217 levels; want at most 16777216")
	for text, want := range map[string]string{
		"supervision: {labels: {fraction: 2}}":      "test.yaml:1:24: supervision.labels.fraction: 2 is out of range",
		"supervision: {similarity: {share: 0}}":     "share: 0 is out of range for the pairs of a batch; want more than 0",
		"supervision: {similarity: {fraction: .1}}": "fraction",
	} {
		must.ErrorOf(configtest.Decode(text))(t, want, text)
	}
}

func TestSimilarity(t *testing.T) {
	d := trio()
	d.Missing = 1 // the last image does not exist
	const count = 30000
	s := datatest.Split(t, &Similarity{Count: count, Share: 0.5, Factors: []string{"x", "object"}}, d)
	known := s.Known
	if len(known.Pairs) != count || len(known.Images) != 59 || known.Images[58] != 58 {
		t.Errorf("%d pairs of %d images", len(known.Pairs), len(known.Images))
	}
	perFactor, first, second := make([]int, 2), make([]int, 59), make([]int, 59)
	a, b := make([]int, 3), make([]int, 3)
	for _, p := range known.Pairs {
		d.FactorsAt(p.A, a)
		d.FactorsAt(p.B, b)
		if k := []int{2, 0}[p.Factor]; p.A == p.B || a[k] != b[k] {
			t.Fatalf("pair %v: levels %v and %v", p, a, b)
		}
		perFactor[p.Factor]++
		first[p.A]++
		second[p.B]++
	}
	if n := perFactor[0]; n < count/2-400 || n > count/2+400 {
		t.Errorf("%d of %d pairs agree in x", n, count)
	}
	// uniform: mean 508, standard deviation 22 (slightly more for second images, because levels differ in size)
	for i := range 59 {
		if first[i] < 400 || first[i] > 620 || second[i] < 400 || second[i] > 620 {
			t.Errorf("image %d is first in %d pairs, second in %d", i, first[i], second[i])
		}
	}
	levels := []int32{7, 7}
	if known.At(3, levels) || levels[0] != -1 || levels[1] != -1 {
		t.Errorf("a similarity gives levels %v", levels)
	}
	// an image alone with its level is in no pair
	odd := datatest.ToyOf(ordinal("x", 3), ordinal("y", 3))
	odd.Missing = 2 // (2, 1) and (2, 2): x = 2 is alone
	known = datatest.Split(t, &Similarity{Count: 200, Share: 0.5, Factors: []string{"x"}}, odd).Known
	must.EqualSlices(t, known.Images, []int{0, 1, 2, 3, 4, 5}, "images")
}

// A fraction of the pairs is wrong. Their images are uniform among the images of different levels.
func TestSimilarityNoise(t *testing.T) {
	d := trio()
	d.Missing = 1
	const count, noise = 40000, 0.3
	s := &Similarity{Count: count, Share: 0.5, Factors: []string{"x", "object"}, Noise: noise}
	wrong, first, second := make([]int, 2), make([]int, 59), make([]int, 59)
	a, b := make([]int, 3), make([]int, 3)
	for _, p := range datatest.Split(t, s, d).Known.Pairs {
		d.FactorsAt(p.A, a)
		d.FactorsAt(p.B, b)
		if k := []int{2, 0}[p.Factor]; a[k] != b[k] {
			wrong[p.Factor]++
			first[p.A]++
			second[p.B]++
		}
	}
	for k, n := range wrong { // 6000 of 20000, standard deviation 65
		if n < 5600 || n > 6400 {
			t.Errorf("factor %d: %d of about %d pairs are wrong", k, n, count/2)
		}
	}
	for i := range 59 { // 203, standard deviation 14
		if first[i] < 135 || first[i] > 275 || second[i] < 135 || second[i] > 275 {
			t.Errorf("image %d is first in %d wrong pairs, second in %d", i, first[i], second[i])
		}
	}
	one := datatest.ToyOf(ordinal("x", 1), ordinal("y", 3))
	must.ErrorOf((&Similarity{Count: 1, Share: 0.5, Noise: 0.1, Factors: []string{"x", "y"}}).Split(one,
		rng.New(0, "")))(t, `differ in factor "x"`, "one level")
}

// A quarter of the images have labels, and every batch draws half of its images from them.
func ExampleFactorLabels() {
	d, _ := (&drawn.Square{Size: 8, Side: 2, Step: 2}).Build(0)
	s, err := (&FactorLabels{Fraction: 0.25, Share: 0.5}).Split(d, rng.New(1, "supervision"))
	if err != nil {
		fmt.Println(err)
		return
	}
	sampler, _ := NewSampler(s, 8, rng.New(1, "batches"))
	if err := sampler.StartEpoch(); err != nil {
		fmt.Println(err)
		return
	}
	for b, ok := sampler.Next(); ok; b, ok = sampler.Next() {
		fmt.Println(b.Indices, b.Levels)
	}
	// Output:
	// [13 14 15 3 10 13 8 6] [3 1 -1 -1 -1 -1 -1 -1 2 2 3 1 2 0 1 2]
	// [1 7 10 8 6 10 13 8] [-1 -1 -1 -1 2 2 2 0 1 2 2 2 3 1 2 0]
	// [6 12 4 0 6 8 13 10] [1 2 -1 -1 -1 -1 -1 -1 1 2 2 0 3 1 2 2]
	// [2 5 11 9 6 13 8 10] [-1 -1 -1 -1 -1 -1 -1 -1 1 2 3 1 2 0 2 2]
}

// The numbers of the levels of an ordinal factor do not matter: the smallest becomes 0 and the largest 1.
func TestLabelsFromOne(t *testing.T) {
	d := datatest.ToyOf(ordinal("x", 6))
	for name, data := range map[string][]int{"from 0": {0, 1, 3, 2, -1, 3}, "from 1": {1, 2, 4, 3, -1, 4}, "tens": {10, 20, 40, 30, -1, 40}} {
		known := datatest.Split(t, &FactorLabels{Fraction: 1, File: labelFile(t, []int{6}, data...),
			Kinds: factor.ColumnKinds{List: []string{"ordinal"}}}, d).Known
		var scaled []float64
		level := make([]int32, 1)
		for i := range 6 {
			if known.At(i, level); level[0] >= 0 {
				scaled = append(scaled, known.Factors[0].Scaled(int(level[0])))
			}
		}
		for i, want := range []float64{0, 1. / 3, 1, 2. / 3, 1} {
			if !(math.Abs(scaled[i]-want) <= 1e-12) {
				t.Errorf("%s: %v", name, scaled)
				break
			}
		}
	}
}

// Labels also come from text tables, as words, numbers from pandas and angles.
func TestLabelTables(t *testing.T) {
	d := datatest.ToyOf(ordinal("x", 4), ordinal("y", 1))
	for _, c := range []struct {
		name, text, kind string
		want             string // name, size, levels, angles in turns
	}{
		{"words and an index", ",shape\n0,heart\n1,ellipse\n2,NA\n3,heart\n", "", "shape 2 [1 0 -1 1] [] ellipse heart"},
		{"pandas, a missing one", "size\n0.0\n1.0\n\"\"\n2.0\n", "ordinal", "size 3 [0 1 -1 2] []"},
		{"degrees", "a\n0\n360\n-90\n270\n", "circular:360", "a 4 [0 0 3 3] []"},
		{"real degrees", "a;\n0;\n4,428;\n-90;\n;\n", "circular:360", "a 3 [0 1 2 -1] [0 0.0123 0.75]"},
		{"words and numbers", "a\n7\nx\nNA\n7\n", "categorical", "a 2 [0 1 -1 0] [] 7 x"},
		{"bins", "a\n0\n1\nNA\n0.26\n", "continuous", "a 3 [0 2 -1 1] []"},
		{"a gap", "a\n0\n3\n1\n0\n", "circular:4", "a 4 [0 3 1 0] []"},
	} {
		path := must.Write(t, filepath.Join(t.TempDir(), "labels.csv"), c.text)
		s := &FactorLabels{Fraction: 1, File: path}
		if c.kind != "" {
			s.Kinds.List = []string{c.kind}
		}
		known := datatest.Split(t, s, d).Known
		f, level, levels, turns := known.Factors[0], make([]int32, 1), []int32{}, []float64{}
		for i := range 4 {
			known.At(i, level)
			levels = append(levels, level[0])
		}
		for _, a := range f.Angles {
			turns = append(turns, a/(2*math.Pi))
		}
		got := strings.TrimSpace(fmt.Sprint(f.Name, f.Size, " ", levels, " ", turns, " ", strings.Join(f.Names, " ")))
		if got != strings.Replace(c.want, " ", "", 1) && got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	for text, want := range map[string]string{
		"a\n0\n1\n-1\n2\n": "line 4, column 0 (a) is -1, which may be an angle or an unknown label", "a\n0\n1\n": "has 2 rows of 1 number; want a row for each of the 4 images",
		"cat\ncow\ncat\ncow\n": "want a row for each of the 4 images of dataset toy; its first line (cat) names the columns",
		"a\n0\nx\n1\n2\n":      `line 3, field 1: "x" is a word, and 0 in line 2 a number`,
	} {
		path := must.Write(t, filepath.Join(t.TempDir(), "labels.csv"), text)
		must.ErrorOf((&FactorLabels{Fraction: 1, File: path,
			Kinds: factor.ColumnKinds{List: []string{"circular:360"}}}).Split(d, rng.New(0, "")))(t, want, text)
	}
}
