package engine_test

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
)

// A program trains a model on its data without a config or a folder, and observes with a hook.
func Example() {
	data, err := (&drawn.Square{Size: 16, Side: 4, Step: 2}).Build(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := models.NewVAE().New(models.DataOf(data), 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	var list []losses.Choice
	for _, name := range []string{"reconstruction", "kl"} {
		c, err := losses.Named(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		list = append(list, c)
	}
	settings := engine.NewSettings()
	settings.Epochs, settings.Batch = 4, 16
	loop, err := engine.New(engine.Task{Model: model, Data: data, Losses: list, Seed: 1}, settings)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer loop.Close()
	var first, last float64
	loop.AddHook(engine.Hook{Name: "look", OnEpoch: func(_ context.Context, l *engine.Loop, r *engine.EpochReport) error {
		if last = r.Losses[0].Values[0]; r.Epoch == 1 {
			first = last
		}
		return nil
	}})
	if err := loop.Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loop.Step(), "steps; the loss falls:", last < first)
	// Output: 16 steps; the loss falls: true
}
