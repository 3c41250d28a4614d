//go:build !(darwin || linux || windows)

package memory

// machine returns an upper bound: the memory size is unknown on this system.
func machine() float64 { return 1 << 40 }
