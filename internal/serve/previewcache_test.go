package serve

import (
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// A preview does not convert data sets, because a server changes no files.
func TestPreviewLeavesCache(t *testing.T) {
	dir := folder(t, "one")
	pictures := filepath.Join(t.TempDir(), "pictures")
	for _, name := range []string{"a/0.png", "b/0.png"} {
		path := filepath.Join(pictures, filepath.FromSlash(name))
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		f := must.Get(os.Create(path))(t)
		must.OK(t, errors.Join(png.Encode(f, image.NewGray(image.Rect(0, 0, 16, 16))), f.Close()))
	}
	text := must.Read(t, filepath.Join(dir, "one", rundir.Config))
	at := strings.Index(string(text), "\nsupervision:")
	write(t, "name: one\nseed: 1\ndataset:\n  folder:\n    path: "+pictures+string(text)[at:], dir, "one", rundir.Config)
	data := filepath.Join(t.TempDir(), "data")
	t.Setenv("UNRAVEL_DATA", data)
	_, err := NewPreview(t.Context(), filepath.Join(dir, "one"))
	if !errors.Is(err, cache.ErrAbsent) || !strings.Contains(err.Error(), "unravel eval --run") {
		t.Error(err)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the preview has made the cache")
	}
}
