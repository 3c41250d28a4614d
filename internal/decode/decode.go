// Package decode chooses codes for pictures that show what a model has learned: traversals of every part of a code,
// grids of one part against another, and interpolations between images or objects (Tonnaer et al. 2022, figures 9 to
// 12). It only computes codes. The model's decoder computes images from them, and package report draws pictures.
//
// A part is a piece of a code that varies separately: a circle, a sphere towards an axis, a coordinate of R^n or a
// categorical choice.
package decode

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Codes describes the latent codes of a model.
type Codes struct {
	Spaces    []models.Space
	Hierarchy hierarchy.Hierarchy // for codes with discrete columns; nil: no discrete columns
	Known     matrix.Matrix       // codes of images, which determine the ranges of coordinates; without rows: -2 to 2
}

// Of describes the latent codes of a model. known has the codes of some images.
func Of(m models.Model, known matrix.Matrix) *Codes {
	return &Codes{Spaces: m.Spaces(), Hierarchy: models.HierarchyOf(m), Known: known}
}

// Width returns the number of columns of a code.
func (c *Codes) Width() (n int) {
	for _, s := range c.Spaces {
		n += s.Width
	}
	return n
}

// Row is a row of a sheet with a code for each picture.
type Row struct {
	Label  string
	Codes  [][]float64
	Cyclic bool // the row is periodic: the first code follows the last
}

// Sheet is a table of codes to decode.
type Sheet struct {
	Name        string // in file names
	Title       string
	ColumnTitle string
	Columns     []string // labels
	Rows        []Row    // shorter rows have blanks at the end
	Moves       bool     // columns are steps of a movement, and can be the frames of an animation
}

// Codes returns the codes of all rows as one array, in the layout of a decoder.
func (s *Sheet) Codes() (codes []float32) {
	for _, r := range s.Rows {
		for _, code := range r.Codes {
			for _, v := range code {
				codes = append(codes, float32(v))
			}
		}
	}
	return codes
}

func (s *Sheet) Count() (n int) {
	for _, r := range s.Rows {
		n += len(r.Codes)
	}
	return n
}

// Table arranges codes in a sheet, row by row. The label of a row is the number of its first code.
func Table(name, title string, codes [][]float64, columns int) *Sheet {
	s := &Sheet{Name: name, Title: title}
	for row := range slices.Chunk(codes, columns) {
		s.Rows = append(s.Rows, Row{Label: fmt.Sprint(len(s.Rows) * columns), Codes: row})
	}
	return s
}

// unit reports whether the points of a space have norm 1.
func unit(s models.Space) bool { return s.Unit || s.Circle || s.Sphere }

// options returns the number of discrete columns. Discrete columns come first.
func (c *Codes) options() int {
	if c.Hierarchy == nil {
		return 0
	}
	return len(c.Hierarchy.Categoricals())
}

// choice returns the chosen options of a code, from 0; -1: none.
func (c *Codes) choice(code []float64) []int {
	list := make([]int, c.options())
	for i := range list {
		list[i] = int(code[i]+0.5) - 1
	}
	return list
}

// active reports which columns a code uses. Codes without discrete columns use all columns.
func (c *Codes) active(code []float64) []bool {
	if c.Hierarchy == nil {
		return slices.Repeat([]bool{true}, len(code))
	}
	k := c.options()
	list := make([]bool, len(code))
	for i := range k {
		list[i] = code[i] > 0.5
	}
	c.Hierarchy.Masks(c.choice(code), list[k:])
	return list
}

// row returns the code with the given options and values of all continuous dimensions. Dimensions that the options do
// not open become 0.
func (c *Codes) row(choice []int, values []float64) []float64 {
	code := make([]float64, len(choice)+len(values))
	// choices are valid: they come from codes or from options in range
	if err := c.Hierarchy.Row(choice, values, code); err != nil {
		panic(err)
	}
	return code
}
