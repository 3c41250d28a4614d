// Package dims computes the number of elements of an array from the shape that a file states.
package dims

import (
	"fmt"
	"math"
)

// Count returns the number of elements of a shape: the product of its dimensions, 1 for a scalar. It returns an error
// for negative dimensions, and for shapes whose elements of size bytes exceed the address space even if dimensions of 0
// were 1.
func Count(shape []int, size int) (int, error) {
	n, zero := 1, false
	for _, d := range shape {
		switch {
		case d < 0:
			return 0, fmt.Errorf("negative dimension in shape %v", shape)
		case d == 0:
			zero = true
		case n > math.MaxInt/size/d:
			return 0, fmt.Errorf("shape %v has too many elements", shape)
		default:
			n *= d
		}
	}
	if zero {
		return 0, nil
	}
	return n, nil
}
