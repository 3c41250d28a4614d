package logic_test

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/logic"
)

type nodes = []*gorgonia.Node

// named returns the node of a quantity with the operations of named losses.
func named(q *logic.Quantity) func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error) {
	return func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error) { return losses.Logic(q, z, y, labels) }
}

func blocksOf(d factor.Deviation, a factor.Aggregate, k int, columns ...int) func(in nodes) (*gorgonia.Node, error) {
	return func(in nodes) (*gorgonia.Node, error) {
		return losses.Modularity(d, a, losses.Plain, in[0], in[2], factor.Block{Factor: k, Columns: columns})
	}
}

func contractionOf(s losses.ContractionSettings) func(in nodes) (*gorgonia.Node, error) {
	return func(in nodes) (*gorgonia.Node, error) { return losses.Contraction(s, in[0], in[1], in[2]) }
}

// namedLosses are the paper's named losses as sentences. $ stands for the rows of one value of shape.
func namedLosses() map[string]struct {
	text string
	node func(in nodes) (*gorgonia.Node, error)
} {
	type entry = struct {
		text string
		node func(in nodes) (*gorgonia.Node, error)
	}
	hue := []losses.FactorDistance{{Factor: 2, Kind: losses.CircularDistance, Period: 1.5}}
	all := map[string]entry{
		"variance":           {`forall[mean] v in y.shape: 0.5 * (forall[mean-square] i, j: $ -> z.shape(i) =[euclidean] z.shape(j))`, blocksOf(factor.Variance, factor.Mean, 0, 0, 1)},
		"variance of mean":   {`0.5 * (forall[max] v in y.shape: forall[mean] i, j: $ -> z.shape(j) =[squared] z.shape(i))`, blocksOf(factor.Variance, factor.Max, 0, 0, 1)},
		"variance by centre": {`forall[mean-square] v in y.shape: exists c in z.shape: forall[mean-square] i: y.shape(i) = v -> z.shape(i) =[euclidean] c`, blocksOf(factor.Variance, factor.MeanSquare, 0, 0, 1)},
		"variance by square": {`forall[sum] v in y.shape: exists c in z.shape: forall[mean] i: y.shape(i) = v -> z.shape(i) =[squared] c`, blocksOf(factor.Variance, factor.Sum, 0, 0, 1)},
		"diameter":           {`forall[sum] v in y.shape: forall i, j: $ -> z.shape(i) =[euclidean] z.shape(j)`, blocksOf(factor.Diameter, factor.Sum, 0, 0, 1)},
		"largest diameter":   {`forall i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[euclidean] z.shape(j)`, blocksOf(factor.Diameter, factor.Max, 0, 0, 1)},
		"mpd":                {`forall[mean] v in y.shape: 0.5 * (forall[mean] i, j: $ -> z.shape(i) =[euclidean] z.shape(j))`, blocksOf(factor.MPD, factor.Mean, 0, 0, 1)},
		"mpd squared":        {`forall[mean-square] v in y.shape: 0.5 * (forall[mean] i, j: y.shape(j) = v and v = y.shape(i) -> z.shape(i) =[euclidean] z.shape(j))`, blocksOf(factor.MPD, factor.MeanSquare, 0, 0, 1)},
		"radius":             {`forall v in y.shape: exists c in z.shape: forall i: y.shape(i) = v -> z.shape(i) =[euclidean] c`, blocksOf(factor.Radius, factor.Max, 0, 0, 1)},
		"mad":                {`forall[mean] v in y.shape: exists c in z.shape: forall[mean] i: y.shape(i) = v -> c =[euclidean] z.shape(i)`, blocksOf(factor.MAD, factor.Mean, 0, 0, 1)},
		"mad of another":     {`forall[mean] v in y."x y": exists c in z[0:3]: forall[mean] i: y[1](i) = v -> c =[euclidean] z[0:3](i)`, blocksOf(factor.MAD, factor.Mean, 1, 0, 1, 2)},
		"contraction":        {`forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)`, contractionOf(losses.ContractionSettings{})},
		"max contraction":    {`forall i, j: z.shape(j) =[euclidean] z.shape(i) -> y.shape(i) =[absolute] y.shape(j)`, contractionOf(losses.ContractionSettings{Aggregate: factor.Max, Columns: []int{0, 1}, Factors: []losses.FactorDistance{{Factor: 0}}})},
		"discrete contraction": {`forall[mean-square] i, j: z(i) =[euclidean] z(j) -> y[0:2](i) =[discrete] y[0:2](j)`, contractionOf(losses.ContractionSettings{Aggregate: factor.MeanSquare, Add: true,
			Factors: []losses.FactorDistance{{Factor: 0, Kind: losses.DiscreteDistance}, {Factor: 1, Kind: losses.DiscreteDistance}}})},
		"circular contraction": {`forall[sum] i, j: z(i) =[euclidean] z(j) -> y.hue(i) =[circular 1.5] y.hue(j)`, contractionOf(losses.ContractionSettings{Aggregate: factor.Sum, Factors: hue})},
	}
	for name, c := range all {
		c.text = strings.ReplaceAll(c.text, "$", "y.shape(i) = v and y.shape(j) = v")
		all[name] = c
	}
	return all
}

// TestNamedLosses compares sentences with the operations of named losses, in values and gradients, computed by these
// operations and by the machine of sentences.
func TestNamedLosses(t *testing.T) {
	for name, c := range namedLosses() {
		t.Run(name, func(t *testing.T) {
			q := logic.Compiled(t, logic.Parsed(t, c.text))
			if q.Summands() != 1 {
				t.Fatal("it was not recognised")
			}
			for _, data := range []string{"continuous", "grid", "copy", "constant", "one level"} {
				b := logic.Batches(3, 23)[data]
				for way, node := range map[string]func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error){"named": named(q), "sentence": q.Node} {
					difference := func(in nodes) (*gorgonia.Node, error) {
						a, err := c.node(in)
						if err != nil {
							return nil, err
						}
						b, err := node(in[0], in[1], in[2])
						if err != nil {
							return nil, err
						}
						return graph.WeightedSum([]float64{1, -1}, a, b)
					}
					value, gradient := logic.Evaluate(t, tensor.Float64, b, difference)
					scale, slope := logic.Evaluate(t, tensor.Float64, b, c.node)
					if !(math.Abs(value) <= 1e-12*max(1, scale)) {
						t.Errorf("%s of %s: %v off %v", way, data, value, scale)
					}
					if name == "largest diameter" && data != "continuous" { // at ties it takes the first pair of the first group
						continue
					}
					for i, g := range gradient {
						if !(math.Abs(g) <= 1e-11*max(1, math.Abs(slope[i]))) {
							t.Fatalf("%s of %s: gradient %d is %v off %v", way, data, i, g, slope[i])
						}
					}
				}
			}
		})
	}
}

// Sentences that differ from a named loss in one place are not named losses.
func TestNotNamedLosses(t *testing.T) {
	for _, text := range []string{
		`forall i, j: y.shape(i) = y.shape(j) -> y[0:1](i) =[euclidean] y[0:1](j)`,           // factors instead of codes
		`forall i, j: y.shape(i) = y.shape(j) -> 2 * z.shape(i) =[euclidean] z.shape(j)`,     // another factor
		`forall i, j: y.shape(i) = y.shape(j) -> 2 * z.shape(i) =[euclidean] 2 * z.shape(j)`, // a factor
		`forall i, j: y.shape(i) = y.shape(j) -> z.shape(i) + z.shape(j) =[euclidean] 0`,     // a sum
		`forall i, j: y.shape(i) = y.shape(j) -> z.shape(i) - z.shape(j) =[euclidean] 1`,     // an offset
		`forall i, j: y.shape(i) = y.shape(j) -> z[0:2](i) =[euclidean] z[1:3](j)`,           // other columns
		`forall i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[euclidean] z.shape(i)`,         // one row
		`forall i, j: z(i) =[euclidean] z(j) -> z[0](i) =[absolute] z[0](j)`,                 // codes instead of factors
		`forall i, j: y(i) =[euclidean] y(j) -> y(i) =[euclidean] y(j)`,                      // factors instead of codes
		`forall i, j: z(i) =[squared] z(j) -> y(i) =[euclidean] y(j)`,                        // another premetric
		`forall i, j: z(i) =[euclidean] z(j) -> y(i) =[squared] y(j)`,
		`forall i, j: z(i) =[euclidean] z(j) and y(i) =[euclidean] y(j)`,
	} {
		s, err := logic.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		must.Equal(t, logic.Compiled(t, s).Summands(), 0, text, "named losses")
	}
}

// Sentences that add a named loss to other parts.
func TestNamedAmongOthers(t *testing.T) {
	variance := namedLosses()["variance"].text
	for _, text := range []string{
		`(` + variance + `) and forall[mean] i: z(i) =[squared] 0`,
		`0.25 * (` + variance + `) and (forall[max] i: z(i) =[absolute] 1) and 3 * (forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j))`,
	} {
		q := logic.Compiled(t, logic.Parsed(t, text))
		if q.Summands() < 2 {
			t.Errorf("%s: %d parts", text, q.Summands())
		}
		for name, b := range logic.Batches(7, 19) {
			want := must.Get(q.Value(b.Arrays()))(t)
			got, slope := logic.Evaluate(t, tensor.Float64, b,
				func(in nodes) (*gorgonia.Node, error) { return losses.Logic(q, in[0], in[1], in[2]) })
			if !(math.Abs(got-want) <= 1e-11*max(1, want)) {
				t.Errorf("%s of %s: %v with named losses, want %v", text, name, got, want)
			}
			if name != "continuous" {
				continue
			}
			_, whole := logic.Evaluate(t, tensor.Float64, b, func(in nodes) (*gorgonia.Node, error) { return q.Node(in[0], in[1], in[2]) })
			for i, g := range slope {
				if !(math.Abs(g-whole[i]) <= 1e-10*max(1, math.Abs(whole[i]))) {
					t.Errorf("%s: gradient %d is %v with named losses, else %v", text, i, g, whole[i])
				}
			}
		}
	}
}
