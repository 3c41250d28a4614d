package metrics

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/information"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// MIG is the mutual information gap of Chen et al. 2018, section 4.1: the mean over factors of
//
//	(largest - second largest mutual information with a code column) / entropy of the factor
//
// computed from the frequencies of factor levels and of the bins of code columns. It is 1 if for each factor the bin of
// one column determines the factor, and all other columns are independent of it. It is 0 if the two most informative
// columns of each factor are equally informative.
//
// Gap factors gives the MIG of table 2 of Zhang and Sugiyama 2024: the mean over code columns of (largest - second
// largest mutual information with a factor) / entropy of the factor with the largest.
type MIG struct {
	knownLevels
	share

	mutual.Histogram `yaml:",inline"`
	Gap              Gap `yaml:"gap" doc:"columns (gap between code columns, for every factor) or factors (gap between factors, for every column)"`
	Reduction        `yaml:",inline"`
}

// Gap names the direction of a mutual information gap: over the columns of a factor, or over the factors of a column.
type Gap string

// The gaps.
const (
	gapColumns Gap = "columns"
	gapFactors Gap = "factors"
)

func (m *MIG) Validate() error {
	return cmp.Or(oneOf("gap", "gap", m.Gap, gapColumns, gapFactors), m.Reduction.validate(), m.Histogram.Check())
}

func (m *MIG) Suits(in *Input) error {
	switch {
	case m.Gap == gapColumns && m.columns(in) < 2:
		return fmt.Errorf("there is %d code column; want at least two, to have a gap between them", m.columns(in))
	case m.Gap == gapFactors && len(in.Factors) < 2:
		return fmt.Errorf("there is %d factor; want at least two, to have a gap between them", len(in.Factors))
	}
	if m.Gap == gapFactors {
		return nil
	}
	return TrainTest{}.wantVarying(in)
}

// Compute returns the part per_factor (with Gap factors: per_column), and the grid mutual_information in nats.
func (m *MIG) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	in, err := m.reduce(in)
	if err != nil {
		return Result{}, err
	}
	x, err := in.information(ctx, m.Histogram)
	if err != nil {
		return Result{}, err
	}
	r := Result{Grids: []Grid{in.byFactor("mutual_information", x.Mutual)}}
	part := Part{Name: "per_factor"}
	if m.Gap == gapFactors {
		part.Name = "per_column"
		for c, shared := range x.Mutual {
			best, gap := information.Gap(shared)
			if x.Entropy[best] > 0 {
				gap /= x.Entropy[best]
			}
			part.add(in.columnName(c), gap)
		}
	} else {
		for j, shared := range mutual.Transposed(x.Mutual) {
			if x.Entropy[j] == 0 {
				r.note("factor %s has only one level and is left out", in.Factors[j].Name)
				continue
			}
			_, gap := information.Gap(shared)
			part.add(in.Factors[j].Name, gap/x.Entropy[j])
		}
	}
	if len(part.Values) == 0 {
		return Result{}, fmt.Errorf("every factor has only one level; want a factor that varies")
	}
	r.Value, r.Parts = factor.Mean.Of(part.Values), []Part{part}
	return r, nil
}

// column returns a column's name and its number in the codes.
func (in *Input) column(c int) (string, float64) {
	if s := in.selection; s.Labels != nil {
		return s.Labels[c], s.Values[c]
	}
	return in.Hierarchy.ColumnName(c), float64(c)
}

func (in *Input) columnName(c int) string {
	name, _ := in.column(c)
	return name
}

// columnNames returns the names of some code columns (nil: all).
func (in *Input) columnNames(columns []int) (names []string) {
	if columns == nil {
		columns = numeric.UpTo(in.Codes.Cols)
	}
	for _, c := range columns {
		names = append(names, in.columnName(c))
	}
	return names
}

func (in *Input) perFactor(values []float64) Part {
	return Part{Name: "per_factor", Labels: factor.Names(in.Factors), Values: values}
}

// columnNumbers returns a part with the numbers of some code columns.
func (in *Input) columnNumbers(name string, columns []int) Part {
	p := Part{Name: name}
	for _, c := range columns {
		p.add(in.column(c))
	}
	return p
}

func (in *Input) byFactor(name string, values [][]float64) Grid {
	return Grid{Name: name, Rows: in.columnNames(nil), Columns: factor.Names(in.Factors), Values: values}
}

// information returns the mutual information of code columns with factors. The halves of an [Interval] use the same
// bins, and treat the same pairs as independent.
func (in *Input) information(ctx context.Context, h mutual.Histogram) (*mutual.Information, error) {
	return mutual.New(ctx, in.Codes, in.Factors, in.Levels, h, in.shared)
}

// Modularity is the modularity score of Ridgeway and Mozer 2018, section 2, as
// disentanglement_lib computes it: the mean over code columns of
//
//	1 - (sum over the other factors of m^2) / ((K - 1) max m^2)
//
// where m is the mutual information of the binned column with each of the K factors, and the maximum is over factors.
// It is 1 if every column is informative about only one factor; the minimum is 0. A column without information counts
// as 0.
type Modularity struct {
	knownLevels
	twoFactors
	share

	mutual.Histogram `yaml:",inline"`
}

func (m *Modularity) Validate() error { return m.Histogram.Check() }

// wantFactors returns an error if the input has fewer factors than the minimum.
func wantFactors(in *Input, minimum int) error {
	if k := len(in.Factors); k < minimum {
		return fmt.Errorf("there is %d factor; want at least %d", k, minimum)
	}
	return nil
}

// Compute returns the parts per_column and per_factor. A factor's value is the mean over the columns that are most
// informative about this factor, or 0 without such columns. The grid mutual_information is in nats. Factors with one
// level are left out.
func (m *Modularity) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	in, notes := in.varyingFactors()
	x, err := in.information(ctx, m.Histogram)
	if err != nil {
		return Result{}, err
	}
	columns, factors := Part{Name: "per_column", Labels: in.columnNames(nil)},
		in.perFactor(make([]float64, len(in.Factors)))
	counts := make([]float64, len(in.Factors))
	dead := 0
	for _, row := range x.Mutual {
		best, value := information.Modularity(row)
		columns.Values = append(columns.Values, value)
		if row[best] == 0 {
			dead++
			continue
		}
		factors.Values[best] += value
		counts[best]++
	}
	for j, n := range counts {
		factors.Values[j] /= max(n, 1)
	}
	r := Result{Value: factor.Mean.Of(columns.Values), Parts: []Part{columns, factors}, Notes: notes}
	r.Grids = []Grid{in.byFactor("mutual_information", x.Mutual)}
	if dead > 0 {
		r.note("%d of %d columns have no information about any factor and count as 0", dead, in.Codes.Cols)
	}
	return r, nil
}

// Responses counts the code columns that respond to one factor, to several and to none, as Cao et al. 2022 (section 5.4
// and figure 5) count them visually in latent traversals. A column responds to a factor if their mutual information is
// at least the fraction Threshold of the factor's entropy. The value is the fraction of the responding columns that
// respond to only one factor, or 0 if no column responds.
//
// The mutual information of a sample of n rows is biased upwards by about (bins-1)(levels-1)/2n nats.
type Responses struct {
	knownLevels
	twoFactors
	share

	mutual.Histogram `yaml:",inline"`
	Threshold        float64 `yaml:"threshold" doc:"smallest mutual information at which a column responds to a factor, as a fraction of the factor's entropy, above 0 and at most 1"`
}

func (m *Responses) Validate() error {
	return cmp.Or(
		rule(m.Threshold > 0 && m.Threshold <= 1, "threshold",
			"%v is out of range; want more than 0 and at most 1", m.Threshold),
		m.Histogram.Check(),
	)
}

// Compute returns two parts and a grid. columns counts the columns that respond to one factor, to several and to none.
// per_column counts each column's factors. The grid information is mutual information over entropy.
func (m *Responses) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	x, err := in.information(ctx, m.Histogram)
	if err != nil {
		return Result{}, err
	}
	g := in.byFactor("information", nil)
	perColumn := Part{Name: "per_column", Labels: g.Rows}
	var count [3]float64 // by number of factors, 2 means several
	for _, row := range x.Mutual {
		share, factors := make([]float64, len(row)), 0
		for j, v := range row {
			if x.Entropy[j] > 0 {
				share[j] = v / x.Entropy[j]
			}
			if share[j] >= m.Threshold { // the threshold is above 0
				factors++
			}
		}
		g.Values = append(g.Values, share)
		perColumn.Values = append(perColumn.Values, float64(factors))
		count[min(factors, 2)]++
	}
	r := Result{Grids: []Grid{g}}
	if responding := count[1] + count[2]; responding > 0 {
		r.Value = count[1] / responding
	}
	counts := Part{Name: "columns", Labels: []string{"one", "several", "none"}}
	counts.Values = []float64{count[1], count[2], count[0]}
	r.Parts = []Part{counts, perColumn}
	return r, nil
}

// CoOccurrence is the normalised co-occurrence of factors in the mutual information of code columns (Cao et al. 2022,
// section 4.2, equation 4). Let I_i be the vector of mutual information between factor i and every column. Then
//
//	C_ij = <I_i, I_j>/(|I_i| |I_j|)
//
// is the cosine between two factors: 0 if no column is informative about both factors, 1 if I_i and I_j are
// proportional. The value, 0 to 1, is the mean over pairs of different factors.
//
// With TopK, as in the paper, [MED] selects the columns: the k best columns of every factor. Factors with one level are
// left out. If no column is informative about factor i, C_ij is 0 and the result has a note.
type CoOccurrence struct {
	knownLevels
	twoFactors

	mutual.Histogram `yaml:",inline"`
	TopK             int `yaml:"k" doc:"number of best columns of every factor to keep, chosen as med does; 0: all columns"`
}

func (*CoOccurrence) Better() Direction            { return LowerIsBetter }
func (*CoOccurrence) Range() (least, most float64) { return 0, 1 }

func (m *CoOccurrence) Validate() error {
	return cmp.Or(notNegative("k", m.TopK, "all columns"), m.Histogram.Check())
}

// Compute returns the part per_factor (mean cosine with the other factors) and the grid co_occurrence of factors. TopK
// adds the part selected (numbers of the columns).
func (m *CoOccurrence) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	var r Result
	in, r.Notes = in.varyingFactors()
	x, err := in.information(ctx, m.Histogram)
	if err != nil {
		return Result{}, err
	}
	rows := x.Mutual
	var columns []int
	if m.TopK > 0 {
		relative, _ := mutual.Shares(rows)
		var tied bool
		if columns, tied = mutual.Best(relative, mutual.LibraryEntropy(), m.TopK, false); tied {
			r.Notes = append(r.Notes, tiedNote)
		}
		rows = levels.Chosen(rows, columns)
	}
	names := factor.Names(in.Factors)
	cosines, silent := information.Cosines(rows, len(names))
	g := Grid{Name: "co_occurrence", Rows: names, Columns: names, Values: cosines}
	if len(silent) > 0 {
		r.Notes = append(r.Notes, "no column has information on "+strings.Join(levels.Chosen(names, silent), ", "))
	}
	part := in.perFactor(nil)
	for i, row := range g.Values {
		part.Values = append(part.Values, (factor.Sum.Of(row)-row[i])/float64(len(row)-1))
	}
	r.Value, r.Parts, r.Grids = factor.Mean.Of(part.Values), []Part{part}, []Grid{g}
	if m.TopK > 0 {
		r.Parts = append(r.Parts, in.columnNumbers("selected", columns))
	}
	return r, nil
}

// SAP is the separated attribute predictability of Kumar et al. 2018, section 3, 0 to 1, as disentanglement_lib
// computes it: the mean over factors of the difference between the largest and the second largest score of a code
// column. With Score svm, the score is the accuracy on the test rows of a linear support vector machine with one input
// column. The machine (squared hinge loss, balanced class weights, one-vs-rest, penalised intercept) is fitted to the
// train rows, to the exact optimum. With Score correlation, the score is the squared correlation between column and
// level number on the train rows, or 0 if the variance of the column is at most 1e-12.
//
// With Score linear, the same rows, all of them, serve for fitting and for scoring, as in the code of Ross and
// Doshi-Velez 2021. A categorical factor uses the accuracy of the support vector machine. Any other factor uses R^2 of
// a linear regression of its values on the column: their squared correlation.
type SAP struct {
	eachLevel
	share

	Score     SAPScore `yaml:"score" doc:"svm (for levels of any kind), correlation (for ordinal levels), or linear (on all rows: svm for categorical factors, R^2 for the values of other factors)"`
	Cost      float64  `yaml:"cost" doc:"svm: inverse L2 strength (scikit-learn's C)"`
	TrainTest `yaml:",inline"`
	Reduction `yaml:",inline"`
}

// SAPScore is the score of a column as a predictor of a factor.
type SAPScore string

// The scores.
const (
	scoreSVM         SAPScore = "svm"
	scoreCorrelation SAPScore = "correlation"
	scoreLinear      SAPScore = "linear"
)

func (m *SAP) Validate() error {
	return cmp.Or(
		oneOf("score", "score", m.Score, scoreSVM, scoreCorrelation, scoreLinear),
		positive("cost", m.Cost),
		m.Reduction.validate(),
		m.TrainTest.validate(),
	)
}

func (m *SAP) Suits(in *Input) error {
	if m.columns(in) < 2 {
		return fmt.Errorf("there is %d code column; want at least two, to have a gap between them", m.columns(in))
	}
	if err := m.TrainTest.suits(in); err != nil {
		return err
	}
	return m.wantVarying(in)
}

// Compute returns the part per_factor and the grid score. Factors with one level in the train rows are left out.
func (m *SAP) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	settings := *m
	if m.Score == scoreLinear {
		settings.TrainTest = TrainTest{TrainRows: in.Codes.Rows}
	}
	in, err := m.reduce(in)
	if err != nil {
		return Result{}, err
	}
	return settings.compute(ctx, in)
}

// compute measures the codes after the reduction.
func (m *SAP) compute(ctx context.Context, in *Input) (Result, error) {
	train, test, err := m.TrainTest.rows(in)
	if err != nil {
		return Result{}, err
	}
	var r Result
	r.Basis.recordSplit(train, test)
	fit, check := in.table().ByFactor(train), in.table().ByFactor(test)
	g := Grid{Name: "score", Values: make([][]float64, in.Codes.Cols)}
	var factors []int
	for j, f := range in.Factors {
		if predict.Vary(fit[j]) {
			factors, g.Columns = append(factors, j), append(g.Columns, f.Name)
		} else {
			r.note("factor %s has only one level and is left out", f.Name)
		}
	}
	if len(factors) == 0 {
		return Result{}, fmt.Errorf("every factor has only one level; want a factor that varies")
	}
	g.Rows = in.columnNames(nil)
	values, targets := levels.Chosen(m.values(in, fit), factors), levels.Chosen(in.Factors, factors)
	fit, check = levels.Chosen(fit, factors), levels.Chosen(check, factors)
	err = parallel.Each(ctx, in.Codes.Cols, func(c int) (err error) {
		x, y := in.Codes.Column(c, train), in.Codes.Column(c, test)
		g.Values[c], err = predict.Single(ctx, x, y, targets, fit, check, values, m.Cost)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	part := Part{Name: "per_factor", Labels: g.Columns}
	for _, scores := range mutual.Transposed(g.Values) {
		_, gap := information.Gap(scores)
		part.Values = append(part.Values, gap)
	}
	r.Value, r.Parts, r.Grids = factor.Mean.Of(part.Values), []Part{part}, []Grid{g}
	if m.Score == scoreSVM {
		r.Notes = append(r.Notes, predict.PenaltyNote(in.Codes, g.Rows)...)
	} else {
		r.Notes = append(r.Notes, predict.ConstantNote(in.Codes, g.Rows)...)
	}
	return r, nil
}

// values returns, by factor, the numbers to correlate with columns, from the labels of the train rows. It returns nil
// for factors that are predicted by support vector machines.
func (m *SAP) values(in *Input, fit [][]int) [][]float64 {
	list, k := make([][]float64, len(in.Factors)), len(in.Factors)
	if m.Score == scoreSVM {
		return list
	}
	scaled := in.factorRows(unitsRange)
	for j, f := range in.Factors {
		if m.Score == scoreLinear && f.Kind == factor.Categorical {
			continue
		}
		list[j] = make([]float64, len(fit[j]))
		for i, l := range fit[j] {
			if list[j][i] = float64(l); m.Score == scoreLinear {
				list[j][i] = scaled[i*k+j]
			}
		}
	}
	return list
}
