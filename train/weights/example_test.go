package weights_test

import (
	"bytes"
	"fmt"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/weights"
)

// This example writes an encoder as an ONNX network, and prints the shapes of its input and output. For the model of a
// run, use train.OpenExperiment.
func ExampleSource_WriteONNX() {
	settings := models.NewAE()
	settings.Encoder = nn.EncoderChoice{Name: "mlp", Value: nn.NewMLP()}
	data := models.Data{Height: 8, Width: 8, Channels: 3}
	model, err := settings.New(data, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	source := weights.Source{Model: model, Data: data}
	var file bytes.Buffer
	network, err := source.WriteONNX(&file, weights.Encoder, weights.Native)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("from", network.Input, "to", network.Output)
	for _, l := range network.Layers {
		fmt.Println(l.Operation, l.Parameters, l.Attributes["activation"])
	}
	// Output:
	// from [-1 8 8 3] to [-1 10]
	// reshape [] <nil>
	// dense [encoder/dense1/weight encoder/dense1/bias] relu
	// dense [encoder/dense2/weight encoder/dense2/bias] relu
	// dense [latent/code/weight latent/code/bias] linear
}

// In this example, an encoder begins with the parameters of another model. For a file use weights.Open, for a run
// train.OpenWeights.
func ExampleSource_Load() {
	mlp := nn.EncoderChoice{Name: "mlp", Value: nn.NewMLP()}
	data := models.Data{Height: 8, Width: 8, Channels: 3}
	trained, start := models.NewAE(), models.NewEncoder()
	trained.Encoder, start.Encoder, start.Latent = mlp, mlp, 2
	from, err := trained.New(data, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	to, err := start.New(data, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	var tensors []weights.Tensor
	for _, name := range from.Params().Names() {
		p := from.Params().Get(name)
		tensors = append(tensors, weights.Tensor{Name: name, Shape: p.Shape(), Data: p.Float32s()})
	}
	source := weights.Source{Model: to, Data: data}
	loaded, err := source.Load(weights.NewFile("the autoencoder", tensors), weights.LoadOptions{Only: []string{"encoder/*"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loaded.Names)
	_, err = source.Load(weights.NewFile("the autoencoder", tensors), weights.LoadOptions{Only: []string{"latent/*"}})
	fmt.Println(err)
	// Output:
	// [encoder/dense1/weight encoder/dense1/bias encoder/dense2/weight encoder/dense2/bias]
	// the autoencoder: tensor "latent/code/weight" has shape [256 10], want [256 2]
}
