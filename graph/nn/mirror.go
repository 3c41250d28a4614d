package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Mirror implements [Mirrored]. A stage is a convolution, residual, pooling or dense layer with the norms and
// activations after it. The decoder inverts the shapes stage by stage, from the last stage to the first. For each stage
// it adds layers that restore the shape of the stage's input, then the norms and activations of the previous stage. A
// strided convolution becomes a transposed convolution if the stride divides the side of the filters. Otherwise it
// becomes an upsampling and a convolution. The layer that flattens images to rows becomes an image layer. The decoder
// has no dropout. If a layer has no mirror image, the decoder's Decode returns an error that names the layer.
func (l *Layers) Mirror() Decoder {
	list, err := l.List.mirror()
	if err != nil {
		return noMirror{err}
	}
	return &Layers{List: list, Init: l.Init}
}

// noMirror is the decoder of an encoder without a mirror image.
type noMirror struct{ err error }

func (m noMirror) Decode(*Graph, *gorgonia.Node, string, tensor.Shape) (*gorgonia.Node, error) {
	return nil, m.err
}

// stage is a layer that changes shapes, with the norms and activations after it.
type stage struct {
	layer  Layer
	after  LayerList // norms and activations
	before Channels  // channels or columns of the stage's input
	images bool      // the input is images or flattened images
}

// stages splits a list into stages. It returns the channels or columns of the last result, and whether this result is
// images.
func (l LayerList) stages() (stages []stage, width Channels, images bool, err error) {
	width, images = imageChannels, true
	for i, c := range l {
		s := stage{layer: c.Value, before: width, images: images}
		switch v := c.Value.(type) {
		case *NormLayer, *ActivationLayer:
			if n := len(stages); n > 0 {
				stages[n-1].after = append(stages[n-1].after, unnamed(c))
			}
			continue
		case *flattenLayer, *dropoutLayer:
			continue
		case *ConvLayer:
			width, s.after = v.Channels, fusedBehind(v.Activation)
		case *DenseLayer:
			stages = withoutFixedPool(stages)
			width, images, s.after = v.Units, false, fusedBehind(v.Activation)
		case *PoolLayer:
		case *ResidualLayer:
			if v.Upsample > 1 {
				return nil, 0, false, unmirrored(i, c.Name, "it makes images larger")
			}
			if v.Layers == nil {
				width = v.Channels
			}
		default:
			return nil, 0, false, unmirrored(i, c.Name,
				"of layers that change shapes only conv, residual, pool and dense have one")
		}
		if n := len(stages); n > 0 && fixedPool(stages[n-1].layer) {
			return nil, 0, false, unmirrored(i-1, "pool", "it makes one size of images of any")
		}
		stages = append(stages, s)
	}
	return withoutFixedPool(stages), width, images, nil
}

func unmirrored(index int, name, why string) error {
	return fmt.Errorf("there is no mirror image of layer %d (from 0) of the encoder, %s: %s; want a decoder",
		index, name, why)
}

func fixedPool(l Layer) bool {
	p, ok := l.(*PoolLayer)
	return ok && p.To != nil
}

// withoutFixedPool drops a final pooling to a fixed size, because the decoder's image layer then creates the input of
// that pooling.
func withoutFixedPool(stages []stage) []stage {
	last := len(stages) - 1
	if last < 0 || !fixedPool(stages[last].layer) {
		return stages
	}
	if last > 0 {
		stages[last-1].after = append(stages[last-1].after, stages[last].after...)
	}
	return stages[:last]
}

// unnamed returns a norm or activation layer without its name.
func unnamed(c LayerChoice) LayerChoice {
	switch v := c.Value.(type) {
	case *NormLayer:
		n := *v
		n.Name = ""
		c.Value = &n
	case *ActivationLayer:
		c.Value = &ActivationLayer{Kind: v.Kind}
	}
	return c
}

func fusedBehind(activation string) LayerList {
	if activation == "" {
		return nil
	}
	return LayerList{activationPart(activation)}
}

func (l LayerList) mirror() (LayerList, error) {
	stages, width, images, err := l.stages()
	if err != nil {
		return nil, err
	}
	list := LayerList{imagePart(width, "", "")} // from codes to features
	if !images {
		list = LayerList{densePart(int(width), "", "")}
	}
	for i := len(stages) - 1; i >= 0; i-- {
		if !list.endsInBlock() {
			list = append(list, stages[i].end()...)
		}
		list = append(list, stages[i].inverse()...)
	}
	return list, nil
}

// endsInBlock reports whether a list ends with a residual block, possibly with upsampling. A block already has norm and
// activation.
func (l LayerList) endsInBlock() bool {
	for i := len(l) - 1; i >= 0; i-- {
		if _, enlarged := l[i].Value.(*UpsampleLayer); !enlarged {
			_, block := l[i].Value.(*ResidualLayer)
			return block
		}
	}
	return false
}

// end lists the norms and activations at the end of a stage.
func (s stage) end() LayerList {
	if r, ok := s.layer.(*ResidualLayer); ok {
		return append(LayerList{activationPart(r.Activation)}, s.after...)
	}
	return s.after
}

// inverse lists the layers that map the result of a stage to the shape of its input.
func (s stage) inverse() LayerList {
	switch v := s.layer.(type) {
	case *ConvLayer:
		return s.inverseConv(v)
	case *DenseLayer:
		w := Weighted{Bias: v.Bias, Init: v.Init}
		if s.images {
			return LayerList{{"image", &ImageLayer{Channels: s.before, Weighted: w}}}
		}
		return LayerList{{"dense", &DenseLayer{Units: s.before, Weighted: w}}}
	case *PoolLayer:
		if v.step() > 1 {
			return LayerList{upsamplePart(v.step())}
		}
	case *ResidualLayer:
		return s.inverseResidual(v)
	}
	return nil
}

func (s stage) inverseConv(v *ConvLayer) LayerList {
	w := Weighted{Bias: v.Bias, Init: v.Init}
	if v.Padding == validPadding || v.Stride > 1 && v.Kernel%v.Stride == 0 {
		padding := v.Padding
		if padding == symmetricPadding {
			padding = samePadding
		}
		return LayerList{{"deconv", &DeconvLayer{Channels: s.before, Kernel: v.Kernel, Stride: v.Stride, Padding: padding,
			Fan: fanOverlap, Weighted: w}}}
	}
	c := LayerChoice{"conv", &ConvLayer{Channels: s.before, Kernel: v.Kernel, Stride: 1, Padding: samePadding,
		Weighted: w}}
	if v.Stride > 1 {
		return LayerList{upsamplePart(v.Stride), c}
	}
	return LayerList{c}
}

func (s stage) inverseResidual(v *ResidualLayer) LayerList {
	r := *v
	r.Name = ""
	if v.Layers != nil {
		return LayerList{{"residual", &r}}
	}
	r.Stride, r.Upsample = 1, v.Stride
	if s.before != imageChannels {
		r.Channels = s.before
		return LayerList{{"residual", &r}}
	}
	c := convPart(imageChannels, v.Kernel, 1, "") // an activation does not produce pixels
	c.Value.(*ConvLayer).Init = v.Init
	return LayerList{{"residual", &r}, c}
}

func upsamplePart(times int) LayerChoice {
	return LayerChoice{"upsample", &UpsampleLayer{Times: times, Kind: nearest}}
}

// mirrorOf returns the mirror image of a preset. Every preset has one.
func mirrorOf(l *Layers) *Layers {
	m, ok := l.Mirror().(*Layers)
	if !ok {
		return &Layers{Init: l.Init}
	}
	return m
}
