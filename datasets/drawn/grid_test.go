package drawn

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
)

// counted returns a rendered set of grey images with the given number of pixels, and a counter of painted images. All
// pixels of image i are i % 256.
func counted(images, side int) (*renderedSet, *atomic.Int64) {
	painted := new(atomic.Int64)
	set := gridSet{name: "counted", shape: [3]int{side, side, 1}, grid: factor.Grid{{Name: "level", Size: images, Kind: factor.Ordinal}}}
	return newRendered(set, func() painter {
		return func(i int, dst []uint8) {
			painted.Add(1)
			for p := range dst {
				dst[p] = uint8(i)
			}
		}
	}), painted
}

func TestRenderedKeepsImages(t *testing.T) {
	d, painted := counted(500, 8)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			dst := make([]float32, 64)
			for pass := range 3 {
				for i := range 500 {
					d.Image(i, dst)
					for _, v := range dst {
						if v != float32(uint8(i))/255 {
							t.Errorf("pass %d: image %d has %v", pass, i, v*255)
							return
						}
					}
				}
			}
		})
	}
	group.Wait()
	if n := painted.Load(); n < 500 || n > 4*500 {
		t.Errorf("500 images were painted %d times", n)
	}
	before := painted.Load()
	dst := make([]float32, 64)
	for i := range 500 {
		d.Image(i, dst)
	}
	if painted.Load() != before {
		t.Errorf("kept images were painted again %d times", painted.Load()-before)
	}
	if len(d.idleEasels) > 4 {
		t.Errorf("%d painters for 4 goroutines", len(d.idleEasels))
	}
}

func TestRenderedBeyondBudget(t *testing.T) {
	d, painted := counted(maxCachedImages>>20+1, 1024)
	dst := make([]float32, 1<<20)
	for range 2 {
		d.Image(7, dst)
	}
	if d.images != nil || painted.Load() != 2 {
		t.Errorf("kept %d bytes, painted %d times", len(d.images), painted.Load())
	}
	must.Equal(t, testing.AllocsPerRun(3, func() { d.Image(3, dst) }), 0, "allocations")
}
