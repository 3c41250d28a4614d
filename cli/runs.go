package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/runs/index"
)

// runsCommand is `unravel runs [DIR]`.
type runsCommand struct {
	Dir    string   `arg:"" optional:"" default:"runs" help:"A folder with runs in it and below it."`
	Filter []string `placeholder:"KEY=VALUE" help:"Only runs with this setting, state, or other column; several filters must all hold. KEY!=VALUE: without it; KEY<VALUE and KEY>VALUE compare numbers."`
	By     []string `placeholder:"KEY" help:"Compare: one line for all runs with the same values of these columns, with the mean and the standard deviation of each result."`
	CSV    bool     `name:"csv" xor:"format" help:"Print all columns as CSV."`
	JSON   bool     `name:"json" xor:"format" help:"Print JSON."`
}

// Run lists runs.
func (c *runsCommand) Run(ctx context.Context, s *streams) error {
	x, err := index.Open(ctx, c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("there is no folder %s", c.Dir)
	}
	if err != nil {
		return err
	}
	defer x.Close()
	runs, err := x.Runs(ctx)
	if err != nil {
		return err
	}
	if runs, err = filtered(runs, c.Filter); err != nil {
		return err
	}
	if len(c.By) > 0 {
		return c.compare(s, runs)
	}
	switch {
	case c.JSON:
		return json.NewEncoder(s.out).Encode(runs)
	case c.CSV:
		return writeRunRecords(s.out, columnsOf(runs, true), runs)
	}
	return printRuns(s, runs)
}

// runColumn is what can be told of a run.
type runColumn struct {
	name string
	of   func(*index.Run) (string, bool)
}

// fixedColumns are those of every run.
var fixedColumns = []runColumn{
	{"run", func(r *index.Run) (string, bool) { return r.Dir, true }},
	{"state", func(r *index.Run) (string, bool) { return string(r.State), true }},
	{"problem", func(r *index.Run) (string, bool) { return r.Problem, r.Problem != "" }},
	{"seconds", func(r *index.Run) (string, bool) { return exactly(r.Seconds), r.Ended != "" }},
	{"epochs_done", func(r *index.Run) (string, bool) { return strconv.Itoa(r.Epochs), r.Ended != "" }},
	{"steps_done", func(r *index.Run) (string, bool) { return strconv.Itoa(r.Steps), r.Ended != "" }},
	{"begun", func(r *index.Run) (string, bool) { return r.Begun, r.Begun != "" }},
	{"ended", func(r *index.Run) (string, bool) { return r.Ended, r.Ended != "" }},
	{"version", func(r *index.Run) (string, bool) { return r.Version, r.Version != "" }},
	{"os", func(r *index.Run) (string, bool) { return r.Machine.OS, r.Machine.OS != "" }},
	{"arch", func(r *index.Run) (string, bool) { return r.Machine.Arch, r.Machine.Arch != "" }},
	{"kernels", func(r *index.Run) (string, bool) { return r.Machine.Kernels, r.Machine.Kernels != "" }},
	{"cores", func(r *index.Run) (string, bool) { return strconv.Itoa(r.Machine.Cores), r.Machine.Cores > 0 }},
	{"threads", func(r *index.Run) (string, bool) { return strconv.Itoa(r.Machine.Threads), r.Machine.Threads > 0 }},
	{"go", func(r *index.Run) (string, bool) { return r.Machine.Go, r.Machine.Go != "" }},
	{"hash", func(r *index.Run) (string, bool) { return r.Hash, r.Hash != "" }},
}

func exactly(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func setting(key string) runColumn {
	return runColumn{key, func(r *index.Run) (string, bool) { v, ok := r.Settings[key]; return v, ok }}
}

func resultColumn(name string) runColumn {
	return runColumn{name, func(r *index.Run) (string, bool) { v, ok := r.Results[name]; return exactly(v), ok }}
}

// resultNames lists the results of runs.
func resultNames(runs []*index.Run) []string {
	known := map[string]bool{}
	for _, r := range runs {
		for name := range r.Results {
			known[name] = true
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// columnsOf lists the columns of runs: all, or those that tell them apart with what they have found.
func columnsOf(runs []*index.Run, all bool) (list []runColumn) {
	if all {
		list = append(list, fixedColumns...)
		for _, key := range choiceKeys {
			list = append(list, choiceColumn(key))
		}
		keys := map[string]bool{}
		for _, r := range runs {
			for key := range r.Settings {
				keys[key] = true
			}
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			list = append(list, setting(key))
		}
		for _, name := range resultNames(runs) {
			list = append(list, resultColumn(name))
		}
		return list
	}
	list = append(list, fixedColumns[0], fixedColumns[1])
	list = append(append(list, differing(runs)...), fixedColumns[3])
	for _, name := range resultNames(runs) {
		if !strings.Contains(name, ".") || name == "fit.converged" {
			list = append(list, resultColumn(name))
		}
	}
	return list
}

// findColumn finds a column by name.
func findColumn(runs []*index.Run, name string) (runColumn, error) {
	var names []string
	for _, c := range columnsOf(runs, true) {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	if len(runs) == 0 {
		return setting(name), nil
	}
	return runColumn{}, usagef("no run has %q; did you mean %q? --csv has the names of all columns", name, nearestColumn(name, names))
}

// filtered keeps the runs for which all filters hold.
func filtered(runs []*index.Run, filters []string) ([]*index.Run, error) {
	for _, f := range filters {
		at := strings.IndexAny(f, "=<>")
		if at < 1 {
			return nil, usagef("--filter %s: want KEY=VALUE, KEY!=VALUE, KEY<VALUE or KEY>VALUE", f)
		}
		key, sign, value := f[:at], f[at:at+1], f[at+1:]
		if strings.HasSuffix(key, "!") && sign == "=" {
			key, sign = strings.TrimSuffix(key, "!"), "!="
		}
		c, err := findColumn(runs, key)
		if err != nil {
			return nil, err
		}
		holds, err := criterion(f, sign, value)
		if err != nil {
			return nil, err
		}
		runs = slices.DeleteFunc(runs, func(r *index.Run) bool { return !holds(c.of(r)) })
	}
	return runs, nil
}

// criterion is what a filter asks of a value.
func criterion(filter, sign, value string) (func(text string, ok bool) bool, error) {
	want, err := strconv.ParseFloat(value, 64)
	equal := func(text string, ok bool) bool {
		v, wrong := strconv.ParseFloat(text, 64)
		return ok && (text == value || err == nil && wrong == nil && v == want)
	}
	switch {
	case sign == "=":
		return equal, nil
	case sign == "!=":
		return func(text string, ok bool) bool { return !equal(text, ok) }, nil
	case err != nil:
		return nil, usagef("--filter %s: %q is not a number", filter, value)
	}
	return func(text string, ok bool) bool {
		v, wrong := strconv.ParseFloat(text, 64)
		return ok && wrong == nil && (sign == "<" && v < want || sign == ">" && v > want)
	}, nil
}

// runRecords are the runs as rows of text, the names of columns first. Short ones are for people.
func runRecords(columns []runColumn, runs []*index.Run, short bool) [][]string {
	list := [][]string{nil}
	for _, c := range columns {
		list[0] = append(list[0], c.name)
	}
	for _, r := range runs {
		var row []string
		for _, c := range columns {
			text, ok := c.of(r)
			if v, err := strconv.ParseFloat(text, 64); short && err == nil && strings.Contains(text, ".") {
				text = strconv.FormatFloat(v, 'g', 4, 64)
			}
			if !ok {
				if text = ""; short {
					text = "-"
				}
			}
			row = append(row, text)
		}
		list = append(list, row)
	}
	return list
}

func writeRunRecords(w io.Writer, columns []runColumn, runs []*index.Run) error {
	return plain.WriteCSV(w, runRecords(columns, runs, false))
}

// runGroup are runs with the same values.
type runGroup struct {
	Values  []string           `json:"values"`
	Runs    int                `json:"runs"`
	Mean    map[string]float64 `json:"mean"`
	Std     map[string]float64 `json:"std"`
	members []*index.Run
}

// compare prints a line for each group of runs.
func (c *runsCommand) compare(s *streams, runs []*index.Run) error {
	groups, err := grouped(runs, c.By)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(map[string]any{"by": c.By, "groups": groups})
	}
	names := resultNames(runs)
	rows := [][]string{append(slices.Clone(c.By), "runs")}
	for _, name := range names {
		if c.CSV {
			rows[0] = append(rows[0], name+"_mean", name+"_std")
		} else if !strings.Contains(name, ".") || name == "fit.converged" {
			rows[0] = append(rows[0], name)
		}
	}
	for _, g := range groups {
		row := append(slices.Clone(g.Values), strconv.Itoa(g.Runs))
		for _, name := range names {
			mean, ok := g.Mean[name]
			switch {
			case c.CSV && ok:
				row = append(row, exactly(mean), exactly(g.Std[name]))
			case c.CSV:
				row = append(row, "", "")
			case strings.Contains(name, ".") && name != "fit.converged":
			case ok:
				row = append(row, fmt.Sprintf("%.4g±%.2g", mean, g.Std[name]))
			default:
				row = append(row, "-")
			}
		}
		rows = append(rows, row)
	}
	if c.CSV {
		return plain.WriteCSV(s.out, rows)
	}
	list := make([]shownColumn, len(rows[0]))
	for _, row := range rows[1:] {
		for i, cell := range row {
			list[i].cells = append(list[i].cells, cell)
		}
	}
	for i, header := range rows[0] {
		list[i].header, list[i].rank = header, neverOut
		if i > len(c.By) { // results
			list[i].rank = i
		}
	}
	return printFitted(s, list)
}

// grouped puts runs with the same values of columns together, in the order of the first of each group.
func grouped(runs []*index.Run, by []string) ([]*runGroup, error) {
	var columns []runColumn
	for _, name := range by {
		c, err := findColumn(runs, name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	var groups []*runGroup
	for _, r := range runs {
		var values []string
		for _, c := range columns {
			text, _ := c.of(r)
			values = append(values, text)
		}
		at := slices.IndexFunc(groups, func(g *runGroup) bool { return slices.Equal(g.Values, values) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &runGroup{Values: values, Mean: map[string]float64{}, Std: map[string]float64{}})
		}
		groups[at].members = append(groups[at].members, r)
	}
	for _, g := range groups {
		g.Runs = len(g.members)
		for _, name := range resultNames(g.members) {
			g.Mean[name], g.Std[name] = moments(g.members, name)
		}
	}
	return groups, nil
}

// moments are the mean and the standard deviation (n-1) of a result.
func moments(runs []*index.Run, name string) (mean, std float64) {
	var values []float64
	for _, r := range runs {
		if v, ok := r.Results[name]; ok {
			values = append(values, v)
			mean += v
		}
	}
	mean /= float64(len(values))
	for _, v := range values {
		std += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(std / float64(max(1, len(values)-1)))
}
