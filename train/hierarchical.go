package train

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/hierarchy"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/report"
)

// drawHistograms draws the histograms of hierarchical data.
func (s *session) drawHistograms(w io.Writer, codes metrics.Matrix) error {
	in := s.experiment.Input(codes)
	if in.TrueHierarchy == nil {
		return nil
	}
	return DrawHistograms(w, s.experiment.Config.Name+": dimensions and codes", in)
}

// maxTraversals bounds the rows of the figure of a hierarchy.
const maxTraversals = 32

// drawHierarchy draws the hierarchy of the codes, as a tree.
func (s *session) drawHierarchy(w io.Writer) error {
	m, ok := s.experiment.Model.(models.Hierarchical)
	if !ok {
		return nil
	}
	return report.Hierarchy(w, s.experiment.Config.Name+": hierarchy of the codes", m.Hierarchy(), hierarchy.Labels{})
}

// drawPaths shows, for every path through the hierarchy of the codes that images take, what the decoder makes of
// codes in which one active dimension moves from its 2nd to its 98th percentile on
// that path, and the others stay as in a code near the middle (Ross and Doshi-Velez 2021, figure A.9).
func (s *session) drawPaths(w io.Writer, codes metrics.Matrix) error {
	m, ok := s.experiment.Model.(models.Hierarchical)
	if !ok || !s.experiment.Coder.Decodes() {
		return nil
	}
	h := m.Hierarchy()
	options := len(h.Categoricals())
	var rows []float32
	var labels []string
	for _, p := range pathsOf(codes, options) {
		mask := make([]bool, h.Continuous())
		h.Masks(p.choice, mask)
		base := codes.Row(middle(codes, p.rows, options))
		for d, active := range mask {
			if !active || len(labels) == maxTraversals {
				continue
			}
			low, high := percentiles(codes, p.rows, options+d)
			for step := range traversalSteps {
				at := len(rows)
				rows = appendRow(rows, base)
				rows[at+options+d] = float32(low + (high-low)*float64(step)/(traversalSteps-1))
			}
			labels = append(labels, fmt.Sprintf("%v z%d", p.choice, d))
		}
	}
	if len(labels) == 0 {
		return nil
	}
	images, err := s.experiment.Coder.Decode(rows)
	if err != nil {
		return err
	}
	columns := make([]string, traversalSteps)
	columns[0], columns[traversalSteps-1] = "2 %", "98 %"
	height, width, channels := s.experiment.Data.ImageShape()
	return report.Traversals(w, "paths", "percentile of the dimension; rows: options [a0 a1 ...] and dimension", labels, columns, images, height, width, channels)
}

// codePath are images whose codes choose the same options.
type codePath struct {
	choice []int
	rows   []int
}

// pathsOf groups codes by their options, which stand in the first columns as 1 + option; the
// largest groups first.
func pathsOf(codes metrics.Matrix, options int) []codePath {
	var list []codePath
	at := map[string]int{}
	for i := range codes.Rows {
		choice := make([]int, options)
		key := make([]byte, options)
		for c := range choice {
			choice[c] = int(codes.Row(i)[c]) - 1
			key[c] = byte(choice[c] + 1)
		}
		p, ok := at[string(key)]
		if !ok {
			p = len(list)
			at[string(key)] = p
			list = append(list, codePath{choice: choice})
		}
		list[p].rows = append(list[p].rows, i)
	}
	slices.SortStableFunc(list, func(a, b codePath) int { return len(b.rows) - len(a.rows) })
	return list
}

// middle is the row of a group whose values are nearest to the medians of the group.
func middle(codes metrics.Matrix, rows []int, first int) int {
	medians := make([]float64, codes.Cols)
	for c := first; c < codes.Cols; c++ {
		medians[c] = quantile(codes, rows, c, 0.5)
	}
	best, least := rows[0], -1.0
	for _, r := range rows {
		var sum float64
		for c := first; c < codes.Cols; c++ {
			d := codes.Row(r)[c] - medians[c]
			sum += d * d
		}
		if least < 0 || sum < least {
			best, least = r, sum
		}
	}
	return best
}

func percentiles(codes metrics.Matrix, rows []int, column int) (low, high float64) {
	return quantile(codes, rows, column, 0.02), quantile(codes, rows, column, 0.98)
}

func quantile(codes metrics.Matrix, rows []int, column int, part float64) float64 {
	values := make([]float64, len(rows))
	for i, r := range rows {
		values[i] = codes.Row(r)[column]
	}
	slices.Sort(values)
	return values[int(part*float64(len(values)-1))]
}

// DrawHistograms shows how each dimension of hierarchical data goes with each code column, where both are
// active (Ross and Doshi-Velez 2021, figures A.8 and A.17). Inactive is 0, of the dimensions in the
// true hierarchy and of the codes if they have a hierarchy.
func DrawHistograms(w io.Writer, title string, in *metrics.Input) error {
	active := func(name string, values []float64, hierarchical bool) report.Column {
		c := report.Column{Name: name, Values: slices.Clone(values)}
		for i, v := range c.Values {
			if hierarchical && math.Abs(v) <= 1e-10 {
				c.Values[i] = math.NaN()
			}
		}
		return c
	}
	var rows, columns []report.Column
	for j, f := range in.Factors {
		rows = append(rows, active(f.Name, in.FactorValues(j), in.TrueHierarchy != nil))
	}
	values := make([]float64, in.Codes.Rows)
	for c := range in.Codes.Cols {
		for i := range values {
			values[i] = in.Codes.Row(i)[c]
		}
		columns = append(columns, active(codeName(in.Hierarchy, c), values, in.Hierarchy != nil))
	}
	return report.Histograms(w, title, rows, columns)
}

// codeName names a code column: a0, a1, ... for options, and z0, z1, ... for values.
func codeName(h hierarchy.Hierarchy, column int) string {
	options := len(h.Categoricals())
	if column < options {
		return fmt.Sprintf("a%d", column)
	}
	return fmt.Sprintf("z%d", column-options)
}
