package conformance_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// faultyNet is a dense encoder and decoder with one fault.
type faultyNet struct {
	fault string
	calls int
}

func (f *faultyNet) Encode(g *nn.Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	h, err := graph.Flatten(images)
	if err != nil {
		return nil, err
	}
	switch f.fault {
	case "refuses":
		return nil, errors.New("no")
	case "refuses all":
		return nil, fmt.Errorf("images of %v", images.Shape())
	case "no number of a constant": // 0/0
		if h, err = gorgonia.HadamardDiv(h, h); err != nil {
			return nil, err
		}
	case "flat":
		return images, nil
	case "panics":
		panic("torn weights")
	case "returns nothing":
		return nil, nil
	case "few units": // all of them may be dead
		return nn.Dense(g, h, name+"/dense", 4, graph.ReLU)
	case "blind":
		if h, err = graph.Scale(0, h); err != nil {
			return nil, err
		}
		return nn.DenseWith(g, h, name+"/dense", 4, graph.Tanh, nn.GlorotUniform)
	}
	return f.layer(g, h, name, 4)
}

func (f *faultyNet) Decode(g *nn.Graph, codes *gorgonia.Node, name string, image tensor.Shape) (*gorgonia.Node, error) {
	h, err := f.layer(g, codes, name, image.TotalSize())
	if err != nil || f.fault == "rows" {
		return h, err
	}
	return graph.Reshape(h, append([]int{codes.Shape()[0]}, image...)...)
}

// layer is a dense layer with tanh.
func (f *faultyNet) layer(g *nn.Graph, h *gorgonia.Node, name string, out int) (*gorgonia.Node, error) {
	f.calls++
	init := nn.Init(nn.GlorotUniform)
	switch f.fault {
	case "another name":
		name = "mine"
	case "constant weights":
		init = func(_ *rng.Stream, _ tensor.Shape, values []float32) {
			for i := range values {
				values[i] = float32(i%7) / 10
			}
		}
	case "a new parameter for every call":
		name = fmt.Sprintf("%s/%d", name, f.calls)
	}
	h, err := nn.DenseWith(g, h, name+"/dense", out, graph.Tanh, init)
	if err != nil {
		return nil, err
	}
	switch f.fault {
	case "by the call":
		return graph.Scale(float64(f.calls), h)
	case "by the batch":
		moments, err := layer.BatchMoments(h, 1)
		if err != nil {
			return nil, err
		}
		return layer.BatchNorm(h, moments, nil, nil, layer.NormOptions{Epsilon: 1e-5})
	case "half the gradient":
		if h, err = graph.Scale(0.5, h); err != nil {
			return nil, err
		}
		held, err := graph.StopGradient(h)
		if err != nil {
			return nil, err
		}
		return graph.Add(h, held)
	case "learns nothing":
		return graph.StopGradient(h)
	}
	return h, nil
}

func TestNetworksFindFaults(t *testing.T) {
	for fault, want := range map[string]string{
		"":                               "",
		"refuses":                        "error no; want an error with their size",
		"refuses all":                    "it suits no size of images",
		"no number of a constant":        "white): the value or gradient of loss is not finite",
		"flat":                           "the result of 4 rows has shape (4, 16, 16, 1)",
		"panics":                         "it panics: torn weights",
		"returns nothing":                "it returns neither a node nor an error",
		"few units":                      "",
		"blind":                          "different inputs have the same result",
		"rows":                           "the result of 4 rows has shape (4, 256); want",
		"another name":                   `parameter "mine/dense/weight"`,
		"constant weights":               "a model of another seed: is its result the same? true",
		"a new parameter for every call": "a second graph of the same parameters has the parameters [net/1/dense/weight",
		"by the call":                    "a second graph of the same parameters: is its result the same? false",
		"by the batch":                   "the result of a row depends on the rest of its batch",
		"half the gradient":              "the loss falls by",
		"learns nothing":                 "the result depends on no parameter that is trained",
	} {
		var errs []error
		if fault != "rows" {
			errs = append(errs, conformance.CheckEncoder(registry.Entry[nn.Encoder]{Name: "faulty", Doc: "a layer",
				New: func() nn.Encoder { return &faultyNet{fault: fault} }}))
		}
		if !strings.Contains(" refuses refuses all no number of a constant flat panics returns nothing few units blind", " "+
			fault) || fault == "" {
			errs = append(errs, conformance.CheckDecoder(registry.Entry[nn.Decoder]{Name: "faulty", Doc: "a layer",
				New: func() nn.Decoder { return &faultyNet{fault: fault} }}))
		}
		for _, err := range errs {
			must.Error(t, err, want, fault)
		}
	}
}
