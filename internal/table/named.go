package table

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Find returns the image of a picture's name, or false if there is none.
type Find func(name string) (image int, ok bool)

// ReadPairs is [Read] for a table of images. A text table may name them for find, which may be nil.
func ReadPairs(path string, find Find) (*Table, error) {
	return read(path, "pairs", false, func(t *Text) error {
		if t.Names != nil && (t.namesPicture(0, find) || t.namesPicture(len(t.Names)-1, find)) {
			t.Rows, t.Lines, t.Names = slices.Insert(t.Rows, 0, t.Names), slices.Insert(t.Lines, 0, 1), nil
		}
		for r, row := range t.Rows {
			for c, field := range row {
				if image := find.image(field); image >= 0 {
					row[c] = strconv.Itoa(image)
				} else if _, err := t.number(field); find != nil && err != nil {
					return t.errorf(r, c, "%q is no picture; want the name of one, or its number from 0", field)
				}
			}
		}
		return nil
	}, (*Text).numbers)
}

// ReadLabels is [ReadFactors] for labels of n images. A column of a text table may name the images for find, which may
// be nil. Then the rows get the order of the images, a missing row has missing values, and the column is left out.
func ReadLabels(path string, categorical Categorical, n int, find Find) (*Table, error) {
	return read(path, "labels", false, func(t *Text) error { return t.arrangeRows(n, find) }, categorical.read)
}

// image returns the image of a name, which is not a number, or -1.
func (find Find) image(name string) int {
	if _, err := parse(name); find == nil || err == nil {
		return -1
	}
	if image, ok := find(name); ok {
		return image
	}
	return -1
}

// namesPicture reports whether the name of a column is a picture's, perhaps with a mistake: it has the ending of the
// field below.
func (t *Text) namesPicture(c int, find Find) bool {
	ending := path.Ext(t.Names[c])
	return find.image(t.Names[c]) >= 0 || find != nil && ending != "" && ending == path.Ext(t.Rows[0][c])
}

func (t *Text) arrangeRows(n int, find Find) error {
	for c, first := range t.Rows[0] {
		images := make([]int, 0, len(t.Rows))
		for r, row := range t.Rows {
			image := find.image(row[c])
			if name := row[c][strings.LastIndexAny(row[c], `/\`)+1:]; image < 0 && name != row[c] && find.image(name) >= 0 {
				const want = "want such paths, or names like"
				return t.errorf(r, c, "%q is no path below the folder of the data set; %s %s", row[c], want, name)
			} else if image < 0 && r > 0 && path.Ext(first) != "" {
				return t.errorf(r, c, "%q is no picture of the data set, and %q is one; want pictures in all lines", row[c], first)
			} else if image < 0 {
				break
			}
			images = append(images, image)
		}
		if len(images) < len(t.Rows) || len(t.Rows[0]) == 1 {
			continue
		}
		if t.Names != nil && t.namesPicture(c, find) {
			return fmt.Errorf("%s: line 1 names the picture %s; want names of the columns there, such as file,size",
				t.file, t.Names[c])
		}
		return t.orderRows(c, n, images)
	}
	return nil
}

// orderRows moves each row to its image, and leaves out the column that names the images.
func (t *Text) orderRows(column, n int, images []int) error {
	rows, lines := make([][]string, n), make([]int, n)
	without := func(fields []string) []string { return slices.Delete(slices.Clone(fields), column, column+1) }
	for r, image := range images {
		if rows[image] != nil {
			return fmt.Errorf("%s: lines %d and %d are both about %s; want a line for each picture",
				t.file, lines[image], t.Lines[r], t.Rows[r][column])
		}
		rows[image], lines[image] = without(t.Rows[r]), t.Lines[r]
	}
	for image := range rows {
		if rows[image] == nil {
			rows[image] = make([]string, len(t.Rows[0])-1)
		}
	}
	if t.Names != nil {
		t.Names = without(t.Names)
	}
	t.Rows, t.Lines, t.first = rows, lines, slices.Delete(t.first, column, column+1)
	t.Notes = append(t.Notes, fmt.Sprintf("%s names %d of %d pictures", t.file, len(images), n))
	return nil
}
