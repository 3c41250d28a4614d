package datasets_test

import (
	"fmt"
	"image"
	"image/color"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/rng"
)

// Images drawn by a program become a data set, and a supervision and a sampler turn it into batches.
func ExampleFromImages() {
	angle := factor.Factor{Name: "position", Size: 8, Kind: factor.Circular}
	var images []image.Image
	var levels [][]int
	for i := range angle.Size {
		m := image.NewGray(image.Rect(0, 0, angle.Size, 1))
		m.SetGray(i, 0, color.Gray{255})
		images, levels = append(images, m), append(levels, []int{i})
	}
	d, err := datasets.FromImages("dots", images, []factor.Factor{angle}, levels)
	if err != nil {
		fmt.Println(err)
		return
	}
	split, err := datasets.Supervised("pairs", &datasets.Pairs{Count: 2}).Split(d, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	sampler, err := datasets.NewSampler(split, 4, rng.New(1, "batch"))
	if err != nil {
		fmt.Println(err)
		return
	}
	loader := datasets.NewLoader(d, sampler)
	defer loader.Close()
	if err := loader.StartEpoch(); err != nil {
		fmt.Println(err)
		return
	}
	for b, pixels, ok := loader.Next(); ok; b, pixels, ok = loader.Next() {
		fmt.Println(b.Labelled, len(b.Indices), "images,", len(pixels), "pixels,", len(b.Transformations), "angles")
	}
	// Output:
	// true 4 images, 32 pixels, 4 angles
	// false 4 images, 32 pixels, 0 angles
}
