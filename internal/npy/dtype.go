package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// dtype is an element type: NumPy's kind (b, i, u, f) and its size in bytes.
type dtype struct {
	name string
	kind byte
	size int
}

var dtypes = []dtype{
	{"bool", 'b', 1},
	{"int8", 'i', 1}, {"int16", 'i', 2}, {"int32", 'i', 4}, {"int64", 'i', 8},
	{"uint8", 'u', 1}, {"uint16", 'u', 2}, {"uint32", 'u', 4}, {"uint64", 'u', 8},
	{"float16", 'f', 2}, {"float32", 'f', 4}, {"float64", 'f', 8},
}

// parseDescr reads a type such as <f4 or |u1.
func parseDescr(descr string) (dt dtype, bigEndian bool, err error) {
	if len(descr) >= 2 {
		switch descr[0] {
		case '<', '|', '=', '>':
			bigEndian = descr[0] == '>'
			for _, dt := range dtypes {
				if descr[1:] == fmt.Sprintf("%c%d", dt.kind, dt.size) {
					return dt, bigEndian && dt.size > 1, nil
				}
			}
			if descr[1] == 'O' {
				return dt, false, fmt.Errorf("an array of Python objects (%s), which is not read; want booleans, integers or floats", descr)
			}
		}
	}
	return dt, false, fmt.Errorf("element type %q is not read; want booleans, integers or floats of at most 64 bits", descr)
}

// dtypeOf returns the element type in a file for a Go type.
func dtypeOf[T Element]() dtype {
	var zero T
	name := fmt.Sprintf("%T", zero)
	if name == "int" {
		name = "int64"
	}
	for _, dt := range dtypes {
		if dt.name == name {
			return dt
		}
	}
	return dtype{}
}

// decode converts len(dst) elements. It returns the index of the first element that does not fit dst,
// or -1.
func decode[T Element](dst []T, raw []byte, dt dtype, bigEndian bool) int {
	if bigEndian {
		for element := range slices.Chunk(raw, dt.size) {
			slices.Reverse(element)
		}
	}
	switch dst := any(dst).(type) {
	case []bool:
		return decodeBools(dst, raw, dt)
	case []int8:
		return decodeNumbers(dst, raw, dt)
	case []int16:
		return decodeNumbers(dst, raw, dt)
	case []int32:
		return decodeNumbers(dst, raw, dt)
	case []int64:
		return decodeNumbers(dst, raw, dt)
	case []int:
		return decodeNumbers(dst, raw, dt)
	case []uint8:
		return decodeNumbers(dst, raw, dt)
	case []uint16:
		return decodeNumbers(dst, raw, dt)
	case []uint32:
		return decodeNumbers(dst, raw, dt)
	case []uint64:
		return decodeNumbers(dst, raw, dt)
	case []float32:
		return decodeNumbers(dst, raw, dt)
	case []float64:
		return decodeNumbers(dst, raw, dt)
	}
	return 0
}

func decodeBools(dst []bool, raw []byte, dt dtype) int {
	for i := range dst {
		if dt.kind != 'b' || raw[i] > 1 {
			return i
		}
		dst[i] = raw[i] == 1
	}
	return -1
}

type number interface {
	int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func decodeNumbers[D number](dst []D, raw []byte, dt dtype) int {
	le := binary.LittleEndian
	switch dt.name {
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
		return convert(dst, func(i int) float32 { return half(le.Uint16(raw[2*i:])) })
	case "float32":
		return convert(dst, func(i int) float32 { return math.Float32frombits(le.Uint32(raw[4*i:])) })
	}
	return convert(dst, func(i int) float64 { return math.Float64frombits(le.Uint64(raw[8*i:])) })
}

// convert fills dst from get. It stops at a value that an integer dst cannot hold.
func convert[D, S number](dst []D, get func(i int) S) int {
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

func isFloat[T number]() bool {
	half := 0.5
	return T(half) != 0
}

// half converts an IEEE 754 binary16 number.
func half(bits uint16) float32 {
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
