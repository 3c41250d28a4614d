package metrics

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// sparse reports whether metrics of levels would measure chance: there are more angles than bins, and on average fewer
// than five rows for each angle.
func sparse(angles, rows, bins int) bool {
	const fewRows = 5
	return angles > bins && rows < fewRows*angles
}

// ofAngles reports metrics that measure angles of circular factors, or their values, and not levels alone.
func ofAngles(m Metric) bool {
	switch m := m.(type) {
	case *DLSBD, *DLSBDWorkshop, *Contraction, *DCIRegression, *LeftInverse, *MaxError, *Logic, *HError, *R4, *R4C:
		return true
	case *Projected:
		return m.Of.Value != nil && ofAngles(m.Of.Value)
	case *BestColumns:
		return m.Of.Value != nil && ofAngles(m.Of.Value)
	}
	return false
}

// inArcs returns the input for a metric of levels. A circular factor with many angles and few rows for each gets equal
// arcs as levels. Other factors keep their angles, and a data set keeps evenly spaced levels.
func (in *Input) inArcs() (*Input, []string) {
	bins, k := in.arcs, len(in.Factors)
	if bins == 0 {
		bins = defaultBins
	}
	other, notes := in, []string(nil)
	for j, f := range in.Factors {
		if f.Kind != factor.Circular || f.Angles == nil && in.arcs == 0 {
			continue
		}
		rows, used := 0, make([]bool, f.Size)
		for at := j; at < len(in.Levels); at += k {
			if l := in.Levels[at]; l >= 0 {
				used[l] = true
				rows++
			}
		}
		angles := 0
		for _, u := range used {
			if u {
				angles++
			}
		}
		if !sparse(angles, rows, bins) {
			continue
		}
		if other == in {
			whole := *in
			whole.Levels, whole.Factors, other = slices.Clone(in.Levels), slices.Clone(in.Factors), &whole
		}
		other.setArcs(j, bins)
		notes = append(notes, fmt.Sprintf("factor %s: %d angles in %d rows are levels as %d equal arcs", f.Name, angles, rows, bins))
	}
	return other, notes
}

// setArcs replaces the levels of a circular factor by equal arcs and drops arcs without rows.
func (in *Input) setArcs(j, bins int) {
	k, f := len(in.Factors), in.Factors[j]
	arc := make([]int, f.Size) // by level
	for l := range arc {
		turns := f.Angle(l) / (2 * math.Pi)
		arc[l] = min(int((turns-math.Floor(turns))*float64(bins)), bins-1)
	}
	number := slices.Repeat([]int{-1}, bins)
	for at := j; at < len(in.Levels); at += k {
		if l := in.Levels[at]; l >= 0 {
			number[arc[l]] = 0
		}
	}
	of := factor.Factor{Name: f.Name, Kind: f.Kind}
	for b, used := range number {
		if used == 0 {
			number[b] = of.Size
			of.Size++
			of.Angles = append(of.Angles, 2*math.Pi*(float64(b)+0.5)/float64(bins))
		}
	}
	if of.Size == bins { // a whole turn in equal steps
		of.Angles = nil
	}
	for at := j; at < len(in.Levels); at += k {
		if l := in.Levels[at]; l >= 0 {
			in.Levels[at] = number[arc[l]]
		}
	}
	in.Factors[j] = of
}
