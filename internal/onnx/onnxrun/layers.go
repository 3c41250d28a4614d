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

// maxPixels is the maximum kernel size, stride, dilation and padding.
const maxPixels = 1 << 12

// windowOf reads the geometry from the attributes of a node.
func windowOf(a *attributes) (w window) {
	read := func(name string, dst []int, minimum int) {
		values := attribute(a, name, []int(nil))
		if !a.has(name) {
			return
		}
		if len(values) != len(dst) {
			panic(failf("its attribute %q is %v; want %d integers, for images", name, values, len(dst)))
		}
		for _, n := range values {
			if n < minimum || n > maxPixels {
				panic(failf("its attribute %q is %v; want integers from %d to %d", name, values, minimum, maxPixels))
			}
		}
		copy(dst, values)
	}
	w.strides, w.dilations = [2]int{1, 1}, [2]int{1, 1}
	read("kernel_shape", w.kernel[:], 1)
	read("strides", w.strides[:], 1)
	read("dilations", w.dilations[:], 1)
	read("pads", w.pads[:], 0)
	w.auto = a.choice("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
	return w
}

// forImages returns the geometry for images of a given size, with its padding, and the size of the result.
func (w window) forImages(height, width int) (window, [2]int) {
	var out [2]int
	for k, n := range []int{height, width} {
		extent := (w.kernel[k]-1)*w.dilations[k] + 1
		if w.auto == "VALID" {
			w.pads[k], w.pads[2+k] = 0, 0
		}
		if w.auto == "SAME_UPPER" || w.auto == "SAME_LOWER" {
			out[k] = (n + w.strides[k] - 1) / w.strides[k]
			total := max(0, (out[k]-1)*w.strides[k]+extent-n)
			w.pads[k] = total / 2
			if w.auto == "SAME_LOWER" {
				w.pads[k] = total - total/2
			}
			w.pads[2+k] = total - w.pads[k]
			continue
		}
		space := n + w.pads[k] + w.pads[2+k] - extent
		if n < 1 || space < 0 {
			panic(failf("windows of %d by %d pixels do not fit into images of %d by %d",
				w.kernel[0], w.kernel[1], height, width))
		}
		out[k] = space/w.strides[k] + 1
		// A further window must start in the image or in the padding before it.
		if w.ceil && space%w.strides[k] != 0 && out[k]*w.strides[k] < n+w.pads[k] {
			out[k]++
		}
	}
	return w, out
}

// convolution is a convolution. It uses package kernel for the geometries that the package supports.
func convolution(a *attributes) compute {
	w, groups := windowOf(a), attribute(a, "group", 1)
	var weights weightCache
	plans := map[kernel.ConvShape]*conv.Conv{}
	return func(in []*value) *value {
		bias := checkConv(in, groups, 1, 0)
		x, filters := in[0].channelsLast(), in[1]
		geometry := w
		geometry.kernel = [2]int{filters.shape[2], filters.shape[3]}
		if w.kernel != [2]int{} && w.kernel != geometry.kernel {
			panic(failf("kernel_shape %v does not suit weights of shape %v", w.kernel, filters.shape))
		}
		n, c, height, width := x.shape[0], x.shape[1], x.shape[2], x.shape[3]
		geometry, out := geometry.forImages(height, width)
		y := newFloats([]int{n, filters.shape[0], out[0], out[1]})
		if y.len() == 0 {
			return y
		}
		y.nhwc = true
		f := weights.convert(filters, kernelWeights)
		if k := geometry.kernel[0]; geometry.isSquare() && groups == 1 && max(geometry.pads[0], geometry.pads[1]) < k {
			shape := kernel.ConvShape{Batch: n, InH: height, InW: width, InC: c,
				OutH: out[0], OutW: out[1], OutC: filters.shape[0], Kernel: k, Stride: geometry.strides[0], PadH: geometry.pads[0],
				PadW: geometry.pads[1]}
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
	checkImages(in[0], "its input")
	checkImages(in[1], "its weights")
	channels, shape := in[0].shape[1], in[1].shape
	if groups < 1 || slices.Contains(shape, 0) || groups > shape[0] || shape[0]%groups != 0 {
		panic(failf("weights of shape %v do not suit %d groups", shape, groups))
	}
	want := shape[axisIn]
	if axisIn == 1 {
		want *= groups
	}
	if channels != want {
		panic(failf("its input %v has %d channels; want %d, for weights of shape %v", in[0].shape, channels, want, shape))
	}
	b := optionalInput(in, 2)
	if b == nil {
		return make([]float32, shape[axisOut])
	}
	if len(b.floats) != shape[axisOut] {
		panic(failf("its bias has shape %v; want [%d]", b.shape, shape[axisOut]))
	}
	return b.floats
}

// isSquare reports whether height and width have the same geometry, without dilation.
func (w *window) isSquare() bool {
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
	c, inHeight, inWidth := x.shape[1], x.shape[2], x.shape[3]
	channels, height, width := y.shape[1], y.shape[2], y.shape[3]
	inChannels, outChannels := c/groups, channels/groups
	parallel.For(y.shape[0]*height, func(_, i int) {
		image, row := x.floats[i/height*inHeight*inWidth*c:], i%height
		for column := range width {
			out := y.floats[(i*width+column)*channels:][:channels]
			copy(out, bias)
			w.taps(row, column, inHeight, inWidth, func(ky, kx, r, s int) {
				pixel := image[(r*inWidth+s)*c:][:c]
				f := weights[(ky*w.kernel[1]+kx)*inChannels*channels:]
				for g := range groups {
					group := out[g*outChannels : (g+1)*outChannels]
					for k, v := range pixel[g*inChannels : (g+1)*inChannels] {
						kernel.AddScaled(group, v, f[k*channels+g*outChannels:][:outChannels])
					}
				}
			})
		}
	})
}

// convTranspose is a transposed convolution with package kernel.
func convTranspose(a *attributes) compute {
	w := windowOf(a)
	a.require("group", 1)
	outputPadding := attribute(a, "output_padding", []int{0, 0})
	if len(outputPadding) != 2 || min(outputPadding[0], outputPadding[1]) < 0 ||
		max(outputPadding[0], outputPadding[1]) > maxPixels {
		panic(failf("its attribute \"output_padding\" is %v; want two integers of at least 0", outputPadding))
	}
	if w.auto != "NOTSET" && w.auto != "VALID" {
		panic(failf("auto_pad %s of a transposed convolution is not computed here", w.auto))
	}
	var weights weightCache
	plans := map[kernel.ConvShape]*conv.Conv{}
	return func(in []*value) *value {
		bias := checkConv(in, 1, 0, 1)
		x, filters := in[0].channelsLast(), in[1]
		n, c, height, width := x.shape[0], x.shape[1], x.shape[2], x.shape[3]
		geometry := w
		geometry.kernel = [2]int{filters.shape[2], filters.shape[3]}
		if k := geometry.kernel[0]; !geometry.isSquare() || w.kernel != [2]int{} && w.kernel != geometry.kernel ||
			max(w.pads[0], w.pads[1]) >= k || min(height, width, n) < 1 {
			panic(failf("weights of shape %v with strides %v, dilations %v and pads %v on images %v: "+
				"transposed convolutions are computed only for square kernels larger than their pads, with one stride and no dilation", filters.shape, w.strides, w.dilations, w.pads, x.shape))
		}
		var out [2]int
		for k, size := range []int{height, width} {
			out[k] = (size-1)*w.strides[k] + geometry.kernel[k] - w.pads[k] - w.pads[2+k] + outputPadding[k]
			if out[k] < 1 || out[k] > maxElements {
				panic(failf("the result would have %d pixels along a side", out[k]))
			}
		}
		y := newFloats([]int{n, filters.shape[1], out[0], out[1]})
		y.nhwc = true
		shape := kernel.ConvShape{Batch: n, InH: height, InW: width, InC: c,
			OutH: out[0], OutW: out[1], OutC: filters.shape[1], Kernel: geometry.kernel[0], Stride: w.strides[0],
			PadH: w.pads[0], PadW: w.pads[1]}
		if plans[shape] == nil {
			plans[shape] = must(conv.NewTranspose(shape, kernel.LinearActivation))
		}
		f := weights.convert(filters, kernelWeights)
		plans[shape].Forward(x.floats, f, bias, y.floats)
		return y
	}
}

// kernelWeights returns weights [out, in, kh, kw] in the order of package kernel: [kh, kw, in, out]. For a transposed
// convolution, in and out are exchanged in both orders.
func kernelWeights(filters *value) []float32 {
	return permuteAxes(filters.rowMajor(), []int{2, 3, 1, 0}).floats
}

func transposedMatrix(w *value) []float32 { return permuteAxes(w, []int{1, 0}).floats }

// weightCache caches converted weights while a node gets the same weights.
type weightCache struct {
	source *value
	floats []float32
}

func (c *weightCache) convert(source *value, conversion func(*value) []float32) []float32 {
	if c.source != source {
		c.source, c.floats = source, conversion(source)
	}
	return c.floats
}

// matrixProducts multiplies matrices with package dense. It caches a layer per size.
type matrixProducts map[[3]int]*dense.Layer

// multiply returns x w + bias for x [rows, in] and w [in, out]. It also handles empty matrices.
func (p matrixProducts) multiply(x, w, bias, y []float32, rows, in, out int) {
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
	transposeA, transposeB := a.flag("transA", 0), a.flag("transB", 0)
	var weights weightCache
	plans := matrixProducts{}
	return func(in []*value) *value {
		checkFloats(in...)
		if len(in[0].shape) != 2 || len(in[1].shape) != 2 {
			panic(failf("its inputs have shapes %v and %v; want matrices", in[0].shape, in[1].shape))
		}
		x, w := in[0], in[1]
		if transposeA {
			x = permuteAxes(x, []int{1, 0})
		}
		inner, columns := w.shape[0], w.shape[1]
		if transposeB {
			inner, columns = columns, inner
		}
		if x.shape[1] != inner {
			panic(failf("its input has %d columns; want %d, for weights of shape %v", x.shape[1], inner, w.shape))
		}
		y := newFloats([]int{x.shape[0], columns})
		f := w.floats
		if transposeB {
			f = weights.convert(w, transposedMatrix)
		}
		bias := optionalInput(in, 2)
		if bias != nil && alpha == 1 && beta == 1 && len(bias.shape) > 0 && len(bias.floats) == columns &&
			bias.shape[len(bias.shape)-1] == columns {
			plans.multiply(x.floats, f, bias.floats, y.floats, x.shape[0], inner, columns)
			return y
		}
		plans.multiply(x.floats, f, nil, y.floats, x.shape[0], inner, columns)
		return addScaled(y, alpha, bias, beta)
	}
}

// addScaled returns alpha y + beta c, where c is broadcast to the shape of y; nil is 0. It modifies y.
func addScaled(y *value, alpha float32, c *value, beta float32) *value {
	for i := range y.floats {
		y.floats[i] *= alpha
	}
	if c == nil {
		return y
	}
	if shape, ok := broadcast(y.shape, c.shape); !ok || !slices.Equal(shape, y.shape) {
		panic(failf("its input C has shape %v; want a shape that broadcasts to %v", c.shape, y.shape))
	}
	return apply(y, c, func(a, b float32) float32 { return a + beta*b }, nil)
}

// matMul is the matrix product over the last two axes. Earlier axes are broadcast.
func matMul(*attributes) compute {
	plans := matrixProducts{}
	return func(in []*value) *value {
		checkFloats(in...)
		x, w := in[0].rowMajor(), in[1].rowMajor()
		if len(x.shape) == 0 || len(w.shape) == 0 {
			panic(failf("an input is a single number; want matrices"))
		}
		vectorX, vectorW := len(x.shape) == 1, len(w.shape) == 1
		if vectorX {
			x = x.reshape([]int{1, x.shape[0]})
		}
		if vectorW {
			w = w.reshape([]int{w.shape[0], 1})
		}
		rx, rw := len(x.shape)-2, len(w.shape)-2
		rows, inner, columns := x.shape[rx], x.shape[rx+1], w.shape[rw+1]
		if w.shape[rw] != inner {
			panic(failf("shapes %v and %v do not fit together", in[0].shape, in[1].shape))
		}
		stack := broadcastShape(x.shape[:rx], w.shape[:rw])
		y := newFloats(slices.Concat(stack, []int{rows, columns}))
		if product(w.shape[:rw]) == 1 { // a single matrix for all rows
			plans.multiply(x.floats, w.floats, nil, y.floats, product(x.shape[:rx])*rows, inner, columns)
		} else {
			plans.multiplyStacked(x, w, y, stack)
		}
		shape := stack
		if !vectorX {
			shape = append(shape, rows)
		}
		if !vectorW {
			shape = append(shape, columns)
		}
		return y.reshape(shape)
	}
}

// multiplyStacked multiplies the matrices in the last two axes of x and w, whose other axes are broadcast to stack.
func (p matrixProducts) multiplyStacked(x, w, y *value, stack []int) {
	rx, rw := len(x.shape)-2, len(w.shape)-2
	rows, inner, columns := x.shape[rx], x.shape[rx+1], w.shape[rw+1]
	sx, sw := strides(x.shape[:rx], stack), strides(w.shape[:rw], stack)
	for i := range product(stack) {
		offsetX, offsetW, rest := 0, 0, i
		for k := len(stack) - 1; k >= 0; k-- {
			index := rest % stack[k]
			offsetX, offsetW, rest = offsetX+index*sx[k], offsetW+index*sw[k], rest/stack[k]
		}
		a, b := x.floats[offsetX*rows*inner:][:rows*inner], w.floats[offsetW*inner*columns:][:inner*columns]
		p.multiply(a, b, nil, y.floats[i*rows*columns:][:rows*columns], rows, inner, columns)
	}
}

// batchNorm is (x - mean) / sqrt(variance + epsilon) scale + offset, for each channel.
func batchNorm(a *attributes) compute {
	epsilon := attribute(a, "epsilon", float32(1e-5))
	attribute(a, "momentum", float32(0.9))
	if a.require("training_mode", 0); a.opset < 14 {
		a.known = append(a.known, "spatial")
	}
	return func(in []*value) *value {
		checkFloats(in...)
		x := in[0]
		if len(x.shape) < 2 {
			panic(failf("its input has shape %v; want at least two axes", x.shape))
		}
		c := x.shape[1]
		scale, offset := make([]float32, c), make([]float32, c)
		for i, v := range in[1:] {
			if len(v.floats) != c {
				panic(failf("its input %d has shape %v; want [%d], for channels of shape %v", i+1, v.shape, c, x.shape))
			}
		}
		for i := range c {
			s := float64(in[1].floats[i]) / math.Sqrt(float64(in[4].floats[i])+float64(epsilon))
			scale[i], offset[i] = float32(s), float32(float64(in[2].floats[i])-float64(in[3].floats[i])*s)
		}
		return scaleChannels(x, scale, offset)
	}
}

// scaleChannels returns x scale + offset, for each channel.
func scaleChannels(x *value, scale, offset []float32) *value {
	y, c := x.zerosLike(), x.shape[1]
	if x.nhwc || len(x.shape) == 2 {
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
	a.require("storage_order", 0)
	return pooling(a, func(w *window, out, image []float32, y, x, height, width int) {
		c := len(out)
		for i := range out {
			out[i] = float32(math.Inf(-1))
		}
		w.taps(y, x, height, width, func(_, _, row, column int) {
			kernel.Largest(out, image[(row*width+column)*c:][:c])
		})
	})
}

// averagePool is the mean of each window, for each channel.
func averagePool(a *attributes) compute {
	padding := a.flag("count_include_pad", 0)
	return pooling(a, func(w *window, out, image []float32, y, x, height, width int) {
		c, n := len(out), 0
		clear(out)
		w.taps(y, x, height, width, func(_, _, row, column int) {
			kernel.Add(out, image[(row*width+column)*c:][:c])
			n++
		})
		if padding { // zero padding counts, but pixels beyond the padding do not
			n = w.sizeInPadding(0, y, height) * w.sizeInPadding(1, x, width)
		}
		for i := range out {
			out[i] /= float32(n)
		}
	})
}

// sizeInPadding counts the rows (k = 0) or columns (k = 1) of a window inside the padded image.
func (w *window) sizeInPadding(k, position, size int) (n int) {
	for i := range w.kernel[k] {
		if position*w.strides[k]+i*w.dilations[k] < size+w.pads[k]+w.pads[2+k] {
			n++
		}
	}
	return n
}

// pooling computes each pixel of the result as a function of its window.
func pooling(a *attributes, pixel func(w *window, out, image []float32, y, x, height, width int)) compute {
	w := windowOf(a)
	w.ceil = a.flag("ceil_mode", 0)
	if w.kernel == [2]int{} {
		panic(failf("it has no attribute \"kernel_shape\""))
	}
	return func(in []*value) *value {
		checkImages(in[0], "its input")
		x := in[0].channelsLast()
		c, height, width := x.shape[1], x.shape[2], x.shape[3]
		geometry, out := w.forImages(height, width)
		y := newFloats([]int{x.shape[0], c, out[0], out[1]})
		y.nhwc = true
		parallel.For(y.shape[0]*out[0], func(_, i int) {
			for column := range out[1] {
				image := x.floats[i/out[0]*height*width*c:]
				pixel(&geometry, y.floats[(i*out[1]+column)*c:][:c], image, i%out[0], column, height, width)
			}
		})
		return y
	}
}
