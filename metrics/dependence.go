package metrics

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics/internal/dependence"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// HSIC is the Hilbert-Schmidt independence criterion of Gretton et al. 2005 between sub-codes, 0 or more. The loss of
// the same name computes it on a batch, and the metric on all rows. It is the sum over pairs of
//
//	1/n^2 trace(K H L H),  H = 1 - 1/n
//
// for the kernel matrices K and L of the rows. With Between codes, the pairs are the sub-codes of different factors, or
// single columns if the images have no factors. With Between factors, each sub-code is paired with the factor of every
// other sub-code, over the rows where that factor is known. Kernels of codes are Gaussian, exp(-|a - b|^2/(2 s^2)).
// Kernels of factors, mapped to [0, 1], are Gaussian. A circular factor lies on a circle of circumference 1; the kernel
// of a categorical factor is 1 for equal levels and 0 otherwise. For independent columns, each pair adds about 0.2/n.
//
// The default bandwidth s is the lower median of the distances between rows, or 1 if that median is 0. The median uses
// all pairs of up to 362 rows; a larger input contributes 362 evenly spaced rows. The time grows with the square of the
// number of rows; an input with more than Samples rows is subsampled to Samples rows.
type HSIC struct {
	loss

	Codes     factor.SubCodes `yaml:"codes" doc:"columns of each factor's sub-code, such as {shape: [0, 1]}; empty: see assign"`
	Assign    Assign          `yaml:"assign" doc:"without codes: order (equal shares, in order) or best (the best column for each factor); empty: order if the shares come out equal, otherwise best; eval of files takes order only for one column each"`
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

func newHSIC() *HSIC { return &HSIC{Between: betweenCodes, Samples: 2000} }

func (*HSIC) Variants() []Metric {
	return []Metric{newHSIC(), &HSIC{Between: betweenFactors, Bandwidth: 0.5, Samples: 200}}
}

func (m *HSIC) SetCodes(c factor.SubCodes, a Assign) { m.Codes, m.Assign = c, a }

// Needs returns NoLevels between codes, which only uses columns, and KnownLevels between factors.
func (m *HSIC) Needs() Needs {
	if m.Between == betweenFactors {
		return KnownLevels
	}
	return NoLevels
}

func (m *HSIC) Validate() error {
	return cmp.Or(
		oneOf("between", "pairs", m.Between, betweenCodes, betweenFactors),
		rule(m.Bandwidth >= 0 && !math.IsInf(m.Bandwidth, 0), "bandwidth", "%v; want 0 (the median) or more", m.Bandwidth),
		notNegative("samples", m.Samples, "all"),
		m.Assign.validate(),
	)
}

func (m *HSIC) Suits(in *Input) error {
	switch {
	case m.byColumn(in) && in.Codes.Cols < 2:
		return fmt.Errorf("there is %d code column; want at least two, to have a pair", in.Codes.Cols)
	case m.byColumn(in):
		return nil
	case len(in.Factors) < 2:
		return wantFactors(in, 2)
	}
	_, err := planBlocks(in, m.Codes, m.Assign)
	return err
}

// byColumn reports whether every column is a separate sub-code, because the images have no known factors.
func (m *HSIC) byColumn(in *Input) bool {
	known := slices.ContainsFunc(in.Levels, func(l int) bool { return l != factor.Unknown })
	return m.Between == betweenCodes && len(m.Codes) == 0 && (in.factorless() || !known)
}

// Compute returns the grid hsic, with the value of each pair.
func (m *HSIC) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	var r Result
	in, sampleSize, err := in.atMostRows(m.Samples)
	if err != nil {
		return Result{}, err
	}
	r.Basis.Rows = sampleSize
	if m.Bandwidth == 0 {
		in = in.rescaled(matrix.Matrix.ForSquares)
	}
	blocks, err := m.blocks(ctx, in)
	if err != nil {
		return Result{}, err
	}
	if !m.byColumn(in) {
		r.Notes = in.constantBlockNotes(blocks)
	}
	if m.Between == betweenFactors {
		r.Grids, err = m.subCodesWithFactors(ctx, in, blocks)
	} else {
		r.Grids, err = m.betweenSubCodes(ctx, in, blocks)
	}
	if err != nil {
		return Result{}, err
	}
	for _, row := range r.Grids[0].Values {
		r.Value += factor.Sum.Of(row)
	}
	if m.Between == betweenCodes {
		r.Value /= 2 // the grid holds each pair twice
	}
	return r, nil
}

func (m *HSIC) blocks(ctx context.Context, in *Input) ([]factor.Block, error) {
	if m.byColumn(in) {
		blocks := make([]factor.Block, in.Codes.Cols)
		for c := range blocks {
			blocks[c] = factor.Block{Factor: c, Columns: []int{c}}
		}
		return blocks, nil
	}
	blocks, err := planBlocks(in, m.Codes, m.Assign)
	if err == nil && blocks == nil {
		blocks, err = in.bestBlocks(ctx)
	}
	return blocks, err
}

func (m *HSIC) betweenSubCodes(ctx context.Context, in *Input, blocks []factor.Block) ([]Grid, error) {
	g := Grid{Name: "hsic"}
	sides := make([]*dependence.Kernel, len(blocks))
	for i, b := range blocks {
		name := in.columnName(b.Columns[0])
		if !m.byColumn(in) {
			name = in.Factors[b.Factor].Name
		}
		sides[i] = dependence.NewKernel(in.Codes, b.Columns, m.Bandwidth)
		g.Rows = append(g.Rows, name)
	}
	g.Columns = g.Rows
	var err error
	g.Values, err = dependence.HSIC(ctx, in.Codes.Rows, sides, func(i, j int) bool { return i < j })
	for i, row := range g.Values {
		for j := range i {
			row[j] = g.Values[j][i]
		}
	}
	return []Grid{g}, err
}

// subCodesWithFactors compares every sub-code with the factors of the other sub-codes, over the rows where the factor is
// known.
func (m *HSIC) subCodesWithFactors(ctx context.Context, in *Input, blocks []factor.Block) ([]Grid, error) {
	g := Grid{Name: "hsic", Values: numeric.Zeros(len(blocks), len(in.Factors)), Columns: factor.Names(in.Factors)}
	for _, b := range blocks {
		g.Rows = append(g.Rows, in.Factors[b.Factor].Name)
	}
	for _, p := range in.knownParts() {
		if p.Codes.Rows == 0 {
			continue
		}
		k, values := len(p.factors), matrix.Matrix{Rows: p.Codes.Rows, Cols: len(p.factors), Data: p.factorRows(unitsRange)}
		var sides []*dependence.Kernel // kernels of the factors, then of the sub-codes
		for index, f := range p.Factors {
			sides = append(sides, dependence.FactorKernel(f.Kind, values.Columns([]int{index}).Data))
		}
		for _, b := range blocks {
			sides = append(sides, dependence.NewKernel(p.Codes, b.Columns, m.Bandwidth))
		}
		differentFactor := func(a, b int) bool { return a < k && b >= k && blocks[b-k].Factor != p.factors[a] }
		hsic, err := dependence.HSIC(ctx, p.Codes.Rows, sides, differentFactor)
		if err != nil {
			return nil, err
		}
		for index, j := range p.factors {
			for i := range blocks {
				g.Values[i][j] = hsic[index][k+i]
			}
		}
	}
	return []Grid{g}, nil
}

// MutualInformation is the mutual information score of disentanglement_lib (Locatello et al. 2019, section 5.2). It is
// the mean over pairs of different code columns of the mutual information, in nats, of their bins. It uses no factors.
// Time grows with the square of the number of columns.
type MutualInformation struct {
	noLevels
	loss

	mutual.Histogram `yaml:",inline"`
}

// TotalCorrelation is the total correlation, in nats, of a normal distribution with the covariance S of the codes
// (Locatello et al. 2019, section 5.2):
//
//	1/2 (sum ln S_ii - ln det S)
//
// It is 0 for uncorrelated columns. Constant columns are left out. A column that is a linear function of the others
// would make it infinite, and is an error.
type TotalCorrelation struct {
	noLevels
	loss
}

// WassersteinCorrelation is the squared 2-Wasserstein distance between two normal distributions, as disentanglement_lib
// computes it, in squared units of the codes. Their covariances are the covariance S of the codes and the diagonal D of
// S:
//
//	2 tr S - 2 tr (D S)^(1/2)
//
// The part normalised is the value divided by tr S.
type WassersteinCorrelation struct {
	noLevels
	loss
}

func (m *MutualInformation) Validate() error { return m.Histogram.Check() }

func (*MutualInformation) Suits(in *Input) error {
	if in.Codes.Cols < 2 {
		return fmt.Errorf("there is %d code column; want at least two, to have a pair", in.Codes.Cols)
	}
	return nil
}

func (*TotalCorrelation) Suits(in *Input) error {
	if n, d := in.Codes.Rows, in.Codes.Cols; n <= d {
		return fmt.Errorf("%s of %d columns; want at least %d, or their covariance has no inverse",
			wording.Count(n, "code"), d, d+1)
	}
	return nil
}

func (*WassersteinCorrelation) Suits(in *Input) error {
	if in.Codes.Rows < 2 {
		return fmt.Errorf("there is %d code; want at least two, to have a covariance", in.Codes.Rows)
	}
	return nil
}

// Compute returns the part per_column (mean mutual information with the other columns) and the grid mutual_information
// of columns, with entropies on the diagonal.
func (m *MutualInformation) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	information, err := mutual.Between(ctx, in.Codes, m.Histogram, in.shared)
	if err != nil {
		return Result{}, err
	}
	names := in.columnNames(nil)
	g := Grid{Name: "mutual_information", Rows: names, Columns: names, Values: information}
	part, constant := Part{Name: "per_column", Labels: names}, 0
	for c, row := range g.Values {
		if row[c] == 0 {
			constant++
		}
		var sum float64
		for b, v := range row {
			if b != c {
				sum += v
			}
		}
		part.Values = append(part.Values, sum/float64(len(row)-1))
	}
	r := Result{Value: factor.Mean.Of(part.Values), Parts: []Part{part}, Grids: []Grid{g}}
	if constant > 0 {
		r.note("%d of %d columns are constant and count as 0", constant, in.Codes.Cols)
	}
	return r, nil
}

// Compute returns the grid correlation of the non-constant columns.
func (t *TotalCorrelation) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, t, in); err != nil {
		return Result{}, err
	}
	value, columns, correlations, err := dependence.TotalCorrelation(in.Codes)
	if err != nil {
		return Result{}, err
	}
	r := Result{Value: value}
	if d := in.Codes.Cols; len(columns) < d {
		r.note("%d of %d columns are constant and left out", d-len(columns), d)
	}
	if len(columns) > 0 {
		names := in.columnNames(columns)
		r.Grids = []Grid{{Name: "correlation", Rows: names, Columns: names, Values: correlations}}
	}
	return r, nil
}

// Compute returns the part normalised and the grid covariance (n-1 degrees of freedom).
func (w *WassersteinCorrelation) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, w, in); err != nil {
		return Result{}, err
	}
	if err := in.Codes.WantSquares(); err != nil {
		return Result{}, err
	}
	codes, exponent := in.Codes.ForSquares() // D S has fourth powers of the codes
	value, trace, covariance, err := dependence.WassersteinCorrelation(codes)
	if err != nil {
		return Result{}, err
	}
	names := in.columnNames(nil)
	g := Grid{Name: "covariance", Rows: names, Columns: names, Values: covariance}
	normalised := Part{Name: "normalised", Values: []float64{0}}
	r := Result{Value: math.Ldexp(value, 2*exponent), Parts: []Part{normalised}, Grids: []Grid{g}}
	for _, row := range g.Values {
		for c := range row {
			row[c] = math.Ldexp(row[c], 2*exponent)
		}
	}
	if trace > 0 {
		normalised.Values[0] = value / trace
	} else {
		r.Notes = append(r.Notes, "all columns are constant")
	}
	return r, nil
}

// CodeSpread is the collapse diagnostic of Chen and He 2021, section 4.1. Let u = z/|z| be the normalised code of d
// columns. The value is sqrt(d) times the mean over columns c of the standard deviation of u_c over rows. It is 0 if
// all codes point in one direction (collapse), and about 1 if directions are uniform. It uses no factors. Models of two
// views log this value for each batch under the name spread.
type CodeSpread struct {
	noLevels
}

func (*CodeSpread) Better() Direction            { return HigherIsBetter }
func (*CodeSpread) Range() (least, most float64) { return 0, math.Inf(1) }

// Compute returns only the value, without parts.
func (m *CodeSpread) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	value, err := dependence.Spread(ctx, in.Codes)
	return Result{Value: value}, err
}

// ActiveCodes is a rule: the code columns are active in the rows where a factor has one of the given levels. The
// columns are inactive in all other rows, including rows where the factor is unknown.
type ActiveCodes struct {
	Columns []int  `yaml:"columns" doc:"columns of the codes"`
	Factor  string `yaml:"factor" doc:"name of the factor"`
	Levels  []int  `yaml:"levels" doc:"levels of the factor at which the columns are active"`
}

// ConditionalTC is the total correlation, in nats, of codes with inactive columns (Ross and Doshi-Velez 2021, section
// 5.2). The loss of the same name uses a discriminator; the metric assumes normal distributions with the covariances of
// the codes. Let the set A_p of active columns be the same in m_p of the n rows. Let u be the codes standardised by
// column, with the mean and standard deviation over the rows where the column is active. The value is
//
//	sum over p of m_p/n (sum over d in A_p of mean_p u_d^2 - |A_p| - ln det cov_p u) / 2
//
// A set of active columns adds 0 if fewer than two of its columns vary, or if it has at most as many rows as varying
// columns. If all columns are always active, the value is [TotalCorrelation]. It is 0 if columns that are active
// together are uncorrelated. It can be slightly below 0 if the variance of a column differs between sets.
//
// Active determines the active columns. Without it, the hierarchy of the codes does: a column is inactive where its
// value is 0.
type ConditionalTC struct {
	noLevels

	Active []ActiveCodes `yaml:"active" doc:"factor levels at which columns are active, such as [{columns: [2, 3], factor: shape, levels: [0]}]; unlisted columns are always active. Empty: a column is inactive where its code is 0, as in hierarchical codes"`
}

func (*ConditionalTC) Better() Direction            { return LowerIsBetter }
func (*ConditionalTC) Range() (least, most float64) { return math.Inf(-1), math.Inf(1) }

func (m *ConditionalTC) Validate() error {
	for i, a := range m.Active {
		if len(a.Columns) == 0 || len(a.Levels) == 0 {
			return config.Invalid(fmt.Sprintf("active.%d", i), "want at least one column and one level")
		}
	}
	return nil
}

func (m *ConditionalTC) Suits(in *Input) error {
	if len(m.Active) == 0 && in.Hierarchy == nil {
		return MissingHierarchy
	}
	names := factor.Names(in.Factors)
	for i, a := range m.Active {
		k := slices.Index(names, a.Factor)
		if k < 0 {
			return config.Invalid(fmt.Sprintf("active.%d.factor", i), "there is no factor %q; the factors are %s",
				a.Factor, strings.Join(names, ", "))
		}
		for _, c := range a.Columns {
			if c < 0 || c >= in.Codes.Cols {
				return config.Invalid(fmt.Sprintf("active.%d.columns", i), "there is no column %d; codes have columns 0 to %d",
					c, in.Codes.Cols-1)
			}
		}
		for _, l := range a.Levels {
			if l < 0 || l >= in.Factors[k].Size {
				return config.Invalid(fmt.Sprintf("active.%d.levels", i), "there is no level %d; %s has levels 0 to %d",
					l, a.Factor, in.Factors[k].Size-1)
			}
		}
	}
	return nil
}

// Compute returns the part per_pattern: the total correlation for each set of active columns.
func (m *ConditionalTC) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	patterns, excluded, err := dependence.ConditionalTC(ctx, in.Codes, m.mask(in), in.columnName)
	if err != nil {
		return Result{}, err
	}
	var r Result
	part := Part{Name: "per_pattern"}
	for _, p := range patterns {
		r.Value += p.Value * float64(p.Rows) / float64(in.Codes.Rows)
		part.add(p.Name, p.Value)
		r.Basis.countGroups([]int{p.Rows})
	}
	if r.Basis.Groups == 0 {
		r.Notes = append(r.Notes, "no two columns are active together and vary")
	}
	if excluded > 0 {
		r.Basis.Rows = in.Codes.Rows - excluded
		r.Basis.Excluded = []Exclusion{{Rows: excluded, Why: "with active columns of too few rows"}}
	}
	r.Parts = []Part{part}
	return r, nil
}

// mask returns the active columns of every row.
func (m *ConditionalTC) mask(in *Input) [][]bool {
	mask, k := make([][]bool, in.Codes.Rows), len(in.Factors)
	names := factor.Names(in.Factors)
	for i := range mask {
		mask[i] = make([]bool, in.Codes.Cols)
		for c := range mask[i] {
			mask[i][c] = len(m.Active) > 0 || math.Abs(in.Codes.Row(i)[c]) > inactive
		}
		for _, a := range m.Active {
			active := slices.Contains(a.Levels, in.Levels[i*k+slices.Index(names, a.Factor)])
			for _, c := range a.Columns {
				mask[i][c] = mask[i][c] && active
			}
		}
	}
	return mask
}
