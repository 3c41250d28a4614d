package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/train/rundir"
)

// On returns the experiment on another data set, for encoding and measuring. The images must have the shape, channels
// and pixel range of the model's images; factors may differ. All images are measured: none is held out.
func (e *Experiment) On(c catalog.Choice, d datasets.Dataset) (*Experiment, error) {
	if err := e.suitsModel(d); err != nil {
		return nil, err
	}
	other := *e
	other.Config.Dataset, other.Config.Metrics.Sample = c, 0
	other.Data, other.HeldOut, other.validated, other.images, other.explored, other.Learned = d, nil, nil, nil, nil, nil
	other.Split = &supervision.Split{Unlabelled: all(d), Rotations: e.Split.Rotations, Actions: e.Split.Actions}
	return &other, nil
}

// suitsModel returns an error for a data set with images that the model does not take.
func (e *Experiment) suitsModel(d datasets.Dataset) error {
	h, w, channels := d.ImageShape()
	want := e.Coder.data
	switch {
	case h != want.Height || w != want.Width || channels != want.Channels:
		return fmt.Errorf("%s has images of %s; want %s, the images of the model", d.Name(), shapeText(h, w, channels), shapeText(want.Height, want.Width, want.Channels))
	case datasets.RealValued(d) != want.Real:
		return fmt.Errorf("%s has %s; want %s, as the model was trained", d.Name(), pixelText(!want.Real), pixelText(want.Real))
	}
	return nil
}

func shapeText(height, width, channels int) string {
	return fmt.Sprintf("%d x %d x %d (height, width, channels)", height, width, channels)
}

func pixelText(real bool) string {
	if real {
		return "real-valued pixels"
	}
	return "pixels in [0, 1]"
}

// elsewhereKeys are the keys that [OpenOn] takes.
var elsewhereKeys = []string{"dataset", "seed", "metrics.sample"}

// OpenOn is [OpenKept] on another data set. Overrides such as dataset=sprites and dataset.sprites.size=32 change the
// run's config, and w shows the progress of a conversion. Other keys than dataset, seed and metrics.sample are errors.
func OpenOn(ctx context.Context, dir string, which Weights, w io.Writer, overrides ...string) (e *Experiment, warning string, err error) {
	for _, o := range overrides {
		key, _, _ := strings.Cut(o, "=")
		if !elsewhere(key) {
			return nil, "", &config.Error{Key: key, Err: errors.New("it does not choose images for a trained model; want dataset=NAME, dataset.NAME.OPTION=VALUE, seed=N or metrics.sample=N")}
		}
	}
	c, err := ReadConfig(dir, overrides...)
	if err != nil {
		return nil, "", err
	}
	if err := c.prepareData(ctx, w); err != nil {
		return nil, "", err
	}
	if e, warning, err = OpenKept(dir, which); err != nil {
		return nil, "", err
	}
	d, err := c.buildData()
	if err != nil {
		return nil, "", err
	}
	other, err := e.On(c.Dataset, d)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", filepath.Join(dir, rundir.Config), err)
	}
	for _, o := range overrides {
		if strings.HasPrefix(o, "metrics.sample=") {
			other.Config.Metrics.Sample = c.Metrics.Sample
		}
	}
	other.Config.Seed = c.Seed
	return other, warning, nil
}

// elsewhere reports whether a key chooses images for a trained model.
func elsewhere(key string) bool {
	for _, k := range elsewhereKeys {
		if key == k || k == "dataset" && strings.HasPrefix(key, "dataset.") {
			return true
		}
	}
	return false
}
