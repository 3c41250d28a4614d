package report

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
)

// Bounds on the maps of a page: cells of a map, rows or columns of a map, and maps.
const (
	mostSide = 256
	mostMaps = 24
)

// importanceRows is the number of rows for a fit of importances only for display. mostImportance bounds rows times
// columns times levels.
const (
	importanceRows = 1000
	mostImportance = 2_000_000
)

// PageHeat returns the maps of a page: the matrices behind results. If no result has them, it adds the mutual
// information of columns and factors, the co-occurrence of factors, and the importance of columns in a small DCI. It
// returns nil without maps.
func PageHeat(ctx context.Context, in *metrics.Input, results []metrics.Result) (*web.Heat, error) {
	h, have := &web.Heat{}, map[string]bool{}
	for _, r := range results {
		for _, g := range r.Grids {
			m := gridMap(r.Name, g)
			if !slices.ContainsFunc(h.Maps, func(other web.Map) bool { return sameMap(m, other) }) { // of metrics with the same matrix
				h.Maps = append(h.Maps, m)
			}
			have[g.Name] = true
		}
	}
	if in != nil && in.Codes.Rows > 0 && len(in.Factors) > 0 {
		for _, c := range cheap(in) {
			more, err := metrics.Evaluate(ctx, in, 0, []metrics.Choice{c.choice})
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil { // it does not apply to these codes
				continue
			}
			for _, g := range more[0].Grids {
				if !have[g.Name] {
					m := gridMap(c.choice.Name, g)
					m.Title += c.about
					h.Maps = append(h.Maps, m)
				}
			}
		}
	}
	h.Maps = slices.DeleteFunc(h.Maps, func(m web.Map) bool { return len(m.Rows) == 0 || len(m.Columns) == 0 })
	if len(h.Maps) == 0 {
		return nil, nil
	}
	h.Maps = h.Maps[:min(len(h.Maps), mostMaps)]
	return h, nil
}

// sameMap reports whether two maps show the same numbers.
func sameMap(a, b web.Map) bool {
	return slices.Equal(a.Rows, b.Rows) && slices.Equal(a.Columns, b.Columns) && bytes.Equal(a.Values.Data, b.Values.Data)
}

// shownMetric is a metric measured only for its matrix.
type shownMetric struct {
	about  string // ends the title of its matrix
	choice metrics.Choice
}

// cheap lists the metrics with a matrix on every page.
func cheap(in *metrics.Input) []shownMetric {
	var list []shownMetric
	for _, name := range []string{"mig", "co-occurrence"} {
		if e, err := metrics.Registry.Lookup(name); err == nil {
			list = append(list, shownMetric{fmt.Sprintf(" (%d images)", in.Codes.Rows), metrics.Choice{Name: name, Value: e.New()}})
		}
	}
	levels := 0
	for _, f := range in.Factors {
		levels += f.Size
	}
	if importanceRows*in.Codes.Cols*levels <= mostImportance {
		m := metrics.NewDCI()
		m.Rounds, m.Bins, m.Train, m.Test, m.TestShare = 10, 64, importanceRows, 1, 0
		list = append(list, shownMetric{fmt.Sprintf(" (%d rounds of boosting, %d images)", m.Rounds, m.Train), metrics.Choice{Name: "dci", Value: m}})
	}
	return list
}

// gridMap returns a map of a metric's matrix, without the smallest rows and columns of a very large one.
func gridMap(metric string, g metrics.Grid) web.Map {
	rows, columns := largest(len(g.Rows), func(i int) []float64 { return g.Values[i] }), largest(len(g.Columns), func(j int) (list []float64) {
		for _, row := range g.Values {
			list = append(list, row[j])
		}
		return list
	})
	words := GridHeat(metric, g)
	m := web.Map{Title: words.Title, Rows: []string{}, Columns: []string{}, Down: words.RowTitle, Across: words.ColumnTitle, Unit: words.Unit, Signed: words.Signed, Sorted: words.Sort}
	var values []float64
	for _, i := range rows {
		m.Rows = append(m.Rows, g.Rows[i])
		for _, j := range columns {
			v := g.Values[i][j]
			values, m.Signed = append(values, v), m.Signed || v < 0
		}
	}
	for _, j := range columns {
		m.Columns = append(m.Columns, g.Columns[j])
	}
	if len(rows) < len(g.Rows) || len(columns) < len(g.Columns) {
		m.Title += fmt.Sprintf(", the largest of %d x %d", len(g.Rows), len(g.Columns))
	}
	m.Values = web.Floats(values, len(rows), len(columns))
	return m
}

// largest returns, in ascending order, the indices of the lists with the largest numbers: all, or as many as a map
// shows.
func largest(n int, list func(i int) []float64) []int {
	order, top := upTo(n), make([]float64, n)
	for i := range order {
		for _, v := range list(i) {
			if finite(v) {
				top[i] = max(top[i], max(v, -v))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(top[b], top[a]) })
	order = order[:min(n, mostSide)]
	slices.Sort(order)
	return order
}
