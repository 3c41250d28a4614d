package dependence_test

import (
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/losses/internal/dependence"
)

func TestActiveMask(t *testing.T) {
	labels := gradcheck.Input{Shape: []int{4, 2}, Values: []float64{0, 1, 1, 1, 2, -1, -1, 0}, Constant: true}
	gradcheck.CheckAll(t, []gradcheck.Case{{Name: "mask of labels", Inputs: []gradcheck.Input{labels, gradcheck.In(4, 3)},
		Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) {
			mask, err := dependence.Mask(n[0], 3, []dependence.Active{{Columns: []int{0, 1}, Factor: 0, Levels: []int{0, 2}},
				{Columns: []int{1}, Factor: 1, Levels: []int{1}}})
			if err != nil {
				return nil, err
			}
			return gorgonia.HadamardProd(mask, n[1])
		},
		Want: func(in [][]float64) []float64 {
			mask := []float64{1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1} // unknown: second label of row 3, first label of row 4
			for i, z := range in[1] {
				mask[i] *= z
			}
			return mask
		}}})
}
