package metrics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics/interval"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Sampled is another metric on rows drawn at random with replacement. It shows how the metric behaves on small samples.
// Its value is the mean over Draws samples.
//
// The values of SAP, DCI and MIG in table 5 of Tonnaer et al. 2022 are near the values for 100 rows.
type Sampled struct {
	Rows  int    `yaml:"rows" doc:"number of rows of a sample"`
	Draws int    `yaml:"draws" doc:"number of samples; the value is their mean"`
	Of    Choice `yaml:"of" doc:"metric to compute on the sample"`
}

func (*Sampled) Variants() []Metric {
	return []Metric{
		&Sampled{Rows: 100, Draws: 3, Of: Choice{"mig", &MIG{Histogram: mutual.Library(), Gap: gapColumns}}},
		&Sampled{Rows: 50, Draws: 1,
			Of: Choice{"factor-vae", &FactorVAE{Batch: 8, Train: 1000, Test: 500, Direct: true, Raw: true}}},
	}
}

// Needs returns the needs of the other metric.
func (m *Sampled) Needs() Needs {
	needs, _ := needsOf(m.Of.Value)
	return needs
}

func (m *Sampled) Title() string                { return m.Of.title("sampled-") }
func (m *Sampled) Better() Direction            { return m.Of.better() }
func (m *Sampled) Range() (least, most float64) { return bounds(m.Of.Value) }

func (m *Sampled) Validate() error {
	_, nested := m.Of.Value.(*Sampled)
	return cmp.Or(
		inRange("rows", m.Rows, 2, maxDrawn),
		inRange("draws", m.Draws, 1, maxDraws),
		rule(!nested, "of", "the rows are a sample already; want another metric than sampled"),
		m.Of.validateInner("the sample"),
	)
}

// maxDraws limits the number of samples.
const maxDraws = 10000

func (m *Sampled) Suits(in *Input) error {
	if m.Of.Value == nil {
		return m.Validate()
	}
	return suits(m.Of.Value, in)
}

// Compute returns the mean of the other metric over the samples, the parts and grids of the first sample, and the part
// draws with the value of each sample.
func (m *Sampled) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	if in.Stream == nil {
		return Result{}, errNoStream
	}
	var first Result
	var values []float64
	for draw := range m.Draws {
		rows := make([]int, m.Rows)
		for i := range rows {
			rows[i] = in.Stream.IntN(in.Codes.Rows)
		}
		r, err := m.Of.Value.Compute(ctx, in.withRows(rows))
		if err != nil {
			return Result{}, fmt.Errorf("%s of %d rows drawn: %w", m.Of.Name, m.Rows, err)
		}
		if draw == 0 {
			first = r
		}
		values = append(values, r.Value)
	}
	first.Value, _ = interval.MeanAndDeviation(values)
	first.Basis.Rows = 0 // each sample draws from all rows
	if m.Draws > 1 {
		part := Part{Name: "draws", Values: values}
		for draw := range m.Draws {
			part.Labels = append(part.Labels, strconv.Itoa(draw+1))
		}
		first.Parts = append(first.Parts, part)
	}
	return first, nil
}

// BestColumns is another metric on the K best columns of every factor, which [MED] selects (Cao et al. 2022, section
// 3.3, which measures codes with a thousand columns in this way). A column belongs to the factor with its largest R_ij;
// the best columns of a factor have the largest S_i. The columns keep their original order. If columns tie with the
// k-th best, the first ones are selected, or all of them with Whole. Columns without information are never selected.
// Gaps need two columns: if fewer are selected, the first of the other columns are added.
//
// med itself has the option k, which normalises R over all columns, as the authors' code does. med with its option
// renormalise equals best-columns of med.
type BestColumns struct {
	allLevels

	K     int    `yaml:"k" doc:"number of best columns of every factor"`
	Whole bool   `yaml:"whole" doc:"take all columns tied with the k-th best; false: only the first"`
	Of    Choice `yaml:"of" doc:"metric to compute on the best columns, which its own settings number from 0"`
}

func (*BestColumns) Variants() []Metric {
	return []Metric{
		&BestColumns{K: 1, Of: Choice{"mig", &MIG{Histogram: mutual.Library(), Gap: gapColumns}}},
		&BestColumns{K: 2, Whole: true, Of: Choice{"factor-vae", &FactorVAE{Batch: 8, Train: 1000, Test: 500}}},
	}
}

func (m *BestColumns) Title() string                { return m.Of.title("best-columns-") }
func (m *BestColumns) Better() Direction            { return m.Of.better() }
func (m *BestColumns) Range() (least, most float64) { return bounds(m.Of.Value) }

func (m *BestColumns) Validate() error {
	_, nested := m.Of.Value.(*BestColumns)
	return cmp.Or(
		rule(m.K >= 1, "k", "%d columns; want 1 or more", m.K),
		rule(!nested, "of", "the columns are the best already; want another metric than best-columns"),
		m.Of.validateInner("the best columns"),
	)
}

// selector returns the metric that selects the columns.
func (m *BestColumns) selector() *MED {
	return &MED{Histogram: mutual.Library(), Entropy: mutual.LibraryEntropy(), TopK: m.K, Whole: m.Whole}
}

func (m *BestColumns) Suits(in *Input) error {
	if m.Of.Value == nil {
		return m.Validate()
	}
	if err := m.selector().Suits(in); err != nil {
		return err
	}
	return suits(m.Of.Value, projectedInput(in, in.Codes, Part{}))
}

// Compute returns the parts and grids of the other metric, and the part best with the numbers of the selected columns.
func (m *BestColumns) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	levels, _ := in.inArcs()
	_, columns, err := m.selector().Select(ctx, levels)
	if err != nil {
		return Result{}, err
	}
	for c := 0; len(columns) < min(2, in.Codes.Cols); c++ {
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	slices.Sort(columns)
	best := in.columnNumbers("best", columns)
	r, err := m.Of.Value.Compute(ctx, projectedInput(in, in.Codes.Columns(columns), best))
	if err != nil {
		return Result{}, fmt.Errorf("%s of the columns %v: %w", m.Of.Name, columns, err)
	}
	r.Parts = append(r.Parts, best)
	return r, nil
}

// Projected is another metric on codes with one column for each factor: "linear projection to find the most informative
// representations for each factor" (Zhang and Sugiyama 2024, appendix F.3). With Project linear, column i is h_i(z),
// the best affine prediction of factor i from all columns in mean square, in units of the factor mapped to [0, 1]. With
// Project best, each factor gets one code column; the assignment maximises the sum of mutual information (see
// [SubCodeDeviation]).
//
// Contraction of affine predictions maps factors of every kind and unit to [0, 1], as the projection does. Otherwise
// even a perfect prediction of categorical or circular levels would count as contracted.
//
// The projection is fitted to the measured rows. Rows with an unknown level are left out.
type Projected struct {
	allLevels

	Project Projection `yaml:"project" doc:"linear (column i is the best affine prediction of factor i from all columns, in [0, 1]) or best (the column with most mutual information)"`
	Of      Choice     `yaml:"of" doc:"metric to compute on the projected codes"`
}

func (*Projected) Variants() []Metric {
	return []Metric{
		&Projected{Project: projectLinear, Of: Choice{"contraction-mean", &Contraction{Pairs: 1 << 23, Units: unitsAsGiven}}},
		&Projected{Project: projectBest,
			Of: Choice{"factor-vae", &FactorVAE{Batch: 8, Train: 1000, Test: 500, Direct: true, Raw: true}}},
	}
}

func (m *Projected) Title() string                { return m.Of.title("projected-") }
func (m *Projected) Better() Direction            { return m.Of.better() }
func (m *Projected) Range() (least, most float64) { return bounds(m.Of.Value) }

func (m *Projected) Validate() error {
	_, nested := m.Of.Value.(*Projected)
	return cmp.Or(
		oneOf("project", "projection", m.Project, projectLinear, projectBest),
		rule(!nested, "of", "the codes are projected already; want another metric than projected"),
		m.Of.validateInner("the projected codes"),
	)
}

func (m *Projected) Suits(in *Input) error {
	if m.Of.Value == nil {
		return m.Validate()
	}
	if len(in.Factors) == 0 {
		return fmt.Errorf("there are no factors; want at least one")
	}
	if err := m.Project.suits(in.Codes.Cols, len(in.Factors)); err != nil {
		return err
	}
	return suits(m.Of.Value, projectedInput(in, matrix.Matrix{Rows: in.Codes.Rows, Cols: len(in.Factors)}, Part{}))
}

// projectedInput is the input with other columns: codes selected from the old columns, or new ones.
func projectedInput(in *Input, codes matrix.Matrix, selection Part) *Input {
	other := *in
	other.Codes, other.Hierarchy, other.Spaces, other.shared = codes, nil, nil, nil
	other.allFactors, other.factorIndices, other.selection = nil, nil, selection
	return &other
}

// Compute returns the other metric's parts and grids, and the part explained (linear) or columns (best).
func (m *Projected) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	codes, blocks, parts, err := m.Project.project(ctx, in)
	if err != nil {
		return Result{}, err
	}
	var selection Part
	if m.Project == projectBest {
		columns := make([]int, len(blocks))
		for _, b := range blocks {
			columns[b.Factor] = b.Columns[0]
		}
		codes, selection = codes.Columns(columns), in.columnNumbers("", columns)
	}
	metric := m.Of.Value
	if c, ok := metric.(*Contraction); ok && m.Project == projectLinear {
		ofNumbers := *c
		ofNumbers.Units, ofNumbers.numbers = unitsRange, true
		metric = &ofNumbers
	}
	r, err := metric.Compute(ctx, projectedInput(in, codes, selection))
	if err != nil {
		return Result{}, fmt.Errorf("%s of projected codes: %w", m.Of.Name, err)
	}
	r.Parts = append(r.Parts, parts...)
	r.Basis.recordProjection(m.Project, in)
	return r, nil
}

// title returns the name of the metric with a prefix; empty if there is no metric.
func (c Choice) title(prefix string) string {
	if c.Name == "" {
		return ""
	}
	return prefix + c.Name
}

// better returns the direction of the metric; HigherIsBetter if there is no metric.
func (c Choice) better() Direction {
	if c.Value == nil {
		return HigherIsBetter
	}
	return c.Value.Better()
}

// validateInner checks the metric inside a wrapper, which measures the given rows or columns.
func (c Choice) validateInner(measured string) error {
	if c.Value == nil {
		return config.Invalid("of", "there is no metric; want one of %s, such as mig", measured)
	}
	return validate(c.Value)
}
