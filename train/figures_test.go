package train

import (
	"bytes"
	"image/gif"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// drawnBy returns the figure files of a run.
func drawnBy(t *testing.T, c Config) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	trainIn(t, dir, c, false)
	entries := must.Get(os.ReadDir(filepath.Join(dir, rundir.FiguresDir)))(t)
	files := map[string][]byte{}
	for _, e := range entries {
		text := must.Read(t, filepath.Join(dir, rundir.FiguresDir, e.Name()))
		files[e.Name()] = text
	}
	return files
}

// An encoder without a decoder has figures of nearest neighbours, principal components and MED. A model with a decoder
// has an endless animation of traversals. Runs with the same config write the same bytes.
func TestFigures(t *testing.T) {
	long.NotShort(t)
	for _, test := range []struct {
		name  string
		c     Config
		files string
	}{
		{"two views", seenConfig(t, "byol", "train.epochs=1", "train.figures=true"), "codes.png embedding.png losses.png med.png retrieval.png"},
		{"one circle", load(t, "train.epochs=1", "train.figures=true", "supervision=none", "losses=[reconstruction, kl]",
			"model={delta-vae: {encoder: {mlp: {hidden: [16]}}, latent: [{sphere: {dim: 1}}, {euclidean: {dim: 2}}]}}"), "losses.png reconstructions.png torus.png traversals.gif traversals.png"},
		{"circles", load(t, "train.epochs=1", "train.figures=true"), "losses.png reconstructions.png torus.png traversals.gif traversals.png"},
	} {
		first, second := drawnBy(t, test.c), drawnBy(t, test.c)
		var names []string
		for name, text := range first {
			names = append(names, name)
			if !bytes.Equal(text, second[name]) {
				t.Errorf("%s: %s differs", test.name, name)
			}
		}
		slices.Sort(names)
		must.Equal(t, strings.Join(names, " "), test.files, test.name)
		animation, ok := first["traversals.gif"]
		if !ok {
			continue
		}
		g, err := gif.DecodeAll(bytes.NewReader(animation))
		if err != nil || len(g.Image) != 24 || g.LoopCount != 0 || len(animation) > 1<<19 {
			t.Errorf("%s: %d bytes, %v", test.name, len(animation), err)
		}
	}
}
