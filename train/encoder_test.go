package train

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/train/rundir"
)

// served has a run for each kind of encoder: convolutions of one and three channels, norms with running moments and
// normalised views, dense layers, and a hierarchy.
var served = map[string]func(t testing.TB) Config{
	"dense": func(t testing.TB) Config { return load(t) },
	"conv64": func(t testing.TB) Config {
		return load(t, "dataset.square={size: 64, side: 16, step: 4}", "model.lsbd-vae.encoder=conv64", "train.epochs=1")
	},
	"batch":     func(t testing.TB) Config { return seenConfig(t, "byol, batch", "train.epochs=1") },
	"layer":     func(t testing.TB) Config { return seenConfig(t, "simsiam", "train.epochs=1") },
	"hierarchy": func(t testing.TB) Config { return sticksConfig(t) },
	"normalised": func(t testing.TB) Config {
		return seenConfig(t, "simsiam", "train.epochs=1", "views.pipeline=[flip, {normalise: {mean: [0.25], deviation: [0.5]}}]")
	},
}

// openServed trains a run and opens its encoder, with the images of its codes.
func openServed(t testing.TB, c Config) (e *Encoder, pixels, codes []float32, n int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	trainIn(t, dir, c, false)
	e = must.Get(OpenEncoder(dir))(t)
	f := must.Get(npy.ReadFile[float32](filepath.Join(dir, rundir.CodesFile)))(t)
	d := must.Get(c.Dataset.Build(c.Seed))(t)
	h, w, k := e.ImageShape()
	n = d.Len()
	pixels = make([]float32, n*h*w*k)
	datasets.Fill(d, allImages(d), pixels)
	if len(f.Data) != n*e.Width() {
		t.Fatalf("%d codes of %d images", len(f.Data), n)
	}
	return e, pixels, f.Data, n
}

// Codes equal the run's stored codes to the bit, for any split of the images into batches.
func TestEncoder(t *testing.T) {
	long.NotShort(t)
	for name, config := range served {
		t.Run(name, func(t *testing.T) {
			e, pixels, codes, n := openServed(t, config(t))
			size, stream := len(pixels)/n, rng.New(1, "batches")
			for at := 0; at < n; {
				count := min(n-at, []int{1, 2, 5, 8, 13, 64, 65, 129}[stream.IntN(8)])
				got := must.Get(e.Encode(pixels[at*size:(at+count)*size], count))(t)
				if want := codes[at*e.Width() : (at+count)*e.Width()]; !slices.Equal(got, want) {
					t.Fatalf("%d images from %d on have the codes %v, want %v", count, at, got, want)
				}
				at += count
			}
			if !e.Decodes() {
				return
			}
			whole := must.Get(e.Decode(codes[:40*e.Width()], 40))(t)
			for i := range 40 {
				one, err := e.Decode(codes[i*e.Width():(i+1)*e.Width()], 1)
				if err != nil || !slices.Equal(one, whole[i*size:(i+1)*size]) {
					t.Fatalf("code %d is decoded to other pixels alone (%v)", i, err)
				}
			}
		})
	}
}

// Errors name the row and the element.
func TestEncoderMistakes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	trainIn(t, dir, load(t, "train.epochs=1"), false)
	e := must.Get(OpenEncoder(dir))(t)
	if h, w, c := e.ImageShape(); h != 16 || w != 16 || c != 1 || e.Width() != 4 {
		t.Errorf("images of %d x %d x %d, codes of %d columns", h, w, c, e.Width())
	}
	broken := make([]float32, 2*256)
	broken[256+7] = float32(math.NaN())
	for want, call := range map[string]func() ([]float32, error){
		"encode: 255 pixels for n = 1; want n x 16 x 16 x 1 = 256":        func() ([]float32, error) { return e.Encode(broken[:255], 1) },
		"encode: 0 pixels for n = -1; want n x 16 x 16 x 1, n at least 0": func() ([]float32, error) { return e.Encode(nil, -1) },
		"encode: pixels: element 7 of row 1 is NaN; want finite numbers":  func() ([]float32, error) { return e.Encode(broken, 2) },
		"decode: 5 codes for n = 1; want n x 4 = 4":                       func() ([]float32, error) { return e.Decode(broken[:5], 1) },
		"decode: codes: element 1 of row 0 is +Inf; want finite numbers":  func() ([]float32, error) { return e.Decode([]float32{0, float32(math.Inf(1)), 0, 0}, 1) },
	} {
		if got, err := call(); err == nil || err.Error() != want || got != nil {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if codes, err := e.Encode(nil, 0); err != nil || len(codes) != 0 {
		t.Errorf("no images: %v, %v", codes, err)
	}
	must.OK(t, e.Close())
	if _, err := e.Encode(broken[:256], 1); err == nil || err.Error() != "encode: the encoder is closed" {
		t.Errorf("after Close: %v", err)
	}
	alone := filepath.Join(t.TempDir(), "run")
	c, err := Load("regularised.yaml", []byte(regularised))
	must.OK(t, err)
	trainIn(t, alone, c, false)
	if e, err = OpenEncoder(alone); err != nil || e.Decodes() {
		t.Fatal(e, err)
	}
	must.ErrorOf(e.Decode([]float32{0, 0}, 1))(t, "the model has no decoder")
	must.ErrorOf(OpenEncoder(t.TempDir()))(t, "no run there")
}

// Goroutines that share an encoder each get the codes of their images.
func TestEncoderIsShared(t *testing.T) {
	e, pixels, codes, n := openServed(t, load(t, "train.epochs=1"))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	size := len(pixels) / n
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for at := g; at < n; at += 8 {
				count := min(n-at, 1+at%11)
				got, err := e.Encode(pixels[at*size:(at+count)*size], count)
				if err != nil || !slices.Equal(got, codes[at*e.Width():(at+count)*e.Width()]) {
					t.Errorf("goroutine %d, image %d: %v, or the codes of others", g, at, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// BenchmarkEncoder times requests of 64x64 images to the quickstart's encoder with four convolutions, by number of
// images. shared sends single images from one goroutine per thread.
//
//	go test ./train -run '^$' -bench Encoder -cpu 1
func BenchmarkEncoder(b *testing.B) {
	e, pixels, _, n := openServed(b, load(b, "dataset.square={size: 64, side: 16, step: 4}",
		"model.lsbd-vae.encoder=conv64", "train.epochs=1", "train.epoch_steps=1"))
	size := len(pixels) / n
	encode := func(b *testing.B, images int) {
		must.Get(e.Encode(pixels[:images*size], images))(b)
	}
	for _, images := range []int{1, 8, 128} {
		b.Run(fmt.Sprintf("images=%d", images), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				encode(b, images)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1e3, "ms/request")
			b.ReportMetric(float64(images*b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
	b.Run("shared", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				encode(b, 1)
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
	})
}
