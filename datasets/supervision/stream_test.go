package supervision

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// mappedSet returns a cached set of images of 64 x 64 x 3: n images of noise, or in a benchmark 3D Shapes if fetched.
func mappedSet(t testing.TB, n int) (*cache.Set, *stored.Set) {
	t.Helper()
	if _, bench := t.(*testing.B); bench {
		if s, err := cache.Open(t.Context(), cache.Key{Name: "shapes3d", Version: 1}); err == nil {
			t.Cleanup(func() { s.Close() })
			return s, stored.FromCache(s)
		}
	}
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	s, err := cache.Ensure(t.Context(), cache.Key{Name: "noise", Version: 1}, func(ctx context.Context, w *cache.Writer) error {
		if err := w.Begin(n, 64, 64, 3, []factor.Factor{{Name: "half", Size: 2}}); err != nil {
			return err
		}
		stream, image, levels := rng.New(1, "noise"), make([]uint8, 64*64*3), make([]int32, n)
		for i := range n {
			for p := range image {
				image[p] = uint8(stream.Uint64())
			}
			levels[i] = int32(2 * i / n)
			if err := w.WriteAt(ctx, i, image); err != nil {
				return err
			}
		}
		return w.SetLevels(levels)
	})
	must.OK(t, err)
	t.Cleanup(func() { s.Close() })
	return s, stored.FromCache(s)
}

// TestMappedLoader compares batches of mapped images, read ahead, with batches of the same images in memory: from the
// start, after a return to the middle of an epoch, and for a sample.
func TestMappedLoader(t *testing.T) {
	s, d := mappedSet(t, 200)
	plain := must.Get(datasets.FromPixels("memory", slices.Clone(s.Images), 64, 64, 3, nil, nil))(t)
	order := rng.New(2, "order").Perm(200)[:150]
	for name, sets := range map[string][2]datasets.Dataset{"whole": {d, plain}, "sample": {datasets.Sample(d, order), datasets.Sample(plain, order)}} {
		loaders := [2]*Loader{}
		for i, set := range sets {
			split := must.Get((&None{}).Split(set, nil))(t)
			sampler := must.Get(NewSampler(split, 64, rng.New(1, "batch")))(t)
			loaders[i] = NewLoader(set, sampler)
			defer loaders[i].Close()
		}
		compare := func(when string, batches int) {
			t.Helper()
			for range batches {
				_, got, ok := loaders[0].Next()
				_, want, more := loaders[1].Next()
				if ok != more || !slices.Equal(got, want) {
					t.Fatalf("%s, %s: other images than in memory", name, when)
				}
			}
		}
		for epoch := range 2 {
			for _, l := range loaders {
				must.OK(t, l.StartEpoch())
			}
			compare(fmt.Sprint("epoch ", epoch), 2)
			for _, l := range loaders {
				must.OK(t, l.Restore(l.State()))
			}
			compare("restored", 3)
		}
	}
}
