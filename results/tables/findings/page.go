package findings

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables"
)

// Summary counts the cells of a table that a paper prints.
type Summary struct {
	Printed  int // cells with a printed value
	Computed int // of these, cells with a value of ours
	Same     int // rounded, the printed value
	Near     int // otherwise within two standard errors of the difference
	Within   int // otherwise within two printed standard deviations
	Known    int // otherwise with a reason
	Stale    int // computed from runs of the ledger whose code or config has changed
}

// Differs counts the computed cells that none of the others accounts for.
func (s Summary) Differs() int { return s.Computed - s.Same - s.Near - s.Within - s.Known - s.Stale }

// differing is the text of Differs, with stale cells if there are any.
func (s Summary) differing() string {
	if s.Stale == 0 {
		return fmt.Sprint(s.Differs())
	}
	return fmt.Sprintf("%d, %d stale", s.Differs(), s.Stale)
}

// Summarise counts the cells of a result. Times are not compared: none of them counts as computed.
func Summarise(r *tables.Result) Summary {
	var s Summary
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Theirs == nil {
				continue
			}
			s.Printed++
			switch c.Status {
			case tables.Missing, tables.Unprinted, tables.Measured:
				continue
			}
			s.Computed++
			spread, _ := c.PrintedDeviation()
			switch {
			case c.Status == tables.Outdated:
				s.Stale++
			case c.Status == tables.Same || c.Status == tables.Stale && c.Exact:
				s.Same++
			case c.Status.Reproduced():
				s.Near++
			case math.Abs(*c.Difference) <= 2*spread:
				s.Within++
			case c.Status == tables.Known:
				s.Known++
			}
		}
	}
	return s
}

// Order is the agreement of our order of rows with the printed one in a column.
type Order struct {
	Column string
	Rows   int
	Tau    float64 // Kendall's tau-b; NaN if all values of either are equal
}

// Orders compares the order of rows in every column with at least three printed values.
func Orders(r *tables.Result) []Order {
	var columns []string
	ours, theirs := map[string][]float64{}, map[string][]float64{}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Ours == nil || c.Theirs == nil || c.Status == tables.Measured {
				continue
			}
			if !slices.Contains(columns, c.Column) {
				columns = append(columns, c.Column)
			}
			ours[c.Column], theirs[c.Column] = append(ours[c.Column], *c.Ours), append(theirs[c.Column], *c.Theirs)
		}
	}
	var list []Order
	for _, c := range columns {
		if n := len(ours[c]); n >= 3 {
			list = append(list, Order{c, n, metrics.KendallTau(ours[c], theirs[c])})
		}
	}
	return list
}

// meanTau returns the mean over columns, and their number.
func meanTau(orders []Order) (mean float64, n int) {
	for _, o := range orders {
		if !math.IsNaN(o.Tau) {
			mean += o.Tau
			n++
		}
	}
	return mean / float64(n), n
}

// Write writes the page docs/results.md: a table of tables, the order of methods by column, and the findings of the papers. Results are
// those of the tables with printed values.
func Write(w io.Writer, results []*tables.Result, papers []Paper) error {
	var b, rows, found strings.Builder
	total := writeTables(&rows, results)
	verdicts, err := writeFindings(&found, results, papers)
	if err != nil {
		return err
	}
	b.WriteString(head)
	writeTotal(&b, total)
	writeVerdicts(&b, papers, verdicts)
	b.WriteString(tableHead + rows.String())
	if err := writeRuns(&b, results); err != nil {
		return err
	}
	writeOrders(&b, results)
	b.WriteString(found.String())
	_, err = io.WriteString(w, b.String())
	return err
}

const head = `# Results

What comes out of the [ledger](ledger.md): how much of the papers' tables, which orders of methods, and which findings. This page is made by
` + "`unravel docs --results docs/results.md`" + `, and a test holds it against the ledger.

## In short

Tables that quote cells of others are left out here.
`

const tableHead = `
## Table of tables

Every table is shown at the largest scale that the ledger holds. *Exact*: our mean, rounded, is the printed value. *2 SE*: otherwise the
difference is within two standard errors, those of our mean and of the printed one together; a single run is taken to vary as much as the printed ones. *2 SD*: otherwise within two printed standard deviations.
*Known*: otherwise a note of the table gives the reason, or the experiment that was made: this explains as much as it moves our value, and the rest must be within two errors. Cells are *stale*, and in no other column, if
their runs were made before a change of code or config. *Order*: Kendall's tau between our order of rows and the printed one, the mean over columns; 1 is the same order, 0 none, -1 the opposite.

Names begin with the paper's: ` + "`enriching`" + ` (Zhang and Sugiyama 2024), ` + "`lsbd-vae`" + ` (Tonnaer et al. 2022), ` + "`lsbd-metric`" + ` (Pérez Rey et al. 2020), ` + "`hierarchical`" + ` (Ross and Doshi-Velez 2021), ` + "`negative-free`" + ` (Cao et al. 2022); their numbers are
the paper's.

| table | scale | printed | computed | exact | 2 SE | 2 SD | known | differ | order |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
`

func writeTables(b *strings.Builder, results []*tables.Result) (total [2]Summary) {
	var others []string
	for _, r := range results {
		s := Summarise(r)
		if s.Printed == 0 {
			others = append(others, "`"+r.Name+"`")
			continue
		}
		order := "-"
		if tau, n := meanTau(Orders(r)); n > 0 {
			order = fmt.Sprintf("%.2f", tau)
		}
		fmt.Fprintf(b, "| `%s` | %s | %d | %d | %d | %d | %d | %d | %s | %s |\n", r.Name, r.Scale, s.Printed, s.Computed,
			s.Same, s.Near, s.Within, s.Known, s.differing(), order)
		if r.Quotes() { // its cells are counted with the tables that it quotes
			continue
		}
		kind := 0
		if r.Trained() {
			kind = 1
		}
		t := &total[kind]
		t.Printed, t.Computed, t.Same, t.Near = t.Printed+s.Printed, t.Computed+s.Computed, t.Same+s.Same, t.Near+s.Near
		t.Within, t.Known, t.Stale = t.Within+s.Within, t.Known+s.Known, t.Stale+s.Stale
	}
	fmt.Fprintf(b, "\nWithout printed values: %s.\n", strings.Join(others, ", "))
	return total
}

func writeTotal(b *strings.Builder, total [2]Summary) {
	for kind, name := range []string{"tables without training", "tables that train"} {
		s := total[kind]
		if s.Computed == 0 {
			continue
		}
		part := func(n int) float64 { return 100 * float64(n) / float64(s.Computed) }
		fmt.Fprintf(b, "\nOf the %d printed cells of **%s**, %d are computed: %d (%.0f %%) as printed, %d (%.0f %%) within two standard errors, %d (%.0f %%) within "+
			"two printed deviations, %d (%.0f %%) differ for a known reason, %d (%.0f %%) for none.\n", s.Printed, name, s.Computed, s.Same, part(s.Same), s.Near, part(s.Near),
			s.Within, part(s.Within), s.Known, part(s.Known), s.Differs(), part(s.Differs()))
	}
}

// The bounds of tau by which an order is called the same, or another.
const sameOrder, otherOrder = 0.5, 0.0

func writeOrders(b *strings.Builder, results []*tables.Result) {
	fmt.Fprintf(b, `
## Order of methods

Kendall's tau between our values and the printed ones over the rows of a table, for every column with three printed values or more. An order is
**confirmed** from %.1f on, **refuted** at %.0f and below, and **partly** the same in between; a dash means that all values of either are equal.

| table | confirmed | partly | refuted |
|---|---|---|---|
`, sameOrder, otherOrder)
	for _, r := range results {
		var cells [3][]string
		for _, o := range Orders(r) {
			at, text := 1, fmt.Sprintf("%s %.2f", o.Column, o.Tau)
			switch {
			case math.IsNaN(o.Tau):
				text = o.Column + " -"
			case o.Tau >= sameOrder:
				at = 0
			case o.Tau <= otherOrder:
				at = 2
			}
			cells[at] = append(cells[at], text)
		}
		if len(cells[0])+len(cells[1])+len(cells[2]) > 0 {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", r.Name, strings.Join(cells[0], ", "), strings.Join(cells[1], ", "), strings.Join(cells[2], ", "))
		}
	}
}

// writeVerdicts counts the findings of each paper by verdict.
func writeVerdicts(b *strings.Builder, papers []Paper, verdicts [][]Verdict) {
	b.WriteString("\n| findings of | in all | hold | do not | undecided | no values |\n|---|---:|---:|---:|---:|---:|\n")
	for i, p := range papers {
		n := map[Verdict]int{}
		for _, v := range verdicts[i] {
			n[v]++
		}
		fmt.Fprintf(b, "| [%s](#%s) | %d | %d | %d | %d | %d |\n", p.Name, anchor(p.Name), len(verdicts[i]), n[Holds], n[Fails], n[Undecided], n[Missing])
	}
}

// anchor is what a heading is linked by.
func anchor(heading string) string {
	keep := func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' {
			return unicode.ToLower(r)
		}
		return -1
	}
	return strings.Map(keep, strings.ReplaceAll(heading, " ", "-"))
}

// writeFindings writes the findings with their tests, and returns the verdicts of each paper.
func writeFindings(b *strings.Builder, results []*tables.Result, papers []Paper) (verdicts [][]Verdict, err error) {
	b.WriteString(`
## What the papers find

Every finding is decided by inequalities between cells of ours. A difference counts if it exceeds two standard errors; of a cell with a single run, or without any
randomness, its sign counts. A finding **holds** if all its inequalities do, it **does not** if one is the other way round.
`)
	open := func(name string) (*tables.Result, error) {
		if at := slices.IndexFunc(results, func(r *tables.Result) bool { return r.Name == name }); at >= 0 {
			return results[at], nil
		}
		return nil, fmt.Errorf("there is no result of the table %q", name)
	}
	for _, p := range papers {
		var list []Verdict
		fmt.Fprintf(b, "\n### %s\n\n*%s*\n\n", p.Name, p.Title)
		for i := range p.Findings {
			f := &p.Findings[i]
			j, err := Judge(f, open)
			if err != nil {
				return nil, fmt.Errorf("%s, finding %d: %w", p.Name, i+1, err)
			}
			list = append(list, j.Verdict)
			fmt.Fprintf(b, "%d. %s (%s): **%s**\n", i+1, f.Claim, f.Section, j.Verdict)
			for k, o := range j.Tests {
				fmt.Fprintf(b, "    * %s: `%s`, %s, %s\n", o.Verdict, f.Tests[k].Table, o.Scale, o.Numbers)
			}
			if f.Remark != "" {
				fmt.Fprintf(b, "    * %s\n", f.Remark)
			}
		}
		verdicts = append(verdicts, list)
	}
	return verdicts, nil
}
