package cli

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// readHierarchies reads --hierarchy, --true-hierarchy and --components into an input.
func (c *evalCommand) readHierarchies(in *metrics.Input) error {
	for _, file := range []struct {
		path string
		into *hierarchy.Hierarchy
	}{{c.Hierarchy, &in.Hierarchy}, {c.TrueHierarchy, &in.TrueHierarchy}} {
		if file.path == "" {
			continue
		}
		h, err := hierarchy.Read(file.path)
		if err != nil {
			return fmt.Errorf("hierarchy: %w", err)
		}
		*file.into = h
	}
	if c.Components == "" {
		return nil
	}
	if rows, cols, err := table.Size(c.Components, "components"); err == nil && rows >= 0 && rows != in.Codes.Rows {
		return fmt.Errorf("%s: components have shape [%d %d], want [%d 1], a number for each code", c.Components, rows, cols, in.Codes.Rows)
	}
	labels, err := readTable(c.Components, "components")
	if err != nil {
		return err
	}
	if labels.Rows != in.Codes.Rows || labels.Cols != 1 {
		return fmt.Errorf("%s: components have shape [%d %d], want [%d 1], a number for each code", c.Components, labels.Rows, labels.Cols, in.Codes.Rows)
	}
	in.Components, in.Explored = make([]int, labels.Rows), nil // the run's components belong to other rows
	for i, v := range labels.Data {
		if v != math.Trunc(v) || v < -1 || v >= 1<<53 {
			return fmt.Errorf("%s: row %d is %v, want the number of a component, or -1 (discarded)", c.Components, i, v)
		}
		in.Components[i] = int(v)
	}
	return nil
}

// hierarchyFigures maps file names to figures of the known hierarchies.
func (e *evaluation) hierarchyFigures(results []metrics.Result) map[string]func(io.Writer) error {
	all := map[string]func(io.Writer) error{}
	if h := e.in.Hierarchy; h != nil {
		l := hierarchy.Labels{}
		if h.Dimensions() == e.in.Codes.Cols {
			l.Rows = chosen(h, e.in.Codes.Rows, func(i, column int) float64 { return e.in.Codes.Row(i)[column] })
		}
		all["hierarchy.png"] = func(w io.Writer) error { return report.Hierarchy(w, "Hierarchy of the codes", h, l) }
	}
	if h := e.in.TrueHierarchy; h != nil {
		l := hierarchy.Labels{}
		if categorical := len(h.Categoricals()); h.Dimensions() == len(e.in.Factors) {
			values := make([][]float64, categorical)
			for j, f := range e.in.Factors {
				if j >= categorical {
					l.Continuous = append(l.Continuous, f.Name)
					continue
				}
				l.Categorical, values[j] = append(l.Categorical, f.Name), e.in.FactorValues(j)
			}
			l.Rows = chosen(h, e.in.Codes.Rows, func(i, column int) float64 { return values[column][i] })
		}
		all["true-hierarchy.png"] = func(w io.Writer) error { return report.Hierarchy(w, "True hierarchy of the factors", h, l) }
	}
	if e.in.Hierarchy != nil || e.in.TrueHierarchy != nil {
		all["histograms.png"] = func(w io.Writer) error {
			return report.CodeHistograms(w, "Factors against code columns", e.in, results)
		}
	}
	return all
}

// chosen counts the rows with each option of the categorical columns.
func chosen(h hierarchy.Hierarchy, rows int, value func(i, column int) float64) [][]int {
	var counts [][]int
	for column, options := range h.Categoricals() {
		count := make([]int, options)
		for i := range rows {
			if v := value(i, column); v == math.Trunc(v) && v >= 1 && v <= float64(options) {
				count[int(v)-1]++
			}
		}
		counts = append(counts, count)
	}
	return counts
}

// withOptions adds to an error the option of eval that supplies a metric's missing input.
func (e *evaluation) withOptions(err error) error {
	if e.files && errors.Is(err, metrics.MissingCircular) {
		return fmt.Errorf("%w; eval takes the kinds of factors with --types, such as --types circular", err)
	}
	if e.withoutFactors && errors.Is(err, metrics.MissingFactors) {
		return usagef("%w; eval takes the factors of the rows with --factors, in a file or as the array factors of the codes' .npz, rotations with --rotations, and which rows agree with --pairs", err)
	}
	for missing, option := range map[metrics.Missing]string{
		metrics.MissingHierarchy:     "it with --hierarchy",
		metrics.MissingTrueHierarchy: "it with --true-hierarchy",
		metrics.MissingComponents:    "them with --components",
	} {
		if errors.Is(err, missing) {
			return fmt.Errorf("%w; eval takes %s", err, option)
		}
	}
	return err
}
