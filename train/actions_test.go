package train

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// walkingModels are models that learn from walks, each with its losses.
var walkingModels = map[string][]string{
	"quessard":    {"model={quessard: {encoder: {mlp: {hidden: [16]}}}}", "losses=[{reconstruction: {likelihood: bernoulli, per: pixel}}, {entanglement: {weight: 0.01}}]"},
	"forward-vae": {"model={forward-vae: {encoder: {mlp: {hidden: [16]}}, latent: 5}}", "losses=[reconstruction, {kl: {weight: {from: 1, to: 0, decay: 0.9}}}, prediction]"},
	"public-code": {"model={forward-vae: {encoder: {mlp: {hidden: [16]}}, scale: public-code, init: ones}}", "losses=[reconstruction, kl, prediction]"},
	"lsbd-vae":    nil,
	"planes":      {"model={vae: {encoder: {mlp: {hidden: [16]}}, latent: 4}}", "losses=[reconstruction, kl, {lsbd: {planes: {row: [0, 1], column: [2, 3]}}}]"},
}

// A run on random or fixed walks, stopped and continued with other threads, ends with the same bits. The default test
// takes one kind of walk for each model.
func TestWalkingModels(t *testing.T) {
	long.NotShort(t)
	for i, name := range slices.Sorted(maps.Keys(walkingModels)) {
		options := walkingModels[name]
		for j, walks := range []string{"supervision={walks: {episodes: 12, actions: 3}}", "supervision={walks: {episodes: 12, actions: 3, fixed: true}}"} {
			if (i+j)%2 > 0 && !long.Enabled() {
				continue
			}
			t.Run(name, func(t *testing.T) {
				config := func(more ...string) Config {
					return load(t, append(append([]string{walks, "train.epochs=2", "train.batch=16"}, options...), more...)...)
				}
				whole, dir := t.TempDir(), t.TempDir()
				trainIn(t, whole, config("train.threads=2"), false)
				trainInParts(t, dir, config("train.threads=1"), 2, 3)
				sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
				must.Equal(t, logged(t, dir), logged(t, whole), "the logs differ")
				if _, _, err := OpenExperiment(whole); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Errors for models and losses that do not suit walks give the reason.
func TestWalkingMistakes(t *testing.T) {
	const walks = "supervision={walks: {episodes: 12, actions: 3}}"
	quessard := walkingModels["quessard"]
	for want, options := range map[string][]string{
		"there are none; want supervision: walks":        {"supervision=none", quessard[0], quessard[1]},
		"loss entanglement: it needs actions that":       {walks, walkingModels["forward-vae"][0], "losses=[{reconstruction: {}}, entanglement]"},
		"loss prediction: it needs codes predicted by":   {walks, quessard[0], "losses=[reconstruction, prediction]"},
		"posteriors of the codes, which this model does": {walks, quessard[0], "losses=[reconstruction, kl]"},
		"it needs the transformations within labelled": {"dataset={sprites: {size: 16, scales: 2, orientations: 4, positions: 4}}", "supervision={walks: {episodes: 12, actions: 3, factors: [x]}}",
			"model={vae: {encoder: {mlp: {hidden: [16]}}}}", "losses=[reconstruction, kl, {lsbd: {planes: {orientation: [0, 1]}}}]"},
	} {
		_, err := Run(context.Background(), load(t, append([]string{"train.epochs=1"}, options...)...), Options{Dir: t.TempDir()})
		must.Error(t, err, want, options)
	}
}

// The model solves the grid world of Quessard et al. 2020: codes turn with both factors, and each action turns one
// plane. The default test takes two seeds, and -long five.
func TestGridWorld(t *testing.T) {
	long.NotShort(t)
	source := must.Get(configs.Read("quessard/grid"))(t)
	for _, seed := range long.Sample([]int{0, 1, 2, 3, 4}, 2) {
		c := must.Get(Load("grid.yaml", source, fmt.Sprint("seed=", seed), "train.figures=false"))(t)
		r := trainIn(t, t.TempDir(), c, false)
		if got := r.Metrics[0].Value; !(got < 0.01) {
			t.Errorf("seed %d: D_LSBD is %v, want less than 0.01", seed, got)
		}
		if got := r.Losses["actions"]["entanglement"]; !(got < 0.05) {
			t.Errorf("seed %d: entanglement is %v, want less than 0.05", seed, got)
		}
	}
}
