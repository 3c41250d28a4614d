// Package tfevents writes and reads the event files that TensorBoard shows: scalars
// under a tag, at a step.
//
// A file is a sequence of TFRecords (a length, its checksum, the data, its checksum;
// https://www.tensorflow.org/tutorials/load_data/tfrecord), each of which holds one
// Event message in Protocol Buffers' wire format (tensorflow/core/util/event.proto).
// A file whose writer was killed can be continued: [Resume] removes a torn record, and the events
// after the step from which the run continues.
package tfevents

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// Event is one record of a file.
type Event struct {
	WallTime    float64 // seconds since 1970
	Step        int64
	FileVersion string // of the first record of a file; it has no values
	Values      []Value
}

// Value is a scalar under a tag.
type Value struct {
	Tag    string
	Scalar float32
}

// fileVersion begins every file.
const fileVersion = "brain.Event:2"

// castagnoli is the table of CRC-32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC is TFRecord's checksum, masked so that checksums of checksums are safe.
func maskedCRC(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// appendRecord frames data.
func appendRecord(b, data []byte) []byte {
	le := binary.LittleEndian
	length := le.AppendUint64(nil, uint64(len(data)))
	b = append(b, length...)
	b = le.AppendUint32(b, maskedCRC(length))
	b = append(b, data...)
	return le.AppendUint32(b, maskedCRC(data))
}

// Field numbers of the messages, and the wire types of their fields.
const (
	eventWallTime    = 1 // double
	eventStep        = 2 // int64
	eventFileVersion = 3 // string
	eventSummary     = 5 // Summary
	summaryValue     = 1 // Summary.Value, repeated
	valueTag         = 1 // string
	valueScalar      = 2 // float

	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

func (e *Event) marshal() []byte {
	var b []byte
	b = appendTag(b, eventWallTime, wire64)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.WallTime))
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
	b := appendBytes(nil, valueTag, []byte(v.Tag))
	b = appendTag(b, valueScalar, wire32)
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(v.Scalar))
}

func appendTag(b []byte, field, wire int) []byte {
	return binary.AppendUvarint(b, uint64(field<<3|wire))
}

// appendInt appends an integer, but not 0, the default.
func appendInt(b []byte, field int, x int64) []byte {
	if x == 0 {
		return b
	}
	return binary.AppendUvarint(appendTag(b, field, wireVarint), uint64(x))
}

func appendBytes(b []byte, field int, data []byte) []byte {
	b = appendTag(b, field, wireBytes)
	b = binary.AppendUvarint(b, uint64(len(data)))
	return append(b, data...)
}
