// Package dtype names and decodes the element types of arrays in all file formats: booleans, integers and
// floating-point numbers of 8 to 64 bits.
package dtype

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"
)

// Element lists the Go types of decoded elements.
type Element interface {
	bool | int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

type Type struct {
	Name string // bool, int8 ... int64, uint8 ... uint64, float16, float32, float64
	Kind byte   // as in NumPy: b, i, u or f
	Size int    // in bytes
}

func (t Type) String() string { return t.Name }

// Types of elements.
var (
	Bool    = Type{"bool", 'b', 1}
	Uint8   = Type{"uint8", 'u', 1}
	Float16 = Type{"float16", 'f', 2}
	Float32 = Type{"float32", 'f', 4}
	Float64 = Type{"float64", 'f', 8}
)

var all = []Type{
	Bool,
	{"int8", 'i', 1}, {"int16", 'i', 2}, {"int32", 'i', 4}, {"int64", 'i', 8},
	Uint8, {"uint16", 'u', 2}, {"uint32", 'u', 4}, {"uint64", 'u', 8},
	Float16, Float32, Float64,
}

// Find returns the type with the given kind and size; ok is false if there is none.
func Find(kind byte, size int) (t Type, ok bool) {
	for _, t := range all {
		if t.Kind == kind && t.Size == size {
			return t, true
		}
	}
	return Type{}, false
}

// Of returns the type for a Go type; int is int64.
func Of[T Element]() Type {
	var zero T
	name := reflect.TypeOf(zero).Name()
	if name == "int" {
		name = "int64"
	}
	for _, t := range all {
		if t.Name == name {
			return t
		}
	}
	return Type{}
}

// Swap reverses the bytes of each element with size bytes. It converts between big-endian and little-endian.
func Swap(raw []byte, size int) {
	switch size {
	case 1:
	case 2:
		for i := 0; i+1 < len(raw); i += 2 {
			raw[i], raw[i+1] = raw[i+1], raw[i]
		}
	default:
		for element := range slices.Chunk(raw, size) {
			slices.Reverse(element)
		}
	}
}

// Decode converts len(dst) little-endian elements. Floats are rounded to the type of dst. If dst has integers or
// booleans, the conversion must be exact. Decode returns the index of the first element that does not fit dst, or -1.
func Decode[T Element](dst []T, raw []byte, t Type) int {
	switch dst := any(dst).(type) {
	case []bool:
		return decodeBools(dst, raw, t)
	case []int8:
		return decodeNumbers(dst, raw, t)
	case []int16:
		return decodeNumbers(dst, raw, t)
	case []int32:
		return decodeNumbers(dst, raw, t)
	case []int64:
		return decodeNumbers(dst, raw, t)
	case []int:
		return decodeNumbers(dst, raw, t)
	case []uint8:
		if t.Kind == 'u' && t.Size == 1 {
			copy(dst, raw[:len(dst)])
			return -1
		}
		return decodeNumbers(dst, raw, t)
	case []uint16:
		return decodeNumbers(dst, raw, t)
	case []uint32:
		return decodeNumbers(dst, raw, t)
	case []uint64:
		return decodeNumbers(dst, raw, t)
	case []float32:
		return decodeNumbers(dst, raw, t)
	case []float64:
		return decodeNumbers(dst, raw, t)
	}
	return 0
}

func decodeBools(dst []bool, raw []byte, t Type) int {
	for i := range dst {
		if t.Kind != 'b' || raw[i] > 1 {
			return i
		}
		dst[i] = raw[i] == 1
	}
	return -1
}

// Number is a Go type of numeric elements.
type Number interface {
	int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func decodeNumbers[D Number](dst []D, raw []byte, t Type) int {
	le := binary.LittleEndian
	switch t.Name {
	case "bool":
		for i, b := range raw {
			if b > 1 {
				return i
			}
		}
		return convert(dst, func(i int) uint8 { return raw[i] })
	case "int8":
		return convert(dst, func(i int) int8 { return int8(raw[i]) })
	case "int16":
		return convert(dst, func(i int) int16 { return int16(le.Uint16(raw[2*i:])) })
	case "int32":
		return convert(dst, func(i int) int32 { return int32(le.Uint32(raw[4*i:])) })
	case "int64":
		return convert(dst, func(i int) int64 { return int64(le.Uint64(raw[8*i:])) })
	case "uint8":
		return convert(dst, func(i int) uint8 { return raw[i] })
	case "uint16":
		return convert(dst, func(i int) uint16 { return le.Uint16(raw[2*i:]) })
	case "uint32":
		return convert(dst, func(i int) uint32 { return le.Uint32(raw[4*i:]) })
	case "uint64":
		return convert(dst, func(i int) uint64 { return le.Uint64(raw[8*i:]) })
	case "float16":
		return convert(dst, func(i int) float32 { return Half(le.Uint16(raw[2*i:])) })
	case "float32":
		return convert(dst, func(i int) float32 { return math.Float32frombits(le.Uint32(raw[4*i:])) })
	}
	return convert(dst, func(i int) float64 { return math.Float64frombits(le.Uint64(raw[8*i:])) })
}

// convert fills dst from get. It stops at a value that does not fit dst.
func convert[D, S Number](dst []D, get func(i int) S) int {
	if isFloat[D]() {
		for i := range dst {
			dst[i] = D(get(i))
		}
		return -1
	}
	floats := isFloat[S]()
	for i := range dst {
		s := get(i)
		if floats && !(math.Abs(float64(s)) < 1<<63) { // the conversion would be undefined
			return i
		}
		d := D(s)
		if S(d) != s || (d < 0) != (s < 0) {
			return i
		}
		dst[i] = d
	}
	return -1
}

func isFloat[T Number]() bool {
	half := 0.5
	return T(half) != 0
}

// Half converts an IEEE 754 binary16 number.
func Half(bits uint16) float32 {
	sign, exponent, fraction := uint32(bits>>15), int(bits>>10&31), uint32(bits&1023)
	switch exponent {
	case 31: // infinity, NaN
		return math.Float32frombits(sign<<31 | 255<<23 | fraction<<13)
	case 0: // zero, subnormal
		f := math.Ldexp(float64(fraction), -24)
		return float32(math.Copysign(f, float64(1-2*int(sign))))
	}
	return math.Float32frombits(sign<<31 | uint32(exponent-15+127)<<23 | fraction<<13)
}
