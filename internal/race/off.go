//go:build !race

// Package race tells tests whether the race detector runs. With it sync.Pool drops items at random, and tests cannot
// count allocations.
package race

// Enabled reports whether the race detector runs.
const Enabled = false
