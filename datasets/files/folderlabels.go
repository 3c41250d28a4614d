package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/internal/wording"
)

// labelTable holds the labels of pictures as text.
type labelTable struct {
	source   string     // for errors
	columns  []string   // names of the columns
	factors  []int      // columns that become factors
	rows     [][]string // fields, by column
	lines    []int      // line of each row in the file; 0: not from the file
	pictures []int      // index of each row's picture in the folder's list
	comma    bool       // numbers may have decimal commas
	notes    []string
}

// possibleLabels returns a note on a table or on folders that could be the labels of pictures without labels.
func possibleLabels(list *pictures.List) []string {
	const note = "the pictures have no labels (labels=none drops this note)"
	for _, ending := range []string{".csv", ".tsv"} {
		matches, _ := filepath.Glob(filepath.Join(list.Path, "*"+ending)) // only a bad pattern is an error
		if len(matches) > 0 {
			return []string{fmt.Sprintf("%s; labels=%s would read them from %s", note, filepath.Base(matches[0]), matches[0])}
		}
	}
	if slices.ContainsFunc(list.Files, func(p pictures.File) bool { return strings.Contains(p.Name, "/") }) {
		return []string{note + "; labels=folders would take the names of their folders"}
	}
	return nil
}

func (f *Folder) readLabels(list *pictures.List) (*labelTable, error) {
	switch f.Labels {
	case "", noLabels:
		if len(f.Factors) > 0 {
			return nil, config.Invalid("factors", "there are no labels; want labels, a table or folders")
		}
		n := len(list.Files)
		t := &labelTable{source: list.Path, rows: make([][]string, n), lines: make([]int, n), pictures: numeric.UpTo(n)}
		if f.Labels == "" {
			t.notes = possibleLabels(list)
		}
		t.notes = append(t.notes, orderNotes(list)...)
		return t, nil
	case folderNames:
		return f.folderLabels(list)
	}
	name := f.labelsPath()
	text, err := table.ReadTextFile(name, true)
	if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(name) {
		return nil, config.Invalid("labels", "there is neither %s nor %s; want a table of labels, folders or none",
			f.Labels, filepath.Join(f.Path, f.Labels))
	}
	if err != nil {
		return nil, err
	}
	file, err := f.fileColumn(text, name)
	if err != nil {
		return nil, err
	}
	fileName := text.Names[file]
	if err := text.DropUnnamed(file); err != nil {
		return nil, err
	}
	file = slices.Index(text.Names, fileName)
	t := &labelTable{source: name, columns: text.Names, comma: text.Comma, notes: text.Notes}
	if err := f.chooseColumns(t, text, file); err != nil {
		return nil, err
	}
	return t, f.match(t, text, file, list)
}

// labelsPath returns the path of the table of labels, as given or, if there is no such file, inside the folder.
func (f *Folder) labelsPath() string {
	inside := filepath.Join(f.Path, f.Labels)
	if _, err := os.Stat(f.Labels); errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(f.Labels) {
		if _, err := os.Stat(inside); err == nil {
			return inside
		}
	}
	return f.Labels
}

// fileColumns are the usual names of the column with the file names.
var fileColumns = []string{"file", "filename", "file_name", "filepath", "file_path", "image", "image_path",
	"image_name", "image_id", "picture", "path", "name", "id"}

func (f *Folder) fileColumn(text *table.Text, source string) (int, error) {
	if f.File != "" {
		i := slices.Index(text.Names, f.File)
		if i < 0 {
			return 0, config.Invalid("file", "%s has no column %q; want one of %s",
				source, f.File, registry.Some(text.Names, 10))
		}
		return i, nil
	}
	for _, usual := range fileColumns {
		if i := slices.IndexFunc(text.Names, func(n string) bool { return strings.EqualFold(n, usual) }); i >= 0 {
			return i, nil
		}
	}
	return 0, nil
}

func (f *Folder) chooseColumns(t *labelTable, text *table.Text, file int) error {
	if len(f.Factors) == 0 {
		for i := range text.Names {
			if i != file {
				t.factors = append(t.factors, i)
			}
		}
		return nil
	}
	for _, name := range f.Factors {
		i := slices.Index(text.Names, name)
		if i < 0 {
			return config.Invalid("factors", "%s has no column %q; want some of %s",
				t.source, name, registry.Some(text.Names, 10))
		}
		t.factors = append(t.factors, i)
	}
	return nil
}

// match finds the picture of each row, and lists pictures without a row and rows without a picture.
func (f *Folder) match(t *labelTable, text *table.Text, file int, list *pictures.List) error {
	index := newPictureIndex(list)
	if picture, ok := index.byPath[text.Names[file]]; ok {
		return fmt.Errorf("%s: line 1 names the picture %s; want names of the columns there, such as file,size",
			t.source, list.Files[picture].Name)
	}
	rowOf := make(map[int]int, len(text.Rows)) // row of each picture
	var unmatchedRows, unlabelled []string
	for r, row := range text.Rows {
		picture, err := index.find(row[file])
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", t.source, text.Lines[r], err)
		}
		if picture < 0 {
			unmatchedRows = append(unmatchedRows, fmt.Sprintf("%q (line %d)", row[file], text.Lines[r]))
			continue
		}
		if other, repeated := rowOf[picture]; repeated {
			return fmt.Errorf("%s: lines %d and %d are both about %s; want a line for each picture",
				t.source, text.Lines[other], text.Lines[r], list.Files[picture].Name)
		}
		rowOf[picture] = r
		t.rows, t.lines, t.pictures = append(t.rows, row), append(t.lines, text.Lines[r]), append(t.pictures, picture)
	}
	for i, p := range list.Files {
		if _, labelled := rowOf[i]; !labelled {
			unlabelled = append(unlabelled, p.Name)
			if f.Unlabelled == "keep" {
				row := make([]string, len(text.Names))
				t.rows, t.lines, t.pictures = append(t.rows, row), append(t.lines, 0), append(t.pictures, i)
			}
		}
	}
	return f.report(t, list, unmatchedRows, unlabelled)
}

// report returns an error or adds a note about rows without a picture and pictures without a row.
func (f *Folder) report(t *labelTable, list *pictures.List, unmatchedRows, unlabelled []string) error {
	var problems []string
	if len(unmatchedRows) > 0 {
		rows := "1 row names"
		if len(unmatchedRows) > 1 {
			rows = fmt.Sprint(len(unmatchedRows), " rows name")
		}
		problems = append(problems,
			fmt.Sprintf("%s no picture below %s: %s", rows, list.Path, registry.Some(unmatchedRows, 5)))
	}
	if len(unlabelled) > 0 {
		have := map[bool]string{true: "has", false: "have"}[len(unlabelled) == 1]
		problems = append(problems, fmt.Sprintf("%d of %d pictures %s no row: %s",
			len(unlabelled), len(list.Files), have, registry.Some(unlabelled, 5)))
	}
	if len(problems) == 0 {
		return nil
	}
	message := t.source + ": " + strings.Join(problems, "; ")
	if f.Unlabelled == "refuse" {
		return fmt.Errorf("%s; want a row for each picture, or dataset.folder.unlabelled=skip, or =keep", message)
	}
	t.notes = append(t.notes, message+" ("+f.Unlabelled+")")
	return nil
}

// folderLabels creates labels from folder names, with one column per folder level.
func (f *Folder) folderLabels(list *pictures.List) (*labelTable, error) {
	n, depth := len(list.Files), 0
	t := &labelTable{source: list.Path, columns: f.Factors, lines: make([]int, n), pictures: numeric.UpTo(n)}
	t.notes = orderNotes(list)
	for _, p := range list.Files {
		depth = max(depth, strings.Count(p.Name, "/"))
	}
	if depth == 0 {
		return nil, config.Invalid("labels",
			"there are no pictures in folders below %s; want such folders, a table of labels, or none", list.Path)
	}
	if len(f.Factors) > 0 && len(f.Factors) != depth {
		return nil, config.Invalid("factors", "has %s; want one for each of the %d levels of folders",
			wording.Count(len(f.Factors), "name"), depth)
	}
	for c := range depth {
		t.factors = append(t.factors, c)
		if len(f.Factors) == 0 {
			t.columns = append(t.columns, fmt.Sprint("folder", c+1))
		}
	}
	for _, p := range list.Files {
		row, folders := make([]string, depth), strings.Split(p.Name, "/")
		copy(row, folders[:len(folders)-1])
		t.rows = append(t.rows, row)
	}
	return t, nil
}

var trailingDigits = regexp.MustCompile(`[0-9]+$`)

// orderNotes notes that the numbers in names of pictures are in another order than the pictures.
func orderNotes(list *pictures.List) []string {
	for i := range list.Files[1:] {
		a, b := list.Files[i].Name, list.Files[i+1].Name
		stemA, stemB := strings.TrimSuffix(a, path.Ext(a)), strings.TrimSuffix(b, path.Ext(b))
		m, n := trailingDigits.FindString(stemA), trailingDigits.FindString(stemB)
		longer := len(strings.TrimLeft(m, "0")) > len(strings.TrimLeft(n, "0"))
		if longer && strings.TrimSuffix(stemA, m) == strings.TrimSuffix(stemB, n) {
			const note = "pictures are in the order of their names, %s before %s; rows of codes and other files are, too"
			return []string{fmt.Sprintf(note, a, b)}
		}
	}
	return nil
}

// pictureIndex finds pictures by their names in tables.
type pictureIndex struct {
	list        *pictures.List
	byPath      map[string]int // by path
	byShortName map[string]int // by name without folders, path without extension, and both; ambiguous: several
}

const ambiguous = -2

func newPictureIndex(list *pictures.List) *pictureIndex {
	x := &pictureIndex{list, make(map[string]int, len(list.Files)), make(map[string]int, 3*len(list.Files))}
	for i, p := range list.Files {
		name := norm.NFC.String(p.Name)
		x.byPath[name] = i
		for _, key := range slices.Compact([]string{path.Base(name), strings.TrimSuffix(name, path.Ext(name)),
			strings.TrimSuffix(path.Base(name), path.Ext(name))}) {
			if other, exists := x.byShortName[key]; exists && other != i {
				x.byShortName[key] = ambiguous
			} else {
				x.byShortName[key] = i
			}
		}
	}
	return x
}

// find returns the picture with a name, or -1 if there is none. The name is a path below the folder, which may begin
// with the folder's name, or the base name of a single picture. The extension may be missing.
func (x *pictureIndex) find(text string) (int, error) {
	name := norm.NFC.String(strings.ReplaceAll(text, `\`, "/"))
	switch {
	case name == "":
		return 0, errors.New("the name of the picture is empty; want a path below the folder")
	case strings.HasPrefix(name, "/") || len(name) > 2 && name[1:3] == ":/":
		return 0, fmt.Errorf("%q is an absolute path; want a path below the folder", text)
	case slices.Contains(strings.Split(name, "/"), ".."):
		return 0, fmt.Errorf(`%q has ".."; want a path below the folder`, text)
	}
	name = path.Clean(name)
	inside := strings.TrimPrefix(name, filepath.Base(x.list.Path)+"/")
	for _, n := range []string{name, inside} {
		if i, ok := x.byPath[n]; ok {
			return i, nil
		}
	}
	for _, n := range []string{name, inside} {
		if i, ok := x.byShortName[n]; ok && i != ambiguous {
			return i, nil
		} else if ok {
			return 0, fmt.Errorf("%q is the name of several pictures; want paths below the folder", text)
		}
	}
	return -1, nil
}
