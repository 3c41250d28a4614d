package kernel

// compute runs the micro-kernel of the active instruction set; NEON's is the tile's.
func (p *panel) compute() {
	if active == levelGo {
		p.computeGo()
		return
	}
	const most = 64
	var rows, cRows [most]int
	t := tile{a: p.a, b: p.b, c: p.c, bias: p.bias, steps: p.steps, aStep: p.aStep, segs: 1, blocks: 1, bStep: p.bStep, flags: p.flags, width: p.width}
	for from := 0; from < p.rows; from += most {
		n := min(most, p.rows-from)
		for r := range n {
			rows[r], cRows[r] = (from+r)*p.aRow, (from+r)*p.cRow
		}
		t.sweep(rows[:n], cRows[:n], n, p.width)
	}
}

func transpose16([]float32, []float32, int, int, int) bool { return false }

// copyRows copies n runs of panelWidth elements, step apart, to runs that follow each other.
func copyRows(dst, src []float32, step, n int) {
	copyRowsGo(dst, src, panelWidth(), panelWidth(), step, n)
}
