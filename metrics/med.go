package metrics

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// MED is the mutual-information-based entropy disentanglement of Cao et al. 2022, section 3.2, at most 1. From the
// mutual information of binned code column i and factor j,
//
//	R_ij = mutual information / its sum over columns,
//
// column i scores S_i = 1 - H(R_i / sum_j R_ij). The value is the mean of the S_i with weights sum_j R_ij: 1 if every
// column is informative about only one factor. By default the entropy H has base K, the number of factors, as in the
// authors' code. With Log natural it is in nats, as in the paper's equation 2 and appendix F.2, and the minimum value
// is 1 - ln K. The authors' code adds 1e-11, the Floor, to every R_ij, which changes S_i by 1e-7 for 1000 columns.
//
// With TopK (section 3.3) only the k best columns of each factor count. A column belongs to the factor with its largest
// R_ij, and each factor keeps the columns with the largest S_i. Of tied columns it keeps the first, and the result has
// a note. With Whole it keeps all columns that tie with the k-th best; a column whose largest R_ij is tied then belongs
// to each of these factors. The authors' code uses the rows of R that belong to these columns. With Renormalise, R is
// computed from these columns alone, as in the paper.
//
// The mutual information of a sample of n rows is biased upwards by about (bins-1)(levels-1)/2n nats, so values for
// many uninformative columns depend on n. Samples fixes n, so inputs of different sizes are comparable; the authors'
// code uses 10,000.
//
// Factors with one level are left out. If no column is informative about a factor, its column of R is 0, with a note.
type MED struct {
	knownLevels
	twoFactors

	mutual.Histogram `yaml:",inline"`
	mutual.Entropy   `yaml:",inline"`
	TopK             int  `yaml:"k" doc:"number of best columns that count for every factor; 0: all columns"`
	Whole            bool `yaml:"whole,omitempty" doc:"with k: count all columns tied with the k-th best; false: only the first"`
	Samples          int  `yaml:"samples" doc:"largest number of rows to measure, chosen at random; 0: all rows"`
	Renormalise      bool `yaml:"renormalise" doc:"with k: normalise by sums over the chosen columns (as in the paper), not over all (as in the code)"`
}

func (*MED) Better() Direction              { return HigherIsBetter }
func (m *MED) Range() (least, most float64) { return m.Entropy.Least(), 1 }

func (m *MED) Validate() error {
	return cmp.Or(
		notNegative("k", m.TopK, "all columns"),
		rule(!m.Whole || m.TopK > 0, "whole", "there are no ties without k; want k of 1 or more"),
		rule(!m.Renormalise || m.TopK > 0, "renormalise", "there is nothing to renormalise without k; want k of 1 or more"),
		m.Entropy.Check(),
		notNegative("samples", m.Samples, "all"),
		m.Histogram.Check(),
	)
}

// Compute returns the parts per_column (S_i) and weights. With two or more columns it adds completeness (1 - entropy of
// each factor's column of R, to the base of the number of columns). The grid is R, and the part per_factor is the MED
// of each factor:
//
//	MED_j = sum_i R_ij S_i / sum_i R_ij
//
// The value is the mean of these with weights sum_i R_ij. TopK adds the part selected (numbers of the selected columns)
// and restricts all parts and R to these columns.
func (m *MED) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	var r Result
	in, sampleSize, err := in.atMostRows(m.Samples)
	if err != nil {
		return Result{}, err
	}
	r.Basis.Rows = sampleSize
	if in, r.Notes = in.varyingFactors(); len(in.Factors) < 2 { // of the drawn rows
		return Result{}, m.Suits(in)
	}
	x, err := in.information(ctx, m.Histogram)
	if err != nil {
		return Result{}, err
	}
	relative, silent := mutual.Shares(x.Mutual)
	if len(silent) > 0 {
		r.Notes = append(r.Notes, "no column has information on "+
			strings.Join(levels.Chosen(factor.Names(in.Factors), silent), ", "))
	}
	columns := numeric.UpTo(len(relative))
	if m.TopK > 0 {
		var tied bool
		if columns, tied = mutual.Best(relative, m.Entropy, m.TopK, m.Whole); tied {
			r.Notes = append(r.Notes, tiedNote)
		}
		if len(columns) == 0 {
			return r, nil
		}
		if relative = levels.Chosen(relative, columns); m.Renormalise {
			relative, _ = mutual.Shares(levels.Chosen(x.Mutual, columns))
		}
	}
	m.parts(&r, in, relative, columns)
	return r, nil
}

// Select returns the matrix R of all columns, and the numbers of the selected columns, ascending. These are the TopK
// best columns of every factor, or the best two if TopK is 0 (Cao et al. 2022, figure 15). Errors are the same as for
// [Metric.Compute].
func (m *MED) Select(ctx context.Context, in *Input) (Grid, []int, error) {
	if err := ready(ctx, m, in); err != nil {
		return Grid{}, nil, err
	}
	k := cmp.Or(m.TopK, 2)
	x, err := in.information(ctx, m.Histogram)
	if err != nil {
		return Grid{}, nil, err
	}
	relative, _ := mutual.Shares(x.Mutual)
	columns, _ := mutual.Best(relative, m.Entropy, k, m.Whole)
	return in.byFactor("R", relative), columns, nil
}

// parts sets the value, parts and grid of a result from the given rows of R.
func (m *MED) parts(r *Result, in *Input, relative [][]float64, columns []int) {
	scores, weights := Part{Name: "per_column"}, Part{Name: "weights"}
	g := Grid{Name: "R", Rows: in.columnNames(columns), Columns: factor.Names(in.Factors), Values: relative}
	for _, row := range relative {
		scores.Values = append(scores.Values, m.Of(row))
		weights.Values = append(weights.Values, factor.Sum.Of(row))
	}
	scores.Labels, weights.Labels = g.Rows, g.Rows
	r.Value = mutual.WeightedMean(scores.Values, weights.Values)
	if total := factor.Sum.Of(weights.Values); total > 0 {
		for i := range weights.Values {
			weights.Values[i] /= total
		}
	}
	r.Parts = append(r.Parts, scores, weights)
	if len(relative) > 1 {
		_, complete := mutual.LibraryEntropy().OfRows(mutual.Transposed(relative))
		r.Parts = append(r.Parts, Part{Name: "completeness", Labels: g.Columns, Values: complete})
	}
	if m.TopK > 0 {
		r.Parts = append(r.Parts, in.columnNumbers("selected", columns))
	}
	perFactor := in.perFactor(nil)
	for _, shares := range mutual.Transposed(relative) {
		sum := 0.0
		for i, v := range shares {
			sum += v * scores.Values[i]
		}
		if total := factor.Sum.Of(shares); total > 0 {
			sum /= total
		}
		perFactor.Values = append(perFactor.Values, sum)
	}
	r.Parts, r.Grids = append(r.Parts, perFactor), append(r.Grids, g)
}

const tiedNote = "columns are tied; the first of them are chosen"

// Reduction replaces code columns by principal components. Codes with 1000 columns then become comparable with codes
// with 10. Cao et al. 2022, section 5.1, reduce codes in this way for metrics of gaps between columns. Codes with fewer
// columns stay unchanged.
type Reduction struct {
	Components int `yaml:"components" doc:"number of principal components to measure for codes with more columns; 0: measure the columns"`
}

func (m Reduction) validate() error { return notNegative("components", m.Components, "the columns") }

func (m Reduction) columns(in *Input) int {
	if m.Components == 0 {
		return in.Codes.Cols
	}
	return min(m.Components, in.Codes.Cols)
}

// reduces reports whether there are more columns than components.
func (m Reduction) reduces(in *Input) bool { return m.Components > 0 && in.Codes.Cols > m.Components }

// reduce returns the input with principal components, named pc0, pc1, ..., if there are fewer of them than columns.
func (m Reduction) reduce(in *Input) (*Input, error) {
	if !m.reduces(in) {
		return in, nil
	}
	c, err := geometry.PCA(in.Codes.Data, in.Codes.Cols)
	if err != nil {
		return nil, err
	}
	k := m.columns(in)
	reduced := *in
	reduced.shared, reduced.selection = nil, Part{}
	for c := range k {
		reduced.selection.add(fmt.Sprint("pc", c), float64(c))
	}
	reduced.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: k, Data: c.Project(in.Codes.Data, k)}
	return &reduced, reduced.Validate()
}

// PrincipalMED is the [MED] of the first principal components of the codes (Cao et al. 2022, appendix B.4 and figure
// 12, which reduce a thousand columns to ten). Codes with at most as many columns as components are measured unchanged.
type PrincipalMED struct {
	MED       `yaml:",inline"`
	Reduction `yaml:",inline"`
}

func (m *PrincipalMED) Validate() error {
	return cmp.Or(m.Reduction.validate(), m.MED.Validate())
}

// Compute returns the result of MED, with rows pc0, pc1, ... of the grid R.
func (m *PrincipalMED) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	in, err := m.reduce(in)
	if err != nil {
		return Result{}, err
	}
	return m.MED.Compute(ctx, in)
}
