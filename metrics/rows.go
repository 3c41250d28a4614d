package metrics

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Needs says which levels a metric needs if some levels of a row are unknown (see [Input]).
type Needs uint8

// The needs.
const (
	AllLevels Needs = iota // all levels: rows with an unknown level are left out
	// the levels of one factor at a time: each factor is measured separately, on the rows where it is known; the value
	// is the mean over factors
	EachLevel
	// the known levels: rows without any known level are left out, other rows may have unknown levels
	KnownLevels
	AllRows  // the known levels: all rows are measured, also rows without any known level
	NoLevels // no levels: it measures codes, not factors
)

// Needy is implemented by metrics that state which levels they need. Other metrics need [AllLevels]; they may measure
// images without factors.
type Needy interface {
	Needs() Needs
}

// needsOf returns the needs of a metric, and whether the metric states them itself.
func needsOf(m Metric) (needs Needs, declared bool) {
	if n, ok := m.(Needy); ok {
		return n.Needs(), true
	}
	return AllLevels, false
}

// completeRows returns the input with the factors that are known in some row, and the rows where all of them are known.
func (in *Input) completeRows() *Input {
	unknown := in.table().Unknown()
	if unknown == nil {
		return in
	}
	var factors []int
	for j, n := range unknown {
		if n < in.Codes.Rows {
			factors = append(factors, j)
		}
	}
	return in.withKnownLevels(factors)
}

// factorless reports whether no factor of the images is known: all factors are categorical, with one level.
func (in *Input) factorless() bool {
	known := func(f factor.Factor) bool { return f.Size > 1 || f.Kind != factor.Categorical }
	return len(in.Factors) > 0 && !slices.ContainsFunc(in.Factors, known)
}

// wantKnown returns an error for the first unknown level.
func (in *Input) wantKnown() error {
	index := slices.Index(in.Levels, factor.Unknown)
	if index < 0 {
		return nil
	}
	k := len(in.Factors)
	name := in.Factors[index%k].Name
	return fmt.Errorf("row %d has an unknown level of factor %q; want known levels, as Evaluate gives", index/k, name)
}

// labelledRows returns the rows where some factor is known.
func (in *Input) labelledRows() []int {
	return in.rowsWhere(func(levels []int) bool {
		return slices.ContainsFunc(levels, func(l int) bool { return l != factor.Unknown })
	})
}

// withKnownLevels returns the input with only some factors, and with the rows where all of these are known.
func (in *Input) withKnownLevels(factors []int) *Input {
	return in.subset(factors, in.rowsWhere(func(levels []int) bool {
		return !slices.ContainsFunc(factors, func(j int) bool { return levels[j] == factor.Unknown })
	}))
}

// rowsWhere lists the rows with levels that keep accepts.
func (in *Input) rowsWhere(keep func(levels []int) bool) (rows []int) {
	k := len(in.Factors)
	for i := range in.Codes.Rows {
		if keep(in.Levels[i*k : (i+1)*k]) {
			rows = append(rows, i)
		}
	}
	return rows
}

// subset returns the input with only some factors and rows; the rows are ascending. Continuous factors keep their range
// over all rows.
func (in *Input) subset(factors, rows []int) *Input {
	k := len(in.Factors)
	sub := *in
	sub.Factors, sub.Exact = levels.Chosen(in.Factors, factors), nil
	sub.Levels = make([]int, 0, len(rows)*len(factors))
	if len(factors) < k {
		sub.TrueHierarchy = nil // it has one dimension for each of the old factors
		sub.allFactors, sub.factorIndices = in.codeFactors(), make([]int, len(factors))
		for n, j := range factors {
			sub.factorIndices[n] = in.factorIndex(j)
		}
	}
	for _, i := range rows {
		for _, j := range factors {
			sub.Levels = append(sub.Levels, in.Levels[i*k+j])
		}
	}
	sub.Codes = matrix.Matrix{Rows: len(rows), Cols: in.Codes.Cols}
	if in.Codes.Data != nil { // when checking before training there are no codes
		sub.Codes.Data = in.Codes.Take(rows)
	}
	if in.Exact != nil {
		sub.Exact = make([][]float64, len(factors))
		for n, j := range factors {
			sub.Exact[n] = levels.Chosen(in.Exact[j], rows)
		}
	}
	if sub.spans == nil && in.Exact != nil {
		sub.spans = in.ranges()
	}
	sub.spans = levels.Chosen(sub.spans, factors)
	sub.Components, sub.Paths = levels.Chosen(in.Components, rows), levels.Chosen(in.Paths, rows)
	sub.Differ = levels.Among(levels.Chosen(in.Differ, factors), rows)
	return &sub
}

// codeFactors returns all factors that share the code columns.
func (in *Input) codeFactors() []factor.Factor {
	if in.allFactors != nil {
		return in.allFactors
	}
	return in.Factors
}

// factorIndex returns the index of factor j among all factors that share the code columns.
func (in *Input) factorIndex(j int) int {
	if in.factorIndices != nil {
		return in.factorIndices[j]
	}
	return j
}

// ownBlocks returns the blocks of the input's factors, from blocks of all factors.
func (in *Input) ownBlocks(allBlocks []factor.Block) (blocks []factor.Block) {
	for j := range in.Factors {
		for _, b := range allBlocks {
			if b.Factor == in.factorIndex(j) {
				blocks = append(blocks, factor.Block{Factor: j, Columns: b.Columns})
			}
		}
	}
	return blocks
}

// knownPart is an input with some factors and without unknown levels.
type knownPart struct {
	*Input
	factors []int // their numbers in the whole input
	rows    []int // of the whole input; nil: all
}

// knownParts divides an input for metrics that fit each factor on the rows where it is known, and then relate the
// factors. It returns the whole input if all levels are known. Otherwise it returns a part for each factor, which may
// have no rows.
func (in *Input) knownParts() (parts []knownPart) {
	if in.table().Unknown() == nil {
		return []knownPart{{in, numeric.UpTo(len(in.Factors)), nil}}
	}
	for j := range in.Factors {
		rows := in.rowsWhere(func(levels []int) bool { return levels[j] != factor.Unknown })
		parts = append(parts, knownPart{in.subset([]int{j}, rows), []int{j}, rows})
	}
	return parts
}

// knownRows returns the rows where each factor is known: all in order or, with unknown levels, grouped by level.
func (in *Input) knownRows() [][]int {
	allRows, rows := numeric.UpTo(in.Codes.Rows), make([][]int, len(in.Factors))
	for j := range rows {
		if rows[j] = in.table().Groups(j, nil).Order; len(rows[j]) == len(allRows) {
			rows[j] = allRows
		}
	}
	return rows
}

// varyingFactors returns the input with the factors that have several levels, and notes on the others.
func (in *Input) varyingFactors() (varied *Input, notes []string) {
	factors := in.table().Varying(in.Codes.Rows)
	if len(factors) == len(in.Factors) {
		return in, nil
	}
	notes = in.constantFactors(numeric.UpTo(len(in.Factors)), " and is left out")
	return in.subset(factors, numeric.UpTo(in.Codes.Rows)), notes
}

// constantFactors returns a note on each of some factors with only one level. The note ends in effect.
func (in *Input) constantFactors(factors []int, effect string) (notes []string) {
	varying := in.table().Varying(in.Codes.Rows)
	for _, j := range factors {
		if !slices.Contains(varying, j) {
			notes = append(notes, fmt.Sprintf("factor %s has only one level%s", in.Factors[j].Name, effect))
		}
	}
	return notes
}

// constantNotes returns a note on each factor with only one level, for a metric that does not leave it out.
func (in *Input) constantNotes() []string {
	return in.constantFactors(numeric.UpTo(len(in.Factors)), countsNevertheless)
}

// constantBlockNotes is constantNotes for the factors of sub-codes.
func (in *Input) constantBlockNotes(blocks []factor.Block) []string {
	var factors []int
	for _, b := range blocks {
		factors = append(factors, b.Factor)
	}
	return in.constantFactors(factors, countsNevertheless)
}

const countsNevertheless = " and counts nevertheless; leave it out if it should not"

// withRows returns the input with some rows, and all facts about them.
func (in *Input) withRows(rows []int) *Input {
	return in.subset(numeric.UpTo(len(in.Factors)), slices.Sorted(slices.Values(rows)))
}

// sample draws n rows without replacement, in ascending order.
func (in *Input) sample(n int) ([]int, error) {
	if in.Stream == nil {
		return nil, fmt.Errorf("%d of %d rows: %w", n, in.Codes.Rows, errNoStream)
	}
	rows := in.Stream.Perm(in.Codes.Rows)[:n]
	slices.Sort(rows)
	return rows, nil
}

// atMostRows returns the input with at most n random rows (0: all), and the number of rows if some are left out.
func (in *Input) atMostRows(n int) (*Input, int, error) {
	if n == 0 || in.Codes.Rows <= n {
		return in, 0, nil
	}
	rows, err := in.sample(n)
	if err != nil {
		return nil, 0, err
	}
	return in.withRows(rows), n, nil
}

// shuffledSample returns some random rows, with their levels permuted at random.
func (in *Input) shuffledSample(rows int, s *rng.Stream) *Input {
	order := s.Perm(in.Codes.Rows)
	sub := in.withRows(order[:rows])
	k := len(sub.Factors)
	order = s.Perm(rows)
	permuted := make([]int, 0, rows*k)
	for _, i := range order {
		permuted = append(permuted, sub.Levels[i*k:(i+1)*k]...)
	}
	sub.Levels = permuted
	for j, values := range sub.Exact {
		sub.Exact[j] = levels.Chosen(values, order)
	}
	sub.Paths, sub.Differ = levels.Chosen(sub.Paths, order), levels.Among(sub.Differ, order)
	return sub
}

// measuredInputs holds the rows and factors of an input that a metric measures: the whole input, or the part without
// unknown levels.
type measuredInputs struct {
	list            []*Input // one input, or one for each factor
	perFactor       bool     // the results of list are merged
	rows, totalRows int      // measured rows, and rows of the whole input
	excluded        []Exclusion
	notes           []string
}

// inputsFor returns the rows and factors that a metric measures, or an error if it cannot measure the input.
func inputsFor(m Metric, in *Input) (*measuredInputs, error) {
	if traitsOf(m).angles {
		return knownInputs(m, in)
	}
	in, notes := in.inArcs()
	x, err := knownInputs(m, in)
	if needs, _ := needsOf(m); err == nil && needs != NoLevels {
		x.notes = append(x.notes, notes...)
	}
	return x, err
}

// knownInputs is inputsFor after levels have been adapted.
func knownInputs(m Metric, in *Input) (*measuredInputs, error) {
	needs, declared := needsOf(m)
	whole := &measuredInputs{list: []*Input{in}, rows: in.Codes.Rows, totalRows: in.Codes.Rows}
	if needs == NoLevels {
		return whole, suits(m, in)
	}
	if e, ok := m.(Equational); in.Classes && !(ok && e.FromClasses()) {
		return nil, MissingLevels
	}
	if declared && !in.Classes && in.factorless() {
		return nil, MissingFactors
	}
	unknown := in.table().Unknown()
	separation, ofPairs := m.(*Separation)
	ofPairs = ofPairs && in.Classes // a row, or a factor, without a class may differ
	if unknown == nil || ofPairs && separation.columnsKnown(in) {
		return whole, suits(m, in)
	}
	x, factors := knownFactors(in, unknown)
	_, ofPaths := m.(*Purity)
	switch {
	case len(factors) == 0 && ofPairs:
		return nil, fmt.Errorf("%w, or the columns of each factor", errNoClass)
	case len(factors) == 0 && in.Classes:
		return nil, errNoClass
	case len(factors) == 0:
		return nil, MissingFactors
	case ofPairs:
		return x, x.useAllRows(m, in, factors)
	case ofPaths: // it chooses its rows
		return whole, suits(m, in)
	case needs == AllLevels:
		return x, x.useCommonRows(m, in, factors)
	}
	rows := numeric.UpTo(in.Codes.Rows)
	if needs != AllRows {
		rows = in.labelledRows() // other rows must not affect bins and deviations
	}
	sub := in.subset(factors, rows)
	x.rows = sub.Codes.Rows
	unlabelled := in.Codes.Rows - x.rows
	x.exclude("", unlabelled, whyNone)
	for _, j := range factors {
		x.exclude(in.Factors[j].Name, unknown[j]-unlabelled, whyUnknown)
	}
	if needs == EachLevel {
		return x, x.useEachFactor(m, in, factors)
	}
	x.list = []*Input{sub}
	return x, suits(m, sub)
}

// knownFactors returns the factors with a known level, and excludes the others. unknown has the number of unknown levels
// of each factor.
func knownFactors(in *Input, unknown []int) (x *measuredInputs, factors []int) {
	x = &measuredInputs{totalRows: in.Codes.Rows}
	for j, n := range unknown {
		if n < in.Codes.Rows {
			factors = append(factors, j)
		} else {
			x.exclude(in.Factors[j].Name, n, whyNone)
		}
	}
	return x, factors
}

// useAllRows takes all rows with some factors, as rows without a known level still form pairs.
func (x *measuredInputs) useAllRows(m Metric, in *Input, factors []int) error {
	for _, e := range x.excluded {
		const effect = "is left out: no two rows are known to agree in it; want its columns"
		x.notes = append(x.notes, fmt.Sprintf("factor %s %s", e.Factor, effect))
	}
	sub := in.subset(factors, numeric.UpTo(in.Codes.Rows))
	x.list, x.rows = []*Input{sub}, in.Codes.Rows
	return suits(m, sub)
}

// exclude records rows that are left out, if there are any.
func (x *measuredInputs) exclude(factor string, rows int, reason string) {
	if rows > 0 {
		x.excluded = append(x.excluded, Exclusion{Factor: factor, Rows: rows, Why: reason})
	}
}

// useCommonRows measures the rows where all factors are known, or all that the metric names.
func (x *measuredInputs) useCommonRows(m Metric, in *Input, factors []int) error {
	if c, ok := m.(*Contraction); ok && len(c.Factors) > 0 {
		if list, err := c.factors(in); err == nil {
			factors = list
		}
	}
	sub := in.withKnownLevels(factors)
	if sub.Codes.Rows == 0 {
		return fmt.Errorf("no row has known levels of all factors: %s", in.unknownCounts(factors, in.table().Unknown()))
	}
	x.list, x.rows = []*Input{sub}, sub.Codes.Rows
	x.exclude("", in.Codes.Rows-x.rows, whyUnknown)
	return suits(m, sub)
}

// useEachFactor measures each factor separately, if the metric suits it.
func (x *measuredInputs) useEachFactor(m Metric, in *Input, factors []int) (refused error) {
	x.perFactor = true
	for _, j := range factors {
		single := in.withKnownLevels([]int{j})
		if err := suits(m, single); err != nil {
			notes := single.constantFactors([]int{0}, " and is left out")
			if notes == nil {
				notes = []string{fmt.Sprintf("factor %s is left out: %v", in.Factors[j].Name, err)}
			}
			x.notes = append(x.notes, notes...)
			refused = cmp.Or(refused, err)
			continue
		}
		x.list = append(x.list, single)
	}
	if len(x.list) > 0 {
		return nil
	}
	return refused
}

// unknownCounts formats the number of rows with an unknown level, for each of some factors: "hair 12 of 50, age 3 of
// 50".
func (in *Input) unknownCounts(factors, unknown []int) string {
	var parts []string
	for _, j := range factors {
		if unknown[j] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d of %d", in.Factors[j].Name, unknown[j], in.Codes.Rows))
		}
	}
	return strings.Join(parts, ", ")
}

// suits returns the error of a metric that cannot measure an input. Suits may rely on valid settings.
func suits(m Metric, in *Input) error {
	if err := validate(m); err != nil {
		return err
	}
	if s, ok := m.(Selective); ok {
		return s.Suits(in)
	}
	return nil
}

// compute measures every input of a metric, each with the same random numbers.
func (x *measuredInputs) compute(ctx context.Context, m Metric, seed uint64, stream string) (Result, error) {
	results := make([]Result, len(x.list))
	for i, in := range x.list {
		input := *in
		input.Stream = rng.New(seed, stream)
		var err error
		if results[i], err = m.Compute(ctx, &input); err != nil {
			if x.perFactor {
				err = fmt.Errorf("factor %q: %w", in.Factors[0].Name, err)
			}
			return Result{}, err
		}
	}
	r := results[0]
	if x.perFactor {
		r = x.join(results)
	}
	r.Notes = append(r.Notes, x.notes...)
	needs, _ := needsOf(m)
	x.basis(&r, needs)
	return r, nil
}

// join merges the results of the factors: the value is the mean, and the parts and grids of all factors are
// concatenated. Parts without the name of the factor become means; parts that are missing for some factor are left out.
func (x *measuredInputs) join(results []Result) Result {
	var joined Result
	for i, r := range results {
		joined.Basis.join(r.Basis)
		joined.Value += r.Value / float64(len(results))
		for _, note := range r.Notes {
			if name := x.list[i].Factors[0].Name; !strings.HasPrefix(note, "factor "+name+" ") {
				note = name + ": " + note
			}
			joined.Notes = append(joined.Notes, note)
		}
	}
	for _, p := range results[0].Parts {
		part, ok := x.joinPart(results, p.Name)
		if p.Name == "score" {
			part.Values = []float64{math.Exp(-joined.Value)}
		}
		if ok {
			joined.Parts = append(joined.Parts, part)
		}
	}
	for _, g := range results[0].Grids {
		if grid, ok := joinGrid(results, g); ok {
			joined.Grids = append(joined.Grids, grid)
		}
	}
	return joined
}

// joinPart merges a part over all factors. It returns false if a factor lacks the part or has different labels.
func (x *measuredInputs) joinPart(results []Result, name string) (Part, bool) {
	joined := Part{Name: name}
	for i, r := range results {
		index := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Name == name })
		if index < 0 {
			continue
		}
		p := r.Parts[index]
		namesFactor := slices.Equal(p.Labels, []string{x.list[i].Factors[0].Name})
		switch {
		case namesFactor:
			joined.Labels, joined.Values = append(joined.Labels, p.Labels...), append(joined.Values, p.Values...)
		case i == 0:
			joined.Labels, joined.Values = p.Labels, make([]float64, len(p.Values))
			fallthrough
		case slices.Equal(p.Labels, joined.Labels) && len(p.Values) == len(joined.Values):
			for n, v := range p.Values {
				joined.Values[n] += v / float64(len(results))
			}
		default:
			return joined, false
		}
	}
	return joined, true
}

// joinGrid concatenates the columns of a grid over all factors. It returns false if the grids have different rows.
func joinGrid(results []Result, first Grid) (Grid, bool) {
	joined := Grid{Name: first.Name, Rows: first.Rows, Values: make([][]float64, len(first.Values))}
	for _, r := range results {
		index := slices.IndexFunc(r.Grids, func(g Grid) bool { return g.Name == first.Name })
		if index < 0 || !slices.Equal(r.Grids[index].Rows, first.Rows) {
			return joined, false
		}
		g := r.Grids[index]
		joined.Columns = append(joined.Columns, g.Columns...)
		for i, row := range g.Values {
			joined.Values[i] = append(joined.Values[i], row...)
		}
	}
	return joined, true
}

// rescaled returns the input with rescaled codes: [matrix.Matrix.ForSquares] or ForTrees.
func (in *Input) rescaled(rescale func(matrix.Matrix) (matrix.Matrix, int)) *Input {
	codes, e := rescale(in.Codes)
	if e == 0 {
		return in
	}
	s := *in
	s.Codes, s.shared = codes, nil
	return &s
}

// inArcs returns the input for a metric of levels. For a circular factor with many angles and few rows for each, the
// levels become arcs of equal length. Other factors keep their angles, and factors of a data set keep their evenly
// spaced levels.
func (in *Input) inArcs() (*Input, []string) {
	bins := cmp.Or(in.arcs, defaultBins)
	adapted, notes := in, []string(nil)
	for j, f := range in.Factors {
		if f.Kind != factor.Circular || f.Angles == nil && in.arcs == 0 {
			continue
		}
		angles, rows, sparse := in.table().Sparse(j, bins)
		if !sparse {
			continue
		}
		if adapted == in {
			clone := *in
			clone.Levels, clone.Factors, adapted = slices.Clone(in.Levels), slices.Clone(in.Factors), &clone
		}
		adapted.table().SetArcs(j, bins)
		notes = append(notes, fmt.Sprintf("factor %s: %d angles in %d rows are levels as %d equal arcs",
			f.Name, angles, rows, bins))
	}
	return adapted, notes
}
