package augment

import (
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
)

// BenchmarkPipeline computes two views of 64 images, as in a training step of BYOL.
func BenchmarkPipeline(b *testing.B) {
	const h, w, c, n = 64, 64, 3, 64
	random, drawn := noise(n*h*w*c), noise(n*h*w*c)
	for i := range n * h * w { // a disc on grey, constant except for a tenth of its pixels
		x, y := float64(i%w)-32, float64(i/w%h)-30
		colour := []float32{0.3, 0.3, 0.3}
		if x*x+y*y < 200 {
			colour = []float32{0.8, 0.2, 0.1}
		}
		if i%10 > 0 {
			copy(drawn[3*i:], colour)
		}
	}
	images := random
	views := make([]float32, 2*len(random))
	run := func(name string, p Pipeline) {
		b.Run(name, func(b *testing.B) {
			s := rng.New(1, "augment")
			b.ReportAllocs()
			for b.Loop() {
				for v := range 2 * n {
					size := h * w * c
					p.Apply(views[v*size:(v+1)*size], images[v%n*size:(v%n+1)*size], h, w, c, s)
				}
			}
		})
	}
	for _, e := range Presets.Entries {
		run(e.Name, e.New())
	}
	images = drawn
	run("drawn/negative-free", negativeFree())
	images = random
	always := Chance{1}
	for name, o := range map[string]Op{
		"jitter": &Jitter{always, 0.8, 0.8, 0.8, 0.2}, "brightness": &Jitter{Chance: always, Brightness: 0.8}, "contrast": &Jitter{Chance: always, Contrast: 0.8},
		"saturation": &Jitter{Chance: always, Saturation: 0.8}, "hue": &Jitter{Chance: always, Hue: 0.2}, "flip": &Flip{always},
		"blur": &Blur{always, 3, [2]float64{1, 2}}, "crop": NewCrop(), "grayscale": &Grayscale{always}, "solarise": &Solarise{always, 0.5}, "normalise": NewNormalise(),
	} {
		run("op/"+name, Pipeline{op(name, o)})
	}
	run("op/none", Pipeline{})
}

// noise returns an image of random numbers in [0, 1).
func noise(n int) []float32 {
	s, p := rng.New(2, "noise"), make([]float32, n)
	for i := range p {
		p[i] = s.Float32()
	}
	return p
}
