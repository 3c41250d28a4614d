//go:build !race

// Package race reports whether the race detector is active. With it, sync.Pool drops items at random, so tests cannot
// count allocations.
package race

// Enabled reports whether the race detector runs.
const Enabled = false
