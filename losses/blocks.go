package losses

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/registry"
)

// CodeBlocks says in a config which columns of the codes are the sub-code of which
// factor: `{shape: [0, 1], x: [2]}`.
type CodeBlocks map[string][]int

// Validate checks the columns.
func (c CodeBlocks) Validate() error {
	for name, columns := range c {
		if len(columns) == 0 {
			return config.Invalid(name, "there are no columns: want at least one")
		}
		for i, column := range columns {
			if column < 0 || slices.Contains(columns[:i], column) {
				return config.Invalid(name, "%v: want different columns from 0 on", columns)
			}
		}
	}
	return nil
}

// blocks returns the sub-codes of a model's factors, in the factors' order. If the
// config names none, every factor has as many columns as the next.
func (c CodeBlocks) blocks(in *Input) ([]factor.Block, error) {
	if in.Labels == nil {
		return nil, errNoLabels
	}
	if in.Codes == nil {
		return nil, missing("codes")
	}
	factors, width := in.Labels.Factors, in.Codes.Shape()[1]
	if len(c) == 0 {
		each := width / len(factors)
		if each == 0 || each*len(factors) != width {
			return nil, fmt.Errorf("%d code columns cannot be shared out evenly to %d factors (%v): want codes, such as {%s: [0, 1]}",
				width, len(factors), factorNames(in), factors[0].Name)
		}
		list := make([]factor.Block, len(factors))
		for i := range list {
			list[i].Factor = i
			for j := range each {
				list[i].Columns = append(list[i].Columns, i*each+j)
			}
		}
		return list, nil
	}
	return c.named(in, width)
}

// named returns the blocks that the config names.
func (c CodeBlocks) named(in *Input, width int) ([]factor.Block, error) {
	names, known := factorNames(in), 0
	var list []factor.Block
	for i, name := range names {
		columns, ok := c[name]
		if !ok {
			continue
		}
		known++
		for _, column := range columns {
			if column >= width {
				return nil, fmt.Errorf("codes.%s: column %d does not exist: the codes have %d columns, 0 to %d", name, column, width, width-1)
			}
		}
		list = append(list, factor.Block{Factor: i, Columns: columns})
	}
	if known == len(c) {
		return list, nil
	}
	for name := range c {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("codes: there is no factor %q%s", name, registry.Suggest(name, names))
		}
	}
	return list, nil
}

func factorNames(in *Input) []string {
	names := make([]string, len(in.Labels.Factors))
	for i, f := range in.Labels.Factors {
		names[i] = f.Name
	}
	return names
}

// On says which codes an objective is about.
type On string

// The codes that an objective can be about.
const (
	OnCodes  On = "codes"  // those that metrics measure: the posteriors' locations
	OnSample On = "sample" // those that are decoded: draws from the posteriors
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
	if n == nil {
		return nil, missing("codes")
	}
	return n, nil
}

// evenBlocks shares out the columns of codes to the factors.
func evenBlocks(z, groups *gorgonia.Node) ([]factor.Block, error) {
	if z == nil || groups == nil || z.Dims() != 2 || groups.Dims() < 1 || groups.Dims() > 2 {
		return nil, fmt.Errorf("codes [n, d] and groups [n] or [n, K] wanted, got %v and %v", shapeOf(z), shapeOf(groups))
	}
	width, factors := z.Shape()[1], 1
	if groups.Dims() == 2 {
		factors = groups.Shape()[1]
	}
	if factors == 0 || width%factors != 0 || width == 0 {
		return nil, fmt.Errorf("%d code columns cannot be shared out evenly to %d factors: blocks wanted", width, factors)
	}
	return shareOut(width, factors), nil
}

// shareOut gives each factor as many columns as the next, one after the other.
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

// factorsOf returns how many columns labels have.
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
