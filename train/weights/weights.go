// Package weights imports and exports models: parameters by name as safetensors, for NumPy, PyTorch or JAX, and
// encoders and decoders as ONNX networks.
//
// The export walks the graph that a model builds, node by node. It therefore also works for networks of other modules
// that consist of operations of package graph and of Gorgonia. For an operation without a translation, it returns an
// error with the operation's name.
package weights

import (
	"fmt"

	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/models"
)

// Source is a model with its data, views and config.
type Source struct {
	Model models.Model
	Data  models.Data    // shape of the images
	Views *augment.Views // normalisation of the images; nil: none

	Config  string // experiment in YAML for the metadata; empty: none
	Version string // version of the program

	Half bool // WriteSafetensors rounds elements to the nearest float16, ties to even
}

// Part is a network of a model.
type Part string

// Parts of a model.
const (
	Encoder Part = "encoder" // maps images to codes, as used by metrics
	Decoder Part = "decoder" // maps codes to images
)

// Layout is an order of axes and elements.
type Layout string

// The layouts.
const (
	// Native is the layout of package graph: images [N, H, W, C], filters [k, k, in, out], filters of transposed
	// convolutions [k, k, out, in], weights of dense layers [in, out].
	Native Layout = "unravel"

	// PyTorch is the layout of torch.nn: images [N, C, H, W], filters [out, in, k, k], filters of transposed
	// convolutions [in, out, k, k], weights of dense layers [out, in]. Images are flattened channel by channel.
	PyTorch Layout = "pytorch"
)

func (l Layout) check() error {
	if l != Native && l != PyTorch {
		return fmt.Errorf("unknown layout %q; want %s or %s", l, Native, PyTorch)
	}
	return nil
}

// Network describes a part of a model. A size of -1 is the number of images, and -k is k times the number of images.
type Network struct {
	Input  []int   `json:"input"` // shapes
	Output []int   `json:"output"`
	Layers []Layer `json:"layers"` // in the order of computation
}

// Layer is an operation of a network.
type Layer struct {
	Operation  string         `json:"operation"`            // name of the operation in package graph or in Gorgonia
	Parameters []string       `json:"parameters,omitempty"` // names of the tensors that the operation uses, in order
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

// Parts lists the parts that the model has.
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
