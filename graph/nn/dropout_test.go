package nn_test

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// Dropout multiplies by its mask in training. It does nothing in EMA targets, in frozen parts and at rate 0.
func TestDropout(t *testing.T) {
	node := gradcheck.Must(t)
	p := nn.NewParams(1)
	for name, c := range map[string]struct {
		graph func(*nn.Graph) *nn.Graph
		rate  float64
		masks int
	}{
		"training":   {func(g *nn.Graph) *nn.Graph { g.Training = true; return g }, 0.5, 1},
		"evaluation": {func(g *nn.Graph) *nn.Graph { return g }, 0.5, 0},
		"a target":   {func(g *nn.Graph) *nn.Graph { g.Training = true; return g.Targets("") }, 0.5, 0},
		"frozen": {func(g *nn.Graph) *nn.Graph {
			g.Training, g.Frozen = true, func(name string) bool { return name == "d" }
			return g
		}, 0.5, 0},
		"rate 0": {func(g *nn.Graph) *nn.Graph { g.Training = true; return g }, 0, 0},
	} {
		g := c.graph(nn.NewGraph(p))
		x := node(g.Input("x", 3, 5))
		for i := range nn.Data(x) {
			nn.Data(x)[i] = float32(i + 1)
		}
		y := node(nn.Dropout(g, x, "d", c.rate))
		if len(g.Masks()) != c.masks || (y == x) != (c.masks == 0) {
			t.Errorf("%s: %d masks, the result is the input: %v", name, len(g.Masks()), y == x)
		}
		if c.masks == 0 {
			continue
		}
		mask := g.Masks()[0]
		mask.Fill(rng.New(1, "dropout"))
		m := must.Get(machine.New(g.ExprGraph, y))(t)
		must.OK(t, m.RunAll())
		for i, v := range m.Value(y).(*tensor.Dense).Float32s() {
			if v != nn.Data(x)[i]*nn.Data(mask.Node)[i] || v != 0 && v != 2*float32(i+1) {
				t.Errorf("element %d is %v, of %v", i, v, nn.Data(x)[i])
			}
		}
		if _, err := nn.Dropout(g, x, "d", c.rate); err != nil || len(g.Masks()) != 2 || g.Masks()[1].Node == mask.Node {
			t.Errorf("the layer used again: error %v, %d masks", err, len(g.Masks()))
		}
	}
	g := nn.NewGraph(p)
	x := node(g.Input("x", 2))
	for _, rate := range []float64{-0.1, 1, math.NaN()} {
		must.ErrorOf(nn.Dropout(g, x, "d", rate))(t, `layer "d": rate`, rate)
	}
}

// Fill sets every element of masks whose size is a multiple of the piece size, one less, or one more.
func TestMaskSizes(t *testing.T) {
	const piece = 1 << 14
	for _, n := range []int{1, 2, 3, piece - 1, piece, piece + 1, 2*piece - 1, 2 * piece} {
		g := nn.NewGraph(nn.NewParams(1))
		g.Training = true
		gradcheck.Must(t)(nn.Dropout(g, gradcheck.Must(t)(g.Input("x", n)), "d", 0.5))
		m := g.Masks()[0]
		for i := range nn.Data(m.Node) {
			nn.Data(m.Node)[i] = -1
		}
		m.Fill(rng.New(3, "dropout"))
		if i := slices.IndexFunc(nn.Data(m.Node), func(v float32) bool { return v != 0 && v != 2 }); i >= 0 {
			t.Errorf("element %d of %d is %v; want 0 or 2", i, n, nn.Data(m.Node)[i])
		}
	}
}

// Masks have their dropout's rate and mean 1, for any number of threads.
func TestMask(t *testing.T) {
	const n = 3*(1<<14) + 7
	for _, rate := range []float64{1e-3, 0.1, 0.5, 0.9} {
		g := nn.NewGraph(nn.NewParams(1))
		g.Training = true
		x := gradcheck.Must(t)(g.Input("x", n))
		gradcheck.Must(t)(nn.Dropout(g, x, "d", rate))
		m := g.Masks()[0]
		r, again := rng.New(3, "dropout"), rng.New(3, "dropout")
		m.Fill(r)
		first := slices.Clone(nn.Data(m.Node))
		zeros := 0
		for _, v := range first {
			if v == 0 {
				zeros++
			} else if v != float32(1/(1-rate)) {
				t.Fatalf("rate %v: an element is %v", rate, v)
			}
		}
		if d := math.Abs(float64(zeros) - rate*n); !(d <= 5*math.Sqrt(n*rate*(1-rate))) {
			t.Errorf("rate %v: %d of %d elements are 0", rate, zeros, n)
		}
		if m.Fill(r); slices.Equal(first, nn.Data(m.Node)) {
			t.Errorf("rate %v: the second mask is the first", rate)
		}
		threads := runtime.GOMAXPROCS(1)
		m.Fill(again)
		runtime.GOMAXPROCS(threads)
		if !slices.Equal(first, nn.Data(m.Node)) {
			t.Errorf("rate %v: the same stream gives another mask", rate)
		}
		if n := testing.AllocsPerRun(10, func() { m.Fill(r) }); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
}
