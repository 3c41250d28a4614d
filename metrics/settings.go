package metrics

import (
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
)

// Checks of settings, which Validate joins by cmp.Or: the first error counts.

// rule returns an error for a setting that does not keep it.
func rule(kept bool, key, format string, args ...any) error {
	if kept {
		return nil
	}
	return config.Invalid(key, format, args...)
}

// oneOf returns an error for another value than the given ones.
func oneOf[S ~string](key, what string, value S, values ...S) error {
	var list []string
	for _, v := range values {
		list = append(list, string(v))
	}
	last := len(list) - 1
	most := strings.Join(list[:last], ", ")
	return rule(slices.Contains(values, value), key, "unknown %s %q; want %s or %s", what, string(value), most, list[last])
}

// within returns an error for a number out of range.
func within(key string, n, least, most int) error {
	return rule(n >= least && n <= most, key, "%d is out of range; want %d to %d", n, least, most)
}

// notNegative returns an error for a negative number; zero says what 0 means.
func notNegative(key string, n int, zero string) error {
	return rule(n >= 0, key, "%d is negative; want 0 (%s) or more", n, zero)
}

// positive returns an error for a number that is not positive and finite.
func positive(key string, v float64) error {
	return rule(v > 0 && !math.IsInf(v, 0), key, "%v is not a positive number", v)
}
