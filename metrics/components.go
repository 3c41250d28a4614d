package metrics

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// purityOf is the fraction of the rows in components that have the majority path of their component (Ross and
// Doshi-Velez 2021, section 6.2):
//
//	1 - (rows with another path) / (rows in components)
func purityOf(right, all int) float64 { return 1 - float64(all-right)/float64(all) }

// coverageOf is the fraction of all rows that a component keeps (Ross and Doshi-Velez 2021, section 6.2):
//
//	kept / all
func coverageOf(kept, all int) float64 { return float64(kept) / float64(all) }

// Purity is the agreement of the components that MIMOSA finds in the codes with the images' paths through the true
// hierarchy (Ross and Doshi-Velez 2021, section 6.2). It is at most 1:
//
//	1 - (rows without the majority path of their component)/(rows in components)
type Purity struct{}

// Coverage is the fraction of rows that MIMOSA keeps in a component rather than discards (Ross and Doshi-Velez 2021,
// section 6.2), 0 to 1.
type Coverage struct{}

// maxComponentGrid is the largest number of components and of paths with a grid.
const maxComponentGrid = 256

// Needs returns AllLevels.
func (*Purity) Needs() Needs { return AllLevels }

// Better returns HigherIsBetter.
func (*Purity) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (*Purity) Range() (least, most float64) { return 0, 1 }

// Needs returns NoLevels.
func (*Coverage) Needs() Needs { return NoLevels }

// Better returns HigherIsBetter.
func (*Coverage) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (*Coverage) Range() (least, most float64) { return 0, 1 }

// Validate checks the settings: there are none.
func (*Purity) Validate() error { return nil }

// Validate checks the settings: there are none.
func (*Coverage) Validate() error { return nil }

// Suits implements Selective.
func (*Purity) Suits(in *Input) error {
	switch {
	case in.Explored != nil && in.Explored.Paths != nil:
		return nil
	case in.Explored != nil:
		return fmt.Errorf("which dimensions the %d explored images truly have is not known", len(in.Explored.Components))
	case in.Components == nil:
		return MissingComponents
	case in.Paths == nil:
		_, err := in.categoricalFactors()
		return err
	}
	return nil
}

// Suits implements Selective.
func (*Coverage) Suits(in *Input) error {
	if in.Components == nil && in.Explored == nil {
		return MissingComponents
	}
	return nil
}

// found returns the components and the true paths of the explored images, or of the rows.
func (in *Input) found() (components, paths []int, count int, err error) {
	if in.Explored != nil {
		paths, count = renumber(in.Explored.Paths)
		return in.Explored.Components, paths, count, nil
	}
	paths, count, err = in.paths()
	return in.Components, paths, count, err
}

// Compute returns the parts per_component (purity) and size (rows), and the grid rows, by component and path. It is an
// error if all rows are discarded.
func (m *Purity) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	components, paths, count, err := in.found()
	if err != nil {
		return Result{}, err
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
	return purityResult(members, count), nil
}

func purityResult(members map[int]map[int]int, paths int) Result {
	labels := slices.Sorted(maps.Keys(members))
	purity, size := Part{Name: "per_component"}, Part{Name: "size"}
	right, all := 0, 0
	for _, label := range labels {
		most, rows := 0, 0
		for _, n := range members[label] {
			most, rows = max(most, n), rows+n
		}
		purity.Labels = append(purity.Labels, fmt.Sprint("component", label))
		purity.Values = append(purity.Values, float64(most)/float64(rows))
		size.Values = append(size.Values, float64(rows))
		right, all = right+most, all+rows
	}
	size.Labels = purity.Labels
	r := Result{Value: purityOf(right, all), Parts: []Part{purity, size}}
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

// Compute returns the parts kept and discarded, in rows.
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
	return Result{Value: coverageOf(kept, n), Parts: []Part{
		{Name: "kept", Values: []float64{float64(kept)}}, {Name: "discarded", Values: []float64{float64(n - kept)}},
	}}, nil
}
