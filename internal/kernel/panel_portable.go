//go:build !amd64 && !arm64

package kernel

// compute runs the micro-kernel of the active instruction set.
func (p *panel) compute() { p.computeGo() }

func transpose16([]float32, []float32, int, int, int) bool { return false }
