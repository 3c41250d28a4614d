//go:build !(darwin || dragonfly || freebsd || linux || windows)

package disk

// free cannot tell on this system.
func free(string) (uint64, bool) { return 0, false }
