package datasets_test

import (
	"slices"
	"testing"

	. "github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
)

func TestFill(t *testing.T) {
	d := datatest.Build(t, &drawn.Square{Size: 16, Side: 5, Step: 1})
	list := []int{255, 0, 17, 17}
	together, one := make([]float32, len(list)*256), make([]float32, 256)
	Fill(d, list, together)
	for n, i := range list {
		if d.Image(i, one); !slices.Equal(one, together[n*256:(n+1)*256]) {
			t.Errorf("Fill changes image %d", i)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	for _, set := range []Builder{&drawn.Square{Size: 64, Side: 16, Step: 1}, &drawn.Arrow{Size: 64, Hues: 64, Rotations: 64}} {
		d := datatest.Build(b, set)
		h, w, c := d.ImageShape()
		indices := make([]int, 100)
		for i := range indices {
			indices[i] = i * 40
		}
		dst := make([]float32, 100*h*w*c)
		b.Run(d.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fill(d, indices, dst)
			}
		})
	}
}
