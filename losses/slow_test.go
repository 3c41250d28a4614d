package losses_test

import (
	"encoding/json"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// slowOf builds the loss for groups of m rows.
func slowOf(m int, rate float64, v losses.SlowVariant) func([]*gorgonia.Node) (*gorgonia.Node, error) {
	return func(in []*gorgonia.Node) (*gorgonia.Node, error) { return losses.SlowStep(in[0], in[1], m, rate, v) }
}

// TestSlowStep compares the loss with an explicit sum of the formula, and its gradients with finite differences,
// including hard points.
func TestSlowStep(t *testing.T) {
	want := func(m, d int, rate float64, v losses.SlowVariant) func([][]float64) []float64 {
		return func(in [][]float64) []float64 {
			sum, pairs := 0.0, 0.0
			for row := 0; (row+1)*d < len(in[0]); row++ {
				if (row+1)%m == 0 {
					continue
				}
				pairs++
				for a := row * d; a < (row+1)*d; a++ {
					entropies := 0.0
					for k, i := range []int{a, a + d} {
						x := in[0][i] - in[0][[]int{a + d, a}[k]]
						s := math.Exp(in[1][i] / 2)
						sum += rate*(s*math.Sqrt(2/math.Pi)*math.Exp(-x*x/(2*s*s))+x*math.Erf(x/(s*math.Sqrt2))) - math.Log(rate/2)
						entropies += (in[1][i] + math.Log(2*math.Pi*math.E)) / 2
					}
					if v == "consistent" {
						sum -= entropies
					} else {
						sum -= entropies / 2
					}
				}
			}
			if v == "consistent" {
				sum /= 2
			}
			return []float64{sum / pairs}
		}
	}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "pairs", Inputs: []gradcheck.Input{gradcheck.In(6, 3), gradcheck.In(6, 3)}, Build: slowOf(2, 6, "public-code"), Want: want(2, 3, 6, "public-code")},
		{Name: "consistent", Inputs: []gradcheck.Input{gradcheck.In(6, 3), gradcheck.In(6, 3)}, Build: slowOf(2, 1.5, "consistent"), Want: want(2, 3, 1.5, "consistent")},
		{Name: "groups", Inputs: []gradcheck.Input{gradcheck.In(8, 2), gradcheck.In(8, 2)}, Build: slowOf(4, 6, "public-code"), Want: want(4, 2, 6, "public-code")},
		{Name: "equal means", Inputs: []gradcheck.Input{{Shape: []int{4, 2}, Values: []float64{1, -2, 1, -2}}, gradcheck.In(4, 2)}, Build: slowOf(2, 6, "public-code"), Want: want(2, 2, 6, "public-code")},
		{Name: "far", Inputs: []gradcheck.Input{{Shape: []int{4, 2}, Values: []float64{500, -2000, -500, 3000}}, gradcheck.In(4, 2)}, Build: slowOf(2, 6, "public-code"), Want: want(2, 2, 6, "public-code")},
		{Name: "narrow", Inputs: []gradcheck.Input{gradcheck.In(4, 2), {Shape: []int{4, 2}, Lo: -60, Hi: -40}}, Build: slowOf(2, 6, "public-code"), Want: want(2, 2, 6, "public-code")},
	})
}

// TestSlowHardPoints compares value and gradients at equal means and in the limit of zero variance.
func TestSlowHardPoints(t *testing.T) {
	const entropy = 1.4189385332046727
	constant := -2 * math.Log(3)
	for name, c := range map[string]struct {
		mu, logVariance      [2]float64
		value, slope, spread float64
	}{
		"s to 0, m 0": {[2]float64{1, 1}, [2]float64{-3000, -3000}, constant - entropy + 1500, 0, -0.25},
		"s to 0, m 2": {[2]float64{3, 1}, [2]float64{-3000, -3000}, constant + 24 - entropy + 1500, 12, -0.25},
		"s 1, m 0":    {[2]float64{1, 1}, [2]float64{0, 0}, constant + 12*math.Sqrt(2/math.Pi) - entropy, 0, 3*math.Sqrt(2/math.Pi) - 0.25},
		"m large":     {[2]float64{1e6, -1e6}, [2]float64{0, 0}, constant + 24e6 - entropy, 12, -0.25},
	} {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			g := gorgonia.NewGraph()
			input := func(name string, v [2]float64) *gorgonia.Node {
				backing := tensor.WithBacking(v[:])
				if dt == tensor.Float32 {
					backing = tensor.WithBacking([]float32{float32(v[0]), float32(v[1])})
				}
				return gorgonia.NewMatrix(g, dt, gorgonia.WithShape(2, 1), gorgonia.WithName(name),
					gorgonia.WithValue(tensor.New(tensor.WithShape(2, 1), backing)))
			}
			mu, l := input("mu", c.mu), input("log variance", c.logVariance)
			loss := must.Get(losses.SlowStep(mu, l, 2, 6, "public-code"))(t)
			grads := must.Get(gorgonia.Grad(loss, mu, l))(t)
			vm := gorgonia.NewTapeMachine(g)
			must.OK(t, vm.RunAll())
			got := []float64{numberOf(loss.Value(), 0), numberOf(grads[0].Value(), 0), numberOf(grads[0].Value(), 1),
				numberOf(grads[1].Value(), 0), numberOf(grads[1].Value(), 1)}
			for i, want := range []float64{c.value, c.slope, -c.slope, c.spread, c.spread} {
				if !(math.Abs(got[i]-want) <= 1e-6*max(1, math.Abs(want))) {
					t.Errorf("%s, %v: number %d is %v, want %v", name, dt, i, got[i], want)
				}
			}
			vm.Close()
		}
	}
}

// numberOf returns element i of a value.
func numberOf(v gorgonia.Value, i int) float64 {
	switch x := v.Data().(type) {
	case float32:
		return float64(x)
	case float64:
		return x
	case []float32:
		return float64(x[i])
	case []float64:
		return x[i]
	}
	return math.NaN()
}

// TestSlowGolden compares the loss with reference values; see testdata/README.md.
func TestSlowGolden(t *testing.T) {
	b := must.Read(t, "testdata/slow.json")
	var want struct {
		Columns     int
		Rate        float64
		Mu, LogVar  []float64
		PublicCode  float64   `json:"public_code"`
		Consistent  float64   `json:"consistent"`
		GradMu      []float64 `json:"grad_mu"`
		GradLogVar  []float64 `json:"grad_logvar"`
		CrossFirst  []float64 `json:"cross_0_given_1"`
		CrossSecond []float64 `json:"cross_1_given_0"`
	}
	must.OK(t, json.Unmarshal(b, &want))
	rows, d := len(want.Mu)/want.Columns, want.Columns
	for v, value := range map[losses.SlowVariant]float64{"public-code": want.PublicCode, "consistent": want.Consistent} {
		g := gorgonia.NewGraph()
		input := func(name string, values []float64) *gorgonia.Node {
			return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(rows, d), gorgonia.WithName(name),
				gorgonia.WithValue(tensor.New(tensor.WithShape(rows, d), tensor.WithBacking(values))))
		}
		mu, l := input("mu", want.Mu), input("log variance", want.LogVar)
		loss := must.Get(losses.SlowStep(mu, l, 2, want.Rate, v))(t)
		grads := must.Get(gorgonia.Grad(loss, mu, l))(t)
		vm := gorgonia.NewTapeMachine(g)
		must.OK(t, vm.RunAll())
		if got := numberOf(loss.Value(), 0); !(math.Abs(got-value) <= 1e-9) {
			t.Errorf("%s: %v, want %v", v, got, value)
		}
		if v == "consistent" {
			continue
		}
		for i := range want.Mu {
			if m, s := numberOf(grads[0].Value(), i), numberOf(grads[1].Value(), i); !(math.Abs(m-want.GradMu[i]) <= 1e-8) ||
				!(math.Abs(s-want.GradLogVar[i]) <= 1e-8) {
				t.Errorf("gradients of element %d are %v and %v, want %v and %v", i, m, s, want.GradMu[i], want.GradLogVar[i])
			}
		}
		vm.Close()
	}
	for p, cross := range want.CrossFirst { // a single pair of numbers, in both directions, without the entropies
		row, column := p/d, p%d
		a, b := 2*row*d+column, (2*row+1)*d+column
		g := gorgonia.NewGraph()
		pair := func(name string, values []float64) *gorgonia.Node {
			return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(2, 1), gorgonia.WithName(name),
				gorgonia.WithValue(tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{values[a], values[b]}))))
		}
		loss, err := losses.SlowStep(pair("mu", want.Mu), pair("log variance", want.LogVar), 2, want.Rate, "public-code")
		must.OK(t, err)
		vm := gorgonia.NewTapeMachine(g)
		must.OK(t, vm.RunAll())
		entropies := (want.LogVar[a]+want.LogVar[b])/2 + math.Log(2*math.Pi*math.E)
		if got := numberOf(loss.Value(), 0) + entropies/2; !(math.Abs(got-cross-want.CrossSecond[p]) <= 1e-8) {
			t.Errorf("element %d: the cross-entropies are %v, want %v", p, got, cross+want.CrossSecond[p])
		}
		vm.Close()
	}
}
