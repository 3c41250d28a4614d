package metrics

import (
	"cmp"
	"context"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/information"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// CoOccurrence is the normalised co-occurrence of factors in the mutual information of code columns (Cao et al. 2022,
// section 4.2, equation 4). With the mutual information I_i of factor i and every column,
//
//	C_ij = <I_i, I_j>/(|I_i| |I_j|)
//
// is the cosine between two factors: 0 if no column is informative of both, 1 if I_i and I_j are proportional. The
// value, 0 to 1, is the mean over pairs of different factors.
//
// With TopK, as in the paper, [MED] selects the columns: the k best of every factor. A factor without information in
// any column has C_ij = 0, and a note.
type CoOccurrence struct {
	knownLevels

	mutual.Histogram `yaml:",inline"`
	TopK             int `yaml:"k" doc:"number of best columns of every factor to keep, chosen as med does; 0: all columns"`
}

// Better returns LowerIsBetter.
func (*CoOccurrence) Better() Direction { return LowerIsBetter }

// Range implements Bounded.
func (*CoOccurrence) Range() (least, most float64) { return 0, 1 }

// Validate checks the settings.
func (m *CoOccurrence) Validate() error {
	return cmp.Or(notNegative("k", m.TopK, "all columns"), m.Histogram.Check())
}

// Suits implements Selective.
func (*CoOccurrence) Suits(in *Input) error { return wantFactors(in, 2) }

// Compute returns the part per_factor (mean cosine with the other factors), with TopK the part selected (numbers of the
// columns), and the grid co_occurrence of factors.
func (m *CoOccurrence) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	var r Result
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
		r.Parts = append(r.Parts, in.selected("selected", columns))
	}
	return r, nil
}
