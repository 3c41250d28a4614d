//go:build !amd64 && !arm64

package kernel

// compute runs the micro-kernel of the active instruction set.
func (p *panel) compute() { p.computeGo() }

func transpose16([]float32, []float32, int, int, int) bool { return false }

// copyRows copies n runs of panelWidth elements, step apart, to runs that follow each other.
func copyRows(dst, src []float32, step, n int) {
	copyRowsGo(dst, src, panelWidth(), panelWidth(), step, n)
}
