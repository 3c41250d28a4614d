package conformance_test

import (
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// TestLayers checks networks of every kind of layer against the rules of encoders and decoders: gradients at odd
// sides, with strides, and of one pixel; names; and results that follow from the seed.
func TestLayers(t *testing.T) {
	long.NotShort(t)
	for _, list := range []string{
		"[{conv: {channels: 3, stride: 2}}, {activation: elu}, {conv: {channels: 2, kernel: 4, stride: 3}}, {dense: 4}]",
		"[{conv: {channels: 4, kernel: 1, padding: valid, bias: false}}, {norm: batch}, {activation: gelu}, {pool: {to: 1}}]",
		"[{conv: 4}, {norm: {kind: group, groups: 2}}, {activation: silu}, {pool: {size: 3, stride: 2}}, {dense: 3}]",
		"[{conv: 4}, {norm: layer}, {activation: softplus}, {pool: {kind: max, size: 2}}, flatten, {dense: {units: 3, init: pytorch}}]",
		"[{conv: 4}, {norm: instance}, {activation: tanh}, {shuffle: 2}, {dense: 3}, {norm: batch}, {activation: sigmoid}]",
		"[{conv: {channels: 2, activation: leaky-relu}}, {upsample: {times: 2, kind: bilinear}}, {deconv: {channels: 3, kernel: 3}}, {dense: 3}, {dropout: 0.3}]",
		"[{residual: {channels: 4, times: 2, activation: elu}}, {residual: {channels: 3, stride: 2, norm: none, activation: tanh}}]",
		"[{residual: {channels: 8, kind: bottleneck, stride: 2, norm: layer, activation: silu}}, {residual: {layers: [{conv: 8}, {norm: layer}, {activation: gelu}, {conv: 8}], activation: elu}}]",
		"[{dense: 6}, {residual: {layers: [{dense: 6}], activation: tanh}}, {image: {channels: 2, to: [2, 3]}}, {crop: [1, 2]}, {upsample: 2}, {conv: 2}]",
	} {
		t.Run(list, func(t *testing.T) {
			if err := conformance.CheckEncoder(entry[nn.Encoder](t, list)); err != nil {
				t.Error(err)
			}
		})
	}
	for _, list := range []string{
		"[{dense: 4}, {activation: elu}, {image: 3}, {activation: tanh}, {deconv: {channels: 2, kernel: 3}}, {deconv: {channels: image, stride: 3}}]",
		"[{image: {channels: 8, activation: silu}}, {shuffle: 2}, {residual: {channels: 3, upsample: 2, activation: elu, norm: layer}}, {conv: image}]",
		"[{image: 2}, {upsample: 2}, {conv: 3}, {norm: batch}, {activation: gelu}, {upsample: {times: 3, kind: bilinear}}, {conv: {channels: image, kernel: 2, padding: valid}}]",
		"[{image: image}]",
	} {
		t.Run(list, func(t *testing.T) {
			if err := conformance.CheckDecoder(entry[nn.Decoder](t, list)); err != nil {
				t.Error(err)
			}
		})
	}
}

// entry makes a registry entry from a list of layers.
func entry[T any](t *testing.T, list string) registry.Entry[T] {
	return registry.Entry[T]{Name: "layers", Doc: "layers of a test", New: func() T {
		var l nn.Layers
		l.Init = nn.DefaultLayerInit
		must.OK(t, config.Load("layers", []byte(list), &l))
		return any(&l).(T)
	}}
}

// noisyLayer is a layer with a result that depends on the number of calls.
type noisyLayer struct{ calls int }

func (l *noisyLayer) Build(_ nn.Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	l.calls++
	return graph.Scale(float64(l.calls), x)
}

func TestLayersFindFaults(t *testing.T) {
	e := registry.Entry[nn.Layer]{Name: "noisy", Doc: "a layer", New: func() nn.Layer { return &noisyLayer{} }}
	must.OK(t, nn.RegisterLayer(e))
	defer func() { nn.Parts.Entries = nn.Parts.Entries[:len(nn.Parts.Entries)-1] }()
	must.Error(t, conformance.CheckLayer(e), "a second graph of the same parameters: is its result the same? false")
}
