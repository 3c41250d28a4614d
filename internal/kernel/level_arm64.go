package kernel

// architecture holds the levels of this architecture, the best one last.
var architecture = []level{levelGo, levelNEON}

// available returns this processor's levels: NEON belongs to arm64.
func available() []level { return architecture }

// identify returns nothing: only amd64 has CPUID.
func identify() CPU { return CPU{} }
