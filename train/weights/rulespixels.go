package weights

// imageOperand returns the images that a step takes, as [N, C, H, W], and their shape [N, H, W, C].
func imageOperand(t *translator, s *step) (x string, shape []int, err error) {
	if x, err = t.value(s.in[0]); err != nil {
		return "", nil, err
	}
	return t.channelsFirst(x), t.steps[s.in[0]].shape, nil
}

// integers returns attributes of a step.
func integers(s *step, names ...string) (list []int, err error) {
	for _, name := range names {
		v, err := get[int](s, name)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// pools are the operations of ONNX for kinds of pooling: of windows, of whole images, and along an axis.
var pools = map[string]struct{ window, whole, axis string }{
	"max": {"MaxPool", "GlobalMaxPool", "ReduceMax"}, "average": {"AveragePool", "GlobalAveragePool", ""}}

func pool(t *translator, s *step) (string, error) {
	x, shape, err := imageOperand(t, s)
	if err != nil {
		return "", err
	}
	kind, err := get[string](s, "kind")
	if err != nil {
		return "", err
	}
	numbers, err := integers(s, "size", "stride")
	if err != nil {
		return "", err
	}
	size, stride := numbers[0], numbers[1]
	valid, err := get[bool](s, "valid")
	if err != nil {
		return "", err
	}
	pads := make([]int, 4) // before height and width, then after; padding does not count in averages
	for i := range 2 {
		if !valid {
			outside := max((s.shape[1+i]-1)*stride+size-shape[1+i], 0)
			pads[i], pads[2+i] = outside/2, outside-outside/2
		}
	}
	y := t.node(pools[kind].window, attributes{"kernel_shape": []int{size, size}, "strides": []int{stride, stride}, "pads": pads}, x)
	return t.channelsLast(y), nil
}

// adaptivePool pools the whole image or equal windows if the operation amounts to this. Otherwise averages are products
// with two matrices, and maxima are taken over slices.
func adaptivePool(t *translator, s *step) (string, error) {
	x, shape, err := imageOperand(t, s)
	if err != nil {
		return "", err
	}
	kind, err := get[string](s, "kind")
	if err != nil {
		return "", err
	}
	h, w, height, width := shape[1], shape[2], s.shape[1], s.shape[2]
	switch {
	case height == 1 && width == 1:
		x = t.node(pools[kind].whole, nil, x)
	case h%height == 0 && w%width == 0:
		size := []int{h / height, w / width}
		x = t.node(pools[kind].window, attributes{"kernel_shape": size, "strides": size}, x)
	case kind == "average":
		rows := t.floats(t.layer+"/rows", []int{height, h}, means(h, height))
		columns := t.floats(t.layer+"/columns", []int{width, w}, means(w, width))
		columns = t.node("Transpose", attributes{"perm": []int{1, 0}}, columns)
		x = t.node("MatMul", nil, t.node("MatMul", nil, rows, x), columns)
	default:
		x = t.binsOf(t.binsOf(x, 2, h, height), 3, w, width)
	}
	return t.channelsLast(x), nil
}

// bin is the range of pixels, of n along a side, of bin i; see layer.AdaptivePool.
func bin(i, n, bins int) (from, to int) { return i * n / bins, ((i+1)*n + bins - 1) / bins }

// means are the rows of a matrix that averages the bins of n pixels.
func means(n, bins int) (list []float32) {
	for i := range bins {
		from, to := bin(i, n, bins)
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

// binsOf returns the maxima of the bins of n pixels along an axis.
func (t *translator) binsOf(x string, axis, n, bins int) string {
	var list []string
	for i := range bins {
		from, to := bin(i, n, bins)
		part := t.node("Slice", nil, x, t.ints(from), t.ints(to), t.ints(axis))
		list = append(list, t.node("ReduceMax", attributes{"axes": []int{axis}, "keepdims": 1}, part))
	}
	return t.node("Concat", attributes{"axis": axis}, list...)
}

func upsample(t *translator, s *step) (string, error) {
	x, _, err := imageOperand(t, s)
	if err != nil {
		return "", err
	}
	numbers, err := integers(s, "times")
	if err != nil {
		return "", err
	}
	times := float32(numbers[0])
	bilinear, err := get[bool](s, "bilinear")
	if err != nil {
		return "", err
	}
	a := attributes{"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
	if bilinear {
		a = attributes{"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
	}
	region := t.floats(t.layer+"/region", []int{0}, nil) // only used in another mode
	scales := t.floats(t.layer+"/scales", []int{4}, []float32{1, 1, times, times})
	return t.channelsLast(t.node("Resize", a, x, region, scales)), nil
}

func shuffle(t *translator, s *step) (string, error) {
	x, _, err := imageOperand(t, s)
	if err != nil {
		return "", err
	}
	numbers, err := integers(s, "times")
	if err != nil {
		return "", err
	}
	return t.channelsLast(t.node("DepthToSpace", attributes{"blocksize": numbers[0], "mode": "DCR"}, x)), nil
}

func crop(t *translator, s *step) (string, error) {
	x, _, err := imageOperand(t, s)
	if err != nil {
		return "", err
	}
	return t.channelsLast(t.node("Slice", nil, x, t.ints(0, 0), t.ints(s.shape[1], s.shape[2]), t.ints(2, 3))), nil
}

// add is activation(x + y), of images with channels first if both are.
func add(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	first, ok := t.first[in[0]]
	second, both := t.first[in[1]]
	if !ok || !both {
		return t.activation(s, t.node("Add", nil, in...))
	}
	y, err := t.activation(s, t.node("Add", nil, first, second))
	if err != nil {
		return "", err
	}
	return t.channelsLast(y), nil
}
