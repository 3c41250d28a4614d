package main

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/nn"
)

// mixed is a layer: relu of the sum of convolutions with filters of side 3 and 5.
type mixed struct {
	Channels int `yaml:"channels" doc:"output channels"`
	nn.LayerName
}

func (m *mixed) Validate() error {
	if m.Channels < 1 || m.Channels > 4096 {
		return config.Invalid("channels", "%d is out of range; want 1 to 4096", m.Channels)
	}
	return nil
}

// Forms implements nn.Formed.
func (*mixed) Forms() (in, out nn.Form) { return nn.Images, nn.Images }

// Build implements nn.Layer.
func (m *mixed) Build(p nn.Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	small, err := nn.Conv(p.Graph, x, p.Name+"/small", nn.ConvOptions{Out: m.Channels, Kernel: 3, Init: nn.HeNormal})
	if err != nil {
		return nil, err
	}
	large, err := nn.Conv(p.Graph, x, p.Name+"/large", nn.ConvOptions{Out: m.Channels, Kernel: 5, Init: nn.HeNormal})
	if err != nil {
		return nil, err
	}
	return layer.Add(small, large, graph.ReLU)
}
