//go:build race

package augment

// raceDetector says that sync.Pool forgets at random, so that allocations cannot be counted.
const raceDetector = true
