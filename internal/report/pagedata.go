package report

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/report/sheet"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Limits of the codes on a page: maximum points, maximum numbers, and minimum points for any width.
const (
	maxPagePoints = 1600
	maxNumbers    = 120_000
	minPoints     = 100
)

// PageRows returns the rows of n codes that a page shows: a stratified random sample in random order.
func PageRows(n, width int) []int {
	stream := rng.New(0, "report/page")
	list := stratifiedSample(n, max(minPoints, min(maxPagePoints, maxNumbers/max(width, 1))), stream)
	stream.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// PageCodes returns the codes for a page. in has the codes and levels of some images of a data set, and images has
// their indices in the data set. names has the numbers to show for them; nil means images. spaces is the layout of the
// codes; nil means single columns.
func PageCodes(in *metrics.Input, d datasets.Dataset, images, names []int, spaces []models.Space) (*web.Codes, error) {
	if in.Codes.Rows == 0 {
		return nil, nil
	}
	if names == nil {
		names = images
	}
	c := &web.Codes{Codes: web.Floats(in.Codes.Data, in.Codes.Rows, in.Codes.Cols), Factors: []web.Factor{},
		Spaces: pageSpaces(spaces), Rows: web.Integers(names, len(names))}
	for i := range in.Codes.Cols {
		c.Columns = append(c.Columns, in.Hierarchy.ColumnName(i))
	}
	for j := range in.Factors {
		if f := pageFactor(in, j); f.Size != 1 {
			c.Factors = append(c.Factors, f)
		}
	}
	if in.Codes.Cols > 2 && in.Codes.Rows > 2 && allFinite(in.Codes.Data) {
		p, err := geometry.PCA(in.Codes.Data, in.Codes.Cols)
		if err != nil {
			return nil, err
		}
		c.Components = pageComponents(p, in.Codes)
	}
	c.Names = FileNames(d, images)
	pictures, err := sheet.Thumbnails(d, images)
	c.Thumbnails = pictures
	return c, err
}

// FileNames returns the files of some images of a data set, or nil if an image has no file.
func FileNames(d datasets.Dataset, images []int) []string {
	names := make([]string, len(images))
	for i, image := range images {
		if d != nil {
			names[i] = datasets.FileName(d, image)
		}
		if names[i] == "" {
			return nil
		}
	}
	return names
}

// pageComponents projects codes onto their first two principal components.
func pageComponents(p *geometry.Components, codes matrix.Matrix) *web.Components {
	const k = 2
	var sum float64
	for _, v := range p.Sigma {
		sum += v * v
	}
	if !(sum > 0) || len(p.Sigma) < k {
		return nil
	}
	c := &web.Components{Values: web.Floats(p.Project(codes.Data, k), codes.Rows, k)}
	for i := range k {
		c.Names = append(c.Names, fmt.Sprintf("principal component %d (%.0f %%)", i+1, 100*p.Sigma[i]*p.Sigma[i]/sum))
	}
	return c
}

func allFinite(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return !finite(v) })
}

func pageSpaces(spaces []models.Space) []web.Space {
	list, counts := []web.Space{}, map[string]int{}
	for _, s := range spaces {
		kind := "plane"
		switch {
		case s.Circle:
			kind = "circle"
		case s.Sphere:
			kind = "sphere"
		case s.Options > 0:
			kind = "choice"
		}
		if kind == "plane" {
			continue
		}
		counts[kind]++
		w := web.Space{Name: fmt.Sprint(kind, " ", counts[kind]), Kind: kind}
		for i := range s.Width {
			w.Columns = append(w.Columns, s.First+i)
		}
		list = append(list, w)
	}
	return list
}

const maxLevelNames = 4096 // maximum number of levels with names on a page

func pageFactor(in *metrics.Input, j int) web.Factor {
	n, f := in.Codes.Rows, in.Factors[j]
	if j < len(in.Exact) && in.Exact[j] != nil {
		return web.Factor{Name: f.Name, Kind: "continuous", Values: web.Floats(in.Exact[j], n)}
	}
	levels := levelValues(in, j, func(level int) float64 { return float64(level) })
	w := web.Factor{Name: f.Name, Kind: f.Kind.String(), Size: f.Size, Values: web.Floats(levels, n)}
	switch {
	case f.Size > maxLevelNames:
	case f.Names != nil:
		w.Levels = f.Names
	case f.Values != nil:
		for l := range f.Size {
			w.Levels = append(w.Levels, sheet.Level(f, l))
		}
	}
	return w
}

// RunCurves returns the curves of a run's log by epoch: the losses of each objective, and every metric measured during
// training. A single objective has no name in its title, because "unsupervised" would be wrong for losses from labels.
// It returns nil for an empty log. Losses in first come first, in this order; nil means the sum, loss.
func RunCurves(first []string, log []rundir.Line) *web.Curves {
	if first == nil {
		first = []string{"loss"}
	}
	var list []web.Panel
	objectives := sortedKeys(log, func(line rundir.Line) map[string]map[string]float64 { return line.Losses })
	for _, o := range objectives {
		losses := seriesOf(log, func(line rundir.Line) map[string]float64 { return line.Losses[o] })
		slices.SortStableFunc(losses, func(a, b web.Series) int {
			return cmp.Compare(indexOrEnd(first, a.Name), indexOrEnd(first, b.Name))
		})
		title := "Losses"
		if len(objectives) > 1 {
			title += ", " + o
		}
		list = append(list, web.Panel{Title: title, X: "epoch", Y: "loss (parts without weights)", Log: true, Series: losses})
	}
	if measured := seriesOf(log, func(line rundir.Line) map[string]float64 { return line.Metrics }); measured != nil {
		list = append(list, web.Panel{Title: "Metrics during training", X: "epoch", Y: "value", Lines: true,
			Series: measured})
	}
	if len(list) == 0 {
		return nil
	}
	return &web.Curves{Panels: list}
}

// indexOrEnd returns the index of a name in a list, or the length of the list if the name is missing.
func indexOrEnd(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// sortedKeys returns the sorted keys of all maps in the lines.
func sortedKeys[V any](log []rundir.Line, values func(rundir.Line) map[string]V) []string {
	all := map[string]bool{}
	for _, line := range log {
		for k := range values(line) {
			all[k] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// seriesOf returns the curves of values by name, over the epochs of the lines with these values. An epoch's first value
// counts: the end of a run may measure a metric again, on other images than the curve.
func seriesOf(log []rundir.Line, values func(rundir.Line) map[string]float64) (list []web.Series) {
	for _, name := range sortedKeys(log, values) {
		var x, y []float64
		for _, line := range log {
			if v, ok := values(line)[name]; ok && (x == nil || x[len(x)-1] != float64(line.Epoch)) {
				x, y = append(x, float64(line.Epoch)), append(y, v)
			}
		}
		list = append(list, web.Series{Name: name, X: web.Floats(x, len(x)), Y: web.Floats(y, len(y))})
	}
	return list
}

// Limits of the maps on a page: cells of a map, rows or columns of a map, and maps.
const maxMapSide, maxMaps = 256, 24

// importanceRows is the number of rows, drawn with replacement, for a fit of importances that are only displayed.
// maxImportance is the maximum of rows times columns times levels.
const importanceRows, maxImportance = 1000, 2_000_000

// PageHeat returns the maps of a page: the matrices behind results. Unless a result has them, it adds the mutual
// information of columns and factors, the co-occurrence of factors, and the importance of columns in a small DCI. It
// returns nil if there are no maps.
func PageHeat(ctx context.Context, in *metrics.Input, results []metrics.Result) (*web.Heat, error) {
	h, shown := &web.Heat{}, map[string]bool{}
	for _, r := range results {
		for _, g := range r.Grids {
			m := gridMap(r.Name, g)
			if !slices.ContainsFunc(h.Maps, func(other web.Map) bool { return sameMap(m, other) }) { // metrics may have the same matrix
				h.Maps = append(h.Maps, m)
			}
			shown[g.Name] = true
		}
	}
	if in != nil && in.Codes.Rows > 0 && len(in.Factors) > 0 {
		for _, c := range extraMetrics(in) {
			extra, err := metrics.Evaluate(ctx, in, 0, []metrics.Choice{c.choice})
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil { // not applicable to these codes
				continue
			}
			for _, g := range extra[0].Grids {
				if !shown[g.Name] {
					m := gridMap(c.choice.Name, g)
					m.Title += c.titleSuffix
					h.Maps = append(h.Maps, m)
				}
			}
		}
	}
	h.Maps = slices.DeleteFunc(h.Maps, func(m web.Map) bool { return len(m.Rows) == 0 || len(m.Columns) == 0 })
	if len(h.Maps) == 0 {
		return nil, nil
	}
	h.Maps = h.Maps[:min(len(h.Maps), maxMaps)]
	return h, nil
}

func sameMap(a, b web.Map) bool {
	return slices.Equal(a.Rows, b.Rows) && slices.Equal(a.Columns, b.Columns) && bytes.Equal(a.Values.Data, b.Values.Data)
}

// pageMetric is a metric that is only measured for its matrix.
type pageMetric struct {
	titleSuffix string // end of its matrix's title
	choice      metrics.Choice
}

// extraMetrics lists the metrics whose matrices are on every page.
func extraMetrics(in *metrics.Input) []pageMetric {
	var list []pageMetric
	for _, name := range []string{"mig", "co-occurrence"} {
		if e, err := metrics.Registry.Lookup(name); err == nil {
			list = append(list, pageMetric{fmt.Sprintf(" (%d images)", in.Codes.Rows),
				metrics.Choice{Name: name, Value: e.New()}})
		}
	}
	levels := 0
	for _, f := range in.Factors {
		levels += f.Size
	}
	if importanceRows*in.Codes.Cols*levels <= maxImportance {
		m := metrics.NewDCI()
		m.Rounds, m.Bins, m.Train, m.Test, m.TestShare = 10, 64, importanceRows, 1, 0
		suffix := fmt.Sprintf(" (%d rounds of boosting, %d draws of %d images)", m.Rounds, m.Train, in.Codes.Rows)
		list = append(list, pageMetric{suffix, metrics.Choice{Name: "dci", Value: m}})
	}
	return list
}

// gridMap returns the map of a metric's matrix. It omits the smallest rows and columns of a very large matrix.
func gridMap(metric string, g metrics.Grid) web.Map {
	rows := largestLists(len(g.Rows), func(i int) []float64 { return g.Values[i] })
	columns := largestLists(len(g.Columns), func(j int) (column []float64) {
		for _, row := range g.Values {
			column = append(column, row[j])
		}
		return column
	})
	words := GridHeat(metric, g)
	m := web.Map{Title: words.Title, Rows: []string{}, Columns: []string{}, Down: words.RowTitle,
		Across: words.ColumnTitle, Unit: words.Unit, Signed: words.Signed, Sorted: words.Sort}
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

// largestLists returns, in ascending order, the indices of the lists with the largest numbers.
func largestLists(n int, list func(i int) []float64) []int {
	order, magnitudes := numeric.UpTo(n), make([]float64, n)
	for i := range order {
		for _, v := range list(i) {
			if finite(v) {
				magnitudes[i] = max(magnitudes[i], max(v, -v))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(magnitudes[b], magnitudes[a]) })
	order = order[:min(n, maxMapSide)]
	slices.Sort(order)
	return order
}
