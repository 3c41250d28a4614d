package drawn_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	. "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/configtest"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// twin returns a rendered twin of a public set with default settings. Tests share drawn images; benchmarks build a new
// set.
func twin(t testing.TB, name string) datasets.Dataset {
	t.Helper()
	if _, test := t.(*testing.T); test && built[name] != nil {
		return built[name]
	}
	c := must.Get(catalog.Named(name))(t)
	built[name] = datatest.Build(t, c.Value)
	return built[name]
}

var built = map[string]datasets.Dataset{}

var twinNames = []string{"cars", "norb", "arm"}

// The names, kinds, sizes and order of the factors agree with the public sets.
func TestTwinsFacts(t *testing.T) {
	long.NotShort(t)
	for name, want := range map[string]string{
		"cars": "17568 of 64 x 64 x 3: elevation 4 ordinal 5 41, azimuth 24 circular 0 345, object 183 categorical 0 182",
		"norb": "48600 of 64 x 64 x 1: category 5 categorical 0 4, elevation 9 ordinal 30 70, azimuth 18 circular 0 340, lighting 6 categorical 0 5",
		"arm": "1036800 of 64 x 64 x 3: object_color 6 categorical 0 5, object_shape 6 categorical 0 5, object_size 2 ordinal 0.17 0.27, camera_height 3 ordinal 10 54, " +
			"background_color 3 categorical 0 2, horizontal_axis 40 ordinal -80 80, vertical_axis 40 ordinal -8 70",
	} {
		d := twin(t, name)
		h, w, c := d.ImageShape()
		got := fmt.Sprintf("%d of %d x %d x %d:", d.Len(), h, w, c)
		for _, f := range d.Factors() {
			got += fmt.Sprintf(" %s %d %v %.4g %.4g,", f.Name, f.Size, f.Kind, f.Value(0), f.Value(f.Size-1))
		}
		if got = strings.TrimSuffix(got, ","); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestTwinsSettings(t *testing.T) {
	long.NotShort(t)
	for _, b := range long.Sample([]datasets.Builder{
		&Cars{Size: 32, Elevations: 1, Azimuths: 3, Objects: 2},
		&Cars{Size: 97, Elevations: 2, Azimuths: 1, Objects: 1},
		&Norb{Size: 16, Instances: 2, Elevations: 1, Azimuths: 3, Lightings: 2},
		&Norb{Size: 40, Instances: 3, Elevations: 2, Azimuths: 2, Lightings: 6, Instance: true},
		&Arm{Size: 256, Colours: 1, Shapes: 2, Sizes: 2, Heights: 4, Backgrounds: 2, Horizontal: 2, Vertical: 1},
		&Arm{Size: 32, Colours: 2, Shapes: 1, Sizes: 1, Heights: 1, Backgrounds: 1, Horizontal: 1, Vertical: 3},
	}, 4) {
		conform(t, datatest.Build(t, b))
	}
	for text, want := range map[string]string{
		"dataset: {cars: {objects: 0}}":      "objects: 0 is out of range; want 1 to 1024",
		"dataset: {cars: {size: 8}}":         "size: 8 is out of range; want 16 to 256 pixels",
		"dataset: {cars: {azimuths: 1025}}":  "want 1 to 1024",
		"dataset: {norb: {instances: 11}}":   "instances: 11 is out of range; want 1 to 10",
		"dataset: {norb: {lightings: 7}}":    "want 1 to 6",
		"dataset: {arm: {colours: 7}}":       "colours: 7 is out of range; want 1 to 6",
		"dataset: {arm: {sizes: 3}}":         "want 1 to 2",
		"dataset: {arm: {horizontal: 1000}}": "want 1 to 256",
	} {
		must.ErrorOf(configtest.Decode(text))(t, want, text)
	}
}

// The factor instance leaves images unchanged and adds a level.
func TestNorbInstance(t *testing.T) {
	long.NotShort(t)
	d := twin(t, "norb")
	all := datatest.Build(t, &Norb{Size: 64, Instances: 10, Elevations: 9, Azimuths: 18, Lightings: 6, Instance: true})
	names := ""
	for _, f := range all.Factors() {
		names += f.Name + " "
	}
	if names != "category instance elevation azimuth lighting " || d.Len() != all.Len() {
		t.Errorf("%d images of %s", all.Len(), names)
	}
	conform(t, all)
	p, q, levels, four := make([]float32, 64*64), make([]float32, 64*64), make([]int, 5), make([]int, 4)
	for i := 0; i < d.Len(); i += 1777 {
		d.Image(i, p)
		all.Image(i, q)
		d.FactorsAt(i, four)
		all.FactorsAt(i, levels)
		if !slices.Equal(p, q) || !slices.Equal(four, append(levels[:1:1], levels[2:]...)) {
			t.Errorf("image %d: levels %v, of all factors %v", i, four, levels)
		}
	}
}

// Adjacent levels of each factor give different pictures, for all levels of the other factors. Any two levels of a
// categorical factor give different pictures for some levels of the others.
func TestTwinsFactorsShow(t *testing.T) {
	long.NotShort(t)
	pictures := 10
	if long.Enabled() {
		pictures = 30
	}
	for _, name := range twinNames {
		d := twin(t, name)
		if name == "norb" {
			d = datatest.Build(t, &Norb{Size: 64, Instances: 10, Elevations: 9, Azimuths: 18, Lightings: 6, Instance: true})
		}
		grid := factor.Grid(d.Factors())
		h, w, c := d.ImageShape()
		p, q := make([]float32, h*w*c), make([]float32, h*w*c)
		s := rng.New(4, "twins")
		for k, f := range grid {
			least := math.Inf(1)
			for range pictures {
				levels := make([]int, len(grid))
				for j, g := range grid {
					levels[j] = s.IntN(g.Size)
				}
				d.Image(grid.Index(levels), p)
				from := levels[k]
				if f.Kind == factor.Categorical {
					levels[k] = (from + 1 + s.IntN(f.Size-1)) % f.Size
				} else {
					levels[k] = (from + 1) % f.Size
				}
				d.Image(grid.Index(levels), q)
				diff := distance(p, q)
				if diff < least {
					least = diff
				}
				if !(diff >= 0.02) {
					t.Errorf("%s: %s %d looks like %d at %v (distance %v)", name, f.Name, levels[k], from, levels, diff)
				}
			}
			t.Logf("%s: %s: least squared distance %.3g", name, f.Name, least)
		}
	}
}

// BenchmarkTwins draws images for the first time, copies kept images, and builds the sets. It also loads batches of 64
// of 6400 images, in the first epoch and in later epochs.
func BenchmarkTwins(b *testing.B) {
	for _, name := range twinNames {
		b.Run("first/"+name, func(b *testing.B) {
			d := twin(b, name)
			h, w, c := d.ImageShape()
			pixels, i := make([]float32, h*w*c), 0
			for b.Loop() {
				d.Image(i%d.Len(), pixels)
				i += 100003
			}
		})
		b.Run("again/"+name, func(b *testing.B) {
			d := twin(b, name)
			h, w, c := d.ImageShape()
			pixels, i := make([]float32, h*w*c), 0
			for n := range 1000 {
				d.Image(n*17%d.Len(), pixels)
			}
			for b.Loop() {
				d.Image(i%1000*17, pixels)
				i++
			}
		})
		b.Run("build/"+name, func(b *testing.B) {
			for b.Loop() {
				twin(b, name)
			}
		})
		b.Run("loader/first/"+name, func(b *testing.B) { benchmarkEpoch(b, name, false) })
		b.Run("loader/later/"+name, func(b *testing.B) { benchmarkEpoch(b, name, true) })
	}
}

// benchmarkEpoch loads 100 batches of 64 images, of a new set or of a set with drawn images.
func benchmarkEpoch(b *testing.B, name string, later bool) {
	const batches, batch = 100, 64
	load := func(d datasets.Dataset) {
		s := datatest.Sampler(b, datatest.Split(b, &supervision.None{}, d), batch)
		l := supervision.NewLoader(d, s)
		defer l.Close()
		must.OK(b, l.StartEpoch())
		for range batches {
			if _, _, ok := l.Next(); !ok {
				b.Fatal("the epoch has ended")
			}
		}
	}
	d := twin(b, name)
	if later {
		load(d)
	}
	for b.Loop() {
		if !later {
			b.StopTimer()
			d = twin(b, name)
			b.StartTimer()
		}
		load(d)
	}
	b.ReportMetric(float64(b.N*batches*batch)/b.Elapsed().Seconds(), "images/s")
}
