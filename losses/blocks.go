package losses

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
)

// subCodes returns the sub-codes of the factors of a batch, in their order. Without sub-codes in the config, all
// factors have equally many columns.
func subCodes(c factor.SubCodes, in *Input) ([]factor.Block, error) {
	if in.Labels == nil {
		return nil, errNoLabels
	}
	width, err := columnsOf("codes", in.Codes)
	if err != nil {
		return nil, err
	}
	factors := in.Labels.Factors
	if len(c) == 0 {
		return factor.EvenBlocks(factors, width)
	}
	return c.Blocks("codes", factors, width)
}

// On selects, in a config, the codes for an objective.
type On string

// The codes that an objective can use.
const (
	OnCodes  On = "codes"  // posterior means, which metrics measure
	OnSample On = "sample" // reparameterised samples, which are decoded
)

// UnmarshalText accepts the name of codes.
func (c *On) UnmarshalText(text []byte) error {
	if *c = On(text); *c != OnCodes && *c != OnSample {
		return fmt.Errorf("unknown codes %q; known: codes, sample", text)
	}
	return nil
}

// node returns the codes of a model.
func (c On) node(in *Input) (*gorgonia.Node, error) {
	n := in.Codes
	if c == OnSample {
		n = in.Sample
	}
	_, err := columnsOf("codes", n)
	return n, err
}

// evenBlocks assigns equally many code columns to each factor.
func evenBlocks(z, groups *gorgonia.Node) ([]factor.Block, error) {
	if z == nil || groups == nil || z.Dims() != 2 || groups.Dims() < 1 || groups.Dims() > 2 {
		return nil, fmt.Errorf("want codes [n, d] and groups [n] or [n, K], got %v and %v", shapeOf(z), shapeOf(groups))
	}
	width, factors := z.Shape()[1], 1
	if groups.Dims() == 2 {
		factors = groups.Shape()[1]
	}
	if factors == 0 || width%factors != 0 || width == 0 {
		return nil, fmt.Errorf("%d code columns cannot be shared out evenly to %d factors; want blocks", width, factors)
	}
	return shareOut(width, factors), nil
}

// shareOut assigns consecutive blocks of width/factors columns to the factors.
func shareOut(width, factors int) []factor.Block {
	blocks, each := make([]factor.Block, factors), width/factors
	for i := range blocks {
		blocks[i].Factor = i
		for j := range each {
			blocks[i].Columns = append(blocks[i].Columns, i*each+j)
		}
	}
	return blocks
}

func shapeOf(n *gorgonia.Node) any {
	if n == nil {
		return "nothing"
	}
	return n.Shape()
}

// factorsOf returns the number of columns of labels.
func factorsOf(labels tensor.Shape) int { return labels.TotalSize() / max(labels[0], 1) }

func checkBlocks(blocks []factor.Block, in []tensor.Shape) error {
	if len(in) != 2 {
		return graph.Wanted("codes and labels", in)
	}
	rows, columns, err := graph.Matrix("codes", in[0])
	if err != nil {
		return err
	}
	if d := in[1].Dims(); d < 1 || d > 2 || in[1][0] != rows || in[1].TotalSize() < 1 {
		return graph.Wanted(fmt.Sprintf("labels of shape [%d] or [%d, factors]", rows, rows), in[1])
	}
	if len(blocks) == 0 {
		return graph.Wanted("a block of columns for a factor", "none")
	}
	factors := factorsOf(in[1])
	for _, b := range blocks {
		if b.Factor < 0 || b.Factor >= factors {
			return graph.Wanted(fmt.Sprintf("blocks of factors 0 to %d, the columns of the labels", factors-1), b.Factor)
		}
		if len(b.Columns) == 0 {
			return graph.Wanted(fmt.Sprintf("a code column for factor %d", b.Factor), "none")
		}
		for i, c := range b.Columns {
			if c < 0 || c >= columns || slices.Contains(b.Columns[:i], c) {
				return graph.Wanted(fmt.Sprintf("different code columns from 0 to %d for factor %d", columns-1, b.Factor), b.Columns)
			}
		}
	}
	return nil
}

// columnsOf returns the number of columns of a matrix that a model has.
func columnsOf(name string, n *gorgonia.Node) (int, error) {
	if n == nil {
		return 0, missing(name)
	}
	_, columns, err := graph.Matrix(name, n.Shape())
	return columns, err
}
