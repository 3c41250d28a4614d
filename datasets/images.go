package datasets

import (
	"errors"
	"fmt"
	"image"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
)

// FromImages returns a data set of images of equal size. The images have one channel if all of them have a grey colour
// model, and three channels (red, green, blue) otherwise. Transparent pixels are blended with black. Images with 8-bit
// colour models stay 8-bit in memory; others, such as [image.Gray16], become float32.
//
// levels has one row per image with the level of every factor, 0 to Size-1, or [Unknown]. The images need not form a
// grid. Without factors (nil, nil), the images get a factor "unknown" with one level. Models can then train without
// supervision, and metrics that need factors return an error. [Given] makes such a data set available to configs by
// name.
func FromImages(name string, images []image.Image, factors []factor.Factor, levels [][]int) (Dataset, error) {
	d := &stored.Set{Title: name, Count: len(images)}
	if err := d.SetFactors(factors, levels); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", name, err)
	}
	if err := d.SetImages(images); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", name, err)
	}
	return d, nil
}

// FromPixels returns a data set of images of h x w pixels with c channels. pixels contains the images in order, in
// row-major order with channels last, as integers from 0 to 255 or float32 values from 0 to 1. The data set uses the
// slice without a copy, so the slice must not change afterwards. Factors and levels are as in [FromImages].
func FromPixels[T uint8 | float32](name string, pixels []T, h, w, c int, factors []factor.Factor,
	levels [][]int) (Dataset, error) {
	d := &stored.Set{Title: name, Shape: [3]int{h, w, c}}
	if err := d.SetPixels(any(pixels), len(pixels)); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", name, err)
	}
	if err := d.SetFactors(factors, levels); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", name, err)
	}
	return d, nil
}

// Given is a Builder for a data set that a program has created. With it, configs can name the data set:
//
//	datasets.Register(registry.Entry[datasets.Builder]{
//		Name: "mine", Doc: "my images", New: func() datasets.Builder { return &datasets.Given{Set: d} },
//	})
//
// A program can only open a run on this data set if the program has registered the data set, too.
type Given struct {
	Set Dataset `yaml:"-"`
}

func (g *Given) Build(uint64) (Dataset, error) {
	if g.Set == nil {
		return nil, errors.New("there is no data set; want Set of datasets.Given")
	}
	return g.Set, nil
}

// PictureSize is the size of resized pictures, [height, width]. In a config, one number sets both, and 0 keeps sizes.
type PictureSize []int

// DecodeConfig reads a number or [height, width].
func (s *PictureSize) DecodeConfig(n *config.Node) error {
	var side int
	var sides []int
	if n.IsList() {
		if err := n.Decode(&sides); err != nil {
			return err
		}
	} else {
		if err := n.Decode(&side); err != nil {
			return n.Errorf("want a side, or [height, width], got %s", n.Inline())
		}
		if side != 0 {
			sides = []int{side, side}
		}
	}
	if *s = sides; s.Check() != nil {
		return n.Errorf("want "+wantSize+", got %s", pictures.MaxSide, n.Inline())
	}
	return nil
}

// EncodeConfig writes one number for equal sides, and 0 for no size.
func (s PictureSize) EncodeConfig() (any, error) {
	switch {
	case len(s) == 0:
		return 0, nil
	case len(s) == 2 && s[0] == s[1]:
		return s[0], nil
	}
	return []int(s), nil
}

func (PictureSize) ConfigForms() []any { return []any{0, [2]int{}} }
func (PictureSize) ConfigType() string { return "integer, or [height, width]" }

// Check returns an error about the setting size if a side is out of range.
func (s PictureSize) Check() error {
	if len(s) == 0 || len(s) == 2 && min(s[0], s[1]) >= 1 && max(s[0], s[1]) <= pictures.MaxSide {
		return nil
	}
	return config.Invalid("size", "want "+wantSize+", got %v", pictures.MaxSide, []int(s))
}

const wantSize = "a side of 1 to %d, [height, width], or 0 for the pictures' own size"
