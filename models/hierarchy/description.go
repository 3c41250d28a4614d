package hierarchy

import "math"

// FloatBits is the length of a number in a description, that of a float32.
const FloatBits = 32

// Description is the length of the description of codes by a hierarchy, in bits (Ross and Doshi-Velez 2021, section 8.1). A
// code is described by the option of each categorical dimension on its path, log2 K bits for one of K options, and by the value
// of each of its active continuous dimensions, b bits:
//
//	sum over codes of (b |active continuous dimensions| + sum over active categorical dimensions of log2 K)
//
// Where codes have no place in the hierarchy, such as those that MIMOSA leaves out, they are described by all of their columns,
// b bits each, and every code by one bit more, which says whether it has a place; the paper does not treat them.
type Description struct {
	Codes   int
	Options float64 // of the options that codes choose
	Values  float64 // of the values of active continuous dimensions
	Outside float64 // of codes without a place, with the bit that all codes have then
	Tree    float64 // of the hierarchy, once, see [Hierarchy.TreeBits]; the paper neglects it
	Flat    float64 // of the same codes as flat vectors of equal length: that of the longest code
}

// PerCode returns the bits of a code, without the tree.
func (d Description) PerCode() float64 {
	return (d.Options + d.Values + d.Outside) / float64(d.Codes)
}

// FlatPerCode returns the bits of a code as a flat vector.
func (d Description) FlatPerCode() float64 { return d.Flat / float64(d.Codes) }

// Describe returns the length of the description of n codes of so many columns, with bits for each number. choose sets the
// option of every categorical dimension, as for [Hierarchy.Masks], and reports whether the code has a place in the hierarchy.
func (h Hierarchy) Describe(n, columns int, bits float64, choose func(code int, choice []int) bool) Description {
	options := h.Categoricals()
	choice := make([]int, len(options))
	d := Description{Codes: n, Tree: h.TreeBits()}
	numbers, longest, outside := 0, 0, 0
	w := walker{
		onCategorical: func(at int, active bool) int {
			if active {
				d.Options += math.Log2(float64(options[at]))
			}
			return choice[at]
		},
		onContinuous: func(_ int, active bool) {
			if active {
				numbers++
			}
		},
	}
	for code := range n {
		if !choose(code, choice) {
			outside++
			longest = max(longest, columns)
			continue
		}
		w.categorical, w.continuous = 0, 0
		before := numbers
		w.walk(h, true)
		longest = max(longest, numbers-before)
	}
	d.Values, d.Flat = bits*float64(numbers), bits*float64(longest)*float64(n)
	if outside > 0 {
		d.Outside = bits*float64(columns)*float64(outside) + float64(n)
	}
	return d
}

// TreeBits returns the length of a description of the hierarchy itself, by a code of our own: each dimension of a group, and the
// end of the group, is one of three symbols (continuous, categorical, end), log2 3 bits; each option of a categorical dimension,
// and the end of its options, is one bit, and an option's group follows.
func (h Hierarchy) TreeBits() float64 {
	bits := float64(len(h)+1) * math.Log2(3)
	for _, n := range h {
		if n.Categorical() {
			bits += float64(len(n.Options) + 1)
		}
		for _, option := range n.Options {
			bits += option.TreeBits()
		}
	}
	return bits
}
