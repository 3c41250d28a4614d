package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

const maxShown = 10000 // maximum number of images in a figure of codes

// Shown returns at most 10000 of n indices in ascending order, as a stratified random sample. A regular stride would
// alias with the factor grid. Figures of codes show these rows.
func Shown(n int) []int { return stratifiedSample(n, maxShown, rng.New(0, "figures")) }

// stratifiedSample returns one random index from each of count equal intervals of n indices, or all indices.
func stratifiedSample(n, count int, stream *rng.Stream) []int {
	list := numeric.UpTo(min(n, count))
	for i := range list {
		if position := (float64(i) + stream.Float64()) / float64(len(list)) * float64(n); n > count {
			list[i] = int(position)
		}
	}
	return list
}

// levelValues returns a value for each row, computed from the level of a factor, and NaN for an unknown level.
func levelValues(in *metrics.Input, factor int, value func(level int) float64) []float64 {
	values := make([]float64, in.Codes.Rows)
	for r := range values {
		values[r] = math.NaN()
		if level := in.Levels[r*len(in.Factors)+factor]; level >= 0 {
			values[r] = value(level)
		}
	}
	return values
}

// variedFactors lists the first factors with more than one level, at most limit of them. Classes do not count as
// levels.
func variedFactors(in *metrics.Input, limit int, rotations bool) (list []int) {
	for k, f := range in.Factors {
		if f.Size > 1 && !in.Classes && (rotations || f.Rotations == nil) && len(list) < limit {
			list = append(list, k)
		}
	}
	return list
}

// LatentTorus draws the angles of circles of the codes against the circular factors; see drawTorus. circles holds the
// first of the two columns of each circle. Without circles or without circular factors, LatentTorus writes nothing.
func LatentTorus(w io.Writer, title string, in *metrics.Input, circles []int) error {
	var angles, factors []Column
	for i, first := range circles {
		a := Column{Name: circleName(i)}
		for r := range in.Codes.Rows {
			row := in.Codes.Row(r)
			a.Values = append(a.Values, math.Atan2(row[first+1], row[first]))
		}
		angles = append(angles, a)
	}
	for k, f := range in.Factors {
		if f.Kind == factor.Circular {
			factors = append(factors, Column{f.Name, levelValues(in, k, f.Angle)})
		}
	}
	if len(angles) == 0 || len(factors) == 0 {
		return nil
	}
	return drawTorus(w, title, angles, factors)
}

func circleName(i int) string { return fmt.Sprintf("circle %d", i+1) }

// TrainedCodes draws pairs of code columns before and after training; see codePlanes. in has the codes after training,
// and before has the same rows before training. For codes with a single column, it writes nothing.
func TrainedCodes(w io.Writer, title string, before matrix.Matrix, in *metrics.Input) error {
	if in.Codes.Cols < 2 {
		return nil
	}
	stages := []Stage{{Name: "before training"}, {Name: "after training"}}
	for c := range in.Codes.Cols {
		name := in.Hierarchy.ColumnName(c)
		stages[0].Codes = append(stages[0].Codes, Column{Name: name, Values: column(before, c)})
		stages[1].Codes = append(stages[1].Codes, Column{Name: name, Values: column(in.Codes, c)})
	}
	if n := in.Codes.Cols; n > 2*maxPairs {
		title += fmt.Sprintf(", the first %d of %d columns", 2*maxPairs, n)
	}
	factors := levelColumns(in)
	return codePlanes(w, title+colourLegend(factors), stages, factors)
}

func column(m matrix.Matrix, c int) []float64 {
	return m.Columns([]int{c}).Data
}

// levelColumns returns the values of each factor's levels, NaN for unknown levels, or [PoseColumns] for rotations. It
// leaves out factors with a single level if there are others, as such a factor has no colours.
func levelColumns(in *metrics.Input) []Column {
	var list []Column
	several := slices.ContainsFunc(in.Factors, func(f factor.Factor) bool { return f.Size > 1 })
	for k, f := range in.Factors {
		if f.Size < 2 && several {
			continue
		}
		if f.Rotations != nil {
			list = append(list, PoseColumns(f, in.Codes.Rows, func(r int) int { return in.Levels[r*len(in.Factors)+k] })...)
		} else {
			list = append(list, Column{f.Name, levelValues(in, k, f.Value)})
		}
	}
	return list
}

// PoseColumns returns the direction of the object's y axis as columns x, y and z, for n levels of a factor of rotations
// in space. The numbers of the levels themselves have no meaning. Unknown levels give NaN.
func PoseColumns(f factor.Factor, n int, level func(i int) int) []Column {
	list := make([]Column, 3)
	for c := range list {
		list[c] = Column{Name: fmt.Sprintf("%s: %c of its y axis", f.Name, "xyz"[c]), Values: make([]float64, n)}
		for i := range n {
			list[c].Values[i] = math.NaN()
			if l := level(i); l != factor.Unknown {
				list[c].Values[i] = f.Rotations[l][3*c+1]
			}
		}
	}
	return list
}

// CodeHistograms draws the joint histogram of each factor and each code column over the images in which both are active
// (Ross and Doshi-Velez 2021, figures A.8 and A.17); see histograms. If the factors have a true hierarchy or the codes
// have a hierarchy, a value within 1e-10 of 0 is inactive. A bar behind each row shows the factor's part of r4c or,
// without r4c, of r4.
func CodeHistograms(w io.Writer, title string, in *metrics.Input, results []metrics.Result) error {
	active := func(name string, values []float64, hierarchical bool) Column {
		c := Column{Name: name, Values: slices.Clone(values)}
		for i, v := range c.Values {
			if hierarchical && math.Abs(v) <= 1e-10 {
				c.Values[i] = math.NaN()
			}
		}
		return c
	}
	var rows, columns []Column
	for j, f := range in.Factors {
		rows = append(rows, active(f.Name, in.FactorValues(j), in.TrueHierarchy != nil))
	}
	for c := range in.Codes.Cols {
		columns = append(columns, active(in.Hierarchy.ColumnName(c), column(in.Codes, c), in.Hierarchy != nil))
	}
	return histograms(w, title, rows, columns, factorScores(results, len(rows)))
}

// factorScores returns the parts of r4c by factor or, without r4c, the parts of r4.
func factorScores(results []metrics.Result, factors int) RowScores {
	for _, metric := range []struct{ name, shown string }{{"r4c", "R4_c"}, {"r4", "R4"}} {
		for _, r := range results {
			if values := r.Part("per_factor"); r.Name == metric.name && len(values) == factors {
				return RowScores{metric.shown, values}
			}
		}
	}
	return RowScores{}
}
