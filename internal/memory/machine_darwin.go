package memory

import (
	"math"

	"golang.org/x/sys/unix"
)

func machine() float64 {
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		return float64(n)
	}
	return math.Inf(1)
}
