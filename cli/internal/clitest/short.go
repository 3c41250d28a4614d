package clitest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train"
)

// shortSets are small data sets with images that fit the networks of the configs.
var shortSets = map[string][]string{
	"square":      {"dataset.square.step=8"},
	"poses":       {"dataset.poses.count=72", "dataset.poses.hues=2"},
	"arrow":       {"dataset.arrow={size: 64, hues: 8, rotations: 8}"},
	"room":        {"dataset.room.hues=3", "dataset.room.scales=2", "dataset.room.orientations=3"},
	"sprites":     {"dataset.sprites.orientations=4", "dataset.sprites.positions=8", "dataset.sprites.scales=3"},
	"chopsticks":  {"dataset.chopsticks.samples=1000"},
	"spaceshapes": {"dataset.spaceshapes.samples=300"},
	"entangled":   nil,
	"flatland":    nil,
	"bumps":       nil,
	"folder":      nil,
	"cars":        {"dataset.cars.objects=3", "dataset.cars.azimuths=6", "dataset.cars.elevations=2"},
	"norb":        {"dataset.norb.instances=2", "dataset.norb.azimuths=3", "dataset.norb.elevations=3"},
	"turntable":   {"dataset.turntable.views=8"},
	"arm":         {"dataset.arm.horizontal=3", "dataset.arm.vertical=3"},
}

// narrowed are settings for models with wide networks.
var narrowed = map[string][]string{
	"byol":         {"hidden=32", "projected=16", "predictor=32"},
	"simsiam":      {"hidden=32", "projected=16", "predictor=32"},
	"barlow-twins": {"hidden=32"},
	"moco":         {"width=32", "queue=64"},
	"moco-v2":      {"width=32", "queue=64"},
}

// fewer are settings for supervisions with many groups.
var fewer = map[string][]string{
	"pairs":      {"={pairs: {count: 20}}"},
	"similarity": {"={similarity: {count: 20}}"},
	"walks":      {".walks.episodes=8", ".walks.actions=3"},
	"paths":      {"={paths: {count: 2, length: 8, step: 1}}"},
}

// Short returns an experiment of Unravel with few images and two steps.
func Short(t *testing.T, name string) []byte {
	t.Helper()
	source := must.Get(configs.Read(name))(t)
	c, err := train.Load(name, source)
	must.OK(t, err)
	sets, ok := shortSets[c.Dataset.Name]
	if !ok {
		t.Fatalf("%s: no short form of the data set %s", name, c.Dataset.Name)
	}
	if s, ok := c.Dataset.Value.(*drawn.Square); ok && s.Size < 16 {
		sets = nil
	}
	overrides := append([]string{"train.epochs=1", "train.epoch_steps=2",
		"train.figures=" + fmt.Sprint(name == configs.Quickstart)}, sets...)
	if c.Train.Batch > 32 && c.Dataset.Name != "entangled" {
		overrides = append(overrides, "train.batch=32")
	}
	if c.Metrics.Sample > 0 {
		overrides = append(overrides, "metrics.sample=200")
	}
	narrow := narrowed[c.Model.Name]
	if narrow != nil && !bytes.Contains(source, []byte("features")) { // without this, codes have 1000 columns
		for _, o := range append(narrow, "encoder={conv64-norm: {features: 32}}") {
			overrides = append(overrides, "model."+c.Model.Name+"."+o)
		}
	}
	if text, err := c.Encode(); err == nil &&
		bytes.Contains(text, []byte("\n    encoder:\n      conv64:\n        features: 256\n")) {
		overrides = append(overrides, "model."+c.Model.Name+".encoder.conv64.features=16")
	}
	for i, m := range c.Metrics.Final {
		if m.Name == "dci" {
			overrides = append(overrides, fmt.Sprintf("metrics.final.%d.dci.rounds=2", i))
		}
	}
	if c.Model.Name == "cofhae" { // barely trained codes have tangent planes in all directions
		overrides = append(overrides,
			"model.cofhae.mimosa={neighbors: 10, min_cosine: 0.3, contagion: 1, min_initial: 2, min_merged: 5, min_decay: 1.05, max_lengths: 1000}")
	}
	for i, s := range c.Supervision {
		key := "supervision"
		if len(c.Supervision) > 1 {
			key = fmt.Sprintf("supervision.%d", i)
		}
		for _, o := range fewer[s.Name] {
			overrides = append(overrides, key+o)
		}
	}
	if c, err = train.Load(name, source, overrides...); err != nil {
		t.Fatal(err)
	}
	return must.Get(c.Encode())(t)
}
