package kernel

// computePanel runs the assembly micro-kernel of a width on a panel.
func computePanel(p *byte, width int) {
	switch {
	case active == levelAVX2:
		panel16AVX2(p)
	case width == 32:
		panel32AVX512(p)
	default:
		panel16AVX512(p)
	}
}
