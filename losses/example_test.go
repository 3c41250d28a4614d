package losses_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/losses"
)

// matrix adds an input with values to a graph.
func matrix(g *gorgonia.ExprGraph, name string, rows, columns int, values ...float64) *gorgonia.Node {
	t := tensor.New(tensor.WithShape(rows, columns), tensor.WithBacking(values))
	return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName(name), gorgonia.WithShape(rows, columns), gorgonia.WithValue(t))
}

// run runs a graph on Gorgonia's own machine.
func run(g *gorgonia.ExprGraph) {
	m := gorgonia.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		log.Fatal(err)
	}
}

func ExampleGaussianReconstruction() {
	g := gorgonia.NewGraph()
	x := matrix(g, "x", 2, 2, 0.5, 1, 0, 0.5)
	logits := matrix(g, "logits", 2, 2, 0, 0, 0, 0)
	loss, err := losses.GaussianReconstruction(x, logits, losses.Gaussian{})
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.4f\n", loss.Value().Data())
	// Output: 0.2500
}

func ExampleBernoulliReconstruction() {
	g := gorgonia.NewGraph()
	x := matrix(g, "x", 1, 3, 0, 1, 1)
	logits := matrix(g, "logits", 1, 3, -100, 100, 0)
	loss, err := losses.BernoulliReconstruction(x, logits)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.4f\n", loss.Value().Data())
	// Output: 0.6931
}

func ExampleKLGaussian() {
	g := gorgonia.NewGraph()
	mu := matrix(g, "mu", 2, 2, 0, 0, 1, 2)
	logSigma := matrix(g, "log sigma", 2, 2, 0, 0, 0, 0)
	kl, err := losses.KLGaussian(mu, logSigma)
	if err != nil {
		log.Fatal(err)
	}
	grad, err := gorgonia.Grad(kl, mu)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Println(kl.Value(), grad[0].Value().Data())
	// Output: 1.25 [0 0 0.5 1]
}

func ExampleKLGaussianLogVariance() {
	g := gorgonia.NewGraph()
	kl, err := losses.KLGaussianLogVariance(matrix(g, "mu", 1, 1, 2), matrix(g, "log variance", 1, 1, 0))
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Println(kl.Value())
	// Output: 2
}

func ExampleKLSphere() {
	g := gorgonia.NewGraph()
	kl, err := losses.KLSphere(matrix(g, "log t", 2, 1, -10, -5), 1)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.4f\n", kl.Value().Data())
	// Output: 4.1689
}

func ExampleLSBD() {
	g := gorgonia.NewGraph()
	z := matrix(g, "z", 2, 2, 1, 0, 0, 1)                     // two views of one object, a quarter turn apart
	angles := matrix(g, "angles", 2, 1, 0, 3.14159265/2+1e-3) // the label is slightly more than a quarter turn
	y, err := losses.CircleTransport(z, angles, 2)
	if err != nil {
		log.Fatal(err)
	}
	loss, err := losses.LSBD(z, y)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.2g\n", loss.Value().Data())
	// Output: 2.5e-07
}

func ExampleSphereTransport() {
	g := gorgonia.NewGraph()
	z := matrix(g, "z", 2, 3, 1, 0, 0, 0, 1, 0)
	rotations := matrix(g, "rotations", 2, 4, 0, 0, 1, 0, 0, 0, 1, 3.141592653589793/2) // about the third axis
	y, err := losses.SphereTransport(z, rotations, 2)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.3f\n", y.Value().Data())
	// Output: [1.000 0.000 0.000 0.000 1.000 0.000]
}

func ExampleMeanTransport() {
	g := gorgonia.NewGraph()
	y, err := losses.MeanTransport(matrix(g, "z", 2, 2, 1, 2, 3, 6), 2)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Println(y.Value().Data())
	// Output: [2 4 2 4]
}

func ExamplePublicLSBD() {
	g := gorgonia.NewGraph()
	z := matrix(g, "z", 1, 4, 1, 0, 1, 0)
	y := matrix(g, "y", 1, 4, 0.5, 0.866, 0.5, 0.866) // both circles are off by 60 degrees
	public, err := losses.PublicLSBD(z, y, 1, 2, 0)
	if err != nil {
		log.Fatal(err)
	}
	paper, err := losses.LSBD(z, y)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("public code %v, paper %.2f\n", public.Value(), paper.Value().Data())
	// Output: public code 0, paper 2.00
}
