package train

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/internal/must"
)

// Goroutines that share a Coder get the same results as alone.
func TestCoderIsShared(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	e := must.Get(NewExperiment(load(t)))(t)
	compute := func(images []int) (codes, decoded []float32) {
		codes, err := e.Coder.Encode(t.Context(), e.Data, images)
		if err == nil {
			decoded, err = e.Coder.Decode(codes)
		}
		if err != nil {
			t.Error(err)
		}
		return codes, decoded
	}
	const each = 150
	images := allImages(e.Data)[:256]
	codes, decoded := compute(images)
	var group sync.WaitGroup
	for g := range 6 {
		group.Go(func() {
			for round := range 5 {
				from := 17*g + round
				c, d := compute(images[from : from+each])
				if w := e.Coder.Width(); !slices.Equal(c, codes[from*w:(from+each)*w]) {
					t.Errorf("codes of images from %d on differ", from)
				}
				if !slices.Equal(d, decoded[from*256:(from+each)*256]) {
					t.Errorf("decoded images from %d on differ", from)
				}
			}
		})
	}
	group.Wait()
}

// A coder refuses images and codes that do not fit.
func TestCoderErrors(t *testing.T) {
	e := must.Get(NewExperiment(load(t)))(t)
	small := must.Get((&drawn.Square{Size: 8, Side: 2, Step: 1}).Build(0))(t)
	encode := func(ctx context.Context, d datasets.Dataset, images ...int) func() ([]float32, error) {
		return func() ([]float32, error) { return e.Coder.Encode(ctx, d, images) }
	}
	bare := *e.Coder
	bare.decoder = nil
	for want, f := range map[string]func() ([]float32, error){
		"the context or the data set is nil":                       encode(nil, e.Data, 0),
		"the context or the data set is nil; want both":            encode(t.Context(), nil, 0),
		"square has images of 8 x 8 x 1 (height, width, channels)": encode(t.Context(), small, 0),
		"images of 16 x 8 x 1 (height, width, channels)":           encode(t.Context(), wide{small}, 0),
		"dataset square has no image -1; want 0 to":                encode(t.Context(), e.Data, 0, -1),
		"decode: 1 numbers; want":                                  func() ([]float32, error) { return e.Coder.Decode(make([]float32, 1)) },
		"want a model with a decoder":                              func() ([]float32, error) { return bare.Decode(make([]float32, e.Coder.Width())) },
	} {
		must.ErrorOf(f())(t, want)
	}
}

// wide is a data set whose images have the height of the model's images, and another width.
type wide struct{ datasets.Dataset }

func (wide) ImageShape() (height, width, channels int) { return 16, 8, 1 }
