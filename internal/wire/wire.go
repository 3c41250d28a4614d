// Package wire reads messages in the wire format of Protocol Buffers.
package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field is a field of a message: a number or bytes.
type Field struct {
	Number protowire.Number
	Type   protowire.Type
	Varint uint64 // also the bits of a fixed-width number
	Bytes  []byte
}

// Each calls f for every field of a message.
func Each(data []byte, f func(Field) error) error {
	for len(data) > 0 {
		number, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
		x := Field{Number: number, Type: kind}
		switch kind {
		case protowire.VarintType:
			x.Varint, size = protowire.ConsumeVarint(data)
		case protowire.Fixed32Type:
			var v uint32
			v, size = protowire.ConsumeFixed32(data)
			x.Varint = uint64(v)
		case protowire.Fixed64Type:
			x.Varint, size = protowire.ConsumeFixed64(data)
		case protowire.BytesType:
			length, start := protowire.ConsumeVarint(data)
			if start >= 0 && length > uint64(len(data)-start) {
				return fmt.Errorf("truncated: a field of %d bytes has only %d", length, len(data)-start)
			}
			x.Bytes, size = protowire.ConsumeBytes(data)
		default:
			size = protowire.ConsumeFieldValue(number, kind, data)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}
