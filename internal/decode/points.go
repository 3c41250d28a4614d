package decode

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
)

// arc moves a point of the unit sphere along the great circle with the given tangent.
func arc(point, tangent []float64, sin, cos float64) {
	for i := range point {
		point[i] = cos*point[i] + sin*tangent[i]
	}
}

// tangent returns the direction from a point of the unit sphere towards an axis. If the point is on that axis, it
// returns the direction towards the next axis. On the circle the direction is always counter-clockwise.
func tangent(point []float64, axis int) []float64 {
	if len(point) == 2 {
		return []float64{-point[1], point[0]}
	}
	t := make([]float64, len(point))
	for i := range point {
		t[i] = -point[axis] * point[i]
	}
	t[axis]++
	if length(t) < 1e-6 {
		return tangent(point, (axis+1)%len(point))
	}
	normalise(t)
	return t
}

func length(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

func normalise(v []float64) {
	n := length(v)
	for i := range v {
		v[i] /= n
	}
}

// Between returns codes from a to b, including both. Codes in R^n are on a straight line, and codes on circles and
// spheres are on the shorter arc. From a point to its opposite, they move counter-clockwise, or towards the first axis.
// If moves returns false for a space, the space stays as in a; nil moves all spaces. If choices move, the options
// change in the middle. A dimension that only one of both codes uses keeps its value.
func (c *Codes) Between(a, b []float64, steps int, moves func(s models.Space) bool) (codes [][]float64) {
	k, inA, inB := c.options(), c.active(a), c.active(b)
	for i := range steps {
		t := 0.0
		if steps > 1 {
			t = float64(i) / float64(steps-1)
		}
		code := slices.Clone(a)
		for _, s := range c.Spaces {
			if moves != nil && !moves(s) {
				continue
			}
			if unit(s) {
				geodesic(code[s.First:s.First+s.Width], b[s.First:s.First+s.Width], t)
				continue
			}
			for j := s.First; j < s.First+s.Width; j++ {
				switch option := j < k; {
				case option && t >= 0.5, !option && !inA[j] && inB[j]:
					code[j] = b[j]
				case !option && inA[j] && inB[j]:
					code[j] += t * (b[j] - a[j])
				}
			}
		}
		if c.Hierarchy != nil { // dimensions that the options do not open become 0
			code = c.row(c.choice(code), code[k:])
		}
		codes = append(codes, code)
	}
	return codes
}

// geodesic moves a point of the unit sphere a fraction t of the way to another point.
func geodesic(from, to []float64, t float64) {
	dot := 0.0
	for i := range from {
		dot += from[i] * to[i]
	}
	direction := make([]float64, len(from))
	for i := range direction {
		direction[i] = to[i] - dot*from[i]
	}
	angle := math.Atan2(length(direction), dot)
	switch {
	case length(direction) > 1e-9:
		normalise(direction)
	case dot < 0:
		direction = tangent(from, 0)
	}
	sin, cos := math.Sincos(t * angle)
	arc(from, direction, sin, cos)
}

// Mean returns the mean of codes: the mean in R^n, and the direction of the mean on circles and spheres. For codes with
// discrete columns, it is the mean of the codes with the most frequent options. If the mean has no direction, the
// result has the direction of the first code.
func (c *Codes) Mean(codes [][]float64) []float64 {
	if c.Hierarchy != nil {
		codes = c.mostFrequent(codes)
	}
	mean := make([]float64, len(codes[0]))
	for _, code := range codes {
		for i, v := range code {
			mean[i] += v / float64(len(codes))
		}
	}
	for _, s := range c.Spaces {
		if !unit(s) {
			continue
		}
		point := mean[s.First : s.First+s.Width]
		if length(point) < 1e-6 {
			copy(point, codes[0][s.First:])
		}
		normalise(point)
	}
	copy(mean, codes[0][:c.options()])
	return mean
}

// mostFrequent returns the codes with the most frequent options.
func (c *Codes) mostFrequent(codes [][]float64) (largest [][]float64) {
	groups := map[string][][]float64{}
	for _, code := range codes {
		key := fmt.Sprint(c.choice(code))
		if groups[key] = append(groups[key], code); len(groups[key]) > len(largest) {
			largest = groups[key]
		}
	}
	return largest
}

// sphereTolerance is the tolerance for the distance of a point from its sphere.
const sphereTolerance = 1e-4

// Settle projects codes from other sources to the spaces of the model, in place. It returns the number of rows with a
// point that was not on its sphere. It returns an error for a number that is not finite, for a point at 0, which has no
// direction, and for a discrete column with an invalid option number.
func (c *Codes) Settle(m matrix.Matrix) (projected int, err error) {
	if m.Cols != c.Width() {
		return 0, fmt.Errorf("codes of %d columns; want %d, as the model has", m.Cols, c.Width())
	}
	var options []int
	if c.Hierarchy != nil {
		options = c.Hierarchy.Categoricals()
	}
	for i := range m.Rows {
		row, projects := m.Row(i), false
		if err := settleOptions(row, options); err != nil {
			return 0, fmt.Errorf("row %d, %w", i, err)
		}
		for _, s := range c.Spaces {
			if !unit(s) {
				continue
			}
			point := row[s.First : s.First+s.Width]
			n := length(point)
			if n < 1e-6 {
				return 0, fmt.Errorf("row %d, columns %d to %d are a point at 0; want one on the unit %s, or in some direction from 0", i, s.First, s.First+s.Width-1, sphereName(s))
			}
			projects = projects || math.Abs(n-1) > sphereTolerance
			normalise(point)
		}
		if projects {
			projected++
		}
	}
	return projected, nil
}

// settleOptions checks that the numbers of a row are finite, and rounds discrete columns to option numbers.
func settleOptions(row []float64, options []int) error {
	for j, v := range row {
		if v-v != 0 || math.Abs(v) > math.MaxFloat32 {
			return fmt.Errorf("column %d is %v; want a finite number", j, v)
		}
	}
	for j, n := range options {
		if o := math.Round(row[j]); math.Abs(row[j]-o) > 1e-3 || o < 0 || int(o) > n {
			return fmt.Errorf("column %d is %v; want an option, 1 to %d, or 0 for none", j, row[j], n)
		}
		row[j] = math.Round(row[j])
	}
	return nil
}

func sphereName(s models.Space) string {
	if s.Width == 2 {
		return "circle"
	}
	return "sphere"
}
