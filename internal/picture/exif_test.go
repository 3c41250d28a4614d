package picture

import (
	"encoding/binary"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// A missing or invalid orientation counts as upright.
func TestOrientationOfTIFF(t *testing.T) {
	directory := func(orientation uint16) []byte {
		b := append([]byte("II*\x00"), 8, 0, 0, 0, 1, 0)
		for _, v := range []uint16{tagOrientation, 3, 1, 0, orientation, 0, 0, 0} { // a short, once
			b = binary.LittleEndian.AppendUint16(b, v)
		}
		return b
	}
	for orientation, want := range map[uint16]int{0: 1, 1: 1, 6: 6, 8: 8, 9: 1, 1000: 1} {
		must.Equal(t, tiffOrientation(directory(orientation)), want, orientation, "counts as")
	}
	must.Equal(t, tiffOrientation(nil), 1, "nothing counts as")
}
