package augment_test

import (
	"fmt"

	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/rng"
)

// Mirror images of a row of four grey pixels, each with probability 1/2.
func ExamplePipeline() {
	p := augment.Pipeline{{Name: "flip", Value: &augment.Flip{Chance: augment.Chance{Probability: 0.5}}}}
	image, view := []float32{0, 0.25, 0.5, 1}, make([]float32, 4)
	s := rng.New(1, "example")
	for range 4 {
		p.Apply(view, image, 1, 4, 1, s)
		fmt.Println(view)
	}
	// Output:
	// [0 0.25 0.5 1]
	// [0 0.25 0.5 1]
	// [1 0.5 0.25 0]
	// [1 0.5 0.25 0]
}
