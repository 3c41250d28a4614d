//go:build !amd64 && !arm64

package simd

// architecture holds the levels of this architecture, the best one last.
var architecture = []Level{Go}

func Available() []Level { return architecture }

// identify returns nothing: only amd64 has CPUID.
func identify() CPU { return CPU{} }
