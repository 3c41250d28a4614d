package logic

import (
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// blocksOf lists the columns of the sub-codes of an independence.
func (c *compiler) blocksOf(f *syntax.Independence) ([][]int, error) {
	if f.By > syntax.ByDiscriminator || len(f.Codes) < 2 {
		return nil, c.fail(f, "want a dependence (hsic, tc or discriminator) of two sub-codes or more")
	}
	var blocks [][]int
	var taken []int
	for _, t := range f.Codes {
		a, ok := syntax.Bare(t).(*syntax.Access)
		if !ok || !a.Codes || a.Row != "" {
			return nil, c.fail(f, "%s is no sub-code; want sub-codes without a row, such as independent(z.a, z.b)", syntax.TextOf(t))
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
func (c *compiler) independence(f *syntax.Independence) (program.Node, error) {
	blocks, err := c.blocksOf(f)
	if err != nil {
		return nil, err
	}
	if f.By == syntax.ByDiscriminator {
		if !c.isSummand(f, c.sentence.Body) {
			return nil, c.fail(f, "%s is trained along, and an estimate that may be below 0; want it as one of the parts that the sentence adds up by and, with a factor or without", syntax.TextOf(f))
		}
		if c.program.Learned == "" {
			c.program.Learned = syntax.TextOf(f)
		}
	}
	return &program.Independence{By: f.By, Blocks: blocks}, nil
}

// isSummand reports whether a sentence adds up a part.
func (c *compiler) isSummand(part, f syntax.Formula) bool {
	switch f := f.(type) {
	case *syntax.Scaled:
		return c.isSummand(part, f.A)
	case *syntax.Connective:
		return f.Kind == syntax.AndKind && c.sentence.And == syntax.AndAdd && (c.isSummand(part, f.A) || c.isSummand(part, f.B))
	}
	return f == part
}

// dependence returns the node of a sentence that is an independence: an operation of the losses, or the sentence's
// operation.
func (q *Quantity) dependence(with Named, f *syntax.Independence, blocks [][]int, in Inputs) (*gorgonia.Node, error) {
	densities := in.LogVariances != nil && in.Samples != nil && in.Codes != nil
	if with.Independence == nil || f.By == syntax.TotalCorrelation && !densities {
		return q.node(with, in)
	}
	return with.Independence(f.By, blocks, q.z(in), in)
}
