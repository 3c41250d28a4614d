package augment

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/race"
)

type settings struct {
	Views *Views `yaml:"views"`
}

func load(text string) (*Views, error) {
	var s settings
	err := config.Load("a.yaml", []byte(text), &s)
	return s.Views, err
}

func TestConfig(t *testing.T) {
	v, err := load("views: {}")
	if err != nil || v.Count != 2 || !reflect.DeepEqual(v.Pipeline, negativeFree()) || v.Second != nil || v.Shared {
		t.Errorf("%+v, %v", v, err)
	}
	v, err = load("views: {count: 3, pipeline: [flip, {jitter: {hue: 0.1, probability: 0.5}}, {normalise: {mean: [0.5], deviation: [0.25]}}], second: [{grayscale: {probability: 1}}, {normalise: {mean: [0.5], deviation: [0.25]}}], shared: true}")
	must.OK(t, err)
	want := Pipeline{op("flip", &Flip{Chance{0.5}}), op("jitter", &Jitter{Chance{0.5}, 0.8, 0.8, 0.8, 0.1}),
		op("normalise", &Normalise{[]float64{0.5}, []float64{0.25}})}
	second := Pipeline{op("grayscale", &Grayscale{Chance{1}}), want[2]}
	if v.Count != 3 || !v.Shared || !reflect.DeepEqual(v.Pipeline, want) || !reflect.DeepEqual(v.Second, second) {
		t.Errorf("%+v", v)
	}
	if v, err = load("views: {pipeline: []}"); err != nil || v.Pipeline == nil || len(v.Pipeline) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err = load("views: {pipeline: negative-free, second: null}"); err != nil || v.Second != nil {
		t.Errorf("%+v, %v", v, err)
	}
	// a stored config gives the same views: no second pipeline differs from an empty one
	for _, want := range []*Views{{Pipeline: negativeFree(), Count: 2},
		{Pipeline: Pipeline{}, Second: Pipeline{}, Count: 2}, {Pipeline: Pipeline{op("normalise", NewNormalise())}, Count: 2}} {
		text := must.Get(config.Encode(settings{want}))(t)
		if again, err := load(string(text)); err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%+v, %v of\n%s", again, err, text)
		}
	}
	for _, e := range Presets.Entries {
		p := e.New()
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		if err := p.Suits(64, 64, 3); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		text := must.Get(config.Encode(settings{&Views{Pipeline: p, Second: p, Count: 2}}))(t)
		if again, err := load(string(text)); err != nil || !reflect.DeepEqual(again, &Views{Pipeline: p, Second: p, Count: 2}) {
			t.Errorf("%s: %+v, %v of\n%s", e.Name, again, err, text)
		}
		for _, o := range p {
			if v, ok := o.Value.(config.Validator); ok && v.Validate() != nil {
				t.Errorf("%s: %s: %v", e.Name, o.Name, v.Validate())
			}
		}
	}
}

// The settings of Cao et al. 2022, appendix A.1.
func TestNegativeFree(t *testing.T) {
	preset := must.Get(Presets.Lookup("negative-free-normalised"))(t)
	p := preset.New()
	text, _ := config.Encode(struct {
		P Pipeline `yaml:"p"`
	}{p})
	flat := strings.Join(strings.Fields(string(text)), " ")
	want := "p: - jitter: probability: 0.3 brightness: 0.8 contrast: 0.8 saturation: 0.8 hue: 0.2 - flip: probability: 0.5 " +
		"- blur: probability: 0.2 kernel: 3 sigma: [1.0, 2.0] - crop: probability: 1.0 scale: [0.6, 1.0] aspect: [0.75, 1.3333333333333333] " +
		"- normalise: mean: [0.485, 0.456, 0.406] deviation: [0.229, 0.224, 0.225]"
	must.Equal(t, flat, want)
	plain := p.Plain()
	if len(plain) != 1 || plain[0].Name != "normalise" || negativeFree().Plain() != nil {
		t.Errorf("plain: %+v", plain)
	}
}

func TestConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		"views: {pipeline: negativ-free}":                       `a.yaml:1:19: views.pipeline: unknown pipeline "negativ-free"; did you mean "negative-free"?`,
		"views: {pipeline: {flip: {}}}":                         "want a list of augmentations, or the name of a pipeline: negative-free",
		"views: {pipeline: [flop]}":                             `unknown augmentation "flop"; did you mean "flip"?`,
		"views: {pipeline: [{flip: {probability: 1.5}}]}":       "views.pipeline.0.flip.probability: 1.5 is out of range",
		"views: {pipeline: [{flip: {chance: 1}}]}":              `unknown key "chance"`,
		"views: {pipeline: [{jitter: {hue: 0.6}}]}":             "hue: 0.6 is out of range; want 0 (no change) to 0.5",
		"views: {pipeline: [{jitter: {contrast: -1}}]}":         "contrast: -1 is out of range",
		"views: {pipeline: [{blur: {kernel: 4}}]}":              "kernel: 4 is out of range; want an odd number",
		"views: {pipeline: [{blur: {kernel: 65}}]}":             "want an odd number from 1 to 63",
		"views: {pipeline: [{blur: {sigma: [2, 1]}}]}":          "sigma: [2 1] is out of range",
		"views: {pipeline: [{blur: {sigma: [1]}}]}":             "sigma",
		"views: {pipeline: [{crop: {scale: [0, 1]}}]}":          "scale: [0 1] is out of range",
		"views: {pipeline: [{crop: {scale: [0.5, 1.1]}}]}":      "scale",
		"views: {pipeline: [{crop: {aspect: [2, 1]}}]}":         "aspect: [2 1] is out of range",
		"views: {pipeline: [{solarise: {threshold: 2}}]}":       "threshold: 2 is out of range",
		"views: {pipeline: [{normalise: {deviation: [0]}}]}":    "deviation: 0 is out of range",
		"views: {pipeline: [{normalise: {mean: []}}]}":          "0 means and 3 deviations",
		"views: {pipeline: [{normalise: {mean: [2e6, 1, 1]}}]}": "mean: 2e+06 is out of range",
		"views: {pipeline: [normalise, flip]}":                  "normalise is operation 0 of 2; want it last",
		"views: {count: 0}":                                     "count: 0 is out of range; want 1 to 64",
		"views: {second: byol}":                                 "second: it does not normalise as pipeline does",
		"views: {pipelines: byol}":                              `did you mean "pipeline"?`,
		"views: {pipeline: 3}":                                  "want a text",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "a.yaml:1:") {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	for want, p := range map[string]Pipeline{
		"augmentation 1, jitter: images of 64 x 64 x 2: saturation and hue need colours; want 1 channel or 3": {op("flip", &Flip{}), op("jitter", NewJitter())},
		"grayscale: images of 64 x 64 x 2":                                               {op("grayscale", &Grayscale{})},
		"normalise: images of 64 x 64 x 2: 3 means and 3 deviations; want 2, one for ea": {op("normalise", NewNormalise())},
	} {
		must.Error(t, (&Views{Second: p}).Suits(64, 64, 2), want)
	}
}

// Views depend on the seed, the epoch, the position, the view and the row, but not on the division of rows.
func TestViews(t *testing.T) {
	const n, h, w, c = 12, 16, 16, 3
	images := noise(n * h * w * c)
	copy(images[h*w*c:], images[:h*w*c]) // two equal images
	v := &Views{}
	v.SetDefaults()
	room := func() [][]float32 { return [][]float32{make([]float32, len(images)), make([]float32, len(images))} }
	a, b := room(), room()
	v.Apply(a, images, 0, n, h, w, c, 7, 2, 3)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for n := n - 1; n >= 0; n-- {
		v.Apply(b, images, n, n+1, h, w, c, 7, 2, 3)
	}
	if !reflect.DeepEqual(a, b) {
		t.Error("views depend on who makes them")
	}
	size := h * w * c
	if slices.Equal(a[0], a[1]) || slices.Equal(a[0][:size], a[0][size:2*size]) {
		t.Error("two views, or two rows, are the same")
	}
	for _, other := range [][3]uint64{{8, 2, 3}, {7, 3, 3}, {7, 2, 4}, {7, 3, 2}} {
		v.Apply(b, images, 0, n, h, w, c, other[0], other[1], other[2])
		if slices.Equal(a[0], b[0]) || slices.Equal(a[1], b[1]) {
			t.Errorf("the views of %v are the same", other)
		}
	}

	v.Shared = true
	v.Apply(b, images, 0, n, h, w, c, 7, 2, 3)
	if !slices.Equal(b[0][:size], a[0][:size]) || !slices.Equal(b[0][:size], b[0][size:2*size]) || slices.Equal(b[0][:size], b[1][:size]) {
		t.Error("shared: want equal views of equal images")
	}

	v = &Views{Pipeline: Pipeline{}, Second: Pipeline{op("flip", &Flip{Chance{1}}), op("normalise", NewNormalise())}, Count: 2}
	v.Apply(b, images, 0, n, h, w, c, 7, 2, 3)
	if !slices.Equal(b[0], images) || slices.Equal(b[1], images) {
		t.Error("second: want the first view unchanged and the second changed")
	}
	same := slices.Clone(images)
	if v.Plain(same, h, w, c); !slices.Equal(same, images) {
		t.Error("plain changes images")
	}
	v.Pipeline = v.Second
	v.Plain(same, h, w, c)
	if want := applied(Pipeline{op("normalise", NewNormalise())}, images, n*h, w, c, nil); !slices.Equal(same, want) {
		t.Error("plain does not normalise")
	}
}

// A pipeline does not change its source, and can work in place.
func TestApply(t *testing.T) {
	for _, e := range Presets.Entries {
		p := e.New()
		src := noise(32 * 32 * 3)
		before := slices.Clone(src)
		for seed := range uint64(20) {
			got := applied(p, src, 32, 32, 3, rng.New(seed, "apply"))
			if !slices.Equal(src, before) {
				t.Fatalf("%s changes its source", e.Name)
			}
			place := slices.Clone(src)
			p.Apply(place, place, 32, 32, 3, rng.New(seed, "apply"))
			if !slices.Equal(got, place) {
				t.Fatalf("%s: in place it is different", e.Name)
			}
		}
		s, dst := rng.New(1, "apply"), make([]float32, len(src))
		if allocated := testing.AllocsPerRun(50, func() { p.Apply(dst, src, 32, 32, 3, s) }); allocated >= 1 && !race.Enabled {
			t.Errorf("%s: %v allocations", e.Name, allocated)
		}
	}
	Pipeline{}.Apply(nil, nil, 0, 0, 3, nil)
}

// FuzzPipeline checks that no text makes the parser panic. An accepted text can be written and read again, and its
// pipeline converts images of supported shapes to numbers.
func FuzzPipeline(f *testing.F) {
	for _, e := range Presets.Entries {
		f.Add(e.Name, uint8(5), uint8(9), uint64(1))
		f.Add(e.Name, uint8(0), uint8(1), uint64(0))
	}
	for _, s := range []string{"[]", "[flip, {crop: {scale: [0.01, 1], aspect: [0.01, 100]}}]",
		"[{blur: {kernel: 63, sigma: [0.001, 1000]}}]", "[{jitter: {brightness: 1000, contrast: 1000}}]",
		"[{normalise: {mean: [1e6], deviation: [1e-6]}}]", "{}", "[[flip]]", "~"} {
		f.Add(s, uint8(3), uint8(64), uint64(2))
	}
	f.Fuzz(func(t *testing.T, text string, h, w uint8, seed uint64) {
		type one struct {
			P Pipeline `yaml:"p"`
		}
		var got, again one
		if config.Load("f.yaml", []byte("p: "+text), &got) != nil {
			return
		}
		encoded := must.Get(config.Encode(got))(t)
		if err := config.Load("again.yaml", encoded, &again); err != nil || fmt.Sprint(len(again.P)) != fmt.Sprint(len(got.P)) {
			t.Fatalf("%v in\n%s", err, encoded)
		}
		if len(got.P) > 20 {
			return
		}
		for _, c := range []int{1, 3, 4} {
			if got.P.Suits(int(h), int(w), c) != nil {
				continue
			}
			src := noise(int(h) * int(w) * c)
			a := applied(got.P, src, int(h), int(w), c, rng.New(seed, "fuzz"))
			b := applied(again.P, src, int(h), int(w), c, rng.New(seed, "fuzz"))
			if !slices.Equal(a, b) {
				t.Fatalf("written and read again it is different:\n%s", encoded)
			}
			normalised := got.P.Plain() != nil
			for _, v := range a {
				if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) || !normalised && !(v >= 0 && v <= 1.00001) {
					t.Fatalf("pixel %v", v)
				}
			}
		}
	})
}
