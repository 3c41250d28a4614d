package metrics

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// inactive is the largest absolute value that counts as inactive, as in the code of Ross and Doshi-Velez 2021.
const inactive = 1e-10

// fits checks that the hierarchy is known and has as many dimensions as there are columns.
func fits(h hierarchy.Hierarchy, whose string, cols int) error {
	categorical, continuous := len(h.Categoricals()), h.Continuous()
	switch {
	case h == nil:
		if whose == "factor" {
			return MissingTrueHierarchy
		}
		return MissingHierarchy
	case categorical+continuous != cols:
		return fmt.Errorf("the hierarchy of the %ss has %d dimensions (%d categorical, then %d continuous), but there are %d %s columns; want one for each",
			whose, categorical+continuous, categorical, continuous, cols, whose)
	}
	return nil
}

// optionsFit checks that the categorical columns of the codes contain option numbers, which start at 1, or 0 where an
// enclosing option is not chosen.
func (in *Input) optionsFit() error {
	options := in.Hierarchy.Categoricals()
	enclosing, _ := in.Hierarchy.Places()
	var chosen []bool // whether the row has chosen each option
	for i := range in.Codes.Rows {
		chosen = chosen[:0]
		for c, n := range options {
			v := in.Codes.Row(i)[c]
			active := enclosing[c] < 0 || chosen[enclosing[c]]
			switch {
			case v != math.Trunc(v) || v < 0 || v > float64(n):
				return fmt.Errorf("codes: row %d, column %d is %v; "+
					"want an option of its categorical dimension, 1 to %d, or 0 (inactive)", i, c, v, n)
			case v == 0 && active:
				return fmt.Errorf("codes: row %d, column %d is 0 (inactive), "+
					"but its categorical dimension is active; want an option, 1 to %d", i, c, n)
			}
			for o := range n {
				chosen = append(chosen, active && int(v) == o+1)
			}
		}
	}
	return nil
}

// categoricalFactors lists the categorical factors of the true hierarchy, or without one, factors without Exact values.
func (in *Input) categoricalFactors() (list []int, err error) {
	if in.TrueHierarchy != nil {
		if err := fits(in.TrueHierarchy, "factor", len(in.Factors)); err != nil {
			return nil, err
		}
		for j := range in.TrueHierarchy.Categoricals() {
			list = append(list, j)
		}
		return list, nil
	}
	unknown := in.table().Unknown()
	for j := range in.Factors {
		if (in.Exact == nil || in.Exact[j] == nil) && (unknown == nil || unknown[j] < in.Codes.Rows) {
			list = append(list, j)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("all factors are continuous; want a categorical one, or the true hierarchy, to know which rows belong together")
	}
	return list, nil
}

// HError is the H-error of Ross and Doshi-Velez 2021, section 6.2 and appendix A.3, in edits, 0 or more. It is the edit
// distance between the canonical trees of the codes' hierarchy and of the true hierarchy (see [hierarchy.Distance]). It
// depends on neither codes nor factors.
type HError struct {
	noLevels
	loss
}

func (*HError) Suits(in *Input) error {
	switch {
	case in.Hierarchy == nil:
		return MissingHierarchy
	case in.TrueHierarchy == nil:
		return MissingTrueHierarchy
	}
	return nil
}

// Compute returns the edit distance, without parts.
func (m *HError) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	return Result{Value: float64(hierarchy.Distance(in.Hierarchy, in.TrueHierarchy))}, nil
}

// Purity compares the components that MIMOSA finds in the codes with the images' paths through the true hierarchy (Ross
// and Doshi-Velez 2021, section 6.2). It is at most 1:
//
//	1 - (rows without the majority path of their component)/(rows in components)
//
// Rows without a known path are left out. An unknown level of a categorical dimension below an option of another one
// counts as inactive.
type Purity struct {
	knownLevels
	share
}

// Coverage is the fraction of rows that MIMOSA assigns to a component instead of discarding them (Ross and Doshi-Velez
// 2021, section 6.2), 0 to 1.
type Coverage struct {
	noLevels
	share
}

// maxComponentGrid is the largest number of components, and of paths, in a grid of Purity.
const maxComponentGrid = 256

func (*Purity) Suits(in *Input) error {
	switch {
	case in.Explored != nil && in.Explored.Paths != nil:
		return nil
	case in.Explored != nil:
		return fmt.Errorf("the true paths of the %d explored images are not known", len(in.Explored.Components))
	case in.Components == nil:
		return MissingComponents
	case in.Paths == nil:
		_, err := in.categoricalFactors()
		return err
	}
	return nil
}

func (*Coverage) Suits(in *Input) error {
	if in.Components == nil && in.Explored == nil {
		return MissingComponents
	}
	return nil
}

// componentPaths returns the components and the true paths of the explored images, or of the rows with a known path if
// no images were explored. Paths are numbered from 0. Without Paths, rows with equal values of all categorical factors
// have the same path. The notes name factors with unknown levels that count as inactive.
func (in *Input) componentPaths() (components, paths []int, count int, notes []string, err error) {
	switch {
	case in.Explored != nil:
		paths, count = levels.Renumber(in.Explored.Paths)
		return in.Explored.Components, paths, count, nil, nil
	case in.Paths != nil:
		paths, count = levels.Renumber(in.Paths)
		return in.Components, paths, count, nil, nil
	}
	categorical, err := in.categoricalFactors()
	if err != nil {
		return nil, nil, 0, nil, err
	}
	enclosing, _ := in.TrueHierarchy.Places()
	rows := numeric.UpTo(in.Codes.Rows)
	columns := make([][]float64, len(categorical))
	for index, j := range categorical {
		columns[index] = slices.Clone(in.FactorValues(j))
		unknown := func(i int) bool { return math.IsNaN(columns[index][i]) }
		switch {
		case len(enclosing) == 0 || enclosing[j] < 0:
			rows = slices.DeleteFunc(rows, unknown)
		case slices.ContainsFunc(rows, unknown):
			notes = append(notes, fmt.Sprintf("unknown levels of factor %s count as inactive", in.Factors[j].Name))
			for i, v := range columns[index] {
				if math.IsNaN(v) {
					columns[index][i] = 0
				}
			}
		}
	}
	for index := range columns {
		columns[index] = levels.Chosen(columns[index], rows)
	}
	paths, count = levels.Paths(len(rows), columns)
	return levels.Chosen(in.Components, rows), paths, count, notes, nil
}

// Compute returns the parts per_component (purity) and size (rows), and the grid rows, by component and path. If all
// rows are discarded, it returns an error.
func (m *Purity) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	components, paths, count, notes, err := in.componentPaths()
	if err != nil {
		return Result{}, err
	}
	if len(components) == 0 {
		return Result{}, fmt.Errorf("no row has a known path")
	}
	members := map[int]map[int]int{} // rows by component and path
	for i, label := range components {
		if label < 0 {
			continue
		}
		if members[label] == nil {
			members[label] = map[int]int{}
		}
		members[label][paths[i]]++
	}
	if len(members) == 0 {
		return Result{}, fmt.Errorf("all %d rows are discarded; want one in a component", len(components))
	}
	r := purityResult(members, count)
	if r.Notes = notes; in.Explored == nil && len(components) < in.Codes.Rows {
		excluded := in.Codes.Rows - len(components)
		r.Basis = Basis{Rows: len(components), Excluded: []Exclusion{{Rows: excluded, Why: whyUnknown}}}
	}
	return r, nil
}

func purityResult(members map[int]map[int]int, paths int) Result {
	labels := slices.Sorted(maps.Keys(members))
	purity, size := Part{Name: "per_component"}, Part{Name: "size"}
	onMajority, total := 0, 0
	for _, label := range labels {
		majority, rows := 0, 0
		for _, n := range members[label] {
			majority, rows = max(majority, n), rows+n
		}
		purity.add(fmt.Sprint("component", label), float64(majority)/float64(rows))
		size.Values = append(size.Values, float64(rows))
		onMajority, total = onMajority+majority, total+rows
	}
	size.Labels = purity.Labels
	r := Result{Value: 1 - float64(total-onMajority)/float64(total), Parts: []Part{purity, size}}
	if len(labels) <= maxComponentGrid && paths <= maxComponentGrid {
		g := Grid{Name: "rows", Rows: purity.Labels}
		for p := range paths {
			g.Columns = append(g.Columns, fmt.Sprint("path", p))
		}
		for _, label := range labels {
			row := make([]float64, paths)
			for p, n := range members[label] {
				row[p] = float64(n)
			}
			g.Values = append(g.Values, row)
		}
		r.Grids = []Grid{g}
	}
	return r
}

// Compute returns the parts kept and discarded, as numbers of rows.
func (m *Coverage) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	components, kept := in.Components, 0
	if in.Explored != nil {
		components = in.Explored.Components
	}
	for _, label := range components {
		if label >= 0 {
			kept++
		}
	}
	n := len(components)
	return Result{Value: float64(kept) / float64(n), Parts: []Part{
		{Name: "kept", Values: []float64{float64(kept)}}, {Name: "discarded", Values: []float64{float64(n - kept)}},
	}}, nil
}

// DescriptionLength is the mean number of bits that the hierarchy of the codes needs to describe a code (Ross and
// Doshi-Velez 2021, section 8.1), 0 or more. Each categorical dimension on the code's path costs log2 K bits for its
// choice among K options; each active continuous dimension costs Bits. If two models reconstruct images equally well,
// the one with fewer active dimensions has the shorter descriptions. It does not use factors or the values of
// continuous columns.
//
// Input.Hierarchy gives the layout of the code columns (see [hierarchy.Hierarchy.Row]).
type DescriptionLength struct {
	noLevels
	loss

	Bits float64 `yaml:"bits" doc:"bits of a number"`
}

// The largest number of bits of a continuous dimension.
const maxNumberBits = 1024

func (m *DescriptionLength) Validate() error {
	return rule(m.Bits > 0 && m.Bits <= maxNumberBits, "bits",
		"%v is out of range; want more than 0 and at most %d", m.Bits, maxNumberBits)
}

func (*DescriptionLength) Suits(in *Input) error { return fits(in.Hierarchy, "code", in.Codes.Cols) }

// Compute returns four parts. options and values are the bits for options and for values. flat is the size of a flat
// code as long as the longest. tree is the bits of the hierarchy itself, which the value excludes.
func (m *DescriptionLength) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	if err := in.optionsFit(); err != nil {
		return Result{}, err
	}
	d := in.Hierarchy.Describe(in.Codes.Rows, in.Codes.Cols, m.Bits, func(code int, choice []int) bool {
		for c := range choice {
			choice[c] = int(in.Codes.Row(code)[c]) - 1
		}
		return true
	})
	n := float64(d.Codes)
	return Result{Value: d.PerCode(), Parts: []Part{
		{Name: "options", Values: []float64{d.Options / n}}, {Name: "values", Values: []float64{d.Values / n}},
		{Name: "flat", Values: []float64{d.FlatPerCode()}}, {Name: "tree", Values: []float64{d.Tree}},
	}}, nil
}
