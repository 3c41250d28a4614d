package logic

import (
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// Named holds the losses that can be parts of a sentence; see [Quantity.NodeOf]. Package losses provides them.
type Named struct {
	// Modularity returns the aggregate, over the values of factor b.Factor, of the plain deviation of columns b.Columns
	// over the rows with that value. A value with a single row has deviation 0.
	Modularity func(d factor.Deviation, a factor.Aggregate, b factor.Block, z, labels *gorgonia.Node) (*gorgonia.Node,
		error)

	// Contraction returns the aggregate over all pairs of rows of max(d_Y - d_Z, 0).
	Contraction func(c Contraction, z, y, labels *gorgonia.Node) (*gorgonia.Node, error)

	// Independence returns the dependence between blocks of columns of z, the codes or samples of a batch. by is hsic,
	// tc or discriminator.
	Independence func(by string, blocks [][]int, z *gorgonia.Node, batch Inputs) (*gorgonia.Node, error)

	// Network returns a function's values, [rows, f.Out], at arguments x, [rows, columns]. The function is a network
	// that is trained together with the model.
	Network func(f Network, x *gorgonia.Node) (*gorgonia.Node, error)
}

// Contraction describes the distances that a sentence compares: d_Z is the Euclidean distance in columns of the codes,
// and d_Y the distance of factors by a premetric.
type Contraction struct {
	Aggregate factor.Aggregate
	Columns   []int // columns of the codes
	Factors   []int
	Premetric string  // euclidean, absolute, discrete or circular
	Period    float64 // for circular; 0: 1
}

// Network is a function in mlp: dense layers with tanh, and a final dense layer without an activation.
type Network struct {
	Name   string // name of the function
	Layers []int  // widths of the hidden layers
	Out    int    // number of output columns
}

// summand is a term of a program that is a weighted sum.
type summand struct {
	weight float64
	part   program.Node
	loss   lossFunc // the part as a loss; nil: it is none
}

// lossFunc is the operation of a loss.
type lossFunc func(with Named, z *gorgonia.Node, in Inputs) (*gorgonia.Node, error)

// summands splits a program into a weighted sum, and recognises the parts that are losses or independences, which have
// their own operations. It returns nil if there is no such part.
func summands(p *program.Program) []summand {
	all := finder{p}.split(p.Root, 1)
	if !slices.ContainsFunc(all, func(s summand) bool { return s.loss != nil }) {
		return nil
	}
	return all
}

// finder recognises losses in a program. They use the plain estimator, because a sentence is about the rows of its
// batch: i = j counts, and a value with a single row has deviation 0. The loss of the same name in a config estimates
// the deviation in the data set by default.
type finder struct{ *program.Program }

func (n finder) split(f program.Node, weight float64) []summand {
	switch f := f.(type) {
	case *program.Scaled:
		return n.split(f.Body, weight*f.Weight)
	case *program.Connective:
		if f.Kind == syntax.AndKind && f.By.And == syntax.AndAdd {
			return append(n.split(f.A, weight), n.split(f.B, weight)...)
		}
	case *program.Independence:
		return []summand{{weight, f, independence(f)}}
	case *program.Fit:
		if columns := n.fittedColumns(f); columns != nil && len(f.FromColumns) == 1 && f.Row == f.Binders[0].Variable &&
			free(f.Tests, f.Binders[0]) && f.Aggregate == factor.Max && f.Premetric == syntax.Euclidean {
			return []summand{{weight, f, modularity(factor.Radius, factor.Max, f.FromColumns[0], columns)}}
		}
	case *program.Quantifier:
		if !f.Universal || f.Fold != syntax.NoFold || len(f.Tests) > 0 {
			break
		}
		if b := f.Binders; len(b) == 1 && b[0].Set == syntax.ValueSet && len(b[0].Tests) == 0 {
			if d, columns, scale := n.deviation(f.Body, b[0]); columns != nil {
				if f.Aggregate == factor.MeanSquare {
					scale *= scale
				}
				return []summand{{weight * scale, f, modularity(d, f.Aggregate, b[0].Factor, columns)}}
			}
		} else if len(b) == 2 && free(nil, b[0]) && len(b[1].Tests) == 0 {
			return []summand{{weight, f, n.pairLoss(f, b[0], b[1])}}
		}
	}
	return []summand{{weight, f, nil}}
}

// free reports whether a variable ranges over all rows, without any test.
func free(tests []program.Test, b *program.Binder) bool {
	return len(tests) == 0 && b.Set == syntax.RowSet && b.By < 0 && len(b.Tests) == 0
}

// hasValue reports whether a variable ranges over the rows with the value of another variable, without any other test.
func hasValue(tests []program.Test, b, value *program.Binder) bool {
	return len(tests) == 0 && b.Set == syntax.RowSet && b.By == value.Factor && b.LikeValue &&
		b.Like == value.Variable && len(b.Tests) == 0
}

// independence is the operation of an independence. It returns nil if the sentence's own operation has to be used.
func independence(f *program.Independence) lossFunc {
	return func(with Named, z *gorgonia.Node, in Inputs) (*gorgonia.Node, error) {
		densities := in.LogVariances != nil && in.Samples != nil && in.Codes != nil
		if with.Independence == nil || f.By == syntax.TotalCorrelation && !densities {
			return nil, nil
		}
		return with.Independence(f.By.String(), f.Blocks, z, in)
	}
}

func modularity(d factor.Deviation, a factor.Aggregate, k int, columns []int) lossFunc {
	return func(with Named, z *gorgonia.Node, in Inputs) (*gorgonia.Node, error) {
		return with.Modularity(d, a, factor.Block{Factor: k, Columns: columns}, z, in.Labels)
	}
}

// deviation recognises a multiple of the deviation of the codes over the rows with a value.
func (n finder) deviation(f program.Node, value *program.Binder) (d factor.Deviation, columns []int, scale float64) {
	switch f := f.(type) {
	case *program.Scaled:
		d, columns, scale = n.deviation(f.Body, value)
		return d, columns, scale * f.Weight
	case *program.Fit: // a point, or a function of the value (proposition 2 of Zhang and Sugiyama 2024)
		d, ok := map[program.Method]factor.Deviation{
			program.Squares: factor.Variance, program.Norms: factor.MAD, program.Max: factor.Radius,
		}[f.Method]
		square := f.Method == program.Max && f.Premetric == syntax.Squared
		if !ok || square || f.Aggregate == factor.Sum || !hasValue(f.Tests, f.Binders[0], value) {
			break
		}
		ofValue := slices.Equal(f.FromColumns, []int{value.Factor}) && (f.Level == value || f.Row == f.Binders[0].Variable)
		if columns := n.fittedColumns(f); columns != nil && (ofValue || f.IsPoint()) {
			return d, columns, 1
		}
	case *program.Quantifier: // as pairs of rows
		e, ok := f.Body.(*program.Equality)
		if !ok || !f.Universal || f.Fold != syntax.NoFold || len(f.Binders) != 2 || !hasValue(f.Tests, f.Binders[0],
			value) || !hasValue(f.Tests, f.Binders[1], value) {
			break
		}
		switch columns := n.comparedCodes(e, f.Binders[0], f.Binders[1]); {
		case f.Aggregate == factor.Max && e.Premetric == syntax.Euclidean:
			return factor.Diameter, columns, 1
		case f.Aggregate == factor.Mean && e.Premetric == syntax.Euclidean:
			return factor.MPD, columns, 2
		case f.Aggregate == factor.MeanSquare && e.Premetric == syntax.Euclidean, f.Aggregate == factor.Mean &&
			e.Premetric == syntax.Squared:
			return factor.Variance, columns, 2
		}
	}
	return 0, nil, 0
}

// fittedColumns returns the code columns that a point or a function of levels is fitted to, or nil for other fits.
func (n finder) fittedColumns(f *program.Fit) (columns []int) {
	if f.Class != syntax.AnyFunction || f.By != syntax.ByBody || len(f.Binders) != 1 {
		return nil
	}
	for _, x := range f.Target {
		if len(x.Parts) != 1 || x.Offset != 0 || x.Parts[0].Weight != 1 || x.Parts[0].Column >= n.Codes ||
			x.Parts[0].Variable != f.Binders[0].Variable {
			return nil
		}
		columns = append(columns, x.Parts[0].Column)
	}
	if !f.To.Codes || !allDifferent(columns) {
		return nil
	}
	return columns
}

// pairLoss recognises a loss over pairs of rows: the contraction
//
//	z(i) =[euclidean] z(j) -> y(i) =[...] y(j)
//
// of all pairs, and the diameter of the codes of rows with equal values of a factor.
func (n finder) pairLoss(f *program.Quantifier, i, j *program.Binder) lossFunc {
	switch body := f.Body.(type) {
	case *program.Equality:
		columns := n.comparedCodes(body, i, j)
		if columns != nil && body.Premetric == syntax.Euclidean && f.Aggregate == factor.Max && j.By >= 0 &&
			j.By < n.Factors && !j.LikeValue && j.Like == i.Variable {
			return modularity(factor.Diameter, factor.Max, j.By, columns)
		}
	case *program.Connective:
		from, ok := body.A.(*program.Equality)
		to, ok2 := body.B.(*program.Equality)
		if !ok || !ok2 || j.By >= 0 || body.Kind != syntax.ImpliesKind || body.By.Implies != syntax.ImpliesMonus ||
			from.Premetric != syntax.Euclidean || to.Premetric == syntax.Squared {
			break
		}
		c := Contraction{Aggregate: f.Aggregate, Columns: n.comparedCodes(from, i, j),
			Factors:   comparedColumns(to, i, j, n.Values, n.Labels),
			Premetric: to.Premetric.String(), Period: to.Period}
		if c.Columns != nil && c.Factors != nil {
			return func(with Named, z *gorgonia.Node, in Inputs) (*gorgonia.Node, error) {
				return with.Contraction(c, z, in.Values, in.Labels)
			}
		}
	}
	return nil
}

// comparedCodes returns the columns if an equality compares the codes of two rows, and otherwise nil.
func (n finder) comparedCodes(e *program.Equality, i, j *program.Binder) []int {
	return comparedColumns(e, i, j, 0, n.Codes)
}

// comparedColumns returns the columns from lo to hi, minus lo, if an equality compares the same columns of two rows, or
// nil.
func comparedColumns(e *program.Equality, i, j *program.Binder, lo, hi int) (columns []int) {
	for _, x := range e.Difference {
		if len(x.Parts) != 2 || x.Offset != 0 {
			return nil
		}
		a, b := x.Parts[0], x.Parts[1]
		if a.Variable == j.Variable {
			a, b = b, a
		}
		if a.Variable != i.Variable || b.Variable != j.Variable || a.Column != b.Column || a.Column < lo ||
			a.Column >= hi || a.Weight*b.Weight != -1 || a.Weight+b.Weight != 0 {
			return nil
		}
		columns = append(columns, a.Column-lo)
	}
	if !allDifferent(columns) {
		return nil
	}
	return columns
}

// allDifferent reports whether no column occurs twice.
func allDifferent(columns []int) bool {
	for i, c := range columns {
		if slices.Contains(columns[:i], c) {
			return false
		}
	}
	return true
}
