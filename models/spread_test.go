package models

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestSpread(t *testing.T) {
	const rows, d = 400, 30
	p, q := 14./400, 13./400 // each column of the cycled unit vectors is 1 in 14 or 13 rows
	for name, c := range map[string]struct {
		value func(i, j int) float64
		want  float64
	}{
		"one direction": {func(i, j int) float64 { return float64(1+i) * float64(j+1) }, 0},
		"all zero":      {func(i, j int) float64 { return 0 }, 0},
		"unit vectors": {func(i, j int) float64 {
			if i%d == j {
				return 3
			}
			return 0
		}, (10*math.Sqrt(p*(1-p)) + 20*math.Sqrt(q*(1-q))) / math.Sqrt(d)},
	} {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			g := gorgonia.NewGraph()
			x := gradcheck.Node(g, dt, "codes", rows, d)
			for i := range rows * d {
				if v := c.value(i/d, i%d); dt == tensor.Float32 {
					x.Value().Data().([]float32)[i] = float32(v)
				} else {
					x.Value().Data().([]float64)[i] = v
				}
			}
			n := gradcheck.Must(t)(codeSpread(x))
			m, err := machine.New(n.Graph(), n)
			if err == nil {
				err = m.RunAll()
			}
			must.OK(t, err)
			if got := numberOf(m.Value(n)); !(math.Abs(got-c.want) <= 1e-6) {
				t.Errorf("%s, %v: spread %v, want %v", name, dt, got, c.want)
			}
		}
	}
}

func numberOf(v gorgonia.Value) float64 {
	if x, ok := v.Data().(float32); ok {
		return float64(x)
	}
	return v.Data().(float64)
}
