package simd

// architecture lists the levels of this architecture in ascending order.
var architecture = []Level{Go, NEON}

// Available returns this processor's levels. Every arm64 processor has NEON.
func Available() []Level { return architecture }

// identify returns nothing: only amd64 has CPUID.
func identify() CPU { return CPU{} }
