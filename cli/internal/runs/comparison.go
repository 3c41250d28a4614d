package runs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/cli/internal/eval"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/interval"
	"github.com/unravel-ml/unravel/metrics/ranking"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// Comparison is the JSON output of compare. A value that a run lacks is null.
type Comparison struct {
	Runs    []string           `json:"runs"`
	Metrics []comparedMetric   `json:"metrics"`
	Tau     [][]cell           `json:"kendall_tau"` // between the metrics, in order; null for two metrics with fewer than three common runs
	UDR     *ranking.Agreement `json:"udr,omitempty"`

	Notes []string `json:"notes,omitempty"` // reasons why values are hard to compare

	Settings []difference `json:"settings,omitempty"` // settings that differ; none if only the seed does
	Seeds    []seedGroup  `json:"seeds,omitempty"`
}

type comparedMetric struct {
	Name   string            `json:"name"`
	Better metrics.Direction `json:"better"`
	Values []cell            `json:"values"`
	unit   float64           // 1, or 0 for values in the units of the codes
	Ranks  []cell            `json:"ranks"` // 1 is best

	Intervals []*interval.Interval `json:"intervals,omitempty"` // null for a run without an interval; absent if no run has one
	Chances   []*metrics.Chance    `json:"chances,omitempty"`   // likewise
}

type cell float64 // number, null in JSON if it is not finite

func (n cell) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// newComparison collects the results of runs by metric, in the order of first occurrence.
func newComparison(runs []*compared, agreement *ranking.Agreement) *Comparison {
	x := &Comparison{UDR: agreement, Notes: comparability(runs)}
	indices := map[string]int{}
	for i, r := range runs {
		x.Runs = append(x.Runs, r.name)
		for _, result := range r.results {
			m := x.metric(indices, result.Name, result.Better, len(runs))
			if m.Better != result.Better {
				x.Notes = append(x.Notes,
					fmt.Sprintf("run %d says that %s values of %s are better; the ranks take %s values for better",
						i+1, result.Better, m.Name, m.Better))
			}
			m.Values[i] = cell(result.Value)
			if result.Scale > 0 {
				m.unit = 0
			}
			m.Intervals = setAt(m.Intervals, len(runs), i, result.Interval)
			m.Chances = setAt(m.Chances, len(runs), i, result.Chance)
		}
	}
	if agreement != nil {
		m := x.metric(indices, "udr", metrics.HigherIsBetter, len(runs))
		for i, v := range agreement.Scores {
			m.Values[i] = cell(v)
		}
	}
	x.rank()
	return x
}

// setAt sets the value of the i-th run in a list for n runs, which is nil until a run has a value.
func setAt[T any](list []*T, n, i int, value *T) []*T {
	if value == nil {
		return list
	}
	if list == nil {
		list = make([]*T, n)
	}
	list[i] = value
	return list
}

// rounding is the largest difference, relative to the largest value or 1, of values with the same rank.
const rounding = 1e-12

// unrounded returns the values with a chain of values within rounding replaced by its smallest.
func (m *comparedMetric) unrounded() []float64 {
	values := numeric.Convert[float64](m.Values)
	size := m.unit
	for _, v := range values {
		if !math.IsInf(v, 0) && v == v {
			size = max(size, math.Abs(v))
		}
	}
	order := numeric.UpTo(len(values))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	for n, i := range order[:max(0, len(order)-1)] {
		if next := order[n+1]; float64(m.Values[next])-float64(m.Values[i]) <= rounding*size {
			values[next] = values[i]
		}
	}
	return values
}

// rank sets the ranks of the runs by each metric, and Kendall's tau between metrics. Values that differ by rounding
// alone share a rank.
func (x *Comparison) rank() {
	goodness := make([][]float64, len(x.Metrics)) // higher is better
	for i := range x.Metrics {
		m := &x.Metrics[i]
		for _, v := range ranking.Ranks(m.unrounded(), m.Better) {
			m.Ranks = append(m.Ranks, cell(v))
			goodness[i] = append(goodness[i], -v)
		}
	}
	for i, a := range goodness {
		var row []cell
		for j, b := range goodness {
			tau := math.NaN()
			if i == j || common(a, b) >= minRunsForTau {
				tau = ranking.KendallTau(a, b)
			}
			row = append(row, cell(tau))
		}
		x.Tau = append(x.Tau, row)
	}
}

// minRunsForTau is the minimum number of runs for Kendall's tau: two runs always agree or disagree completely.
const minRunsForTau = 3

// common counts the runs that have both values.
func common(a, b []float64) (n int) {
	for i := range a {
		if !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			n++
		}
	}
	return n
}

func (x *Comparison) hasTau() bool {
	for i, row := range x.Tau {
		for j, v := range row {
			if i != j && !math.IsNaN(float64(v)) {
				return true
			}
		}
	}
	return false
}

// metric returns the metric with a name. It adds the metric if it is new.
func (x *Comparison) metric(indices map[string]int, name string, better metrics.Direction, runs int) *comparedMetric {
	i, ok := indices[name]
	if !ok {
		i = len(x.Metrics)
		indices[name] = i
		m := comparedMetric{Name: name, Better: better, unit: 1}
		for range runs {
			m.Values = append(m.Values, cell(math.NaN()))
		}
		x.Metrics = append(x.Metrics, m)
	}
	return &x.Metrics[i]
}

// shortNames removes the common parent folders from all names, because figures truncate long names.
func shortNames(names []string) []string {
	common := names[0][:strings.LastIndexAny(names[0], `/\`)+1]
	for _, name := range names {
		for !strings.HasPrefix(name, common) {
			common = common[:strings.LastIndexAny(common[:len(common)-1], `/\`)+1]
		}
	}
	short := make([]string, len(names))
	for i, name := range names {
		short[i] = name[len(common):]
	}
	return short
}

// print writes the tables as text. Runs are numbered, because their names may be long.
func (x *Comparison) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, name := range x.Runs {
		fmt.Fprintf(t, "%d\t%s\n", i+1, name)
	}
	heading(t, "value (rank)", len(x.Runs))
	for _, m := range x.Metrics {
		row(t, fmt.Sprintf("%s, %s is better", m.Name, m.Better), len(x.Runs), m.text)
	}
	for _, note := range x.Notes {
		fmt.Fprintf(t, "note: %s\n", note)
	}
	x.printSeeds(t)
	if len(x.Settings) > 0 {
		heading(t, "setting", len(x.Runs))
	}
	for _, d := range x.Settings {
		row(t, d.Key, len(x.Runs), func(i int) string {
			if d.Values[i] == nil {
				return "-"
			}
			return *d.Values[i]
		})
	}
	if x.hasTau() {
		x.printTau(t)
	}
	t.Flush()
}

// row writes a row of a table: a title and a cell for each column.
func row(w io.Writer, title string, columns int, cell func(i int) string) {
	fmt.Fprint(w, title)
	for i := range columns {
		fmt.Fprint(w, "\t", cell(i))
	}
	fmt.Fprintln(w)
}

// heading writes the head of a table: a title, and the numbers of the columns.
func heading(w io.Writer, title string, columns int) {
	row(w, "\n"+title, columns, func(i int) string { return strconv.Itoa(i + 1) })
}

// text describes the value of a run: its rank, interval and chance level, or - without a value.
func (m *comparedMetric) text(run int) string {
	v := float64(m.Values[run])
	if math.IsNaN(v) {
		return "-"
	}
	s := fmt.Sprintf("%s (%s)", report.Number(v), report.Number(float64(m.Ranks[run])))
	if m.Intervals != nil && m.Intervals[run] != nil {
		i := m.Intervals[run]
		if v < i.Low || v > i.High { // biased by the number of rows, or one draw
			s += " estimate " + report.Number(i.Estimate)
		}
		s += fmt.Sprintf(" [%s, %s]", report.Number(i.Low), report.Number(i.High))
	}
	if m.Chances != nil && m.Chances[run] != nil {
		than := ", chance"
		if !m.Chances[run].Differs {
			than = ", no better than chance"
		}
		s += fmt.Sprintf("%s %s", than, report.Number(m.Chances[run].Mean))
	}
	return s
}

func (x *Comparison) printTau(w io.Writer) {
	heading(w, "Kendall's tau", len(x.Metrics))
	for i, tau := range x.Tau {
		row(w, fmt.Sprintf("%d %s", i+1, x.Metrics[i].Name), len(tau), func(j int) string {
			if math.IsNaN(float64(tau[j])) {
				return "-"
			}
			return fmt.Sprintf("%.2f", float64(tau[j]))
		})
	}
}

func (x *Comparison) writeFiles(dir string) error {
	files, err := disk.OpenFiles(dir, "compare")
	if err != nil {
		return err
	}
	var names []string
	var values, ranks, tau [][]float64
	for i, m := range x.Metrics {
		names = append(names, m.Name)
		values = append(values, numeric.Convert[float64](m.Values))
		ranks = append(ranks, numeric.Convert[float64](m.Ranks))
		tau = append(tau, numeric.Convert[float64](x.Tau[i]))
	}
	write := func(name string, content func(io.Writer) error) { _ = files.Write(name, content) } // see Finish
	write("compare.json", func(w io.Writer) error { return ui.WriteJSON(w, x) })
	write("metrics.csv", ui.CSV(eval.GridRecords(metrics.Grid{Name: "metric", Rows: names, Columns: x.Runs,
		Values: values})))
	type figure struct {
		file string
		grid metrics.Grid
		heat report.Heat
	}
	figures := []figure{{"ranks", metrics.Grid{Name: "rank", Rows: names, Columns: x.Runs, Values: ranks},
		report.Heat{Title: "Ranks of runs by metric, 1 is best", RowTitle: "metric", ColumnTitle: "run", Unit: "rank"}}}
	if len(x.Runs) >= minRunsForTau {
		grid := metrics.Grid{Name: "kendall_tau", Rows: names, Columns: names, Values: tau}
		figures = append(figures, figure{"kendall", grid,
			report.Heat{Title: "Agreement of the metrics' rankings of the runs: Kendall's tau",
				RowTitle: "metric", ColumnTitle: "metric", Unit: "Kendall's tau", Signed: true}})
	}
	if x.UDR != nil {
		pairs := make([][]float64, len(x.Runs))
		for i, row := range x.UDR.Pairs {
			pairs[i] = slices.Clone(row)
			pairs[i][i] = math.NaN() // a run is not compared with itself
		}
		figures = append(figures, figure{"udr", metrics.Grid{Name: "udr", Rows: x.Runs, Columns: x.Runs, Values: pairs},
			report.Heat{Title: "Agreement of pairs of runs (UDR); a run's udr is the median of its column",
				RowTitle: "other run", ColumnTitle: "run", Unit: "agreement"}})
	}
	for _, d := range figures {
		write(d.file+".csv", ui.CSV(eval.GridRecords(d.grid)))
		d.heat.Rows, d.heat.Columns, d.heat.Values = shortNames(d.grid.Rows), shortNames(d.grid.Columns), d.grid.Values
		write(d.file+".png", d.heat.WritePNG)
	}
	return files.Finish()
}

const minScaleRatio = 2 // minimum ratio between scales of codes for a warning

// comparability lists reasons why values are hard to compare: other rows or factors, other options of a metric, or
// other scales of codes.
func comparability(runs []*compared) (notes []string) {
	all := map[string][]runResult{}
	var names []string
	for i, r := range runs {
		for _, result := range r.results {
			if all[result.Name] == nil {
				names = append(names, result.Name)
			}
			all[result.Name] = append(all[result.Name], runResult{i, result})
		}
	}
	notes = dataNotes(names, all)
	for _, name := range names {
		notes = append(notes, optionNotes(name, all[name])...)
		notes = append(notes, scaleNotes(name, all[name])...)
	}
	return notes
}

type runResult struct {
	run    int
	result metrics.Result
}

// dataNotes says once if a metric has other numbers of rows or other factors in some run.
func dataNotes(names []string, all map[string][]runResult) (notes []string) {
	for _, kind := range []struct {
		text  string
		value func(r metrics.Result) string // empty: unknown
	}{
		{"numbers of rows", func(r metrics.Result) string {
			if r.Basis.Rows == 0 {
				return ""
			}
			return strconv.Itoa(r.Basis.Rows)
		}},
		{"factors", func(r metrics.Result) string {
			for _, p := range r.Parts {
				if p.Name == "per_factor" {
					return strings.Join(p.Labels, ", ")
				}
			}
			return ""
		}},
	} {
		for _, name := range names {
			var list []string
			distinct := map[string]bool{}
			for _, m := range all[name] {
				if text := kind.value(m.result); text != "" {
					list, distinct[text] = append(list, fmt.Sprintf("%s in run %d", text, m.run+1)), true
				}
			}
			if len(distinct) > 1 {
				notes = append(notes, fmt.Sprintf("%s is measured on different %s: %s", name, kind.text, strings.Join(list, "; ")))
				break
			}
		}
	}
	return notes
}

// optionNotes names options of a metric that differ between runs, with the value in each run.
func optionNotes(name string, list []runResult) (notes []string) {
	keys := map[string]bool{}
	for _, m := range list {
		if m.result.Options == nil { // stored without options
			return nil
		}
		for key := range m.result.Options {
			keys[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		first := list[0].result.Options[key]
		if !slices.ContainsFunc(list, func(m runResult) bool { return !reflect.DeepEqual(m.result.Options[key], first) }) {
			continue
		}
		var values []string
		for _, m := range list {
			values = append(values, fmt.Sprintf("%s in run %d", optionText(key, m.result.Options[key]), m.run+1))
		}
		if key == "codes" {
			notes = append(notes, fmt.Sprintf("%s is measured on different columns: %s; --blocks gives all runs the same columns", name, strings.Join(values, ", ")))
			continue
		}
		notes = append(notes, fmt.Sprintf("%s has different %s: %s", name, key, strings.Join(values, ", ")))
	}
	return notes
}

// optionText writes an option in a few words. Columns of factors are sorted by the factors' names.
func optionText(key string, value any) string {
	codes, ok := value.(map[string]any)
	switch {
	case key != "codes" || !ok:
		return fmt.Sprint(value)
	case len(codes) == 0:
		return "equal shares or the best columns"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(codes)) {
		parts = append(parts, fmt.Sprintf("%s %v", name, codes[name]))
	}
	return strings.Join(parts, " ")
}

// scaleNotes warns of different scales of codes, and adds the fractions of variance, which scales do not affect.
func scaleNotes(name string, list []runResult) []string {
	scaled := slices.DeleteFunc(slices.Clone(list), func(m runResult) bool { return !(m.result.Scale > 0) })
	if len(scaled) < 2 {
		return nil
	}
	byScale := func(a, b runResult) int {
		if a.result.Scale < b.result.Scale {
			return -1
		}
		return 1
	}
	smallest, largest := slices.MinFunc(scaled, byScale), slices.MaxFunc(scaled, byScale)
	if largest.result.Scale <= minScaleRatio*smallest.result.Scale {
		return nil
	}
	note := fmt.Sprintf("%s depends on the scale of the codes, which are %s times as wide in run %d as in run %d",
		name, report.Number(largest.result.Scale/smallest.result.Scale), largest.run+1, smallest.run+1)
	var fractions []string
	for _, m := range scaled {
		if part := m.result.Part("fraction"); part != nil {
			fractions = append(fractions, fmt.Sprintf("%s in run %d", report.Number(factor.Mean.Of(part)), m.run+1))
		}
	}
	if len(fractions) == len(scaled) {
		note += "; the mean fraction of the remaining variance does not depend on it: " + strings.Join(fractions, ", ")
	}
	return []string{note}
}

const seedColumn = "seed"

type difference struct {
	Key    string    `json:"key"`
	Values []*string `json:"values"` // null for a run without the setting
}

// seedGroup holds the indices of runs with equal settings except the seed, and the spread of each metric over them.
type seedGroup struct {
	Runs    []int    `json:"runs"`
	Spreads []spread `json:"spreads"` // in the order of the metrics
}

// spread describes the values of a metric: mean, standard deviation (n-1; missing for one value) and extremes.
type spread struct {
	Count int  `json:"count"`
	Mean  cell `json:"mean"`
	Std   cell `json:"std"`
	Least cell `json:"min"`
	Most  cell `json:"max"`
}

func spreadOf(values []float64) spread {
	values = slices.DeleteFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	mean, deviation := numeric.MeanDeviation(values)
	smallest, largest := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		smallest, largest = min(smallest, v), max(largest, v)
	}
	return spread{len(values), cell(mean), cell(deviation), cell(smallest), cell(largest)}
}

// compareSettings finds the settings that differ between runs, and groups the runs that differ only in the seed.
func (x *Comparison) compareSettings(runs []*index.Run) {
	columns := index.Differing(runs)
	if slices.ContainsFunc(columns, func(c index.Column) bool { return c.Name != seedColumn }) {
		for _, c := range columns {
			d := difference{Key: c.Name}
			for _, r := range runs {
				d.Values = append(d.Values, c.Cell(r))
			}
			x.Settings = append(x.Settings, d)
		}
	}
	x.Seeds = x.seedGroups(runs, columns)
}

// seedGroups lists groups of at least two runs that differ only in the seed. Of runs with the same seed, the first
// counts.
func (x *Comparison) seedGroups(runs []*index.Run, columns []index.Column) (groups []seedGroup) {
	indices := map[string]int{}
	var all []seedGroup
	for i, r := range runs {
		if r.Settings.Len() == 0 {
			continue
		}
		var key strings.Builder
		for _, c := range columns {
			if c.Name != seedColumn {
				text, ok := c.Of(r)
				fmt.Fprintf(&key, "%q %v\n", text, ok)
			}
		}
		j, ok := indices[key.String()]
		if !ok {
			j = len(all)
			indices[key.String()] = j
			all = append(all, seedGroup{})
		}
		seed, _ := r.Settings.Get(seedColumn)
		if !slices.ContainsFunc(all[j].Runs, func(i int) bool { s, _ := runs[i].Settings.Get(seedColumn); return s == seed }) {
			all[j].Runs = append(all[j].Runs, i)
		}
	}
	for _, g := range all {
		if len(g.Runs) < 2 {
			continue
		}
		for _, m := range x.Metrics {
			var values []float64
			for _, i := range g.Runs {
				values = append(values, float64(m.Values[i]))
			}
			g.Spreads = append(g.Spreads, spreadOf(values))
		}
		groups = append(groups, g)
	}
	return groups
}

func (x *Comparison) printSeeds(w io.Writer) {
	if len(x.Seeds) == 0 {
		return
	}
	row(w, "\nmean ± deviation over seeds (least to most)", len(x.Seeds), func(group int) string {
		var numbers []string
		for _, i := range x.Seeds[group].Runs {
			numbers = append(numbers, strconv.Itoa(i+1))
		}
		return "runs " + strings.Join(numbers, ", ")
	})
	for i, m := range x.Metrics {
		row(w, m.Name, len(x.Seeds), func(group int) string {
			s := x.Seeds[group].Spreads[i]
			if s.Count < 2 {
				return "-"
			}
			text := fmt.Sprintf("%s ± %s (%s to %s)", report.Number(float64(s.Mean)), report.Number(float64(s.Std)),
				report.Number(float64(s.Least)), report.Number(float64(s.Most)))
			if all := len(x.Seeds[group].Runs); s.Count < all {
				text += fmt.Sprintf(" of %d of %d runs", s.Count, all)
			}
			return text
		})
	}
}
