//go:build !linux && !darwin

package memory

// machine is not known here: what a process can address, on the machines that there are.
func machine() float64 { return 1 << 40 }
