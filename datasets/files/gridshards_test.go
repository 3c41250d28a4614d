package files

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

// Images in several files are converted once, and again after a change of any file.
func TestGridShards(t *testing.T) {
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	dir := t.TempDir()
	write := func(name string, n int, pixels ...uint8) {
		t.Helper()
		var b bytes.Buffer
		must.OK(t, npy.Write(&b, []int{n, 1, 2, 1}, pixels))
		must.Write(t, filepath.Join(dir, name), b.Bytes())
	}
	write("images-000.npy", 2, 1, 2, 3, 4)
	write("images-001.npy", 1, 5, 255)
	set := &GridFolder{Path: dir, Channels: "last", Rows: "first"}
	for _, last := range []uint8{255, 254} {
		write("images-001.npy", 1, 5, last)
		for _, inMemory := range []int{0, maxInMemory} {
			d := must.Get(set.read(t.Context(), inMemory))(t)
			if want := []uint8{1, 2, 3, 4, 5, last}; !slices.Equal(d.Bytes, want) || d.Count != 3 {
				t.Errorf("%d bytes in memory: pixels %v of %d images, want %v", inMemory, d.Bytes, d.Count, want)
			}
		}
	}
	var keys []string
	for _, r := range set.Reads() {
		keys = append(keys, r.Key)
	}
	must.EqualSlices(t, keys, []string{"path/images-000", "path/images-001"}, "a run records")
}
