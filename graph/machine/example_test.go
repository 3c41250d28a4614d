package machine_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/losses"
)

// Each image shows one white square, at one of side x side places.
const side, factors = 6, 2

// squares returns the images, row by row, and the two coordinates of their squares.
func squares() (images, places []float32) {
	for y := range side {
		for x := range side {
			image := make([]float32, (side+1)*(side+1))
			for _, at := range []int{y*(side+1) + x, y*(side+1) + x + 1, (y+1)*(side+1) + x, (y+1)*(side+1) + x + 1} {
				image[at] = 1
			}
			images, places = append(images, image...), append(places, float32(y), float32(x))
		}
	}
	return images, places
}

// An encoder made from Gorgonia's operations learns codes. Each code column depends on one factor alone
// (losses.Variance). Codes stay apart where the factors differ (losses.Contraction).
func Example() {
	must := func(n *gorgonia.Node, err error) *gorgonia.Node {
		if err != nil {
			log.Fatal(err)
		}
		return n
	}
	images, places := squares()
	const n, pixels, hidden = side * side, (side + 1) * (side + 1), 32
	g := gorgonia.NewGraph()
	input := func(name string, rows, columns int) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName(name), gorgonia.WithShape(rows, columns))
	}
	weight := func(name string, rows, columns int) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName(name), gorgonia.WithShape(rows, columns),
			gorgonia.WithInit(func(tensor.Dtype, ...int) any { // gorgonia.GlorotN draws by the clock
				values := make([]float32, rows*columns)
				for i := range values {
					values[i] = float32((i*7919+13)%101-50) / 500
				}
				return values
			}))
	}
	x, y := input("images", n, pixels), input("places", n, factors)
	weights := gorgonia.Nodes{weight("w1", pixels, hidden), weight("w2", hidden, factors)}
	h := must(gorgonia.Tanh(must(gorgonia.Mul(x, weights[0]))))
	z := must(gorgonia.Mul(h, weights[1]))

	variance := must(losses.Variance(z, y))
	contraction := must(losses.Contraction(losses.ContractionSettings{}, z, y, nil))
	loss := must(gorgonia.Add(variance, contraction))
	gradients, err := gorgonia.Grad(loss, weights...)
	if err != nil {
		log.Fatal(err)
	}
	m, err := machine.New(g, append(gradients, variance, contraction, z)...)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	adam, model := machine.NewAdam(), gorgonia.NodesToValueGrads(weights)
	adam.LearningRate = 0.01
	for step := range 1000 {
		if err := gorgonia.Let(x, tensor.New(tensor.WithShape(n, pixels), tensor.WithBacking(images))); err != nil {
			log.Fatal(err)
		}
		if err := gorgonia.Let(y, tensor.New(tensor.WithShape(n, factors), tensor.WithBacking(places))); err != nil {
			log.Fatal(err)
		}
		if err := m.RunAll(); err != nil {
			log.Fatal(err)
		}
		if step == 0 {
			fmt.Printf("before: variance %.1f, contraction %.1f\n", variance.Value().Data(), contraction.Value().Data())
		}
		if err := adam.Step(model); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("after: variance %.1f, contraction %.1f, codes %v\n", variance.Value().Data(), contraction.Value().Data(), z.Shape())
	// Output:
	// before: variance 0.0, contraction 2.9
	// after: variance 0.0, contraction 0.0, codes (36, 2)
}
