package logic

import (
	"slices"

	"gorgonia.org/gorgonia"
)

// blocksOf lists the columns of the sub-codes of an independence.
func (c *compiler) blocksOf(f *independence) ([][]int, error) {
	if f.by > ByDiscriminator || len(f.codes) < 2 {
		return nil, c.fail(f, "want a dependence (hsic, tc or discriminator) of two sub-codes or more")
	}
	var blocks [][]int
	var taken []int
	for _, t := range f.codes {
		a, ok := bare(t).(*access)
		if !ok || !a.codes || a.row != "" {
			return nil, c.fail(f, "%s is no sub-code; want sub-codes without a row, such as independent(z.a, z.b)", textOf(t))
		}
		columns, err := c.columnsOf(a)
		if err != nil {
			return nil, err
		}
		for _, k := range columns {
			if slices.Contains(taken, k) {
				return nil, c.fail(f, "column %d of the codes is in two sub-codes, or twice in one, and depends on itself; want different columns", k)
			}
			taken = append(taken, k)
		}
		blocks = append(blocks, columns)
	}
	return blocks, nil
}

// independence compiles an independence.
func (c *compiler) independence(f *independence) (node, error) {
	blocks, err := c.blocksOf(f)
	if err != nil {
		return nil, err
	}
	b := c.program.node(c.width)
	state := c.program.dependences
	c.program.dependences++
	switch f.by {
	case HSIC:
		return &criterion{base: b, blocks: blocks, state: state}, nil
	case TotalCorrelation:
		return &correlation{base: b, blocks: blocks, state: state}, nil
	}
	if !c.isSummand(f, c.sentence.Body) {
		return nil, c.fail(f, "%s is trained along, and an estimate that may be below 0; want it as one of the parts that the sentence adds up by and, with a factor or without", textOf(f))
	}
	if c.program.learned == "" {
		c.program.learned = textOf(f)
	}
	return &correlation{base: b, blocks: blocks, state: state}, nil // stands for it; only its operation of losses is run
}

// isSummand reports whether a sentence adds up a part.
func (c *compiler) isSummand(part, f Formula) bool {
	switch f := f.(type) {
	case *scaled:
		return c.isSummand(part, f.a)
	case *connective:
		return f.kind == conjunction && c.sentence.And == AndAdd && (c.isSummand(part, f.a) || c.isSummand(part, f.b))
	}
	return f == part
}

// dependence returns the node of a sentence that is an independence: an operation of the losses, or the sentence's
// operation.
func (q *Quantity) dependence(with Named, f *independence, blocks [][]int, in Inputs) (*gorgonia.Node, error) {
	densities := in.LogVariances != nil && in.Samples != nil && in.Codes != nil
	if with.Independence == nil || f.by == TotalCorrelation && !densities {
		return q.node(with, in)
	}
	return with.Independence(f.by, blocks, q.z(in), in)
}
