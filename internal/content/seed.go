package content

import (
	"bytes"
	"fmt"
	"slices"
)

// Reseed returns a function that returns the text of a config with another seed. It is nil if the text has no line with
// the seed.
func Reseed(text []byte, seed uint64) func(seed uint64) []byte {
	before, after, ok := bytes.Cut(text, fmt.Appendf(nil, "\nseed: %d\n", seed))
	if !ok {
		return nil
	}
	return func(seed uint64) []byte { return slices.Concat(before, fmt.Appendf(nil, "\nseed: %d\n", seed), after) }
}
