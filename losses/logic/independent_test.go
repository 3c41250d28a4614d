package logic_test

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic"
)

// independent holds sentences with another program's values and gradients; see testdata/README.md.
type independent struct {
	Codes, Values, Labels, LogVariances [][]float64
	SubCodes                            map[string][]int
	Factors                             []string
	Cases                               []struct {
		Sentence          string
		Value, Tolerance  float64
		Gradient          [][]float64
		GradientTolerance float64 `json:"gradient_tolerance"`
		Circular          bool    // the factors are circles
	}
}

// TestIndependentValues compares values and gradients of sentences with another program's results.
func TestIndependentValues(t *testing.T) {
	var data independent
	must.ReadJSON(t, "testdata/sentences.json", &data)
	for _, c := range data.Cases {
		t.Run(c.Sentence, func(t *testing.T) {
			schema := logic.Schema{Codes: 4, SubCodes: data.SubCodes, Factors: data.Factors}
			b := logic.Batch{Codes: data.Codes, Values: data.Values, Labels: data.Labels, LogVariances: data.LogVariances}
			if c.Circular {
				schema.Turns, b.Moves = turnsOf(data)
			}
			q := must.Get(logic.Compile(logic.Parsed(t, c.Sentence), schema))(t)
			v := must.Get(q.ValueOf(b))(t)
			if !(math.Abs(v-c.Value) <= c.Tolerance) {
				t.Errorf("value %v, want %v", v, c.Value)
			}
			v, gradient := gradientOf(t, q, b)
			if !(math.Abs(v-c.Value) <= c.Tolerance) {
				t.Errorf("node %v, want %v", v, c.Value)
			}
			for i, row := range c.Gradient {
				for j, want := range row {
					if got := gradient[i*len(row)+j]; !(math.Abs(got-want) <= c.GradientTolerance) {
						t.Fatalf("gradient of row %d, column %d is %v, want %v", i, j, got, want)
					}
				}
			}
		})
	}
}

// turnsOf returns each factor as a circle with its number of levels, and the angles of the rows.
func turnsOf(data independent) (turns []logic.Turn, angles [][]float64) {
	sizes := make([]float64, len(data.Factors))
	for k, name := range data.Factors {
		turns = append(turns, logic.Turn{Name: name})
		for _, row := range data.Labels {
			sizes[k] = max(sizes[k], row[k]+1)
		}
	}
	for _, row := range data.Labels {
		a := make([]float64, len(row))
		for k, level := range row {
			a[k] = 2 * math.Pi * level / sizes[k]
		}
		angles = append(angles, a)
	}
	return turns, angles
}

// gradientOf returns the value of a quantity's node in float64, and its gradient in the codes.
func gradientOf(t *testing.T, q *logic.Quantity, b logic.Batch) (float64, []float64) {
	t.Helper()
	g := gorgonia.NewGraph()
	input := func(name string, rows [][]float64) *gorgonia.Node {
		if rows == nil {
			return nil
		}
		all := slices.Concat(rows...)
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(len(rows), len(rows[0])), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(len(rows), len(rows[0])), tensor.WithBacking(all))))
	}
	in := logic.Inputs{Codes: input("z", b.Codes), Values: input("y", b.Values), Labels: input("labels", b.Labels),
		LogVariances: input("log variances", b.LogVariances), Moves: input("moves", b.Moves), Group: len(b.Codes)}
	loss := must.Get(q.NodeOf(logic.Named{}, in))(t)
	must.Get(gorgonia.Grad(loss, in.Codes))(t)
	slope := in.Codes.Deriv()
	m := must.Get(machine.New(g, loss, slope))(t)
	must.OK(t, m.RunAll())
	return m.Value(loss).Data().(float64), m.Value(slope).Data().([]float64)
}
