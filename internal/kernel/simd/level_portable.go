//go:build !amd64 && !arm64

package simd

// architecture lists the levels of this architecture in ascending order.
var architecture = []Level{Go}

func Available() []Level { return architecture }

// identify returns nothing: only amd64 has CPUID.
func identify() CPU { return CPU{} }
