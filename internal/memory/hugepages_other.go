//go:build !linux

package memory

// HugePages does nothing: only Linux supports this advice.
func HugePages() {}
