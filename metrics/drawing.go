package metrics

import (
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
)

func validDraws(batch, least, train, test int) error {
	switch {
	case batch < least || batch > maxDrawn:
		return config.Invalid("batch", "%d is out of range; want %d to %d", batch, least, maxDrawn)
	case train < 1 || train > maxDrawn:
		return config.Invalid("train", "%d is out of range; want 1 to %d", train, maxDrawn)
	case test < 1 || test > maxDrawn:
		return config.Invalid("test", "%d is out of range; want 1 to %d", test, maxDrawn)
	}
	return nil
}

// perFactor returns the part per_factor: right/all of every factor with points.
func perFactor(in *Input, right, all []float64) Part {
	part := Part{Name: "per_factor"}
	for j, f := range in.Factors {
		if all[j] > 0 {
			part.Labels = append(part.Labels, f.Name)
			part.Values = append(part.Values, right[j]/all[j])
		}
	}
	return part
}

// drawing draws rows with a given level of a factor.
type drawing struct {
	in     *Input
	levels []*groups
}

func newDrawing(in *Input) (*drawing, error) {
	if in.Stream == nil {
		return nil, fmt.Errorf("there is no stream of random numbers to draw rows; want one")
	}
	d := &drawing{in: in}
	for j := range in.Factors {
		d.levels = append(d.levels, groupRows(in, j, nil))
	}
	return d, nil
}

// factor draws a factor, uniformly.
func (d *drawing) factor() int { return d.in.Stream.IntN(len(d.in.Factors)) }

// row draws a row uniformly from the rows that know factor j, which draws its levels by their frequency.
func (d *drawing) row(j int) int {
	known := d.levels[j].order
	if len(known) == d.in.Codes.Rows {
		return d.in.Stream.IntN(len(known))
	}
	return known[d.in.Stream.IntN(len(known))]
}

// like draws a row with the same level of factor j as the given row, uniformly, the row itself included.
func (d *drawing) like(row, j int) int {
	members := d.members(row, j)
	return members[d.in.Stream.IntN(len(members))]
}

// members returns the rows with the same level of factor j as the given row.
func (d *drawing) members(row, j int) []int {
	return d.levels[j].members(d.in.Levels[row*len(d.in.Factors)+j])
}
