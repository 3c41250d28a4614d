//go:build !amd64 && !arm64

package kernel

// architecture holds the levels of this architecture, the best one last.
var architecture = []level{levelGo}

// available returns this processor's levels.
func available() []level { return architecture }

// identify returns nothing: only amd64 has CPUID.
func identify() CPU { return CPU{} }
