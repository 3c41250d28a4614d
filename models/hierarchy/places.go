package hierarchy

// Places returns a column of the flat layout ([Hierarchy.Flat]) for every categorical and every continuous dimension.
// The column holds the weight of the dimension's enclosing option. In the outermost group it is -1.
func (h Hierarchy) Places() (categorical, continuous []int) {
	p := places{}
	p.walk(h, -1)
	return p.categorical, p.continuous
}

type places struct {
	categorical, continuous []int
	columns                 int // columns of options so far
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
