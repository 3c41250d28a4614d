package losses_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// oneHot returns a constant input with a 1 in the chosen column of each row, and a row of zeros for -1.
func oneHot(columns int, chosen ...int) gradcheck.Input {
	values := make([]float64, len(chosen)*columns)
	for row, a := range chosen {
		if a >= 0 {
			values[row*columns+a] = 1
		}
	}
	return gradcheck.Input{Shape: []int{len(chosen), columns}, Values: values, Constant: true}
}

func TestRotationWalk(t *testing.T) {
	walk := func(m int) func(n nodes) (*gorgonia.Node, error) {
		return func(n nodes) (*gorgonia.Node, error) { return losses.RotationWalk(n[0], n[1], n[2], m) }
	}
	fifth := gradcheck.Input{Shape: []int{1, 6}, Values: []float64{2 * math.Pi / 5, 0, 0, 0, 0, 0}}
	unit := gradcheck.Input{Shape: []int{1, 4}, Values: []float64{0.5, -0.5, 0.5, 0.5}}
	around := []float64{}
	for i := range 6 {
		s, c := math.Sincos(2 * math.Pi * float64(i) / 5)
		around = append(around, c*0.5-s*0.5, -c*0.5-s*0.5, 0.5, 0.5)
	}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "episodes", Inputs: []gradcheck.Input{gradcheck.In(2, 4), gradcheck.In(3, 6), oneHot(3, -1, 0, 2, -1, 1, 1)}, Build: walk(3)},
		{Name: "single images", Inputs: []gradcheck.Input{gradcheck.In(3, 3), gradcheck.In(2, 3), oneHot(2, 1, -1, 0)}, Build: walk(1)},
		{Name: "the plane", Inputs: []gradcheck.Input{gradcheck.In(1, 2), gradcheck.In(1, 1), oneHot(1, -1, 0, 0, 0)}, Build: walk(4)},
		{Name: "many columns", Inputs: []gradcheck.Input{gradcheck.In(2, 9), gradcheck.In(2, 36), oneHot(2, -1, 0, -1, 1)}, Build: walk(2)},
		{Name: "no angles", Inputs: []gradcheck.Input{unit, {Shape: []int{1, 6}, Values: []float64{0}}, oneHot(1, -1, 0)}, Build: walk(2),
			Want: func(in [][]float64) []float64 { return append(append([]float64{}, in[0]...), in[0]...) }},
		{Name: "five steps around", Inputs: []gradcheck.Input{unit, fifth, oneHot(1, -1, 0, 0, 0, 0, 0)}, Build: walk(6), Want: func([][]float64) []float64 { return around }},
		{Name: "zero codes", Inputs: []gradcheck.Input{{Shape: []int{1, 3}, Values: []float64{0}}, gradcheck.In(1, 3), oneHot(1, -1, 0)}, Build: walk(2)},
	})
}

func TestEntanglement(t *testing.T) {
	build := func(target float64) func(n nodes) (*gorgonia.Node, error) {
		return func(n nodes) (*gorgonia.Node, error) { return losses.Entanglement(n[0], target) }
	}
	given := func(values ...float64) []gradcheck.Input {
		return []gradcheck.Input{{Shape: []int{2, len(values) / 2}, Values: values}}
	}
	is := func(v float64) func([][]float64) []float64 {
		return func([][]float64) []float64 { return []float64{v} }
	}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "entanglement", Inputs: []gradcheck.Input{gradcheck.In(3, 6)}, Build: build(0)},
		{Name: "below the target", Inputs: given(3, -1, 0.5, -4), Build: build(2), Want: is(1.375)},
		{Name: "above the target", Inputs: given(3, -1, 0.5, -4), Build: build(0.5), Want: is(0.125)},
		{Name: "small beside large", Inputs: given(1024, 1.0/1024, 0, 1), Build: build(0), Want: is(0x1p-21)},
		{Name: "one plane", Inputs: given(3, -4), Build: build(0), Want: is(0)},
	})
	// Among equal angles the first counts as largest. At the target and at 0 the gradient is 0.
	for _, c := range []struct {
		target float64
		angles []float64
		want   []float64
	}{
		{0, []float64{2, -2, 1, 1}, []float64{0, -2, 0, 1}},
		{0, []float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}},
		{2.5, []float64{3, -1, 2, 2}, []float64{0, 0, 0, 0}},
	} {
		g := gorgonia.NewGraph()
		x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(2, 2), gorgonia.WithName("x"),
			gorgonia.WithValue(tensor.New(tensor.WithShape(2, 2), tensor.WithBacking(c.angles))))
		loss := must.Get(losses.Entanglement(x, c.target))(t)
		got := valuesOf(t, gorgonia.Must(gradient(loss, x)))
		for i, v := range got[0] {
			if v != c.want[i] {
				t.Errorf("target %v, angles %v: gradient %v, want %v", c.target, c.angles, got[0], c.want)
				break
			}
		}
	}
}

func gradient(y, x *gorgonia.Node) (*gorgonia.Node, error) {
	n, err := gorgonia.Grad(y, x)
	if err != nil {
		return nil, err
	}
	return n[0], nil
}

// valuesOf runs nodes and returns their elements.
func valuesOf(t *testing.T, nodes ...*gorgonia.Node) [][]float64 {
	t.Helper()
	m := must.Get(machine.New(nodes[0].Graph(), nodes...))(t)
	must.OK(t, m.RunAll())
	var list [][]float64
	for _, n := range nodes {
		switch v := m.Value(n).Data().(type) {
		case float64:
			list = append(list, []float64{v})
		case []float64:
			list = append(list, v)
		}
	}
	return list
}

func TestPredictByBlocks(t *testing.T) {
	build := func(columns ...int) func(n nodes) (*gorgonia.Node, error) {
		return func(n nodes) (*gorgonia.Node, error) { return losses.PredictByBlocks(n[0], n[1], n[2], columns) }
	}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "blocks", Inputs: []gradcheck.Input{gradcheck.In(6, 5), gradcheck.In(3, 4), oneHot(3, -1, 2, 0, -1, 1, 1)}, Build: build(0, 1, 1)},
		{Name: "an action of the first row", Inputs: []gradcheck.Input{gradcheck.In(2, 2), gradcheck.In(1, 4), oneHot(1, 0, 0)}, Build: build(0),
			Want: func(in [][]float64) []float64 {
				z, m := in[0], in[1]
				return []float64{0, 0, m[0]*z[0] + m[1]*z[1], m[2]*z[0] + m[3]*z[1]}
			}},
		{Name: "nothing predicted", Inputs: []gradcheck.Input{gradcheck.In(2, 2), gradcheck.In(1, 4), oneHot(1, -1, -1)}, Build: build(0), Want: func([][]float64) []float64 { return make([]float64, 4) }},
	})
	prediction := func(n nodes) (*gorgonia.Node, error) { return losses.Prediction(n[0], n[1], n[2]) }
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "prediction", Inputs: []gradcheck.Input{gradcheck.In(4, 3), gradcheck.In(4, 3), oneHot(2, -1, 0, -1, 1)}, Build: prediction,
			Want: func(in [][]float64) []float64 {
				sum := 0.0
				for _, i := range []int{3, 4, 5, 9, 10, 11} {
					sum += (in[0][i] - in[1][i]) * (in[0][i] - in[1][i]) / 6
				}
				return []float64{sum}
			}},
		{Name: "no rows", Inputs: []gradcheck.Input{gradcheck.In(2, 3), gradcheck.In(2, 3), oneHot(2, -1, -1)}, Build: prediction, Want: func([][]float64) []float64 { return []float64{0} }},
	})
}

// stored is a graph of stored arrays in float64.
type stored struct {
	*gorgonia.ExprGraph
	t *testing.T
}

func readGolden(t *testing.T, name string, v any) stored {
	t.Helper()
	must.ReadJSON(t, "testdata/"+name, v)
	return stored{gorgonia.NewGraph(), t}
}

func (g stored) input(name string, columns int, values []float64) *gorgonia.Node {
	return gorgonia.NewMatrix(g.ExprGraph, tensor.Float64, gorgonia.WithShape(len(values)/columns, columns), gorgonia.WithName(name),
		gorgonia.WithValue(tensor.New(tensor.WithShape(len(values)/columns, columns), tensor.WithBacking(values))))
}

func (g stored) near(what string, got, want []float64, tolerance float64) {
	g.t.Helper()
	if len(got) != len(want) {
		g.t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= tolerance) {
			g.t.Errorf("%s: element %d is %v, want %v", what, i, v, want[i])
			return
		}
	}
}

// TestRotationWalkGolden compares matrices, walks, entanglement and gradients with reference values; see
// testdata/README.md.
func TestRotationWalkGolden(t *testing.T) {
	var want struct {
		Angles, Z, C, Matrices, Walk, GradAngles, Angles3, Matrix3 []float64
		Actions                                                    []int
		Entanglement, Objective                                    float64
	}
	g := readGolden(t, "rotation_walk.json", &want)
	for a := range 3 { // the images of the basis vectors are the columns of the matrix
		g.near("matrix", matrixOf(t, 4, want.Angles[6*a:6*a+6]), want.Matrices[16*a:16*a+16], 1e-12)
	}
	g.near("matrix of R^3", matrixOf(t, 3, want.Angles3), want.Matrix3, 1e-12)
	taken := append(append([]int{-1}, want.Actions[:5]...), append([]int{-1}, want.Actions[5:]...)...)
	angles, c := g.input("angles", 6, want.Angles), g.input("c", 4, want.C)
	walk, err := losses.RotationWalk(g.input("z", 4, want.Z), angles, g.input("actions", 3, oneHot(3, taken...).Values), 6)
	must.OK(t, err)
	loss := must.Get(losses.Entanglement(angles, 0))(t)
	total := gorgonia.Must(gorgonia.Add(loss, gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(c, walk))))))
	got := valuesOf(t, walk, loss, total, gorgonia.Must(gradient(total, angles)))
	g.near("walk", got[0], want.Walk, 1e-12)
	g.near("entanglement", got[1], []float64{want.Entanglement}, 1e-9)
	g.near("objective", got[2], []float64{want.Objective}, 1e-9)
	g.near("gradient", got[3], want.GradAngles, 1e-7)
}

// matrixOf returns the matrix of an action, row by row.
func matrixOf(t *testing.T, n int, angles []float64) []float64 {
	t.Helper()
	g := stored{gorgonia.NewGraph(), t}
	basis, choice := make([]float64, n*n), make([]float64, n)
	for i := range n {
		basis[i*n+i], choice[i] = 1, 1
	}
	walk, err := losses.RotationWalk(g.input("basis", n, basis), g.input("angles", len(angles), angles), g.input("actions", 1, choice), 1)
	must.OK(t, err)
	return turned(valuesOf(t, walk)[0], n, n)
}

// TestPredictionGolden compares the terms of ForwardVAE and their gradients with reference values; see
// testdata/README.md.
func TestPredictionGolden(t *testing.T) {
	var want struct {
		Mu, LogVariance, Noise, Blocks []float64
		Columns, Actions               []int
		Variants                       map[string]struct {
			Prediction, KLMean                  float64
			GradBlocks, GradMu, GradLogVariance []float64
		}
	}
	readGolden(t, "prediction.json", &want)
	for name, half := range map[string]float64{"half": 0.5, "public_code": 1} {
		g, v := stored{gorgonia.NewGraph(), t}, want.Variants[name]
		mu, logVariance, blocks := g.input("mu", 4, want.Mu), g.input("log variance", 4, want.LogVariance), g.input("blocks", 4, want.Blocks)
		actions := g.input("actions", 4, oneHot(4, want.Actions...).Values)
		std := gorgonia.Must(gorgonia.Exp(gorgonia.Must(graph.Scale(half, logVariance))))
		z := gorgonia.Must(gorgonia.Add(mu, gorgonia.Must(gorgonia.HadamardProd(std, g.input("noise", 4, want.Noise)))))
		predicted := must.Get(losses.PredictByBlocks(z, blocks, actions, want.Columns))(t)
		loss := must.Get(losses.Prediction(predicted, mu, actions))(t)
		kl := gorgonia.Must(graph.Scale(0.25, gorgonia.Must(losses.KLGaussianLogVariance(mu, logVariance))))
		grads := must.Get(gorgonia.Grad(gorgonia.Must(gorgonia.Add(loss, kl)), mu, logVariance, blocks))(t)
		got := valuesOf(t, append(nodes{loss, kl}, grads...)...)
		g.near(name+" prediction", got[0], []float64{v.Prediction}, 1e-9)
		g.near(name+" mean divergence", got[1], []float64{v.KLMean}, 1e-9)
		g.near(name+" gradient of mu", got[2], v.GradMu, 1e-7)
		g.near(name+" gradient of log variance", got[3], v.GradLogVariance, 1e-7)
		g.near(name+" gradient of blocks", got[4], v.GradBlocks, 1e-7)
	}
}
