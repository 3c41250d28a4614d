package export_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/export"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestMain(m *testing.M) { os.Exit(long.Run(m)) }

// choice reads the value of the key dataset.
func choice(t *testing.T, text string) catalog.Choice {
	t.Helper()
	var c struct {
		Dataset catalog.Choice `yaml:"dataset"`
	}
	must.OK(t, config.Load("test", []byte("dataset: "+text), &c))
	return c.Dataset
}

func build(t *testing.T, text string) datasets.Dataset {
	t.Helper()
	return must.Get(choice(t, text).Build(1))(t)
}

func write(t *testing.T, dir string, d datasets.Dataset, shard int64) *export.Set {
	t.Helper()
	done := 0
	s, err := export.Write(context.Background(), dir, d, export.Source{Dataset: d.Name()}, shard, func(n int) { done = n })
	must.OK(t, err)
	must.Equal(t, done, d.Len(), "progress ends at")
	return s
}

// same compares two data sets bit for bit. It compares the values of ordinal levels only if values is true.
func same(t *testing.T, got, want datasets.Dataset, values bool) {
	t.Helper()
	h, w, c := want.ImageShape()
	if gh, gw, gc := got.ImageShape(); gh != h || gw != w || gc != c || got.Len() != want.Len() ||
		datasets.RealValued(got) != datasets.RealValued(want) {
		t.Fatalf("%d images of %d x %d x %d, want %d of %d x %d x %d", got.Len(), gh, gw, gc, want.Len(), h, w, c)
	}
	a, b := make([]float32, h*w*c), make([]float32, h*w*c)
	for i := range want.Len() {
		got.Image(i, a)
		want.Image(i, b)
		for p := range b {
			if math.Float32bits(a[p]) != math.Float32bits(b[p]) {
				t.Fatalf("image %d: number %d is %v, want %v", i, p, a[p], b[p])
			}
		}
	}
	if !reflect.DeepEqual(datasets.Levels(got), datasets.Levels(want)) || !reflect.DeepEqual(datasets.Missing(got), datasets.Missing(want)) {
		t.Error("levels differ")
	}
	for j, f := range want.Factors() {
		g := got.Factors()[j]
		if g.Name != f.Name || g.Size != f.Size || g.Kind != f.Kind {
			t.Errorf("factor %d is %s, %d, %v; want %s, %d, %v", j, g.Name, g.Size, g.Kind, f.Name, f.Size, f.Kind)
			continue
		}
		for l := range f.Size {
			if f.Kind == factor.Circular && math.Float64bits(g.Angle(l)) != math.Float64bits(f.Angle(l)) {
				t.Errorf("angle %d of %s is %v, want %v", l, f.Name, g.Angle(l), f.Angle(l))
			}
			if values && f.Kind != factor.Circular && g.Value(l) != f.Value(l) {
				t.Errorf("value %d of %s is %v, want %v", l, f.Name, g.Value(l), f.Value(l))
			}
		}
	}
}

// The data set grid reads an export bit for bit, in one or several files.
func TestGridReadsExport(t *testing.T) {
	type example struct {
		set, kind string
		values    bool
	}
	for _, test := range long.Sample([]example{
		{"{square: {size: 8, side: 3}}", "uint8", true},
		{"{flatland: {}}", "float32", true},
		{"{arrow: {size: 8, hues: 4, rotations: 3}}", "float32", false},
		{"{bumps: {}}", "float32", true},
		{"{turntable: {objects: 2, hues: 3, views: 4, size: 16}}", "uint8", false},
		{"{poses: {rotations: octahedral, hues: 2, size: 16}}", "uint8", false},
		{"{spaceshapes: {samples: 50}}", "uint8", false},
		{"{chopsticks: {samples: 50}}", "float32", false},
	}, 3) {
		t.Run(test.set, func(t *testing.T) {
			want := build(t, test.set)
			dir := t.TempDir()
			s := write(t, dir, want, 2<<30)
			if s.Type != test.kind || len(s.Images) != 1 {
				t.Errorf("%s in %q, want %s", s.Type, s.Images, test.kind)
			}
			same(t, build(t, s.Config(dir)), want, test.values)

			h, w, c := want.ImageShape()
			bytes := map[string]int{"uint8": 1, "float32": 4}[s.Type]
			s = write(t, dir, want, int64(h*w*c*bytes*(want.Len()/3+1)))
			must.Equal(t, len(s.Images), 3, "images in", s.Images)
			if _, err := os.Stat(filepath.Join(dir, "images.npy")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("images.npy: %v", err)
			}
			same(t, build(t, s.Config(dir)), want, test.values)
		})
	}
}

// An export preserves unknown levels, gaps and angles of a user's images.
func TestIncomplete(t *testing.T) {
	factors := []factor.Factor{
		{Name: "a", Size: 4, Kind: factor.Ordinal},
		{Name: "turn", Size: 3, Kind: factor.Circular, Angles: []float64{0.1, 1, 2.5}},
		{Name: "weight", Size: 2, Kind: factor.Ordinal, Values: []float64{-1.5, 7}},
	}
	levels := [][]int{{0, 0, 0}, {3, 1, datasets.Unknown}, {datasets.Unknown, 2, 1}, {0, 0, 1}}
	want := must.Get(datasets.FromPixels("mine", []uint8{0, 1, 2, 3, 4, 5, 6, 255}, 1, 2, 1, factors, levels))(t)
	dir := t.TempDir()
	s := write(t, dir, want, 2<<30)
	if s.Type != "uint8" || len(s.Lost) > 0 {
		t.Errorf("%s, %q", s.Type, s.Lost)
	}
	same(t, build(t, s.Config(dir)), want, true)
}

// Without a scale, bytes of 0 and 1 would be read as black and white.
func TestDark(t *testing.T) {
	want := must.Get(datasets.FromPixels("dark", []uint8{0, 1, 1, 0}, 1, 2, 1, nil, nil))(t)
	dir := t.TempDir()
	s := write(t, dir, want, 2<<30)
	same(t, build(t, s.Config(dir)), want, true)
}

func TestForeignFolder(t *testing.T) {
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "images.npy"), "mine")
	_, err := export.Write(context.Background(), dir, build(t, "{square: {size: 8, side: 3}}"), export.Source{}, 2<<30, func(int) {})
	must.Error(t, err, "images.npy: no export has written this array")
	if text, _ := os.ReadFile(filepath.Join(dir, "images.npy")); string(text) != "mine" {
		t.Errorf("images.npy is %q", text)
	}
}

// A changed or missing shard is an error.
func TestShardErrors(t *testing.T) {
	d := build(t, "{bumps: {}}")
	h, w, c := d.ImageShape()
	dir := t.TempDir()
	s := write(t, dir, d, int64(h*w*c)*4*int64(d.Len()/3+1))
	read := func() error {
		_, err := choice(t, s.Config(dir)).Build(0)
		return err
	}
	second := filepath.Join(dir, s.Images[1])
	text := must.Read(t, second)
	for _, damage := range []struct {
		text []byte
		want string
	}{{text[:len(text)-8], s.Images[1]}, {nil, "want"}} {
		must.Write(t, second, damage.text)
		if damage.text == nil {
			must.OK(t, os.Remove(second))
		}
		must.Error(t, read(), damage.want, len(damage.text))
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "export")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	d, err := (&drawn.Square{Size: 8, Side: 3, Step: 1}).Build(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := export.Write(context.Background(), dir, d, export.Source{Dataset: "square"}, 2<<30, func(int) {})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.Images, set.Type, set.Shape)
	// Output: [images.npy] uint8 [64 8 8 1]
}
