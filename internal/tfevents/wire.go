package tfevents

import (
	"bytes"
	"errors"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
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

func appendTag(b []byte, field int, wire protowire.Type) []byte {
	return protowire.AppendTag(b, protowire.Number(field), wire)
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

type field struct {
	number int
	wire   protowire.Type
	x      uint64 // value for wire types other than bytes
	data   []byte
}

var errMessage = errors.New("not a message in wire format")

func fields(b []byte, f func(field) error) error {
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMessage
		}
		b = b[n:]
		x := field{number: int(number), wire: wire}
		switch wire {
		case wireVarint:
			x.x, n = protowire.ConsumeVarint(b)
		case wire64:
			x.x, n = protowire.ConsumeFixed64(b)
		case wire32:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			x.x = uint64(v)
		case wireBytes:
			x.data, n = protowire.ConsumeBytes(b)
		default: // groups are obsolete
			return errMessage
		}
		if n < 0 {
			return errMessage
		}
		b = b[n:]
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// unmarshal decodes an Event, and skips fields that this package does not write.
func unmarshal(b []byte) (*Event, error) {
	var e Event
	err := fields(b, func(f field) error {
		switch {
		case f.number == eventWallTime && f.wire == wire64:
			e.WallTime = math.Float64frombits(f.x)
		case f.number == eventStep && f.wire == wireVarint:
			e.Step = int64(f.x)
		case f.number == eventFileVersion && f.wire == wireBytes:
			e.FileVersion = string(f.data)
		case f.number == eventSummary && f.wire == wireBytes:
			return fields(f.data, func(f field) error {
				if f.number != summaryValue || f.wire != wireBytes {
					return nil
				}
				v, err := unmarshalValue(f.data)
				e.Values = append(e.Values, v)
				return err
			})
		}
		return nil
	})
	return &e, err
}

func unmarshalValue(b []byte) (v Value, err error) {
	err = fields(b, func(f field) (err error) {
		switch {
		case f.number == valueTag && f.wire == wireBytes:
			v.Tag = string(f.data)
		case f.number == valueScalar && f.wire == wire32:
			v.Scalar = math.Float32frombits(uint32(f.x))
		case f.number == valueImage && f.wire == wireBytes:
			v.Image, err = unmarshalImage(f.data)
		case f.number == valueMetadata && f.wire == wireBytes:
			err = v.unmarshalMetadata(f.data)
		}
		return err
	})
	return v, err
}

func unmarshalImage(b []byte) (*Image, error) {
	var i Image
	err := fields(b, func(f field) error {
		switch {
		case f.number == imageHeight && f.wire == wireVarint:
			i.Height = int(int32(f.x))
		case f.number == imageWidth && f.wire == wireVarint:
			i.Width = int(int32(f.x))
		case f.number == imageColorspace && f.wire == wireVarint:
			i.Gray = f.x == colorspaceGray
		case f.number == imageEncoded && f.wire == wireBytes:
			i.PNG = bytes.Clone(f.data)
		}
		return nil
	})
	return &i, err
}

func (v *Value) unmarshalMetadata(b []byte) error {
	return fields(b, func(f field) error {
		switch {
		case f.number == metadataDescription && f.wire == wireBytes:
			v.Description = string(f.data)
		case f.number == metadataPlugin && f.wire == wireBytes:
			v.Plugin = &Plugin{}
			return fields(f.data, func(f field) error {
				switch {
				case f.number == pluginName && f.wire == wireBytes:
					v.Plugin.Name = string(f.data)
				case f.number == pluginContent && f.wire == wireBytes:
					v.Plugin.Content = bytes.Clone(f.data)
				}
				return nil
			})
		}
		return nil
	})
}
