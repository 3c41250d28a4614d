//go:build gpu

package kernels_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/losses"
)

func TestTotalCorrelation(t *testing.T) {
	var list []check
	add := func(name string, rows, columns, size int, blocks [][]int, codes, logVariances, mask []float64) {
		for _, e := range []losses.TCEstimator{losses.TCMinibatch, losses.TCWeighted, losses.TCStratified} {
			m := kernels.Mixtures{Rows: rows, Columns: columns, Blocks: blocks, Estimator: int(e), Size: size}
			inputs := []input{in(rows, columns).of(codes...), in(rows, columns).wide(0.5), in(rows, columns).of(logVariances...)}
			if codes != nil {
				inputs[1] = inputs[0]
			}
			if mask != nil {
				inputs = append(inputs, in(rows, columns).of(mask...).constant())
			}
			optional := func(in []vulkan.Buffer) vulkan.Buffer { return append(in[:len(in):len(in)], vulkan.Buffer{})[3] }
			list = append(list, check{
				name:   fmt.Sprintf("%s/%v", name, e),
				inputs: inputs,
				build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
					switch {
					case mask != nil:
						return losses.ConditionalTotalCorrelation(in[0], in[1], in[2], in[3], e, size)
					case blocks != nil:
						return losses.BlockCorrelation(in[0], in[1], in[2], blocks, e, size)
					}
					return losses.TotalCorrelation(in[0], in[1], in[2], e, size)
				},
				forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.TotalCorrelation(t, in[0], in[1], in[2], optional(in), out, m)
				},
				backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.TotalCorrelationGradient(t, in[0], in[1], in[2], optional(in), dout, [3]vulkan.Buffer(din), m)
				},
				tolerance: 2e-5,
				floor:     0.1, // differences of log densities
			})
		}
	}
	mask := make([]float64, 65*5)
	for i := range mask {
		mask[i] = float64(i * i % 7 % 2)
	}
	add("a batch", 65, 10, 1000, nil, nil, nil, nil)
	add("a large data set", 130, 3, 100e6, nil, nil, nil, nil)
	add("blocks", 33, 7, 40, [][]int{{6, 0}, {3}, {2, 1, 5}}, nil, nil, nil)
	add("many columns", 7, 70, 20, nil, nil, nil, nil)
	add("mask", 65, 5, 70, nil, nil, nil, mask)
	add("single columns of a mask", 4, 2, 9, nil, nil, nil, []float64{1, 0, 0, 1})
	add("no column of a mask", 3, 2, 9, nil, nil, nil, []float64{0})
	add("different rows of a mask", 3, 3, 9, nil, nil, nil, []float64{1, 1, 0, 1, 0, 1, 0, 1, 1})
	add("one row", 1, 3, 1, nil, nil, nil, nil)
	add("two rows", 2, 2, 2, nil, nil, nil, nil)
	add("one column", 6, 1, 8, nil, nil, nil, nil)
	add("the whole data set", 9, 2, 9, nil, nil, nil, nil)
	add("equal codes", 8, 3, 16, nil, []float64{0.5}, []float64{-1}, nil)
	add("far apart", 6, 2, 12, nil, []float64{-100, 50, 200, 0}, []float64{-8, 1}, nil)
	add("wide and narrow", 7, 2, 12, nil, nil, []float64{-9, 9, 3, -4}, nil)
	runAll(t, list)
}
