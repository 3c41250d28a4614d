package hierarchy

import "math"

// FloatBits is the length of a number in a description: 32 bits, as a float32.
const FloatBits = 32

// Description is the number of bits for describing codes by a hierarchy (Ross and Doshi-Velez 2021, section 8.1). A
// code is described by the option of each categorical dimension on its path, with log2 K bits for one of K options, and
// by the value of each active continuous dimension, with b bits:
//
//	sum over codes of (b |active continuous dimensions| + sum over active categorical dimensions of log2 K)
//
// Some codes may not belong to the hierarchy, such as codes that MIMOSA discards. All columns of such a code count,
// with b bits each. Every code then needs one more bit, which says whether it belongs to the hierarchy. The paper does
// not treat this case.
type Description struct {
	Codes   int
	Options float64 // options that codes choose
	Values  float64 // values of active continuous dimensions
	Outside float64 // codes outside the hierarchy, and the extra bit of all codes
	Tree    float64 // the hierarchy itself, counted once, see [Hierarchy.TreeBits]; the paper neglects it
	Flat    float64 // the same codes as flat vectors, each as long as the longest code
}

// PerCode returns the mean number of bits of a code, without the tree.
func (d Description) PerCode() float64 {
	return (d.Options + d.Values + d.Outside) / float64(d.Codes)
}

// FlatPerCode returns the mean number of bits of a code as a flat vector.
func (d Description) FlatPerCode() float64 { return d.Flat / float64(d.Codes) }

// Describe returns the length of the description of n codes with the given columns, and bits for each number. choose
// sets every categorical option, as in [Hierarchy.Masks], and reports whether the code has a place in the hierarchy.
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

// TreeBits returns the number of bits for describing the hierarchy itself, in our own encoding. Each dimension of a
// group, and the end of the group, is one of three symbols (continuous, categorical, end), log2 3 bits. Each option of
// a categorical dimension, and the end of the options, is one bit. The group of an option follows the option's bit.
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
