package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
)

// maxBars is the largest number of code columns in the figure of manipulations.
const maxBars = 24

// writeAnalysis writes the columns that med selects, if it is among the metrics. It also writes the variance of code
// columns while one factor varies.
func (e *evaluation) writeAnalysis(ctx context.Context, write func(name string, content func(io.Writer) error) error) error {
	shown, err := e.writeSelected(ctx, write)
	if err != nil {
		return err
	}
	g, err := metrics.Manipulation(ctx, e.in, rng.New(e.seed, "figure/manipulation"))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(g.Values[0], func(v float64) bool { return !math.IsNaN(v) }) {
		return nil // no two images differ in one factor alone
	}
	if err := write("manipulation.csv", func(w io.Writer) error { return writeRecords(w, gridRecords(g)) }); err != nil {
		return err
	}
	if shown == nil || len(g.Rows) <= maxBars {
		shown = moving(g)
	}
	return write("manipulation.png", func(w io.Writer) error { return drawManipulation(w, g, shown[:min(len(shown), maxBars)]) })
}

// writeSelected draws the importance matrix R of med with the selected columns, and returns the columns; nil without
// med.
func (e *evaluation) writeSelected(ctx context.Context, write func(name string, content func(io.Writer) error) error) ([]int, error) {
	at := slices.IndexFunc(e.chosen, func(c metrics.Choice) bool { _, ok := c.Value.(*metrics.MED); return ok })
	if at < 0 || metrics.Suits(e.in, e.chosen[at:at+1]) != nil {
		return nil, nil
	}
	g, selected, err := e.chosen[at].Value.(*metrics.MED).Select(ctx, e.in)
	if err != nil {
		return nil, err
	}
	return selected, write("med-selected.png", func(w io.Writer) error {
		return report.SelectedHeat(g, selected).WritePNG(w)
	})
}

// moving lists the columns in ascending order: all, or the ones that vary most with a factor.
func moving(g metrics.Grid) []int {
	list := make([]int, len(g.Rows))
	most := make([]float64, len(g.Rows))
	for c := range list {
		list[c] = c
		for _, v := range g.Values[c] {
			if v > most[c] {
				most[c] = v
			}
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(most[b], most[a]) })
	list = list[:min(len(list), maxBars)]
	slices.Sort(list)
	return list
}

// drawManipulation draws a panel for each factor.
func drawManipulation(w io.Writer, g metrics.Grid, columns []int) error {
	var labels []string
	for _, c := range columns {
		labels = append(labels, g.Rows[c])
	}
	var panels []report.BarPanel
	for j, factor := range g.Columns[:min(len(g.Columns), maxShownFactors)] {
		panel := report.BarPanel{Name: "moving: " + factor}
		for _, c := range columns {
			panel.Values = append(panel.Values, g.Values[c][j])
		}
		panels = append(panels, panel)
	}
	title := "Variance of code columns while one factor moves and the others are fixed"
	if len(columns) < len(g.Rows) {
		title += fmt.Sprintf(", %d of %d columns", len(columns), len(g.Rows))
	}
	if len(panels) < len(g.Columns) {
		title += fmt.Sprintf(", the first %d of %d factors", len(panels), len(g.Columns))
	}
	return report.Bars(w, report.BarOptions{Title: title, X: "code column", Y: "variance"}, labels, panels)
}
