package train

import (
	"fmt"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
)

// On returns the experiment on another data set, for encoding and measuring. The images must have the shape, channels
// and pixel range of the model's images; factors may differ. All images are measured: none is held out.
func (e *Experiment) On(c catalog.Choice, d datasets.Dataset) (*Experiment, error) {
	if err := e.suitsModel(d); err != nil {
		return nil, err
	}
	other := *e
	other.Config.Dataset, other.Config.Metrics.Sample = c, 0
	other.Data, other.HeldOut, other.validated, other.images, other.explored, other.Learned, other.others = d, nil, nil, nil, nil, nil, nil
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
