package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
)

// The limits of the figure of codes against factors.
const (
	maxDots         = 2000
	maxShownFactors = 8
)

// evaluated is a result with its main parts as fields.
type evaluated struct {
	metrics.Result
	Score     *float64  `json:"score,omitempty"` // e^-value, for metrics of papers that print it
	PerFactor []float64 `json:"per_factor,omitempty"`
}

// writeSummary writes one JSON object, {"metrics": {"mpd": {"value": ...}}}.
func writeSummary(w io.Writer, results []metrics.Result) error {
	all := map[string]evaluated{}
	for _, r := range results {
		all[r.Name] = evaluated{Result: r, Score: score(r), PerFactor: r.Part("per_factor")}
	}
	return json.NewEncoder(w).Encode(map[string]any{"metrics": all})
}

// score returns the value of the part score; nil if the metric lacks it.
func score(r metrics.Result) *float64 {
	if part := r.Part("score"); len(part) == 1 {
		return &part[0]
	}
	return nil
}

// writeFiles writes the files of --out into an existing folder.
func (e *evaluation) writeFiles(ctx context.Context, dir string, results []metrics.Result) error {
	files, err := disk.OpenFiles(dir, "eval")
	if err != nil {
		return err
	}
	if err := e.writeAll(ctx, files.Write, results); err != nil {
		return err
	}
	return files.Finish()
}

// writeAll writes each file by the given function.
func (e *evaluation) writeAll(ctx context.Context, write func(name string, content func(io.Writer) error) error, results []metrics.Result) error {
	if err := write("metrics.json", func(w io.Writer) error { return writeSummary(w, results) }); err != nil {
		return err
	}
	if err := write("metrics.csv", func(w io.Writer) error { return writeRecords(w, records(results)) }); err != nil {
		return err
	}
	for _, r := range results {
		for _, g := range r.Grids {
			name := r.Name + "-" + g.Name
			if err := write(name+".csv", func(w io.Writer) error { return writeRecords(w, gridRecords(g)) }); err != nil {
				return err
			}
			draw := func(w io.Writer) error { return report.GridHeat(r.Name, g).WritePNG(w) }
			if err := write(name+".png", draw); err != nil {
				return err
			}
		}
	}
	for name, draw := range e.hierarchyFigures(results) {
		if err := write(name, draw); err != nil {
			return err
		}
	}
	if err := write("ranks.csv", func(w io.Writer) error { return writeRecords(w, e.rankRecords(results)) }); err != nil {
		return err
	}
	if e.in.Classes { // classes are not levels to draw
		return nil
	}
	if err := e.writeAnalysis(ctx, write); err != nil {
		return err
	}
	if err := e.writeApproximation(ctx, write); err != nil {
		return err
	}
	if err := e.writeConstancy(ctx, write); err != nil {
		return err
	}
	return write("codes.png", e.drawCodes)
}

// rankRecords ranks the code columns for every factor by every matrix of columns and factors, the best first. Ties
// keep the order of columns.
func (e *evaluation) rankRecords(results []metrics.Result) [][]string {
	head := []string{"metric", "matrix", "factor"}
	for i := range e.in.Codes.Cols {
		head = append(head, strconv.Itoa(i+1))
	}
	list := [][]string{head}
	for _, r := range results {
		for _, g := range r.Grids {
			if !e.ofCodes(g) {
				continue
			}
			for j, factor := range g.Columns {
				order := make([]int, len(g.Rows))
				for i := range order {
					order[i] = i
				}
				slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.Values[b][j], g.Values[a][j]) })
				line := []string{r.Name, g.Name, factor}
				for _, i := range order {
					line = append(line, g.Rows[i])
				}
				for len(line) < len(head) { // pad for columns that the metric left out
					line = append(line, "")
				}
				list = append(list, line)
			}
		}
	}
	return list
}

// ofCodes reports whether a matrix has code columns as rows and factors as columns.
func (e *evaluation) ofCodes(g metrics.Grid) bool {
	for _, row := range g.Rows {
		c, err := strconv.Atoi(strings.TrimPrefix(row, "z"))
		if err != nil || row != fmt.Sprint("z", c) || c < 0 || c >= e.in.Codes.Cols {
			return false
		}
	}
	for _, column := range g.Columns {
		if !slices.ContainsFunc(e.in.Factors, func(f factor.Factor) bool { return f.Name == column }) {
			return false
		}
	}
	return true
}

// writeRecords writes a .csv file.
func writeRecords(w io.Writer, records [][]string) error { return plain.WriteCSV(w, records) }

// records lists metrics with all digits.
func records(results []metrics.Result) [][]string {
	list := [][]string{{"metric", "value", "better", "score"}}
	intervals := slices.ContainsFunc(results, func(r metrics.Result) bool { return r.Interval != nil })
	if intervals {
		list[0] = append(list[0], "low", "high", "estimate")
	}
	for _, r := range results {
		line := []string{r.Name, digitsOf(r.Value), r.Better.String(), ""}
		if s := score(r); s != nil {
			line[3] = digitsOf(*s)
		}
		switch i := r.Interval; {
		case i != nil:
			line = append(line, digitsOf(i.Low), digitsOf(i.High), digitsOf(i.Estimate))
		case intervals:
			line = append(line, "", "", "")
		}
		list = append(list, line)
	}
	return list
}

// gridRecords returns the cells of a matrix with a header row and a column of row names.
func gridRecords(g metrics.Grid) [][]string {
	list := [][]string{append([]string{g.Name}, g.Columns...)}
	for i, row := range g.Values {
		line := []string{g.Rows[i]}
		for _, v := range row {
			line = append(line, digitsOf(v))
		}
		list = append(list, line)
	}
	return list
}

func digitsOf(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// drawCodes plots code columns against factors, for the first factors. It takes at most a number of random images,
// because a regular stride would alias with the grid of factors.
func (e *evaluation) drawCodes(w io.Writer) error {
	n, k := e.in.Codes.Rows, len(e.in.Factors)
	rows := rng.New(e.seed, "figure/codes").Perm(n)[:min(n, maxDots)]
	title := "Code columns against factors"
	if len(rows) < n {
		title += fmt.Sprintf(", %d of %d rows", len(rows), n)
	}
	if k > maxShownFactors {
		title += fmt.Sprintf(", first %d of %d factors", maxShownFactors, k)
	}
	var codes, factors []report.Column
	for c := range e.in.Codes.Cols {
		codes = append(codes, column(fmt.Sprint("z", c), rows, func(i int) float64 { return e.in.Codes.Row(i)[c] }))
	}
	for j, f := range e.in.Factors[:min(k, maxShownFactors)] {
		if f.Rotations != nil {
			factors = append(factors, report.PoseColumns(f, len(rows), func(i int) int { return e.in.Levels[rows[i]*k+j] })...)
			continue
		}
		values := e.in.FactorValues(j)
		factors = append(factors, column(f.Name, rows, func(i int) float64 { return values[i] }))
	}
	return report.CodesAgainstFactors(w, title, codes, factors)
}

// column returns the values of some rows.
func column(name string, rows []int, value func(row int) float64) report.Column {
	c := report.Column{Name: name}
	for _, i := range rows {
		c.Values = append(c.Values, value(i))
	}
	return c
}
