package findings

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/unravel-ml/unravel/results/tables"
)

// Summary counts printed cells: of one table, or the distinct cells of several tables.
type Summary struct {
	Printed  int     // cells with a printed value
	Computed int     // of these, cells with a value of ours
	Same     int     // equal to the printed value after rounding
	Near     int     // otherwise within two standard errors of the difference
	Shuffled float64 // mean number of same or near cells if rows were shuffled
	Unfit    int     // same or near, but from runs that have not learned the images
	Within   int     // otherwise within two printed standard deviations
	Known    int     // otherwise with a reason
	Stale    int     // computed from recorded runs, after a change of their code or config
	Opposite int     // of the opposite sign to the printed value

	FromPrinted int // further computed cells: arithmetic on printed numbers
	Repeated    int // further computed cells that repeat other cells
}

// Differs counts the computed cells outside all other classes.
func (s Summary) Differs() int {
	return s.Computed - s.Same - s.Near - s.Unfit - s.Within - s.Known - s.Stale
}

// differing writes Differs as text, with any unfit and stale cells.
func (s Summary) differing() string {
	text := fmt.Sprint(s.Differs())
	if s.Unfit > 0 {
		text += fmt.Sprintf(", %d not learned", s.Unfit)
	}
	if s.Stale > 0 {
		text += fmt.Sprintf(", %d stale", s.Stale)
	}
	return text
}

// keys are the keys of counted cells, see [tables.Result.Keys].
type keys map[string]bool

// Summarise counts the cells of a result. Times are not compared and do not count as computed. Both cells of a pair
// in a symmetric table count once, and the cells of its diagonal do not count.
func Summarise(r *tables.Result) (Summary, error) {
	var s Summary
	all, err := r.Keys()
	if err == nil {
		s.count(r, all, keys{}, false)
	}
	return s, err
}

// count adds the cells of a result. A cell with a known key counts as repeated, and so does the second cell of a
// pair. With distinct, cells computed from printed numbers are counted apart.
func (s *Summary) count(r *tables.Result, all [][][]string, known keys, distinct bool) {
	shuffled, pairs := r.Shuffled(), keys{}
	var shown []string
	for i, row := range r.Rows {
		for j := range row.Cells {
			c, key := &row.Cells[j], all[i][j]
			switch computed := c.Ours != nil && c.Status != tables.Measured; {
			case c.Theirs == nil || key[0] == tables.KeyItself:
			case distinct && key[0] == tables.KeyPrinted:
				s.FromPrinted++
			case known.some(key) || pairs[key[0]]:
				if computed {
					s.Repeated++
				}
			default:
				pairs[key[0]] = strings.HasPrefix(key[0], tables.KeyPair)
				shown = append(shown, key...)
				s.Printed++
				if computed {
					s.add(c, shuffled[i][j])
				}
			}
		}
	}
	for _, key := range shown {
		known[key] = true
	}
}

// some reports whether any key of a cell is known.
func (k keys) some(list []string) bool {
	return slices.ContainsFunc(list, func(key string) bool { return k[key] })
}

// add counts a computed cell with a printed value. Of its column's other printed values, the fraction shuffled agrees.
func (s *Summary) add(c *tables.Cell, shuffled float64) {
	s.Computed++
	if c.Status != tables.Unfit && c.Status != tables.Outdated {
		s.Shuffled += shuffled
	}
	if *c.Ours**c.Theirs < 0 {
		s.Opposite++
	}
	spread, _ := c.PrintedDeviation()
	switch {
	case c.Status == tables.Outdated:
		s.Stale++
	case c.Status == tables.Unfit:
		s.Unfit++
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

// Order says how our order of rows in a column agrees with the printed order.
type Order struct {
	Column    string
	Rows      int
	Tau       float64 // Kendall's tau-b; NaN if all our values or all printed values are equal
	Low, High float64 // bounds of Tau if single runs or short training leave the order of some rows open
}

// Orders compares the order of rows in every column with at least three printed values.
func Orders(r *tables.Result) ([]Order, error) {
	if err := r.FindLengths(); err != nil {
		return nil, err
	}
	var columns []string
	ours, theirs := map[string][]side{}, map[string][]side{}
	for _, row := range r.Rows {
		for i := range row.Cells {
			c := &row.Cells[i]
			if c.Ours == nil || c.Theirs == nil || c.Status == tables.Measured {
				continue
			}
			if !slices.Contains(columns, c.Column) {
				columns = append(columns, c.Column)
			}
			ours[c.Column] = append(ours[c.Column], sideOf(row.Label, &placed{c, r, i}))
			theirs[c.Column] = append(theirs[c.Column], side{value: *c.Theirs})
		}
	}
	var list []Order
	for _, c := range columns {
		if n := len(ours[c]); n >= 3 {
			t := tauOf(ours[c], theirs[c])
			list = append(list, Order{c, n, t.value, t.low, t.high})
		}
	}
	return list, nil
}

// meanTau returns the mean tau over columns, and the number of columns.
func meanTau(orders []Order) (mean float64, n int) {
	for _, o := range orders {
		if !math.IsNaN(o.Tau) {
			mean += o.Tau
			n++
		}
	}
	return mean / float64(n), n
}

// Write writes the page docs/papers/results.md: a table of tables, the order of methods by column, and the papers' findings.
// results are the results of all tables with printed values.
func Write(w io.Writer, results []*tables.Result, papers []Paper) error {
	var b, rows, found strings.Builder
	if err := writeTables(&rows, results); err != nil {
		return err
	}
	total, err := totals(results)
	if err != nil {
		return err
	}
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
	if err := writeOrders(&b, results); err != nil {
		return err
	}
	b.WriteString(found.String())
	_, err = io.WriteString(w, b.String())
	return err
}

const head = `# Results

What comes out of the [ledger](../ledger.md): how much of the papers' tables, which orders of methods, and which findings. This page is made by
` + "`unravel docs --results docs/papers/results.md`" + `, and a test holds it against the ledger.

## In short

Distinct cells are counted: tables that quote cells of others are left out, a cell that several tables have counts in the largest of them, and a pair of a symmetric
table counts once. Beside the cells that agree stands how many would agree on average if the rows of each column were shuffled.
`

const tableHead = `
## Table of tables

Every table is shown at the largest scale that the ledger holds. *Exact*: our mean, rounded, is the printed value. *2 SE*: otherwise the
difference is within two standard errors, of our mean and of the printed one together; a single run is taken to vary as much as the printed ones. *2 SD*: otherwise within two printed standard deviations.
*Shuffled*: how many of the cells would be exact or within two standard errors, on average, if the printed values of a column stood in other rows. A cell that agrees is *not learned*, and in no other column, if half of its runs or more
have not learned the images: their reconstructions leave over 60 % of the variance. *Known*: otherwise a note of the table gives the reason, or the experiment that was made: this explains as much as it moves our value, and the rest must be within two errors. Cells are *stale*, and in no other column, if
their runs were made before a change of code or config. *Order*: Kendall's tau between our order of rows and the printed one, the mean over columns; 1 is the same order, 0 none, -1 the opposite.

Names begin with the paper's: ` + "`enriching`" + ` (Zhang and Sugiyama 2024), ` + "`lsbd-vae`" + ` (Tonnaer et al. 2022), ` + "`lsbd-metric`" + ` (Pérez Rey et al. 2020), ` + "`hierarchical`" + ` (Ross and Doshi-Velez 2021), ` + "`negative-free`" + ` (Cao et al. 2022); their numbers are
the paper's.

| table | scale | printed | computed | exact | 2 SE | shuffled | 2 SD | known | differ | order |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`

func writeTables(b *strings.Builder, results []*tables.Result) error {
	var others, symmetric []string
	for _, r := range results {
		s, err := Summarise(r)
		if err != nil {
			return err
		}
		if s.Printed == 0 {
			others = append(others, "`"+r.Name+"`")
			continue
		}
		orders, err := Orders(r)
		if err != nil {
			return err
		}
		order := "-"
		if tau, n := meanTau(orders); n > 0 {
			order = fmt.Sprintf("%.2f", tau)
		}
		fmt.Fprintf(b, "| `%s` | %s | %d | %d | %d | %d | %.0f | %d | %d | %s | %s |\n", r.Name, r.Scale, s.Printed, s.Computed,
			s.Same, s.Near, s.Shuffled, s.Within, s.Known, s.differing(), order)
		if s.Repeated > 0 {
			symmetric = append(symmetric, fmt.Sprintf("\n`%s` is symmetric, and half of it is counted: of its %d pairs %d are as printed, and %d have the opposite sign.\n",
				r.Name, s.Computed, s.Same, s.Opposite))
		}
	}
	fmt.Fprintf(b, "%s\nWithout printed values: %s.\n", strings.Join(symmetric, ""), strings.Join(others, ", "))
	return nil
}

// totals counts the distinct cells of tables without training, and of tables with training. It leaves out tables that
// quote others. It counts larger tables first, so a repeated cell counts in the largest table.
func totals(results []*tables.Result) (total [2]Summary, err error) {
	sorted := slices.Clone(results)
	slices.SortStableFunc(sorted, func(a, b *tables.Result) int { return b.Printed - a.Printed })
	known := keys{}
	for _, r := range sorted {
		if r.Table.Quotes() {
			continue
		}
		all, err := r.Keys()
		if err != nil {
			return total, err
		}
		kind := 0
		if r.Table.Trains() {
			kind = 1
		}
		total[kind].count(r, all, known, true)
	}
	return total, nil
}

func writeTotal(b *strings.Builder, total [2]Summary) {
	for kind, name := range []string{"tables without training", "tables that train"} {
		s := total[kind]
		if s.Computed == 0 {
			continue
		}
		part := func(n int) string { return fmt.Sprintf("%d (%.0f %%)", n, 100*float64(n)/float64(s.Computed)) }
		fmt.Fprintf(b, "\nOf the %d distinct printed cells of **%s**, %d are computed: %s as printed and %s within two standard errors (of both, %.0f would be with shuffled rows), ",
			s.Printed, name, s.Computed, part(s.Same), part(s.Near), s.Shuffled)
		if s.Unfit > 0 {
			fmt.Fprintf(b, "%s would be, but their runs have not learned the images, ", part(s.Unfit))
		}
		fmt.Fprintf(b, "%s within two printed deviations, %s differ for a known reason, %s for none.", part(s.Within), part(s.Known), part(s.Differs()))
		if s.FromPrinted > 0 {
			fmt.Fprintf(b, " A further %d are arithmetic on printed numbers.", s.FromPrinted)
		}
		if s.Repeated > 0 {
			fmt.Fprintf(b, " A further %d repeat cells that are counted.", s.Repeated)
		}
		b.WriteString("\n")
	}
}

// From sameOrder on, tau confirms an order; up to otherOrder, tau refutes it.
const sameOrder, otherOrder = 0.5, 0.0

func writeOrders(b *strings.Builder, results []*tables.Result) error {
	fmt.Fprintf(b, `
## Order of methods

Kendall's tau between our values and the printed ones over the rows of a table, for every column with three printed values or more. An order is
**confirmed** from %.1f on, **refuted** at %.0f and below, and **partly** the same in between; a dash means that all values of either are equal. An order is **undecided** where single runs, short training
or runs that have not learned the images leave the order of some rows open, as in the findings below, and these rows decide.

| table | confirmed | partly | refuted | undecided |
|---|---|---|---|---|
`, sameOrder, otherOrder)
	for _, r := range results {
		orders, err := Orders(r)
		if err != nil {
			return err
		}
		var cells [4][]string
		for _, o := range orders {
			at, text := class(o.Low), fmt.Sprintf("%s %.2f", o.Column, o.Tau)
			if math.IsNaN(o.Tau) {
				text = o.Column + " -"
			} else if class(o.High) != at {
				at = 3
			}
			cells[at] = append(cells[at], text)
		}
		if len(orders) > 0 {
			fmt.Fprintf(b, "| `%s`", r.Name)
			for _, list := range cells {
				fmt.Fprintf(b, " | %s", strings.Join(list, ", "))
			}
			b.WriteString(" |\n")
		}
	}
	return nil
}

// class returns the column of a tau: 0 for the same order, 1 for partly the same, 2 for another order.
func class(tau float64) int {
	switch {
	case tau >= sameOrder:
		return 0
	case tau <= otherOrder:
		return 2
	}
	return 1
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

// anchor returns the link target of a heading.
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

Inequalities between cells of ours decide every finding. A difference counts if it exceeds what both sides can explain, and is **undecided** otherwise:

* Two standard errors. A single run is taken to vary as much as the printed runs; where no deviation is printed, as much as the runs of other rows in the column; where all rows have
  a single run, as much as the rows differ.
* The distance from the printed value, where runs trained for less than a tenth of the paper's length: longer training may move a value so far.
* Everything, where half of the runs or more have not learned the images.

A finding **holds** if all its inequalities do, it **does not** if one is the other way round.
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
