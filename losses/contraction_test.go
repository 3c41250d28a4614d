package losses_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/losses"
)

// contractionOf computes a contraction by definition. groups may be nil.
func contractionOf(s losses.ContractionSettings, z, y, groups []float64, width, factors int) float64 {
	distance := func(i, j int) float64 {
		sum, chosen := 0.0, s.Factors
		if chosen == nil {
			for k := range factors {
				chosen = append(chosen, losses.FactorDistance{Factor: k})
			}
		}
		for _, f := range chosen {
			t := math.Abs(y[i*factors+f.Factor] - y[j*factors+f.Factor])
			switch f.Kind {
			case losses.DiscreteDistance:
				if t != 0 {
					t = 1
				}
			case losses.CircularDistance:
				p := max(f.Period, 0)
				p = cmp.Or(p, 1)
				t = math.Mod(t, p)
				t = min(t, p-t)
			}
			if s.Add {
				sum += t
			} else {
				sum += t * t
			}
		}
		if s.Add {
			return sum
		}
		return math.Sqrt(sum)
	}
	codes := func(i, j int) float64 {
		sum := 0.0
		for c := range width {
			if s.Columns == nil || slices.Contains(s.Columns, c) {
				d := z[i*width+c] - z[j*width+c]
				sum += d * d
			}
		}
		return math.Sqrt(sum)
	}
	var rows []int
	for r := range len(z) / width {
		known := true
		for f := range factors {
			chosen := s.Factors == nil || slices.ContainsFunc(s.Factors, func(d losses.FactorDistance) bool { return d.Factor == f })
			if groups != nil && chosen && groups[r*factors+f] < 0 {
				known = false
			}
		}
		if known {
			rows = append(rows, r)
		}
	}
	n := len(rows)
	if n < 2 {
		return 0
	}
	var all []float64
	for a := range rows {
		partners := rows
		if s.Pairs > 0 {
			partners = nil
			for k := 1; k <= min(s.Pairs, n-1); k++ {
				partners = append(partners, rows[(a+k)%n])
			}
		}
		for _, b := range partners {
			all = append(all, max(distance(rows[a], b)-codes(rows[a], b), 0))
		}
	}
	sum, squares := 0.0, 0.0
	for _, h := range all {
		sum += h
		squares += h * h
	}
	switch s.Aggregate {
	case factor.Max:
		return slices.Max(all)
	case factor.Sum:
		return sum
	case factor.MeanSquare:
		return squares / float64(len(all))
	}
	return sum / float64(len(all))
}

// contractionCase checks a contraction of random codes, close to each other, and labels.
func contractionCase(name string, s losses.ContractionSettings, n, width, factors int, groups []float64) gradcheck.Case {
	c := gradcheck.Case{
		Name: name,
		Inputs: []gradcheck.Input{
			{Shape: []int{n, width}, Lo: -0.4, Hi: 0.4},
			{Shape: []int{n, factors}, Lo: 0, Hi: 1, Constant: true},
		},
		Build: func(in nodes) (*gorgonia.Node, error) {
			if groups == nil {
				return losses.Contraction(s, in[0], in[1], nil)
			}
			return losses.Contraction(s, in[0], in[1], in[2])
		},
		Want: func(in [][]float64) []float64 {
			var groups []float64
			if len(in) > 2 {
				groups = in[2]
			}
			return []float64{contractionOf(s, in[0], in[1], groups, width, factors)}
		},
		Step: 1e-7, Tolerance: 1e-5, Tolerance32: 2e-4, Samples: 24,
	}
	if groups != nil {
		c.Inputs = append(c.Inputs, gradcheck.Input{Shape: []int{n, factors}, Values: groups, Constant: true})
	}
	return c
}

func TestContraction(t *testing.T) {
	mixed := []losses.FactorDistance{{Factor: 2, Kind: losses.CircularDistance}, {Factor: 0}, {Factor: 1, Kind: losses.DiscreteDistance}}
	turned := []losses.FactorDistance{{Factor: 0, Kind: losses.CircularDistance, Period: 0.3},
		{Factor: 2, Kind: losses.CircularDistance, Period: 0.7}}
	some := []float64{0, 1, 2, 0, -1, 2, 0, 1, -1, 3, 3, 3}
	for _, a := range []factor.Aggregate{factor.Mean, factor.Max, factor.Sum, factor.MeanSquare} {
		gradcheck.CheckAll(t, []gradcheck.Case{
			contractionCase(a.String()+" of all", losses.ContractionSettings{Aggregate: a}, 7, 4, 3, nil),
			contractionCase(a.String()+" of many", losses.ContractionSettings{Aggregate: a}, 140, 5, 2, nil),
			contractionCase(a.String()+" of some columns and factors",
				losses.ContractionSettings{Aggregate: a, Columns: []int{3, 0}, Factors: []losses.FactorDistance{{Factor: 2}}}, 70, 4, 3, nil),
			contractionCase(a.String()+" of mixed factors", losses.ContractionSettings{Aggregate: a, Factors: mixed}, 66, 3, 3, nil),
			contractionCase(a.String()+" of summed factors", losses.ContractionSettings{Aggregate: a, Factors: mixed, Add: true}, 9, 2, 3, nil),
			contractionCase(a.String()+" of periods", losses.ContractionSettings{Aggregate: a, Factors: turned, Add: true}, 33, 1, 3, nil),
			contractionCase(a.String()+" of known rows", losses.ContractionSettings{Aggregate: a}, 40, 4, 3, some),
			contractionCase(a.String()+" of rows known in a factor", losses.ContractionSettings{Aggregate: a, Factors: mixed[:1]}, 40, 4, 3, some),
			contractionCase(a.String()+" of two rows", losses.ContractionSettings{Aggregate: a}, 2, 4, 3, nil),
			contractionCase(a.String()+" of one row", losses.ContractionSettings{Aggregate: a}, 1, 4, 3, nil),
			contractionCase(a.String()+" of no known row", losses.ContractionSettings{Aggregate: a}, 5, 4, 3, []float64{-1}),
			contractionCase(a.String()+" of one known row", losses.ContractionSettings{Aggregate: a}, 2, 4, 3, []float64{-1, 0, 1, 1, 1, 1}),
			contractionCase(a.String()+" of sampled pairs", losses.ContractionSettings{Aggregate: a, Pairs: 3, Factors: mixed}, 70, 4, 3, nil),
			contractionCase(a.String()+" of sampled known rows", losses.ContractionSettings{Aggregate: a, Pairs: 2}, 30, 4, 3, some),
			contractionCase(a.String()+" of more pairs than there are", losses.ContractionSettings{Aggregate: a, Pairs: 9}, 4, 4, 3, nil),
			contractionCase(a.String()+" of two rows, sampled", losses.ContractionSettings{Aggregate: a, Pairs: 9}, 2, 4, 3, nil),
		})
	}
}

// runScalar computes a scalar node and its gradient in its first input, in float64.
func runScalar(t *testing.T, build func(in nodes) (*gorgonia.Node, error), values [][]float64, shapes ...[]int) (float64, []float64) {
	t.Helper()
	g, ok := gorgonia.NewGraph(), gradcheck.Must(t)
	var in nodes
	for i, v := range values {
		x := tensor.New(tensor.WithShape(shapes[i]...), tensor.WithBacking(slices.Clone(v)))
		in = append(in, gorgonia.NewTensor(g, tensor.Float64, len(shapes[i]), gorgonia.WithShape(shapes[i]...),
			gorgonia.WithName(fmt.Sprint("input ", i)), gorgonia.WithValue(x)))
	}
	n := ok(build(in))
	grads := must.Get(gorgonia.Grad(n, in[0]))(t)
	m := must.Get(machine.New(n.Graph(), n, grads[0]))(t)
	must.OK(t, m.RunAll())
	return m.Value(n).Data().(float64), slices.Clone(m.Value(grads[0]).Data().([]float64))
}

// At equal codes and at ties, the gradient is finite and follows the first choice.
func TestContractionHardPoints(t *testing.T) {
	contraction := func(s losses.ContractionSettings) func(nodes) (*gorgonia.Node, error) {
		return func(in nodes) (*gorgonia.Node, error) { return losses.Contraction(s, in[0], in[1], nil) }
	}
	for _, c := range []struct {
		name   string
		s      losses.ContractionSettings
		z, y   []float64
		want   float64
		slopes []float64
	}{
		{"constant codes", losses.ContractionSettings{}, []float64{1, 1, 1}, []float64{0, 0, 3}, 12.0 / 9, []float64{0, 0, 0}},
		{"constant codes, max", losses.ContractionSettings{Aggregate: factor.Max}, []float64{1, 1, 1}, []float64{0, 0, 3}, 3, []float64{0, 0, 0}},
		{"the first of equal pairs", losses.ContractionSettings{Aggregate: factor.Max}, []float64{0, 1, 2, 3}, []float64{0, 2, 4, 6}, 3, []float64{1, 0, 0, -1}},
		{"the first of two pairs", losses.ContractionSettings{Aggregate: factor.Max}, []float64{0, 1, 2, 2, 1}, []float64{0, 9, 4, 0, 9}, 8, []float64{1, -1, 0, 0, 0}},
		{"isometry", losses.ContractionSettings{Aggregate: factor.Sum}, []float64{0, 1, 2}, []float64{0, 1, 2}, 0, []float64{0, 0, 0}},
		{"repeated points", losses.ContractionSettings{Aggregate: factor.Sum}, []float64{0, 0, 1}, []float64{0, 1, 3}, 2 + 4 + 2, []float64{2, 2, -4}},
	} {
		n := len(c.z)
		value, slopes := runScalar(t, contraction(c.s), [][]float64{c.z, c.y}, []int{n, 1}, []int{n})
		if !(math.Abs(value-c.want) <= 1e-12) {
			t.Errorf("%s: value %v, want %v", c.name, value, c.want)
		}
		for i, w := range c.slopes {
			if !(math.Abs(slopes[i]-w) <= 1e-12) {
				t.Errorf("%s: gradient %v, want %v", c.name, slopes, c.slopes)
				break
			}
		}
	}
	value, _ := runScalar(t, contraction(losses.ContractionSettings{Aggregate: factor.Max}),
		[][]float64{{0, math.NaN(), 1}, {0, 1, 2}}, []int{3, 1}, []int{3})
	if !math.IsNaN(value) {
		t.Errorf("the contraction of a code that is not a number is %v", value)
	}
}

// TestContractionGolden uses the encoders of Zhang and Sugiyama 2024, tables 2 and 3.
func TestContractionGolden(t *testing.T) {
	long.NotShort(t)
	const folder = "testdata/enriching"
	text := must.Read(t, filepath.Join(folder, "contraction.json"))
	var expected map[string]struct {
		Max  float64 `json:"contraction_max"`
		Mean float64 `json:"contraction_mean"`
	}
	must.OK(t, json.Unmarshal(text, &expected))
	y := must.Get(npy.ReadFile[float64](filepath.Join(folder, "factors.npy")))(t)
	for name, want := range expected {
		z := must.Get(npy.ReadFile[float64](filepath.Join(folder, name, "codes.npy")))(t)
		n := y.Shape[0]
		for _, c := range []struct {
			a    factor.Aggregate
			want float64
		}{{factor.Max, want.Max}, {factor.Mean, want.Mean}} {
			got, _ := runScalar(t, func(in nodes) (*gorgonia.Node, error) {
				return losses.Contraction(losses.ContractionSettings{Aggregate: c.a}, in[0], in[1], nil)
			}, [][]float64{z.Data, y.Data}, []int{n, len(z.Data) / n}, y.Shape)
			if !(math.Abs(got-c.want) <= 1e-7) {
				t.Errorf("%s: %v contraction %v, want %v", name, c.a, got, c.want)
			}
		}
	}
	must.Equal(t, len(expected), 10, "encoders")
}

func TestContractionErrors(t *testing.T) {
	for _, c := range []struct {
		s       losses.ContractionSettings
		z, y, g []int
		want    string
	}{
		{losses.ContractionSettings{}, []int{3}, []int{3}, nil, "codes of shape"},
		{losses.ContractionSettings{}, []int{3, 2}, []int{4}, nil, "labels of shape [3]"},
		{losses.ContractionSettings{}, []int{3, 2}, []int{3, 2}, []int{3, 1}, "groups of the shape"},
		{losses.ContractionSettings{Columns: []int{2}}, []int{3, 2}, []int{3}, nil, "different columns from 0 to 1"},
		{losses.ContractionSettings{Columns: []int{1, 1}}, []int{3, 2}, []int{3}, nil, "different columns"},
		{losses.ContractionSettings{Factors: []losses.FactorDistance{{Factor: 1}}}, []int{3, 2}, []int{3, 1}, nil, "different factors from 0 to 0"},
		{losses.ContractionSettings{Factors: []losses.FactorDistance{{Period: -1}}}, []int{3, 2}, []int{3, 1}, nil, "finite periods"},
		{losses.ContractionSettings{Pairs: -1}, []int{3, 2}, []int{3, 1}, nil, "from 0 on"},
	} {
		g := gorgonia.NewGraph()
		node := func(shape []int) *gorgonia.Node {
			if shape == nil {
				return nil
			}
			return gorgonia.NewTensor(g, tensor.Float64, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(fmt.Sprint(shape)))
		}
		must.ErrorOf(losses.Contraction(c.s, node(c.z), node(c.y), node(c.g)))(t, c.want, c)
	}
}

func BenchmarkContraction(b *testing.B) {
	benchmarkLoss(b, func(z, y *gorgonia.Node) (*gorgonia.Node, error) {
		return losses.Contraction(losses.ContractionSettings{}, z, y, nil)
	})
}

func BenchmarkMaxContraction(b *testing.B) {
	benchmarkLoss(b, func(z, y *gorgonia.Node) (*gorgonia.Node, error) {
		return losses.Contraction(losses.ContractionSettings{Aggregate: factor.Max}, z, y, nil)
	})
}

func BenchmarkMixedContraction(b *testing.B) {
	benchmarkLoss(b, func(z, y *gorgonia.Node) (*gorgonia.Node, error) {
		return losses.Contraction(losses.ContractionSettings{Factors: []losses.FactorDistance{{Factor: 0}, {Factor: 1},
			{Factor: 2, Kind: losses.CircularDistance}, {Factor: 3, Kind: losses.DiscreteDistance}}}, z, y, nil)
	})
}

// Codes are a tenth of the factor. The contraction holds, because each pair of images is closer in codes than in
// labels.
func ExampleContraction() {
	g := gorgonia.NewGraph()
	column := func(name string, x ...float64) *gorgonia.Node {
		v := tensor.New(tensor.WithShape(len(x), 1), tensor.WithBacking(x))
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(len(x), 1), gorgonia.WithName(name), gorgonia.WithValue(v))
	}
	z, y := column("z", 0, 0.1), column("y", 0, 1)
	worst, err := losses.Contraction(losses.ContractionSettings{Aggregate: factor.Max}, z, y, nil)
	if err != nil {
		log.Fatal(err)
	}
	grads, err := gorgonia.Grad(worst, z)
	if err != nil {
		log.Fatal(err)
	}
	m := gorgonia.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(worst.Value(), grads[0].Value().Data())
	// Output: 0.9 [1 -1]
}
