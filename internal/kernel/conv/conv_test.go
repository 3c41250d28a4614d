package conv

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// convCases have odd sizes, edges and tails.
var convCases = []kernel.ConvShape{
	{Batch: 3, InH: 8, InW: 8, InC: 1, OutH: 4, OutW: 4, OutC: 32, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 9, InH: 8, InW: 8, InC: 3, OutH: 4, OutW: 4, OutC: 16, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 3, InH: 12, InW: 8, InC: 3, OutH: 6, OutW: 4, OutC: 32, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 2, InH: 10, InW: 14, InC: 2, OutH: 5, OutW: 7, OutC: 16, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 2, InH: 4, InW: 4, InC: 4, OutH: 2, OutW: 2, OutC: 48, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 2, InH: 16, InW: 16, InC: 32, OutH: 8, OutW: 8, OutC: 64, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 9, InH: 12, InW: 8, InC: 32, OutH: 6, OutW: 4, OutC: 32, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 65, InH: 4, InW: 4, InC: 16, OutH: 2, OutW: 2, OutC: 48, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 2, InH: 8, InW: 4, InC: 16, OutH: 4, OutW: 2, OutC: 16, Kernel: 4, Stride: 2, PadH: 3, PadW: 3},
	{Batch: 17, InH: 4, InW: 6, InC: 5, OutH: 2, OutW: 3, OutC: 48, Kernel: 2, Stride: 2, PadH: 0, PadW: 0},
	{Batch: 2, InH: 7, InW: 5, InC: 7, OutH: 7, OutW: 5, OutC: 9, Kernel: 3, Stride: 1, PadH: 1, PadW: 1},
	{Batch: 5, InH: 4, InW: 4, InC: 64, OutH: 1, OutW: 1, OutC: 40, Kernel: 4, Stride: 1, PadH: 0, PadW: 0},
	{Batch: 2, InH: 9, InW: 11, InC: 2, OutH: 5, OutW: 6, OutC: 33, Kernel: 3, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 1, InH: 6, InW: 6, InC: 3, OutH: 3, OutW: 3, OutC: 4, Kernel: 1, Stride: 2, PadH: 0, PadW: 0},
	{Batch: 4, InH: 1, InW: 1, InC: 13, OutH: 1, OutW: 1, OutC: 17, Kernel: 1, Stride: 1, PadH: 0, PadW: 0},
	{Batch: 1, InH: 10, InW: 7, InC: 4, OutH: 4, OutW: 3, OutC: 3, Kernel: 5, Stride: 3, PadH: 2, PadW: 2},
	{Batch: 2, InH: 12, InW: 7, InC: 3, OutH: 6, OutW: 4, OutC: 32, Kernel: 3, Stride: 2, PadH: 0, PadW: 1},
	{Batch: 3, InH: 1, InW: 12, InC: 16, OutH: 1, OutW: 6, OutC: 32, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 3, InH: 1, InW: 9, InC: 2, OutH: 1, OutW: 5, OutC: 16, Kernel: 5, Stride: 2, PadH: 2, PadW: 1},
	{Batch: 2, InH: 8, InW: 4, InC: 16, OutH: 4, OutW: 2, OutC: 16, Kernel: 4, Stride: 2, PadH: 3, PadW: 1},
	{Batch: 2, InH: 2, InW: 5, InC: 1, OutH: 1, OutW: 2, OutC: 3, Kernel: 7, Stride: 3, PadH: 2, PadW: 1},
	{Batch: 3, InH: 8, InW: 8, InC: 16, OutH: 8, OutW: 8, OutC: 32, Kernel: 3, Stride: 1, PadH: 1, PadW: 1},
	{Batch: 3, InH: 7, InW: 13, InC: 17, OutH: 7, OutW: 13, OutC: 48, Kernel: 3, Stride: 1, PadH: 1, PadW: 1},
	{Batch: 9, InH: 5, InW: 9, InC: 64, OutH: 3, OutW: 7, OutC: 19, Kernel: 3, Stride: 1, PadH: 0, PadW: 0},
	{Batch: 64, InH: 8, InW: 8, InC: 3, OutH: 4, OutW: 4, OutC: 7, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 5, InH: 32, InW: 8, InC: 16, OutH: 16, OutW: 4, OutC: 48, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 3, InH: 32, InW: 24, InC: 32, OutH: 16, OutW: 12, OutC: 32, Kernel: 4, Stride: 2, PadH: 1, PadW: 1},
	{Batch: 1, InH: 16, InW: 16, InC: 48, OutH: 8, OutW: 8, OutC: 16, Kernel: 4, Stride: 2, PadH: 3, PadW: 1},
}

// eachProduct calls f with the positions of products in a convolution, by the definition in ConvShape. In is the big
// image. The positions are for one channel of the big image and the first channel of the small image.
func eachProduct(s kernel.ConvShape, f func(big, w, small int)) {
	for b := range s.Batch {
		for y := range s.OutH {
			for x := range s.OutW {
				for ky := range s.Kernel {
					for kx := range s.Kernel {
						iy, ix := y*s.Stride+ky-s.PadH, x*s.Stride+kx-s.PadW
						if iy < 0 || iy >= s.InH || ix < 0 || ix >= s.InW {
							continue
						}
						for c := range s.InC {
							f(((b*s.InH+iy)*s.InW+ix)*s.InC+c, ((ky*s.Kernel+kx)*s.InC+c)*s.OutC, ((b*s.OutH+y)*s.OutW+x)*s.OutC)
						}
					}
				}
			}
		}
	}
}

func TestConvolutions(t *testing.T) {
	long.NotShort(t)
	kerneltest.Levels(t, func(t *testing.T) {
		for i, s := range convCases {
			for _, transposed := range []bool{false, true} {
				a := kernel.Activation(i % 6)
				t.Run(fmt.Sprintf("%+v %v %v", s, transposed, a), func(t *testing.T) { checkConvolution(t, s, transposed, a, false) })
			}
		}
	})
}

// checkConvolution compares a plan with the definition. s is the shape of the convolution, also for a transposed one.
// In mixed precision, bfloat16 represents the operands exactly, and only the order of sums differs.
func checkConvolution(t *testing.T, s kernel.ConvShape, transposed bool, a kernel.Activation, mixed bool) [][]float32 {
	r := rand.New(rand.NewPCG(1, 2))
	nBig, nSmall := s.Batch*s.InH*s.InW*s.InC, s.Batch*s.OutH*s.OutW*s.OutC
	nIn, nOut, outC := nBig, nSmall, s.OutC
	shape := s
	if transposed {
		nIn, nOut, outC = nSmall, nBig, s.InC
		shape.InH, shape.InW, shape.InC, shape.OutH, shape.OutW, shape.OutC = s.OutH, s.OutW, s.OutC, s.InH, s.InW, s.InC
	}
	x, w, bias, dy := kerneltest.Random(r, nIn), kerneltest.Random(r, s.Kernel*s.Kernel*s.InC*s.OutC),
		kerneltest.Random(r, outC), kerneltest.Random(r, nOut)
	for i := range w {
		w[i] *= 0.2
	}
	plan, planTransposed := New, NewTranspose
	if mixed {
		plan, planTransposed = NewMixed, NewMixedTranspose
		kerneltest.Representable(x, w, dy)
	}

	run := func() [][]float32 {
		y, dx, dw, db := kerneltest.Stale(nOut), kerneltest.Stale(nIn), kerneltest.Stale(len(w)), kerneltest.Stale(outC)
		var p interface {
			Forward(x, w, bias, y []float32)
			Backward(x, w, y, dy, dx, dw, db []float32)
		}
		var err error
		if transposed {
			p, err = planTransposed(shape, a)
		} else {
			p, err = plan(shape, a)
		}
		must.OK(t, err)
		p.Forward(x, w, bias, y)
		p.Backward(x, w, y, dy, dx, dw, db)
		p.Forward(x, w, bias, y)
		p.Backward(x, w, y, dy, dx, dw, db)
		only := kerneltest.Stale(nIn)
		p.Backward(x, w, y, dy, only, nil, nil)
		kerneltest.SameBits(t, [][][]float32{{dx}, {only}})
		p.Backward(x, w, y, dy, nil, dw, nil)
		p.Backward(x, w, y, dy, nil, nil, db)
		return [][]float32{y, dx, dw, db}
	}
	all := kerneltest.Threads(run)
	kerneltest.SameBits(t, all)

	key := fmt.Sprint(s, transposed, a, mixed)
	want, ok := definitions[key]
	if !ok {
		want = define(s, transposed, a, x, w, bias, dy)
		definitions[key] = want
	}
	patch := s.Kernel * s.Kernel * max(s.InC, s.OutC)
	kerneltest.Near(t, "y", all[0][0], want.y, patch)
	kerneltest.Near(t, "dx", all[0][1], want.dx, patch)
	kerneltest.Near(t, "dw", all[0][2], want.dw, nSmall)
	kerneltest.Near(t, "db", all[0][3], want.db, nOut)
	return all[0]
}

// definition holds a layer's results by definition.
type definition struct{ y, dx, dw, db []float64 }

// definitions caches the results of convolutions. All instruction sets share them.
var definitions = map[string]definition{}

// define computes a convolution and its gradients with plain loops.
func define(s kernel.ConvShape, transposed bool, a kernel.Activation, x, w, bias, dy []float32) definition {
	d := definition{make([]float64, len(dy)), make([]float64, len(x)), make([]float64, len(w)), make([]float64, len(bias))}
	xs, ws := kerneltest.Wide(x), kerneltest.Wide(w)
	eachProduct(s, func(big, k, small int) {
		filter := ws[k : k+s.OutC]
		if transposed {
			sum := d.y[big]
			for o, v := range xs[small : small+s.OutC] {
				sum += v * filter[o]
			}
			d.y[big] = sum
			return
		}
		out := d.y[small : small+s.OutC]
		for o, v := range filter {
			out[o] += xs[big] * v
		}
	})
	g := make([]float64, len(dy))
	for i := range g {
		y, slope := kerneltest.Value(a.String(), d.y[i]+float64(bias[i%len(bias)]))
		d.y[i], g[i] = y, slope*float64(dy[i])
		d.db[i%len(bias)] += g[i]
	}
	eachProduct(s, func(big, k, small int) {
		filter, dFilter := ws[k:k+s.OutC], d.dw[k:k+s.OutC]
		if transposed {
			in, dIn := xs[small:small+s.OutC], d.dx[small:small+s.OutC]
			for o, v := range filter {
				dIn[o] += g[big] * v
				dFilter[o] += g[big] * in[o]
			}
			return
		}
		sum := d.dx[big]
		for o, v := range g[small : small+s.OutC] {
			sum += v * filter[o]
			dFilter[o] += v * xs[big]
		}
		d.dx[big] = sum
	})
	return d
}

func TestPlansRefuse(t *testing.T) {
	if _, err := New(kernel.ConvShape{Batch: 1, InH: 4, InW: 4, OutH: 2, OutW: 2, OutC: 3, Kernel: 4, Stride: 2, PadH: 1,
		PadW: 1}, kernel.LinearActivation); err == nil {
		t.Error("a convolution without input channels was accepted")
	}
	if _, err := NewTranspose(kernel.ConvShape{Batch: 1, InH: 4, InW: 4, InC: 1, OutH: 2, OutW: 2, OutC: 3, Kernel: 2,
		Stride: 2, PadH: 2, PadW: 2}, kernel.LinearActivation); err == nil {
		t.Error("a padding as large as the kernel was accepted")
	}
}

// Sizes alone choose the product that spreads small images to big images. Fast products need kernel 4, stride 2,
// big sides of twice the small sides and channels that fill the panels.
func TestProducts(t *testing.T) {
	halved := func(inH, inW, inC, outC, size, padH, padW int) kernel.ConvShape {
		return kernel.ConvShape{Batch: 1, InH: inH, InW: inW, InC: inC, OutH: inH / 2, OutW: inW / 2, OutC: outC,
			Kernel: size, Stride: 2, PadH: padH, PadW: padW}
	}
	for _, c := range []struct {
		shape kernel.ConvShape
		want  string
	}{
		{halved(16, 16, 32, 64, 4, 1, 1), "4x4"}, {halved(16, 24, 16, 16, 4, 1, 1), "4x4"},
		{halved(16, 16, 48, 16, 4, 3, 1), "4x4"}, {halved(16, 16, 16, 320, 4, 1, 3), "4x4"},
		{halved(8, 16, 32, 64, 4, 1, 1), "2x2"}, {halved(12, 16, 32, 64, 4, 1, 1), "2x2"},
		{halved(16, 12, 32, 64, 4, 1, 1), "2x2"}, {halved(16, 16, 16, 336, 4, 1, 1), "2x2"},
		{halved(8, 8, 24, 64, 4, 1, 1), "scatter"}, {halved(8, 8, 32, 24, 4, 1, 1), "scatter"},
		{halved(10, 8, 32, 64, 4, 1, 1), "scatter"}, {halved(8, 10, 32, 64, 4, 1, 1), "scatter"},
		{halved(9, 8, 32, 64, 4, 1, 1), "scatter"}, {halved(8, 9, 32, 64, 4, 1, 1), "scatter"},
		{halved(8, 8, 32, 64, 4, 2, 1), "scatter"}, {halved(8, 8, 32, 64, 4, 1, 2), "scatter"},
		{halved(8, 8, 32, 64, 5, 1, 1), "scatter"}, {halved(8, 8, 5, 16, 4, 1, 1), "scatter"},
		{halved(8, 8, 2, 16, 4, 1, 1), "winogradNarrow"}, {halved(8, 8, 4, 16, 4, 1, 1), "winogradNarrow"},
		{halved(6, 10, 3, 32, 4, 1, 1), "winogradNarrow"}, {halved(8, 8, 4, 24, 4, 1, 1), "narrow"},
		{halved(8, 8, 3, 16, 4, 2, 1), "narrow"}, {halved(8, 8, 3, 16, 4, 1, 2), "narrow"},
		{halved(9, 8, 3, 16, 4, 1, 1), "narrow"}, {halved(8, 9, 3, 16, 4, 1, 1), "narrow"},
		{halved(8, 8, 3, 16, 5, 1, 1), "narrow"},
		{halved(8, 8, 1, 16, 4, 1, 1), "narrowTaps"}, {halved(6, 10, 1, 7, 4, 1, 1), "narrowTaps"},
		{halved(8, 8, 1, 16, 4, 2, 1), "narrow"}, {halved(8, 8, 1, 16, 4, 1, 2), "narrow"},
		{halved(9, 8, 1, 16, 4, 1, 1), "narrow"}, {halved(8, 9, 1, 16, 4, 1, 1), "narrow"},
		{halved(8, 8, 1, 16, 5, 1, 1), "narrow"},
		{sameShape(1, 8, 8, 64, 64, 4, 1), "scatter"}, {sameShape(1, 8, 8, 3, 16, 4, 1), "narrow"},
	} {
		g := newGeometry(c.shape, false)
		_, spreading, _ := newProducts(g)
		got := strings.TrimPrefix(fmt.Sprintf("%T", spreading), "*conv.")
		if got == "winogradSpread" {
			side := phaseTilesOf(g).side
			got = fmt.Sprintf("%dx%d", side, side)
		}
		must.Equal(t, got, c.want, c.shape)
	}
}

// A group of several chunks, as in a large batch, adds their weight gradients.
func TestChunks(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		for _, s := range convCases {
			if winograd3Fits(s) || s.Batch == 1 {
				continue
			}
			r := rand.New(rand.NewPCG(1, 2))
			x, w := kerneltest.Random(r, s.Batch*s.InH*s.InW*s.InC), kerneltest.Random(r, s.Kernel*s.Kernel*s.InC*s.OutC)
			dy := kerneltest.Random(r, s.Batch*s.OutH*s.OutW*s.OutC)
			gradient := func(change func(g *geometry)) []float32 {
				p := must.Get(New(s, kernel.LinearActivation))(t)
				change(p.c.geometry)
				p.c.plan(p.c.geometry, kernel.LinearActivation, false)
				y, dw := make([]float32, len(dy)), kerneltest.Stale(len(w))
				p.Forward(x, w, make([]float32, s.OutC), y)
				p.Backward(x, w, y, dy, nil, dw, nil)
				return dw
			}
			want := gradient(func(*geometry) {})
			for shares := 1; shares <= 4; shares *= 2 {
				got := gradient(func(g *geometry) { g.chunk, g.groups, g.groupSize, g.shares = 1, 1, g.batch, shares })
				kerneltest.Near(t, fmt.Sprintf("%+v, %d shares", s, shares), got, kerneltest.Wide(want), len(dy))
			}
		}
	})
}

// Items of the weight gradient follow from sizes alone: up to 5 Mi numbers or 8 groups, and shares of 64 Ki weights or
// more until there are 16 items.
func TestDivide(t *testing.T) {
	for _, c := range []struct{ batch, chunk, weights, groupSize, groups, shares int }{
		{64, 1, 1 << 16, 1, 64, 1},
		{64, 1, 1 << 17, 2, 32, 1},
		{8, 1, 1 << 16, 1, 8, 1},
		{8, 1, 1 << 17, 1, 8, 2},
		{8, 1, 1 << 20, 1, 8, 2},
		{4, 1, 1 << 17, 1, 4, 2},
		{4, 1, 1 << 18, 1, 4, 4},
		{2, 1, 1 << 20, 1, 2, 4},
		{100, 3, 1 << 20, 15, 7, 4},
	} {
		g := &geometry{batch: c.batch, chunk: c.chunk, kernelH: 1, kernelW: 1, bigC: c.weights / 16, smallC: 16}
		if g.planShares(); g.groupSize != c.groupSize || g.groups != c.groups || g.shares != c.shares {
			t.Errorf("%+v: groups of %d, %d groups, %d shares", c, g.groupSize, g.groups, g.shares)
		}
	}
}
