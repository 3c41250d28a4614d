// Package tfevents writes and reads TensorBoard's event files: scalars and images with a tag and a step, and the
// settings of a run for the HParams plugin.
//
// A file is a sequence of TFRecords (a length, its checksum, the data, its checksum;
// https://www.tensorflow.org/tutorials/load_data/tfrecord). Each record contains one Event message in the wire format
// of Protocol Buffers (tensorflow/core/util/event.proto). A run can continue the file of a killed writer: [Resume]
// removes an incomplete record, and all events after the step from which the run continues.
package tfevents

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"
)

type Event struct {
	WallTime    float64 // seconds since 1970
	Step        int64
	FileVersion string // set in the first record of a file, which has no values
	Values      []Value
}

func (e *Event) Time() time.Time { return time.UnixMicro(int64(math.Round(e.WallTime * 1e6))) }

// Tag returns the tag of the first value of an event, or "" if there is none.
func (e *Event) Tag() string {
	if len(e.Values) == 0 {
		return ""
	}
	return e.Values[0].Tag
}

// Value is a scalar or an image with a tag, or the data of a plugin.
type Value struct {
	Tag         string
	Scalar      float32
	Image       *Image  // an image instead of the scalar
	Plugin      *Plugin // a plugin's data instead of the scalar
	Description string  // Markdown; TensorBoard shows the description of a tag's first value
}

type Image struct {
	Width, Height int
	Gray          bool
	PNG           []byte
}

type Plugin struct {
	Name    string
	Content []byte // a message in the plugin's format
}

// fileVersion is in the first record of every file.
const fileVersion = "brain.Event:2"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC is TFRecord's checksum, masked to make checksums of checksums safe.
func maskedCRC(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}

func appendRecord(b, data []byte) []byte {
	le := binary.LittleEndian
	length := le.AppendUint64(nil, uint64(len(data)))
	b = append(b, length...)
	b = le.AppendUint32(b, maskedCRC(length))
	b = append(b, data...)
	return le.AppendUint32(b, maskedCRC(data))
}
