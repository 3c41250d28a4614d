package losses

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/registry"
)

// Aggregate joins quantities into one; see [Mean], [Max], [Sum] and [MeanSquare].
type Aggregate = factor.Aggregate

// The aggregates: universal aggregators of Zhang and Sugiyama 2024, section 2.2.
const (
	Mean       = factor.Mean
	Max        = factor.Max
	Sum        = factor.Sum
	MeanSquare = factor.MeanSquare // the mean of the squares, without a root
)

// Block ties columns of codes to a factor, a column of labels: the sub-code z_i of
// the factor y_i.
type Block = factor.Block

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
func (c CodeBlocks) blocks(o *Outputs) ([]Block, error) {
	if o.Labels == nil {
		return nil, errNoLabels
	}
	if o.Codes == nil {
		return nil, missing("codes")
	}
	factors, width := o.Labels.Factors, o.Codes.Shape()[1]
	if len(c) == 0 {
		each := width / len(factors)
		if each == 0 || each*len(factors) != width {
			return nil, fmt.Errorf("%d code columns cannot be shared out evenly to %d factors (%v): want codes, such as {%s: [0, 1]}",
				width, len(factors), factorNames(o), factors[0].Name)
		}
		list := make([]Block, len(factors))
		for i := range list {
			list[i].Factor = i
			for j := range each {
				list[i].Columns = append(list[i].Columns, i*each+j)
			}
		}
		return list, nil
	}
	return c.named(o, width)
}

// named returns the blocks that the config names.
func (c CodeBlocks) named(o *Outputs, width int) ([]Block, error) {
	names, known := factorNames(o), 0
	var list []Block
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
		list = append(list, Block{Factor: i, Columns: columns})
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

func factorNames(o *Outputs) []string {
	names := make([]string, len(o.Labels.Factors))
	for i, f := range o.Labels.Factors {
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
func (c On) node(o *Outputs) (*gorgonia.Node, error) {
	n := o.Codes
	if c == OnSample {
		n = o.Sample
	}
	if n == nil {
		return nil, missing("codes")
	}
	return n, nil
}
