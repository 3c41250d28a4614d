package simd

// architecture holds the levels of this architecture, the best one last.
var architecture = []Level{Go, NEON}

// Available returns this processor's levels: NEON belongs to arm64.
func Available() []Level { return architecture }

// identify returns nothing: only amd64 has CPUID.
func identify() CPU { return CPU{} }
