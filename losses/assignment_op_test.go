package losses_test

import (
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/losses"
)

func TestAssignmentError(t *testing.T) {
	labels := gradcheck.Input{Shape: []int{4, 3}, Constant: true, Values: []float64{1, 9, 0, 2, 9, 3, -1, 9, 1, 0, 9, -1}}
	gradcheck.CheckAll(t, []gradcheck.Case{{Name: "assignment error", Inputs: []gradcheck.Input{gradcheck.In(4, 5), labels},
		Build: func(n nodes) (*gorgonia.Node, error) {
			return losses.Assignment(n[0], n[1], []int{2, 3}, []int{0, 2})
		},
		Want: func(in [][]float64) []float64 {
			should := [][]float64{{1, 0, 0, 0, 0}, {0, 1, 0, 0, 1}, {9, 9, 1, 0, 0}, {0, 0, 9, 9, 9}} // 9: not known
			var sum float64
			for row, s := range should {
				for j, v := range s {
					if d := v - in[0][5*row+j]; v != 9 {
						sum += d * d / 4
					}
				}
			}
			return []float64{sum}
		}}})
}

// Numbers of options and back.

func TestAssignmentErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	w, l := gradcheck.Node(g, tensor.Float32, "w", 1, 3), gradcheck.Node(g, tensor.Float32, "l", 1, 2)
	if _, err := losses.Assignment(w, l, []int{3}, []int{2}); err == nil || !strings.Contains(err.Error(), "columns of labels below 2") {
		t.Errorf("error %v", err)
	}
}
