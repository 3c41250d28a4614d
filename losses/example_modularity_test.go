package losses_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/losses"
)

// An external encoder, trained on Gorgonia's machine with Gorgonia's solver. The first half of its codes should depend
// only on the first factor, the second half only on the second factor.
func ExampleVariance() {
	g := gorgonia.NewGraph()
	x := matrix(g, "images", 4, 3, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1)
	factors := matrix(g, "factors", 4, 2, 0, 0, 0, 1, 1, 0, 1, 1) // row by row: levels of both factors
	w := matrix(g, "weights", 3, 2, 1, 1, 1, -1, 0.1, 0.2)
	z := gorgonia.Must(gorgonia.Tanh(gorgonia.Must(gorgonia.Mul(x, w))))

	loss, err := losses.Variance(z, factors)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := gorgonia.Grad(loss, w); err != nil {
		log.Fatal(err)
	}
	var variance gorgonia.Value
	gorgonia.Read(loss, &variance)
	m := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(w))
	defer m.Close()
	solver := gorgonia.NewVanillaSolver(gorgonia.WithLearnRate(1))
	for step := range 21 {
		if err := m.RunAll(); err != nil {
			log.Fatal(err)
		}
		if step%10 == 0 {
			fmt.Printf("step %2d: variance %.4f\n", step, variance.Data())
		}
		if err := solver.Step(gorgonia.NodesToValueGrads(gorgonia.Nodes{w})); err != nil {
			log.Fatal(err)
		}
		m.Reset()
	}
	// Output:
	// step  0: variance 0.4167
	// step 10: variance 0.0074
	// step 20: variance 0.0031
}
