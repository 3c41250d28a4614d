package tables

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/sweep"
	"github.com/unravel-ml/unravel/train"
)

// Results of runs that come with a table are a CSV file with a line for each run: a digest of its settings, its row, data set
// and seed, the values of the table's metrics by the labels of the columns, and why it has not converged. A table shows them where
// it finds no run of its own ([Table.Unshipped] lists the others).
var shippedHead = []string{"settings", "row", "dataset", "seed"}

const shippedWhy = "not converged"

// runLine is a line of such a file.
type runLine struct {
	settings, row, dataset string
	seed                   uint64
	values                 map[string]float64 // by label of the column; what is absent has no value
	why                    string             // it has not converged; empty: it has
}

// digest identifies what a table says of a run: the base config without its comments, the overrides, and the seed among them.
// Settings that parts get later, with defaults, do not change it.
func digest(file string, source []byte, overrides []string, real bool) (string, error) {
	root, err := config.Parse(file, source)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%t", root.Inline(), strings.Join(overrides, "\n"), real)
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// readShipped reads the results that come with a table, by digest.
func (t *Table) readShipped(fsys fs.FS, folder string) error {
	if t.Shipped == "" {
		return nil
	}
	shown := folder + path.Clean(t.Shipped)
	text, err := readConfig(fsys, t.Shipped, shown)
	if err != nil {
		return fmt.Errorf("results of runs: %w", err)
	}
	t.shipped, err = parseShipped(text, shown, t.Columns)
	return err
}

// parseShipped parses such a file. All its columns must be the table's.
func parseShipped(text []byte, shown string, columns []Column) (map[string]*runLine, error) {
	r := csv.NewReader(bytes.NewReader(text))
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, noEOF(err))
	}
	first, last := len(shippedHead), len(head)-1
	if last < first || !slices.Equal(head[:first], shippedHead) || head[last] != shippedWhy {
		return nil, fmt.Errorf("%s:1: the header is %q; want %s, labels of columns, %s", shown, head, strings.Join(shippedHead, ","), shippedWhy)
	}
	var labels []string
	for _, c := range columns {
		labels = append(labels, c.Label)
	}
	for i, label := range head[first:last] {
		if err := among("column", label, labels); err != nil {
			return nil, fmt.Errorf("%s:1: %w", shown, err)
		}
		if slices.Contains(head[first:first+i], label) {
			return nil, fmt.Errorf("%s:1: there are two columns %q", shown, label)
		}
	}
	all := map[string]*runLine{}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shown, err)
		}
		number, _ := r.FieldPos(0)
		line := &runLine{settings: fields[0], row: fields[1], dataset: fields[2], values: map[string]float64{}, why: fields[last]}
		if line.seed, err = strconv.ParseUint(fields[3], 10, 64); err != nil {
			return nil, fmt.Errorf("%s:%d: the seed is %q; want a whole number", shown, number, fields[3])
		}
		if all[line.settings] != nil {
			return nil, fmt.Errorf("%s:%d: there are two lines of the settings %q", shown, number, line.settings)
		}
		all[line.settings] = line
		for i, label := range head[first:last] {
			field := fields[first+i]
			if field == "" {
				continue
			}
			v, err := strconv.ParseFloat(field, 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%s:%d: column %q is %q; want a number, or nothing", shown, number, label, field)
			}
			line.values[label] = v
		}
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	return err
}

// shipped returns the line of a run that was planned; nil if there is none. Runs of a grid have none, as one of them is chosen.
func (p *Planner) shipped(runs []sweep.Run, all map[string]*runLine) *runLine {
	if len(runs) != 1 {
		return nil
	}
	return all[p.digests[runs[0].Hash]]
}

// results makes the results of metrics from a line; nil if one of them is not in it.
func (l *runLine) results(all []measured, columns []Column) []metrics.Result {
	var list []metrics.Result
	for _, m := range all {
		r := metrics.Result{Name: m.choice.Name, Better: m.choice.Value.Better(), Value: math.NaN()}
		for _, c := range m.columns {
			v, ok := l.values[columns[c].Label]
			switch {
			case !ok:
				v = math.NaN()
				fallthrough
			case columns[c].Part == "":
				r.Value = v
			default:
				part := metrics.Part{Name: columns[c].Part, Values: []float64{v}}
				if columns[c].Of != "" {
					part.Labels = []string{columns[c].Of}
				}
				r.Parts = append(r.Parts, part)
			}
		}
		list = append(list, r)
	}
	return list
}

// fit returns what is known of the run's fit: whether it has converged.
func (l *runLine) fit() *train.Fit {
	if l.why == "" {
		return nil
	}
	return &train.Fit{Why: l.why}
}

// lineOf makes the line of a run from its results.
func (t *Table) lineOf(settings string, row Row, seed uint64, all []measured, results []metrics.Result, fit *train.Fit) *runLine {
	l := &runLine{settings: settings, row: row.Label, dataset: row.dataset(t), seed: seed, values: map[string]float64{}}
	if fit != nil && !fit.Converged {
		l.why = fit.Why
	}
	for i, m := range all {
		for _, at := range m.columns {
			c := t.Columns[at]
			v, err := results[i].Value, error(nil)
			if c.Part != "" {
				v, err = c.number(results[i])
			}
			if err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
				l.values[c.Label] = v
			}
		}
	}
	return l
}

// HasRuns reports whether [Result.WriteRuns] has something to write: a run of a table that names a file of shipped results.
func (r *Result) HasRuns() bool { return r.table.Shipped != "" && len(r.runs) > 0 }

// WriteRuns writes the results of runs that the table shows, with seven digits, as the file that the table's key shipped names.
func (r *Result) WriteRuns(w io.Writer) error {
	head := slices.Clone(shippedHead)
	for _, c := range r.table.Columns {
		head = append(head, c.Label)
	}
	records, known := [][]string{append(head, shippedWhy)}, map[string]bool{}
	for _, l := range r.runs {
		if known[l.settings] { // rows share runs
			continue
		}
		known[l.settings] = true
		record := []string{l.settings, l.row, l.dataset, strconv.FormatUint(l.seed, 10)}
		for _, c := range r.table.Columns {
			text := ""
			if v, ok := l.values[c.Label]; ok {
				text = strconv.FormatFloat(v, 'g', 7, 64)
			}
			record = append(record, text)
		}
		records = append(records, append(record, l.why))
	}
	if err := plain.WriteCSV(w, records); err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	return nil
}

// Unshipped lists those of [Table.Runs] whose results do not come with the table.
func (t *Table) Unshipped(scale string) ([]sweep.Run, error) {
	p, outlines, err := t.plan(scale, true)
	if err != nil {
		return nil, err
	}
	shipped := func(r sweep.Run) bool { return t.shipped[p.digests[r.Hash]] != nil }
	if slices.IndexFunc(outlines, func(r sweep.Run) bool { return !shipped(r) }) < 0 { // the runs need not be read
		return nil, nil
	}
	p, runs, err := t.plan(scale, false)
	return slices.DeleteFunc(runs, shipped), err
}
