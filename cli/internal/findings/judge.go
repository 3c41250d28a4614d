package findings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/unravel-ml/unravel/metrics/ranking"
	"github.com/unravel-ml/unravel/results/tables"
)

// verdict says whether our values support a claim.
type verdict string

// The verdicts. A difference counts if it is larger than the uncertainty of both sides together. The uncertainty of
// each side is two standard errors. If its runs trained for less than a tenth of the paper's length, the distance from
// the printed value is added. Runs that have not learned the images ([tables.Unlearned]) decide nothing.
const (
	holds     verdict = "holds"         // all tests agree with the paper
	fails     verdict = "does not hold" // a test contradicts the paper
	undecided verdict = "undecided"     // a test's difference is within the uncertainty, and no test fails
	missing   verdict = "no values"     // values of a test are missing, and no test fails
)

// judgement is a finding with its verdict by our values.
type judgement struct {
	Finding *Finding
	Verdict verdict
	Tests   []outcome // by test
}

// outcome is the verdict on one test, with the values behind it.
type outcome struct {
	Verdict verdict
	Table   string
	Scale   string // scale of the table
	Numbers string // our values, and the comparison that decides
}

// judge judges a finding. open returns the result of a table.
func (f *Finding) judge(open func(table string) (*tables.Result, error)) (*judgement, error) {
	j := &judgement{Finding: f, Verdict: holds}
	for i := range f.Tests {
		r, err := open(f.Tests[i].Table)
		if err != nil {
			return nil, fmt.Errorf("test %d: %w", i+1, err)
		}
		o, err := f.Tests[i].judge(r)
		if err != nil {
			return nil, fmt.Errorf("test %d: %w", i+1, err)
		}
		o.Table, o.Scale = f.Tests[i].Table, r.Scale
		j.Tests = append(j.Tests, o)
		j.Verdict = worse(j.Verdict, o.Verdict)
	}
	return j, nil
}

func worse(a, b verdict) verdict {
	for _, v := range []verdict{fails, missing, undecided} {
		if a == v || b == v {
			return v
		}
	}
	return holds
}

type side struct {
	name         string
	value        float64
	error        float64 // standard error of the mean; 0: exact
	runs         int     // number of runs; 0: the side is a number
	offset       float64 // added to the value
	trainedShare float64 // fraction of the paper's training if below a tenth; otherwise 0
	distance     float64 // distance from the printed value if trainedShare is set
	unfit        bool    // at least half of its runs have not learned the images
}

const minShare = 0.1 // minimum fraction of the paper's training with which a value can decide

func newSide(name string, p *tableCell) side {
	c := p.Cell
	s := side{name: name, value: *c.Ours, runs: c.Draws, unfit: 2*c.Unlearned >= max(1, c.Draws)}
	switch {
	case c.Exact:
	case c.Draws > 1:
		s.error = c.Deviation / math.Sqrt(float64(c.Draws))
	case len(p.Runs) > 0:
		s.error = p.spread()
	}
	if share := c.Length; share > 0 && share < minShare {
		s.trainedShare, s.distance = share, math.Inf(1)
		if c.Difference != nil {
			s.distance = math.Abs(*c.Difference)
		}
	}
	return s
}

type tableCell struct {
	*tables.Cell
	result *tables.Result
	column int
}

// spread returns the assumed standard deviation of a single run of the cell. It is the printed deviation, if there is
// one. Otherwise it is the largest deviation of the column's cells with several runs. Otherwise it is the standard
// deviation over the column's rows, because rows usually differ more than runs of one row. It is infinite if nothing is
// known.
func (p *tableCell) spread() float64 {
	if printed, ok := p.PrintedDeviation(); ok {
		return printed
	}
	largest, several := 0.0, false
	var rows []float64
	for _, row := range p.result.Rows {
		c := row.Cells[p.column]
		if c.Ours == nil {
			continue
		}
		rows = append(rows, *c.Ours)
		if c.Draws > 1 && !c.Exact {
			largest, several = max(largest, c.Deviation), true
		}
	}
	switch {
	case several:
		return largest
	case len(rows) > 1:
		return stat.StdDev(rows, nil)
	}
	return math.Inf(1)
}

func (s side) String() string {
	if s.name == "" {
		return fmt.Sprintf("%.4g", s.value)
	}
	text := fmt.Sprintf("%s %.3f", s.name, rounded(s.value))
	if s.runs > 1 {
		text += fmt.Sprintf("±%.3f", s.error)
	}
	if limitations := s.limitations(); limitations != "" {
		text += " (" + limitations + ")"
	}
	if s.offset != 0 {
		text += fmt.Sprintf(" + %.4g", s.offset)
	}
	return text
}

// limitations explains what limits a side, or returns "" if nothing does.
func (s side) limitations() string {
	var list []string
	if s.runs == 1 && s.error > 0 {
		list = append(list, "one run")
	}
	if s.trainedShare > 0 {
		list = append(list, fmt.Sprintf("%.2g %% of the training", 100*s.trainedShare))
	}
	if s.unfit {
		list = append(list, "images not learned")
	}
	return strings.Join(list, ", ")
}

// rounded rounds a value to three decimals, and avoids a negative zero.
func rounded(v float64) float64 { return math.Round(v*1e3)/1e3 + 0 }

// compare decides whether a is on the claimed side of b (below or above) by more than both uncertainties can explain.
func compare(a, b side, below bool) verdict {
	d := b.value + b.offset - a.value
	if !below {
		d = -d
	}
	if a.unfit || b.unfit {
		return undecided
	}
	switch uncertainty := 2*math.Hypot(a.error, b.error) + a.distance + b.distance; {
	case d > uncertainty:
		return holds
	case -d > uncertainty:
		return fails
	}
	return undecided
}

func (t *Test) judge(r *tables.Result) (outcome, error) {
	if t.Tau != "" {
		return t.judgeTau(r)
	}
	bound, below := t.bound()
	o := outcome{Verdict: holds}
	var decisive string // comparison with the least support for the paper
	minMargin := math.Inf(1)
	for _, row := range t.Rows {
		c, err := cell(r, row, t.Column)
		if err != nil {
			return o, err
		}
		compared, err := t.comparedValues(r, row, bound)
		if err != nil {
			return o, err
		}
		if c == nil || len(compared) == 0 {
			o.Verdict = worse(o.Verdict, missing)
			continue
		}
		a := newSide(row, c)
		for _, b := range compared {
			o.Verdict = worse(o.Verdict, compare(a, b, below))
			margin, relation := b.value+b.offset-a.value, "<"
			if !below {
				margin, relation = -margin, ">"
			}
			if margin < minMargin {
				minMargin = margin
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

// comparisons returns the number of pairs to compare if all values exist.
func (t *Test) comparisons(b *Bound) int {
	n := len(t.Rows) * max(1, len(b.Rows))
	for _, row := range t.Rows {
		if t.comparesItself(row, row, b) && slices.Contains(b.Rows, row) {
			n--
		}
	}
	return n
}

// comparesItself reports whether a row would be compared with itself, which cannot happen for a number.
func (t *Test) comparesItself(row, other string, b *Bound) bool {
	return b.Plus != 0 && other == row && cmp.Or(b.Column, t.Column) == t.Column
}

// comparedValues returns the values to compare a row with, or none if a value is missing.
func (t *Test) comparedValues(r *tables.Result, row string, b *Bound) ([]side, error) {
	if b.Value != nil {
		return []side{{value: *b.Value}}, nil
	}
	rows, column := b.Rows, cmp.Or(b.Column, t.Column)
	if len(rows) == 0 {
		rows = []string{row}
	}
	var list []side
	for _, other := range rows {
		if t.comparesItself(row, other, b) {
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
		s := newSide(name, c)
		s.offset = b.Plus
		list = append(list, s)
	}
	return list, nil
}

func (t *Test) judgeTau(r *tables.Result) (outcome, error) {
	rows := t.Rows
	if len(rows) == 0 {
		for _, row := range r.Rows {
			rows = append(rows, row.Label)
		}
	}
	var a, b []side
	for _, row := range rows {
		x, err := cell(r, row, t.Column)
		if err != nil {
			return outcome{}, err
		}
		y := x
		if t.Tau != printed {
			if y, err = cell(r, row, t.Tau); err != nil {
				return outcome{}, err
			}
		}
		switch {
		case x == nil || y == nil || t.Tau == printed && x.Theirs == nil:
		case t.Tau == printed:
			a, b = append(a, newSide(row, x)), append(b, side{value: *x.Theirs})
		default:
			a, b = append(a, newSide(row, x)), append(b, newSide(row, y))
		}
	}
	tau := newTau(a, b)
	reference := t.Tau
	if reference == printed {
		reference = "the printed order"
	}
	if math.IsNaN(tau.value) {
		text := fmt.Sprintf("Kendall's tau of %s and %s: no values", t.Column, reference)
		return outcome{Verdict: missing, Numbers: text}, nil
	}
	bound, below := t.bound()
	o := outcome{Verdict: undecided, Numbers: fmt.Sprintf("Kendall's tau of %s and %s over %d rows: %s",
		t.Column, reference, len(a), tau)}
	low, high := compare(side{value: tau.low}, side{value: *bound.Value}, below),
		compare(side{value: tau.high}, side{value: *bound.Value}, below)
	if low == high {
		o.Verdict = low
	}
	return o, nil
}

// tau is Kendall's tau-b between two orders of rows, with its bounds. A row is uncertain if it has a single run, short
// training or unlearned images. If one row of a pair is uncertain and their difference is within the uncertainty, the
// pair may have either order.
type tau struct {
	value, low, high float64
	undecided        int // pairs that may have either order
}

func newTau(a, b []side) tau {
	var x, y []float64
	for i := range a {
		x, y = append(x, a[i].value), append(y, b[i].value)
	}
	t := tau{value: ranking.KendallTau(x, y)}
	t.low, t.high = t.value, t.value
	left, right, sum := 0, 0, 0 // pairs that differ in a and in b, and concordant minus discordant pairs
	for i := range a {
		for j := range i {
			if eitherOrder(a[i], a[j]) || eitherOrder(b[i], b[j]) {
				t.undecided, left, right = t.undecided+1, left+1, right+1
				continue
			}
			x, y := cmp.Compare(a[i].value, a[j].value), cmp.Compare(b[i].value, b[j].value)
			left, right, sum = left+x*x, right+y*y, sum+x*y
		}
	}
	if t.undecided > 0 && !math.IsNaN(t.value) {
		scale := math.Sqrt(float64(left) * float64(right))
		t.low, t.high = float64(sum-t.undecided)/scale, float64(sum+t.undecided)/scale
	}
	return t
}

// eitherOrder reports whether two values could have the opposite order.
func eitherOrder(a, b side) bool {
	return (a.limitations() != "" || b.limitations() != "") && compare(a, b, true) == undecided
}

func (t tau) String() string {
	if t.undecided == 0 {
		return fmt.Sprintf("%.2f", t.value)
	}
	return fmt.Sprintf("%.2f, %.2f to %.2f with the pairs that may go either way", t.value, t.low, t.high)
}
