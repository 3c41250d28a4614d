package simd

// Compute runs the micro-kernel of the active instruction set. NEON uses the micro-kernel of tiles.
func (p *Panel) Compute() {
	if active == Go {
		p.computeGo()
		return
	}
	const most = 64
	var rows, cRows [most]int
	t := Tile{A: p.A, B: p.B, C: p.C, Bias: p.Bias, Steps: p.Steps, AStep: p.AStep, Segs: 1, Blocks: 1, BStep: p.BStep, Flags: p.Flags, Width: p.Width}
	for from := 0; from < p.Rows; from += most {
		n := min(most, p.Rows-from)
		for r := range n {
			rows[r], cRows[r] = (from+r)*p.ARow, (from+r)*p.CRow
		}
		t.Sweep(rows[:n], cRows[:n], n, p.Width)
	}
}

func transpose16([]float32, []float32, int, int, int) bool { return false }

// CopyRows copies n runs of panelWidth elements, step apart, to consecutive runs.
func CopyRows(dst, src []float32, step, n int) {
	CopyRowsGo(dst, src, PanelWidth(), PanelWidth(), step, n)
}
