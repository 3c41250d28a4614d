package onnx_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/onnx"
)

func sample() *onnx.Model {
	return &onnx.Model{Producer: "p", Version: "1", Doc: "d", Metadata: map[string]string{"b": "2", "a": "1"}, Graph: onnx.Graph{Name: "g",
		Inputs:  []onnx.Value{{Name: "x", Doc: "rows", Shape: []int{onnx.Any, 3}}},
		Outputs: []onnx.Value{{Name: "y", Doc: "sums", Shape: []int{onnx.Any, 300}}},
		Weights: []onnx.Tensor{{Name: "w", Shape: []int{1, 2}, Floats: []float32{1.5, -2}}, {Name: "n", Shape: []int{2}, Ints: []int64{-1, 1 << 40}}},
		Nodes: []onnx.Node{
			{Op: "A", Name: "a", Inputs: []string{"x", "w"}, Outputs: []string{"h"}, Attributes: map[string]any{"i": -7, "f": float32(0.25), "s": "text", "l": []int{0, -1, 300}}},
			{Op: "B", Name: "b", Inputs: []string{"h", "n"}, Outputs: []string{"y"}, Attributes: map[string]any{}},
		}}}
}

// A model is equal to its encoded and decoded copy, except for the versions of the format.
func TestRoundTrip(t *testing.T) {
	data, err := onnx.Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	got, err := onnx.Decode(data)
	if err != nil || got.IR != 8 || got.Opset != 17 || !reflect.DeepEqual(got.Graph, sample().Graph) || !reflect.DeepEqual(got.Metadata, sample().Metadata) {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestErrors(t *testing.T) {
	for want, change := range map[string]func(g *onnx.Graph){
		`node A "a" takes "z", which is not defined before it`:       func(g *onnx.Graph) { g.Nodes[0].Inputs[0] = "z" },
		`node A "a" takes "y", which is not`:                         func(g *onnx.Graph) { g.Nodes[0].Inputs[0] = "y" },
		`the value "h" is defined twice`:                             func(g *onnx.Graph) { g.Nodes[1].Outputs[0] = "h" },
		`the value "" is defined twice, or has no name`:              func(g *onnx.Graph) { g.Weights[0].Name = "" },
		`nothing computes the output "q"`:                            func(g *onnx.Graph) { g.Outputs[0].Name = "q" },
		`tensor "w" has 2 elements; want 3 for shape [3]`:            func(g *onnx.Graph) { g.Weights[0].Shape = []int{3} },
		`attribute i is float64; want int, float32, string or []int`: func(g *onnx.Graph) { g.Nodes[0].Attributes["i"] = 1.0 },
		`tensor "n" has numbers of both kinds`:                       func(g *onnx.Graph) { g.Weights[1].Floats = []float32{1, 2} },
	} {
		m := sample()
		change(&m.Graph)
		if _, err := onnx.Encode(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %s", err, want)
		}
	}
}
