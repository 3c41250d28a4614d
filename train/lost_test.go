package train

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/pages"
	"github.com/unravel-ml/unravel/train/rundir"
)

// losing is a data set that loses its file after a number of images.
type losing struct {
	datasets.Dataset
	left *atomic.Int64
}

func (d losing) Image(i int, dst []float32) {
	if d.left.Add(-1) < 0 {
		panic(&pages.LostError{Path: "images.npy"})
	}
	d.Dataset.Image(i, dst)
}

// TestLostFile loses the file of images during training. The error names the file, the checkpoint remains, and the run
// can resume.
func TestLostFile(t *testing.T) {
	whole := must.Get((&drawn.Square{Size: 16, Side: 4, Step: 1}).Build(0))(t)
	left := &atomic.Int64{}
	must.OK(t, datasets.Register(registry.Entry[datasets.Builder]{Name: "test-losing", Doc: "images of a test",
		New: func() datasets.Builder { return &datasets.Given{Set: losing{whole, left}} }}))
	c, err := Load("lost.yaml",
		[]byte("name: lost\ndataset: test-losing\nmodel: {vae: {latent: 2, encoder: {mlp: {hidden: [8]}}}}\nlosses: [reconstruction, kl]\n"+
			"train: {epochs: 3, batch: 64, checkpoint: 0.000001, figures: false}\n"))
	must.OK(t, err)
	dir := filepath.Join(t.TempDir(), "run")
	left.Store(int64(2 * whole.Len()))
	var lost *pages.LostError
	if _, err := Run(t.Context(), c, Options{Dir: dir}); !errors.As(err, &lost) || lost.Path != "images.npy" {
		t.Fatalf("%v; want an error about the file", err)
	}
	if _, _, err := readOne(filepath.Join(dir, rundir.CheckpointFile)); err != nil {
		t.Errorf("the checkpoint: %v", err)
	}
	left.Store(1 << 40)
	if r, err := Run(t.Context(), c, Options{Dir: dir, Resume: true}); err != nil || r.Epochs != 3 {
		t.Errorf("resumed: %+v, %v", r, err)
	}
}
