//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package lock

// These systems have no such error, and no identifier of a boot or a file system.
func stale(error) bool     { return false }
func bootID() string       { return "" }
func device(string) string { return "" }
