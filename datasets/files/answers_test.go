package files

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// Answers name the rows of a folder of pictures by their files.
func TestAnswersAboutFiles(t *testing.T) {
	t.Setenv("UNRAVEL_DATA", must.MappedDir(t))
	dir := t.TempDir()
	writePictures(t, dir, "b.png", "a.png", "sub/c.png")
	f := &Folder{Path: dir, Size: datasets.PictureSize{8, 8}, Channels: 1, Fit: pictures.FitCrop, Filter: "box", Bins: 20,
		Unlabelled: "refuse"}
	d := must.Get(f.Build(0))(t)
	named, ok := d.(datasets.FileNamed)
	if !ok || named.FileName(2) != "sub/c.png" {
		t.Fatalf("the third file of %v has no name", d)
	}
	of := func(text string) *supervision.Answers {
		path := must.Write(t, filepath.Join(t.TempDir(), "pairs.csv"), text)
		return &supervision.Answers{File: path, Share: 0.5, Union: true}
	}
	s := must.Get(of("a.png,c,colour,same\n1,sub/c.png,colour,different").Split(d, nil))(t)
	if p := s.Known.Pairs; len(p) != 2 || p[0] != (supervision.SimilarPair{A: 0, B: 2}) ||
		p[1] != (supervision.SimilarPair{A: 1, B: 2, Different: true}) {
		t.Errorf("pairs %+v", p)
	}
	must.ErrorOf(of("a.png,d.png,colour,same").Split(d, nil))(t, `pairs.csv:1:7: no row has the name "d.png"`)
}

// Labels and pairs name pictures by their files, in any order. Without names they are in the order of the paths.
func TestLabelsAndPairsOfFiles(t *testing.T) {
	t.Setenv("UNRAVEL_DATA", must.MappedDir(t))
	dir := t.TempDir()
	writePictures(t, dir, "p1.png", "p2.png", "p10.png", "sub/c.png")
	f := NewFolder()
	f.Path = dir
	d := must.Get(f.Build(0))(t)
	if notes := d.(datasets.Noted).Notes(); !strings.Contains(fmt.Sprint(notes), "p10.png before p2.png") {
		t.Errorf("notes %q", notes)
	}
	split := func(text, pairs string) (*supervision.Split, error) {
		path := must.Write(t, filepath.Join(t.TempDir(), "mine.csv"), text+pairs)
		if pairs != "" {
			return (&supervision.Changes{File: path, Law: "redraw", Redraw: "any", Rate: 6}).Split(d, nil)
		}
		return (&supervision.FactorLabels{File: path, Fraction: 1, Share: 0.5}).Split(d, rng.New(1, "labels"))
	}
	s, err := split("v,file,w\n7,p10.png,a\n5,p2.png,b\n6,c,b\n", "")
	must.OK(t, err)
	for image, want := range [][]int32{{-1, -1}, {7, 0}, {5, 1}, {6, 1}} { // p1, p10, p2, sub/c
		got := make([]int32, 2)
		if s.Known.At(image, got); !slices.Equal(got, want) {
			t.Errorf("image %d: labels %v, want %v", image, got, want)
		}
	}
	if notes := fmt.Sprint(s.Known.Notes); !strings.Contains(notes, "names 3 of 4 pictures") ||
		strings.Count(notes, "kinds={v: ordinal} would order them") != 1 {
		t.Errorf("notes %q", notes)
	}
	s, err = split("", "p1.png,p2.png\np10,sub/c.png\n0,3\n")
	must.OK(t, err)
	must.EqualSlices(t, s.Drawn.Groups, []int{0, 2, 1, 3, 0, 3}, "pairs")
	for text, want := range map[string]string{
		"p1.png,p2.png\n0,p3.png\n":      `line 2, field 2: "p3.png" is no picture`,
		"p1.png,p3.png\np1.png,p2.png\n": `line 1, field 2: "p3.png" is no picture`, // not names of columns
		"p3.png,p4.png\np1.png,p2.png\n": `line 1, field 1: "p3.png" is no picture`,
	} {
		if _, err = split("", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	s, err = split("", "first.picture,second.picture\np1.png,p2.png\n")
	must.OK(t, err)
	must.EqualSlices(t, s.Drawn.Groups, []int{0, 2}, "pairs", "below names")
	for text, want := range map[string]string{
		"v,file\n7,p1.png\n5,p3.png\n":      `mine.csv: line 3, field 2: "p3.png" is no picture`,
		"v,file\n7,/home/p1.png\n":          `mine.csv: line 2, field 2: "/home/p1.png" is no path below the folder of the data set; want such paths, or names like p1.png`,
		"v,file\n7,p1.png\n5,D:\\p2.png\n":  `mine.csv: line 3, field 2: "D:\\p2.png" is no path`,
		"file,v\np1.png,3\nc,2\np1.png,1\n": "lines 2 and 4 are both about p1.png",
		"p1.png,red\np2.png,blue\n":         "line 1 names the picture p1.png",
		"p3.png,red\np2.png,blue\n":         "line 1 names the picture p3.png",
	} {
		must.ErrorOf(split(text, ""))(t, want, text)
	}
}
