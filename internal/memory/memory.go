// Package memory rejects work that needs more memory than the machine has, before the work starts. Otherwise, the
// system would kill the program without a message.
package memory

import (
	"fmt"
	"math"
	"runtime"
)

// Machine returns the memory that this process may use in bytes; +Inf if unknown.
func Machine() float64 { return machine() }

// Share is the fraction of the machine's memory that may be used; the garbage collector and the system need the rest.
const Share = 0.8

// least is the size in bytes up to which Check does not measure the used memory.
const least = 1 << 24

// Check returns an error if something needs more bytes than are available. It measures the used memory only if the
// result can matter.
func Check(what string, bytes float64) error {
	if bytes <= least {
		return nil
	}
	have := Machine()
	if bytes <= have*Share/8 {
		return nil
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if bytes+float64(m.HeapAlloc) <= have*Share {
		return nil
	}
	used := ""
	if part := float64(m.HeapAlloc); part > have/100 {
		used = " besides " + Text(part) + " in use"
	}
	return fmt.Errorf("%s would take %s of memory%s; this machine has %s, and Unravel uses at most %.0f %% of it",
		what, Text(bytes), used, Text(have), 100*Share)
}

// Left returns the available memory in bytes; +Inf if unknown.
func Left() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return max(0, Machine()*Share-float64(m.HeapAlloc))
}

// Product multiplies sizes without overflow.
func Product[T int | int32 | int64](sizes ...T) float64 {
	n := 1.0
	for _, s := range sizes {
		n *= float64(s)
	}
	return n
}

// Text formats bytes with three digits.
func Text(bytes float64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for ; bytes >= 1000 && i < len(units)-1; i++ {
		bytes /= 1024
	}
	if bytes >= 1e6 {
		return fmt.Sprintf("%.2g %s", bytes, units[i])
	}
	return fmt.Sprintf("%.*f %s", max(0, 2-int(math.Log10(max(bytes, 1)))), bytes, units[i])
}
