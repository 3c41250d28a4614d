package losses_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/losses"
)

// Codes that are a tenth of the factor are contracted: every pair of images is closer
// in its codes than in its labels.
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
