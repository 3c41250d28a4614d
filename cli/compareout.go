package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/interval"
	"github.com/unravel-ml/unravel/metrics/ranking"
)

// comparison is the JSON output of compare. A value that a run lacks is null.
type comparison struct {
	Runs    []string           `json:"runs"`
	Metrics []comparedMetric   `json:"metrics"`
	Tau     [][]cell           `json:"kendall_tau"` // between the metrics, in order; null for two metrics with fewer than three common runs
	UDR     *ranking.Agreement `json:"udr,omitempty"`

	Notes []string `json:"notes,omitempty"` // reasons why values are hard to compare

	Settings []difference `json:"settings,omitempty"` // settings that differ; none if only the seed does
	Seeds    []seedGroup  `json:"seeds,omitempty"`
}

// comparedMetric holds the values of one metric in all runs.
type comparedMetric struct {
	Name   string            `json:"name"`
	Better metrics.Direction `json:"better"`
	Values []cell            `json:"values"`
	Ranks  []cell            `json:"ranks"` // 1 is best

	Intervals []*interval.Interval `json:"intervals,omitempty"` // null for a run without an interval; absent if no run has one
	Chances   []*metrics.Chance    `json:"chances,omitempty"`   // likewise
}

// cell is a number, null in JSON if it is not finite.
type cell float64

func (n cell) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// newComparison collects the results of runs by metric, in the order of first occurrence.
func newComparison(runs []*compared, agreement *ranking.Agreement) *comparison {
	x := &comparison{UDR: agreement, Notes: comparability(runs)}
	at := map[string]int{}
	for i, r := range runs {
		x.Runs = append(x.Runs, r.name)
		for _, result := range r.results {
			m := x.metric(at, result.Name, result.Better, len(runs))
			m.Values[i] = cell(result.Value)
			if result.Interval != nil {
				if m.Intervals == nil {
					m.Intervals = make([]*interval.Interval, len(runs))
				}
				m.Intervals[i] = result.Interval
			}
			if result.Chance != nil {
				if m.Chances == nil {
					m.Chances = make([]*metrics.Chance, len(runs))
				}
				m.Chances[i] = result.Chance
			}
		}
	}
	if agreement != nil {
		m := x.metric(at, "udr", metrics.HigherIsBetter, len(runs))
		for i, v := range agreement.Scores {
			m.Values[i] = cell(v)
		}
	}
	x.rank()
	return x
}

// rank sets the ranks of the runs by each metric, and Kendall's tau between metrics.
func (x *comparison) rank() {
	goodness := make([][]float64, len(x.Metrics)) // larger is better
	for i := range x.Metrics {
		m := &x.Metrics[i]
		for _, v := range ranking.Ranks(floats(m.Values), m.Better) {
			m.Ranks = append(m.Ranks, cell(v))
			goodness[i] = append(goodness[i], -v)
		}
	}
	for i, a := range goodness {
		var row []cell
		for j, b := range goodness {
			tau := math.NaN()
			if i == j || common(a, b) >= fewestForTau {
				tau = ranking.KendallTau(a, b)
			}
			row = append(row, cell(tau))
		}
		x.Tau = append(x.Tau, row)
	}
}

// fewestForTau is the smallest number of runs for Kendall's tau between two metrics: two runs always agree or
// disagree.
const fewestForTau = 3

// common counts the runs that have both values.
func common(a, b []float64) (n int) {
	for i := range a {
		if !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			n++
		}
	}
	return n
}

// hasTau reports whether two metrics have a tau.
func (x *comparison) hasTau() bool {
	for i, row := range x.Tau {
		for j, v := range row {
			if i != j && !math.IsNaN(float64(v)) {
				return true
			}
		}
	}
	return false
}

// metric returns the metric with a name, and adds it if it is new.
func (x *comparison) metric(at map[string]int, name string, better metrics.Direction, runs int) *comparedMetric {
	i, ok := at[name]
	if !ok {
		i = len(x.Metrics)
		at[name] = i
		m := comparedMetric{Name: name, Better: better}
		for range runs {
			m.Values = append(m.Values, cell(math.NaN()))
		}
		x.Metrics = append(x.Metrics, m)
	}
	return &x.Metrics[i]
}

func floats(numbers []cell) []float64 {
	list := make([]float64, len(numbers))
	for i, v := range numbers {
		list[i] = float64(v)
	}
	return list
}

func (x *comparison) names() (names []string) {
	for _, m := range x.Metrics {
		names = append(names, m.Name)
	}
	return names
}

// grids returns the tables to write: metrics, ranks, Kendall's tau between metrics, and UDR by pairs of runs.
func (x *comparison) grids() (values, ranks, tau metrics.Grid, pairs *metrics.Grid) {
	names := x.names()
	values = metrics.Grid{Name: "metric", Rows: names, Columns: x.Runs}
	ranks = metrics.Grid{Name: "rank", Rows: names, Columns: x.Runs}
	tau = metrics.Grid{Name: "kendall_tau", Rows: names, Columns: names}
	for i, m := range x.Metrics {
		values.Values, ranks.Values = append(values.Values, floats(m.Values)), append(ranks.Values, floats(m.Ranks))
		tau.Values = append(tau.Values, floats(x.Tau[i]))
	}
	if x.UDR != nil {
		pairs = &metrics.Grid{Name: "udr", Rows: x.Runs, Columns: x.Runs, Values: x.UDR.Pairs}
	}
	return values, ranks, tau, pairs
}

// inFolder strips the common folders of all names, because figures cut the ends of long names.
func inFolder(names []string) []string {
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

// print writes the tables as text. Numbers stand for runs, because names may be long.
func (x *comparison) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, name := range x.Runs {
		fmt.Fprintf(t, "%d\t%s\n", i+1, name)
	}
	fmt.Fprint(t, "\nvalue (rank)")
	for i := range x.Runs {
		fmt.Fprintf(t, "\t%d", i+1)
	}
	fmt.Fprintln(t)
	for _, m := range x.Metrics {
		fmt.Fprintf(t, "%s, %s is better", m.Name, m.Better)
		for i := range m.Values {
			fmt.Fprint(t, "\t", m.text(i))
		}
		fmt.Fprintln(t)
	}
	for _, note := range x.Notes {
		fmt.Fprintf(t, "note: %s\n", note)
	}
	x.printSeeds(t)
	x.printSettings(t)
	if x.hasTau() {
		x.printTau(t)
	}
	return t.Flush()
}

// text describes the value of a run: its rank, interval and chance level, or - without a value.
func (m *comparedMetric) text(run int) string {
	v := float64(m.Values[run])
	if math.IsNaN(v) {
		return "-"
	}
	s := fmt.Sprintf("%s (%s)", report.Number(v), report.Number(float64(m.Ranks[run])))
	if m.Intervals != nil && m.Intervals[run] != nil {
		s += fmt.Sprintf(" [%s, %s]", report.Number(m.Intervals[run].Low), report.Number(m.Intervals[run].High))
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

// printTau writes Kendall's tau between metrics.
func (x *comparison) printTau(w io.Writer) {
	fmt.Fprint(w, "\nKendall's tau")
	for i := range x.Metrics {
		fmt.Fprintf(w, "\t%d", i+1)
	}
	fmt.Fprintln(w)
	for i, row := range x.Tau {
		fmt.Fprintf(w, "%d %s", i+1, x.Metrics[i].Name)
		for _, v := range row {
			if math.IsNaN(float64(v)) {
				fmt.Fprint(w, "\t-")
			} else {
				fmt.Fprintf(w, "\t%.2f", float64(v))
			}
		}
		fmt.Fprintln(w)
	}
}

func (x *comparison) writeJSON(w io.Writer) error { return json.NewEncoder(w).Encode(x) }

// writeFiles writes the files of --out into an existing folder.
func (x *comparison) writeFiles(dir string) error {
	files, err := disk.OpenFiles(dir, "compare")
	if err != nil {
		return err
	}
	write := files.Write
	values, ranks, tau, pairs := x.grids()
	if err := write("compare.json", x.writeJSON); err != nil {
		return err
	}
	if err := write("metrics.csv", func(w io.Writer) error { return writeRecords(w, gridRecords(values)) }); err != nil {
		return err
	}
	type figure struct {
		name string
		grid metrics.Grid
		heat report.Heat
	}
	drawn := []figure{
		{"ranks", ranks, report.Heat{Title: "Ranks of runs by metric, 1 is best", RowTitle: "metric", ColumnTitle: "run", Unit: "rank"}},
	}
	if len(x.Runs) >= fewestForTau {
		drawn = append(drawn, figure{"kendall", tau, report.Heat{Title: "Agreement of the metrics' rankings of the runs: Kendall's tau", RowTitle: "metric", ColumnTitle: "metric", Unit: "Kendall's tau", Signed: true}})
	}
	if pairs != nil {
		drawn = append(drawn, figure{"udr", *pairs, report.Heat{Title: "Agreement of the codes of pairs of runs (UDR)", RowTitle: "run", ColumnTitle: "run", Unit: "agreement"}})
	}
	for _, d := range drawn {
		g := d.grid
		if err := write(d.name+".csv", func(w io.Writer) error { return writeRecords(w, gridRecords(g)) }); err != nil {
			return err
		}
		d.heat.Rows, d.heat.Columns, d.heat.Values = inFolder(g.Rows), inFolder(g.Columns), g.Values
		if err := write(d.name+".png", d.heat.WritePNG); err != nil {
			return err
		}
	}
	return files.Finish()
}
