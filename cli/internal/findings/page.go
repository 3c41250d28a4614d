package findings

import (
	_ "embed" // for the text of the page
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"gonum.org/v1/gonum/stat"

	"github.com/unravel-ml/unravel/results/tables"
)

//go:embed results.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("results").Funcs(template.FuncMap{
	"anchor": anchor, "join": strings.Join, "number": func(i int) int { return i + 1 },
}).Parse(pageText))

type page struct {
	Totals []total
	Papers []judgedPaper
	Tables []tableLine
	Others []string // tables without printed values
	Effort effort   // of all tables
}

type total struct {
	Name string
	summary
}

type judgedPaper struct {
	Paper
	Judged []*judgement
}

func (p judgedPaper) Count(v verdict) (n int) {
	for _, j := range p.Judged {
		if j.Verdict == v {
			n++
		}
	}
	return n
}

type tableLine struct {
	Name, Scale string
	Cells       summary
	Tau         string     // mean over the columns
	Orders      [][]string // columns whose order is confirmed, partly the same, refuted and undecided; nil without columns
	Effort      effort
}

// Write writes the page docs/papers/results.md: a table of tables, the order of methods by column, and the papers'
// findings. results are the results of all tables with printed values.
func Write(w io.Writer, results []*tables.Result, papers []Paper) error {
	var p page
	var err error
	if p.Totals, err = totals(results); err != nil {
		return err
	}
	counted := map[string]bool{}
	for _, r := range results {
		line, err := newTableLine(r, counted)
		if err != nil {
			return err
		}
		if line.Cells.Printed == 0 {
			p.Others = append(p.Others, r.Name)
		}
		p.Tables = append(p.Tables, line)
		p.Effort.add(line.Effort)
	}
	if p.Papers, err = judgeAll(results, papers); err != nil {
		return err
	}
	return pageTemplate.Execute(w, p)
}

// newTableLine describes a table. It skips runs that were counted before.
func newTableLine(r *tables.Result, counted map[string]bool) (tableLine, error) {
	l := tableLine{Name: r.Name, Scale: r.Scale}
	var err error
	if l.Cells, err = summarise(r); err != nil {
		return l, err
	}
	orders, err := columnOrders(r)
	if err != nil {
		return l, err
	}
	l.Tau, l.Orders = meanTau(orders), classifyOrders(orders)
	runs, err := r.Table.Planned(r.Scale)
	if err != nil {
		return l, fmt.Errorf("table %s: %w", r.Name, err)
	}
	l.Effort = newEffort(runs, counted)
	return l, nil
}

func judgeAll(results []*tables.Result, papers []Paper) (list []judgedPaper, err error) {
	open := func(name string) (*tables.Result, error) {
		if i := slices.IndexFunc(results, func(r *tables.Result) bool { return r.Name == name }); i >= 0 {
			return results[i], nil
		}
		return nil, fmt.Errorf("there is no result of the table %q", name)
	}
	for _, p := range papers {
		paper := judgedPaper{Paper: p}
		for i := range p.Findings {
			j, err := p.Findings[i].judge(open)
			if err != nil {
				return nil, fmt.Errorf("%s, finding %d: %w", p.Name, i+1, err)
			}
			paper.Judged = append(paper.Judged, j)
		}
		list = append(list, paper)
	}
	return list, nil
}

// summary counts printed cells: of one table, or the distinct cells of several tables.
type summary struct {
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
func (s summary) Differs() int {
	return s.Computed - s.Same - s.Near - s.Unfit - s.Within - s.Known - s.Stale
}

// Share formats a number of computed cells with its percentage of all computed cells.
func (s summary) Share(n int) string {
	return fmt.Sprintf("%d (%.0f %%)", n, 100*float64(n)/float64(s.Computed))
}

type keys map[string]bool

// summarise counts the cells of a result. Times are not compared and do not count as computed. Both cells of a pair
// in a symmetric table count once, and the cells of its diagonal do not count.
func summarise(r *tables.Result) (summary, error) {
	var s summary
	all, err := r.Keys()
	if err == nil {
		s.count(r, all, keys{}, false)
	}
	return s, err
}

// count adds the cells of a result. A cell with a known key counts as repeated, and so does the second cell of a pair.
// With distinct, cells that are computed from printed numbers are counted separately.
func (s *summary) count(r *tables.Result, all [][][]string, known keys, distinct bool) {
	shuffled, pairs := r.Shuffled(), keys{}
	var shown []string
	for i, row := range r.Rows {
		for j := range row.Cells {
			c, key := &row.Cells[j], all[i][j]
			switch computed := c.Ours != nil && c.Status != tables.Measured; {
			case c.Theirs == nil || key[0] == tables.KeyItself:
			case distinct && key[0] == tables.KeyPrinted:
				s.FromPrinted++
			case known.containsAny(key) || pairs[key[0]]:
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

// containsAny reports whether any key of a cell is known.
func (k keys) containsAny(list []string) bool {
	return slices.ContainsFunc(list, func(key string) bool { return k[key] })
}

// add counts a computed cell. shuffled is the fraction of the column's other printed values that agree with it.
func (s *summary) add(c *tables.Cell, shuffled float64) {
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

// order says how our order of rows in a column agrees with the printed order.
type order struct {
	Column    string
	Rows      int
	Tau       float64 // Kendall's tau-b; NaN if all our values or all printed values are equal
	Low, High float64 // bounds of Tau if single runs or short training leave the order of some rows undecided
}

// columnOrders compares the order of rows in every column with at least three printed values.
func columnOrders(r *tables.Result) ([]order, error) {
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
			ours[c.Column] = append(ours[c.Column], newSide(row.Label, &tableCell{c, r, i}))
			theirs[c.Column] = append(theirs[c.Column], side{value: *c.Theirs})
		}
	}
	var list []order
	for _, c := range columns {
		if n := len(ours[c]); n >= 3 {
			t := newTau(ours[c], theirs[c])
			list = append(list, order{c, n, t.value, t.low, t.high})
		}
	}
	return list, nil
}

// totals counts the distinct cells of tables without training, and of tables with training. It leaves out tables that
// quote others, and tables whose reference values come from another program. It counts larger tables first, so a
// repeated cell counts in the largest table.
func totals(results []*tables.Result) ([]total, error) {
	sorted := slices.Clone(results)
	slices.SortStableFunc(sorted, func(a, b *tables.Result) int { return b.Printed - a.Printed })
	known, list := keys{}, []total{{Name: "tables without training"}, {Name: "tables that train"}}
	for _, r := range sorted {
		if r.Table.Quotes() || r.Table.Printed.Label != "" {
			continue
		}
		all, err := r.Keys()
		if err != nil {
			return nil, err
		}
		kind := 0
		if r.Table.Trains() {
			kind = 1
		}
		list[kind].count(r, all, known, true)
	}
	return list, nil
}

// meanTau formats the mean tau over columns, or a dash if there is no tau.
func meanTau(orders []order) string {
	var all []float64
	for _, o := range orders {
		if !math.IsNaN(o.Tau) {
			all = append(all, o.Tau)
		}
	}
	if all == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", stat.Mean(all, nil))
}

// A tau of at least sameOrder confirms an order; a tau of at most otherOrder refutes it. The template uses these words.
const sameOrder, otherOrder = 0.5, 0.0

// classifyOrders lists columns with their tau: confirmed orders, partly the same ones, refuted ones, and undecided
// ones.
func classifyOrders(orders []order) [][]string {
	if len(orders) == 0 {
		return nil
	}
	list := make([][]string, 4)
	for _, o := range orders {
		index, text := tauClass(o.Low), fmt.Sprintf("%s %.2f", o.Column, o.Tau)
		if math.IsNaN(o.Tau) {
			text = o.Column + " -"
		} else if tauClass(o.High) != index {
			index = 3
		}
		list[index] = append(list[index], text)
	}
	return list
}

// tauClass returns the column of a tau: 0 for the same order, 1 for partly the same, 2 for another order.
func tauClass(tau float64) int {
	switch {
	case tau >= sameOrder:
		return 0
	case tau <= otherOrder:
		return 2
	}
	return 1
}

func anchor(heading string) string {
	keep := func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' {
			return unicode.ToLower(r)
		}
		return -1
	}
	return strings.Map(keep, strings.ReplaceAll(heading, " ", "-"))
}

// effort is the cost of a list of runs: the time spent so far, and the time for missing runs.
type effort struct {
	Runs, Held       int
	spent, remaining float64 // core-seconds
	unknown          int     // missing runs of tables without a measured run
}

func (e effort) Hours() float64 { return e.spent / 3600 }

func (e effort) Missing() string {
	switch text := fmt.Sprintf("%.1f", e.remaining/3600); {
	case e.unknown == 0:
		return text
	case e.remaining == 0:
		return "not known"
	default:
		return fmt.Sprintf("%s, and %d runs", text, e.unknown)
	}
}

func (e *effort) add(o effort) {
	e.Runs, e.Held, e.unknown = e.Runs+o.Runs, e.Held+o.Held, e.unknown+o.unknown
	e.spent, e.remaining = e.spent+o.spent, e.remaining+o.remaining
}

// newEffort adds up the runs of a table and skips runs counted before. A missing run takes the mean time of its kind,
// or otherwise the mean time of the table. A run with known wall time only takes the mean core time of its kind if
// another run has measured it.
func newEffort(list []tables.Planned, counted map[string]bool) (e effort) {
	kinds := map[string][]float64{}
	for _, wall := range []bool{false, true} {
		seconds := map[string][]float64{}
		for _, p := range list {
			if p.Seconds > 0 && p.Wall == wall && kinds[p.Kind] == nil {
				seconds[p.Kind] = append(seconds[p.Kind], p.Seconds)
			}
		}
		maps.Copy(kinds, seconds)
	}
	coreSeconds := func(p tables.Planned) float64 {
		if p.Wall {
			return stat.Mean(kinds[p.Kind], nil)
		}
		return p.Seconds
	}
	var all []float64
	for _, p := range list {
		if p.Seconds > 0 {
			all = append(all, coreSeconds(p))
		}
	}
	for _, p := range list {
		if counted[p.Key] {
			continue
		}
		counted[p.Key] = true
		e.Runs++
		switch {
		case p.Seconds > 0:
			e.Held++
			e.spent += coreSeconds(p)
		case kinds[p.Kind] != nil:
			e.remaining += stat.Mean(kinds[p.Kind], nil)
		case all != nil:
			e.remaining += stat.Mean(all, nil)
		default:
			e.unknown++
		}
	}
	return e
}
