package losses_test

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// TestLSBDOfSpaces checks values and gradients of lsbd on a circle and R^n, in groups of m rows with the labels rho(g,
// e) = R(g) + I.
func TestLSBDOfSpaces(t *testing.T) {
	still := losses.NewLSBD()
	still.Identity = false
	lsbd := func(l *losses.LSBDLoss, m int) func(n nodes) (*gorgonia.Node, error) {
		return func(n nodes) (*gorgonia.Node, error) { return l.Add(onCylinder(t, n, m)) }
	}
	circle := func(values ...float64) gradcheck.Input {
		return gradcheck.Input{Shape: []int{len(values) / 2, 2}, Values: values}
	}
	angles := func(values ...float64) gradcheck.Input {
		return gradcheck.Input{Shape: []int{len(values), 1}, Values: values, Constant: true}
	}
	const h = math.Sqrt2 / 2
	turn := angles(0, math.Pi/2, 0, math.Pi)
	follows := circle(1, 0, 0, 1, h, h, -h, -h)                                  // the circle turns with the labels
	apart := gradcheck.Input{Shape: []int{4, 1}, Values: []float64{1, 3, -2, 4}} // means 2 and 1
	left := apart
	left.Constant = true
	value := func(x float64) func([][]float64) []float64 {
		return func([][]float64) []float64 { return []float64{x} }
	}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "circle and R^2", Inputs: []gradcheck.Input{gradcheck.In(6, 2), {Shape: []int{6, 1}, Lo: -7, Hi: 7, Constant: true}, gradcheck.In(6, 2)},
			Build: lsbd(losses.NewLSBD(), 3), Want: wantCylinder(3, true)},
		{Name: "circle alone", Inputs: []gradcheck.Input{gradcheck.In(6, 2), {Shape: []int{6, 1}, Lo: -7, Hi: 7, Constant: true}, {Shape: []int{6, 2}, Lo: -2, Hi: 2, Constant: true}},
			Build: lsbd(still, 3), Want: wantCylinder(3, false)},
		{Name: "R^1 apart", Inputs: []gradcheck.Input{follows, turn, apart}, Floor32: 1, Build: lsbd(losses.NewLSBD(), 2), Want: value((1 + 1 + 9 + 9) / 4.0)},
		{Name: "R^1 apart, left out", Inputs: []gradcheck.Input{follows, turn, left}, Floor32: 1, Build: lsbd(still, 2), Want: value(0)},
		{Name: "one view", Inputs: []gradcheck.Input{follows, turn, gradcheck.In(4, 5)}, Floor32: 1, Build: lsbd(losses.NewLSBD(), 1), Want: value(0)},
		{Name: "all views equal", Inputs: []gradcheck.Input{circle(0.6, 0.8, 0.6, 0.8, 0.6, 0.8), angles(0, 0, 0),
			{Shape: []int{3, 2}, Values: []float64{2, -1, 2, -1, 2, -1}}}, Floor32: 1, Build: lsbd(losses.NewLSBD(), 3), Want: value(0)},
		{Name: "no R^n", Inputs: []gradcheck.Input{circle(1, 0, 1, 0), angles(0, math.Pi/2)}, Build: lsbd(losses.NewLSBD(), 2),
			Want: value(2 - math.Sqrt2)}, // the common point is at 45 degrees to both
	})
}

// onCylinder returns outputs of lsbd-vae: points of a circle, their angles, and points of R^n if any.
func onCylinder(t *testing.T, n nodes, m int) *losses.Input {
	t.Helper()
	y := must.Get(losses.CircleTransport(n[0], n[1], m))(t)
	o := losses.Outputs{Transports: []losses.Transport{{Points: n[0], Moved: y, Sphere: true, Acts: true}}}
	if len(n) > 2 {
		mean := must.Get(losses.MeanTransport(n[2], m))(t)
		o.Transports = append(o.Transports, losses.Transport{Points: n[2], Moved: mean})
	}
	return &losses.Input{Outputs: o, Batch: losses.Batch{Group: m}}
}

// wantCylinder is the mean over rows of |z - y|^2 on the circle plus the squared distance to the group's mean in R^n.
func wantCylinder(m int, identity bool) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		sum, rows := 0.0, len(in[1])
		for i, y := range wantCircle(m)(in[:2]) {
			sum += (in[0][i] - y) * (in[0][i] - y)
		}
		d := len(in[2]) / rows
		for i, u := range in[2] {
			mean := 0.0
			for k := range m {
				mean += in[2][(i/d/m*m+k)*d+i%d] / float64(m)
			}
			if identity {
				sum += (u - mean) * (u - mean)
			}
		}
		return []float64{sum / float64(rows)}
	}
}

// TestLSBDIdentityInConfigs checks that a written config omits the default of identity, which preserves its hash, and
// includes false.
func TestLSBDIdentityInConfigs(t *testing.T) {
	for source, written := range map[string]bool{"{}": false, "{identity: true}": false, "{identity: false}": true} {
		l := losses.NewLSBD()
		must.OK(t, config.Load("l.yaml", []byte(source), l))
		text, err := config.Encode(l)
		if err != nil || bool(l.Identity) == written || strings.Contains(string(text), "identity: false") != written {
			t.Errorf("%s: %v, %v\n%s", source, l.Identity, err, text)
		}
		if !written && strings.Contains(string(text), "identity") {
			t.Errorf("%s: the default is written\n%s", source, text)
		}
	}
}
