package simd

// LeftElements returns the number of elements of the left operand in an item of work. Only the time depends on it,
// because the order of a sum depends only on the number of its terms.
func LeftElements() int { return caches.L2 / 2 / 4 }

// WorthLaying returns the minimum number of rows of an item that copies a panel of the right operand piece by piece.
func WorthLaying() int {
	if fewPages() {
		return 36
	}
	return 72
}

// LeastSteps returns the minimum number of steps of a product that copies its operands to touch fewer pages.
func LeastSteps() int {
	if fewPages() {
		return 64
	}
	return 192
}

// fewPages reports whether the first-level TLB is small: 64 pages on Intel, 72 to 96 on AMD from Zen 4 on. Then
// operands in place, with each step in another page, are slower than copies.
func fewPages() bool { return caches.Vendor == "GenuineIntel" }
