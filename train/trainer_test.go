package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/engine"
)

// loopOf prepares the training of a config.
func loopOf(t testing.TB, c Config) *engine.Loop {
	t.Helper()
	e := must.Get(NewExperiment(c))(t)
	loop := must.Get(e.Loop())(t)
	t.Cleanup(loop.Close)
	return loop
}

// Every embedded experiment loads, and is equal after writing and reading. It suits its metrics, and takes a step. The
// default test takes the first experiment of every other folder.
func TestEmbedded(t *testing.T) {
	long.NotShort(t)
	folder, folders := "", 0
	for _, name := range configs.Names() {
		first := false
		if path.Dir(name) != folder {
			folder, first = path.Dir(name), folders%2 == 0
			folders++
		}
		t.Run(name, func(t *testing.T) {
			source := must.Get(configs.Read(name))(t)
			c := must.Get(Load(name, source))(t)
			checkRoundTrip(t, c)
			if !long.Enabled() {
				if !first && c.Dataset.Name != "folder" {
					return
				}
				reduce(&c)
			}
			if c.Dataset.Name == "folder" {
				writePhotos(t)
			}
			e := must.Get(NewExperiment(c))(t)
			if err := e.suits(c.Metrics.Final, e.Data.Len()); err != nil {
				t.Error(err)
			}
			loop := must.Get(e.Loop())(t)
			defer loop.Close()
			var loss float64
			enough := errors.New("enough")
			loop.AddHook(engine.Hook{Name: "first", OnStep: func(_ context.Context, _ *engine.Loop, r *engine.StepReport) error {
				loss = r.Values[0]
				return enough
			}})
			if err := loop.Run(context.Background()); !errors.Is(err, enough) {
				t.Fatal(err)
			}
			if !(loss > 0) || !finite(loss) {
				t.Errorf("the first loss is %v", loss)
			}
		})
	}
}

// reduce shortens an experiment: a smaller data set and cheaper steps.
func reduce(c *Config) {
	switch d := c.Dataset.Value.(type) {
	case *drawn.Spaceshapes:
		d.Samples = 500
	case *drawn.Room:
		d.Orientations = 2
	case *drawn.Sprites:
		d.Positions = min(d.Positions, 8)
	case *drawn.Turntable:
		d.Objects = min(d.Objects, 50)
	}
	c.Train.Batch = min(c.Train.Batch, 24)
}

// writePhotos writes the pictures for configs/vae/folder.yaml in a temporary current folder, with a temporary cache.
func writePhotos(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	must.OK(t, os.Mkdir("photos", 0o777))
	labels := "file,brightness,half\n"
	for i := range 8 {
		m := image.NewGray(image.Rect(0, 0, 10, 10))
		m.Pix[0] = uint8(i)
		var b bytes.Buffer
		must.OK(t, png.Encode(&b, m))
		name := fmt.Sprintf("%d.png", i)
		must.Write(t, filepath.Join("photos", name), b.Bytes())
		labels += fmt.Sprintf("%s,%d,%d\n", name, i%4, i/4)
	}
	must.Write(t, "labels.csv", labels)
}

// checkRoundTrip compares the text of a config with the text after reading it.
func checkRoundTrip(t *testing.T, c Config) {
	t.Helper()
	text := must.Get(c.Encode())(t)
	again, err := Load("again", text)
	if err != nil {
		t.Fatalf("the config cannot be read back: %v\n%s", err, text)
	}
	second := must.Get(again.Encode())(t)
	must.Equal(t, string(second), string(text), "the config written again")
}

// A shortened epoch takes the given number of steps, and a run of such epochs resumes to the same bits.
func TestEpochSteps(t *testing.T) {
	long.NotShort(t)
	c := load(t, "train.epoch_steps=3")
	whole, dir := t.TempDir(), t.TempDir()
	if r := trainIn(t, whole, c, false); r.Epochs != 3 || r.Steps != 9 {
		t.Errorf("%d epochs of %d steps together, want 3 of 9", r.Epochs, r.Steps)
	}
	trainInParts(t, dir, c, 1, 2)
	sameBits(t, "a resumed run", bits(t, dir), bits(t, whole))
	long := load(t, "train.epoch_steps=100")
	if r := trainIn(t, t.TempDir(), long, false); r.Steps != 3*tinySteps || loopOf(t, long).EpochSteps() != tinySteps {
		t.Errorf("%d steps, want %d: an epoch ends with its data", r.Steps, 3*tinySteps)
	}
}
