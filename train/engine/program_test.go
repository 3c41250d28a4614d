package engine

import (
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
)

// TestFill checks that a step's inputs are its batch's images and moves, and new noise.
func TestFill(t *testing.T) {
	m := must.Get(models.NewLSBDVAE().New(benchData(1), 1))(t)
	var list []losses.Choice
	for _, name := range []string{"kl", "reconstruction"} {
		c := must.Get(losses.Named(name))(t)
		list = append(list, c)
	}
	supervised := models.Objective{Name: "supervised", Labelled: true}
	d := must.Get((&drawn.Square{Size: 64, Side: 16, Step: 1}).Build(1))(t)
	p := must.Get((&plan{model: m, data: d, split: &supervision.Split{}, losses: list}).compile(supervised, 2, 2))(t)
	images := make([]float32, len(p.images))
	rng.New(1, "images").Normals(images)
	batch := supervision.Batch{Labelled: true, Indices: []int{3, 4}, Transformations: []float32{0, 0, 0.5, 1.5}} // two factors
	stream, same := rng.New(2, "noise"), rng.New(2, "noise")
	for range 2 { // the second time the noise is new
		p.fill(images, nil, batch, 2, 0, stream)
		if !slices.Equal(p.images, images) {
			t.Error("the images are not the batch's")
		}
		for i, n := range p.noise {
			want := make([]float32, len(n))
			same.Normals(want)
			if !slices.Equal(n, want) {
				t.Errorf("noise %d is not the stream's", i)
			}
		}
		for i, want := range [][]float32{{0, 0.5}, {0, 1.5}} {
			must.EqualSlices(t, p.transformations[i].dst, want, "circle", i, "moves by")
		}
	}
}

// Batches come from the images that are not held out, and density estimates count these images.
func TestPopulation(t *testing.T) {
	const source = "dataset: {square: {size: 16, side: 4}}\nmodel: {vae: {latent: 2, encoder: {mlp: {hidden: [4]}}}}\nlosses: [{tc: {estimator: weighted}}]\ntrain: {batch: 10}\n"
	task, settings := taskOf(t, source)
	task.Split = &supervision.Split{Unlabelled: []int{3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23}}
	l := must.Get(New(task, settings))(t)
	defer l.Close()
	must.Equal(t, l.plan.population, 11, 11, "images held in; the losses see a population of")
	must.Equal(t, loopOf(t, source, "supervision={pairs: {count: 5}}",
		"losses.+={lsbd: {planes: {row: [0, 1]}}}").plan.population, 256, "population of the losses")
}
