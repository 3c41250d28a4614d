package losses

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/must"
)

// pairFactors lists one factor of each kind.
var pairFactors = []factor.Factor{
	{Name: "size", Size: 5, Kind: factor.Ordinal},
	{Name: "angle", Size: 8, Kind: factor.Circular},
	{Name: "shape", Size: 3, Kind: factor.Categorical},
}

// pairOutputs makes a model's outputs from codes [n, d], values [n, 3] and groups [n, 3].
func pairOutputs(in []*gorgonia.Node) *Input {
	return &Input{Outputs: Outputs{Codes: in[0], Sample: in[0]}, Batch: Batch{Labels: &Labels{
		Factors: pairFactors,
		Values:  func(Units) (values, known *gorgonia.Node, err error) { return in[1], in[2], nil },
		Groups:  func() (*gorgonia.Node, error) { return in[2], nil },
	}}}
}

// pairCase checks settings on 12 rows with all kinds of labels.
func pairCase(name string, width int, l Loss, want func(in [][]float64) float64) gradcheck.Case {
	const n = 12
	values, groups := make([]float64, 3*n), make([]float64, 3*n)
	for i := range n {
		levels := []int{i % 5, (3 * i) % 8, (i / 2) % 3}
		for k, v := range levels {
			groups[3*i+k] = float64(v)
		}
		values[3*i], values[3*i+1], values[3*i+2] = float64(levels[0])/4, float64(levels[1])/8, float64(levels[2])
	}
	groups[3*4+1] = -1 // the angle of row 4 is unknown
	c := gradcheck.Case{
		Name: name,
		Inputs: []gradcheck.Input{
			{Shape: []int{n, width}, Lo: -0.3, Hi: 0.3},
			{Shape: []int{n, 3}, Values: values, Constant: true},
			{Shape: []int{n, 3}, Values: groups, Constant: true},
		},
		Build:       func(in []*gorgonia.Node) (*gorgonia.Node, error) { return l.Add(pairOutputs(in)) },
		Step:        1e-7,
		Tolerance:   1e-5,
		Tolerance32: 1e-4,
	}
	if want != nil {
		c.Want = func(in [][]float64) []float64 { return []float64{want(in)} }
	}
	return c
}

// meanHinge is the mean of max(d_Y - d_Z, 0) over rows with a known angle, or over all rows.
func meanHinge(all bool, distance func(a, b []float64) float64) func(in [][]float64) float64 {
	return func(in [][]float64) float64 {
		sum, rows, d := 0.0, 0.0, len(in[0])/12
		for i := range 12 {
			if !all && i == 4 {
				continue
			}
			rows++
			for j := range 12 {
				if !all && j == 4 {
					continue
				}
				square := 0.0
				for c := range d {
					square += math.Pow(in[0][i*d+c]-in[0][j*d+c], 2)
				}
				sum += max(distance(in[1][3*i:3*i+3], in[1][3*j:3*j+3])-math.Sqrt(square), 0)
			}
		}
		return sum / (rows * rows)
	}
}

func TestContractionLoss(t *testing.T) {
	arc := func(a, b float64) float64 {
		u := math.Mod(math.Abs(a-b), 1)
		return min(u, 1-u)
	}
	unequal := func(a, b float64) float64 {
		if a == b {
			return 0
		}
		return 1
	}
	with := func(change func(l *ContractionLoss)) *ContractionLoss {
		l := NewContraction()
		change(l)
		return l
	}
	for _, c := range []gradcheck.Case{
		pairCase("mixed", 3, NewContraction(), meanHinge(false, func(a, b []float64) float64 {
			return math.Sqrt(math.Pow(a[0]-b[0], 2) + math.Pow(arc(a[1], b[1]), 2) + unequal(a[2], b[2]))
		})),
		pairCase("euclidean", 3, with(func(l *ContractionLoss) { l.Distance = euclideanDistances }), meanHinge(false, func(a, b []float64) float64 {
			return math.Sqrt(math.Pow(a[0]-b[0], 2) + math.Pow(a[1]-b[1], 2) + math.Pow(a[2]-b[2], 2))
		})),
		pairCase("absolute", 3, with(func(l *ContractionLoss) { l.Distance = absoluteDistances }), meanHinge(false, func(a, b []float64) float64 {
			return math.Abs(a[0]-b[0]) + math.Abs(a[1]-b[1]) + math.Abs(a[2]-b[2])
		})),
		pairCase("discrete", 3, with(func(l *ContractionLoss) { l.Distance = discreteDistances }), meanHinge(false, func(a, b []float64) float64 {
			return unequal(a[0], b[0]) + unequal(a[1], b[1]) + unequal(a[2], b[2])
		})),
		pairCase("circular", 3, with(func(l *ContractionLoss) { l.Distance = circularDistances }), meanHinge(false, func(a, b []float64) float64 {
			return math.Sqrt(math.Pow(arc(a[0], b[0]), 2) + math.Pow(arc(a[1], b[1]), 2) + math.Pow(arc(a[2], b[2]), 2))
		})),
		pairCase("one factor, known everywhere", 3, with(func(l *ContractionLoss) { l.Factors = []string{"shape"} }), meanHinge(true, func(a, b []float64) float64 {
			return unequal(a[2], b[2])
		})),
		pairCase("max of sampled pairs and columns", 3, with(func(l *ContractionLoss) {
			l.Aggregate, l.Pairs, l.Columns, l.On = factor.Max, 3, []int{1}, OnSample
		}), nil),
	} {
		t.Run(c.Name, func(t *testing.T) { gradcheck.Check(t, c) })
	}
}

func TestHSICLoss(t *testing.T) {
	hsic := func(change func(l *HSICLoss)) *HSICLoss {
		l := NewHSIC()
		change(l)
		return l
	}
	for _, c := range []gradcheck.Case{
		pairCase("codes", 6, NewHSIC(), nil),
		pairCase("named codes", 4, hsic(func(l *HSICLoss) { l.Codes = factor.SubCodes{"size": {0, 3}, "shape": {1}}; l.Bandwidth = 0.2 }), nil),
		pairCase("factors", 3, hsic(func(l *HSICLoss) { l.Between = betweenFactors; l.On = OnSample }), nil),
		pairCase("one named code and factors", 3,
			hsic(func(l *HSICLoss) { l.Between = betweenFactors; l.Codes = factor.SubCodes{"angle": {2}} }), nil),
	} {
		c.Step, c.Tolerance, c.Floor32 = 1e-6, 1e-6, 1e-2
		t.Run(c.Name, func(t *testing.T) { gradcheck.Check(t, c) })
	}
}

// TestHSICParts checks that the loss is the sum over pairs of columns.
func TestHSICParts(t *testing.T) {
	gradcheck.Check(t, gradcheck.Case{
		Name:   "hsic of columns",
		Inputs: []gradcheck.Input{{Shape: []int{9, 3}}},
		Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
			a, err := NewHSIC().Add(&Input{Outputs: Outputs{Codes: in[0]}})
			if err != nil {
				return nil, err
			}
			parts := gorgonia.Nodes{a}
			for _, p := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
				n, err := HSIC(in[0], in[0], nil, Kernel{Columns: []int{p[0]}}, Kernel{Columns: []int{p[1]}})
				if err != nil {
					return nil, err
				}
				parts = append(parts, n)
			}
			sum, err := gorgonia.Add(parts[1], parts[2])
			if err == nil {
				sum, err = gorgonia.Add(sum, parts[3])
			}
			if err != nil {
				return nil, err
			}
			return gorgonia.Sub(a, sum)
		},
		Want:      func([][]float64) []float64 { return []float64{0} },
		Tolerance: 1e-9, Floor32: 1e-2, Step: 1e-4,
	})
}

func TestTotalCorrelations(t *testing.T) {
	shape := []int{9, 3}
	active := []float64{1, 1, 0, 1, 1, 1, 0, 1, 1}
	for _, e := range []TCEstimator{TCMinibatch, TCWeighted, TCStratified} {
		for _, conditional := range []bool{false, true} {
			gradcheck.Check(t, gradcheck.Case{
				Name: e.String(),
				Inputs: []gradcheck.Input{{Shape: shape}, {Shape: shape}, {Shape: shape, Lo: -1, Hi: 1},
					{Shape: shape, Values: active, Constant: true}},
				Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
					o := &Input{Outputs: Outputs{Sample: in[0], Codes: in[1], LogVariance: in[2]}, Batch: Batch{Population: 40}}
					l := &TCLoss{Estimator: Estimator(e.String())}
					if conditional {
						return l.add(o, in[3])
					}
					return l.Add(o)
				},
				Tolerance32: 5e-5,
			})
		}
	}
}

func TestDIPLoss(t *testing.T) {
	for _, l := range []*DIPLoss{NewDIP1(), NewDIP2()} {
		gradcheck.Check(t, gradcheck.Case{
			Name: "dip",
			Inputs: []gradcheck.Input{{Shape: []int{4, 2}, Values: []float64{0, 1, 2, 3, 4, 6}},
				{Shape: []int{4, 2}, Values: []float64{0}, Constant: !l.ofSamples}},
			Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return l.Add(&Input{Outputs: Outputs{Codes: in[0], LogVariance: in[1]}})
			},
			Want: func([][]float64) []float64 { // columns 0 2 4 0 and 1 3 6 1: variances 2.75 and 4.1875, covariance 3.375
				if l.ofSamples {
					return []float64{10*2*3.375*3.375 + 10*(2.75*2.75+4.1875*4.1875)}
				}
				return []float64{10*2*3.375*3.375 + 100*(1.75*1.75+3.1875*3.1875)}
			},
		})
	}
}

// TestHSICWithFactors compares the loss with its terms: a sub-code and every other factor, each with the kernel of its
// kind, on the rows with a known factor.
func TestHSICWithFactors(t *testing.T) {
	l := NewHSIC()
	l.Between, l.Bandwidth = betweenFactors, 0.3
	c := pairCase("hsic with factors", 3, l, func([][]float64) float64 { return 0 })
	c.Build = func(in []*gorgonia.Node) (*gorgonia.Node, error) {
		rest, err := l.Add(pairOutputs(in))
		for j, kind := range []KernelKind{GaussianKernel, CircularKernel, EqualKernel} {
			for i := range 3 {
				if i == j || err != nil {
					continue
				}
				var known, part *gorgonia.Node
				if known, err = graph.SliceColumns(in[2], j, j+1); err != nil {
					return nil, err
				}
				if part, err = HSIC(in[0], in[1], known, Kernel{Columns: []int{i}, Bandwidth: 0.3}, Kernel{Kind: kind, Columns: []int{j}}); err != nil {
					return nil, err
				}
				rest, err = graph.WeightedSum([]float64{1, -1}, rest, part)
			}
		}
		return rest, err
	}
	c.Tolerance, c.Floor32, c.Step = 1e-9, 1e-2, 1e-4
	gradcheck.Check(t, c)
}

// The error names the missing output.
func TestMissingOfPairs(t *testing.T) {
	g := gorgonia.NewGraph()
	z := gorgonia.NewMatrix(g, gorgonia.Float64, gorgonia.WithShape(4, 3), gorgonia.WithName("z"))
	labels := &Labels{Factors: pairFactors, Values: func(Units) (values, known *gorgonia.Node,
		err error) {
		return z, z, nil
	}, Groups: func() (*gorgonia.Node, error) { return z, nil }}
	contraction := NewContraction()
	contraction.Factors = []string{"sise"}
	factors := NewHSIC()
	factors.Between = betweenFactors
	tc := func(e TCEstimator) func(o *Input) (*gorgonia.Node, error) {
		return (&TCLoss{Estimator: Estimator(e.String())}).Add
	}
	for _, c := range []struct {
		add  func(o *Input) (*gorgonia.Node, error)
		o    Input
		want string
	}{
		{NewContraction().Add, Input{Outputs: Outputs{Codes: z}}, "labels of the factors"},
		{NewContraction().Add, Input{Batch: Batch{Labels: labels}}, "codes"},
		{contraction.Add, Input{Outputs: Outputs{Codes: z}, Batch: Batch{Labels: labels}}, "size"},
		{NewHSIC().Add, Input{}, "codes"},
		{factors.Add, Input{Outputs: Outputs{Codes: z}}, "labels of the factors"},
		{NewDIP1().Add, Input{}, "codes"},
		{NewDIP2().Add, Input{Outputs: Outputs{Codes: z}}, "log variances"},
		{tc(TCMinibatch), Input{Outputs: Outputs{Codes: z}}, "samples"},
		{tc(TCMinibatch), Input{Outputs: Outputs{Sample: z}}, "codes"},
		{tc(TCMinibatch), Input{Outputs: Outputs{Sample: z, Codes: z}}, "log variances"},
		{tc(TCWeighted), Input{Outputs: Outputs{Sample: z, Codes: z, LogVariance: z}}, "number of images"},
	} {
		must.ErrorOf(c.add(&c.o))(t, c.want)
	}
	one := NewHSIC()
	one.Codes = factor.SubCodes{"size": {0}}
	must.ErrorOf(one.Add(&Input{Outputs: Outputs{Codes: z}, Batch: Batch{Labels: labels}}))(t, "one sub-code")
}

func TestValidatePairs(t *testing.T) {
	for _, c := range []struct {
		l    interface{ Validate() error }
		want string
	}{
		{&ContractionLoss{Columns: []int{1, 1}}, "columns"}, {&ContractionLoss{Columns: []int{-1}}, "columns"},
		{&ContractionLoss{Pairs: -1}, "pairs"}, {&ContractionLoss{Factors: []string{"a", "a"}}, "twice"},
		{&DIPLoss{Diagonal: -1}, "diagonal"}, {&DIPLoss{OffDiagonal: math.Inf(1)}, "off_diagonal"},
		{&HSICLoss{Bandwidth: -1}, "bandwidth"},
	} {
		must.Error(t, c.l.Validate(), c.want, c.l)
	}
	for _, l := range []interface{ Validate() error }{NewContraction(), NewDIP1(), NewDIP2(), NewHSIC()} {
		if err := l.Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"mixed", "euclidean", "absolute", "discrete", "circular", "manhattan"} {
		var d Distance
		if err := d.UnmarshalText([]byte(name)); (err == nil) != slices.Contains(distances, Distance(name)) {
			t.Errorf("distance %s: %v", name, err)
		}
	}
	for name, ok := range map[string]bool{"codes": true, "factors": true, "both": false} {
		var b Between
		if err := b.UnmarshalText([]byte(name)); (err == nil) != ok {
			t.Errorf("partners %s: %v", name, err)
		}
	}
}
