package datasets

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dSprites of a smaller grid has the pixels and levels that NumPy reads.
func TestDSprites(t *testing.T) {
	files, _ := readGolden(t, "dsprites")
	want := files[dspritesFile]
	publicFiles(t, "dsprites", map[string]string{dspritesFile: filepath.Join("dsprites", dspritesFile)})
	d, err := (&DSprites{}).Build(0)
	if err != nil {
		t.Fatal(err)
	}
	h, w, c := d.ImageShape()
	if shape := []int{d.Len(), h, w, c}; !slices.Equal(shape, want.Shape) {
		t.Errorf("shape %v; want %v", shape, want.Shape)
	}
	if got := pixelHash(d, 255); got != want.Hash {
		t.Errorf("hash %s; want %s", got, want.Hash)
	}
	twin, err := (&Sprites{Size: 64, Scales: 2, Orientations: 4, Positions: 4}).Build(0)
	if err != nil {
		t.Fatal(err)
	}
	for k, f := range twin.Factors() {
		if g := d.Factors()[k]; g.Name != f.Name || g.Kind != f.Kind || g.Size != f.Size {
			t.Errorf("factor %d is %v; want that of the twin, %v", k, g, f)
		}
	}
}

// Broken files are refused with what is wrong with them.
func TestDSpritesBroken(t *testing.T) {
	for file, words := range map[string]string{
		"nokey.npz": "imgs", "object.npz": "object", "pixels.npz": "value 255", "rgb.npz": "shape [48 3 64 64]",
		"rows.npz": "latents_classes has shape [47 6], and imgs has 48 images", "shortmember.npz": "imgs", "truncated.npz": "not a .npz file",
	} {
		publicFiles(t, "dsprites", map[string]string{dspritesFile: filepath.Join("dsprites", "broken", file)})
		if _, err := (&DSprites{}).Build(0); err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), dspritesFile) {
			t.Errorf("%s: %v; want %q and the name of the file", file, err, words)
		}
	}
}
