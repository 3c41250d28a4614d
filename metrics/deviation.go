package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics/internal/deviation"
	"github.com/unravel-ml/unravel/metrics/internal/information"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// SubCodeDeviation is the modularity metric of Zhang and Sugiyama 2024, sections 3.1 (variance, mad, radius) and 3.2
// (diameter, mpd), as in table 2. For factor i and its level v, let S(i, v) be the sub-codes z_i of all rows with that
// level. The value is
//
//	sum over factors i of aggregate over levels v of measure(S(i, v))
//
// over the levels that occur, 0 or more. It is 0 if every sub-code depends on its factor only, and for constant codes.
// The default aggregate is the maximum for radius and diameter and the mean for the others. It has the units of the
// codes (variance: squared units), and is not divided by the number of columns. The part score is e^-value.
//
// With Assign best every factor has one column; the metric ignores the remaining columns. For each pair of a column and
// a factor, consider the fraction of the column's variance that remains while the factor is fixed. The assignment
// minimises the sum of these fractions.
//
// Project finds the sub-codes when no columns are assigned to factors (appendix F.3: "linear projection to find the
// most informative representations for each factor"):
//
//   - linear: the sub-code of factor i is h_i(z), the best affine prediction of the factor from all columns in mean
//     square, over the rows where the factor is known. It has the units of the factor mapped to [0, 1]: levels as in
//     [LeftInverse], continuous factors by their range. The part explained is the fraction of the variance of each
//     factor that h_i explains.
//   - best: one column for each factor. The assignment maximises the sum of mutual information, in nats, with 20 bins
//     of equal width.
//   - blocks: the columns are divided into blocks of equal size, of adjacent columns, one block for each factor. The
//     assignment maximises the sum of the mutual information between a factor and the columns of its block.
//
// A sub-code with one column takes time n log n. With several columns, diameter and mpd take time n^2, and Samples
// limits n; fewer rows make diameter and radius smaller.
type SubCodeDeviation struct {
	knownLevels
	loss

	Deviation   factor.Deviation `yaml:"-"`
	Codes       factor.SubCodes  `yaml:"codes" doc:"columns of each factor's sub-code, such as {shape: [0, 1]}; empty: see assign"`
	Assign      Assign           `yaml:"assign" doc:"without codes: order (equal shares, in order) or best (the best column for each factor); empty: order if the shares come out equal, otherwise best; eval of files takes order only for one column each"`
	Project     Projection       `yaml:"project" doc:"instead of codes and assign: linear (each factor's best affine prediction from all columns, in [0, 1]), or by most mutual information: best (one column per factor) or blocks (equal shares)"`
	Aggregate   factor.Aggregate `yaml:"aggregate" doc:"aggregate over a factor's levels: mean, max, sum or mean-square"`
	Standardise bool             `yaml:"standardise" doc:"divide every column by its standard deviation first"`
	Samples     int              `yaml:"samples" doc:"largest number of random rows to measure, for sub-codes with several columns; 0: all rows"`
}

// NewSubCodeDeviation returns the metric of a deviation, with its defaults.
func NewSubCodeDeviation(d factor.Deviation) *SubCodeDeviation {
	s := &SubCodeDeviation{Deviation: d}
	if d == factor.Radius || d == factor.Diameter {
		s.Aggregate = factor.Max
	}
	if d == factor.Diameter || d == factor.MPD {
		s.Samples = 10000
	}
	return s
}

func (s *SubCodeDeviation) SetCodes(c factor.SubCodes, a Assign) {
	if s.Project == projectNone {
		s.Codes, s.Assign = c, a
	}
}

func (s *SubCodeDeviation) Validate() error {
	return cmp.Or(
		validAggregate(s.Aggregate),
		notNegative("samples", s.Samples, "all"),
		s.Assign.validate(),
		s.Project.validate(s.Codes, s.Assign),
	)
}

func (s *SubCodeDeviation) Suits(in *Input) error {
	if s.Project != projectNone {
		return s.Project.suits(in.Codes.Cols, len(in.Factors))
	}
	_, err := planBlocks(in, s.Codes, s.Assign)
	return err
}

// Compute returns the parts per_factor and score. The mean variance adds fraction, the remaining fraction of each
// sub-code's variance. Assign best, and Project best and blocks, add columns (the first column of each factor's
// sub-code). Project linear adds explained.
func (s *SubCodeDeviation) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, s, in); err != nil {
		return Result{}, err
	}
	codes, blocks, r, err := s.subCodes(ctx, in)
	if err != nil {
		return Result{}, err
	}
	if s.Deviation == factor.Variance && !s.Standardise {
		if err := codes.WantSquares(); err != nil {
			return Result{}, err
		}
	}
	var rows []int // nil: all rows
	if s.Samples > 0 && in.Codes.Rows > s.Samples &&
		slices.ContainsFunc(blocks, func(b factor.Block) bool { return len(b.Columns) > 1 }) {
		if rows, err = in.sample(s.Samples); err != nil {
			return Result{}, err
		}
		r.Basis.Rows = s.Samples
	}
	perFactor := Part{Name: "per_factor"}
	values := make([]float64, len(blocks))
	err = parallel.Each(ctx, len(blocks), func(i int) error {
		deviations, err := s.byLevel(ctx, in, codes, blocks[i], rows)
		if err != nil {
			return fmt.Errorf("factor %q: %w", in.Factors[blocks[i].Factor].Name, err)
		}
		values[i] = s.Aggregate.Of(deviations)
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	for i, b := range blocks {
		perFactor.add(in.Factors[b.Factor].Name, values[i])
		r.Value += values[i]
	}
	r.Parts = append([]Part{perFactor}, r.Parts...)
	r.Notes = append(r.Notes, in.constantBlockNotes(blocks)...)
	notes, err := s.bestColumnsNote(ctx, in, r.Value)
	if err != nil {
		return Result{}, err
	}
	r.Notes = append(r.Notes, notes...)
	if r, err = r.withScore(); err != nil || s.Deviation != factor.Variance || s.Aggregate != factor.Mean || rows != nil {
		return r, err
	}
	fraction, err := s.fractions(ctx, in, codes, blocks, values)
	r.Parts = append(r.Parts, fraction)
	return r, err
}

// bestColumnsNote returns a note if the best column of each factor halves the value of the columns in order. Without it,
// codes of another program look entangled if their columns have another order.
func (s *SubCodeDeviation) bestColumnsNote(ctx context.Context, in *Input, value float64) ([]string, error) {
	if len(s.Codes) > 0 || s.Assign != AssignAuto || s.Project != projectNone || in.Codes.Cols != len(in.Factors) {
		return nil, nil
	}
	blocks, err := in.bestBlocks(ctx)
	if err != nil || !slices.ContainsFunc(blocks, func(b factor.Block) bool { return b.Columns[0] != b.Factor }) {
		return nil, err
	}
	best := *s
	best.Assign = AssignBest
	r, err := best.Compute(ctx, in)
	if err != nil || r.Value >= value/2 {
		return nil, err
	}
	return []string{fmt.Sprintf("factors get the columns in order; with assign: best the value is %.4g (%s)",
		r.Value, describe(in, blocks))}, nil
}

// Levels returns a part for every factor: the deviation of its sub-code at each level that occurs. The metric
// aggregates these. The errors are the same as for Compute.
func (s *SubCodeDeviation) Levels(ctx context.Context, in *Input) ([]Part, error) {
	if err := ready(ctx, s, in); err != nil {
		return nil, err
	}
	codes, blocks, _, err := s.subCodes(ctx, in)
	if err != nil {
		return nil, err
	}
	parts := make([]Part, len(blocks))
	return parts, parallel.Each(ctx, len(blocks), func(i int) (err error) {
		parts[i].Name = in.Factors[blocks[i].Factor].Name
		parts[i].Values, err = s.byLevel(ctx, in, codes, blocks[i], nil)
		return err
	})
}

// fractions returns the part fraction: the mean variance of each sub-code while its factor is fixed, divided by its
// total variance. It does not depend on the scale of the codes; constant sub-codes have 0.
func (s *SubCodeDeviation) fractions(
	ctx context.Context, in *Input, codes matrix.Matrix, blocks []factor.Block, remaining []float64,
) (Part, error) {
	part := Part{Name: "fraction"}
	for i, b := range blocks {
		name, columns := in.Factors[b.Factor].Name, len(b.Columns)
		if err := ctx.Err(); err != nil {
			return part, fmt.Errorf("factor %q: %w", name, err)
		}
		rows := in.rowsWhere(func(levels []int) bool { return levels[b.Factor] != factor.Unknown })
		points := matrix.Matrix{Rows: codes.Rows, Cols: columns, Data: deviation.Points(codes, b.Columns, s.Standardise)}
		share := 0.0
		if len(rows) > 0 {
			if total := s.Aggregate.Of([]float64{deviation.Variance(points.Take(rows), columns)}); total > 0 {
				share = remaining[i] / total
			}
		}
		part.add(name, share)
	}
	return part, nil
}

// subCodes returns the codes to measure, the columns of each factor, and a result that records the choice.
func (s *SubCodeDeviation) subCodes(
	ctx context.Context, in *Input,
) (codes matrix.Matrix, blocks []factor.Block, r Result, err error) {
	if s.Project == projectNone {
		if blocks, err = planBlocks(in, s.Codes, s.Assign); err != nil || blocks != nil {
			return in.Codes, blocks, r, err
		}
		if blocks, err = in.bestBlocks(ctx); err != nil {
			return in.Codes, nil, r, err
		}
		return in.Codes, blocks, Result{Parts: []Part{columnsPart(in, blocks)}, Notes: []string{describe(in, blocks)}}, nil
	}
	if codes, blocks, r.Parts, err = s.Project.project(ctx, in); err != nil {
		return codes, nil, r, err
	}
	r.Basis.recordProjection(s.Project, in)
	if s.Project != projectLinear {
		r.Notes = append(r.Notes, describe(in, blocks))
	}
	return codes, blocks, r, nil
}

// byLevel returns the deviation of one factor's sub-code at each level. A sub-code with several columns uses the given
// rows (nil: all), and one with a single column all rows.
func (s *SubCodeDeviation) byLevel(
	ctx context.Context, in *Input, codes matrix.Matrix, b factor.Block, rows []int,
) ([]float64, error) {
	k := len(b.Columns)
	if k == 1 {
		rows = nil
	}
	points, groups := deviation.Points(codes, b.Columns, s.Standardise), in.table().Groups(b.Factor, rows)
	return deviation.ByLevel(ctx, points, k, groups, deviation.New(ctx, s.Deviation, k))
}

// Assign is the rule that assigns code columns to factors if a config does not name them.
type Assign string

// The rules.
const (
	AssignAuto  Assign = ""      // order if the columns divide evenly among the factors, otherwise best
	AssignOrder Assign = "order" // equally many columns for each factor, in order
	AssignBest  Assign = "best"  // one column for each factor: the column that varies least while the factor is fixed
)

func (a Assign) validate() error {
	return rule(a == AssignAuto || a == AssignOrder || a == AssignBest, "assign",
		"unknown assignment %q; want order or best, or nothing", string(a))
}

func validAggregate(a factor.Aggregate) error {
	return rule(a.Known(), "aggregate", "unknown aggregate %v; want mean, max, sum or mean-square", a)
}

var errNoSubCodes = errors.New("there are no factors; want at least one, to have a sub-code")

// planBlocks returns the sub-codes of factors, or nil if [Input.bestBlocks] has to find them.
func planBlocks(in *Input, codes factor.SubCodes, a Assign) ([]factor.Block, error) {
	d, k, factors := in.Codes.Cols, len(in.Factors), in.codeFactors()
	switch {
	case k == 0:
		return nil, errNoSubCodes
	case len(codes) > 0:
		blocks, err := codes.Blocks("codes", factors, d)
		if blocks = in.ownBlocks(blocks); err == nil && len(blocks) == 0 {
			err = errors.New("codes: no factor with columns has a known level; want columns of another factor")
		}
		return blocks, err
	case a == AssignBest || a == AssignAuto && d%len(factors) != 0:
		if d < k {
			return nil, fmt.Errorf("codes have %s; want at least one for each of the %d factors", wording.Count(d, "column"), k)
		}
		return nil, nil
	}
	blocks, err := factor.EvenBlocks(factors, d)
	if err != nil {
		return nil, fmt.Errorf("%w, or assign: best", err)
	}
	return in.ownBlocks(blocks), nil
}

// bestBlocks returns the best column of each factor, from the rows where some factor is known.
func (in *Input) bestBlocks(ctx context.Context) ([]factor.Block, error) {
	if rows := in.labelledRows(); len(rows) > 0 && len(rows) < in.Codes.Rows {
		in = in.subset(numeric.UpTo(len(in.Factors)), rows)
	}
	return deviation.Assign(ctx, in.Codes, in.table())
}

// describe formats sub-codes as a note: "columns of factors: x 0, y 1".
func describe(in *Input, blocks []factor.Block) string {
	var parts []string
	for _, b := range blocks {
		columns := fmt.Sprint(in.columnNumbers("", b.Columns).Values)
		parts = append(parts, in.Factors[b.Factor].Name+" "+strings.Trim(columns, "[]"))
	}
	return "columns of factors: " + strings.Join(parts, ", ")
}

// SubCoded is implemented by metrics that measure the sub-codes of factors.
type SubCoded interface {
	// SetCodes sets the code columns of each factor's sub-code, or the rule that assigns them. A metric with a
	// projection in its settings keeps the projection and ignores both arguments.
	SetCodes(factor.SubCodes, Assign)
}

// Projection finds each factor's sub-code if a config names none (Zhang and Sugiyama 2024, appendix F.3).
type Projection string

// The rules.
const (
	projectNone   Projection = ""       // no projection: columns are named, or assigned by [Assign]
	projectLinear Projection = "linear" // the best affine prediction of the factor from all columns: one new column for each factor
	projectBest   Projection = "best"   // one column for each factor; maximises the sum of mutual information
	projectBlocks Projection = "blocks" // equally many adjacent columns for each factor, in the same way
)

// validate rejects a projection together with settings that it excludes.
func (p Projection) validate(codes factor.SubCodes, a Assign) error {
	switch p {
	case projectNone:
		return nil
	case projectLinear, projectBest, projectBlocks:
	default:
		return config.Invalid("project", "unknown projection %q; want linear, best or blocks, or nothing", string(p))
	}
	if len(codes) > 0 || a != AssignAuto {
		return config.Invalid("project", "%s itself finds the sub-codes of all factors; want no codes and no assign",
			string(p))
	}
	return nil
}

// suits returns an error if codes with d columns cannot be projected to k factors.
func (p Projection) suits(d, k int) error {
	switch {
	case k == 0:
		return errNoSubCodes
	case p == projectBest && d < k:
		return fmt.Errorf("codes have %s; want at least one for each of the %d factors, or project: linear",
			wording.Count(d, "column"), k)
	case p == projectBlocks && (d < k || d%k != 0):
		return fmt.Errorf("%d code columns cannot be divided evenly among %d factors; want a multiple of them, or project: linear or best", d, k)
	}
	return nil
}

// project returns codes, the columns of each factor's sub-code, and parts that describe the sub-codes.
func (p Projection) project(ctx context.Context, in *Input) (matrix.Matrix, []factor.Block, []Part, error) {
	if p == projectLinear {
		return in.affineCodes(ctx)
	}
	width := 1
	if p == projectBlocks {
		width = in.Codes.Cols / len(in.codeFactors())
	}
	x, err := in.information(ctx, mutual.Library())
	if err != nil {
		return in.Codes, nil, nil, err
	}
	blocks := information.Assign(x.Mutual, width)
	return in.Codes, blocks, []Part{columnsPart(in, blocks)}, nil
}

// affineCodes returns as codes the best affine prediction of each factor: 0 where the factor is unknown.
func (in *Input) affineCodes(ctx context.Context) (codes matrix.Matrix, blocks []factor.Block, parts []Part, err error) {
	n, k := in.Codes.Rows, len(in.Factors)
	codes = matrix.Matrix{Rows: n, Cols: k, Data: make([]float64, n*k)}
	explained := in.perFactor(make([]float64, k))
	explained.Name = "explained"
	for _, p := range in.knownParts() {
		if p.Codes.Rows == 0 {
			continue
		}
		predicted, shares, err := predict.Affine(ctx, p.Codes, p.factorRows(unitsRange), len(p.factors))
		if err != nil {
			return codes, nil, nil, err
		}
		for index, j := range p.factors {
			explained.Values[j] = shares[index]
			for i := range p.Codes.Rows {
				row := i
				if p.rows != nil {
					row = p.rows[i]
				}
				codes.Data[row*k+j] = predicted[i*len(p.factors)+index]
			}
		}
	}
	for j := range in.Factors {
		blocks = append(blocks, factor.Block{Factor: j, Columns: []int{j}})
	}
	return codes, blocks, []Part{explained}, nil
}

// IRS is the interventional robustness score of Suter et al. 2019, section 4, as
// disentanglement_lib computes it. For code column d and factor j,
//
//	IRS_dj = 1 - mean over levels of j of q_dj / max |z_d - mean z_d|
//
// where q_dj is a quantile, over the rows with one level of factor j, of the distance |z_d - mean of these rows|. The
// value is the mean over columns of the largest IRS_dj over factors, weighted by max |z_d - mean z_d|. It is 1 if every
// column is a function of one factor. It is about 0, or slightly below, if the other factors move every column as far
// as all factors together. Constant columns are left out; if all columns are constant, the value is 0.
//
// The rows need not form a grid. All levels of a factor have equal weight, whatever their number of rows, and levels
// without rows do not count. The largest deviation of a column is taken over all rows with a known level.
//
// The paper uses Quantile 1, the maximum; the library's default is 0.99. The library groups the levels of a factor into
// 20 bins of equal width; Bins 0 keeps all levels separate.
type IRS struct {
	knownLevels

	Quantile float64 `yaml:"quantile" doc:"quantile of the deviations at a level; 1: the largest, as in the paper"`
	Bins     int     `yaml:"bins" doc:"number of bins for a factor's levels; 0: each level alone"`
}

func (*IRS) Better() Direction { return HigherIsBetter }

// Range implements Bounded. The codes of a level can be farther from their own mean than any code is from the overall
// mean, but less than twice as far.
func (*IRS) Range() (least, most float64) { return -1, 1 }

func (m *IRS) Validate() error {
	return cmp.Or(
		rule(m.Quantile >= 0 && m.Quantile <= 1, "quantile", "%v is out of range; want 0 to 1", m.Quantile),
		rule(m.Bins >= 0 && m.Bins <= mutual.MaxBins, "bins",
			"%d is out of range; want 0 (none) to %d", m.Bins, mutual.MaxBins),
	)
}

// Compute returns the parts per_column, per_factor (the largest IRS of a column) and max_deviation (the weights of the
// columns, in units of the codes). The grid irs has rows for columns and columns for factors.
func (m *IRS) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := readyWithLevels(ctx, m, in); err != nil {
		return Result{}, err
	}
	d, k := in.Codes.Cols, len(in.Factors)
	groups := make([]*levels.Groups, k)
	for j := range groups {
		groups[j] = in.table().Binned(j, m.Bins)
	}
	rows, largest := make([][]float64, d), make([]float64, d)
	err := parallel.Each(ctx, d, func(c int) (err error) {
		rows[c], largest[c], err = deviation.Robustness(ctx, in.Codes, c, groups, m.Quantile)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	columns, deviations, factors := Part{Name: "per_column"}, Part{Name: "max_deviation"},
		Part{Name: "per_factor", Values: make([]float64, k)}
	g := Grid{Name: "irs", Columns: factor.Names(in.Factors)}
	factors.Labels = g.Columns
	for c, row := range rows {
		if largest[c] == 0 {
			continue
		}
		g.Rows, g.Values = append(g.Rows, in.columnName(c)), append(g.Values, row)
		columns.Values = append(columns.Values, slices.Max(row))
		deviations.Values = append(deviations.Values, largest[c])
		for j, v := range row {
			factors.Values[j] = max(factors.Values[j], v)
		}
	}
	columns.Labels, deviations.Labels = g.Rows, g.Rows
	r := Result{Notes: in.constantNotes()}
	if n := d - len(g.Rows); n > 0 {
		r.note("%d of %d columns are constant and left out", n, d)
	}
	if len(g.Rows) == 0 {
		return r, nil
	}
	// relative to the largest, the weights have a finite sum
	largestDeviation, weights := slices.Max(deviations.Values), make([]float64, len(columns.Values))
	for i, v := range deviations.Values {
		weights[i] = v / largestDeviation
	}
	r.Value = mutual.WeightedMean(columns.Values, weights)
	r.Parts, r.Grids = []Part{columns, factors, deviations}, []Grid{g}
	return r, nil
}

// Manipulated measures to what degree a single code column changes while one factor varies and all others are fixed
// (Cao et al. 2022, section 4.3 and appendix B.4, figures 3 and 12, which show the variances as bars). Let V_ij be the
// variance of column i while factor j varies ([Manipulation]). The value is the mean over factors of
//
//	max over i of V_ij / sum over i of V_ij
//
// 1 if only one column changes with every factor, 1/D if all D columns change equally. With Components, the principal
// components of the codes replace the columns. A factor is left out, with a note, if no two images differ in it alone,
// or if no column changes with it.
type Manipulated struct {
	knownLevels
	twoFactors
	share

	Reduction `yaml:",inline"`
}

func (m *Manipulated) Validate() error { return m.Reduction.validate() }

// Compute returns the part per_factor, the largest share of any column, and the grid manipulation, with the variances.
// Both contain only the factors that count.
func (m *Manipulated) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	in, err := m.reduce(in)
	if err != nil {
		return Result{}, err
	}
	if in.Stream == nil {
		return Result{}, errNoStream
	}
	var r Result
	g, err := Manipulation(ctx, in, in.Stream)
	if err != nil {
		return Result{}, err
	}
	if g.Name != gridOfVariances {
		r.Notes = append(r.Notes, "the grid is "+g.Name+", as the squares of the codes overflow or vanish")
	}
	part, moved := Part{Name: "per_factor"},
		Grid{Name: gridOfVariances, Rows: g.Rows, Values: make([][]float64, len(g.Rows))}
	for j, column := range mutual.Transposed(g.Values) {
		name := g.Columns[j]
		share := deviation.LargestShare(column)
		if math.IsNaN(share) { // no column changes, or variances are infinite
			r.Notes = append(r.Notes, "no column moves while "+name+" alone varies, or no two images differ in it alone")
			continue
		}
		moved.Columns = append(moved.Columns, name)
		for i, v := range column {
			moved.Values[i] = append(moved.Values[i], v)
		}
		part.add(name, share)
	}
	if len(part.Values) > 0 {
		r.Value = factor.Mean.Of(part.Values)
	}
	r.Parts, r.Grids = []Part{part}, []Grid{moved}
	return r, nil
}

// manipulatedRows is the number of rows that Manipulation measures for each factor, rounded up to whole groups.
const manipulatedRows = 20000

const gridOfVariances = "manipulation"

// Manipulation returns the variance of every code column while one factor varies and all others are fixed (Cao et al.
// 2022, section 4.3, figures 3 and 12), in squared units of the codes. Images with equal values of all other factors
// form a group. The variance is the sum of squared distances from the mean of the group, divided by the number of
// images minus the number of groups. Groups are drawn at random, without replacement, until they contain 20,000 images.
// The grid has a row for each code column and a column for each factor; it is NaN if no two images differ in that
// factor alone. Images with an unknown level are left out, and so are factors without a known level. If squares of
// codes would overflow or vanish, the codes are divided by a power of two, which the grid's name states. Errors: an
// invalid input, no stream, and the end of the context.
func Manipulation(ctx context.Context, in *Input, s *rng.Stream) (Grid, error) {
	if err := in.Validate(); err != nil {
		return Grid{}, err
	}
	if s == nil {
		return Grid{}, errNoStream
	}
	in = in.completeRows()
	k, name := len(in.Factors), gridOfVariances
	if rescaled := in.rescaled(matrix.Matrix.ForSquares); rescaled != in {
		name, in = fmt.Sprintf("%s of codes divided by 2^%d", gridOfVariances, in.Codes.Exponent()), rescaled
	}
	g := in.byFactor(name, numeric.Zeros(in.Codes.Cols, k))
	for j := range in.Factors {
		groups, freedom := deviation.Draw(in.table().Alone(j), manipulatedRows, s)
		err := parallel.Each(ctx, in.Codes.Cols, func(c int) error {
			g.Values[c][j] = math.NaN()
			if freedom > 0 {
				g.Values[c][j] = deviation.Within(in.Codes, groups, c) / float64(freedom)
			}
			return nil
		})
		if err != nil {
			return Grid{}, err
		}
	}
	return g, nil
}
