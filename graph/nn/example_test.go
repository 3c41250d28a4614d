package nn_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
)

// Residual is an encoder with residual blocks (He et al. 2016). A block adds its input to the result of two
// convolutions with batch norm, and halves the sides of the image.
type Residual struct {
	Widths   []int `yaml:"widths" doc:"channels of each block"`
	Features int   `yaml:"features" doc:"width of the result"`
}

// Validate checks the settings.
func (r *Residual) Validate() error {
	if len(r.Widths) == 0 || r.Features < 1 {
		return config.Invalid("widths", "want a block or more, and 1 feature or more")
	}
	return nil
}

// Encode implements nn.Encoder.
func (r *Residual) Encode(g *nn.Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	h := images
	for i, width := range r.Widths {
		layer := fmt.Sprintf("%s/block%d", name, i+1)
		x, err := nn.Conv(g, h, layer+"/down", nn.ConvOptions{Out: width, Kernel: 2, Stride: 2})
		if err != nil {
			return nil, err
		}
		if h, err = r.block(g, x, layer, width); err != nil {
			return nil, err
		}
	}
	h, err := graph.Flatten(h)
	if err != nil {
		return nil, err
	}
	return nn.Dense(g, h, name+"/features", r.Features, graph.Linear)
}

// block returns relu(x + norm(conv(relu(norm(conv(x)))))).
func (r *Residual) block(g *nn.Graph, x *gorgonia.Node, name string, width int) (*gorgonia.Node, error) {
	h := x
	var err error
	for i := range 2 {
		if h, err = nn.Conv(g, h, fmt.Sprintf("%s/conv%d", name, i+1), nn.ConvOptions{Out: width, Kernel: 3, Init: nn.HeNormal}); err != nil {
			return nil, err
		}
		if h, err = nn.Norm(g, h, fmt.Sprintf("%s/norm%d", name, i+1), nn.NormOptions{Kind: nn.BatchNorm, ReLU: i == 0}); err != nil {
			return nil, err
		}
	}
	if h, err = graph.Add(x, h); err != nil {
		return nil, err
	}
	return graph.Activate(h, graph.ReLU)
}

// An encoder with residual blocks is a type with the method Encode. A config can name it after registration.
func ExampleRegisterEncoder() {
	err := nn.RegisterEncoder(registry.Entry[nn.Encoder]{Name: "residual", Doc: "residual blocks of two convolutions",
		Source: "He et al. 2016", New: func() nn.Encoder { return &Residual{Widths: []int{8, 16}, Features: 10} }})
	if err != nil {
		log.Fatal(err)
	}
	encoder, err := nn.NamedEncoder("residual")
	if err != nil {
		log.Fatal(err)
	}
	g := nn.NewGraph(nn.NewParams(1))
	g.Training = true
	images, err := g.Input("images", 4, 16, 16, 3)
	if err != nil {
		log.Fatal(err)
	}
	features, err := encoder.Value.Encode(g, images, "encoder")
	if err != nil {
		log.Fatal(err)
	}
	m, err := machine.New(g.ExprGraph, features)
	if err != nil {
		log.Fatal(err)
	}
	if err := m.RunAll(); err != nil {
		log.Fatal(err)
	}
	names, _ := g.Learnables()
	fmt.Println(features.Value().Shape(), len(names), "parameters, such as", names[0])
	fmt.Println(len(g.Running()), "normalisations keep running moments, such as", g.Params.Names()[6])
	// Output:
	// (4, 10) 22 parameters, such as encoder/block1/down/weight
	// 4 normalisations keep running moments, such as encoder/block1/norm1/running
}
