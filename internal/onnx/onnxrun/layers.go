package onnxrun

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/conv"
	"github.com/unravel-ml/unravel/internal/kernel/dense"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// window is the geometry of a convolution or pooling.
type window struct {
	kernel, strides, dilations [2]int // for height and width; a kernel of 0 comes from the weights
	pads                       [4]int // before height and width, then after them
	auto                       string
	ceil                       bool
}

// mostPixels is the maximum kernel size, stride, dilation and padding.
const mostPixels = 1 << 12

// windowOf reads the geometry from the attributes of a node.
func windowOf(a *attributes) (w window) {
	list := func(name string, to []int, least int) {
		got := attribute(a, name, []int(nil))
		if !a.has(name) {
			return
		}
		if len(got) != len(to) {
			panic(failed("its attribute %q is %v; want %d integers, for images", name, got, len(to)))
		}
		for _, n := range got {
			if n < least || n > mostPixels {
				panic(failed("its attribute %q is %v; want integers from %d to %d", name, got, least, mostPixels))
			}
		}
		copy(to, got)
	}
	w.strides, w.dilations = [2]int{1, 1}, [2]int{1, 1}
	list("kernel_shape", w.kernel[:], 1)
	list("strides", w.strides[:], 1)
	list("dilations", w.dilations[:], 1)
	list("pads", w.pads[:], 0)
	w.auto = a.word("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
	return w
}

// over returns the geometry for images of a given size, with its padding, and the size of the result.
func (w window) over(h, wide int) (window, [2]int) {
	var out [2]int
	for k, n := range []int{h, wide} {
		reach := (w.kernel[k]-1)*w.dilations[k] + 1
		if w.auto == "VALID" {
			w.pads[k], w.pads[2+k] = 0, 0
		}
		if w.auto == "SAME_UPPER" || w.auto == "SAME_LOWER" {
			out[k] = (n + w.strides[k] - 1) / w.strides[k]
			all := max(0, (out[k]-1)*w.strides[k]+reach-n)
			w.pads[k] = all / 2
			if w.auto == "SAME_LOWER" {
				w.pads[k] = all - all/2
			}
			w.pads[2+k] = all - w.pads[k]
			continue
		}
		room := n + w.pads[k] + w.pads[2+k] - reach
		if n < 1 || room < 0 {
			panic(failed("windows of %d by %d pixels do not fit into images of %d by %d", w.kernel[0], w.kernel[1], h, wide))
		}
		out[k] = room/w.strides[k] + 1
		if w.ceil && room%w.strides[k] != 0 && out[k]*w.strides[k] < n+w.pads[k] { // the window starts in the image or in the padding before it
			out[k]++
		}
	}
	return w, out
}

// convolution is a convolution. It uses package kernel for the geometries that the package supports.
func convolution(a *attributes) compute {
	w, groups := windowOf(a), attribute(a, "group", 1)
	var weights cached
	plans := map[kernel.ConvShape]*conv.Conv{}
	return func(in []*value) *value {
		bias := checkConv(in, groups, 1, 0)
		x, filters := in[0].channelsLast(), in[1]
		geometry := w
		geometry.kernel = [2]int{filters.shape[2], filters.shape[3]}
		if w.kernel != [2]int{} && w.kernel != geometry.kernel {
			panic(failed("kernel_shape %v does not suit weights of shape %v", w.kernel, filters.shape))
		}
		n, c, h, wide := x.shape[0], x.shape[1], x.shape[2], x.shape[3]
		geometry, out := geometry.over(h, wide)
		y := newFloats([]int{n, filters.shape[0], out[0], out[1]})
		if y.len() == 0 {
			return y
		}
		y.last = true
		f := weights.of(filters, func() []float32 { return permuted(filters.plain(), []int{2, 3, 1, 0}).floats }) // [kh, kw, in, out]
		if k := geometry.kernel[0]; geometry.square() && groups == 1 && max(geometry.pads[0], geometry.pads[1]) < k {
			shape := kernel.ConvShape{Batch: n, InH: h, InW: wide, InC: c, OutH: out[0], OutW: out[1], OutC: filters.shape[0],
				Kernel: k, Stride: geometry.strides[0], PadH: geometry.pads[0], PadW: geometry.pads[1]}
			if plans[shape] == nil {
				plans[shape] = must(conv.New(shape, kernel.LinearActivation))
			}
			plans[shape].Forward(x.floats, f, bias, y.floats)
			return y
		}
		geometry.convolve(y, x, f, bias, groups)
		return y
	}
}

// checkConv checks the inputs of a convolution and returns its bias. In the weights, axisIn has the channels of x and
// axisOut has the channels of the result.
func checkConv(in []*value, groups, axisIn, axisOut int) []float32 {
	asImages(in[0], "its input")
	asImages(in[1], "its weights")
	channels, shape := in[0].shape[1], in[1].shape
	if groups < 1 || slices.Contains(shape, 0) || groups > shape[0] || shape[0]%groups != 0 {
		panic(failed("weights of shape %v do not suit %d groups", shape, groups))
	}
	want := shape[axisIn]
	if axisIn == 1 {
		want *= groups
	}
	if channels != want {
		panic(failed("its input %v has %d channels; want %d, for weights of shape %v", in[0].shape, channels, want, shape))
	}
	b := given(in, 2)
	if b == nil {
		return make([]float32, shape[axisOut])
	}
	if len(b.floats) != shape[axisOut] {
		panic(failed("its bias has shape %v; want [%d]", b.shape, shape[axisOut]))
	}
	return b.floats
}

// square reports whether height and width have the same geometry, without dilation.
func (w *window) square() bool {
	return w.kernel[0] == w.kernel[1] && w.strides[0] == w.strides[1] && w.dilations == [2]int{1, 1}
}

// taps calls f for each image pixel in the window of pixel y, x of the result.
func (w *window) taps(y, x, height, width int, f func(ky, kx, row, column int)) {
	for ky := range w.kernel[0] {
		row := y*w.strides[0] - w.pads[0] + ky*w.dilations[0]
		if row < 0 || row >= height {
			continue
		}
		for kx := range w.kernel[1] {
			if column := x*w.strides[1] - w.pads[1] + kx*w.dilations[1]; column >= 0 && column < width {
				f(ky, kx, row, column)
			}
		}
	}
}

// convolve computes a convolution with any geometry. The weights are [kh, kw, in/groups, out].
func (w *window) convolve(y, x *value, weights, bias []float32, groups int) {
	c, h, wide := x.shape[1], x.shape[2], x.shape[3]
	channels, height, width := y.shape[1], y.shape[2], y.shape[3]
	from, to := c/groups, channels/groups
	parallel.For(y.shape[0]*height, func(_, i int) {
		image, row := x.floats[i/height*h*wide*c:], i%height
		for column := range width {
			out := y.floats[(i*width+column)*channels:][:channels]
			copy(out, bias)
			w.taps(row, column, h, wide, func(ky, kx, r, s int) {
				pixel := image[(r*wide+s)*c:][:c]
				f := weights[(ky*w.kernel[1]+kx)*from*channels:]
				for g := range groups {
					part := out[g*to : (g+1)*to]
					for k, v := range pixel[g*from : (g+1)*from] {
						kernel.AddScaled(part, v, f[k*channels+g*to:][:to])
					}
				}
			})
		}
	})
}

// convTranspose is a transposed convolution with package kernel.
func convTranspose(a *attributes) compute {
	w := windowOf(a)
	a.only("group", 1)
	more := attribute(a, "output_padding", []int{0, 0})
	if len(more) != 2 || min(more[0], more[1]) < 0 || max(more[0], more[1]) > mostPixels {
		panic(failed("its attribute \"output_padding\" is %v; want two integers of at least 0", more))
	}
	if w.auto != "NOTSET" && w.auto != "VALID" {
		panic(failed("auto_pad %s of a transposed convolution is not computed here", w.auto))
	}
	var weights cached
	plans := map[kernel.ConvShape]*conv.Conv{}
	return func(in []*value) *value {
		bias := checkConv(in, 1, 0, 1)
		x, filters := in[0].channelsLast(), in[1]
		n, c, h, wide := x.shape[0], x.shape[1], x.shape[2], x.shape[3]
		geometry := w
		geometry.kernel = [2]int{filters.shape[2], filters.shape[3]}
		if k := geometry.kernel[0]; !geometry.square() || w.kernel != [2]int{} && w.kernel != geometry.kernel || max(w.pads[0], w.pads[1]) >= k || min(h, wide, n) < 1 {
			panic(failed("weights of shape %v with strides %v, dilations %v and pads %v on images %v: "+
				"transposed convolutions are computed only for square kernels larger than their pads, with one stride and no dilation", filters.shape, w.strides, w.dilations, w.pads, x.shape))
		}
		var out [2]int
		for k, size := range []int{h, wide} {
			out[k] = (size-1)*w.strides[k] + geometry.kernel[k] - w.pads[k] - w.pads[2+k] + more[k]
			if out[k] < 1 || out[k] > mostElements {
				panic(failed("the result would have %d pixels along a side", out[k]))
			}
		}
		y := newFloats([]int{n, filters.shape[1], out[0], out[1]})
		y.last = true
		shape := kernel.ConvShape{Batch: n, InH: h, InW: wide, InC: c, OutH: out[0], OutW: out[1], OutC: filters.shape[1],
			Kernel: geometry.kernel[0], Stride: w.strides[0], PadH: w.pads[0], PadW: w.pads[1]}
		if plans[shape] == nil {
			plans[shape] = must(conv.NewTranspose(shape, kernel.LinearActivation))
		}
		f := weights.of(filters, func() []float32 { return permuted(filters.plain(), []int{2, 3, 1, 0}).floats }) // [kh, kw, out, in]
		plans[shape].Forward(x.floats, f, bias, y.floats)
		return y
	}
}

// cached caches weights in kernel order while a node gets the same weights.
type cached struct {
	from   *value
	floats []float32
}

func (c *cached) of(from *value, compute func() []float32) []float32 {
	if c.from != from {
		c.from, c.floats = from, compute()
	}
	return c.floats
}

// products multiplies matrices with package dense. It caches a layer per size.
type products map[[3]int]*dense.Layer

// of returns x w + bias for x [rows, in] and w [in, out]. It also handles empty matrices.
func (p products) of(x, w, bias, y []float32, rows, in, out int) {
	if rows == 0 || out == 0 {
		return
	}
	if bias == nil {
		bias = make([]float32, out)
	}
	if in == 0 {
		for r := range rows {
			copy(y[r*out:], bias)
		}
		return
	}
	key := [3]int{rows, in, out}
	if p[key] == nil {
		p[key] = must(dense.New(rows, in, out, kernel.LinearActivation))
	}
	p[key].Forward(x, w, bias, y)
}

// gemm is alpha A B + beta C, with optional transposition of A and B.
func gemm(a *attributes) compute {
	alpha, beta := attribute(a, "alpha", float32(1)), attribute(a, "beta", float32(1))
	turnA, turnB := a.flag("transA", 0), a.flag("transB", 0)
	var weights cached
	plans := products{}
	return func(in []*value) *value {
		asFloats(in...)
		if len(in[0].shape) != 2 || len(in[1].shape) != 2 {
			panic(failed("its inputs have shapes %v and %v; want matrices", in[0].shape, in[1].shape))
		}
		x, w := in[0], in[1]
		if turnA {
			x = permuted(x, []int{1, 0})
		}
		inner, columns := w.shape[0], w.shape[1]
		if turnB {
			inner, columns = columns, inner
		}
		if x.shape[1] != inner {
			panic(failed("its input has %d columns; want %d, for weights of shape %v", x.shape[1], inner, w.shape))
		}
		y := newFloats([]int{x.shape[0], columns})
		f := w.floats
		if turnB {
			f = weights.of(w, func() []float32 { return permuted(w, []int{1, 0}).floats })
		}
		bias := given(in, 2)
		if bias != nil && alpha == 1 && beta == 1 && len(bias.shape) > 0 && len(bias.floats) == columns && bias.shape[len(bias.shape)-1] == columns {
			plans.of(x.floats, f, bias.floats, y.floats, x.shape[0], inner, columns)
			return y
		}
		plans.of(x.floats, f, nil, y.floats, x.shape[0], inner, columns)
		return scaledSum(y, alpha, bias, beta)
	}
}

// scaledSum returns alpha y + beta c, where c is broadcast to the shape of y; nil is 0. It modifies y.
func scaledSum(y *value, alpha float32, c *value, beta float32) *value {
	for i := range y.floats {
		y.floats[i] *= alpha
	}
	if c == nil {
		return y
	}
	if shape, ok := broadcast(y.shape, c.shape); !ok || !slices.Equal(shape, y.shape) {
		panic(failed("its input C has shape %v; want a shape that broadcasts to %v", c.shape, y.shape))
	}
	return apply(y, c, func(a, b float32) float32 { return a + beta*b }, nil)
}

// matMul is the matrix product over the last two axes. Earlier axes are broadcast.
func matMul(*attributes) compute {
	plans := products{}
	return func(in []*value) *value {
		asFloats(in...)
		x, w := in[0].plain(), in[1].plain()
		if len(x.shape) == 0 || len(w.shape) == 0 {
			panic(failed("an input is a single number; want matrices"))
		}
		vectorX, vectorW := len(x.shape) == 1, len(w.shape) == 1
		if vectorX {
			x = x.reshaped([]int{1, x.shape[0]})
		}
		if vectorW {
			w = w.reshaped([]int{w.shape[0], 1})
		}
		rx, rw := len(x.shape)-2, len(w.shape)-2
		rows, inner, columns := x.shape[rx], x.shape[rx+1], w.shape[rw+1]
		if w.shape[rw] != inner {
			panic(failed("shapes %v and %v do not fit together", in[0].shape, in[1].shape))
		}
		stack := broadcastShape(x.shape[:rx], w.shape[:rw])
		y := newFloats(slices.Concat(stack, []int{rows, columns}))
		if product(w.shape[:rw]) == 1 { // a single matrix for all rows
			plans.of(x.floats, w.floats, nil, y.floats, product(x.shape[:rx])*rows, inner, columns)
		} else {
			plans.stacked(x, w, y, stack)
		}
		shape := stack
		if !vectorX {
			shape = append(shape, rows)
		}
		if !vectorW {
			shape = append(shape, columns)
		}
		return y.reshaped(shape)
	}
}

// stacked multiplies the matrices in the last two axes of x and w, whose other axes are broadcast to stack.
func (p products) stacked(x, w, y *value, stack []int) {
	rx, rw := len(x.shape)-2, len(w.shape)-2
	rows, inner, columns := x.shape[rx], x.shape[rx+1], w.shape[rw+1]
	sx, sw := strides(x.shape[:rx], stack), strides(w.shape[:rw], stack)
	for i := range product(stack) {
		fromX, fromW, rest := 0, 0, i
		for k := len(stack) - 1; k >= 0; k-- {
			at := rest % stack[k]
			fromX, fromW, rest = fromX+at*sx[k], fromW+at*sw[k], rest/stack[k]
		}
		a, b := x.floats[fromX*rows*inner:][:rows*inner], w.floats[fromW*inner*columns:][:inner*columns]
		p.of(a, b, nil, y.floats[i*rows*columns:][:rows*columns], rows, inner, columns)
	}
}

// batchNorm is (x - mean) / sqrt(variance + epsilon) scale + offset, for each channel.
func batchNorm(a *attributes) compute {
	epsilon := attribute(a, "epsilon", float32(1e-5))
	attribute(a, "momentum", float32(0.9))
	if a.only("training_mode", 0); a.opset < 14 {
		a.asked = append(a.asked, "spatial")
	}
	return func(in []*value) *value {
		asFloats(in...)
		x := in[0]
		if len(x.shape) < 2 {
			panic(failed("its input has shape %v; want at least two axes", x.shape))
		}
		c := x.shape[1]
		scale, offset := make([]float32, c), make([]float32, c)
		for i, v := range in[1:] {
			if len(v.floats) != c {
				panic(failed("its input %d has shape %v; want [%d], for channels of shape %v", i+1, v.shape, c, x.shape))
			}
		}
		for i := range c {
			s := float64(in[1].floats[i]) / math.Sqrt(float64(in[4].floats[i])+float64(epsilon))
			scale[i], offset[i] = float32(s), float32(float64(in[2].floats[i])-float64(in[3].floats[i])*s)
		}
		return scaledChannels(x, scale, offset)
	}
}

// scaledChannels returns x scale + offset, for each channel.
func scaledChannels(x *value, scale, offset []float32) *value {
	y, c := x.like(), x.shape[1]
	if x.last || len(x.shape) == 2 {
		pixels := x.len() / max(c, 1)
		const block = 256
		parallel.For((pixels+block-1)/block, func(_, b int) {
			for p := b * block; p < min(pixels, (b+1)*block); p++ {
				from, to := x.floats[p*c:(p+1)*c], y.floats[p*c:(p+1)*c]
				for i, v := range from {
					to[i] = v*scale[i] + offset[i]
				}
			}
		})
		return y
	}
	plane := product(x.shape[2:])
	parallel.For(x.shape[0]*c, func(_, i int) {
		from, to := x.floats[i*plane:(i+1)*plane], y.floats[i*plane:(i+1)*plane]
		s, o := scale[i%c], offset[i%c]
		for j, v := range from {
			to[j] = v*s + o
		}
	})
	return y
}

// maxPool is the maximum of each window, for each channel.
func maxPool(a *attributes) compute {
	a.only("storage_order", 0)
	return pooling(a, func(w *window, out, image []float32, y, x, h, wide int) {
		c := len(out)
		for i := range out {
			out[i] = float32(math.Inf(-1))
		}
		w.taps(y, x, h, wide, func(_, _, row, column int) { kernel.Largest(out, image[(row*wide+column)*c:][:c]) })
	})
}

// averagePool is the mean of each window, for each channel.
func averagePool(a *attributes) compute {
	padding := a.flag("count_include_pad", 0)
	return pooling(a, func(w *window, out, image []float32, y, x, h, wide int) {
		c, n := len(out), 0
		clear(out)
		w.taps(y, x, h, wide, func(_, _, row, column int) {
			kernel.Add(out, image[(row*wide+column)*c:][:c])
			n++
		})
		if padding { // zero padding counts, but pixels beyond the padding do not
			n = w.within(0, y, h) * w.within(1, x, wide)
		}
		for i := range out {
			out[i] /= float32(n)
		}
	})
}

// within counts the rows (k = 0) or columns (k = 1) of a window inside the padded image.
func (w *window) within(k, at, size int) (n int) {
	for i := range w.kernel[k] {
		if at*w.strides[k]+i*w.dilations[k] < size+w.pads[k]+w.pads[2+k] {
			n++
		}
	}
	return n
}

// pooling computes each pixel of the result as a function of its window.
func pooling(a *attributes, pixel func(w *window, out, image []float32, y, x, h, wide int)) compute {
	w := windowOf(a)
	w.ceil = a.flag("ceil_mode", 0)
	if w.kernel == [2]int{} {
		panic(failed("it has no attribute \"kernel_shape\""))
	}
	return func(in []*value) *value {
		asImages(in[0], "its input")
		x := in[0].channelsLast()
		c, h, wide := x.shape[1], x.shape[2], x.shape[3]
		geometry, out := w.over(h, wide)
		y := newFloats([]int{x.shape[0], c, out[0], out[1]})
		y.last = true
		parallel.For(y.shape[0]*out[0], func(_, i int) {
			for column := range out[1] {
				pixel(&geometry, y.floats[(i*out[1]+column)*c:][:c], x.floats[i/out[0]*h*wide*c:], i%out[0], column, h, wide)
			}
		})
		return y
	}
}
