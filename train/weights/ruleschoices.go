package weights

import "fmt"

// softmaxRows is a softmax, or its logarithm, of rows.
func softmaxRows(op string) rule {
	return func(t *translator, s *step) (string, error) {
		in, err := t.operands(s)
		if err != nil {
			return "", err
		}
		return t.node(op, attributes{"axis": 1}, in...), nil
	}
}

// likeliest are the numbers, from 1, of the largest weights of every block.
func likeliest(t *translator, s *step) (string, error) {
	x, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	sizes, err := get[[]int](s, "sizes")
	if err != nil {
		return "", err
	}
	var numbers []string
	first := 0
	for _, n := range sizes {
		numbers = append(numbers, t.numberOf("ArgMax", t.columns(x, first, first+n)))
		first += n
	}
	return t.node("Concat", attributes{"axis": 1}, numbers...), nil
}

// numberOf returns the number, from 1, of the column that an operation finds in each row; the first of equals.
func (t *translator) numberOf(op, x string) string {
	at := t.node(op, attributes{"axis": 1, "keepdims": 1}, x)
	return t.node("Add", nil, t.node("Cast", attributes{"to": 1}, at), t.scalar(1))
}

// cheapest is the number of the least cost of each row, times a factor.
func cheapest(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	return t.node("Mul", nil, t.numberOf("ArgMin", in[0]), in[1]), nil
}

// withCategory puts a one-hot choice before the columns of a matrix.
func withCategory(t *translator, s *step) (string, error) {
	x, err := t.value(s.in[0])
	if err != nil {
		return "", err
	}
	n, err := integers(s, "category", "of")
	if err != nil {
		return "", err
	}
	category, of := n[0], n[1]
	choice := make([]float32, of+t.steps[s.in[0]].shape[1])
	choice[category] = 1
	padded := t.node("Pad", nil, x, t.ints(0, of, 0, 0), t.scalar(0))
	return t.node("Add", nil, padded, t.floats(t.layer+"/category", []int{1, len(choice)}, choice)), nil
}

// reconstructionCosts are sums over the pixels of each image.
func reconstructionCosts(t *translator, s *step) (string, error) {
	in, err := t.operands(s)
	if err != nil {
		return "", err
	}
	kind, err := get[string](s, "kind")
	if err != nil {
		return "", err
	}
	scale, err := get[float64](s, "scale")
	if err != nil {
		return "", err
	}
	x, y := t.node("Flatten", attributes{"axis": 1}, in[0]), t.node("Flatten", attributes{"axis": 1}, in[1])
	var errors string
	switch kind {
	case "bernoulli":
		errors = t.node("Sub", nil, t.node("Softplus", nil, y), t.node("Mul", nil, x, y))
	case "gaussian", "linear":
		if kind == "gaussian" {
			y = t.node("Sigmoid", nil, y)
		}
		d := t.node("Sub", nil, x, y)
		errors = t.node("Mul", nil, d, d)
	default:
		return "", fmt.Errorf("the kind %q has no translation; want bernoulli, gaussian or linear", kind)
	}
	sum := t.node("ReduceSum", attributes{"keepdims": 1}, errors, t.ints(1))
	return t.node("Mul", nil, sum, t.scalar(scale)), nil
}
