//go:build !linux

package memory

// HugePages does nothing: only Linux takes this advice from a program.
func HugePages() {}
