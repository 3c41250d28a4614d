package weights

// groupNorm computes (x - mean)/sqrt(variance + epsilon) over the pixels and channels of each group.
func groupNorm(t *translator, s *step) string {
	x := t.value(s.in[0])
	groups := get[int](s, "groups")
	channels, pixels := s.shape[len(s.shape)-1], 1
	for _, n := range s.shape[1 : len(s.shape)-1] {
		pixels *= n
	}
	rows := divisor(pixels)
	grouped := t.reshape(x, []int{s.shape[0], rows, pixels / rows, groups, channels / groups})
	// In stages, because runtimes sum in single precision.
	mean := func(x string) string {
		x = t.node("ReduceMean", attributes{"axes": []int{2, 4}, "keepdims": 1}, x)
		return t.node("ReduceMean", attributes{"axes": []int{1}, "keepdims": 1}, x)
	}
	centred := t.node("Sub", nil, grouped, mean(grouped))
	variance := mean(t.node("Mul", nil, centred, centred))
	normal := t.node("Div", nil, centred, t.deviation(s, variance))
	return t.affine(s, t.reshape(normal, s.shape), 1)
}

// standardise computes (x - mean)/sqrt(variance + epsilon) with given moments [1, 2, channels].
func standardise(t *translator, s *step) string {
	in := t.operands(s)
	row := func(i int) string { return t.reshape(t.columns(in[1], i, i+1), s.shape[len(s.shape)-1:]) }
	mean, variance := row(0), row(1)
	deviation := t.deviation(s, variance)
	return t.affine(s, t.node("Div", nil, t.node("Sub", nil, in[0], mean), deviation), 2)
}

func (t *translator) deviation(s *step, variance string) string {
	return t.node("Sqrt", nil, t.node("Add", nil, variance, t.scalar(get[float64](s, "epsilon"))))
}

// affine multiplies by factors and adds offsets, if the step has operands from firstOperand on, and a ReLU if it has
// one.
func (t *translator) affine(s *step, y string, firstOperand int) string {
	if len(s.in) > firstOperand {
		gamma, beta := t.value(s.in[firstOperand]), t.value(s.in[firstOperand+1])
		y = t.node("Add", nil, t.node("Mul", nil, y, gamma), beta)
	}
	if get[bool](s, "relu") {
		y = t.node("Relu", nil, y)
	}
	return y
}

// divisor returns the greatest divisor of n that is at most the root of n.
func divisor(n int) int {
	best := 1
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			best = d
		}
	}
	return best
}
