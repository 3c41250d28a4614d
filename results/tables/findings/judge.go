package findings

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables"
)

// Verdict says what our values say of a claim.
type Verdict string

// The verdicts. A difference counts if it exceeds two standard errors; with a single run on either side, its sign counts.
const (
	Holds     Verdict = "holds"     // all tests are as the paper says
	Fails     Verdict = "does not"  // a test is the other way round
	Undecided Verdict = "undecided" // a test is within two standard errors, and none is the other way round
	Missing   Verdict = "no values" // values of a test are missing, and none is the other way round
)

// Judged is a finding with what our values say of it.
type Judged struct {
	Verdict Verdict
	Tests   []Outcome // by test
}

// Outcome is what our values say of a test.
type Outcome struct {
	Verdict Verdict
	Scale   string // of the table
	Numbers string // our values, and the comparison that decides
}

// Judge judges a finding. open returns a table's values.
func Judge(f *Finding, open func(table string) (*tables.Result, error)) (*Judged, error) {
	j := &Judged{Verdict: Holds}
	for i := range f.Tests {
		r, err := open(f.Tests[i].Table)
		if err != nil {
			return nil, fmt.Errorf("test %d: %w", i+1, err)
		}
		o, err := f.Tests[i].judge(r)
		if err != nil {
			return nil, fmt.Errorf("test %d: %w", i+1, err)
		}
		o.Scale = r.Scale
		j.Tests = append(j.Tests, o)
		j.Verdict = worse(j.Verdict, o.Verdict)
	}
	return j, nil
}

// worse returns the verdict of two tests.
func worse(a, b Verdict) Verdict {
	for _, v := range []Verdict{Fails, Missing, Undecided} {
		if a == v || b == v {
			return v
		}
	}
	return Holds
}

// side is a value of a comparison.
type side struct {
	name  string
	value float64
	error float64 // standard error of the mean; 0: it is exact, or a single run
	runs  int     // 0: a number
	plus  float64 // added to the value
}

// sideOf returns the value of a cell.
func sideOf(row string, c *tables.Cell) side {
	s := side{name: row, value: *c.Ours, runs: c.Draws}
	if !c.Exact && c.Draws > 1 {
		s.error = c.Deviation / math.Sqrt(float64(c.Draws))
	}
	return s
}

func (s side) String() string {
	if s.name == "" {
		return fmt.Sprintf("%.4g", s.value)
	}
	text := fmt.Sprintf("%s %.3f", s.name, shown(s.value))
	if s.runs > 1 {
		text += fmt.Sprintf("±%.3f", s.error)
	}
	if s.plus != 0 {
		text += fmt.Sprintf(" + %.4g", s.plus)
	}
	return text
}

// shown is a value to three decimals, without the sign of a zero.
func shown(v float64) float64 { return math.Round(v*1e3)/1e3 + 0 }

// compare decides whether a is below b, or above it.
func compare(a, b side, below bool) Verdict {
	d := b.value + b.plus - a.value
	if !below {
		d = -d
	}
	switch noise := 2 * math.Hypot(a.error, b.error); {
	case d > noise:
		return Holds
	case -d > noise:
		return Fails
	}
	return Undecided
}

// judge decides a test by the values of its table.
func (t *Test) judge(r *tables.Result) (Outcome, error) {
	if t.Tau != "" {
		return t.judgeTau(r)
	}
	bound, below := t.bound()
	o := Outcome{Verdict: Holds}
	var decisive string // the comparison that is least as the paper says
	least := math.Inf(1)
	for _, row := range t.Rows {
		c, err := cell(r, row, t.Column)
		if err != nil {
			return o, err
		}
		others, err := t.others(r, row, bound)
		if err != nil {
			return o, err
		}
		if c == nil || len(others) == 0 {
			o.Verdict = worse(o.Verdict, Missing)
			continue
		}
		a := sideOf(row, c)
		for _, b := range others {
			o.Verdict = worse(o.Verdict, compare(a, b, below))
			margin, relation := b.value+b.plus-a.value, "<"
			if !below {
				margin, relation = -margin, ">"
			}
			if margin < least {
				least = margin
				if margin < 0 {
					relation = map[string]string{"<": ">", ">": "<"}[relation]
				}
				decisive = fmt.Sprintf("%s %s %s", a, relation, b)
			}
		}
	}
	o.Numbers = t.Column + ": " + decisive
	if decisive == "" {
		o.Numbers = t.Column + ": no values"
	}
	if n := t.comparisons(bound); n > 1 && decisive != "" {
		o.Numbers += fmt.Sprintf(" (the closest of %d comparisons)", n)
	}
	return o, nil
}

// comparisons counts the pairs that are compared, if no value is missing.
func (t *Test) comparisons(b *Bound) int {
	n := len(t.Rows) * max(1, len(b.Rows))
	for _, row := range t.Rows {
		if t.itself(row, row, b) && slices.Contains(b.Rows, row) {
			n--
		}
	}
	return n
}

// itself reports whether a row would be compared with itself, and a number.
func (t *Test) itself(row, other string, b *Bound) bool {
	return b.Plus != 0 && other == row && (b.Column == "" || b.Column == t.Column)
}

// others returns the values that a row is compared with, none if one of them is missing.
func (t *Test) others(r *tables.Result, row string, b *Bound) ([]side, error) {
	if b.Value != nil {
		return []side{{value: *b.Value}}, nil
	}
	rows, column := b.Rows, b.Column
	if len(rows) == 0 {
		rows = []string{row}
	}
	if column == "" {
		column = t.Column
	}
	var list []side
	for _, other := range rows {
		if t.itself(row, other, b) {
			continue
		}
		c, err := cell(r, other, column)
		if err != nil || c == nil {
			return nil, err
		}
		name := other
		if column != t.Column {
			name = strings.TrimSpace(other + " in " + column)
		}
		s := sideOf(name, c)
		s.plus = b.Plus
		list = append(list, s)
	}
	return list, nil
}

// judgeTau decides a test of the order of rows.
func (t *Test) judgeTau(r *tables.Result) (Outcome, error) {
	var a, b []float64
	for _, row := range t.tauRows(r) {
		x, err := cell(r, row, t.Column)
		if err != nil {
			return Outcome{}, err
		}
		y := x
		if t.Tau != Printed {
			if y, err = cell(r, row, t.Tau); err != nil {
				return Outcome{}, err
			}
		}
		switch {
		case x == nil || y == nil || t.Tau == Printed && x.Theirs == nil:
		case t.Tau == Printed:
			a, b = append(a, *x.Ours), append(b, *x.Theirs)
		default:
			a, b = append(a, *x.Ours), append(b, *y.Ours)
		}
	}
	tau := metrics.KendallTau(a, b)
	other := t.Tau
	if other == Printed {
		other = "the printed order"
	}
	if math.IsNaN(tau) {
		return Outcome{Verdict: Missing, Numbers: fmt.Sprintf("Kendall's tau of %s and %s: no values", t.Column, other)}, nil
	}
	bound, below := t.bound()
	return Outcome{
		Verdict: compare(side{value: tau}, side{value: *bound.Value}, below),
		Numbers: fmt.Sprintf("Kendall's tau of %s and %s over %d rows: %.2f", t.Column, other, len(a), tau),
	}, nil
}

// tauRows lists the rows that a test of the order is about: all, if it names none.
func (t *Test) tauRows(r *tables.Result) []string {
	if len(t.Rows) > 0 {
		return t.Rows
	}
	var rows []string
	for _, row := range r.Rows {
		rows = append(rows, row.Label)
	}
	return rows
}
