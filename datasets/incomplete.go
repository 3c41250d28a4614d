package datasets

import (
	"github.com/unravel-ml/unravel/datasets/factor"
)

// Unknown is the level of a factor with an unknown value, [factor.Unknown].
const Unknown = factor.Unknown

// Incomplete is implemented by data sets with unknown levels: FactorsAt writes [Unknown] for them. An unknown level
// differs from every level, including other unknown levels, and is not a label. Metrics skip an image if a level that
// they need is unknown. In all other data sets, every level is known.
type Incomplete interface {
	Dataset

	// Missing returns the number of images with an unknown level for each factor, or nil if all levels are known.
	// Callers must not change the slice.
	Missing() []int
}

// Missing returns the number of images with an unknown level for each factor, or nil if all levels are known.
func Missing(d Dataset) []int {
	if i, ok := d.(Incomplete); ok {
		for _, n := range i.Missing() {
			if n > 0 {
				return i.Missing()
			}
		}
	}
	return nil
}
