package weights

// groupNorm is (x - mean)/sqrt(variance + epsilon) over the pixels and channels of each group.
func groupNorm(t *translator, s *step) (string, error) {
	x, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	groups, err := get[int](s, "groups")
	if err != nil {
		return "", err
	}
	channels, pixels := s.shape[len(s.shape)-1], 1
	for _, n := range s.shape[1 : len(s.shape)-1] {
		pixels *= n
	}
	rows := divisor(pixels)
	apart, err := t.reshape(x, []int{s.shape[0], rows, pixels / rows, groups, channels / groups})
	if err != nil {
		return "", err
	}
	// In stages, as runtimes add up in single precision.
	mean := func(x string) string {
		x = t.node("ReduceMean", attributes{"axes": []int{2, 4}, "keepdims": 1}, x)
		return t.node("ReduceMean", attributes{"axes": []int{1}, "keepdims": 1}, x)
	}
	centred := t.node("Sub", nil, apart, mean(apart))
	variance := mean(t.node("Mul", nil, centred, centred))
	deviation, err := t.deviation(s, variance)
	if err != nil {
		return "", err
	}
	y, err := t.reshape(t.node("Div", nil, centred, deviation), s.shape)
	if err != nil {
		return "", err
	}
	return t.affine(s, y, 1)
}

// standardise is (x - mean)/sqrt(variance + epsilon) with moments [1, 2, channels] that are given.
func standardise(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	row := func(i int) (string, error) {
		return t.reshape(t.columns(in[1], i, i+1), s.shape[len(s.shape)-1:])
	}
	mean, err := row(0)
	if err != nil {
		return "", err
	}
	variance, err := row(1)
	if err != nil {
		return "", err
	}
	deviation, err := t.deviation(s, variance)
	if err != nil {
		return "", err
	}
	return t.affine(s, t.node("Div", nil, t.node("Sub", nil, in[0], mean), deviation), 2)
}

// deviation is sqrt(variance + epsilon).
func (t *translator) deviation(s *step, variance string) (string, error) {
	epsilon, err := get[float64](s, "epsilon")
	return t.node("Sqrt", nil, t.node("Add", nil, variance, t.scalar(epsilon))), err
}

// affine adds factors and offsets of channels, if the step has operands from first on, and ReLU if the step has it.
func (t *translator) affine(s *step, y string, first int) (string, error) {
	if len(s.in) > first {
		gamma, err := t.value(s.in[first])
		if err != nil {
			return "", err
		}
		beta, err := t.value(s.in[first+1])
		if err != nil {
			return "", err
		}
		y = t.node("Add", nil, t.node("Mul", nil, y, gamma), beta)
	}
	relu, err := get[bool](s, "relu")
	if relu {
		y = t.node("Relu", nil, y)
	}
	return y, err
}

// divisor returns the greatest divisor of a number up to its root.
func divisor(n int) int {
	best := 1
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			best = d
		}
	}
	return best
}
