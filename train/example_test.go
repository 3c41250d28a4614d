package train_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"

	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/engine"
)

// A config becomes a run in a folder: trained, measured and stored.
func Example() {
	c, err := train.Load("small.yaml", []byte(`
dataset: {square: {size: 16, side: 4}}
supervision: {pairs: {count: 32}}
model: {lsbd-vae: {encoder: {mlp: {hidden: [16]}}}}
losses: [reconstruction, kl, lsbd]
train: {batch: 32, figures: false}
metrics: [dlsbd]
`), "train.epochs=2")
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	r, err := train.Run(context.Background(), c, train.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Epochs, "epochs,", r.Steps, "steps,", len(r.Losses), "objectives, measured:", r.Metrics[0].Name)

	_, err = train.Load("small.yaml", []byte("train:\n  epoch: 3\n"))
	fmt.Println(err)
	// Output:
	// 2 epochs, 16 steps, 2 objectives, measured: dlsbd
	// small.yaml:2:3: train.epoch: unknown key "epoch"; did you mean "epochs"?
}

// A run returns its codes and the factors of their images. Hooks observe its training.
func ExampleRun() {
	c, err := train.Load("small.yaml", []byte(`
dataset: {square: {size: 16, side: 4}}
model: {vae: {encoder: {mlp: {hidden: [16]}}, latent: 3}}
losses: [reconstruction, kl]
train: {batch: 32, epochs: 9, figures: false}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	enough := engine.Hook{Name: "enough", OnEpoch: engine.EveryEpochs(2, func(_ context.Context, l *engine.Loop, r *engine.EpochReport) error {
		fmt.Println("epoch", r.Epoch, "of", r.Of, "has", len(r.Losses[0].Values)-1, "losses")
		if r.Epoch == 4 {
			l.Stop("four epochs will do")
		}
		return nil
	})}
	r, err := train.Run(context.Background(), c, train.Options{Dir: dir, Codes: true, Hooks: []engine.Hook{enough}})
	if err != nil {
		fmt.Println(err)
		return
	}
	last := len(r.Codes.Codes) - 1
	fmt.Println(r.Epochs, "epochs;", len(r.Codes.Codes[last]), "columns; image", last, "has", r.Codes.Factors[0].Name, r.Codes.Levels[last][0])
	// Output:
	// epoch 2 of 9 has 2 losses
	// epoch 4 of 9 has 2 losses
	// 4 epochs; 3 columns; image 255 has row 15
}

// A program serves codes of images over HTTP with the encoder of a run.
func ExampleOpenEncoder() {
	dir, err := trained() // as in the first example
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	encoder, err := train.OpenEncoder(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer encoder.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var pixels [][]float32 // one row per image
		if err := json.NewDecoder(r.Body).Decode(&pixels); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		codes, err := encoder.Encode(slices.Concat(pixels...), len(pixels))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(slices.Collect(slices.Chunk(codes, encoder.Width())))
	}))
	defer server.Close()

	images, err := json.Marshal([][]float32{make([]float32, 16*16), make([]float32, 16*16)})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := http.Post(server.URL, "application/json", bytes.NewReader(images))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	var codes [][]float32
	if err := json.NewDecoder(answer.Body).Decode(&codes); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Status, len(codes), "codes of", len(codes[0]), "columns, the same:", slices.Equal(codes[0], codes[1]))
	// Output: 200 OK 2 codes of 4 columns, the same: true
}

// trained makes a small run in a temporary folder.
func trained() (string, error) {
	c, err := train.Load("small.yaml", []byte(`
dataset: {square: {size: 16, side: 4}}
supervision: {pairs: {count: 32}}
model: {lsbd-vae: {encoder: {mlp: {hidden: [16]}}}}
losses: [reconstruction, kl, lsbd]
train: {batch: 32, epochs: 1, figures: false}
`))
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		return "", err
	}
	_, err = train.Run(context.Background(), c, train.Options{Dir: dir})
	return dir, err
}
