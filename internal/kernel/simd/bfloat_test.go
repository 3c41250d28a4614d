package simd

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestBfloat16(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, want float32 }{{1, 1}, {1 + 0x1p-8, 1}, {1 + 0x1.8p-7, 1 + 0x1p-6}, {-0x1.ffp-130, 0}, {math.MaxFloat32, inf}, {inf, inf}, {0.1, 0x1.9ap-4}} {
		must.Equal(t, math.Float32frombits(bfloat(c.x)<<16), c.want, c.x, "becomes")
	}
	if nan := float32(math.NaN()); wideBF16(bfloat(nan)) == wideBF16(bfloat(nan)) {
		t.Error("NaN becomes a number")
	}
	for _, c := range []struct{ sum, x0, x1, y0, y1, want float32 }{
		{1, 2, 3, 4, 5, 24},
		{0x1p24, 1, 1, 1, 1, 0x1p24},                             // each product is rounded away: 2^24 + 1 twice
		{0, -0x1p24, 0x1p24, 1, 1, 0},                            //
		{0x1p-126, -0x1p-75, 0, 0x1p-76, 0, 0x1p-126},            // a tie, to even: a normal number
		{0x1p-126, -0x1.4p-75, 0, 0x1p-76, 0, 0},                 // rounds to a denormal number
		{0x1p-127, 1, 0, 0x1p-120, 0, 0x1p-120},                  // a denormal sum
		{math.MaxFloat32, 0x1p127, 0, 2, 0, inf},                 //
		{inf, 1, 1, 1, 1, inf},                                   //
		{1, 0x1p-130, 0x1p-130, 0x1p100, 0x1p100, 1},             // denormal factors
		{-0x1p-126, 0x1p-63, 0, 0x1.8p-64, 0, -0 /* denormal */}, //
	} {
		must.Equal(t, dot2(c.sum, pair(c.x0, c.x1), pair(c.y0, c.y1)), c.want, c)
	}
}
