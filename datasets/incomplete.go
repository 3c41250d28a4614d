package datasets

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// Unknown is the level of a factor that is not known, [factor.Unknown].
const Unknown = factor.Unknown

// Incomplete is a data set that lacks levels: FactorsAt writes [Unknown] for the factors of an image that are not
// known. An unknown level is the same as no other, known or unknown, and is no label; metrics leave out the
// images without the levels that they need. Sets that are not Incomplete know all levels.
type Incomplete interface {
	Dataset

	// Missing returns the number of images whose level is unknown, by factor; nil: none. It is not to be changed.
	Missing() []int
}

// Missing returns the number of images whose level is unknown, by factor; nil if a data set knows all levels.
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

// checkMissing reports numbers of images with unknown levels that cannot be.
func checkMissing(d Dataset) error {
	missing := Missing(d)
	if missing == nil {
		return nil
	}
	factors := d.Factors()
	if len(missing) != len(factors) {
		return fmt.Errorf("Missing has %d numbers; want one for each of the %d factors", len(missing), len(factors))
	}
	for k, n := range missing {
		if n < 0 || n > d.Len() {
			return fmt.Errorf("factor %q has %d images with an unknown level; want 0 to the %d of the data set", factors[k].Name, n, d.Len())
		}
	}
	return nil
}

// countMissing counts the unknown levels of images by factor; nil if there are none.
func countMissing[T int | int32](levels []T, k int) []int {
	var missing []int
	for at, l := range levels {
		if l == Unknown {
			if missing == nil {
				missing = make([]int, k)
			}
			missing[at%k]++
		}
	}
	return missing
}

// known lists the images all of whose levels are known.
func known(d Dataset) []int {
	list := make([]int, d.Len())
	for i := range list {
		list[i] = i
	}
	if Missing(d) != nil {
		list = slices.DeleteFunc(list, unknownOf(d, func(int, factor.Factor) bool { return true }))
	}
	return list
}

// unknownOf returns a function that reports whether a level of an image is unknown, of the factors that are chosen.
func unknownOf(d Dataset, chosen func(k int, f factor.Factor) bool) func(image int) bool {
	var factors []int
	for k, f := range d.Factors() {
		if chosen(k, f) {
			factors = append(factors, k)
		}
	}
	levels := make([]int, len(d.Factors()))
	return func(image int) bool {
		d.FactorsAt(image, levels)
		return slices.ContainsFunc(factors, func(k int) bool { return levels[k] == Unknown })
	}
}

// ofKnown says, for an error, that only n images of a data set have the levels that are needed.
func ofKnown(d Dataset, n int) string {
	if n == d.Len() {
		return ""
	}
	return fmt.Sprintf(" whose levels are known, of %d", d.Len())
}
