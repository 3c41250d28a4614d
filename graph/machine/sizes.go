package machine

import (
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/memory"

	"gorgonia.org/gorgonia"
)

// Sizes holds the bytes of the values that a machine computes, and the bytes of its inputs. They are known before the
// first run, and exclude the scratch memory of operations.
type Sizes struct {
	Inputs    float64
	Values    float64 // nodes of the forward pass, which depend on no gradient
	Gradients float64 // gradients, and nodes that depend on them
}

// Sizes adds up the machine's nodes. It excludes inputs that others reports, such as parameters.
func (m *Machine) Sizes(others func(input *gorgonia.Node) bool) Sizes {
	var sum Sizes
	backward := make([]bool, len(m.steps))
	for i := range m.steps {
		s := &m.steps[i]
		bytes := memory.Product(s.node.Shape()...) * float64(s.node.Dtype().Size())
		if s.op == nil {
			if !others(s.node) {
				sum.Inputs += bytes
			}
			continue
		}
		_, backward[i] = s.op.(graph.Gradient)
		for _, j := range s.in {
			backward[i] = backward[i] || backward[j]
		}
		switch {
		case s.ignored:
		case backward[i]:
			sum.Gradients += bytes
		default:
			sum.Values += bytes
		}
	}
	return sum
}

// Bytes returns the sum of the sizes.
func (m *Machine) Bytes() float64 {
	s := m.Sizes(func(*gorgonia.Node) bool { return false })
	return s.Inputs + s.Values + s.Gradients
}
