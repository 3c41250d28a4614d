package factor_test

import (
	"fmt"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
)

var sprites = factor.Grid{
	{Name: "shape", Size: 3, Kind: factor.Categorical},
	{Name: "scale", Size: 2, Kind: factor.Ordinal},
	{Name: "angle", Size: 4, Kind: factor.Circular},
}

func ExampleGrid_All() {
	for item, levels := range sprites.All() {
		if item%5 == 0 {
			fmt.Println(item, factor.Describe(sprites, levels))
		}
	}
	// Output:
	// 0 shape 0, scale 0, angle 0
	// 5 shape 0, scale 1, angle 1
	// 10 shape 1, scale 0, angle 2
	// 15 shape 1, scale 1, angle 3
	// 20 shape 2, scale 1, angle 0
}

// Images that agree in the shape, as in a vote of FactorVAE.
func ExampleGrid_Resample() {
	s, levels := rng.New(1, "example"), make([]int, len(sprites))
	sprites.Sample(s, levels)
	shape := levels[0]
	for range 100 {
		sprites.Resample(s, levels, 1, 2)
		if levels[0] != shape {
			fmt.Println("another shape")
		}
		_ = sprites.Index(levels) // the image to look at
	}
	// Output:
}

func ExampleGrid_Check() {
	fmt.Println(sprites.Check([]int{1, 2, 3}))
	// Output: factor "scale" has no level 2; want 0 to 1
}

func ExampleSubCodes_Blocks() {
	codes := factor.SubCodes{"angle": {2, 3}, "shape": {0}}
	blocks, err := codes.Blocks("codes", sprites, 5)
	fmt.Println(blocks, err)
	_, err = factor.SubCodes{"angel": {2, 3}}.Blocks("codes", sprites, 5)
	fmt.Println(err)
	// Output:
	// [{0 [0]} {2 [2 3]}] <nil>
	// codes: there is no factor "angel"; did you mean "angle"?
}
