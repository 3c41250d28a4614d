package metrics

import (
	"fmt"
	"math"
)

// sized returns the input with sized codes.
func (in *Input) sized(least, most int) *Input {
	codes, e := in.Codes.Sized(least, most)
	if e == 0 {
		return in
	}
	s := *in
	s.Codes, s.shared = codes, nil
	return &s
}

// tinyForTrees is the end of a note about trees that found nothing in codes too small for them, or "" for other codes.
func (in *Input) tinyForTrees() string {
	const least = -20
	if e := in.Codes.Exponent(); e < least {
		return fmt.Sprintf("; trees take codes that differ by less than 1e-7 for the same, and the largest is about %.0e: want codes nearer to 1", math.Ldexp(1, e-1))
	}
	return ""
}
