package losses_test

import (
	"fmt"
	"log"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/losses"
)

// The prediction of the first view is the target of the second one, that of the second view is at a right
// angle to the target of the first.
func ExampleCosineRegression() {
	g := gorgonia.NewGraph()
	predictions := matrix(g, "predictions", 2, 2, 3, 0, 0, 1)
	targets := matrix(g, "targets", 2, 2, 5, 0, 0.5, 0)
	loss, err := losses.CosineRegression(predictions, targets)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.4f\n", loss.Value().Data())
	// Output: 2.0000
}

// Two columns that agree in both views, and are the same up to their sign: only the correlations off the diagonal count.
func ExampleCrossCorrelation() {
	g := gorgonia.NewGraph()
	z := matrix(g, "z", 6, 2, -1, 2, 0, 0, 1, -2, -1, 2, 0, 0, 1, -2)
	loss, err := losses.CrossCorrelation(z, 0.5)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.3f\n", loss.Value().Data())
	// Output: 1.000
}

func ExampleInfoNCE() {
	g := gorgonia.NewGraph()
	q, k := matrix(g, "q", 1, 2, 1, 0), matrix(g, "k", 1, 2, 0, 1)
	negatives := matrix(g, "negatives", 2, 3, 0, 0, 0, 1, -1, 1)
	loss, err := losses.InfoNCE(q, k, negatives, 0.1)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.4f\n", loss.Value().Data()) // all four are at a right angle: log 4
	// Output: 1.3863
}

// The loss standardises projections itself: its value does not change with the scale and mean of a column of a view, and
// its gradient goes through mean and variance.
func TestCrossCorrelationStandardises(t *testing.T) {
	gradcheck.Check(t, gradcheck.Case{Name: "cross-correlation", Inputs: []gradcheck.Input{{Shape: []int{8, 3}}}, Tolerance32: 1e-3,
		Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) { return losses.CrossCorrelation(n[0], 0.3) },
		Want: func(in [][]float64) []float64 {
			z := make([]float64, 24)
			for half := range 2 {
				for c := range 3 {
					mean, variance := 0.0, 0.0
					for r := range 4 {
						mean += in[0][(4*half+r)*3+c] / 4
					}
					for r := range 4 {
						d := in[0][(4*half+r)*3+c] - mean
						variance += d * d / 4
					}
					for r := range 4 {
						z[(4*half+r)*3+c] = (in[0][(4*half+r)*3+c] - mean) / math.Sqrt(variance+1e-5)
					}
				}
			}
			sum := 0.0
			for i := range 3 {
				for j := range 3 {
					r := 0.0
					for b := range 4 {
						r += z[3*b+i] * z[12+3*b+j] / 4
					}
					if i == j {
						sum += (1 - r) * (1 - r)
					} else {
						sum += 0.3 * r * r
					}
				}
			}
			return []float64{sum}
		}})
}

func TestViewConfigErrors(t *testing.T) {
	for source, want := range map[string]string{
		"[{cosine-regression: {weight: -1}}]": "losses.0.cosine-regression.weight: want a number from 0",
		"[{cross-correlation: {lambda: -1}}]": "lambda: want 0 or more",
		"[{cross-correlation: {weight: -1}}]": "weight: want a number from 0",
		"[{info-nce: {temperature: 0}}]":      "temperature: want more than 0",
		"[{info-nce: {weight: -1}}]":          "weight: want a number from 0",
	} {
		var s struct {
			Losses []losses.Choice `yaml:"losses"`
		}
		if err := config.Load("l.yaml", []byte("losses: "+source), &s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %s", source, err, want)
		}
	}
}
