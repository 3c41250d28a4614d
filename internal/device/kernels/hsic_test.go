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

func TestHSIC(t *testing.T) {
	var list []check
	add := func(name string, n int, x, y, groups []float64, sides ...losses.Kernel) {
		widths := [2]int{4, 2}
		var described [2]kernels.Similarity
		for i, k := range sides {
			described[i] = kernels.Similarity{Kind: int(k.Kind), Width: widths[i], Columns: k.Columns, Bandwidth: k.Bandwidth}
		}
		inputs := []input{in(n, widths[0]).of(x...), in(n, widths[1]).of(y...)}
		for i, k := range sides {
			inputs[i].fixed = k.Kind != losses.GaussianKernel
		}
		if groups != nil {
			inputs = append(inputs, in(n).of(groups...).constant())
		}
		optional := func(in []vulkan.Buffer) vulkan.Buffer { return append(in[:len(in):len(in)], vulkan.Buffer{})[2] }
		list = append(list, check{
			name:   name,
			inputs: inputs,
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return losses.HSIC(in[0], in[1], append(in, nil)[2], sides[0], sides[1])
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.HSIC(t, in[0], in[1], optional(in), out, described, n)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.HSICGradient(t, in[0], in[1], optional(in), dout, [2]vulkan.Buffer(din), described, n)
			},
			tolerance: 2e-5,
		})
	}
	median, given := losses.Kernel{Columns: []int{2, 0, 3}}, losses.Kernel{Columns: []int{1, 0}, Bandwidth: 0.5}
	equal := losses.Kernel{Kind: losses.EqualKernel, Columns: []int{1}}
	circle := losses.Kernel{Kind: losses.CircularKernel, Columns: []int{0, 1}}
	levels := []float64{0, 1, 2, 0, 3, -1}
	turns := []float64{0, 0.25, 1.5, -0.3, 7}
	for _, n := range []int{1, 3, 33, 150} {
		add(fmt.Sprint("median and given ", n), n, nil, nil, nil, median, given)
		add(fmt.Sprint("median and levels ", n), n, nil, levels, integers(n, 3), median, equal)
		add(fmt.Sprint("given and circles ", n), n, nil, turns, integers(n, 3), given, circle)
	}
	add("two rows", 2, nil, nil, nil, given, given)
	whole := losses.Kernel{Columns: []int{0, 1}}
	add("a median of some pairs", 700, nil, nil, nil, given, whole)
	add("none known", 5, nil, nil, []float64{-1}, median, given)
	add("one known", 5, nil, nil, []float64{-1, -1, 3, -1, -1}, median, given)
	add("zero distances", 6, []float64{1.5}, nil, nil, median, given)
	add("both constant", 6, []float64{1.5}, []float64{3}, nil, median, equal)
	for i := len(list) - 2; i < len(list); i++ { // drivers round 0 = mean - mean in their own ways, for kernels up to 1
		list[i].floor = 1e-3
	}
	add("a median of 0", 7, []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, nil, nil, median, given)
	add("ties", 8, []float64{0, 0, 1, 1, 1, 0, 0, 1}, nil, nil, median, given)
	add("far from 0", 9, []float64{1000, 1000.25, 999.5, 1001, 1000.5}, nil, nil, median, given)
	add("far apart", 6, []float64{0, 1e5, -3e5, 2e6, 1e4}, []float64{0, 1e-4, 2e-4, 5e-5, 1e-5}, nil, median, whole)
	runAll(t, list)
}
