package hierarchy

// Places returns, for every categorical and every continuous dimension, the column of the flat layout
// ([Hierarchy.Flat]) with the weight of its enclosing option; -1 in the outermost group.
func (h Hierarchy) Places() (categorical, continuous []int) {
	p := places{}
	p.walk(h, -1)
	return p.categorical, p.continuous
}

type places struct {
	categorical, continuous []int
	columns                 int // of options so far
}

func (p *places) walk(h Hierarchy, under int) {
	for _, n := range h {
		if !n.Categorical() {
			p.continuous = append(p.continuous, under)
			continue
		}
		p.categorical = append(p.categorical, under)
		first := p.columns
		p.columns += len(n.Options)
		for o, option := range n.Options {
			p.walk(option, first+o)
		}
	}
}
