package losses_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// means draws batches of codes and levels. It returns the mean of a loss over the batches and the standard error.
func means(t *testing.T, loss modularity, rows, batches int, draw func(r *rng.Stream) (z, level float64)) (mean, deviation float64) {
	t.Helper()
	g := gorgonia.NewGraph()
	z, levels := make([]float64, rows), make([]float64, rows)
	codes := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("z"), gorgonia.WithShape(rows, 1),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, 1), tensor.WithBacking(z))))
	groups := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("levels"), gorgonia.WithShape(rows),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows), tensor.WithBacking(levels))))
	n := must.Get(loss(codes, groups))(t)
	m := must.Get(machine.New(n.Graph(), n))(t)
	r, sum, squares := rng.New(7, "batches"), 0.0, 0.0
	for range batches {
		for i := range z {
			z[i], levels[i] = draw(r)
		}
		must.OK(t, m.RunAll())
		v := m.Value(n).Data().(float64)
		sum, squares = sum+v, squares+v*v
	}
	b := float64(batches)
	mean = sum / b
	return mean, math.Sqrt((squares/b - mean*mean) / b)
}

// TestUnbiased compares the mean over random batches with the deviations of their distribution, which do not depend on
// batch sizes and levels.
func TestUnbiased(t *testing.T) {
	halfDistance := 1 / math.Sqrt(math.Pi) // half the mean distance of two numbers from N(0, 1)
	type batch struct {
		rows, levels int
		plain        float64 // share of the deviation in the plain estimate
	}
	for _, c := range long.Sample([]batch{{32, 6, 0.7695}, {200, 40, 0.7436}, {8, 2, 0.7059}, {32, 40, 0.1898}, {32, 32, 0.2333}}, 3) {
		normal := func(r *rng.Stream) (float64, float64) { return r.NormFloat64(), float64(r.IntN(c.levels)) }
		uneven := func(r *rng.Stream) (float64, float64) { // the standard deviation of level k is k
			level := float64(r.IntN(c.levels))
			return 5*level + level*r.NormFloat64(), level
		}
		squares, sizes := 0.0, 0.0
		for k := range c.levels {
			squares, sizes = squares+float64(k*k)/float64(c.levels), sizes+float64(k)/float64(c.levels)
		}
		for _, want := range []struct {
			name  string
			loss  modularity
			draw  func(r *rng.Stream) (float64, float64)
			value float64
		}{
			{"variance", losses.Variance, normal, 1}, {"mpd", losses.MPD, normal, halfDistance},
			{"variance, level by level", losses.Variance, uneven, squares}, {"mpd, level by level", losses.MPD, uneven, halfDistance * sizes},
		} {
			mean, deviation := means(t, want.loss, c.rows, 4000, want.draw)
			if !(math.Abs(mean-want.value) <= 3*deviation) || !(deviation <= 0.03*want.value) {
				t.Errorf("%d rows, %d levels: mean %s %.4f±%.4f, want %.4f", c.rows, c.levels, want.name, mean, deviation, want.value)
			}
		}
		for d, want := range map[factor.Deviation]float64{factor.Variance: c.plain, factor.MPD: c.plain * halfDistance} {
			if mean, deviation := means(t, plain(d, factor.Mean), c.rows, 4000, normal); !(math.Abs(mean-want) <= 3*deviation) {
				t.Errorf("%d rows, %d levels: mean plain %v %.4f, want %.4f", c.rows, c.levels, d, mean, want)
			}
		}
	}
}

// TestUnbiasedHard checks values and gradients for groups of one row, absent groups, and groups of equal codes.
func TestUnbiasedHard(t *testing.T) {
	input := func(values ...float64) gradcheck.Input {
		return gradcheck.Input{Shape: []int{len(values)}, Values: values, Constant: true}
	}
	ladder := gradcheck.Input{Shape: []int{6, 1}, Values: []float64{1, 3, 3.5, 7, 8, 2}}
	for _, c := range []struct {
		name          string
		z, groups     gradcheck.Input
		variance, mpd float64
	}{
		{"single members", ladder, input(0, 1, 2, 3, 4, 5), 0, 0},
		{"nothing known", ladder, input(-1, -1, -1, -1, -1, -1), 0, 0},
		{"one group of two", ladder, input(0, 0, 5, -1, 9, 7), 2, 1},
		{"levels that no row has", ladder, input(900, 900, 3, -1, 3, -1), (2 + 4.5*4.5/2) / 2, (1 + 2.25) / 2},
		{"one row", gradcheck.Input{Shape: []int{1, 1}, Values: []float64{5}}, input(0), 0, 0},
	} {
		for name, loss := range map[string]modularity{"variance": losses.Variance, "mpd": losses.MPD} {
			want := map[string]float64{"variance": c.variance, "mpd": c.mpd}[name]
			gradcheck.Check(t, gradcheck.Case{Name: name + " of " + c.name, Inputs: []gradcheck.Input{c.z, c.groups}, Floor32: 0.1,
				Build: func(n nodes) (*gorgonia.Node, error) { return loss(n[0], n[1]) },
				Want:  func([][]float64) []float64 { return []float64{want} }})
		}
	}
	// Equal codes have a gradient of 0.
	for name, loss := range map[string]modularity{"variance": losses.Variance, "mpd": losses.MPD} {
		g := gorgonia.NewGraph()
		z, groups := matrix(g, "z", 4, 1, 3, 3, 3, 3), matrix(g, "groups", 4, 1, 0, 0, 0, 1)
		n := must.Get(loss(z, groups))(t)
		grads := must.Get(gorgonia.Grad(n, z))(t)
		run(g)
		for _, v := range append(grads[0].Value().Data().([]float64), n.Value().Data().(float64)) {
			if v != 0 {
				t.Errorf("%s of equal codes is %v with gradient %v, want 0", name, n.Value(), grads[0].Value())
				break
			}
		}
	}
}
