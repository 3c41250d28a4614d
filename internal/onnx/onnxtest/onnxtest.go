// Package onnxtest decodes ONNX files, for tests of their writers.
package onnxtest

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/unravel-ml/unravel/internal/onnx"
)

// Decoded is a model with its versions of the format.
type Decoded struct {
	onnx.Model
	IR, Opset int
}

// Decode reads a model that package onnx wrote. A field that package onnx does not write is an error.
func Decode(data []byte) (m Decoded, err error) {
	m.Metadata = map[string]string{}
	err = each(data, func(field protowire.Number, n uint64, b []byte) error {
		switch field {
		case 1:
			m.IR = int(n)
		case 2:
			m.Producer = string(b)
		case 3:
			m.Version = string(b)
		case 6:
			m.Doc = string(b)
		case 7:
			return decodeGraph(b, &m.Graph)
		case 8:
			return each(b, func(field protowire.Number, n uint64, _ []byte) error {
				m.Opset = int(n)
				return known(field == 2, "opset", field)
			})
		case 14:
			var pair [2]string
			if err := each(b, func(field protowire.Number, _ uint64, b []byte) error {
				pair[field-1] = string(b)
				return nil
			}); err != nil {
				return err
			}
			m.Metadata[pair[0]] = pair[1]
		default:
			return known(false, "model", field)
		}
		return nil
	})
	return m, err
}

func known(ok bool, of string, field protowire.Number) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s: field %d is not expected", of, field)
}

// each calls f for every field of a message, with its number or its bytes.
func each(data []byte, f func(field protowire.Number, n uint64, b []byte) error) error {
	for len(data) > 0 {
		field, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
		var n uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(data)
		case protowire.Fixed32Type:
			var v uint32
			v, size = protowire.ConsumeFixed32(data)
			n = uint64(v)
		case protowire.BytesType:
			b, size = protowire.ConsumeBytes(data)
		default:
			return fmt.Errorf("field %d has wire type %d", field, kind)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
		if err := f(field, n, b); err != nil {
			return err
		}
	}
	return nil
}

func decodeGraph(data []byte, g *onnx.Graph) error {
	return each(data, func(field protowire.Number, _ uint64, b []byte) (err error) {
		switch field {
		case 1:
			n := onnx.Node{Attributes: map[string]any{}}
			err = decodeNode(b, &n)
			g.Nodes = append(g.Nodes, n)
		case 2:
			g.Name = string(b)
		case 5:
			var t onnx.Tensor
			err = decodeTensor(b, &t)
			g.Weights = append(g.Weights, t)
		case 11:
			var v onnx.Value
			err = decodeValue(b, &v)
			g.Inputs = append(g.Inputs, v)
		case 12:
			var v onnx.Value
			err = decodeValue(b, &v)
			g.Outputs = append(g.Outputs, v)
		default:
			return known(false, "graph", field)
		}
		return err
	})
}

func decodeNode(data []byte, node *onnx.Node) error {
	return each(data, func(field protowire.Number, _ uint64, b []byte) error {
		switch field {
		case 1:
			node.Inputs = append(node.Inputs, string(b))
		case 2:
			node.Outputs = append(node.Outputs, string(b))
		case 3:
			node.Name = string(b)
		case 4:
			node.Op = string(b)
		case 5:
			return decodeAttribute(b, node.Attributes)
		default:
			return known(false, "node", field)
		}
		return nil
	})
}

func decodeAttribute(data []byte, to map[string]any) error {
	var name string
	var f float32
	var i, kind int
	var s string
	var ints []int
	err := each(data, func(field protowire.Number, n uint64, b []byte) error {
		switch field {
		case 1:
			name = string(b)
		case 2:
			f = math.Float32frombits(uint32(n))
		case 3:
			i = int(int64(n))
		case 4:
			s = string(b)
		case 8:
			ints = append(ints, int(int64(n)))
		case 20:
			kind = int(n)
		default:
			return known(false, "attribute", field)
		}
		return nil
	})
	value, ok := map[int]any{1: f, 2: i, 3: s, 7: ints}[kind]
	if err == nil && !ok {
		err = fmt.Errorf("attribute %s of kind %d", name, kind)
	}
	to[name] = value
	return err
}

func decodeTensor(data []byte, t *onnx.Tensor) error {
	var kind int
	var raw []byte
	err := each(data, func(field protowire.Number, n uint64, b []byte) error {
		switch field {
		case 1:
			t.Shape = append(t.Shape, int(n))
		case 2:
			kind = int(n)
		case 8:
			t.Name = string(b)
		case 9:
			raw = b
		default:
			return known(false, "tensor", field)
		}
		return nil
	})
	switch kind {
	case 1:
		for ; len(raw) > 0; raw = raw[4:] {
			t.Floats = append(t.Floats, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		}
	case 7:
		for ; len(raw) > 0; raw = raw[8:] {
			t.Ints = append(t.Ints, int64(binary.LittleEndian.Uint64(raw)))
		}
	default:
		return fmt.Errorf("tensor %q has element type %d", t.Name, kind)
	}
	return err
}

func decodeValue(data []byte, v *onnx.Value) error {
	return each(data, func(field protowire.Number, _ uint64, b []byte) error {
		switch field {
		case 1:
			v.Name = string(b)
		case 2:
			return each(b, func(_ protowire.Number, _ uint64, b []byte) error {
				return each(b, func(field protowire.Number, n uint64, b []byte) error {
					if field == 1 {
						return known(n == 1, "element type", field)
					}
					return each(b, func(_ protowire.Number, _ uint64, b []byte) error {
						return each(b, func(field protowire.Number, n uint64, b []byte) error {
							if field == 2 {
								n = uint64(1<<64 - 1) // onnx.Any
								if string(b) != "N" {
									return fmt.Errorf("a size called %q", b)
								}
							}
							v.Shape = append(v.Shape, int(int64(n)))
							return nil
						})
					})
				})
			})
		case 3:
			v.Doc = string(b)
		default:
			return known(false, "value", field)
		}
		return nil
	})
}
