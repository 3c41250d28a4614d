package kernels

import "github.com/unravel-ml/unravel/graph/vulkan"

// Pieces is a function K of l = log t. For t up to Small, K = Slope l + Constant + Powers[0] t + ... + Powers[7] t^8.
// Up to t = Last, K is the cubic interpolation of Table, which holds K and its derivative at l = First + i Step. Beyond
// Last, K = 0. Without a table K is NaN beyond Small.
type Pieces struct {
	Slope, Constant          float64
	Powers                   [8]float64
	Small, Last, First, Step float64
	Table                    []float32
}

func (p *Pieces) record(t *vulkan.Tape, logT, dout, d vulkan.Buffer, gradient int, scale float64, rows int) {
	table := logT
	if len(p.Table) > 0 {
		table = t.Constant(p.Table)
	}
	constants := append(sizes(rows, gradient, len(p.Table)/2), float(scale), float(p.Small), float(p.Last), float(p.First),
		float(p.Step), float(p.Slope), float(p.Constant))
	for _, c := range p.Powers {
		constants = append(constants, float(c))
	}
	each(t, "spherekl", rows, constants, vulkan.Read(logT), vulkan.Read(table), vulkan.Read(dout), vulkan.Write(d))
}

// KLSphere records out[0] = the mean of K over rows of log t: see losses.KLSphere.
func KLSphere(t *vulkan.Tape, logT, out vulkan.Buffer, k *Pieces, rows int) {
	terms := t.Scratch(rows)
	k.record(t, logT, logT, terms, 0, 0, rows)
	Sum(t, terms, out, 1/float64(rows), rows)
}

// KLSphereGradient records the gradient of [KLSphere].
func KLSphereGradient(t *vulkan.Tape, logT, dout, dlogT vulkan.Buffer, k *Pieces, rows int) {
	k.record(t, logT, dout, dlogT, 1, 1/float64(rows), rows)
}
