package nn_test

import (
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestSummaries(t *testing.T) {
	rows := must.Get(nn.SummariseEncoder(encoderOf(t, `[{dropout: 0.5}, {conv: {channels: 4, stride: 2}}, {norm: batch}, {activation: gelu}, {dropout: 0.2},
		{pool: {kind: max, size: 3}}, {residual: {layers: [{conv: {channels: 4, kernel: 1}}]}}, {dense: {units: 5, bias: false}}]`), tensor.Shape{7, 6, 3}))(t)
	want := []nn.LayerSummary{
		{"encoder/dropout1", "dropout 0.5, in training", []int{7, 6, 3}, 0, 0},
		{"encoder/conv1", "convolution 3x3, stride 2", []int{4, 3, 4}, 9 * 3 * 4, 2 * 9 * 3 * 48},
		{"encoder/norm1", "batch norm, gelu", []int{4, 3, 4}, 8, 2 * 48},
		{"encoder/dropout2", "dropout 0.2, in training", []int{4, 3, 4}, 0, 0},
		{"encoder/pool1", "pool, stride 3", []int{2, 1, 4}, 0, 48},
		{"encoder/residual1/conv1", "convolution 1x1", []int{2, 1, 4}, 20, 2 * 4 * 8},
		{"encoder/residual1", "add, relu", []int{2, 1, 4}, 0, 8},
		{"flatten", "reshape", []int{8}, 0, 0},
		{"encoder/dense1", "dense", []int{5}, 40, 80},
	}
	compare(t, rows, want)
	rows = must.Get(nn.SummariseDecoder(decoderOf(t, "[{image: 4}, {deconv: {channels: image, activation: tanh}}]"), 2,
		tensor.Shape{3, 4, 1}))(t)
	compare(t, rows, []nn.LayerSummary{
		{"decoder/image1", "dense", []int{2, 2, 4}, 3 * 16, 2 * 2 * 16},
		{"decoder/deconv1", "transposed convolution 4x4, stride 2, tanh", []int{4, 4, 1}, 4*16 + 1, 2 * 16 * 4 * 4},
		{"decoder/deconv1/crop", "crop", []int{3, 4, 1}, 0, 0},
	})
}

func compare(t *testing.T, rows, want []nn.LayerSummary) {
	t.Helper()
	if len(rows) != len(want) {
		t.Fatalf("%d rows %v, want %d", len(rows), rows, len(want))
	}
	for i, r := range rows {
		w := want[i]
		if r.Name != w.Name || r.Operation != w.Operation || !slices.Equal(r.Output, w.Output) ||
			r.Parameters != w.Parameters || r.FLOP != w.FLOP {
			t.Errorf("row %d is %v, want %v", i, r, w)
		}
	}
}

// TestResNet18 compares with known numbers: the parameters of PyTorch's resnet18 with a 3x3 stem and without its last
// layer, and the multiplications for images of side 32.
func TestResNet18(t *testing.T) {
	rows := must.Get(nn.SummariseEncoder(nn.NewResNet18(), tensor.Shape{32, 32, 3}))(t)
	parameters, products := 0, 0.0
	for _, r := range rows {
		parameters += r.Parameters
		if r.Operation[:4] == "conv" {
			products += r.FLOP / 2
		}
	}
	if last := rows[len(rows)-1]; parameters != 11168832 || products != 555417600 || !slices.Equal(last.Output, []int{512}) {
		t.Errorf("%d parameters, %.0f products, last row %v", parameters, products, last)
	}
}

// outside is an encoder of plain nodes.
type outside struct{}

func (outside) Encode(g *nn.Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	h, err := graph.Flatten(images)
	if err != nil {
		return nil, err
	}
	if h, err = nn.Dense(g, h, name+"/first", 3, graph.Linear); err != nil {
		return nil, err
	}
	if h, err = graph.Activate(h, graph.Tanh); err != nil {
		return nil, err
	}
	return gorgonia.Add(h, h)
}

func TestSummaryOfOutside(t *testing.T) {
	rows := must.Get(nn.SummariseEncoder(outside{}, tensor.Shape{2, 2, 1}))(t)
	names := []string{}
	for _, r := range rows {
		names = append(names, r.Name)
	}
	if len(rows) != 4 || !slices.Equal(names[:3], []string{"flatten", "encoder/first", "activate"}) ||
		rows[1].Parameters != 15 || rows[3].FLOP != 3 {
		t.Errorf("rows %v", rows)
	}
}
