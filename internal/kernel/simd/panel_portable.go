//go:build !amd64 && !arm64

package simd

// Compute runs the micro-kernel of the active instruction set.
func (p *Panel) Compute() { p.computeGo() }

func transpose16([]float32, []float32, int, int, int) bool { return false }

// CopyRows copies n runs of panelWidth elements, step apart, to consecutive runs.
func CopyRows(dst, src []float32, step, n int) {
	CopyRowsGo(dst, src, PanelWidth(), PanelWidth(), step, n)
}
