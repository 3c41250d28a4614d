package nn

import (
	"cmp"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
)

const normSources = "Ioffe and Szegedy 2015 (batch); Wu and He 2018 (group); Ba et al. 2016 (layer); Ulyanov et al. 2016 (instance)"

const defaultGroups = 8

// NormLayer is a normalisation; see [Norm].
type NormLayer struct {
	Kind       string `yaml:"kind" doc:"batch, group, layer, instance or none"`
	Groups     int    `yaml:"groups" doc:"number of channel groups in group normalisation; divides the channels"`
	Activation string `yaml:"activation,omitempty" doc:"activation after the layer"`
	LayerName
}

// newNormLayer returns the default settings: batch normalisation.
func newNormLayer() *NormLayer { return &NormLayer{Kind: BatchNorm, Groups: defaultGroups} }

func (l *NormLayer) Validate() error {
	return cmp.Or(validNormKind("kind", l.Kind, l.Groups), optionalActivation("activation", l.Activation))
}

func validNormKind(key, kind string, groups int) error {
	if err := validNorm(kind); err != nil {
		return config.Invalid(key, "%w", err)
	}
	if kind == GroupNorm {
		return validRange("groups", groups, 1, maxChannels)
	}
	return nil
}

// Build implements [Layer].
func (l *NormLayer) Build(p Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	a, err := parsedActivation(l.Activation)
	if err != nil {
		return nil, err
	}
	y, err := Norm(p.Graph, x, p.Name, NormOptions{Kind: l.Kind, Groups: l.Groups, ReLU: a == graph.ReLU})
	if err != nil || a == graph.Linear || a == graph.ReLU {
		return y, err
	}
	return graph.Activate(y, a)
}

// ActivationLayer is an activation.
type ActivationLayer struct {
	Kind string `yaml:"kind" doc:"relu, leaky-relu, elu, gelu, silu, softplus, tanh, sigmoid or linear"`
	LayerName
}

func (l *ActivationLayer) Validate() error { return optionalActivation("kind", l.Kind) }

// Build implements [Layer].
func (l *ActivationLayer) Build(_ Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	a, err := parsedActivation(l.Kind)
	if err != nil || a == graph.Linear {
		return x, err
	}
	return graph.Activate(x, a)
}

// flattenLayer flattens images to rows.
type flattenLayer struct{ LayerName }

func (*flattenLayer) Forms() (in, out Form) { return Any, Rows }

func (*flattenLayer) Build(_ Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Flatten(x)
}

// dropoutLayer is a dropout; see [Dropout].
type dropoutLayer struct {
	Rate float64 `yaml:"rate" doc:"probability of setting an element to 0 in training"`
	LayerName
}

func (l *dropoutLayer) Validate() error {
	if !(l.Rate >= 0 && l.Rate < 1) {
		return config.Invalid("rate", "want at least 0 and less than 1, got %v", l.Rate)
	}
	return nil
}

func (l *dropoutLayer) Build(p Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	return Dropout(p.Graph, x, p.Name, l.Rate)
}
