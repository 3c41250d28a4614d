//go:build !race

// Package race tells tests whether the race detector is on: sync.Pool then forgets at random, so that allocations
// cannot be counted.
package race

// Enabled says that the race detector is on.
const Enabled = false
