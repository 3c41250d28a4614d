package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/config"
	"github.com/unravel-ml/unravel/internal/raster"
)

// dataCommand is `unravel data`.
type dataCommand struct {
	List dataListCommand `cmd:"" default:"1" help:"List the data sets."`
	Show dataShowCommand `cmd:"" help:"Draw a contact sheet of a data set as a PNG."`
}

type dataListCommand struct{}

// Run lists the data sets.
func (*dataListCommand) Run(s *streams) error {
	printItems(s.out, itemsOf(datasets.Table))
	return nil
}

// dataShowCommand is `unravel data show NAME [option=value ...]`.
type dataShowCommand struct {
	Name    string         `arg:"" help:"The data set, see unravel data list."`
	Options []string       `arg:"" optional:"" help:"Its options, such as size=32."`
	Out     string         `default:"" placeholder:"FILE" help:"The PNG to write; NAME.png if absent."`
	Rows    string         `placeholder:"FACTOR" help:"The factor that changes from row to row; the first if absent."`
	Columns string         `placeholder:"FACTOR" help:"The factor that changes from column to column; the last if absent."`
	Count   int            `default:"8" help:"Levels of each factor to show."`
	Fixed   map[string]int `placeholder:"FACTOR=LEVEL" help:"Levels of the other factors; 0 if absent."`
	Scale   int            `default:"0" help:"Enlargement of each pixel; 0: as fits."`
}

// Run draws the sheet.
func (c *dataShowCommand) Run(s *streams) error {
	if c.Count < 1 || c.Scale < 0 {
		return usagef("--count %d, --scale %d: want a count of 1 or more and a scale of 0 or more", c.Count, c.Scale)
	}
	var settings struct {
		Dataset datasets.Choice `yaml:"dataset"`
	}
	overrides := make([]string, len(c.Options))
	for i, o := range c.Options {
		if !strings.Contains(o, "=") {
			return usagef("%q is not an option: want name=value", o)
		}
		overrides[i] = "dataset." + c.Name + "." + o
	}
	source := fmt.Sprintf("dataset: {%q: {}}", c.Name)
	if err := config.Load("data set", []byte(source), &settings, overrides...); err != nil {
		return err
	}
	d, err := settings.Dataset.Build(0)
	if err != nil {
		return fmt.Errorf("dataset %s: %w", c.Name, err)
	}
	sheet, err := datasets.ContactSheet(d, datasets.SheetOptions{Row: c.Rows, Column: c.Columns, Rows: c.Count, Columns: c.Count, Fixed: c.Fixed, Scale: c.Scale})
	if err != nil {
		return usageError{err}
	}
	if c.Out == "" {
		c.Out = c.Name + ".png"
	}
	if err := writeOut(c.Out, func(w io.Writer) error { return raster.WritePNG(w, sheet) }); err != nil {
		return err
	}
	h, w, channels := d.ImageShape()
	fmt.Fprintf(s.log, "%s: %d images of %dx%dx%d\n", c.Name, d.Len(), h, w, channels)
	for _, f := range d.Factors() {
		fmt.Fprintf(s.log, "  %s: %d levels, %v\n", f.Name, f.Size, f.Kind)
	}
	fmt.Fprintln(s.out, c.Out)
	return nil
}
