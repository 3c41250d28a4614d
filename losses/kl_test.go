package losses_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/losses"
)

func TestKLGaussianWeighted(t *testing.T) {
	build := func(n []*gorgonia.Node) (*gorgonia.Node, error) { return losses.KLGaussianWeighted(n[0], n[1], n[2]) }
	weights := gradcheck.Input{Shape: []int{3}, Values: []float64{0.1, 10, 0}, Constant: true}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "weighted", Inputs: []gradcheck.Input{gradcheck.In(4, 3), {Shape: []int{4, 3}, Lo: -3, Hi: 1}, weights}, Build: build,
			Want: func(in [][]float64) []float64 {
				sum := 0.0
				for i, m := range in[0] {
					sum += in[2][i%3] * (m*m + math.Exp(2*in[1][i]) - 2*in[1][i] - 1) / 2
				}
				return []float64{sum / 4}
			}},
		{Name: "extreme", Inputs: []gradcheck.Input{{Shape: []int{2, 3}, Values: []float64{0, 30, -30}}, {Shape: []int{2, 3}, Values: []float64{-18, 3, 0, 0, -18, 3}}, weights}, Build: build},
	})
}

// TestCosts compares the cost of each image with the reconstruction loss of a batch with only this image.
func TestCosts(t *testing.T) {
	for name, c := range map[string]struct {
		loss *losses.ReconstructionLoss
		real bool
	}{
		"gaussian":  {losses.NewReconstruction(), false},
		"narrow":    {&losses.ReconstructionLoss{Weight: losses.NewReconstruction().Weight, Likelihood: "gaussian", Sigma: 0.1}, false},
		"pixel":     {&losses.ReconstructionLoss{Weight: losses.NewReconstruction().Weight, Likelihood: "gaussian", Sigma: 0.1, Per: "pixel"}, false},
		"real":      {losses.NewReconstruction(), true},
		"bernoulli": {&losses.ReconstructionLoss{Weight: losses.NewReconstruction().Weight, Likelihood: "bernoulli", Sigma: losses.NewReconstruction().Sigma}, false},
	} {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			g := gorgonia.NewGraph()
			input := func(name string, shift float64, rows ...int) *gorgonia.Node {
				v := tensor.New(tensor.Of(dt), tensor.WithShape(len(rows), 3, 3, 2))
				for i := range v.DataSize() {
					x := math.Sin(float64(rows[i/18]*18+i%18) + shift)
					if name[0] == 'x' {
						x = x*x/2 + 0.25
					} else {
						x *= 40
					}
					if dt == tensor.Float32 {
						v.Float32s()[i] = float32(x)
					} else {
						v.Float64s()[i] = x
					}
				}
				return gorgonia.NewTensor(g, dt, 4, gorgonia.WithShape(len(rows), 3, 3, 2), gorgonia.WithName(name), gorgonia.WithValue(v))
			}
			costs, err := c.loss.Costs(input("x", 0, 0, 1), input("y", 1, 0, 1), c.real)
			if err != nil {
				t.Fatal(name, err)
			}
			wanted := gorgonia.Nodes{costs}
			for row, in := range []string{"0", "1"} {
				one, err := c.loss.Add(&losses.Input{Outputs: losses.Outputs{Images: input("x"+in, 0, row),
					Logits: input("y"+in, 1, row)}, Batch: losses.Batch{Real: c.real}})
				if err != nil {
					t.Fatal(name, err)
				}
				wanted = append(wanted, one)
			}
			m, err := machine.New(g, wanted...)
			if err == nil {
				err = m.RunAll()
			}
			if err != nil {
				t.Fatal(name, err)
			}
			for row, n := range wanted[1:] {
				got, want := number(t, m.Value(costs), row), number(t, m.Value(n), 0)
				if !(math.Abs(got-want) <= 1e-5*max(1, want)) {
					t.Errorf("%s, %v: image %d costs %v; want %v", name, dt, row, got, want)
				}
			}
		}
	}
	if _, err := (&losses.ReconstructionLoss{Likelihood: "bernoulli"}).Costs(nil, nil, true); err == nil {
		t.Error("a bernoulli likelihood of real pixels is accepted")
	}
}

// number returns element i of a value.
func number(t *testing.T, v gorgonia.Value, i int) float64 {
	t.Helper()
	switch x := v.Data().(type) {
	case []float32:
		return float64(x[i])
	case []float64:
		return x[i]
	case float32:
		return float64(x)
	case float64:
		return x
	}
	t.Fatalf("the value is %T", v)
	return 0
}
