package kernel

import "fmt"

// ConvShape is the geometry of a convolution or transposed convolution on NHWC images. In and Out are the sizes of its
// input and output. The larger image has PadH rows of zeros before row 0 and PadW columns of zeros before column 0.
// After the last row and column, there are as many zeros as needed.
//
// A convolution computes out[y,x,o] = sum of in[s*y+ky-p, s*x+kx-q, c] w[ky,kx,c,o] with p = PadH and q = PadW. A
// transposed convolution adds in[y,x,c] w[ky,kx,o,c] to out[s*y+ky-p, s*x+kx-q, o].
type ConvShape struct {
	Batch            int
	InH, InW, InC    int
	OutH, OutW, OutC int
	Kernel, Stride   int
	PadH, PadW       int
}

// Check returns an error that names op if a field is out of range.
func (s ConvShape) Check(op string) error {
	for _, f := range []struct {
		name  string
		value int
	}{{"Batch", s.Batch}, {"InH", s.InH}, {"InW", s.InW}, {"InC", s.InC}, {"OutH", s.OutH}, {"OutW", s.OutW}, {"OutC", s.OutC},
		{"Kernel", s.Kernel}, {"Stride", s.Stride}} {
		if f.value < 1 {
			return fmt.Errorf("%s: %s is %d, want at least 1", op, f.name, f.value)
		}
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"PadH", s.PadH}, {"PadW", s.PadW}} {
		if f.value < 0 || f.value >= s.Kernel {
			return fmt.Errorf("%s: %s is %d, want 0 to Kernel-1 = %d", op, f.name, f.value, s.Kernel-1)
		}
	}
	return nil
}
