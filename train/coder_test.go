package train

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Goroutines that share a Coder get the same results as alone.
func TestCoderIsShared(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	e, err := NewExperiment(load(t))
	must.OK(t, err)
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
	images := all(e.Data)[:256]
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
