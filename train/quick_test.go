package train

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/rng"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
)

func TestQuick(t *testing.T) {
	name := os.Getenv("CFG")
	if name == "" {
		name = "lsbd-vae/square-small"
	}
	src, _ := configs.Read(name)
	c, err := Load(name, src, "seed="+os.Getenv("SEED"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Dataset.Build(c.Seed)
	if err != nil {
		t.Fatal(err)
	}
	split, err := c.Supervision.Split(d, rng.New(c.Seed, "supervision"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Model.Value.New(models.DataOf(d), c.Seed)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := NewTrainer(m, d, split, c.Losses, c.Train, c.Seed)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	coder, err := NewCoder(m, models.DataOf(d))
	if err != nil {
		t.Fatal(err)
	}
	tr.AddHook(Hook{Name: "print", Epoch: func(r *EpochReport) error {
		if r.Epoch%5 != 0 {
			return nil
		}
		codes, err := coder.Encode(context.Background(), d, all(d))
		if err != nil {
			return err
		}
		res, err := metrics.Evaluate(&metrics.Input{Codes: metrics.NewMatrix(d.Len(), coder.Width(), codes), Levels: datasets.Levels(d), Factors: d.Factors()}, 0, c.Metrics)
		if err != nil {
			return err
		}
		fmt.Printf("epoch %d %.2fs %+v dlsbd %.3g %v\n", r.Epoch, r.Seconds, r.Losses, res[0].Value, res[0].Parts)
		return nil
	}})
	if err := tr.Fit(context.Background()); err != nil {
		t.Fatal(err)
	}
}
