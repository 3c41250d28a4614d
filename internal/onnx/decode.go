package onnx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/unravel-ml/unravel/internal/dims"
	"github.com/unravel-ml/unravel/internal/wire"
)

// Decode reads the bytes of a model from any program. The length of a list is at most the number of bytes in the file.
// Decode does not follow references to other files and does not read graphs inside nodes.
func Decode(data []byte) (*Model, error) {
	m := &Model{Metadata: map[string]string{}}
	graph := false
	err := wire.Each(data, func(f wire.Field) (err error) {
		switch f.Number {
		case 1:
			m.IR = int(f.Varint)
		case 2:
			m.Producer = string(f.Bytes)
		case 3:
			m.Version = string(f.Bytes)
		case 6:
			m.Doc = string(f.Bytes)
		case 7:
			if graph {
				return errors.New("it has two graphs")
			}
			graph, err = true, m.Graph.decode(f.Bytes)
		case 8:
			domain, version, err := decodePair(f.Bytes)
			if name := string(domain.Bytes); name == "" || name == standardDomain {
				m.Opset = int(version.Varint)
			}
			return err
		case 14:
			key, value, err := decodePair(f.Bytes)
			m.Metadata[string(key.Bytes)] = string(value.Bytes)
			return err
		}
		return err
	})
	switch {
	case bytes.HasPrefix(data, []byte("PK")):
		return nil, errors.New("a ZIP archive, as torch.save writes; want an ONNX file, as torch.onnx.export writes")
	case err != nil:
		return nil, fmt.Errorf("damaged or not an ONNX file: %w", err)
	case !graph:
		return nil, errors.New("damaged or not an ONNX file: it has no graph")
	}
	return m, nil
}

// decodePair returns fields 1 and 2 of a message.
func decodePair(data []byte) (first, second wire.Field, err error) {
	err = wire.Each(data, func(f wire.Field) error {
		switch f.Number {
		case 1:
			first = f
		case 2:
			second = f
		}
		return nil
	})
	return first, second, err
}

func (g *Graph) decode(data []byte) error {
	return wire.Each(data, func(f wire.Field) error {
		switch f.Number {
		case 1:
			n := Node{Attributes: map[string]any{}}
			if err := n.decode(f.Bytes); err != nil {
				return fmt.Errorf("node %d, %s %q: %w", len(g.Nodes), n.Op, n.Name, err)
			}
			g.Nodes = append(g.Nodes, n)
		case 2:
			g.Name = string(f.Bytes)
		case 5:
			var t Tensor
			if err := t.decode(f.Bytes); err != nil {
				return fmt.Errorf("initialiser %d, %q: %w", len(g.Weights), t.Name, err)
			}
			g.Weights = append(g.Weights, t)
		case 11:
			return appendValue(&g.Inputs, "input", f.Bytes)
		case 12:
			return appendValue(&g.Outputs, "output", f.Bytes)
		}
		return nil
	})
}

func (n *Node) decode(data []byte) error {
	return wire.Each(data, func(f wire.Field) error {
		switch f.Number {
		case 1:
			n.Inputs = append(n.Inputs, string(f.Bytes))
		case 2:
			n.Outputs = append(n.Outputs, string(f.Bytes))
		case 3:
			n.Name = string(f.Bytes)
		case 4:
			n.Op = string(f.Bytes)
		case 5:
			return n.decodeAttribute(f.Bytes)
		case 7:
			n.Domain = string(f.Bytes)
		}
		return nil
	})
}

func (n *Node) decodeAttribute(data []byte) error {
	var name, s string
	var f32 float32
	var i, kind int
	ints, floats := []int{}, []float32{}
	var tensor *Tensor
	err := wire.Each(data, func(f wire.Field) (err error) {
		switch f.Number {
		case 1:
			name = string(f.Bytes)
		case 2:
			f32 = math.Float32frombits(uint32(f.Varint))
		case 3:
			i = int(int64(f.Varint))
		case 4:
			s = string(f.Bytes)
		case 5:
			tensor = &Tensor{}
			err = tensor.decode(f.Bytes)
		case 7:
			floats, err = appendFloats(floats, f)
		case 8:
			ints, err = appendInts(ints, f)
		case 20:
			kind = int(f.Varint)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("attribute %q: %w", name, err)
	}
	if kind == kindTensor && tensor == nil {
		return fmt.Errorf("attribute %q: it has no tensor", name)
	}
	switch kind {
	case kindFloat:
		n.Attributes[name] = f32
	case kindInt:
		n.Attributes[name] = i
	case kindString:
		n.Attributes[name] = s
	case kindTensor:
		n.Attributes[name] = tensor
	case kindFloats:
		n.Attributes[name] = floats
	case kindInts:
		n.Attributes[name] = ints
	default:
		n.Attributes[name] = Unread(kind)
	}
	return nil
}

// appendInts appends the integers of a field: a single one, or several in packed form.
func appendInts[T int | int64](list []T, f wire.Field) ([]T, error) {
	if f.Type == protowire.VarintType {
		return append(list, T(f.Varint)), nil
	}
	for b := f.Bytes; len(b) > 0; {
		v, size := protowire.ConsumeVarint(b)
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		list, b = append(list, T(v)), b[size:]
	}
	return list, nil
}

// appendFloats is appendInts for float32.
func appendFloats(list []float32, f wire.Field) ([]float32, error) {
	if f.Type == protowire.Fixed32Type {
		return append(list, math.Float32frombits(uint32(f.Varint))), nil
	}
	if len(f.Bytes)%4 != 0 {
		return nil, fmt.Errorf("%d bytes are no list of float32", len(f.Bytes))
	}
	for b := f.Bytes; len(b) > 0; b = b[4:] {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return list, nil
}

// elements are the fields of a tensor for its elements.
type elements struct {
	kind   Type
	packed bool // the elements are in raw, not in the other fields
	raw    []byte
	floats []float32
	ints   []int64
}

func (t *Tensor) decode(data []byte) error {
	e := elements{floats: []float32{}, ints: []int64{}}
	outside := false
	err := wire.Each(data, func(f wire.Field) (err error) {
		switch f.Number {
		case 1:
			t.Shape, err = appendInts(t.Shape, f)
		case 2:
			e.kind = Type(f.Varint)
		case 3:
			err = errors.New("it is divided into segments; want the whole tensor")
		case 4:
			e.floats, err = appendFloats(e.floats, f)
		case 5, 7:
			e.ints, err = appendInts(e.ints, f)
		case 8:
			t.Name = string(f.Bytes)
		case 9:
			e.packed, e.raw = true, f.Bytes
		case 13:
			outside = true
		case 14:
			outside = outside || f.Varint != 0
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case outside:
		return errors.New("its elements lie in another file; want a model in one file, as onnx.save of Python writes by default")
	}
	return t.take(&e)
}

// take converts elements to float32 or int64, and sets Floats or Ints.
func (t *Tensor) take(e *elements) error {
	size, ok := elementSizes[e.kind]
	if !ok {
		return fmt.Errorf("it has element type %s; want FLOAT, INT64, INT32 or BOOL", e.kind)
	}
	want, err := dims.Count(t.Shape, size)
	if err != nil {
		return err
	}
	if e.packed {
		if len(e.raw) != want*size {
			return fmt.Errorf("it has %d bytes of elements; want %d for shape %v of %s", len(e.raw), want*size, t.Shape, e.kind)
		}
		e.decodeRaw(size)
	}
	if e.kind == Float {
		t.Floats = e.floats
	} else {
		t.Ints = e.ints
	}
	if got := max(len(t.Floats), len(t.Ints)); got != want {
		return fmt.Errorf("it has %d elements; want %d for shape %v", got, want, t.Shape)
	}
	return nil
}

func (e *elements) decodeRaw(size int) {
	e.floats, e.ints = make([]float32, 0, len(e.raw)/size), []int64{}
	for b := e.raw; len(b) > 0; b = b[size:] {
		switch e.kind {
		case Float:
			e.floats = append(e.floats, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		case Int64:
			e.ints = append(e.ints, int64(binary.LittleEndian.Uint64(b)))
		case Int32:
			e.ints = append(e.ints, int64(int32(binary.LittleEndian.Uint32(b))))
		case Bool:
			e.ints = append(e.ints, int64(b[0]))
		}
	}
}

// appendValue reads a value with its type. If the file does not specify the shape, the shape is nil.
func appendValue(list *[]Value, what string, data []byte) error {
	var v Value
	err := wire.Each(data, func(f wire.Field) error {
		switch f.Number {
		case 1:
			v.Name = string(f.Bytes)
		case 2:
			return wire.Each(f.Bytes, func(f wire.Field) error {
				if f.Number != 1 { // not a tensor
					return errors.New("it is no tensor")
				}
				return v.decodeType(f.Bytes)
			})
		case 3:
			v.Doc = string(f.Bytes)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s %d, %q: %w", what, len(*list), v.Name, err)
	}
	*list = append(*list, v)
	return nil
}

func (v *Value) decodeType(data []byte) error {
	return wire.Each(data, func(f wire.Field) error {
		switch f.Number {
		case 1:
			if v.Type = Type(f.Varint); v.Type == Float {
				v.Type = 0
			}
		case 2:
			v.Shape = []int{}
			return wire.Each(f.Bytes, func(f wire.Field) error {
				if f.Number != 1 { // not a dimension
					return nil
				}
				size, _, err := decodePair(f.Bytes)
				if size.Number == 0 {
					v.Shape = append(v.Shape, Any)
				} else {
					v.Shape = append(v.Shape, int(int64(size.Varint)))
				}
				return err
			})
		}
		return nil
	})
}
