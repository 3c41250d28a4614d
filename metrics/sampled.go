package metrics

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics/interval"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Sampled is another metric on rows drawn at random with replacement: it shows the metric's value on a small sample.
// Its value is the mean over Draws samples.
//
// The values of SAP, DCI and MIG in table 5 of Tonnaer et al. 2022 are near the values for 100 rows.
type Sampled struct {
	Rows  int    `yaml:"rows" doc:"number of rows of a sample"`
	Draws int    `yaml:"draws" doc:"number of samples, whose mean is the value"`
	Of    Choice `yaml:"of" doc:"the metric of the sample"`
}

// newSampled returns the metric with its defaults, which name no metric.
func newSampled() *Sampled { return &Sampled{Rows: 1000, Draws: 1} }

// Variants implements Varied.
func (*Sampled) Variants() []Metric {
	return []Metric{
		&Sampled{Rows: 100, Draws: 3, Of: Choice{"mig", &MIG{Histogram: mutual.Library(), Gap: GapColumns}}},
		&Sampled{Rows: 50, Draws: 1, Of: Choice{"factor-vae", &FactorVAE{Batch: 8, Train: 1000, Test: 500, Direct: true, Raw: true}}},
	}
}

// Title implements Titled.
func (m *Sampled) Title() string {
	if m.Of.Name == "" {
		return ""
	}
	return "sampled-" + m.Of.Name
}

// Needs returns AllLevels.
func (*Sampled) Needs() Needs { return AllLevels }

// Better implements Metric: the direction of the other metric.
func (m *Sampled) Better() Direction {
	if m.Of.Value == nil {
		return HigherIsBetter
	}
	return m.Of.Value.Better()
}

// Range implements Bounded: it returns the range of the other metric.
func (m *Sampled) Range() (least, most float64) {
	if b, ok := m.Of.Value.(Bounded); ok {
		return b.Range()
	}
	return math.Inf(-1), math.Inf(1)
}

// Validate checks the settings.
func (m *Sampled) Validate() error {
	switch {
	case m.Rows < 2:
		return config.Invalid("rows", "%d is out of range; want 2 or more", m.Rows)
	case m.Draws < 1 || m.Draws > maxDraws:
		return config.Invalid("draws", "%d is out of range; want 1 to %d", m.Draws, maxDraws)
	case m.Of.Value == nil:
		return config.Invalid("of", "there is no metric; want one of the sample, such as mig")
	}
	if _, again := m.Of.Value.(*Sampled); again {
		return config.Invalid("of", "the rows are a sample already; want another metric than sampled")
	}
	if v, ok := m.Of.Value.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// maxDraws bounds the number of samples.
const maxDraws = 10000

// Suits implements Selective.
func (m *Sampled) Suits(in *Input) error {
	if m.Of.Value == nil {
		return m.Validate()
	}
	return suits(m.Of.Value, in)
}

// Compute returns the mean of the other metric over the samples, the parts and grids of the first sample, and the part
// draws: the value of each sample.
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
		r, err := m.Of.Value.Compute(ctx, in.part(rows))
		if err != nil {
			return Result{}, fmt.Errorf("%s of %d rows drawn: %w", m.Of.Name, m.Rows, err)
		}
		if draw == 0 {
			first = r
		}
		values = append(values, r.Value)
	}
	first.Value, _ = interval.MeanAndDeviation(values)
	first.Basis.Rows = 0 // each sample may draw any row
	if m.Draws > 1 {
		part := Part{Name: "draws", Values: values}
		for draw := range m.Draws {
			part.Labels = append(part.Labels, strconv.Itoa(draw+1))
		}
		first.Parts = append(first.Parts, part)
	}
	return first, nil
}
