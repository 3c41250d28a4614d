package weights

import "slices"

// optionWeights are softmax(logits/tau) of every block, times the weight of the option that the block stands under.
func optionWeights(t *translator, s *step) (string, error) {
	logits, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	sizes, parents, err := blocks(s)
	if err != nil {
		return "", err
	}
	tau, err := get[float64](s, "tau")
	if err != nil {
		return "", err
	}
	var columns, all []string // all columns of the weights, as parents of blocks; the blocks
	first := 0
	for b, n := range sizes {
		x := t.columns(logits, first, first+n)
		most := t.node("ReduceMax", attributes{"axes": []int{1}, "keepdims": 1}, x)
		x = t.node("Softmax", attributes{"axis": 1}, t.node("Div", nil, t.node("Sub", nil, x, most), t.scalar(tau)))
		if p := parents[b]; p >= 0 {
			x = t.node("Mul", nil, x, columns[p])
		}
		for j := range n {
			columns = append(columns, t.columns(x, j, j+1))
		}
		all = append(all, x)
		first += n
	}
	return t.node("Concat", attributes{"axis": 1}, all...), nil
}

// blocks are the sizes of blocks of options, and the columns that they stand under.
func blocks(s *step) (sizes, parents []int, err error) {
	if sizes, err = get[[]int](s, "sizes"); err != nil {
		return nil, nil, err
	}
	parents, err = get[[]int](s, "parents")
	return sizes, parents, err
}

func gate(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	columns, err := get[[]int](s, "columns")
	return t.gated(in[0], in[1], columns, t.steps[s.in[1]].shape[1]), err
}

// gated returns values times the given columns of k weights, or times 1 for the column -1.
func (t *translator) gated(values, weights string, columns []int, k int) string {
	columns = slices.Clone(columns)
	for i, c := range columns {
		if c < 0 {
			columns[i] = k
		}
	}
	if slices.Contains(columns, k) {
		weights = t.node("Pad", nil, weights, t.ints(0, 0, 0, 1), t.scalar(1))
	}
	return t.node("Mul", nil, values, t.node("Gather", attributes{"axis": 1}, weights, t.ints(columns...)))
}

// optionNumbers are, for every block of weights, the sum of 1 + option times weight; and the values.
func optionNumbers(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	sizes, err := get[[]int](s, "sizes")
	if err != nil {
		return "", err
	}
	k := t.steps[s.in[0]].shape[1]
	numbers := make([]float32, k*len(sizes))
	row := 0
	for b, n := range sizes {
		for j := range n {
			numbers[row*len(sizes)+b] = float32(1 + j)
			row++
		}
	}
	product := t.node("MatMul", nil, in[0], t.floats(t.layer+"/numbers", []int{k, len(sizes)}, numbers))
	return t.node("Concat", attributes{"axis": 1}, product, in[1]), nil
}

// numberedOptions are the weights, 0 or 1, of the options that numbers name, and the values that are active.
func numberedOptions(t *translator, s *step) (string, error) {
	x, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	sizes, parents, err := blocks(s)
	if err != nil {
		return "", err
	}
	places, err := get[[]int](s, "columns")
	if err != nil {
		return "", err
	}
	var columns, all []string
	for b, n := range sizes {
		number := t.node("Floor", nil, t.node("Add", nil, t.columns(x, b, b+1), t.scalar(0.5)))
		options := make([]float32, n)
		for j := range options {
			options[j] = float32(1 + j)
		}
		weights := t.node("Cast", attributes{"to": 1}, t.node("Equal", nil, number, t.floats(t.layer+"/options", []int{1, n}, options)))
		if p := parents[b]; p >= 0 {
			weights = t.node("Mul", nil, weights, columns[p])
		}
		for j := range n {
			columns = append(columns, t.columns(weights, j, j+1))
		}
		all = append(all, weights)
	}
	weights := t.node("Concat", attributes{"axis": 1}, all...)
	values := t.gated(t.columns(x, len(sizes), len(sizes)+len(places)), weights, places, len(columns))
	return t.node("Concat", attributes{"axis": 1}, weights, values), nil
}
