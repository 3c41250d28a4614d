package eval

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/unravel-ml/unravel/internal/numeric"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Limits of the figure of codes against factors.
const maxDots, maxShownFactors = 2000, 8

// Evaluated is a result with its main parts as fields.
type Evaluated struct {
	metrics.Result
	Score     *float64  `json:"score,omitempty"` // e^-value, for metrics whose papers print it
	PerFactor []float64 `json:"per_factor,omitempty"`
}

// writeSummary writes one JSON object, {"metrics": {"mpd": {"value": ...}}}.
func writeSummary(w io.Writer, results []metrics.Result) error {
	all := map[string]Evaluated{}
	for _, r := range results {
		all[r.Name] = Evaluated{Result: r, Score: score(r), PerFactor: r.Part("per_factor")}
	}
	return ui.WriteJSON(w, map[string]any{"metrics": all})
}

// score returns the part score, or nil if the metric has no such part.
func score(r metrics.Result) *float64 {
	if part := r.Part("score"); len(part) == 1 {
		return &part[0]
	}
	return nil
}

type writeFile = func(name string, content func(io.Writer) error) error

func (e *Evaluation) writeFiles(ctx context.Context, dir string, results []metrics.Result) error {
	files, err := disk.OpenFiles(dir, "eval")
	if err != nil {
		return err
	}
	write := func(name string, content func(io.Writer) error) { _ = files.Write(name, content) } // see Finish
	write("metrics.json", func(w io.Writer) error { return writeSummary(w, results) })
	write("metrics.csv", ui.CSV(records(results)))
	for _, r := range results {
		for _, g := range r.Grids {
			name := r.Name + "-" + g.Name
			write(name+".csv", ui.CSV(GridRecords(g)))
			write(name+".png", report.GridHeat(r.Name, g).WritePNG)
		}
	}
	for name, draw := range e.hierarchyFigures(results) {
		write(name, draw)
	}
	write("ranks.csv", ui.CSV(e.rankRecords(results)))
	if !e.in.Classes { // classes cannot be drawn as levels
		drawings := []func(context.Context, writeFile) error{e.writeAnalysis, e.writeApproximation, e.writeConstancy}
		for _, draw := range drawings {
			if err := draw(ctx, files.Write); err != nil {
				return err
			}
		}
		write("codes.png", e.drawCodes)
	}
	return files.Finish()
}

// rankRecords ranks the code columns for each factor by every matrix, best first. Ties keep the order of columns.
func (e *Evaluation) rankRecords(results []metrics.Result) [][]string {
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
				order := numeric.UpTo(len(g.Rows))
				slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.Values[b][j], g.Values[a][j]) })
				line := []string{r.Name, g.Name, factor}
				for _, i := range order {
					line = append(line, g.Rows[i])
				}
				for len(line) < len(head) { // pad for columns that the metric omits
					line = append(line, "")
				}
				list = append(list, line)
			}
		}
	}
	return list
}

// ofCodes reports whether the rows of a matrix are code columns and its columns are factors.
func (e *Evaluation) ofCodes(g metrics.Grid) bool {
	columns := map[string]bool{}
	for c := range e.in.Codes.Cols {
		columns[e.in.Hierarchy.ColumnName(c)] = true
	}
	factors := factor.Names(e.in.Factors)
	return !slices.ContainsFunc(g.Rows, func(row string) bool { return !columns[row] }) &&
		!slices.ContainsFunc(g.Columns, func(name string) bool { return !slices.Contains(factors, name) })
}

// records lists metrics with all digits.
func records(results []metrics.Result) [][]string {
	list := [][]string{{"metric", "value", "better", "score"}}
	intervals := slices.ContainsFunc(results, func(r metrics.Result) bool { return r.Interval != nil })
	if intervals {
		list[0] = append(list[0], "low", "high", "estimate")
	}
	for _, r := range results {
		line := []string{r.Name, ui.Digits(r.Value), r.Better.String(), ""}
		if s := score(r); s != nil {
			line[3] = ui.Digits(*s)
		}
		switch i := r.Interval; {
		case i != nil:
			line = append(line, ui.Digits(i.Low), ui.Digits(i.High), ui.Digits(i.Estimate))
		case intervals:
			line = append(line, "", "", "")
		}
		list = append(list, line)
	}
	return list
}

// GridRecords returns the cells of a matrix with a header row and a column of row names.
func GridRecords(g metrics.Grid) [][]string {
	list := [][]string{append([]string{g.Name}, g.Columns...)}
	for i, row := range g.Values {
		line := []string{g.Rows[i]}
		for _, v := range row {
			line = append(line, ui.Digits(v))
		}
		list = append(list, line)
	}
	return list
}

// drawCodes plots codes against factors for random images, because a regular stride would alias with the factors.
func (e *Evaluation) drawCodes(w io.Writer) error {
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
		codes = append(codes, column(e.in.Hierarchy.ColumnName(c), rows, func(i int) float64 { return e.in.Codes.Row(i)[c] }))
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

func column(name string, rows []int, value func(row int) float64) report.Column {
	c := report.Column{Name: name}
	for _, i := range rows {
		c.Values = append(c.Values, value(i))
	}
	return c
}

const maxBars = 24 // maximum number of code columns in the figure of manipulations

// writeAnalysis writes the columns that med selects, and the variance of code columns while one factor varies.
func (e *Evaluation) writeAnalysis(ctx context.Context, write writeFile) error {
	shown, err := e.writeSelected(ctx, write)
	if err != nil {
		return err
	}
	g, err := metrics.Manipulation(ctx, e.in, rng.New(e.seed, "figure/manipulation"))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(g.Values[0], func(v float64) bool { return !math.IsNaN(v) }) {
		return nil // no two images differ in only one factor
	}
	if err := write("manipulation.csv", ui.CSV(GridRecords(g))); err != nil {
		return err
	}
	if shown == nil || len(g.Rows) <= maxBars {
		shown = variedColumns(g)
	}
	return write("manipulation.png",
		func(w io.Writer) error { return drawManipulation(w, g, shown[:min(len(shown), maxBars)]) })
}

// writeSelected draws the importance matrix R of med, and returns the selected columns, or nil without med.
func (e *Evaluation) writeSelected(ctx context.Context, write writeFile) ([]int, error) {
	index := slices.IndexFunc(e.chosen, func(c metrics.Choice) bool { _, ok := c.Value.(*metrics.MED); return ok })
	if index < 0 || metrics.Suits(e.in, e.chosen[index:index+1]) != nil {
		return nil, nil
	}
	g, selected, err := e.chosen[index].Value.(*metrics.MED).Select(ctx, e.in)
	if err != nil {
		return nil, err
	}
	return selected, write("med-selected.png", report.SelectedHeat(g, selected).WritePNG)
}

// variedColumns lists the columns in ascending order: all of them, or the columns that vary most with a factor.
func variedColumns(g metrics.Grid) []int {
	list, largest := numeric.UpTo(len(g.Rows)), make([]float64, len(g.Rows))
	for c := range list {
		for _, v := range g.Values[c] {
			if v > largest[c] { // false for NaN
				largest[c] = v
			}
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(largest[b], largest[a]) })
	list = list[:min(len(list), maxBars)]
	slices.Sort(list)
	return list
}

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

const maxSpaces = 12 // maximum number of factors in the figures of approximations and of levels

// titleEnd is the end of a figure's title if it has only the first factors.
func titleEnd(shown, all int) string {
	if shown == all {
		return ""
	}
	return fmt.Sprintf(", the first %d of %d factors", shown, all)
}

// writeApproximation writes the best product approximation of the codes and the best affine left inverse. It writes
// arrays, and figure 9 of Zhang and Sugiyama 2024. Without an approximation it writes nothing.
func (e *Evaluation) writeApproximation(ctx context.Context, write writeFile) error {
	if slices.ContainsFunc(e.in.Factors, func(f factor.Factor) bool { return f.Rotations != nil }) || e.in.Classes ||
		!varies(e.in) {
		return nil
	}
	a, err := metrics.Approximate(ctx, e.in, e.codes, e.assign)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // for example, fewer columns than factors, or no row with known levels
		e.remarks = append(e.remarks, fmt.Sprintf("no approximation.png: %v", err))
		return nil
	}
	for name, m := range map[string]matrix.Matrix{"product-approximation.npy": a.Product, "left-inverse.npy": a.LeftInverse} {
		if err := write(name, func(w io.Writer) error { return npy.Write(w, []int{m.Rows, m.Cols}, m.Data) }); err != nil {
			return err
		}
	}
	return write("approximation.png", func(w io.Writer) error { return e.drawApproximation(w, a) })
}

func varies(in *metrics.Input) bool {
	return slices.ContainsFunc(in.Factors, func(f factor.Factor) bool { return f.Size > 1 })
}

// drawApproximation draws factors, codes, product approximation and left inverse, three factors per row.
func (e *Evaluation) drawApproximation(w io.Writer, a *metrics.Approximation) error {
	n := e.in.Codes.Rows
	rows := rng.New(e.seed, "figure/approximation").Perm(n)[:min(n, maxDots)]
	title := "Factors, codes, the nearest product function of the factors, and the best affine map from codes to factors"
	if len(rows) < n {
		title += fmt.Sprintf(" (%d of %d rows)", len(rows), n)
	}
	axis := func(name string, m matrix.Matrix, c int) report.Column {
		return column(name, rows, func(i int) float64 { return m.Row(i)[c] })
	}
	var list []report.SpaceRow
	shown := min(len(a.Blocks), maxSpaces)
	for from := 0; from < shown; from += 3 {
		blocks := a.Blocks[from:min(from+3, shown)]
		factors, inverse := report.Space{Name: "factors", Like: "y"}, report.Space{Name: "affine left inverse", Like: "y"}
		for _, b := range blocks {
			name := e.in.Factors[b.Factor].Name
			factors.Axes = append(factors.Axes, axis(name, a.Values, b.Factor))
			inverse.Axes = append(inverse.Axes, axis(name, a.LeftInverse, b.Factor))
		}
		codes, product, err := e.codeSpaces(a, blocks, axis)
		if err != nil {
			return err
		}
		list = append(list, report.SpaceRow{Factors: factors.Axes, Spaces: []report.Space{factors, codes, product, inverse}})
	}
	return report.Spaces(w, title+titleEnd(shown, len(a.Blocks)), list)
}

// codeSpaces returns the codes and the product approximation of some factors. It returns all columns of the sub-codes
// if they have at most three. Otherwise it returns the coordinate along the first principal component of each
// sub-code, computed from the codes.
func (e *Evaluation) codeSpaces(a *metrics.Approximation, blocks []factor.Block,
	axis func(string, matrix.Matrix, int) report.Column) (codes, product report.Space, err error) {
	codes, product = report.Space{Name: "codes", Like: "z"}, report.Space{Name: "product approximation", Like: "z"}
	width := 0
	for _, b := range blocks {
		width += len(b.Columns)
	}
	for _, b := range blocks {
		if width <= 3 || len(b.Columns) == 1 {
			for _, c := range b.Columns {
				name := e.in.Hierarchy.ColumnName(c)
				codes.Axes = append(codes.Axes, axis(name, e.in.Codes, c))
				product.Axes = append(product.Axes, axis(name, a.Product, c))
			}
			continue
		}
		z := e.in.Codes.Columns(b.Columns)
		axes, err := geometry.PCA(z.Data, z.Cols)
		if err != nil {
			return codes, product, err
		}
		name := "z." + e.in.Factors[b.Factor].Name + " PC1"
		principalAxis := func(m matrix.Matrix) report.Column {
			return axis(name, matrix.Matrix{Rows: m.Rows, Cols: 1, Data: axes.Project(m.Data, 1)}, 0)
		}
		codes.Axes = append(codes.Axes, principalAxis(z))
		product.Axes = append(product.Axes, principalAxis(a.Product.Columns(b.Columns)))
	}
	return codes, product, nil
}

// writeConstancy draws, for every factor, the radius and the standard deviation of its sub-code at each level. If one
// level has the larger radius and another the larger variance, the metrics radius and variance rank codes differently
// (Zhang and Sugiyama 2024, figure 8).
func (e *Evaluation) writeConstancy(ctx context.Context, write writeFile) error {
	if !varies(e.in) {
		return nil
	}
	var parts [2][]metrics.Part
	for i, d := range []factor.Deviation{factor.Radius, factor.Variance} {
		m := metrics.NewSubCodeDeviation(d)
		m.SetCodes(e.codes, e.assign)
		var err error
		if parts[i], err = m.Levels(ctx, e.in); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil { // for example, fewer columns than factors; the remark for approximation.png says so
			return nil
		}
	}
	var rows []report.SpaceRow
	count := 0 // factors with several levels
	for f := range parts[0] {
		radius, variance := parts[0][f], parts[1][f]
		if len(radius.Values) < 2 {
			continue
		}
		if count++; count > maxSpaces {
			continue
		}
		level, deviation := make([]float64, len(radius.Values)), make([]float64, len(radius.Values))
		for v := range level {
			level[v], deviation[v] = float64(v), math.Sqrt(variance.Values[v])
		}
		rows = append(rows, report.SpaceRow{
			Factors: []report.Column{{Name: radius.Name, Values: level}},
			Spaces: []report.Space{{Name: radius.Name,
				Axes: []report.Column{{Name: "radius", Values: radius.Values}, {Name: "deviation", Values: deviation}}}},
		})
	}
	if rows == nil {
		return nil
	}
	return write("constancy.png", func(w io.Writer) error {
		return report.Spaces(w, "Levels by their sub-codes; dark: last levels"+titleEnd(len(rows), count), rows)
	})
}

func (e *Evaluation) hierarchyFigures(results []metrics.Result) map[string]func(io.Writer) error {
	all := map[string]func(io.Writer) error{}
	if h := e.in.Hierarchy; h != nil {
		l := hierarchy.Labels{}
		if h.Dimensions() == e.in.Codes.Cols {
			l.Rows = countOptions(h, e.in.Codes.Rows, func(i, column int) float64 { return e.in.Codes.Row(i)[column] })
		}
		all["hierarchy.png"] = func(w io.Writer) error { return report.Hierarchy(w, "Hierarchy of the codes", h, l) }
	}
	if h := e.in.TrueHierarchy; h != nil {
		l := hierarchy.Labels{}
		if categorical := len(h.Categoricals()); h.Dimensions() == len(e.in.Factors) {
			values := make([][]float64, categorical)
			for j, f := range e.in.Factors {
				if j >= categorical {
					l.Continuous = append(l.Continuous, f.Name)
					continue
				}
				l.Categorical, values[j] = append(l.Categorical, f.Name), e.in.FactorValues(j)
			}
			l.Rows = countOptions(h, e.in.Codes.Rows, func(i, column int) float64 { return values[column][i] })
		}
		all["true-hierarchy.png"] = func(w io.Writer) error {
			return report.Hierarchy(w, "True hierarchy of the factors",
				h, l)
		}
	}
	if e.in.Hierarchy != nil || e.in.TrueHierarchy != nil {
		all["histograms.png"] = func(w io.Writer) error {
			return report.CodeHistograms(w, "Factors against code columns", e.in, results)
		}
	}
	return all
}

// countOptions counts the rows with each option of the categorical columns.
func countOptions(h hierarchy.Hierarchy, rows int, value func(i, column int) float64) [][]int {
	var counts [][]int
	for column, options := range h.Categoricals() {
		count := make([]int, options)
		for i := range rows {
			if v := value(i, column); v == math.Trunc(v) && v >= 1 && v <= float64(options) {
				count[int(v)-1]++
			}
		}
		counts = append(counts, count)
	}
	return counts
}
