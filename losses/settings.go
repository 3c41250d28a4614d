package losses

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
)

// choose parses a setting with a fixed list of names.
func choose[T ~string](to *T, what string, text []byte, known ...T) error {
	if !slices.Contains(known, T(text)) {
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(known), "[]"), " ", ", ")
		return fmt.Errorf("unknown %s %q; known: %s", what, text, list)
	}
	*to = T(text)
	return nil
}

func notNegative(key string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return config.Invalid(key, "want 0 or more, got %v", v)
	}
	return nil
}

func positive(key string, v float64) error {
	if !(v > 0 && v <= 1e6) {
		return config.Invalid(key, "want more than 0 and at most 1e6, got %v", v)
	}
	return nil
}

// distinctColumns checks a list of code columns; count is the required length, or 0 for any length.
func distinctColumns(columns []int, count int) error {
	if count > 0 && len(columns) != count {
		return fmt.Errorf("%v has %d columns; want %d", columns, len(columns), count)
	}
	for i, c := range columns {
		if c < 0 || slices.Contains(columns[:i], c) {
			return fmt.Errorf("want distinct columns, numbered from 0, got %v", columns)
		}
	}
	return nil
}
