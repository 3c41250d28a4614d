package conformance

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/race"
)

// CheckAugmentation returns the faults of an entry of the registry of augmentations. It tests the default settings. If
// the entry has the option probability, it also tests the probabilities 0 and 1. Faults are:
//
//   - an image that changes at probability 0;
//   - results outside [0, 1] (non-finite results, for an [augment.Normaliser]); results that differ for equal
//     streams, or stay the same for all streams;
//   - a number of random draws that depends on pixels;
//   - a changed source image, earlier result or settings;
//   - a different result in place, or on several goroutines at once;
//   - allocation.
func CheckAugmentation(e registry.Entry[augment.Op]) error {
	return faultsOfEntry("augmentation", e, func(f *findings, _ augment.Op) {
		for _, source := range []string{"", "probability: 1", "probability: 0"} {
			op := e.New()
			if source != "" && config.Load(e.Name, []byte(source), op) != nil {
				continue // without the option probability
			}
			x := &views{findings: f, op: op, pipeline: augment.Pipeline{{Name: e.Name, Value: op}}, normalises: isNormaliser(op)}
			x.check(source)
		}
	})
}

// CheckPipeline returns the faults of an entry of the registry of pipelines, checked as in [CheckAugmentation].
func CheckPipeline(e registry.Entry[augment.Pipeline]) error {
	return faultsOf("pipeline "+e.Name, func(f *findings) {
		if e.Name == "" || e.Doc == "" || e.New == nil {
			f.fatal("it has no Name, Doc or New; want all of them")
		}
		p := e.New()
		if err := p.Validate(); err != nil {
			f.fatal("%w", err)
		}
		if len(p) == 0 {
			f.fatal("it is empty; want operations")
		}
		x := &views{findings: f, pipeline: p, normalises: isNormaliser(p[len(p)-1].Value)}
		x.check("")
	})
}

func isNormaliser(op augment.Op) bool {
	_, ok := op.(augment.Normaliser)
	return ok
}

// views checks one pipeline, and has images before and after it.
type views struct {
	*findings
	op         augment.Op // the only operation of the pipeline; nil: there are several
	pipeline   augment.Pipeline
	normalises bool
	h, w, c    int
}

// check tests the image shapes that the pipeline supports. source is the config of its settings.
func (x *views) check(source string) {
	original := fmt.Sprintf("%+v", settingsOf(x.pipeline))
	var refused []string
	shapes := [][3]int{{16, 16, 1}, {12, 20, 3}, {20, 9, 3}}
	for _, s := range shapes {
		x.h, x.w, x.c = s[0], s[1], s[2]
		if err := x.pipeline.Suits(x.h, x.w, x.c); err != nil {
			refused = append(refused, err.Error())
			continue
		}
		for _, kind := range []string{"black", "white", "random"} {
			image := x.images()[kind]
			x.run(func() { x.results(kind, image) })
			if source == "probability: 0" {
				x.run(func() { x.identity(image) })
			}
		}
		x.run(func() { x.random(source) })
		if changed := fmt.Sprintf("%+v", settingsOf(x.pipeline)); changed != original {
			x.fatal("its settings change from %s to %s; want views that depend on the image and the stream alone",
				original, changed)
		}
		x.run(x.parallel, x.allocation)
	}
	if len(refused) == len(shapes) {
		x.add("it suits no image of the test: %s; want 1 or 3 channels and 20 pixels a side to be enough",
			strings.Join(refused, "; "))
	}
}

func settingsOf(p augment.Pipeline) []any {
	var list []any
	for _, o := range p {
		list = append(list, reflect.ValueOf(o.Value).Elem().Interface())
	}
	return list
}

func (x *views) images() map[string][]float32 {
	size := x.h * x.w * x.c
	random, s := make([]float32, size), rng.New(seed, "image")
	for i := range random {
		random[i] = s.Float32()
	}
	random[0], random[size-1] = 0, 1
	return map[string][]float32{"black": make([]float32, size), "white": slices.Repeat([]float32{1}, size),
		"random": random}
}

// stains overwrites all buffers of a canvas except the image, to find operations that read unwritten memory.
type stains struct{}

// Happens does not draw from the stream, so the operation sees the whole stream.
func (*stains) Happens(*rng.Stream) bool { return true }
func (*stains) Suits(_, _, _ int) error  { return nil }

func (*stains) Apply(m *augment.Canvas, _ *rng.Stream) {
	nan := float32(math.NaN())
	for _, buffer := range [][]float32{m.Spare(), m.Scratch(4 * len(m.Pixels()))} {
		for i := range buffer {
			buffer[i] = nan
		}
	}
}

// apply returns a view of an image, computed on a stained canvas.
func (x *views) apply(image []float32, s *rng.Stream) []float32 {
	dst := slices.Repeat([]float32{guardValue}, len(image)+1)
	stained := append(augment.Pipeline{{Name: "stains", Value: &stains{}}}, x.pipeline...)
	stained.Apply(dst[:len(image):len(image)], image, x.h, x.w, x.c, s)
	if dst[len(image)] != guardValue {
		x.add("it writes more than the %d numbers of an image", len(image))
	}
	return dst[:len(image):len(image)]
}

func (x *views) stream(n uint64) *rng.Stream { return rng.New(n, "views") }

func (x *views) results(kind string, image []float32) {
	source := slices.Clone(image)
	for n := range uint64(8) {
		r := x.stream(n)
		view := x.apply(image, r)
		for i, v := range view {
			switch {
			case v != v:
				x.fatal("a %s image of %d x %d x %d has NaN at number %d; want all of Spare and Scratch to be written before they are read", kind, x.h, x.w, x.c, i)
				return
			case !x.normalises && !(v >= 0 && v <= 1) || math.IsInf(float64(v), 0):
				x.add("a %s image of %d x %d x %d has %v at number %d; want 0 to 1", kind, x.h, x.w, x.c, v, i)
			}
		}
		if !sameBits(image, source) {
			x.fatal("it changes the image that a view is made of")
		}
		viewBefore, blackView := slices.Clone(view), x.apply(make([]float32, len(image)), x.stream(99))
		if !sameBits(viewBefore, view) || len(blackView) != len(view) {
			x.fatal("it changes an earlier view")
		}
		if repeated := x.apply(image, x.stream(n)); !sameBits(repeated, view) {
			x.fatal("two views of one image by the same stream differ; want everything random to come from the stream")
		}
		inPlace, plain := slices.Clone(image), make([]float32, len(image))
		x.pipeline.Apply(inPlace, inPlace, x.h, x.w, x.c, x.stream(n))
		x.pipeline.Apply(plain, image, x.h, x.w, x.c, x.stream(n))
		if !sameBits(inPlace, plain) {
			x.fatal("a view differs when it overwrites its image")
		}
	}
}

func (x *views) identity(image []float32) {
	for n := range uint64(8) {
		if view := x.apply(image, x.stream(n)); !sameBits(view, image) {
			x.fatal("it changes images at probability 0; want Happens to decide")
		}
	}
}

// random checks the random numbers that an operation draws from its stream.
func (x *views) random(source string) {
	image := x.images()["random"]
	views := map[string]bool{}
	draws := false
	for n := range uint64(16) {
		stream, otherStream, happensStream := x.stream(n), x.stream(n), x.stream(n)
		views[fmt.Sprint(x.apply(image, stream))] = true
		x.apply(x.images()["white"], otherStream)
		if !bytes.Equal(stateOf(stream), stateOf(otherStream)) {
			x.fatal("the number of its random draws depends on the pixels; want the same number for every image")
		}
		if x.op != nil {
			x.op.Happens(happensStream)
			draws = draws || !bytes.Equal(stateOf(stream), stateOf(happensStream))
		}
	}
	if source == "probability: 1" && draws && len(views) == 1 {
		x.add("it draws from its stream, but all streams give the same views; want views that depend on the draws")
	}
	if x.normalises && x.op != nil {
		x.op.Happens(nil)
		x.pipeline.Apply(slices.Clone(image), image, x.h, x.w, x.c, nil) // as in a measurement of images
	}
}

func stateOf(s *rng.Stream) []byte {
	state, err := s.MarshalBinary()
	if err != nil {
		panic(err) // a generator never returns an error
	}
	return state
}

func (x *views) parallel() {
	const count = 16
	image := x.images()["random"]
	var want [count][]float32
	for n := range want {
		want[n] = make([]float32, len(image))
		x.pipeline.Apply(want[n], image, x.h, x.w, x.c, x.stream(uint64(n)))
	}
	x.checkConcurrently(count, func(f *findings, order []int) {
		view := make([]float32, len(image))
		for _, n := range order {
			if x.pipeline.Apply(view, image, x.h, x.w, x.c, x.stream(uint64(n))); !sameBits(view, want[n]) {
				f.fatal("views differ when several goroutines make them at once")
			}
		}
	})
}

func (x *views) allocation() {
	if race.Enabled { // the race detector drops items from pools
		return
	}
	image, s := x.images()["random"], x.stream(seed)
	dst := make([]float32, len(image))
	if n := testing.AllocsPerRun(32, func() { x.pipeline.Apply(dst, image, x.h, x.w, x.c, s) }); n >= 1 {
		x.add("a view allocates %v times; want 0, as every image of every step is augmented (a canvas has Spare and Scratch)",
			n)
	}
}
