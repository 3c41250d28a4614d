package simd

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// The registers are from an Intel Ice Lake server (leaf 4) and an AMD Zen 5 (leaf 8000001D). In the manuals, ebx has
// ways, partitions and line size, all minus 1, and ecx has sets minus 1.
func TestCaches(t *testing.T) {
	for _, c := range []struct {
		registers [][3]uint32
		want      CPU
	}{
		{[][3]uint32{{0x121, 11<<22 | 63, 63}, {0x122, 7<<22 | 63, 63}, {0x143, 19<<22 | 63, 1023}}, CPU{L1: 48 << 10, L2: 1280 << 10}},
		{[][3]uint32{{0x121, 11<<22 | 63, 63}, {0x122, 7<<22 | 63, 63}, {0x143, 15<<22 | 63, 1023}, {0x163, 15<<22 | 63, 0x7fff}}, CPU{L1: 48 << 10, L2: 1 << 20, L3: 32 << 20}},
	} {
		var p CPU
		for _, r := range c.registers {
			p.add(r[0], r[1], r[2])
		}
		must.Equal(t, p, c.want, c.registers)
	}
}
