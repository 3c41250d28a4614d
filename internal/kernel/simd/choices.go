package simd

// LeftElements returns the elements of the left operand in an item of work. Only the time depends on them, because
// sums depend on the number of their terms alone.
func LeftElements() int { return caches.L2 / 2 / 4 }

// WorthLaying returns the least rows of an item that copies a panel of the right operand piece by piece.
func WorthLaying() int {
	if fewPages() {
		return 36
	}
	return 72
}

// LeastSteps returns the least steps of a product that copies its operands for the sake of pages.
func LeastSteps() int {
	if fewPages() {
		return 64
	}
	return 192
}

// fewPages reports whether the first-level cache holds the addresses of few pages: 64 on Intel, 72 to 96 on AMD from
// Zen 4 on. Operands in place, with each step in another page, then take longer than copies.
func fewPages() bool { return caches.Vendor == "GenuineIntel" }
