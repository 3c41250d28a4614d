package tables

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/ranking"
	"github.com/unravel-ml/unravel/results/tables/internal/summary"
)

// Agreement describes how the columns of a table rank its rows.
type Agreement struct {
	// Groups has the names of the groups of columns. Ranks has the mean rank of each row, by group, row and data set
	// (one if the table lists none). Rank 1 is best. A row without a value has NaN.
	Groups []string
	Ranks  [][][]float64

	// Tau is Kendall's tau-b between two columns, averaged over data sets. It is 1 if both columns order the rows
	// equally from good to bad, and NaN for a constant column.
	Columns []string
	Tau     [][]float64
}

// MarshalJSON writes an object with groups, ranks, columns and tau; NaN is null.
func (a *Agreement) MarshalJSON() ([]byte, error) {
	list := func(values []float64) []any {
		all := make([]any, len(values))
		for i, v := range values {
			if !math.IsNaN(v) {
				all[i] = v
			}
		}
		return all
	}
	var ranks [][][]any
	for _, group := range a.Ranks {
		var rows [][]any
		for _, row := range group {
			rows = append(rows, list(row))
		}
		ranks = append(ranks, rows)
	}
	var tau [][]any
	for _, row := range a.Tau {
		tau = append(tau, list(row))
	}
	return json.Marshal(map[string]any{"groups": a.Groups, "ranks": ranks, "columns": a.Columns, "tau": tau})
}

// agree ranks the rows in every column and compares the columns.
func (r *Result) agree() {
	t, dataSets := r.Table, len(r.Table.views())
	a := &Agreement{}
	good := make([][][]float64, len(t.Columns)) // by column, data set and row: higher is better
	for i, c := range t.Columns {
		a.Columns = append(a.Columns, c.Label)
		if !slices.Contains(a.Groups, c.Group) {
			a.Groups = append(a.Groups, c.Group)
		}
		sign := 1.0
		if c.Better() == metrics.LowerIsBetter {
			sign = -1
		}
		good[i] = make([][]float64, dataSets)
		for p := range dataSets {
			index := i*dataSets + p
			for _, row := range r.Rows {
				v := math.NaN()
				if ours := row.Cells[index].Ours; ours != nil {
					v = sign * *ours
				}
				good[i][p] = append(good[i][p], v)
			}
			for j, rank := range ranking.Ranks(good[i][p], metrics.HigherIsBetter) {
				if !math.IsNaN(rank) {
					r.Rows[j].Cells[index].Rank = rank
				}
			}
		}
	}
	for i := range good {
		a.Tau = append(a.Tau, nil)
		for j := range good {
			a.Tau[i] = append(a.Tau[i], summary.MeanTau(good[i], good[j]))
		}
	}
	a.Ranks = r.meanRanks(a.Groups, dataSets)
	r.Agreement = a
}

// meanRanks returns the mean rank of each row, by group of columns and data set.
func (r *Result) meanRanks(groups []string, dataSets int) [][][]float64 {
	ranks := make([][][]float64, len(groups))
	for g, name := range groups {
		for _, row := range r.Rows {
			means := make([]float64, dataSets)
			for p := range means {
				var all []float64
				for i, c := range r.Table.Columns {
					if rank := row.Cells[i*dataSets+p].Rank; c.Group == name && rank > 0 {
						all = append(all, rank)
					}
				}
				means[p] = summary.Mean(all)
			}
			ranks[g] = append(ranks[g], means)
		}
	}
	return ranks
}
