package files

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/pages"
)

// TestFileCutShort cuts a mapped file short. Reading a lost image is an error with the file's name, and other images
// remain.
func TestFileCutShort(t *testing.T) {
	const n, size = 64, 64 * 64
	path := filepath.Join(t.TempDir(), "images.npy")
	var whole bytes.Buffer
	must.OK(t, npy.Write(&whole, []int{n, 64, 64, 1}, bytes.Repeat([]byte{0, 255, 7, 99}, n*size/4)))
	must.Write(t, path, whole.Bytes())
	set := GridFolder{Path: path}
	d, err := set.read(t.Context(), 0)
	if err != nil || d.Mapped != path {
		t.Fatalf("mapped %q, %v", d.Mapped, err)
	}
	must.OK(t, os.Truncate(path, int64(whole.Len()/2)))
	pixels := make([]float32, size)
	image := func(i int) (err error) {
		defer pages.Recover(&err)
		d.Image(i, pixels)
		return nil
	}
	var lost *pages.LostError
	if err := image(n - 1); !errors.As(err, &lost) || lost.Path != path {
		t.Errorf("error %v; want one about %s", err, path)
	}
	if err := image(0); err != nil || pixels[1] != 1 {
		t.Errorf("the first image: %v, %v", pixels[:4], err)
	}
}
