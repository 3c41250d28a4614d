package metrics

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/dependence"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// HSIC is the Hilbert-Schmidt independence criterion of Gretton et al. 2005 of sub-codes, 0 or more: the loss of the
// same name over all rows instead of a batch. It is the sum over pairs of
//
//	1/n^2 trace(K H L H),  H = 1 - 1/n
//
// for the kernel matrices K and L of the rows. Between codes, the pairs are the sub-codes of different factors, or the
// columns if the images have no factors. Between factors, a pair is a sub-code and the factor of another sub-code, over
// the rows where that factor is known. Kernels of codes are Gaussian, exp(-|a - b|^2/(2 s^2)). Kernels of factors,
// mapped to [0, 1], are Gaussian. A circular factor lies on a circle of circumference 1; a categorical factor has 1 for
// equal levels. Independent codes have about 1/n for each pair.
//
// The default bandwidth s is the lower median distance of pairs of rows, or 1 if that is 0. Up to 362 rows all pairs
// count; larger inputs use 362 rows at equal steps. The time grows with the square of the number of rows; an input of
// more than Samples rows is reduced to Samples rows.
type HSIC struct {
	loss

	Codes     factor.SubCodes `yaml:"codes" doc:"columns of each factor's sub-code, such as {shape: [0, 1]}; empty: see assign"`
	Assign    Assign          `yaml:"assign" doc:"without codes: order (equal shares, in order) or best (the best column for each factor); empty: order if the shares come out equal, otherwise best"`
	Between   Between         `yaml:"between" doc:"codes (pairs of sub-codes) or factors (a sub-code and the other factors)"`
	Bandwidth float64         `yaml:"bandwidth" doc:"bandwidth of the codes' kernels, in units of the codes; 0: the median distance"`
	Samples   int             `yaml:"samples" doc:"largest number of rows to measure, chosen at random; 0: all rows"`
}

// Between names the pairs that should be independent.
type Between string

// The pairs.
const (
	betweenCodes   Between = "codes"
	betweenFactors Between = "factors"
)

// newHSIC returns the defaults.
func newHSIC() *HSIC { return &HSIC{Between: betweenCodes, Samples: 2000} }

// Variants implements Varied.
func (*HSIC) Variants() []Metric {
	return []Metric{newHSIC(), &HSIC{Between: betweenFactors, Bandwidth: 0.5, Samples: 200}}
}

// SetCodes implements SubCoded.
func (m *HSIC) SetCodes(c factor.SubCodes, a Assign) { m.Codes, m.Assign = c, a }

// Needs returns NoLevels between codes, where only columns matter, and KnownLevels between factors.
func (m *HSIC) Needs() Needs {
	if m.Between == betweenFactors {
		return KnownLevels
	}
	return NoLevels
}

// Validate checks the settings.
func (m *HSIC) Validate() error {
	return cmp.Or(
		rule(m.Between == betweenCodes || m.Between == betweenFactors, "between",
			"unknown pairs %q; want codes or factors", string(m.Between)),
		rule(m.Bandwidth >= 0 && !math.IsInf(m.Bandwidth, 0), "bandwidth", "%v; want 0 (the median) or more", m.Bandwidth),
		notNegative("samples", m.Samples, "all"),
		m.Assign.validate(),
	)
}

// Suits implements Selective.
func (m *HSIC) Suits(in *Input) error {
	switch {
	case m.alone(in) && in.Codes.Cols < 2:
		return fmt.Errorf("there is %d code column; want at least two, to have a pair", in.Codes.Cols)
	case m.alone(in):
		return nil
	case len(in.Factors) < 2:
		return wantFactors(in, 2)
	}
	_, err := planBlocks(in, m.Codes, m.Assign)
	return err
}

// alone reports whether every column is a separate sub-code, because the images have no known factors.
func (m *HSIC) alone(in *Input) bool {
	known := slices.ContainsFunc(in.Levels, func(l int) bool { return l != factor.Unknown })
	return m.Between == betweenCodes && len(m.Codes) == 0 && (in.factorless() || !known)
}

// Compute returns the grid hsic of the pairs.
func (m *HSIC) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	var r Result
	in, drawn, err := in.reduced(m.Samples)
	if err != nil {
		return Result{}, err
	}
	r.Basis.Rows = drawn
	if m.Bandwidth == 0 {
		in = in.sized(matrix.Matrix.ForSquares)
	}
	blocks, err := m.blocks(ctx, in)
	if err != nil {
		return Result{}, err
	}
	if m.Between == betweenFactors {
		r.Grids, err = m.withFactors(ctx, in, blocks)
	} else {
		r.Grids, err = m.withCodes(ctx, in, blocks)
	}
	if err != nil {
		return Result{}, err
	}
	for _, row := range r.Grids[0].Values {
		r.Value += factor.Sum.Of(row)
	}
	if m.Between == betweenCodes {
		r.Value /= 2 // the grid has each pair twice
	}
	return r, nil
}

// blocks returns the sub-codes.
func (m *HSIC) blocks(ctx context.Context, in *Input) ([]factor.Block, error) {
	if m.alone(in) {
		blocks := make([]factor.Block, in.Codes.Cols)
		for c := range blocks {
			blocks[c] = factor.Block{Factor: c, Columns: []int{c}}
		}
		return blocks, nil
	}
	blocks, err := planBlocks(in, m.Codes, m.Assign)
	if err == nil && blocks == nil {
		blocks, err = in.assigned(ctx)
	}
	return blocks, err
}

// withCodes compares every two sub-codes.
func (m *HSIC) withCodes(ctx context.Context, in *Input, blocks []factor.Block) ([]Grid, error) {
	g := Grid{Name: "hsic", Values: make([][]float64, len(blocks))}
	sides := make([]*dependence.Kernel, len(blocks))
	for i, b := range blocks {
		name := in.columnName(b.Columns[0])
		if !m.alone(in) {
			name = in.Factors[b.Factor].Name
		}
		sides[i], g.Values[i] = dependence.NewKernel(in.Codes, b.Columns, m.Bandwidth), make([]float64, len(blocks))
		g.Rows = append(g.Rows, name)
	}
	g.Columns = g.Rows
	values, err := dependence.HSIC(ctx, in.Codes.Rows, sides, func(i, j int) bool { return i < j })
	for i := range blocks {
		for j := i + 1; j < len(blocks) && err == nil; j++ {
			g.Values[i][j], g.Values[j][i] = values[i][j], values[i][j]
		}
	}
	return []Grid{g}, err
}

// withFactors compares every sub-code with the factor of every other sub-code, over the rows where that factor is
// known.
func (m *HSIC) withFactors(ctx context.Context, in *Input, blocks []factor.Block) ([]Grid, error) {
	g := Grid{Name: "hsic", Values: make([][]float64, len(blocks)), Columns: factor.Names(in.Factors)}
	for i, b := range blocks {
		g.Rows, g.Values[i] = append(g.Rows, in.Factors[b.Factor].Name), make([]float64, len(in.Factors))
	}
	for _, p := range in.knownParts() {
		if p.Codes.Rows == 0 {
			continue
		}
		k, values := len(p.factors), matrix.Matrix{Rows: p.Codes.Rows, Cols: len(p.factors), Data: p.factorRows(unitsRange)}
		var sides []*dependence.Kernel // of the factors, then of the sub-codes
		for at, f := range p.Factors {
			sides = append(sides, dependence.FactorKernel(f.Kind, values.Columns([]int{at}).Data))
		}
		for _, b := range blocks {
			sides = append(sides, dependence.NewKernel(p.Codes, b.Columns, m.Bandwidth))
		}
		others := func(a, b int) bool { return a < k && b >= k && blocks[b-k].Factor != p.factors[a] }
		found, err := dependence.HSIC(ctx, p.Codes.Rows, sides, others)
		if err != nil {
			return nil, err
		}
		for at, j := range p.factors {
			for i := range blocks {
				g.Values[i][j] = found[at][k+i]
			}
		}
	}
	return []Grid{g}, nil
}
