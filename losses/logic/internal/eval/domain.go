package eval

import (
	"slices"
	"sync/atomic"

	"github.com/unravel-ml/unravel/losses/logic/internal/program"
)

// domain records whether a quantifier, a fit or an implication from a crisp formula ever had a tuple. Copies of a node
// share it.
type domain struct {
	text  string
	order int
	state atomic.Uint32
}

// The states of a domain.
const (
	unvisited uint32 = iota
	empty
	nonempty
)

// domain returns the domain of a node.
func (b *builder) domain(n program.Node, text string) *domain {
	all := b.engine.domains
	if all[n] == nil {
		all[n] = &domain{text: text, order: len(all)}
	}
	return all[n]
}

// visit records a computation over count tuples.
func (d *domain) visit(count float64) {
	switch {
	case count == 0:
		d.state.CompareAndSwap(unvisited, empty)
	case d.state.Load() != nonempty:
		d.state.Store(nonempty)
	}
}

// Empty lists the texts of the formulas that had no tuple in any computation, outer ones first.
func (e *Engine) Empty() (texts []string) {
	var list []*domain
	for _, d := range e.domains {
		if d.state.Load() == empty {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b *domain) int { return a.order - b.order })
	for _, d := range list {
		texts = append(texts, d.text)
	}
	return texts
}
