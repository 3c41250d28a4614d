package config_test

import (
	"errors"
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

type training struct {
	Epochs int     `yaml:"epochs" doc:"passes over the data"`
	Rate   float64 `yaml:"rate" doc:"step size of the optimizer"`
}

func (t *training) Validate() error {
	if t.Epochs < 1 {
		return config.Invalid("epochs", "must be positive, got %d", t.Epochs)
	}
	return nil
}

func Example() {
	source := "epochs: 20\nrate: 1e-3\n"
	settings := training{Epochs: 1, Rate: 0.1}
	root, err := config.Parse("train.yaml", []byte(source))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(root.Override("epochs=3"), root.Decode(&settings))
	fmt.Printf("%+v\n", settings)

	for _, wrong := range []string{"epoch: 3", "epochs: 1.5", "epochs: -2"} {
		fmt.Println(config.Load("train.yaml", []byte(wrong), &settings))
	}
	// Output:
	// <nil> <nil>
	// {Epochs:3 Rate:0.001}
	// train.yaml:1:1: epoch: unknown key "epoch"; did you mean "epochs"?
	// train.yaml:1:9: epochs: want an integer, got 1.5
	// train.yaml:1:1: epochs: must be positive, got -2
}

// shape is the interface of the config's choices in the example.
type shape interface{ Area() float64 }

type rectangle struct {
	Width  float64 `yaml:"width"`
	Height float64 `yaml:"height"`
}

func (r *rectangle) Area() float64 { return r.Width * r.Height }

var shapes = registry.Registry[shape]{Kind: "shape", Entries: []registry.Entry[shape]{
	{Name: "rectangle", New: func() shape { return &rectangle{1, 1} }},
}}

type shapeChoice struct{ registry.Choice[shape] }

func (c *shapeChoice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, &shapes, &c.Choice)
}

func (c shapeChoice) EncodeConfig() (any, error) { return config.EncodeChoice(c.Choice) }

func (c shapeChoice) ConfigForms() []any { return []any{config.ChoicesOf(&shapes)} }

func ExampleDecodeChoice() {
	var settings struct {
		Shape shapeChoice `yaml:"shape"`
	}
	err := config.Load("shape.yaml", []byte("shape: {rectangle: {width: 3}}"), &settings)
	fmt.Println(err, settings.Shape.Name, settings.Shape.Value.Area())
	text, err := config.Encode(settings)
	fmt.Printf("%s%v\n", text, err)
	fmt.Println(config.Load("shape.yaml", []byte("shape: rectangel"), &settings))
	// Output:
	// <nil> rectangle 3
	// shape:
	//   rectangle:
	//     width: 3.0
	//     height: 1.0
	// <nil>
	// shape.yaml:1:8: shape: unknown shape "rectangel"; did you mean "rectangle"?
}

func ExampleOptions() {
	for _, o := range config.Options(training{Epochs: 20, Rate: 1e-3}) {
		fmt.Printf("%s (%s, default %s): %s\n", o.Key, o.Type, o.Default, o.Doc)
	}
	// Output:
	// epochs (integer, default 20): passes over the data
	// rate (number, default 0.001): step size of the optimizer
}

// interval is written as {low: 1, high: 3}, or as one number for both.
type interval struct {
	Low  float64 `yaml:"low"`
	High float64 `yaml:"high"`
}

func (v *interval) DecodeConfig(n *config.Node) error {
	if n.IsScalar() {
		err := n.Decode(&v.Low)
		v.High = v.Low
		return err
	}
	type plain interval // decodes like structs
	if err := n.Decode((*plain)(v)); err != nil {
		return err
	}
	if v.Low > v.High {
		return n.Invalid("low", "%v is more than high, %v", v.Low, v.High)
	}
	return nil
}

func (v interval) EncodeConfig() (any, error) {
	if v.Low == v.High {
		return v.Low, nil
	}
	type plain interval
	return plain(v), nil
}

func (interval) ConfigType() string { return "a number, or {low, high}" }

func ExampleDecoder() {
	var settings struct {
		Width  interval `yaml:"width" doc:"width, in pixels"`
		Height interval `yaml:"height" doc:"height, in pixels"`
	}
	err := config.Load("size.yaml", []byte("width: 3\nheight: {low: 2, high: 4}"), &settings)
	fmt.Println(settings, err)
	text, err := config.Encode(settings)
	fmt.Printf("%s%v\n", text, err)
	fmt.Println(config.Load("size.yaml", []byte("width: {low: 5, high: 4}"), &settings))
	// Output:
	// {{3 3} {2 4}} <nil>
	// width: 3.0
	// height:
	//   low: 2.0
	//   high: 4.0
	// <nil>
	// size.yaml:1:9: width.low: 5 is more than high, 4
}

func ExampleError() {
	settings := training{Epochs: 1, Rate: 0.1}
	err := config.Load("train.yaml", []byte("epochs: 2\nrate: fast"), &settings)
	var mistake *config.Error
	if errors.As(err, &mistake) {
		fmt.Printf("%s, line %d, column %d, key %s: %v\n", mistake.File, mistake.Line, mistake.Column, mistake.Key, mistake.Err)
	}
	// Output:
	// train.yaml, line 2, column 7, key rate: want a number, got the text "fast"
}
