package dtype

import (
	"math"
	"slices"
	"testing"
)

func TestHalf(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0: 0, 1: math.Ldexp(1, -24), 0x03ff: 1023 * math.Ldexp(1, -24), 0x0400: math.Ldexp(1, -14), 0x3c00: 1, 0x3555: 0.333251953125,
		0x8001: -math.Ldexp(1, -24), 0x83ff: -1023 * math.Ldexp(1, -24), 0xc000: -2, 0x7bff: 65504, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
	} {
		if got := Half(bits); float64(got) != want {
			t.Errorf("%#04x: got %g, want %g", bits, got, want)
		}
	}
	if f := Half(0x7e00); f == f {
		t.Errorf("NaN: %g", f)
	}
	if f := Half(0x8000); f != 0 || !math.Signbit(float64(f)) {
		t.Errorf("-0: %g", f)
	}
}

func TestDecode(t *testing.T) {
	if got := Of[int](); got.Name != "int64" || Of[float32]() != Float32 || Of[bool]() != Bool {
		t.Error(got)
	}
	for _, want := range all {
		got, ok := Find(want.Kind, want.Size)
		if !ok || got != want || got.String() != want.Name {
			t.Errorf("%v: %v, %v", want, got, ok)
		}
		raw := slices.Repeat([]byte{1, 0, 0, 0, 0, 0, 0, 0}[:want.Size], 2)
		Swap(raw, want.Size)
		Swap(raw, want.Size)
		if dst := make([]float64, 2); Decode(dst, raw, want) != -1 || want.Kind != 'f' && dst[1] != 1 {
			t.Errorf("%v: %v", want, dst)
		}
	}
	if _, ok := Find('f', 1); ok {
		t.Error("floats of one byte")
	}
	swapped := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	if Swap(swapped, 4); !slices.Equal(swapped, []byte{4, 3, 2, 1, 8, 7, 6, 5}) {
		t.Error(swapped)
	}
	if at := Decode(make([]uint8, 2), []byte{1, 0, 0, 1}, Type{"uint16", 'u', 2}); at != 1 {
		t.Errorf("256 as uint8: %d", at)
	}
	if at := Decode(make([]bool, 2), []byte{1, 2}, Bool); at != 1 {
		t.Errorf("2 as bool: %d", at)
	}
}
