package eval

import (
	"maps"
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

// Empty lists the texts of the formulas that had no tuple in any computation of the engines of a program, outer ones
// first.
func Empty(engines ...*Engine) (texts []string) {
	found := map[program.Node]bool{} // formulas that had a tuple, or that the list has
	for _, e := range engines {
		for n, d := range e.domains {
			found[n] = found[n] || d.state.Load() == nonempty
		}
	}
	for _, e := range engines {
		order := func(a, b program.Node) int { return e.domains[a].order - e.domains[b].order }
		for _, n := range slices.SortedFunc(maps.Keys(e.domains), order) {
			if d := e.domains[n]; d.state.Load() == empty && !found[n] {
				found[n], texts = true, append(texts, d.text)
			}
		}
	}
	return texts
}
