// Package runs has the commands on existing runs: runs, compare, check and report.
package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/progress"
	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
	"github.com/unravel-ml/unravel/train/sweep/mlflow"
)

// Command is `unravel runs [DIR]`.
type Command struct {
	Dir    string   `arg:"" optional:"" default:"runs" help:"Folder that contains runs at any depth."`
	Filter []string `placeholder:"KEY=VALUE" help:"Show only runs with this value of a column, such as a setting, a result or the state; repeatable." detail:"KEY!=VALUE excludes runs. KEY<VALUE, KEY<=VALUE, KEY>VALUE and KEY>=VALUE compare numbers. States are finished, failed, damaged, running, waiting and stopped; unfinished stands for the last three. A run must pass all filters."`
	By     []string `placeholder:"KEY" help:"Group runs by these columns, with mean and standard deviation of every result." detail:"The output has one line for each group."`
	CSV    bool     `name:"csv" xor:"format" help:"Print all columns as CSV."`
	JSON   bool     `name:"json" xor:"format" help:"Print JSON."`

	MLflow      string `name:"mlflow" placeholder:"URL" xor:"format" help:"Send the runs to the MLflow server at this address." detail:"The command sends what the server lacks. MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, are the credentials."`
	TensorBoard bool   `name:"tensorboard" xor:"format" help:"Write the runs' settings and metrics for TensorBoard's page HParams." detail:"They go into a file in the folder of the runs."`
}

func (c *Command) Run(ctx context.Context, s *ui.Streams) error {
	exports := c.MLflow != "" || c.TensorBoard
	if c.MLflow != "" {
		if err := mlflow.CheckAddress(c.MLflow); err != nil {
			return ui.Usagef("--mlflow: %w", err)
		}
	}
	if exports {
		if found, err := sweep.Folders(c.Dir); err == nil && len(found) == 0 && ui.Exists(c.Dir) { // before the command saves a list
			return fmt.Errorf("there is no run in %s", c.Dir)
		}
	}
	runs, err := index.List(readingRuns(ctx, s), c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ui.Usagef("there is no folder %s", c.Dir)
	}
	if err != nil {
		return err
	}
	index.Live(c.Dir, runs)
	if runs, err = index.Filter(runs, c.Filter...); err != nil {
		return columnError(err)
	}
	switch {
	case exports && len(c.By) > 0:
		return ui.Usagef("--by prints groups; want it without --mlflow and --tensorboard")
	case exports && len(runs) == 0:
		return fmt.Errorf("there is no run in %s that passes the filters", c.Dir)
	case len(c.By) > 0:
		return c.compare(s, runs)
	case c.MLflow != "":
		return c.sendMLflow(ctx, s, runs)
	case c.TensorBoard:
		return c.writeTensorBoard(s, runs)
	case c.JSON:
		return ui.WriteJSON(s.Out, runs)
	case c.CSV:
		return plain.WriteCSV(s.Out, runRecords(index.Columns(runs), runs, false))
	}
	printRuns(s, runs)
	return nil
}

const readEvery = 5 * time.Second // time between two progress lines while reading runs

// readingRuns returns a context that logs now and then how many runs have been read or sent.
func readingRuns(ctx context.Context, s *ui.Streams) context.Context {
	last := time.Now()
	return progress.With(ctx, func(what string, done, total int64) {
		if time.Since(last) > readEvery {
			last = time.Now()
			fmt.Fprintf(s.Log, "%s: %d of %d\n", what, done, total)
		}
	})
}

func columnError(err error) error {
	unknown, ok := errors.AsType[*index.UnknownColumnError](err)
	switch {
	case !ok:
		return ui.Usagef("--%w", err) // filter ...
	case unknown.Nearest != "":
		return ui.Usagef("%w --csv has the names of all columns", err)
	}
	return ui.Usagef("%w; --csv has the names of all columns", err)
}

// shownColumns returns the columns of the printed list: settings that differ between runs, and main results.
func shownColumns(runs []*index.Run) []index.Column {
	var list []index.Column
	for _, c := range index.Columns(runs) {
		switch {
		case c.Name == "run" || c.Name == "state":
			list = append(list, c)
		case c.Name == "seconds":
			list = append(append(list, index.Shown(runs)...), c)
		case isResult(runs, c.Name) && mainResult(c.Name):
			list = append(list, c)
		}
	}
	return list
}

// runRecords returns a header and a row for each run. With short, numbers are rounded and "-" stands for no value.
func runRecords(columns []index.Column, runs []*index.Run, short bool) [][]string {
	list := [][]string{nil}
	for _, c := range columns {
		list[0] = append(list[0], c.Name)
	}
	for _, r := range runs {
		var row []string
		for _, c := range columns {
			text, ok := c.Of(r)
			v, err := strconv.ParseFloat(text, 64)
			switch {
			case !ok && short:
				text = "-"
			case !ok:
				text = ""
			case short && err == nil && strings.Contains(text, "."):
				text = strconv.FormatFloat(v, 'g', 4, 64)
			}
			row = append(row, text)
		}
		list = append(list, row)
	}
	return list
}

func (c *Command) compare(s *ui.Streams, runs []*index.Run) error {
	groups, err := index.GroupBy(runs, c.By...)
	if err != nil {
		return columnError(err)
	}
	if c.JSON {
		return ui.WriteJSON(s.Out, map[string]any{"by": c.By, "groups": groups})
	}
	for _, g := range groups {
		if n := len(g.Repeats); n > 0 {
			fmt.Fprintf(s.Log, "left out, with the config, seed and results of another run: %s\n", ui.Some(g.Repeats, 6))
		}
	}
	names := index.ResultNames(runs)
	if again := c.sameSeeds(groups, runs); again != nil {
		fmt.Fprintf(s.Log, "note: a seed counts twice: these have the config and seed of another run, and other results: %s\n",
			ui.Some(again, 6))
	}
	logDamaged(s, runs)
	if c.CSV {
		return plain.WriteCSV(s.Out, groupRecords(c.By, groups, names))
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !mainResult(name) })
	rows := [][]string{slices.Concat(c.By, []string{"runs"}, names)}
	for _, g := range groups {
		row := slices.Clone(g.Values)
		for i, text := range row {
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				row[i] = ui.Digits(v) // 0 instead of 0.0, as in a table of runs
			}
		}
		row = append(row, strconv.Itoa(g.Runs))
		for _, name := range names {
			row = append(row, resultOf(g, name))
		}
		rows = append(rows, row)
	}
	list := columnsOf(rows)
	for i := range list {
		if list[i].rank = alwaysShown; i > len(c.By) { // results
			list[i].rank = i
		}
	}
	printFitting(s, list)
	return nil
}

// sameSeeds lists the runs with the config and seed of an earlier run of their group that are not its repeats, for
// example from other versions or processors.
func (c *Command) sameSeeds(groups []*index.Group, runs []*index.Run) (list []string) {
	repeats, seen := map[string]bool{}, map[string]bool{}
	for _, g := range groups {
		for _, dir := range g.Repeats {
			repeats[dir] = true
		}
	}
	for _, r := range runs {
		if r.Hash == "" || r.Results.Len() == 0 || repeats[r.Dir] {
			continue
		}
		key := []string{r.Hash}
		for _, name := range c.By {
			column, _ := index.FindColumn(runs, name) // GroupBy found it
			text, _ := column.Of(r)
			key = append(key, text)
		}
		if k := strings.Join(key, "\x00"); seen[k] {
			list = append(list, r.Dir)
		} else {
			seen[k] = true
		}
	}
	return list
}

// groupRecords returns a header and a row for each group.
func groupRecords(by []string, groups []*index.Group, names []string) [][]string {
	rows := [][]string{append(slices.Clone(by), "runs")}
	for _, g := range groups {
		rows = append(rows, append(slices.Clone(g.Values), strconv.Itoa(g.Runs)))
	}
	for _, name := range names {
		rows[0] = append(rows[0], name+"_mean", name+"_std")
		for i, g := range groups {
			rows[i+1] = append(rows[i+1], digitsIn(g.Mean, name), digitsIn(g.Std, name))
		}
	}
	for _, name := range names {
		rows[0] = append(rows[0], name+"_runs")
		for i, g := range groups {
			rows[i+1] = append(rows[i+1], strconv.Itoa(g.Count[name]))
		}
	}
	return rows
}

func mainResult(name string) bool { return !strings.Contains(name, ".") || name == "fit.converged" }

func digitsIn(values map[string]float64, name string) string {
	if v, ok := values[name]; ok {
		return ui.Digits(v)
	}
	return ""
}

// resultOf returns the mean of a result, with its deviation if the group has several, and the number of runs with the
// result if others lack it.
func resultOf(g *index.Group, name string) string {
	mean, ok := g.Mean[name]
	if !ok {
		return "-"
	}
	text := fmt.Sprintf("%.4g", mean)
	if std, several := g.Std[name]; several {
		text += fmt.Sprintf("±%.2g", std)
	}
	if n := g.Count[name]; n < g.Runs {
		text += fmt.Sprintf(" (%d)", n)
	}
	return text
}

// sendMLflow sends runs to an MLflow server. The credentials are in MLflow's environment variables.
func (c *Command) sendMLflow(ctx context.Context, s *ui.Streams, runs []*index.Run) error {
	to := mlflow.Server{URL: c.MLflow, Token: os.Getenv("MLFLOW_TRACKING_TOKEN"),
		User: os.Getenv("MLFLOW_TRACKING_USERNAME"), Password: os.Getenv("MLFLOW_TRACKING_PASSWORD")}
	sum, failed := mlflow.Send(readingRuns(ctx, s), to, c.Dir, runs)
	for _, note := range sum.Notes {
		fmt.Fprintln(s.Log, note)
	}
	if sum.Runs == 0 && failed != nil {
		return failed
	}
	fmt.Fprintf(s.Out, "on the server: %s in %s, %d new or changed\n",
		wording.Count(sum.Runs, "run"), wording.Count(sum.Experiments, "experiment"), sum.Changed)
	return failed
}

// BoardFile is the event file in a folder of runs with the settings and metrics for comparing runs in TensorBoard.
const BoardFile = tfevents.FilePrefix + "0.unravel-runs"

func (c *Command) writeTensorBoard(s *ui.Streams, runs []*index.Run) error {
	var settings []tfevents.Setting
	open := map[string]bool{} // settings to write
	for _, key := range index.SettingKeys(runs) {
		open[key] = true
	}
	columns := append(index.Differing(runs), index.Columns(runs)...) // TensorBoard shows the first ones
	for _, column := range columns {
		if open[column.Name] {
			open[column.Name] = false
			settings = append(settings, tfevents.Setting{Name: column.Name, Value: kindOf(runs, column)})
		}
	}
	var compared []tfevents.Metric
	for _, name := range index.ResultNames(runs) {
		if !strings.Contains(name, ".") {
			compared = append(compared, tfevents.Metric{Tag: "metrics/" + name, Name: name, Description: direction(name)})
		}
	}
	w, err := tfevents.Create(filepath.Join(c.Dir, BoardFile), time.Now)
	if err != nil {
		return err
	}
	if err := errors.Join(w.Write(0, tfevents.Experiment("Runs of Unravel", settings, compared)), w.Close()); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s of %s and %s are in %s; to see them: tensorboard --logdir %s\n",
		wording.Count(len(settings), "setting"), wording.Count(len(runs), "run"), wording.Count(len(compared), "metric"),
		filepath.Join(c.Dir, BoardFile), c.Dir)
	return nil
}

// kindOf returns an example of a column's kind of values: a number, a boolean, or a text.
func kindOf(runs []*index.Run, column index.Column) any {
	number, truth := true, true
	for _, r := range runs {
		text, ok := column.Of(r)
		if !ok {
			continue
		}
		_, err := strconv.ParseFloat(text, 64)
		number, truth = number && err == nil, truth && (text == "true" || text == "false")
	}
	switch {
	case truth:
		return false
	case number:
		return 0.0
	}
	return ""
}

// direction says which values of a metric are good.
func direction(name string) string {
	m, err := metrics.Registry.Lookup(name)
	if err != nil {
		return ""
	}
	return m.New().Better().String() + " is better"
}

type shownColumn struct {
	header string
	cells  []string
	rank   int // columns with high ranks are omitted first
}

func columnsOf(rows [][]string) []shownColumn {
	list := make([]shownColumn, len(rows[0]))
	for i, header := range rows[0] {
		list[i].header = header
		for _, row := range rows[1:] {
			list[i].cells = append(list[i].cells, row[i])
		}
	}
	return list
}

const maxCell = 28 // maximum width of a settings cell, in characters

// shortenMiddle shortens a text by removing its middle.
func shortenMiddle(s string, width int) string {
	letters := []rune(s)
	if len(letters) <= width {
		return s
	}
	head := (width - 1) / 2
	return string(letters[:head]) + "…" + string(letters[len(letters)-(width-1-head):])
}

func (c *shownColumn) width() int {
	w := utf8.RuneCountInString(c.header)
	for _, cell := range c.cells {
		w = max(w, utf8.RuneCountInString(cell))
	}
	return w
}

const columnGap = 2

func widthOfAll(list []shownColumn) int {
	sum := -columnGap
	for _, c := range list {
		sum += c.width() + columnGap
	}
	return sum
}

// fitWidth shortens headers and cells, and then removes the columns with the highest ranks. It returns their names.
func fitWidth(list []shownColumn, width int) (fitting []shownColumn, omitted []string) {
	if widthOfAll(list) <= width {
		return list, nil
	}
	full := make([]string, len(list))
	for i, c := range list {
		full[i] = c.header
	}
	for i := range list {
		list[i].header = shortName(full[i], full)
		for r, cell := range list[i].cells {
			list[i].cells[r] = shortenMiddle(cell, max(maxCell, width/3))
		}
	}
	for len(list) > 1 && widthOfAll(list) > width {
		highest := 0
		for i, c := range list {
			if c.rank >= list[highest].rank {
				highest = i
			}
		}
		if list[highest].rank == alwaysShown {
			break
		}
		omitted = append(omitted, full[highest])
		list, full = slices.Delete(list, highest, highest+1), slices.Delete(full, highest, highest+1)
	}
	return list, omitted
}

// shortName returns the shortest suffix of a key that is unique.
func shortName(name string, all []string) string {
	parts := strings.Split(name, ".")
	for n := 1; n < len(parts); n++ {
		short := strings.Join(parts[len(parts)-n:], ".")
		others := slices.ContainsFunc(all,
			func(o string) bool { return o != name && (o == short || strings.HasSuffix(o, "."+short)) })
		if _, err := strconv.Atoi(parts[len(parts)-n]); err != nil && !others {
			return short
		}
	}
	return name
}

// printFitting prints the columns that fit, and logs the names of the others.
func printFitting(s *ui.Streams, list []shownColumn) {
	fitting, left := fitWidth(list, ui.Width(s.Out))
	t := tabwriter.NewWriter(s.Out, 0, 0, columnGap, ' ', 0)
	for row := -1; row < len(list[0].cells); row++ {
		var line []string
		for _, c := range fitting {
			if row < 0 {
				line = append(line, c.header)
			} else {
				line = append(line, c.cells[row])
			}
		}
		fmt.Fprintln(t, strings.Join(line, "\t"))
	}
	t.Flush()
	if left != nil {
		slices.Sort(left)
		fmt.Fprintf(s.Log, "there is no room for %s; --csv has all columns\n", ui.Some(left, 6))
	}
}

// The rank of columns that are always shown, and the rank of columns that are omitted first.
const alwaysShown, firstOmitted = -1, math.MaxInt32

const maxRows = 1000 // maximum number of rows on a terminal. More rows would scroll for minutes.

func printRuns(s *ui.Streams, runs []*index.Run) {
	if len(runs) == 0 {
		fmt.Fprintln(s.Out, "no runs")
		return
	}
	shown := runs
	if plain.Terminal(s.Out) != nil {
		shown = runs[:min(len(runs), maxRows)]
	}
	list := columnsOf(runRecords(shownColumns(runs), shown, true))
	rank(list, runs)
	printFitting(s, list)
	if len(shown) < len(runs) {
		fmt.Fprintf(s.Log, "the first %d of %d runs; --filter, --by and --csv have the others\n", len(shown), len(runs))
	}
	logDamaged(s, runs)
}

// logDamaged says why the first damaged run is damaged, and how many others are.
func logDamaged(s *ui.Streams, runs []*index.Run) {
	n := 0
	for _, r := range runs {
		if r.State != sweep.Damaged {
			continue
		}
		if n++; n == 1 {
			fmt.Fprintf(s.Log, "%s is damaged: %s\n", r.Dir, r.Problem)
		}
	}
	if n > 1 {
		fmt.Fprintf(s.Log, "also damaged: %d; --json gives the reasons\n", n-1)
	}
}

// rank orders columns by importance. Settings and results alternate, and columns with values in most runs come first.
func rank(list []shownColumn, runs []*index.Run) {
	var settings, results []int
	for i, c := range list {
		switch {
		case i == 0, c.header == "state" &&
			slices.ContainsFunc(runs, func(r *index.Run) bool { return r.State != sweep.Finished }):
			list[i].rank = alwaysShown
		case c.header == "state" || c.header == "seconds" || c.header == "fit.converged":
			list[i].rank = firstOmitted
		case isResult(runs, c.header):
			results = append(results, i)
		default:
			settings = append(settings, i)
		}
	}
	for turn, columns := range [][]int{settings, results} {
		slices.SortStableFunc(columns,
			func(i, j int) int { return cmp.Compare(missing(list[i].cells), missing(list[j].cells)) })
		for n, i := range columns {
			list[i].rank = 2*n + turn
		}
	}
}

// missing counts the runs without a value.
func missing(cells []string) (n int) {
	for _, c := range cells {
		if c == "-" {
			n++
		}
	}
	return n
}

func isResult(runs []*index.Run, name string) bool {
	return slices.ContainsFunc(runs, func(r *index.Run) bool { _, ok := r.Results.Get(name); return ok })
}
