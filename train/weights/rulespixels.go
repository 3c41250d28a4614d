package weights

// imageOperand returns the images that a step uses, as [N, C, H, W], and their shape [N, H, W, C].
func imageOperand(t *translator, s *step) (x string, shape []int) {
	return t.channelsFirst(t.value(s.in[0])), t.steps[s.in[0]].shape
}

// poolOperations lists the ONNX operations for each kind of pooling: over windows, over whole images, and along an
// axis.
var poolOperations = map[string]struct{ window, whole, axis string }{
	"max": {"MaxPool", "GlobalMaxPool", "ReduceMax"}, "average": {"AveragePool", "GlobalAveragePool", ""}}

func pool(t *translator, s *step) string {
	x, shape := imageOperand(t, s)
	kind, size, stride := get[string](s, "kind"), get[int](s, "size"), get[int](s, "stride")
	pads := padding(shape, s.shape, size, stride, get[bool](s, "valid"), false) // averages do not count the padding
	y := t.node(poolOperations[kind].window,
		attributes{"kernel_shape": []int{size, size}, "strides": []int{stride, stride}, "pads": pads}, x)
	return t.channelsLast(y)
}

// adaptivePool pools the whole image or equal windows if the operation is equivalent to this. Otherwise, averages are
// products with two matrices, and maxima are computed over slices.
func adaptivePool(t *translator, s *step) string {
	x, shape := imageOperand(t, s)
	kind := get[string](s, "kind")
	h, w, height, width := shape[1], shape[2], s.shape[1], s.shape[2]
	switch {
	case height == 1 && width == 1:
		x = t.node(poolOperations[kind].whole, nil, x)
	case h%height == 0 && w%width == 0:
		size := []int{h / height, w / width}
		x = t.node(poolOperations[kind].window, attributes{"kernel_shape": size, "strides": size}, x)
	case kind == "average":
		rows := t.floats(t.layer+"/rows", []int{height, h}, binMatrix(h, height))
		columns := t.floats(t.layer+"/columns", []int{width, w}, binMatrix(w, width))
		columns = t.node("Transpose", attributes{"perm": []int{1, 0}}, columns)
		x = t.node("MatMul", nil, t.node("MatMul", nil, rows, x), columns)
	default:
		x = t.maxBins(t.maxBins(x, 2, h, height), 3, w, width)
	}
	return t.channelsLast(x)
}

// binRange returns the range of pixels of bin i, out of n pixels along a side; see layer.AdaptivePool.
func binRange(i, n, bins int) (from, to int) { return i * n / bins, ((i+1)*n + bins - 1) / bins }

// binMatrix returns the rows of a matrix that averages n pixels over bins.
func binMatrix(n, bins int) (list []float32) {
	for i := range bins {
		from, to := binRange(i, n, bins)
		for p := range n {
			v := float32(0)
			if p >= from && p < to {
				v = 1 / float32(to-from)
			}
			list = append(list, v)
		}
	}
	return list
}

// maxBins returns the maxima of the bins of n pixels along an axis.
func (t *translator) maxBins(x string, axis, n, bins int) string {
	var list []string
	for i := range bins {
		from, to := binRange(i, n, bins)
		slice := t.node("Slice", nil, x, t.ints(from), t.ints(to), t.ints(axis))
		list = append(list, t.node("ReduceMax", attributes{"axes": []int{axis}, "keepdims": 1}, slice))
	}
	return t.node("Concat", attributes{"axis": axis}, list...)
}

func upsample(t *translator, s *step) string {
	x, _ := imageOperand(t, s)
	times := float32(get[int](s, "times"))
	a := attributes{"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
	if get[bool](s, "bilinear") {
		a = attributes{"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
	}
	region := t.floats(t.layer+"/region", []int{0}, nil) // only used in another mode of Resize
	scales := t.floats(t.layer+"/scales", []int{4}, []float32{1, 1, times, times})
	return t.channelsLast(t.node("Resize", a, x, region, scales))
}

func shuffle(t *translator, s *step) string {
	x, _ := imageOperand(t, s)
	return t.channelsLast(t.node("DepthToSpace", attributes{"blocksize": get[int](s, "times"), "mode": "DCR"}, x))
}

func crop(t *translator, s *step) string {
	x, _ := imageOperand(t, s)
	return t.channelsLast(t.node("Slice", nil, x, t.ints(0, 0), t.ints(s.shape[1], s.shape[2]), t.ints(2, 3)))
}

// add computes activation(x + y), with channels first if both operands are images with channels first.
func add(t *translator, s *step) string {
	in := t.operands(s)
	x, ok := t.channelsFirstOf[in[0]]
	y, both := t.channelsFirstOf[in[1]]
	if !ok || !both {
		return t.activation(s, t.node("Add", nil, in...))
	}
	return t.channelsLast(t.activation(s, t.node("Add", nil, x, y)))
}
