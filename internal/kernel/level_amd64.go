package kernel

import "golang.org/x/sys/cpu"

// architecture holds the levels of this architecture, the best one last.
var architecture = []level{levelGo, levelAVX2, levelAVX512}

// available returns this processor's levels.
func available() []level {
	x := cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512BW && x.HasFMA:
		return architecture
	case x.HasAVX2 && x.HasFMA:
		return architecture[:2]
	}
	return architecture[:1]
}
