package onnx_test

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/onnx"
)

func sample() *onnx.Model {
	return &onnx.Model{Producer: "p", Version: "1", Doc: "d", Metadata: map[string]string{"b": "2", "a": "1"}, Graph: onnx.Graph{Name: "g",
		Inputs:  []onnx.Value{{Name: "x", Doc: "rows", Shape: []int{onnx.Any, 3}}},
		Outputs: []onnx.Value{{Name: "y", Doc: "sums", Shape: []int{onnx.Any, 300}}},
		Weights: []onnx.Tensor{{Name: "w", Shape: []int{1, 2}, Floats: []float32{1.5, -2}},
			{Name: "n", Shape: []int{2}, Ints: []int64{-1, 1 << 40}}},
		Nodes: []onnx.Node{
			{Op: "A", Name: "a", Inputs: []string{"x", "w"}, Outputs: []string{"h"}, Attributes: map[string]any{"i": -7, "f": float32(0.25), "s": "text", "l": []int{0, -1, 300}}},
			{Op: "B", Name: "b", Inputs: []string{"h", "n"}, Outputs: []string{"y"}, Attributes: map[string]any{}},
		}}}
}

// A model is equal to its encoded and decoded copy, except for the versions of the format.
func TestRoundTrip(t *testing.T) {
	data := must.Get(onnx.Encode(sample()))(t)
	got, err := onnx.Decode(data)
	if err != nil || got.IR != 8 || got.Opset != 17 || !reflect.DeepEqual(got.Graph, sample().Graph) ||
		!reflect.DeepEqual(got.Metadata, sample().Metadata) {
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
		must.ErrorOf(onnx.Encode(m))(t, want)
	}
}

// Messages of other programs: numbers, packed and single lists, and texts by the number of their field.
func number(field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
}

func single(field protowire.Number, v float32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, field, protowire.Fixed32Type), math.Float32bits(v))
}

func text(field protowire.Number, parts ...string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), strings.Join(parts, ""))
}

func fields(field protowire.Number, parts ...[]byte) []byte {
	return text(field, string(bytes.Join(parts, nil)))
}

// A tensor has its elements in one of several fields, which must suit its type and shape.
func TestDecodeTensor(t *testing.T) {
	const one, two = "\x00\x00\x80\x3f", "\x00\x00\x00\x40"
	for i, c := range []struct {
		parts [][]byte
		want  string // shape, floats, integers; or the error
	}{
		{[][]byte{number(1, 2), number(2, 1), text(9, one, two)}, "[2] [1 2] []"},
		{[][]byte{number(1, 2), number(2, 1), text(4, one, two)}, "[2] [1 2] []"},
		{[][]byte{number(1, 2), number(2, 1), single(4, 1), single(4, 2)}, "[2] [1 2] []"},
		{[][]byte{text(1, "\x01\x02"), number(2, 7), text(7, "\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}, "[1 2] [] [5 -1]"},
		{[][]byte{number(2, 7), number(7, 5)}, "[] [] [5]"},
		{[][]byte{number(1, 1), number(2, 6), number(5, 5)}, "[1] [] [5]"},
		{[][]byte{number(1, 2), number(2, 6), text(9, "\x05\x00\x00\x00\xff\xff\xff\xff")}, "[2] [] [5 -1]"},
		{[][]byte{number(1, 2), number(2, 7), text(9, "\x05\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff")}, "[2] [] [5 -1]"},
		{[][]byte{number(1, 2), number(2, 9), text(9, "\x01\x00")}, "[2] [] [1 0]"},
		{[][]byte{number(2, 1), number(14, 0), single(4, 3)}, "[] [3] []"},
		{[][]byte{number(2, 1), number(14, 1), single(4, 3)}, "its elements lie in another file"},
		{[][]byte{number(2, 1), text(13, "x"), single(4, 3)}, "its elements lie in another file"},
		{[][]byte{number(2, 1), text(3, "")}, "it is divided into segments; want the whole tensor"},
		{[][]byte{number(2, 11), single(4, 3)}, "it has element type DOUBLE; want FLOAT, INT64, INT32 or BOOL"},
		{[][]byte{number(2, 17)}, "it has element type number 17"},
		{[][]byte{number(2, 1), text(4, "abc")}, "3 bytes are no list of float32"},
		{[][]byte{number(2, 7), text(7, "\xff")}, "unexpected EOF"},
		{[][]byte{number(1, 2), number(2, 1), text(9, one)}, "it has 4 bytes of elements; want 8 for shape [2] of FLOAT"},
		{[][]byte{number(1, 2), number(2, 7), number(7, 1)}, "it has 1 elements; want 2 for shape [2]"},
		{[][]byte{number(1, 1<<63), number(2, 1)}, "-9223372036854775808"},
	} {
		m, err := onnx.Decode(fields(7, fields(5, c.parts...)))
		got := fmt.Sprint(err)
		if err == nil {
			w := m.Graph.Weights[0]
			got = fmt.Sprint(w.Shape, w.Floats, w.Ints)
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%d: %s; want %s", i, got, c.want)
		}
	}
}

// Attributes have a kind and a field for each kind. Decode does not read other kinds, such as graphs.
func TestDecodeAttribute(t *testing.T) {
	for i, c := range []struct {
		parts [][]byte
		want  string
	}{
		{[][]byte{number(20, 1), single(2, 2.5)}, "2.5"},
		{[][]byte{number(20, 2), number(3, 1<<64-3)}, "-3"},
		{[][]byte{number(20, 3), text(4, "x")}, "x"},
		{[][]byte{number(20, 6), single(7, 2.5), single(7, 3)}, "[2.5 3]"},
		{[][]byte{number(20, 6), text(7, "\x00\x00\x80\x3f")}, "[1]"},
		{[][]byte{number(20, 7), number(8, 4), number(8, 5)}, "[4 5]"},
		{[][]byte{number(20, 7), text(8, "\x04\x05")}, "[4 5]"},
		{[][]byte{number(20, 5), text(6, "")}, "5"}, // a graph
		{[][]byte{number(20, 4), fields(5, number(2, 1), single(4, 3))}, "[3]"},
		{[][]byte{number(20, 4)}, `attribute "a": it has no tensor`},
		{[][]byte{number(20, 4), fields(5, number(2, 8))}, `attribute "a": it has element type STRING`},
		{[][]byte{number(20, 6), text(7, "abcde")}, `attribute "a": 5 bytes are no list`},
	} {
		node := fields(1, text(3, "n"), text(4, "Op"), text(7, "own"), fields(5, append([][]byte{text(1, "a")}, c.parts...)...))
		m, err := onnx.Decode(fields(7, node))
		got := fmt.Sprint(err)
		if err == nil {
			a := m.Graph.Nodes[0].Attributes["a"]
			if x, ok := a.(*onnx.Tensor); ok {
				a = x.Floats
			}
			if got = fmt.Sprint(a); m.Graph.Nodes[0].Operator() != "own.Op" {
				t.Errorf("operator %s", m.Graph.Nodes[0].Operator())
			}
		}
		if got != c.want && (err == nil || !strings.Contains(got, `node 0, Op "n": `) || !strings.Contains(got, c.want)) {
			t.Errorf("%d: %s; want %s", i, got, c.want)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	value := func(kind ...[]byte) []byte { return fields(7, fields(11, text(1, "x"), fields(2, kind...))) }
	for i, c := range []struct {
		model []byte
		want  string
	}{
		{nil, "damaged or not an ONNX file: it has no graph"},
		{[]byte("PK\x03\x04"), "a ZIP archive, as torch.save writes; want an ONNX file"},
		{number(1, 8), "damaged or not an ONNX file: it has no graph"},
		{append(text(7), text(7)...), "damaged or not an ONNX file: it has two graphs"},
		{value(text(4, "")), `input 0, "x": it is no tensor`},
		{value(fields(1, fields(2, text(1, "\xff")))), "unexpected EOF"},
	} {
		must.ErrorOf(onnx.Decode(c.model))(t, c.want, i)
	}
	dimension := func(parts ...[]byte) []byte { return fields(1, parts...) }
	m, err := onnx.Decode(append(fields(8, number(2, 9)),
		value(fields(1, number(1, 1), fields(2, dimension(text(2, "N")), dimension(number(1, 3)), dimension(), text(5, "?"))))...))
	must.OK(t, err)
	if in := m.Graph.Inputs[0]; m.Opset != 9 || in.Type != 0 || !slices.Equal(in.Shape, []int{onnx.Any, 3, onnx.Any}) {
		t.Errorf("operator set %d, input %+v", m.Opset, in)
	}
}
