package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/npy"
)

// Exported images have the codes of the run's own, bit for bit, and so do the images alone.
func TestEncodeImages(t *testing.T) {
	long.NotShort(t)
	dir := finished(t)
	t.Chdir(t.TempDir())
	succeed(t, "encode", "--run", dir, "--out", "own.npy")
	succeed(t, "data", "export", "square", "size=16", "side=4", "--out", "set")
	for _, images := range [][]string{{"set"}, {"set/images.npy", "--option", "scale=255", "--option=channels=last"}} {
		succeed(t, append([]string{"encode", "--run", dir, "--out=codes.npy", "--images"}, images...)...)
		if !bytes.Equal(readFile(t, "codes.npy"), readFile(t, "own.npy")) {
			t.Errorf("%s: other codes than the run's", images)
		}
	}

	var wide bytes.Buffer
	if err := npy.Write(&wide, []int{2, 8, 9, 1}, make([]float32, 2*8*9)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "wide.npy", wide.Bytes())
	encode := func(args ...string) outcome { return call(t, append([]string{"encode", "--run", dir}, args...)...) }
	checkMistake(t, encode("--images", "wide.npy", "--out=x.npy"), 1, "--images: 8 x 9 x 1; want the run's", "16 x 16 x 1")
	checkMistake(t, encode("--images", "set"), 2, "--images needs --out")
	checkMistake(t, encode("--images=set", "--option=scael=1", "--out=x.npy"), 2, `unknown key "scael"`)
	checkMistake(t, encode("--option", "scale=1"), 2, "--option belongs to --images")
	checkMistake(t, encode("--images", "gone", "--out=x.npy"), 1, "gone", "no such file")
	if _, err := os.Stat(filepath.Join(dir, "x.npy")); err == nil {
		t.Error("codes of other images are in the run's folder")
	}
}
