package datasets_test

import (
	"errors"
	"fmt"
	"image"
	"image/color"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
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
	split, err := supervision.Of("pairs", &supervision.Pairs{Count: 2}).Split(d, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	sampler, err := supervision.NewSampler(split, 4, rng.New(1, "batch"))
	if err != nil {
		fmt.Println(err)
		return
	}
	loader := supervision.NewLoader(d, sampler)
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

// Neighbours is a program's supervision: pairs of consecutive images.
type Neighbours struct {
	Count int `yaml:"count" doc:"number of pairs"`
}

// Split draws the first images of the pairs. The transformations follow from the levels.
func (n *Neighbours) Split(d datasets.Dataset, s *rng.Stream) (*supervision.Split, error) {
	var groups [][]int
	for _, i := range s.Perm(d.Len() / 2)[:min(n.Count, d.Len()/2)] {
		groups = append(groups, []int{2 * i, 2*i + 1})
	}
	return supervision.NewSplit(d, 2, groups, true)
}

// A program adds a data set and a supervision, which configs can then name.
func ExampleRegister() {
	hue := factor.Factor{Name: "hue", Size: 4, Kind: factor.Circular}
	d, err := datasets.FromPixels("grey", []uint8{0, 64, 128, 192}, 1, 1, 1, []factor.Factor{hue}, [][]int{{0}, {1}, {2}, {3}})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = errors.Join(
		datasets.Register(registry.Entry[datasets.Builder]{
			Name: "greys", Doc: "four grey pixels", New: func() datasets.Builder { return &datasets.Given{Set: d} },
		}),
		supervision.Register(registry.Entry[supervision.Kind]{
			Name: "neighbours", Doc: "pairs of images that follow each other", New: func() supervision.Kind { return &Neighbours{Count: 2} },
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	var settings struct {
		Dataset     catalog.Choice      `yaml:"dataset"`
		Supervision supervision.Choices `yaml:"supervision"`
	}
	err = config.Load("own.yaml", []byte("dataset: greys\nsupervision: [{neighbours: {count: 1}}, labels]"), &settings)
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := settings.Dataset.Build(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	split, err := settings.Supervision.Split(set, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %d group, its angles %.2f, labels of %d image\n",
		set.Name(), len(split.Groups), split.Transformations[0], len(split.Known.Images))
	// Output: grey: 1 group, its angles [0.00 1.57], labels of 1 image
}
