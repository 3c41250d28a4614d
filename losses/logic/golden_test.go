package logic

import (
	"encoding/json"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
)

// TestAggregators compares values and gradients of sentences with testdata/aggregators.json.
func TestAggregators(t *testing.T) {
	text := must.Read(t, "testdata/aggregators.json")
	var g struct {
		Z, Means, Y, Labels [][]float64
		LogVariances        [][]float64 `json:"log_variances"`
		Sentences           []struct {
			Text         string
			Value        float64
			Z, Means     [][]float64
			LogVariances [][]float64 `json:"log_variances"`
		}
	}
	must.OK(t, json.Unmarshal(text, &g))
	if len(g.Sentences) < 27 {
		t.Fatalf("%d sentences", len(g.Sentences))
	}
	b := batch{z: g.Z, y: g.Y, labels: g.Labels, means: g.Means, logVariances: g.LogVariances}
	for _, s := range g.Sentences {
		q := compiled(t, parsed(t, s.Text))
		if v, err := q.ValueOf(b.of(q)); err != nil || !(math.Abs(v-s.Value) <= 1e-12*max(1, s.Value)) {
			t.Errorf("%s: %v, %v, want %v", s.Text, v, err, s.Value)
		}
		for dt, tolerance := range map[tensor.Dtype]float64{tensor.Float64: 1e-10, tensor.Float32: 2e-5} {
			v, gradients := slopesOfAll(t, dt, q, b)
			if !(math.Abs(v-s.Value) <= tolerance*max(1, s.Value)) {
				t.Errorf("%s: %v in %v, want %v", s.Text, v, dt, s.Value)
			}
			for name, want := range map[string][][]float64{"z": s.Z, "log variances": s.LogVariances, "means": s.Means} {
				compareRows(t, s.Text+", "+name, gradients[name], want, tolerance)
			}
		}
	}
}

// compareRows compares a gradient with rows of numbers. nil means 0.
func compareRows(t *testing.T, what string, got []float64, want [][]float64, tolerance float64) {
	t.Helper()
	most := 0.0
	for _, row := range want {
		for _, x := range row {
			most = max(most, math.Abs(x))
		}
	}
	if (got == nil) != (most == 0) && most > 0 {
		t.Errorf("%s: no gradient, want one", what)
		return
	}
	for i, x := range got {
		w := 0.0
		if want != nil {
			w = want[i/len(want[0])][i%len(want[0])]
		}
		if !(math.Abs(x-w) <= tolerance*max(1, most)) {
			t.Errorf("%s: gradient %v of number %d, want %v", what, x, i, w)
			return
		}
	}
}

// slopesOfAll computes a node and the gradients of its differentiable inputs.
func slopesOfAll(t *testing.T, dt tensor.Dtype, q *Quantity, b batch) (float64, map[string][]float64) {
	t.Helper()
	g := gorgonia.NewGraph()
	names := []string{"z", "y", "labels", "log variances", "means"}
	var in, smooth []*gorgonia.Node
	var of []string
	for i, x := range inputs(b, q) {
		in = append(in, gorgonia.NewMatrix(g, dt, gorgonia.WithShape(x.Shape...), gorgonia.WithValue(valueOf(dt, x)),
			gorgonia.WithName(names[i])))
		if !x.Constant {
			smooth, of = append(smooth, in[i]), append(of, names[i])
		}
	}
	n := must.Get(build(q)(in))(t)
	grads := must.Get(gorgonia.Grad(n, smooth...))(t)
	m, err := machine.New(n.Graph(), append(gorgonia.Nodes{n}, grads...)...)
	if err == nil {
		err = m.RunAll()
	}
	must.OK(t, err)
	all := map[string][]float64{}
	for i, name := range of {
		all[name] = elements(m.Value(grads[i]))
	}
	return elements(m.Value(n))[0], all
}
