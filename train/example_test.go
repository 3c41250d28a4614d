package train_test

import (
	"context"
	"fmt"
	"os"

	"github.com/unravel-ml/unravel/train"
)

// A config becomes a run: trained, measured and stored in a folder.
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
