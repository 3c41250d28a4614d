package tables

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/metrics"
)

// Agreement says how a table's columns rank its rows.
type Agreement struct {
	// Groups names the groups of columns. Ranks has the mean rank of each row, by group, row and data set (one if the
	// table lists none). The best rank is 1. A row without a value has NaN.
	Groups []string
	Ranks  [][][]float64

	// Tau is Kendall's tau-b between two columns, averaged over data sets. Equal orders from good to bad give 1. A
	// constant column gives NaN.
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

// better returns whether higher or lower shown values of a column are better.
func (c *Column) better() metrics.Direction {
	direction := metrics.LowerIsBetter // quantities of fits, and times
	if c.Metric.Value != nil {
		direction = c.Metric.Value.Better()
	}
	if _, bounded := c.Transform.bound(); !bounded && c.Transform != ExpMinus {
		return direction
	}
	if direction == metrics.LowerIsBetter {
		return metrics.HigherIsBetter
	}
	return metrics.LowerIsBetter
}

// agree ranks the rows in every column and compares the columns.
func (r *Result) agree() {
	t, places := r.table, len(r.table.places())
	a := &Agreement{}
	good := make([][]float64, len(t.Columns)*places) // by column of the result and row: more is better
	for i, c := range t.Columns {
		a.Columns = append(a.Columns, c.Label)
		if !slices.Contains(a.Groups, c.Group) {
			a.Groups = append(a.Groups, c.Group)
		}
		sign := 1.0
		if c.better() == metrics.LowerIsBetter {
			sign = -1
		}
		for p := range places {
			at := i*places + p
			for _, row := range r.Rows {
				v := math.NaN()
				if ours := row.Cells[at].Ours; ours != nil {
					v = sign * *ours
				}
				good[at] = append(good[at], v)
			}
			for j, rank := range metrics.Ranks(good[at], metrics.HigherIsBetter) {
				if !math.IsNaN(rank) {
					r.Rows[j].Cells[at].Rank = rank
				}
			}
		}
	}
	a.Tau = taus(good, len(t.Columns), places)
	a.Ranks = r.meanRanks(a.Groups, places)
	r.Agreement = a
}

// taus compares all columns with each other.
func taus(good [][]float64, columns, places int) [][]float64 {
	tau := make([][]float64, columns)
	for i := range tau {
		for j := range columns {
			var all []float64
			for p := range places {
				if v := metrics.KendallTau(good[i*places+p], good[j*places+p]); !math.IsNaN(v) {
					all = append(all, v)
				}
			}
			tau[i] = append(tau[i], mean(all)) // NaN of none
		}
	}
	return tau
}

// meanRanks returns the mean ranks of rows by group of columns and data set.
func (r *Result) meanRanks(groups []string, places int) [][][]float64 {
	ranks := make([][][]float64, len(groups))
	for g, name := range groups {
		for _, row := range r.Rows {
			means := make([]float64, places)
			for p := range means {
				var all []float64
				for i, c := range r.table.Columns {
					if rank := row.Cells[i*places+p].Rank; c.Group == name && rank > 0 {
						all = append(all, rank)
					}
				}
				means[p] = mean(all)
			}
			ranks[g] = append(ranks[g], means)
		}
	}
	return ranks
}

// grids returns the agreement as tables of text: mean ranks of all columns and of each group, then tau.
func (a *Agreement) grids(r *Result) []grid {
	ranks := grid{Title: fmt.Sprintf("Mean ranks by group of columns, 1 for the best of %s", plural(len(r.Rows), "row"))}
	var sets []string
	for _, place := range r.table.places() {
		sets = append(sets, cmp.Or(place.label(), "rank"))
	}
	for _, g := range a.Groups {
		for _, set := range sets {
			ranks.Heads = append(ranks.Heads, head{g, set})
		}
	}
	ranks.Heads = append(ranks.Heads, head{"all", "mean"})
	for i, row := range r.Rows {
		cells, all := []string{row.Label}, []float64(nil)
		for g := range a.Groups {
			for _, v := range a.Ranks[g][i] {
				cells = append(cells, number(v, 1))
			}
		}
		for _, c := range row.Cells {
			if c.Rank > 0 {
				all = append(all, c.Rank)
			}
		}
		ranks.Lines = append(ranks.Lines, append(cells, number(mean(all), 1)))
	}
	tau := grid{Title: "Kendall's tau between columns, 1 for the same order of the rows from good to bad"}
	for i, name := range a.Columns {
		tau.Heads = append(tau.Heads, head{"", name})
		cells := []string{name}
		for _, v := range a.Tau[i] {
			cells = append(cells, number(v, 2))
		}
		tau.Lines = append(tau.Lines, cells)
	}
	return []grid{ranks, tau}
}

// number writes a number with some decimals; none for NaN.
func number(v float64, decimals int) string {
	if math.IsNaN(v) {
		return none
	}
	return fixed(v, decimals)
}

// writeRanks writes the rank of every row in every column, a line each.
func (r *Result) writeRanks(w io.Writer) error {
	records := [][]string{{"table", "row", "column", "rank"}}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Rank > 0 {
				records = append(records, []string{r.Name, row.Label, c.Column, strconv.FormatFloat(c.Rank, 'g', -1, 64)})
			}
		}
	}
	return r.writeRecords(w, records)
}

// writeTau writes a line with Kendall's tau for every two columns; it skips pairs without a tau.
func (r *Result) writeTau(w io.Writer) error {
	records := [][]string{{"table", "column", "other", "tau"}}
	for i, a := range r.Agreement.Columns {
		for j, b := range r.Agreement.Columns[:i] {
			if v := r.Agreement.Tau[i][j]; !math.IsNaN(v) {
				records = append(records, []string{r.Name, a, b, strconv.FormatFloat(v, 'g', -1, 64)})
			}
		}
	}
	return r.writeRecords(w, records)
}

func (r *Result) writeRecords(w io.Writer, records [][]string) error {
	if err := plain.WriteCSV(w, records); err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	return nil
}
