package metrics

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/interval"
)

// Result is the outcome of a metric.
type Result struct {
	Name   string    `json:"name"` // set by Evaluate
	Value  float64   `json:"value"`
	Better Direction `json:"better"` // set by Evaluate
	Basis  Basis     `json:"basis"`  // the rows that the value is computed from

	// Scale is the root of the mean variance of the code columns. It is set if the value depends on the scale of the
	// codes: values of codes with different scales are not comparable. 0: the value does not depend on the scale, or
	// the codes are constant.
	Scale float64 `json:"scale,omitempty"`

	Parts []Part   `json:"parts,omitempty"`
	Grids []Grid   `json:"grids,omitempty"`
	Notes []string `json:"notes,omitempty"` // remarks, for instance on degenerate codes

	Chance   *Chance            `json:"chance,omitempty"`   // set by [Chances.Add]
	Interval *interval.Interval `json:"interval,omitempty"` // set by [Intervals.Add]

	Options map[string]any `json:"options,omitempty"` // all options of the metric, as in a config; set by Evaluate
	Like    []string       `json:"like,omitempty"`    // the [Dialects] that define the metric with these options; set by Evaluate

	// Sentence is the sentence of a [Logic]. Truth is equivalent (the value is 0 if and only if the sentence is true),
	// implied (if the value is 0, the sentence is true) or undecided.
	Sentence string `json:"sentence,omitempty"`
	Truth    string `json:"truth,omitempty"`
}

// check returns an error for labels that do not fit their values, and for the first number that is NaN or infinite.
func (r *Result) check() error {
	lists := map[string][]float64{"value": {r.Value}}
	for _, p := range r.Parts {
		lists["part "+p.Name] = p.Values
		if labels, values := len(p.Labels), len(p.Values); labels != values && !(labels == 0 && values == 1) {
			return fmt.Errorf("the part %s has %d values and %d labels; want a label for each value", p.Name, values, labels)
		}
	}
	for _, g := range r.Grids {
		lists["grid "+g.Name] = slices.Concat(g.Values...)
		ragged := slices.ContainsFunc(g.Values, func(row []float64) bool { return len(row) != len(g.Columns) })
		if ragged || len(g.Values) != len(g.Rows) {
			return fmt.Errorf("the grid %s has not the %d x %d values of its labels", g.Name, len(g.Rows), len(g.Columns))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		for i, v := range lists[name] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("the %s, number %d, is %v: the codes or the factors are too large or too small", name, i, v)
			}
		}
	}
	return nil
}

// Part is a list of numbers that explain a result, such as one for each factor or code column.
type Part struct {
	Name   string    `json:"name"`             // "per_subgroup"
	Labels []string  `json:"labels,omitempty"` // names of the values; empty for a single value
	Values []float64 `json:"values"`
}

// Grid is a matrix that explains a result, such as the mutual information of code columns with factors.
type Grid struct {
	Name    string      `json:"name"`
	Rows    []string    `json:"rows"`
	Columns []string    `json:"columns"`
	Values  [][]float64 `json:"values"` // by row
}

// Part returns the values of the named part, or nil.
func (r *Result) Part(name string) []float64 {
	for _, p := range r.Parts {
		if p.Name == name {
			return p.Values
		}
	}
	return nil
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (p *Part) add(label string, value float64) {
	p.Labels, p.Values = append(p.Labels, label), append(p.Values, value)
}

// withScore adds the part score, e^-value, to a result; a value that is NaN or infinite is an error.
func (r Result) withScore() (Result, error) {
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		return Result{}, fmt.Errorf("the value is not a finite number (%v): the codes or the factors are too large", r.Value)
	}
	r.Parts = append(r.Parts, Part{Name: "score", Values: []float64{math.Exp(-r.Value)}})
	return r, nil
}

// Basis describes the rows behind a [Result].
type Basis struct {
	Rows     int         `json:"rows"`               // rows measured
	Of       int         `json:"of"`                 // rows given
	Excluded []Exclusion `json:"excluded,omitempty"` // why there are fewer Rows

	Groups   int `json:"groups,omitempty"`   // groups of rows with equal levels of a factor (D_LSBD: objects)
	Smallest int `json:"smallest,omitempty"` // rows of the smallest group
	Single   int `json:"single,omitempty"`   // groups of one row

	Train int `json:"train,omitempty"` // rows, or drawn points, for training a predictor
	Test  int `json:"test,omitempty"`  // rows, or drawn points, for testing it
	// Shared says that a train row may also be a test row, so a predictor can memorise it.
	Shared bool `json:"shared,omitempty"`

	// Want is the number of rows that the metric needs, if there are fewer, and otherwise 0. For says what is counted
	// ("rows of each object"). A value from too few rows says little.
	Want int    `json:"want,omitempty"`
	For  string `json:"for,omitempty"`
}

// Exclusion counts rows that a metric did not measure, with the reason.
type Exclusion struct {
	Factor string `json:"factor,omitempty"` // the factor whose level is unknown; empty: all factors
	Rows   int    `json:"rows"`
	Why    string `json:"why"` // "without a known level"
}

// The reasons of exclusions.
const (
	whyUnknown = "with an unknown level"
	whyNone    = "without a known level"
	whySampled = "not in the random sample"
	whyObject  = "of objects with too few rows"
)

// tooFew records that the metric needs more rows.
func (b *Basis) tooFew(rows int, unit string) {
	if b.Want == 0 {
		b.Want, b.For = rows, unit
	}
}

// Remarkable reports whether the basis should be shown next to the value: rows are left out or too few, predictors were
// fitted, or groups have only one row.
func (b *Basis) Remarkable() bool {
	return b.Rows < b.Of || b.Train > 0 || b.Shared || b.Single > 0 || b.Want > 0
}

// String returns the basis in one line: "300 of 400 rows (100 with an unknown level), 24 groups of at least 7 rows".
func (b *Basis) String() string {
	text := fmt.Sprintf("%d of %d rows", b.Rows, b.Of)
	if b.Rows == b.Of {
		text = wording.Count(b.Rows, "row")
	}
	var exclusions []string
	for _, e := range b.Excluded {
		if e.Factor != "" {
			exclusions = append(exclusions, fmt.Sprintf("%s: %d %s", e.Factor, e.Rows, e.Why))
		} else {
			exclusions = append(exclusions, fmt.Sprintf("%d %s", e.Rows, e.Why))
		}
	}
	if exclusions != nil {
		text += " (" + strings.Join(exclusions, "; ") + ")"
	}
	parts := []string{text}
	switch {
	case b.Single > 0:
		parts = append(parts, fmt.Sprintf("%d of %d groups of a single row, without variation", b.Single, b.Groups))
	case b.Groups == 1:
		parts = append(parts, "one group")
	case b.Groups > 0:
		parts = append(parts, fmt.Sprintf("%s of at least %d rows", wording.Count(b.Groups, "group"), b.Smallest))
	}
	switch {
	case b.Train > 0 && b.Shared:
		parts = append(parts, fmt.Sprintf("fitted to %d and tested on %d, which may be the same rows", b.Train, b.Test))
	case b.Train > 0:
		parts = append(parts, fmt.Sprintf("fitted to %d and tested on %d others", b.Train, b.Test))
	case b.Shared:
		parts = append(parts, "fitted to the rows that are measured")
	}
	if b.Want > 0 {
		parts = append(parts, fmt.Sprintf("too few: want at least %d %s", b.Want, b.For))
	}
	return strings.Join(parts, ", ")
}

// recordSplit records the train and test rows.
func (b *Basis) recordSplit(train, test []int) {
	b.Train, b.Test = len(train), len(test)
	inTrain := make(map[int]bool, len(train))
	for _, i := range train {
		inTrain[i] = true
	}
	b.Shared = slices.ContainsFunc(test, func(i int) bool { return inTrain[i] })
}

// repeatedRowsNote returns a note on rows with the codes and levels of another row, and their effect. Codes that take
// few values repeat in any table, and have no note.
func (in *Input) repeatedRowsNote(effect string) []string {
	const (
		rowsPerRepeat = 20 // rarer repeats hardly change a value
		minValues     = 50 // if most rows are repeats: fewer values in a column repeat by chance
		minPrecise    = 8  // the same for values of many digits, which no choice among few codes has
	)
	n, d, k := in.Codes.Rows, in.Codes.Cols, len(in.Factors)
	hashes, hash := make(map[uint64]bool, n), fnv.New64a()
	row := make([]byte, 0, 8*(d+k))
	for i := range n {
		row = row[:0]
		for _, v := range in.Codes.Data[i*d : (i+1)*d] {
			row = binary.LittleEndian.AppendUint64(row, math.Float64bits(v))
		}
		for _, l := range in.Levels[i*k : (i+1)*k] {
			row = binary.LittleEndian.AppendUint64(row, uint64(l))
		}
		hash.Reset()
		hash.Write(row) // never fails
		hashes[hash.Sum64()] = true
	}
	repeated := n - len(hashes)
	if repeated*rowsPerRepeat < n {
		return nil
	}
	for c := range d {
		values := make(map[float64]bool, len(hashes))
		for i := range n {
			values[in.Codes.Data[i*d+c]] = true
		}
		many := len(values) >= minValues || len(hashes)*4 >= n || len(values) >= minPrecise && levels.Precise(values)
		if 2*len(values) >= len(hashes) && many {
			return []string{fmt.Sprintf("%d of %d rows repeat the codes and levels of another row, %s", repeated, n, effect)}
		}
	}
	return nil
}

// recordProjection records the affine maps of a projection, which are fitted to the measured rows.
func (b *Basis) recordProjection(p Projection, in *Input) {
	if p == projectLinear {
		b.Shared = true
		b.checkAffine(in.Codes.Rows, in.Codes.Cols)
	}
}

// checkAffine records whether there are too few rows for an affine map of the columns.
func (b *Basis) checkAffine(rows, columns int) {
	if minRows := columns + 2; rows < minRows {
		b.tooFew(minRows, "rows, as an affine map fits fewer without error")
	}
}

// join merges the basis of one factor and keeps the smallest number of rows.
func (b *Basis) join(other Basis) {
	if other.Rows > 0 && (b.Rows == 0 || other.Rows < b.Rows) {
		b.Rows = other.Rows
	}
	if other.Train > 0 && (b.Train == 0 || other.Train < b.Train) {
		b.Train, b.Test = other.Train, other.Test
	}
	b.Shared = b.Shared || other.Shared
	if other.Want > 0 {
		b.tooFew(other.Want, other.For)
	}
}

// basis completes the basis of a result: rows, exclusions, and, unless the metric has set groups, the groups of levels.
func (x *measuredInputs) basis(r *Result, needs Needs) {
	b := &r.Basis
	b.Of, b.Excluded = x.totalRows, slices.Concat(x.excluded, b.Excluded)
	switch {
	case b.Rows == 0:
		b.Rows = x.rows
	case b.Rows < x.rows && len(b.Excluded) == len(x.excluded):
		b.Excluded = append(b.Excluded, Exclusion{Rows: x.rows - b.Rows, Why: whySampled})
	}
	if needs == NoLevels || b.Groups > 0 {
		return
	}
	for _, in := range x.list {
		for j := range in.Factors {
			b.countGroups(in.table().Counts(j))
		}
	}
}

// countGroups records groups with the given numbers of rows.
func (b *Basis) countGroups(groups []int) {
	for _, n := range groups {
		if n == 0 {
			continue
		}
		if b.Groups++; b.Smallest == 0 || n < b.Smallest {
			b.Smallest = n
		}
		if n == 1 {
			b.Single++
		}
	}
}
