package losses_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/losses"
)

// logProbabilities returns log p and log 1-p of a row of logits.
func logProbabilities(logits []float64, row, columns int) (yes, no float64) {
	if columns == 1 {
		l := logits[row]
		return -math.Log1p(math.Exp(-l)), -math.Log1p(math.Exp(l))
	}
	a, b := logits[2*row], logits[2*row+1]
	sum := math.Log(math.Exp(a) + math.Exp(b))
	return a - sum, b - sum
}

func TestDiscriminators(t *testing.T) {
	var cases []gradcheck.Case
	for _, columns := range []int{1, 2} {
		logits := gradcheck.Input{Shape: []int{6, columns}, Lo: -4, Hi: 4}
		cases = append(cases, gradcheck.Case{Name: "density ratio", Inputs: []gradcheck.Input{logits},
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.DensityRatio(n[0]) },
			Want: func(in [][]float64) []float64 {
				sum := 0.0
				for row := range 6 {
					yes, no := logProbabilities(in[0], row, columns)
					sum += yes - no
				}
				return []float64{sum / 6}
			}}, gradcheck.Case{Name: "discrimination", Inputs: []gradcheck.Input{logits},
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.Discrimination(n[0]) },
			Want: func(in [][]float64) []float64 {
				sum := 0.0
				for row := range 6 {
					yes, no := logProbabilities(in[0], row, columns)
					if row < 3 {
						sum -= yes / 3 / 2
					} else {
						sum -= no / 3 / 2
					}
				}
				return []float64{sum}
			}})
	}
	cases = append(cases, gradcheck.Case{Name: "discrimination without doubt",
		Inputs: []gradcheck.Input{{Shape: []int{4, 1}, Values: []float64{90, -90, 90, -90}}},
		Build:  func(n nodes) (*gorgonia.Node, error) { return losses.Discrimination(n[0]) },
		Want:   func([][]float64) []float64 { return []float64{45} }},
		gradcheck.Case{Name: "absolute difference", Inputs: []gradcheck.Input{gradcheck.In(5), gradcheck.In(5)},
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.Capacity(n[0], n[1]) },
			Want: func(in [][]float64) []float64 {
				var list []float64
				for i, a := range in[0] {
					list = append(list, math.Abs(a-in[1][i]))
				}
				return list
			}})
	gradcheck.CheckAll(t, cases)
}

func TestAbout(t *testing.T) {
	angles := gradcheck.Input{Shape: []int{3, 1}, Constant: true}
	points := gradcheck.In(3, 3)
	gradcheck.CheckAll(t, []gradcheck.Case{{Name: "turns about an axis", Inputs: []gradcheck.Input{points, angles},
		Build: func(n nodes) (*gorgonia.Node, error) {
			about, err := losses.AboutAxis([3]float64{0, 0, 2}, 3, n[1])
			if err != nil {
				return nil, err
			}
			return losses.SphereTransport(n[0], about, 1)
		},
		Want: func(in [][]float64) []float64 { // a group's only point maps to itself, normalised
			var list []float64
			for i := range 3 {
				z := in[0][3*i : 3*i+3]
				norm := math.Hypot(math.Hypot(z[0], z[1]), z[2])
				list = append(list, z[0]/norm, z[1]/norm, z[2]/norm)
			}
			return list
		}}, {Name: "a pair that turns", Inputs: []gradcheck.Input{{Shape: []int{2, 3}, Values: []float64{1, 0, 0, 0, 1, 0}}, {Shape: []int{2, 1}, Values: []float64{0, math.Pi / 6}, Constant: true}},
		Build: func(n nodes) (*gorgonia.Node, error) {
			about, err := losses.AboutAxis([3]float64{0, 0, 2}, 3, n[1])
			if err != nil {
				return nil, err
			}
			return losses.SphereTransport(n[0], about, 2)
		},
		Want: func([][]float64) []float64 { return []float64{1, 0, 0, 0, 1, 0} }}}) // 3 pi/6 is the quarter turn between them
}
