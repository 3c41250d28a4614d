// Package memory refuses work that would need more memory than the machine has, before it begins: the
// system ends a program that runs out of memory without a message.
package memory

import (
	"fmt"
	"math"
	"runtime"
)

// Machine returns the memory in bytes that this process may use; +Inf if that is unknown.
func Machine() float64 { return machine() }

// Share is the part of the machine's memory that is given away: the collector and the system need the rest.
const Share = 0.8

// Check returns an error if something would take so many bytes and the machine has less to give away, besides what
// is in use. It looks at what is in use only where that could matter.
func Check(what string, bytes float64) error {
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
		used = " besides " + text(part) + " in use"
	}
	return fmt.Errorf("%s would take %s of memory%s; this machine has %s, of which %.0f %% can be used", what, text(bytes), used, text(have), 100*Share)
}

// Product multiplies sizes without an overflow.
func Product[T int | int32 | int64](sizes ...T) float64 {
	n := 1.0
	for _, s := range sizes {
		n *= float64(s)
	}
	return n
}

// text writes bytes with three digits.
func text(bytes float64) string {
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
