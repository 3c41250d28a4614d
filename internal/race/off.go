//go:build !race

// Package race tells tests whether the race detector is on: sync.Pool then drops items at random, so
// that allocations cannot be counted.
package race

// Enabled reports whether the race detector is on.
const Enabled = false
