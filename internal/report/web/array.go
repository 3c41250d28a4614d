package web

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
)

// PNG returns a PNG file as a data URL.
func PNG(file []byte) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(file)
}

// Array is an array of numbers in the form that pages read: little-endian bytes in base64, row by row. JavaScript reads
// it by Unravel.array.
type Array struct {
	Shape []int  `json:"shape"`
	Type  string `json:"type"` // f32, f16 or i32
	Data  []byte `json:"data"`
}

// Floats returns numbers as an array f32. NaN and infinite numbers are kept.
func Floats[T float32 | float64](values []T, shape ...int) Array {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	return Array{shape, "f32", data}
}

// halves returns numbers as an array f16, rounded to the nearest number of 11 significant bits, ties to even. Numbers
// beyond 65504 become infinite.
func halves(values []float32, shape ...int) Array {
	data := make([]byte, 0, 2*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint16(data, half(v))
	}
	return Array{shape, "f16", data}
}

// Integers returns whole numbers as an array i32.
func Integers[T int | int32](values []T, shape ...int) Array {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, uint32(int32(v)))
	}
	return Array{shape, "i32", data}
}

// half returns the bits of the IEEE 754 half-precision number nearest to v, ties to even.
func half(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits >> 16 & 0x8000)
	size := bits & 0x7fffffff
	switch {
	case size > 0x7f800000:
		return sign | 0x7e00 // NaN
	case size >= 0x477ff000: // 65520 and more round to 65536
		return sign | 0x7c00
	case size < 0x38800000: // below 2^-14 the exponent is fixed: steps of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(size))*(1<<24)))
	}
	size += 0xfff + size>>13&1 // half a step less one, and one for odd numbers
	return sign | uint16((size-0x38000000)>>13)
}

// Number is a number in JSON that may be NaN or infinite. JSON has no form for these: they are the strings "NaN", "Inf"
// and "-Inf".
type Number float64

// MarshalJSON writes the number, or a string for NaN and infinity.
func (n Number) MarshalJSON() ([]byte, error) {
	switch v := float64(n); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"Inf"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Inf"`), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads a number, or a string that MarshalJSON writes; null is NaN.
func (n *Number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"NaN"`, "null":
		*n = Number(math.NaN())
		return nil
	case `"Inf"`:
		*n = Number(math.Inf(1))
		return nil
	case `"-Inf"`:
		*n = Number(math.Inf(-1))
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}
