package losses_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/logic"
)

// TestBlockCorrelation compares the total correlation of blocks with reference values.
func TestBlockCorrelation(t *testing.T) {
	var data struct {
		Z          [][]float64
		Posteriors struct {
			Sample, LogVariance [][]float64
			Size                int
			Value               float64
			Gradients           [][][]float64
		}
	}
	text, err := os.ReadFile("logic/testdata/independence.json")
	if err == nil {
		err = json.Unmarshal(text, &data)
	}
	must.OK(t, err)
	p := data.Posteriors
	var in []gradcheck.Input
	for _, x := range [][][]float64{p.Sample, data.Z, p.LogVariance} {
		in = append(in, gradcheck.Input{Shape: []int{20, 6}, Values: slices.Concat(x...)})
	}
	build := func(in []*gorgonia.Node) (*gorgonia.Node, error) {
		return losses.BlockCorrelation(in[0], in[1], in[2], [][]int{{0, 1}, {3}, {5, 2}}, losses.TCWeighted, p.Size)
	}
	gradcheck.Check(t, gradcheck.Case{Inputs: in, Build: build, Want: func([][]float64) []float64 { return []float64{p.Value} }})
	g := gorgonia.NewGraph()
	var nodes []*gorgonia.Node
	for i, x := range in {
		n := gradcheck.Node(g, tensor.Float64, []string{"sample", "mean", "variance"}[i], x.Shape...)
		copy(n.Value().Data().([]float64), x.Values)
		nodes = append(nodes, n)
	}
	n := gradcheck.Must(t)(build(nodes))
	grads := must.Get(gorgonia.Grad(n, nodes...))(t)
	m, err := machine.New(g, append(grads, n)...)
	if err == nil {
		err = m.RunAll()
	}
	must.OK(t, err)
	for i, grad := range grads {
		for k, x := range m.Value(grad).Data().([]float64) {
			if want := slices.Concat(p.Gradients[i]...)[k]; !(math.Abs(x-want) <= 1e-12) {
				t.Fatalf("gradient %v of input %d at %d, want %v", x, i, k, want)
			}
		}
	}
	for _, blocks := range [][][]int{nil, {{0}}, {{0}, {}}, {{0}, {0}}, {{0}, {6}}} {
		must.ErrorOf(losses.BlockCorrelation(nodes[0], nodes[1], nodes[2], blocks, losses.TCMinibatch, 0))(t, "want", blocks)
	}
}

// TestIndependenceOperations compares the operations of sentences with the losses' operations.
func TestIndependenceOperations(t *testing.T) {
	long.NotShort(t)
	schema := logic.Schema{Codes: 5, SubCodes: map[string][]int{"a": {4, 0}, "b": {2}, "c": {1, 3}}}
	for i, text := range []string{"independent(z.a, z.b)", "2 * independent(z.a, z.b, z.c) and 0.5 * independent(z.a, z.c)"} {
		s := must.Get(logic.Parse(text))(t)
		q := must.Get(logic.Compile(s, schema))(t)
		for _, rows := range []int{5, 33, 400} { // for many rows the median is of a sample of pairs
			if rows == 400 && i == 0 && !long.Enabled() {
				continue
			}
			rows := gradcheck.Input{Shape: []int{rows, 5}}
			build := func(in []*gorgonia.Node) (*gorgonia.Node, error) { return losses.Logic(q, in[0], nil, nil) }
			gradcheck.Check(t, gradcheck.Case{Name: text, Inputs: []gradcheck.Input{rows}, Build: build, Samples: 4, Tolerance32: 1e-3,
				Want: func(in [][]float64) []float64 {
					var z [][]float64
					for row := range slices.Chunk(in[0], 5) {
						z = append(z, row)
					}
					v := must.Get(q.ValueOf(logic.Batch{Codes: z}))(t)
					return []float64{v}
				}})
		}
	}
}

// TestPermuteBlocks checks that rows of blocks stay together, and that none is lost.
func TestPermuteBlocks(t *testing.T) {
	codes := []float32{0, 10, 20, 1, 11, 21, 2, 12, 22, 3, 13, 23}
	dst := make([]float32, len(codes))
	losses.PermuteBlocks(dst, codes, []int{2, 1}, func(n int, swap func(i, j int)) {
		for i := range n - 1 {
			swap(i, i+1)
		}
	})
	must.EqualSlices(t, dst, []float32{1, 11, 21, 2, 12, 22, 3, 13, 23, 0, 10, 20})
	calls := 0
	losses.PermuteBlocks(dst, codes, []int{1, 2}, func(n int, swap func(i, j int)) {
		if calls++; calls == 2 {
			swap(0, 3)
		}
	})
	must.EqualSlices(t, dst, []float32{0, 13, 23, 1, 11, 21, 2, 12, 22, 3, 10, 20})
}
