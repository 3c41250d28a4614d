package nn_test

import (
	"testing"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
)

// Residual blocks with stride 2 pad as PyTorch's conv2d with padding 1. The expected result is from PyTorch. Mirror
// images keep SAME padding, because transposed convolutions have no symmetric padding.
func TestSymmetricPadding(t *testing.T) {
	g := nn.NewGraph(nn.NewParams(1))
	x := must.Get(g.Input("images", 1, 4, 4, 1))(t)
	for i := range nn.Data(x) {
		nn.Data(x)[i] = float32(i + 1)
	}
	y, err := encoderOf(t, "[{residual: {channels: 1, stride: 2, norm: none, activation: linear}}]").Encode(g, x, "encoder")
	must.OK(t, err)
	for name, filter := range map[string][]float32{"conv1": {1, 0, 0, 0, 10, 0, 0, 0, 100}, "conv2": {0, 0, 0, 0, 1, 0, 0, 0, 0}, "projection": {0}} {
		copy(g.Params.Get("encoder/residual1/"+name+"/weight").Float32s(), filter)
	}
	m := must.Get(machine.New(g.ExprGraph, y))(t)
	must.OK(t, m.RunAll())
	must.EqualSlices(t, m.Value(y).Data().([]float32), []float32{610, 830, 1490, 1716}, "residual block")
	mirror := encoderOf(t, "[{conv: {channels: 2, kernel: 4, stride: 2, padding: symmetric}}, {dense: 3}]").(nn.Mirrored).Mirror()
	codes := must.Get(g.Input("codes", 1, 3))(t)
	if _, err := mirror.Decode(g, codes, "decoder", []int{7, 8, 1}); err != nil {
		t.Error(err)
	}
	for _, layer := range mirror.(*nn.Layers).List {
		if d, ok := layer.Value.(*nn.DeconvLayer); ok && d.Validate() != nil {
			t.Error(d.Validate())
		}
	}
}
