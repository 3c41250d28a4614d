package onnx

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Kinds of attributes.
const (
	kindFloat  = 1
	kindInt    = 2
	kindString = 3
	kindTensor = 4
	kindFloats = 6
	kindInts   = 7
)

// message is a protocol buffer under construction. As in proto3, it omits zero and empty fields; always writes them.
type message []byte

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) text(field protowire.Number, s string) {
	if s != "" {
		m.bytes(field, []byte(s))
	}
}

func (m *message) always(field protowire.Number, n int) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(n))
}

// Encode returns the bytes of a model; equal models give equal bytes.
func Encode(m *Model) ([]byte, error) {
	if err := m.Graph.check(); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	graph, err := m.Graph.encode()
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	var b, opset message
	opset.always(2, Opset)
	b.always(1, IRVersion)
	b.text(2, m.Producer)
	b.text(3, m.Version)
	b.text(6, m.Doc)
	b.bytes(7, graph)
	b.bytes(8, opset)
	for _, k := range slices.Sorted(maps.Keys(m.Metadata)) {
		var entry message
		entry.text(1, k)
		entry.text(2, m.Metadata[k])
		b.bytes(14, entry)
	}
	return b, nil
}

func (g *Graph) encode() (b message, err error) {
	for _, n := range g.Nodes {
		node, err := n.encode()
		if err != nil {
			return nil, err
		}
		b.bytes(1, node)
	}
	b.text(2, g.Name)
	for _, w := range g.Weights {
		b.bytes(5, w.encode())
	}
	for _, v := range g.Inputs {
		b.bytes(11, v.encode())
	}
	for _, v := range g.Outputs {
		b.bytes(12, v.encode())
	}
	return b, nil
}

func (n *Node) encode() (b message, err error) {
	for _, in := range n.Inputs {
		b.bytes(1, []byte(in))
	}
	for _, out := range n.Outputs {
		b.bytes(2, []byte(out))
	}
	b.text(3, n.Name)
	b.text(4, n.Op)
	b.text(7, n.Domain)
	for _, name := range slices.Sorted(maps.Keys(n.Attributes)) {
		var a message
		a.text(1, name)
		switch v := n.Attributes[name].(type) {
		case float32:
			a = protowire.AppendFixed32(protowire.AppendTag(a, 2, protowire.Fixed32Type), math.Float32bits(v))
			a.always(20, kindFloat)
		case int:
			a.always(3, v)
			a.always(20, kindInt)
		case string:
			a.bytes(4, []byte(v))
			a.always(20, kindString)
		case []int:
			for _, i := range v {
				a.always(8, i)
			}
			a.always(20, kindInts)
		default:
			return nil, fmt.Errorf("node %s %q: attribute %s is %T; want int, float32, string or []int", n.Op, n.Name, name, v)
		}
		b.bytes(5, a)
	}
	return b, nil
}

func (t *Tensor) encode() (b message) {
	for _, n := range t.Shape {
		b.always(1, n)
	}
	dtype := Float
	if t.Ints != nil {
		dtype = Int64
	}
	raw, _ := binary.Append(nil, binary.LittleEndian, t.Floats) // float32 and int64 have a fixed size
	raw, _ = binary.Append(raw, binary.LittleEndian, t.Ints)
	b.always(2, int(dtype))
	b.text(8, t.Name)
	b.bytes(9, raw)
	return b
}

func (v *Value) encode() (b message) {
	var shape, tensor, kind message
	for _, n := range v.Shape {
		var dim message
		if n == Any {
			dim.text(2, anyName)
		} else {
			dim.always(1, n)
		}
		shape.bytes(1, dim)
	}
	tensor.always(1, int(Float))
	tensor.bytes(2, shape)
	kind.bytes(1, tensor)
	b.text(1, v.Name)
	b.bytes(2, kind)
	b.text(3, v.Doc)
	return b
}
