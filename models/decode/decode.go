// Package decode chooses codes whose images show what a model has learned: traversals of every part of a code, grids of
// one part against another, and interpolations between images or objects (Tonnaer et al. 2022, figures 9 to 12). It computes codes
// only; the model's decoder makes images of them, and package report pictures.
//
// A part is what moves alone: a circle, a sphere towards an axis, a coordinate of R^n or the choice of an option.
package decode

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Codes describes the codes of a model.
type Codes struct {
	Spaces    []models.Space
	Hierarchy hierarchy.Hierarchy // of codes with discrete columns; nil: they have none
	Known     metrics.Matrix      // codes of images, in which coordinates have their ranges; without rows: -2 to 2
}

// Of describes the codes of a model, given those of some images.
func Of(m models.Model, known metrics.Matrix) *Codes {
	return &Codes{Spaces: m.Spaces(), Hierarchy: models.HierarchyOf(m), Known: known}
}

// Width returns the number of columns of a code.
func (c *Codes) Width() (n int) {
	for _, s := range c.Spaces {
		n += s.Width
	}
	return n
}

// Row is a row of a sheet: codes, one for each picture.
type Row struct {
	Label  string
	Codes  [][]float64
	Cyclic bool // the first code follows the last
}

// Sheet is a table of codes to decode.
type Sheet struct {
	Name        string // of its files
	Title       string
	ColumnTitle string
	Columns     []string // labels
	Rows        []Row    // rows of unequal length leave blanks
	Moves       bool     // along the columns, so that they are the frames of an animation
}

// Codes returns the codes of all rows as a decoder takes them, one after the other.
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

// Count returns the number of codes.
func (s *Sheet) Count() (n int) {
	for _, r := range s.Rows {
		n += len(r.Codes)
	}
	return n
}

// Table arranges codes row by row, each labelled with the number of its first one.
func Table(name, title string, codes [][]float64, columns int) *Sheet {
	s := &Sheet{Name: name, Title: title}
	for row := range slices.Chunk(codes, columns) {
		s.Rows = append(s.Rows, Row{Label: fmt.Sprint(len(s.Rows) * columns), Codes: row})
	}
	return s
}

// unit reports whether the points of a space have length 1.
func unit(s models.Space) bool { return s.Unit || s.Circle || s.Sphere }

// options returns the number of discrete columns, which come first.
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

// active reports for the columns of a code whether they are in use: all are of codes without discrete ones.
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

// row makes a code of options and of values for all continuous dimensions; those that the options leave out are 0.
func (c *Codes) row(choice []int, values []float64) []float64 {
	code := make([]float64, len(choice)+len(values))
	// Choices are those of codes or of options in range.
	if err := c.Hierarchy.Row(choice, values, code); err != nil {
		panic(err)
	}
	return code
}
