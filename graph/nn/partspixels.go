package nn

import (
	"cmp"
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/layer"
)

// Sides are [height, width]. One number in a config sets both, no number leaves both unset.
type Sides []int

// DecodeConfig reads a number or [height, width].
func (s *Sides) DecodeConfig(n *config.Node) error {
	var side int
	if !n.IsList() {
		if err := n.Decode(&side); err != nil {
			return n.Errorf("want a side, or [height, width], got %s", n.Inline())
		}
		*s = Sides{side, side}
	} else {
		var sides []int
		if err := n.Decode(&sides); err != nil {
			return err
		}
		*s = sides
	}
	if len(*s) != 2 || (*s)[0] < 1 || (*s)[1] < 1 {
		return n.Errorf("want a side of 1 or more, or [height, width], got %s", n.Inline())
	}
	return nil
}

// EncodeConfig writes one number for equal sides, and nothing for unset sides.
func (s Sides) EncodeConfig() (any, error) {
	switch {
	case len(s) == 0:
		return nil, nil
	case len(s) == 2 && s[0] == s[1]:
		return s[0], nil
	}
	return []int(s), nil
}

func (Sides) ConfigForms() []any { return []any{0, [2]int{}} }

func (Sides) ConfigType() string { return "integer, or [height, width]" }

// valid checks sides that are set.
func (s Sides) valid() error {
	if s != nil && (len(s) != 2 || s[0] < 1 || s[1] < 1) {
		return config.Invalid("to", "want a side of 1 or more, or [height, width], got %v", []int(s))
	}
	return nil
}

// PoolLayer is a pooling over windows or to a fixed height and width; see [layer.Pool] and [layer.AdaptivePool].
type PoolLayer struct {
	Kind    string `yaml:"kind" doc:"average or max"`
	To      Sides  `yaml:"to,omitempty" doc:"output height and width for images of any size, instead of size; 1: one window, the whole image"`
	Size    int    `yaml:"size" doc:"side of the windows"`
	Stride  int    `yaml:"stride,omitempty" doc:"pixels between windows; if absent, size"`
	Padding string `yaml:"padding" doc:"same: windows may cross the edge, and outside pixels do not count; valid: windows stay inside"`
	LayerName
}

// newPoolLayer returns the default settings: average pooling over windows of side 2.
func newPoolLayer() *PoolLayer {
	return &PoolLayer{Kind: string(layer.Average), Size: 2, Padding: samePadding}
}

func (l *PoolLayer) Validate() error {
	if err := oneOf("kind", "kind of pooling", l.Kind, string(layer.Average), string(layer.Max)); err != nil {
		return err
	}
	if err := l.To.valid(); err != nil {
		return err
	}
	usual := newPoolLayer()
	if l.To != nil && (l.Size != usual.Size || l.Stride != usual.Stride || l.Padding != usual.Padding) {
		return config.Invalid("to", "it chooses the windows itself; want it without size, stride and padding")
	}
	return cmp.Or(
		validRange("size", l.Size, 1, 1<<16),
		validRange("stride", l.Stride, 0, 1<<16),
		validPaddingName(l.Padding),
	)
}

// Forms implements [Formed].
func (*PoolLayer) Forms() (in, out Form) { return Images, Images }

// Before implements [Resizing].
func (l *PoolLayer) Before(after int) int {
	switch {
	case l.To != nil:
		return after
	case l.Padding == validPadding:
		return (after-1)*l.step() + l.Size
	}
	return (after-1)*l.step() + 1
}

func (l *PoolLayer) step() int { return cmp.Or(l.Stride, l.Size) }

// Build implements [Layer].
func (l *PoolLayer) Build(_ Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	if _, err := imagesIn(x); err != nil {
		return nil, err
	}
	if err := l.To.valid(); err != nil {
		return nil, err
	}
	if l.To != nil {
		if s := x.Shape(); l.To[0] > s[1] || l.To[1] > s[2] {
			return nil, fmt.Errorf("to is %d by %d pixels, and the images have shape %v; want at most their height and width",
				l.To[0], l.To[1], s[1:])
		}
		return layer.AdaptivePool(x, layer.PoolKind(l.Kind), l.To[0], l.To[1])
	}
	return layer.Pool(x, layer.PoolOptions{Kind: layer.PoolKind(l.Kind), Size: l.Size, Stride: l.step(),
		Valid: l.Padding == validPadding})
}

// Interpolations of upsampling.
const (
	nearest  = "nearest"
	bilinear = "bilinear"
)

// UpsampleLayer enlarges images by interpolation; see [layer.Upsample].
type UpsampleLayer struct {
	Times int    `yaml:"times" doc:"factor for height and width"`
	Kind  string `yaml:"kind" doc:"nearest (equal pixels) or bilinear"`
	LayerName
}

func (l *UpsampleLayer) Validate() error {
	return cmp.Or(
		oneOf("kind", "interpolation", l.Kind, nearest, bilinear),
		validRange("times", l.Times, 1, maxTimes),
	)
}

// Forms implements [Formed].
func (*UpsampleLayer) Forms() (in, out Form) { return Images, Images }

// Before implements [Resizing].
func (l *UpsampleLayer) Before(after int) int { return (after + l.Times - 1) / l.Times }

// Build implements [Layer].
func (l *UpsampleLayer) Build(_ Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	if _, err := imagesIn(x); err != nil {
		return nil, err
	}
	return layer.Upsample(x, l.Times, l.Kind == bilinear)
}

// ShuffleLayer enlarges images by rearranging channels into pixels; see [layer.Shuffle].
type ShuffleLayer struct {
	Times int `yaml:"times" doc:"factor for height and width; divides the channels by its square"`
	LayerName
}

func (l *ShuffleLayer) Validate() error { return validRange("times", l.Times, 1, maxTimes) }

// Forms implements [Formed].
func (*ShuffleLayer) Forms() (in, out Form) { return Images, Images }

// Before implements [Resizing].
func (l *ShuffleLayer) Before(after int) int { return (after + l.Times - 1) / l.Times }

// Build implements [Layer].
func (l *ShuffleLayer) Build(_ Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	if _, err := imagesIn(x); err != nil {
		return nil, err
	}
	return layer.Shuffle(x, l.Times)
}

// cropLayer keeps the upper left part of images; see [layer.Crop]. Decoders do not need it: they crop images that are
// too large.
type cropLayer struct {
	To Sides `yaml:"to" doc:"output height and width"`
	LayerName
}

func (l *cropLayer) Validate() error {
	if l.To == nil {
		return errors.New("there are no sides; want {to: 28} or {to: [height, width]}")
	}
	return l.To.valid()
}

func (*cropLayer) Forms() (in, out Form) { return Images, Images }

func (l *cropLayer) Build(_ Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	if _, err := imagesIn(x); err != nil {
		return nil, err
	}
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return layer.Crop(x, l.To[0], l.To[1])
}
