//go:build gpu

package kernels_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/losses"
)

// integers returns n labels from 0 to levels-1, and -1 for every seventh row.
func integers(n, levels int) (labels []float64) {
	for i := range n {
		labels = append(labels, float64(i*i%levels))
		if i%7 == 3 {
			labels[i] = -1
		}
	}
	return labels
}

func TestModularity(t *testing.T) {
	wide := make([]int, 70)
	for i := range wide {
		wide[i] = 75 - i
	}
	one := []factor.Block{{Factor: 0, Columns: []int{0}}}
	shared := []factor.Block{{Factor: 1, Columns: []int{3, 0}}, {Factor: 0, Columns: []int{2, 0}}}
	var list []check
	add := func(name string, n, width, factors int, codes, labels []float64, blocks []factor.Block, deviations ...factor.Deviation) {
		for _, d := range deviations {
			for a := factor.Mean; a.Known(); a++ {
				for _, unbiased := range []bool{false, true} {
					if unbiased && losses.Unbiased.Check(d, a) != nil {
						continue
					}
					g := kernels.Groups{Rows: n, Columns: width, Factors: factors, Unbiased: unbiased}
					g.Deviation, g.Aggregate = int(d), int(a)
					for _, b := range blocks {
						g.Blocks = append(g.Blocks, kernels.GroupBlock(b))
					}
					estimate := losses.Plain
					if unbiased {
						estimate = losses.Unbiased
					}
					list = append(list, check{
						name:   fmt.Sprintf("%s/%v %v %v", name, d, a, unbiased),
						inputs: []input{in(n, width).of(codes...), in(n, factors).of(labels...).constant()},
						build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
							return losses.Modularity(d, a, estimate, in[0], in[1], blocks...)
						},
						forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
							kernels.Modularity(t, in[0], in[1], out, g)
						},
						backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
							kernels.ModularityGradient(t, in[0], in[1], dout, din[0], g)
						},
					})
				}
			}
		}
	}
	all := []factor.Deviation{factor.Variance, factor.Diameter, factor.MPD}
	add("shared columns", 150, 4, 2, nil, integers(300, 5), shared, all...)
	add("wide", 67, 76, 1, nil, integers(67, 2), []factor.Block{{Factor: 0, Columns: wide}}, all...)
	add("one row", 1, 1, 1, nil, []float64{0}, one, all...)
	add("no groups", 3, 1, 1, nil, []float64{-1}, one, all...)
	add("single rows", 3, 1, 1, nil, []float64{2, 0, 1}, one, all...)
	add("zero distances", 5, 1, 1, []float64{1.5}, []float64{1, 1, 0, 1, 0}, one, all...)
	add("a repeated point", 3, 1, 1, []float64{0, 0, 4}, []float64{0}, one, all...)
	add("equal groups", 4, 1, 1, []float64{0, 1, 1, 0}, []float64{3, 1, 1, 3}, one, all...) // the smallest label has the maximum
	add("equal diameters", 4, 2, 1, []float64{0, 0, 3, 0, 3, 4, 0, 4}, []float64{0}, []factor.Block{{Factor: 0, Columns: []int{0, 1}}}, all...)
	add("far from 0", 9, 1, 1, []float64{1000, 1000.25, 1000.5}, []float64{0}, one, all...)
	add("large and small", 8, 1, 1, []float64{1e6, 1e-6, -3e6}, []float64{0, 1}, one, all...)
	add("broken labels", 9, 1, 1, nil, []float64{0.5, 0.25, 1e6, 0.5, 0.25}, one, all...)
	runAll(t, list)
}

func TestContraction(t *testing.T) {
	var list []check
	add := func(name string, n, width, factors int, codes, labels, groups []float64, settings ...losses.ContractionSettings) {
		for k, s := range settings {
			for a := factor.Mean; a.Known(); a++ {
				s := s
				s.Aggregate = a
				h := kernels.Hinges{Rows: n, Width: width, Factors: factors, Aggregate: int(a)}
				h.Columns, h.Add, h.Pairs = s.Columns, s.Add, s.Pairs
				for _, f := range s.Factors {
					d := kernels.LabelDistance{Factor: f.Factor, Kind: int(f.Kind), Period: f.Period}
					h.Distances = append(h.Distances, d)
				}
				inputs := []input{in(n, width).of(codes...), in(n, factors).of(labels...).constant()}
				if groups != nil {
					inputs = append(inputs, in(n, factors).of(groups...).constant())
				}
				list = append(list, check{
					name:   fmt.Sprintf("%s/%d %v", name, k, a),
					inputs: inputs,
					build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
						return losses.Contraction(s, in[0], in[1], append(in, nil)[2])
					},
					forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
						kernels.Contraction(t, in[0], in[1], append(in, vulkan.Buffer{})[2], out, h)
					},
					backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
						kernels.ContractionGradient(t, in[0], in[1], append(in, vulkan.Buffer{})[2], dout, din[0], h)
					},
				})
			}
		}
	}
	absolute := losses.FactorDistance{Factor: 0}
	mixed := []losses.FactorDistance{{Factor: 2, Kind: losses.CircularDistance, Period: 3},
		{Factor: 1, Kind: losses.DiscreteDistance}, absolute}
	wide := make([]int, 70)
	for i := range wide {
		wide[i] = 71 - i
	}
	small := make([]float64, 150*4)
	for i := range small {
		small[i] = float64(i*i%101) / 200
	}
	add("many", 150, 4, 3, small, integers(450, 4), integers(450, 6),
		losses.ContractionSettings{Columns: []int{3, 0, 1}, Factors: mixed},
		losses.ContractionSettings{Columns: []int{2}, Factors: mixed, Add: true},
		losses.ContractionSettings{Columns: []int{2, 1}, Factors: mixed, Pairs: 5})
	simple := losses.ContractionSettings{Columns: []int{0}, Factors: []losses.FactorDistance{absolute}}
	sampled := simple
	sampled.Pairs = 2
	add("wide", 33, 72, 1, []float64{0.01, 0.02, -0.01}, []float64{0, 1, 0.5, 0.25}, nil,
		losses.ContractionSettings{Columns: wide, Factors: simple.Factors})
	add("one row", 1, 1, 1, nil, nil, nil, simple, sampled)
	add("two rows", 2, 1, 1, []float64{0, 0.25}, []float64{0, 1}, nil, simple, sampled)
	add("none known", 3, 1, 1, nil, nil, []float64{-1}, simple, sampled)
	add("one known", 4, 1, 1, nil, nil, []float64{-1, 0, -1, -1}, simple, sampled)
	add("zero distances", 5, 1, 1, []float64{2}, []float64{0, 1, 2}, nil, simple, sampled)
	add("equal pairs", 6, 1, 1, []float64{0, 1, 2}, []float64{0, 4, 8}, []float64{0, -1, 1}, simple, sampled)
	add("no hinge", 5, 1, 1, []float64{0, 10, 20, 30, 40}, []float64{0, 1, 2, 3, 4}, nil, simple, sampled)
	add("ties", 64, 1, 1, []float64{0, 1}, []float64{0, 4, 8, 0}, nil, simple, sampled)
	runAll(t, list)
}
