package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// BestColumns is another metric, of the K columns of every factor that [MED] finds best (Cao et al. 2022, section 3.3,
// which measures codes of a thousand columns in this way). A column belongs to the factor with its largest R_ij; the
// best columns of a factor have the largest S_i. The columns keep their order. If columns tie with the k-th best, the
// first count, or all with Whole. Columns without information are never best. If fewer than two columns are best, the
// first of the others fill up, because gaps need two columns.
//
// med itself has the option k, which normalises over all columns, as the authors' code does. With its option
// renormalise, med equals best-columns of med.
type BestColumns struct {
	K     int    `yaml:"k" doc:"number of best columns of every factor"`
	Whole bool   `yaml:"whole" doc:"take all columns that tie with the k-th best, in place of the first of them"`
	Of    Choice `yaml:"of" doc:"the metric of the best columns"`
}

// newBestColumns returns the metric with its defaults, which name no metric.
func newBestColumns() *BestColumns { return &BestColumns{K: 2} }

// Variants implements Varied.
func (*BestColumns) Variants() []Metric {
	return []Metric{
		&BestColumns{K: 1, Of: Choice{"mig", &MIG{Histogram: mutual.Library(), Gap: GapColumns}}},
		&BestColumns{K: 2, Whole: true, Of: Choice{"factor-vae", &FactorVAE{Batch: 8, Train: 1000, Test: 500}}},
	}
}

// Title implements Titled.
func (m *BestColumns) Title() string {
	if m.Of.Name == "" {
		return ""
	}
	return "best-columns-" + m.Of.Name
}

// Needs returns AllLevels.
func (*BestColumns) Needs() Needs { return AllLevels }

// Better implements Metric: the direction of the other metric.
func (m *BestColumns) Better() Direction {
	if m.Of.Value == nil {
		return HigherIsBetter
	}
	return m.Of.Value.Better()
}

// Range implements Bounded: it returns the range of the other metric.
func (m *BestColumns) Range() (least, most float64) {
	if b, ok := m.Of.Value.(Bounded); ok {
		return b.Range()
	}
	return math.Inf(-1), math.Inf(1)
}

// Validate checks the settings.
func (m *BestColumns) Validate() error {
	if m.K < 1 {
		return config.Invalid("k", "%d columns; want 1 or more", m.K)
	}
	if m.Of.Value == nil {
		return config.Invalid("of", "there is no metric; want one of the best columns, such as mig")
	}
	if _, again := m.Of.Value.(*BestColumns); again {
		return config.Invalid("of", "the columns are the best already; want another metric than best-columns")
	}
	if v, ok := m.Of.Value.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// med returns the metric that chooses columns.
func (m *BestColumns) med() *MED {
	return &MED{Histogram: mutual.Library(), Entropy: mutual.LibraryEntropy(), TopK: m.K, Whole: m.Whole}
}

// Suits implements Selective.
func (m *BestColumns) Suits(in *Input) error {
	if m.Of.Value == nil {
		return m.Validate()
	}
	if err := m.med().Suits(in); err != nil {
		return err
	}
	return suits(m.Of.Value, projectedInput(in, in.Codes))
}

// Compute returns the parts and grids of the other metric, with columns counted from 0 among the best. The part best
// has the columns' numbers in the codes.
func (m *BestColumns) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	levels, _ := in.inArcs()
	_, columns, err := m.med().Select(ctx, levels)
	if err != nil {
		return Result{}, err
	}
	for c := 0; len(columns) < min(2, in.Codes.Cols); c++ {
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	slices.Sort(columns)
	r, err := m.Of.Value.Compute(ctx, projectedInput(in, in.Codes.Columns(columns)))
	if err != nil {
		return Result{}, fmt.Errorf("%s of the columns %v: %w", m.Of.Name, columns, err)
	}
	best := Part{Name: "best"}
	for _, c := range columns {
		best.Labels, best.Values = append(best.Labels, in.columnName(c)), append(best.Values, float64(c))
	}
	r.Parts = append(r.Parts, best)
	return r, nil
}
