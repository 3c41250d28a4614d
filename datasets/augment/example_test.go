package augment_test

import (
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/graph/rng"
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

// Darken is an operation of a program.
type Darken struct {
	augment.Chance
	Least float64 `yaml:"least" doc:"least factor of the pixels, 0 to 1; the factor is drawn evenly from there to 1"`
}

// Suits accepts all shapes.
func (*Darken) Suits(_, _, _ int) error { return nil }

// Apply multiplies all pixels with one number.
func (d *Darken) Apply(m *augment.Canvas, s *rng.Stream) {
	by := float32(d.Least + (1-d.Least)*s.Float64())
	for i := range m.Pixels() {
		m.Pixels()[i] *= by
	}
}

// A program adds an operation and a pipeline, which configs can then name.
func ExampleRegister() {
	err := augment.Register(registry.Entry[augment.Op]{
		Name: "darken", Doc: "pixels times a random number",
		New: func() augment.Op { return &Darken{Chance: augment.Chance{Probability: 1}, Least: 0.5} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = augment.RegisterPreset(registry.Entry[augment.Pipeline]{
		Name: "dim", Doc: "darken and flip", New: func() augment.Pipeline {
			return augment.Pipeline{{Name: "darken", Value: &Darken{Least: 0.9}}, {Name: "flip", Value: &augment.Flip{}}}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"views: {pipeline: [{darken: {least: 1}}, flip], count: 1}",
		"views: {pipeline: dim, count: 1}", "views: {pipeline: [{darken: {most: 1}}]}"} {
		var settings struct {
			Views augment.Views `yaml:"views"`
		}
		if err := config.Load("own.yaml", []byte(text), &settings); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(len(settings.Views.Pipeline), "operations, the first one:", settings.Views.Pipeline[0].Name)
	}
	second := registry.Entry[augment.Op]{Name: "flip", Doc: "another flip", New: func() augment.Op { return &augment.Flip{} }}
	fmt.Println(augment.Register(second))
	// Output:
	// 2 operations, the first one: darken
	// 2 operations, the first one: darken
	// own.yaml:1:30: views.pipeline.0.darken.most: unknown key "most"; known: probability, least
	// augmentation "flip" is registered already; want another name
}
