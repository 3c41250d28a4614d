package drawn_test

import (
	"math"
	"testing"

	. "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/must"
)

// The disc has the area and the centre of mass given by the formula, and never touches the edges.
func TestFlatland(t *testing.T) {
	for _, set := range []*Flatland{NewFlatland(), {Period: 10, Radius: 15, Size: 64, Samples: 1}, {Period: 3, Radius: 4, Size: 20, Samples: 7}} {
		d := datatest.Build(t, set)
		must.Equal(t, d.Len(), set.Period*set.Period, set, "images")
		pixels, levels := make([]float32, set.Size*set.Size), make([]int, 2)
		for i := range d.Len() {
			d.Image(i, pixels)
			d.FactorsAt(i, levels)
			var mass, row, column, edge float64
			for p, v := range pixels {
				r, c := p/set.Size, p%set.Size
				mass, row, column = mass+float64(v), row+float64(v)*float64(r), column+float64(v)*float64(c)
				if r == 0 || c == 0 || r == set.Size-1 || c == set.Size-1 {
					edge += float64(v)
				}
			}
			area := math.Pi * float64(set.Radius*set.Radius)
			near := 0.3 / float64(set.Samples)
			if !(math.Abs(mass/area-1) <= 0.02) || edge != 0 {
				t.Errorf("%+v image %d: area %v, want %v; %v on the edge", set, i, mass, area, edge)
			}
			for k, got := range []float64{row / mass, column / mass} {
				step := float64(set.Size-1-2*set.Radius) / float64(set.Period)
				if want := float64(set.Radius) + 2 + float64(levels[k])*step; !(math.Abs(got-want) <= near) ||
					!(math.Abs(d.Factors()[k].Values[levels[k]]-want) <= 1e-12) {
					t.Errorf("%+v image %d: coordinate %d is %v, and %v by its levels; want %v", set, i, k, got, d.Factors()[k].Values[levels[k]], want)
				}
			}
		}
	}
}

func TestFlatlandPicture(t *testing.T) {
	set := &Flatland{Period: 2, Radius: 1, Size: 8, Samples: 1}
	const want = "......../......../...#..../..###.../...#..../......../......../........"
	must.Equal(t, picture(datatest.Build(t, set), 0), want)
	must.OK(t, (&Flatland{Period: 17, Radius: 15, Size: 65, Samples: 4}).Validate()) // the longest period: two positions
}
