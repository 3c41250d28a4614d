package logic

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/registry"
)

// Dependence is a quantity that measures how far sub-codes are from independence.
type Dependence uint8

// The dependences. They use all rows of a batch.
const (
	// HSIC sums the Hilbert-Schmidt independence criterion of a sub-code and all later sub-codes together, with
	// Gaussian kernels of the median distance, as in losses.HSIC.
	HSIC Dependence = iota

	// TotalCorrelation is KL(q(z.a, z.b, ...) || q(z.a) q(z.b) ...) in nats. In training with Gaussian posteriors,
	// minibatch weighted sampling estimates it from the posteriors' densities, as in losses.TotalCorrelation; the
	// estimate may be below 0. Otherwise it is the total correlation of the normal distribution with the codes'
	// covariance C, 1/2 (sum_b log det C_b - log det C), at least 0.
	TotalCorrelation

	// ByDiscriminator is the total correlation by a discriminator that is trained along; losses.DensityRatio.
	ByDiscriminator
)

var dependenceNames = []string{"hsic", "tc", "discriminator"}

func (d Dependence) String() string {
	if int(d) < len(dependenceNames) {
		return dependenceNames[d]
	}
	return fmt.Sprintf("Dependence(%d)", uint8(d))
}

// independence says that sub-codes are independent over the rows of the batch.
type independence struct {
	place
	by    Dependence
	codes []Term // accesses without a row
}

func (*independence) formula() {}

// Independent says that sub-codes are independent, as random variables of a row of the batch: the terms are [Codes],
// [SubCode] or [CodeColumns] of the row "".
func Independent(by Dependence, a, b Term, more ...Term) Formula {
	return &independence{by: by, codes: append([]Term{a, b}, more...)}
}

// independent reads `[hsic](z.a, z.b)` after its first word.
func (p *parser) independent(t token) (Formula, error) {
	f := &independence{place: place(t.offset + 1)}
	if p.accept("[") {
		at := p.peek()
		name, err := p.hyphenated("a dependence: hsic, tc or discriminator")
		if err != nil {
			return nil, err
		}
		k := slices.Index(dependenceNames, name)
		if k < 0 {
			return nil, errorAt(p.text, at.offset, "unknown dependence %q%s", name, registry.Suggest(name, dependenceNames))
		}
		f.by = Dependence(k)
		if err := p.expect("]", " after a dependence"); err != nil {
			return nil, err
		}
	}
	if err := p.expect("(", " and sub-codes, such as (z.a, z.b)"); err != nil {
		return nil, err
	}
	for {
		s := p.next()
		if s.kind != word || s.text != "z" {
			return nil, p.found(s, "a sub-code, such as z.a or z[0:2]")
		}
		a, err := p.space(s)
		if err != nil {
			return nil, err
		}
		if p.at("(") {
			return nil, p.found(p.peek(), "a sub-code without a row: independence is about all rows, such as independent(z.a, z.b)")
		}
		f.codes = append(f.codes, a)
		if p.accept(")") {
			break
		}
		if err := p.expect(",", " or ) after a sub-code"); err != nil {
			return nil, err
		}
	}
	if len(f.codes) < 2 {
		return nil, errorAt(p.text, t.offset, "one sub-code is not independent of itself; want two or more, such as independent(z.a, z.b)")
	}
	return f, nil
}

func (w *writer) independence(f *independence) {
	w.add("independent")
	if f.by != HSIC {
		w.add("[", f.by.String(), "]")
	}
	w.add("(", f.list(), ")")
}

// list writes the sub-codes.
func (f *independence) list() string {
	var all []string
	for _, t := range f.codes {
		all = append(all, textOf(t))
	}
	return strings.Join(all, ", ")
}

// symbols writes independence in the symbols of probability.
func (f *independence) symbols() string { return strings.ReplaceAll(f.list(), ", ", " ⫫ ") }

// blocksOf lists the columns of the sub-codes of an independence.
func (c *compiler) blocksOf(f *independence) ([][]int, error) {
	if int(f.by) >= len(dependenceNames) || len(f.codes) < 2 {
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

// link tells that 0 means independence of the sub-codes in a row drawn at random from the batch.
func (f *independence) link() link {
	switch f.by {
	case TotalCorrelation:
		return link{sound: fmt.Sprintf("%s is 0 also of codes that are uncorrelated and depend on each other", textOf(f))}
	case ByDiscriminator:
		estimate := fmt.Sprintf("%s is the estimate of a discriminator", textOf(f))
		return link{estimate, estimate}
	}
	return link{}
}

// independent reports whether sub-codes are independent in a row drawn at random. Every block and the later blocks must
// have every combination of their values, as often as the product of the values' frequencies.
func (w *world) independent(f *independence) bool {
	n := len(w.z)
	key := func(row int, terms []Term) string {
		var text strings.Builder
		for _, t := range terms {
			fmt.Fprint(&text, pick(w.z[row], w.columns(bare(t).(*access))))
		}
		return text.String()
	}
	for k := range f.codes[1:] {
		count, left, right := map[[2]string]int{}, map[string]int{}, map[string]int{}
		for i := range n {
			a, b := key(i, f.codes[k:k+1]), key(i, f.codes[k+1:])
			count[[2]string{a, b}]++
			left[a]++
			right[b]++
		}
		for a, x := range left {
			for b, y := range right {
				if count[[2]string{a, b}]*n != x*y {
					return false
				}
			}
		}
	}
	return true
}
