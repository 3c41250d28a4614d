package kernel

// computeTile runs the assembly micro-kernel of a width on a tile.
func computeTile(t *byte, width int) {
	switch {
	case active == levelAVX512 && width == 32:
		tile8x32AVX512(t)
	case active == levelAVX512:
		tile8x16AVX512(t)
	case width == 32:
		tile8x32AVX2(t)
	default:
		tile8x16AVX2(t)
	}
}
