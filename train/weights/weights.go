// Package weights takes models in and out: parameters by name as safetensors, for NumPy, PyTorch or
// JAX, and encoders and decoders as ONNX networks.
//
// Export walks the graph that a model builds, node by node. The package therefore also exports networks of other
// modules, made of the operations of package graph and of Gorgonia. An operation without a translation is an error
// that names it.
package weights

import (
	"fmt"

	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/models"
)

// Source is a model with its data, views and config.
type Source struct {
	Model models.Model
	Data  models.Data    // the shape of the images
	Views *augment.Views // images are normalised as these are; nil: not at all

	Config  string // the experiment, in YAML; it goes into the metadata if it is not empty
	Version string // version of the program

	Half bool // WriteSafetensors rounds elements to the nearest float16, ties to even
}

// Part is a network of a model.
type Part string

// The parts.
const (
	Encoder Part = "encoder" // from images to codes, as metrics see them
	Decoder Part = "decoder" // from codes to images
)

// Layout is an order of axes.
type Layout string

// The layouts.
const (
	// Native is the layout of package graph: images [N, H, W, C], filters [k, k, in, out], filters of transposed
	// convolutions [k, k, out, in], weights of dense layers [in, out].
	Native Layout = "unravel"

	// PyTorch is the layout of torch.nn: images [N, C, H, W], filters [out, in, k, k], filters of transposed
	// convolutions [in, out, k, k], weights of dense layers [out, in]. An image is flattened channel by channel.
	PyTorch Layout = "pytorch"
)

func (l Layout) check() error {
	if l != Native && l != PyTorch {
		return fmt.Errorf("unknown layout %q; want %s or %s", l, Native, PyTorch)
	}
	return nil
}

// Network describes a part of a model. Sizes of -1 stand for the number of images, -k for k times that.
type Network struct {
	Input  []int   `json:"input"` // shapes
	Output []int   `json:"output"`
	Layers []Layer `json:"layers"` // in the order of computation
}

// Layer is an operation of a network.
type Layer struct {
	Operation  string         `json:"operation"`            // as package graph or Gorgonia calls it
	Parameters []string       `json:"parameters,omitempty"` // names of the tensors that it takes, in order
	Attributes map[string]any `json:"attributes,omitempty"`
	Output     []int          `json:"output"`
}

// Describe lists the operations of a part of a model.
func (s *Source) Describe(p Part) (*Network, error) {
	t, err := s.trace(p)
	if err != nil {
		return nil, err
	}
	return t.describe(), nil
}

// Parts lists the networks that the model has.
func (s *Source) Parts() []Part {
	if _, ok := s.Model.(models.Decoder); ok {
		return []Part{Encoder, Decoder}
	}
	return []Part{Encoder}
}

func (s *Source) width() (n int) {
	for _, space := range s.Model.Spaces() {
		n += space.Width
	}
	return n
}
