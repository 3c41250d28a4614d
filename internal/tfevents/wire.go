package tfevents

import (
	"bytes"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/unravel-ml/unravel/internal/wire"
)

// Field numbers of the messages (tensorflow/core/util/event.proto, core/framework/summary.proto and tensor.proto), and the
// wire types of their fields.
const (
	eventWallTime    = 1 // double
	eventStep        = 2 // int64
	eventFileVersion = 3 // string
	eventSummary     = 5 // Summary
	summaryValue     = 1 // Summary.Value, repeated
	valueTag         = 1 // string
	valueScalar      = 2 // float
	valueImage       = 4 // Summary.Image
	valueTensor      = 8 // TensorProto
	valueMetadata    = 9 // SummaryMetadata

	imageHeight     = 1 // int32
	imageWidth      = 2 // int32
	imageColorspace = 3 // int32
	imageEncoded    = 4 // bytes

	metadataPlugin      = 1 // SummaryMetadata.PluginData
	metadataDescription = 3 // string
	metadataClass       = 4 // DataClass
	pluginName          = 1 // string
	pluginContent       = 2 // bytes

	tensorType     = 1 // DataType
	tensorShape    = 2 // TensorShapeProto
	shapeDimension = 2 // TensorShapeProto.Dim, repeated

	wireVarint = protowire.VarintType
	wire64     = protowire.Fixed64Type
	wireBytes  = protowire.BytesType
	wire32     = protowire.Fixed32Type
)

// Values of the enumerations.
const (
	colorspaceGray = 1
	colorspaceRGB  = 3
	classTensor    = 2 // DATA_CLASS_TENSOR
	typeFloat      = 1 // DT_FLOAT
)

func (e *Event) marshal() []byte {
	b := appendDouble(nil, eventWallTime, e.WallTime)
	b = appendInt(b, eventStep, e.Step)
	if e.FileVersion != "" {
		b = appendBytes(b, eventFileVersion, []byte(e.FileVersion))
	}
	var summary []byte
	for _, v := range e.Values {
		summary = appendBytes(summary, summaryValue, v.marshal())
	}
	if len(e.Values) > 0 {
		b = appendBytes(b, eventSummary, summary)
	}
	return b
}

func (v *Value) marshal() []byte {
	b := appendText(nil, valueTag, v.Tag)
	switch {
	case v.Image != nil:
		b = appendBytes(b, valueImage, v.Image.marshal())
	case v.Plugin != nil:
		b = appendBytes(b, valueTensor, emptyTensor())
	default:
		b = appendTag(b, valueScalar, wire32)
		b = protowire.AppendFixed32(b, math.Float32bits(v.Scalar))
	}
	if meta := v.metadata(); len(meta) > 0 {
		b = appendBytes(b, valueMetadata, meta)
	}
	return b
}

func (i *Image) marshal() []byte {
	b := appendInt(nil, imageHeight, int64(i.Height))
	b = appendInt(b, imageWidth, int64(i.Width))
	space := int64(colorspaceRGB)
	if i.Gray {
		space = colorspaceGray
	}
	return appendBytes(appendInt(b, imageColorspace, space), imageEncoded, i.PNG)
}

// metadata returns a SummaryMetadata message, or nil if the value does not need one.
func (v *Value) metadata() (b []byte) {
	if v.Plugin != nil {
		plugin := appendBytes(nil, pluginName, []byte(v.Plugin.Name))
		b = appendBytes(b, metadataPlugin, appendBytes(plugin, pluginContent, v.Plugin.Content))
	}
	if v.Description != "" {
		b = appendText(b, metadataDescription, v.Description)
	}
	if v.Plugin != nil {
		b = appendInt(b, metadataClass, classTensor)
	}
	return b
}

// emptyTensor returns the float32 tensor of shape [0], for a value whose message is in the metadata.
func emptyTensor() []byte {
	return appendBytes(appendInt(nil, tensorType, typeFloat), tensorShape, appendBytes(nil, shapeDimension, nil))
}

func appendTag(b []byte, field int, kind protowire.Type) []byte {
	return protowire.AppendTag(b, protowire.Number(field), kind)
}

// appendInt appends an integer unless it is 0, the default.
func appendInt(b []byte, field int, x int64) []byte {
	if x == 0 {
		return b
	}
	return protowire.AppendVarint(appendTag(b, field, wireVarint), uint64(x))
}

func appendDouble(b []byte, field int, x float64) []byte {
	return protowire.AppendFixed64(appendTag(b, field, wire64), math.Float64bits(x))
}

// appendText appends a string as valid UTF-8.
func appendText(b []byte, field int, text string) []byte {
	return appendBytes(b, field, []byte(strings.ToValidUTF8(text, "\ufffd")))
}

func appendBytes(b []byte, field int, data []byte) []byte {
	return protowire.AppendBytes(appendTag(b, field, wireBytes), data)
}

// unmarshal decodes an Event, and skips fields that this package does not write.
func unmarshal(b []byte) (*Event, error) {
	var e Event
	err := wire.Each(b, func(f wire.Field) error {
		switch {
		case f.Number == eventWallTime && f.Type == wire64:
			e.WallTime = math.Float64frombits(f.Varint)
		case f.Number == eventStep && f.Type == wireVarint:
			e.Step = int64(f.Varint)
		case f.Number == eventFileVersion && f.Type == wireBytes:
			e.FileVersion = string(f.Bytes)
		case f.Number == eventSummary && f.Type == wireBytes:
			return wire.Each(f.Bytes, func(f wire.Field) error {
				if f.Number != summaryValue || f.Type != wireBytes {
					return nil
				}
				v, err := unmarshalValue(f.Bytes)
				e.Values = append(e.Values, v)
				return err
			})
		}
		return nil
	})
	return &e, err
}

func unmarshalValue(b []byte) (v Value, err error) {
	err = wire.Each(b, func(f wire.Field) (err error) {
		switch {
		case f.Number == valueTag && f.Type == wireBytes:
			v.Tag = string(f.Bytes)
		case f.Number == valueScalar && f.Type == wire32:
			v.Scalar = math.Float32frombits(uint32(f.Varint))
		case f.Number == valueImage && f.Type == wireBytes:
			v.Image, err = unmarshalImage(f.Bytes)
		case f.Number == valueMetadata && f.Type == wireBytes:
			err = v.unmarshalMetadata(f.Bytes)
		}
		return err
	})
	return v, err
}

func unmarshalImage(b []byte) (*Image, error) {
	var i Image
	err := wire.Each(b, func(f wire.Field) error {
		switch {
		case f.Number == imageHeight && f.Type == wireVarint:
			i.Height = int(int32(f.Varint))
		case f.Number == imageWidth && f.Type == wireVarint:
			i.Width = int(int32(f.Varint))
		case f.Number == imageColorspace && f.Type == wireVarint:
			i.Gray = f.Varint == colorspaceGray
		case f.Number == imageEncoded && f.Type == wireBytes:
			i.PNG = bytes.Clone(f.Bytes)
		}
		return nil
	})
	return &i, err
}

func (v *Value) unmarshalMetadata(b []byte) error {
	return wire.Each(b, func(f wire.Field) error {
		switch {
		case f.Number == metadataDescription && f.Type == wireBytes:
			v.Description = string(f.Bytes)
		case f.Number == metadataPlugin && f.Type == wireBytes:
			v.Plugin = &Plugin{}
			return wire.Each(f.Bytes, func(f wire.Field) error {
				switch {
				case f.Number == pluginName && f.Type == wireBytes:
					v.Plugin.Name = string(f.Bytes)
				case f.Number == pluginContent && f.Type == wireBytes:
					v.Plugin.Content = bytes.Clone(f.Bytes)
				}
				return nil
			})
		}
		return nil
	})
}
