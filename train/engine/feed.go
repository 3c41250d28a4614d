package engine

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
)

// feed provides the batches of an epoch and the random numbers of its steps.
type feed struct {
	split   *supervision.Split
	sampler *supervision.Sampler
	loader  *supervision.Loader
	noise   *rng.Stream    // stream for reparameterised samples
	permute *rng.Stream    // stream for permutations of codes, for discriminators
	second  *secondBatches // nil: no discriminator needs second batches
}

// newLoader loads the batches of a sampler. If views are set, it loads views that are drawn from the named stream.
func newLoader(d datasets.Dataset, s *supervision.Sampler, views *augment.Views, seed uint64,
	stream string) (*supervision.Loader, error) {
	if views == nil {
		return supervision.NewLoader(d, s), nil
	}
	if datasets.RealValued(d) {
		if err := checkPixelViews(views, d.Name()); err != nil {
			return nil, &Error{"views", err}
		}
	}
	l, err := supervision.NewViewLoader(d, s, views, rng.New(seed, stream).Uint64())
	if err != nil {
		return nil, &Error{"views", err}
	}
	return l, nil
}

// checkPixelViews returns an error for operations that clip or invert pixels in [0, 1], if the images have other
// numbers.
func checkPixelViews(views *augment.Views, set string) error {
	for _, o := range slices.Concat(views.Pipeline, views.Second) {
		switch o.Value.(type) {
		case *augment.Jitter, *augment.Solarise:
			return fmt.Errorf("%s needs pixels in [0, 1], but dataset %s has other numbers; want views without it", o.Name, set)
		}
	}
	return nil
}

func (f *feed) startEpoch() error {
	if err := f.loader.StartEpoch(); err != nil {
		return err
	}
	if f.second == nil {
		return nil
	}
	return f.second.loader.StartEpoch()
}

// next returns the next batch; ok is false at the end of the epoch.
func (f *feed) next() (b supervision.Batch, images []float32, ok bool, err error) {
	b, images, ok = f.loader.Next()
	if ok && f.second != nil {
		err = f.second.next()
	}
	return b, images, ok, err
}

func (f *feed) close() {
	f.loader.Close()
	if f.second != nil {
		f.second.loader.Close()
	}
}
