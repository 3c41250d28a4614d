package files

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/must"
)

// Answers name the rows of a folder of pictures by their files.
func TestAnswersAboutFiles(t *testing.T) {
	t.Setenv("UNRAVEL_DATA", t.TempDir())
	dir := t.TempDir()
	writePictures(t, dir, "b.png", "a.png", "sub/c.png")
	f := &Folder{Path: dir, Size: datasets.PictureSize{8, 8}, Channels: 1, Fit: pictures.FitCrop, Filter: "box", Bins: 20, Unlabelled: "refuse"}
	d, err := f.Build(0)
	must.OK(t, err)
	named, ok := d.(datasets.FileNamed)
	if !ok || named.FileName(2) != "sub/c.png" {
		t.Fatalf("the third file of %v has no name", d)
	}
	of := func(text string) *supervision.Answers {
		path := must.Write(t, filepath.Join(t.TempDir(), "pairs.csv"), text)
		return &supervision.Answers{File: path, Share: 0.5, Union: true}
	}
	s, err := of("a.png,c,colour,same\n1,sub/c.png,colour,different").Split(d, nil)
	must.OK(t, err)
	if p := s.Known.Pairs; len(p) != 2 || p[0] != (supervision.SimilarPair{A: 0, B: 2}) || p[1] != (supervision.SimilarPair{A: 1, B: 2, Different: true}) {
		t.Errorf("pairs %+v", p)
	}
	if _, err := of("a.png,d.png,colour,same").Split(d, nil); err == nil || !strings.Contains(err.Error(), `pairs.csv:1:7: there is no row of the name "d.png"`) {
		t.Error(err)
	}
}
