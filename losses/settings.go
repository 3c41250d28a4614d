package losses

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
)

// choose sets a setting to one of the known names.
func choose[T ~string](to *T, what string, text []byte, known ...T) error {
	if !slices.Contains(known, T(text)) {
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(known), "[]"), " ", ", ")
		return fmt.Errorf("unknown %s %q; known: %s", what, text, list)
	}
	*to = T(text)
	return nil
}

// notNegative checks a number of a setting.
func notNegative(key string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return config.Invalid(key, "want 0 or more, got %v", v)
	}
	return nil
}

// positive checks a number of a setting.
func positive(key string, v float64) error {
	if !(v > 0 && v <= 1e6) {
		return config.Invalid(key, "want more than 0 and at most 1e6, got %v", v)
	}
	return nil
}

// distinctColumns checks names of code columns; count is their number, or 0 for any.
func distinctColumns(columns []int, count int) error {
	if count > 0 && len(columns) != count {
		return fmt.Errorf("%v has %d columns; want %d", columns, len(columns), count)
	}
	for i, c := range columns {
		if c < 0 || slices.Contains(columns[:i], c) {
			return fmt.Errorf("want different columns from 0 on, got %v", columns)
		}
	}
	return nil
}
