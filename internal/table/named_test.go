package table

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// pictures are three images of a folder.
func pictures(name string) (image int, ok bool) {
	image, ok = map[string]int{"a.png": 0, "b.png": 1, "d/c.png": 2, "p": 0}[name]
	return image, ok
}

// tableFile writes a table into a file.
func tableFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.csv")
	must.OK(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// A column that names the images puts rows in their order. An image without a row has missing values.
func TestLabelsByName(t *testing.T) {
	for text, want := range map[string]string{
		"file,x,y\nd/c.png,5,6\na.png,1,2\n":            "[x y] [1 2 NaN NaN 5 6]",
		"x,file,y\n3,b.png,4\n1,a.png,2\n5,d/c.png,6\n": "[x y] [1 2 3 4 5 6]",
		"x,y,file\n3,4,b.png\n":                         "[x y] [NaN NaN 3 4 NaN NaN]",
		"1,2,a.png\n3,4,b.png\n":                        "[] [1 2 3 4 NaN NaN]",
		"file,x\na.png,1\na.png,2\n":                    "lines 2 and 3 are both about a.png; want a line for each picture",
		"a.png,x\nb.png,1\n":                            "line 1 names the picture a.png; want names of the columns there, such as file,size",
		"e.png,x\nb.png,1\n":                            "line 1 names the picture e.png",
		"file,x\na.png,1\ne.png,2\n":                    `"e.png" is no picture of the data set, and "a.png" is one; want pictures in all lines`,
		"file,x\n/p/a.png,1\n":                          `"/p/a.png" is no path below the folder of the data set; want such paths, or names like a.png`,
		"file,x\na.png,1\n" + `p\b.png` + ",2\n":        `p\\b.png" is no path below the folder of the data set; want such paths, or names like b.png`,
		"x,y\n5,6\n1,2\n3,4\n":                          "[x y] [5 6 1 2 3 4]",
	} {
		got, err := ReadLabels(tableFile(t, text), nil, 3, pictures)
		if err != nil {
			must.Error(t, err, want, text)
			continue
		}
		must.Equal(t, fmt.Sprint(got.Names, " ", got.Data), want, text)
		if named := strings.Contains(text, ".png"); named != strings.Contains(fmt.Sprint(got.Notes), " of 3 pictures") {
			t.Errorf("%q: the notes are %q", text, got.Notes)
		}
	}
	alone := must.Get(ReadLabels(tableFile(t, "file,x\na.png,1\nb.png,2\n"), nil, 2, nil))(t) // words, without pictures to find
	must.Equal(t, fmt.Sprint(alone.Names, alone.Cols), "[file x] 2")
}

// Pairs may name their images. The first line then holds names of columns or a pair.
func TestPairsByName(t *testing.T) {
	for text, want := range map[string]string{
		"first,second,m\na.png,d/c.png,3\nb.png,0,4\n": "[first second m] [0 2 3 1 0 4]",
		"a.png,b.png\nd/c.png,a.png\n":                 "[] [0 1 2 0]",
		"0,b.png\n2,a.png\n":                           "[] [0 1 2 0]",
		"a.png,0\nb.png,2\n":                           "[] [0 0 1 2]",
		"i,j\n0,2\n1,0\n":                              "[i j] [0 2 1 0]",
		"i,j\na.png,e.png\n":                           `line 2, field 2: "e.png" is no picture; want the name of one, or its number from 0 (column j)`,
		"p,p\na.png,b.png\n":                           "[] [0 0 0 1]",
		"a.png,e\nb.png,a.png\n":                       `line 1, field 2: "e" is no picture`,
		"e,a.png\nb.png,a.png\n":                       `line 1, field 1: "e" is no picture`,
		"a.png,e.png\nb.png,a.png\n":                   `"e.png" is no picture`,
	} {
		got, err := ReadPairs(tableFile(t, text), pictures)
		if err != nil {
			must.Error(t, err, want, text)
			continue
		}
		must.Equal(t, fmt.Sprint(got.Names, " ", got.Data), want, text)
	}
	must.ErrorOf(ReadPairs(tableFile(t, "i,j\n0,x\n"), nil))(t, "x")
}
