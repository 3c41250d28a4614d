// Package tables computes the tables of papers again and sets the values beside the
// printed ones.
//
// A [Table] is a YAML file: rows, each with a source of codes; columns, each a metric; a
// file of printed values; and notes on the cells that do not come out as printed, with the
// reason. [Table.Compute] makes a [Result], which says of every cell whether it agrees, and
// writes itself as text, Markdown, CSV, LaTeX, HTML and JSON.
package tables

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/registry"
)

// Table says how a table of a paper is computed.
type Table struct {
	Name     string           `yaml:"name" doc:"what the command line calls it"`
	Title    string           `yaml:"title" doc:"what it shows, in a line"`
	Source   string           `yaml:"source" doc:"paper and table"`
	Printed  ReferenceFile    `yaml:"reference" doc:"the printed values"`
	Decimals int              `yaml:"decimals" doc:"digits behind the point of our values"`
	Compare  Comparison       `yaml:"compare" doc:"difference, or ratio, of values that are times: these are set beside the printed ones, and never said to agree"`
	Subset   int              `yaml:"subset" doc:"measure so many random rows of the codes, others for every seed; 0: all"`
	Scales   Scales           `yaml:"scales" doc:"how much is computed"`
	DataSets []DataSet        `yaml:"datasets" doc:"data sets that all rows are trained on; none: rows say what they are trained on"`
	Rows     []Row            `yaml:"rows"`
	Columns  []Column         `yaml:"columns"`
	Also     []metrics.Choice `yaml:"also" doc:"what runs measure besides the columns, so that tables whose runs are the same can share them"`
	Folder   string           `yaml:"runs" doc:"the folder of its runs in runs/tables, which tables may share; empty: the table's name"`
	Notes    []Note           `yaml:"notes" doc:"the cells that do not come out as printed"`
	Boxes    *Boxes           `yaml:"boxes" doc:"a figure of one column's values in every run"`
	Curves   *Curves          `yaml:"curves" doc:"columns that --out draws as curves over the rows"`
	Remarks  []string         `yaml:"remarks" doc:"what to know of the table as a whole, a sentence or two each"`

	Reference *Reference `yaml:"-"` // the cells of the file

	folder string   // where files that rows name are looked for
	at     *DataSet // which of the data sets this copy is about
}

// ReferenceFile is where the printed values are.
type ReferenceFile struct {
	File    string `yaml:"file" doc:"a .csv file, as a path from the folder of this one"`
	Dataset string `yaml:"dataset" doc:"the data set whose cells are meant, if the table has no list of data sets"`
	Draws   int    `yaml:"draws" doc:"draws or runs that a printed value is the mean of"`
	Label   string `yaml:"label" doc:"who has printed them; empty: the paper"`
}

// Row is a row of the table.
type Row struct {
	Label   string       `yaml:"label" doc:"its name, in the reference file too"`
	Dataset string       `yaml:"dataset" doc:"the data set of its printed cells, if not that of the reference"`
	Printed string       `yaml:"printed" doc:"its name in the reference file, if not the label"`
	From    SourceChoice `yaml:"from" doc:"where its codes come from"`
	Missing string       `yaml:"missing" doc:"instead of from: why it cannot be computed"`
	Series  string       `yaml:"series" doc:"the curve that it is a point of"`
	At      float64      `yaml:"at" doc:"with series: where on the axis of the curves"`
	Full    bool         `yaml:"full" doc:"compute it at the scale full only"`
}

// Column is a column of the table.
type Column struct {
	Label     string         `yaml:"label" doc:"its name, in the reference file too"`
	Group     string         `yaml:"group" doc:"what stands above it and its neighbours"`
	Metric    metrics.Choice `yaml:"metric"`
	Fit       FitValue       `yaml:"fit" doc:"instead of metric: what the run has fitted, reconstruction, held_out, assignment or variance"`
	Part      string         `yaml:"part" doc:"the part of the metric's result that is meant; empty: its value"`
	Of        string         `yaml:"of" doc:"label of the entry to show, for a part with several values (for example a factor's name)"`
	Transform Transform      `yaml:"transform" doc:"what is done to the value: x (nothing), exp(-x), 2x or 100x"`
	Aggregate Aggregate      `yaml:"aggregate" doc:"how values of several seeds become one: mean or median"`
	Decimals  *int           `yaml:"decimals" doc:"digits behind the point of our values, if not as the table says"`
	Doc       string         `yaml:"doc" doc:"what the paper computes, where that is not what the name says"`
}

// Note says of cells that they do not come out as printed, and why.
type Note struct {
	Rows    []string `yaml:"rows"`
	Columns []string `yaml:"columns"`
	Reason  string   `yaml:"reason"`
}

// SetDefaults implements config.Defaulter.
func (c *Column) SetDefaults() { c.Transform, c.Aggregate = Plain, Mean }

// Names lists the tables that come with Unravel, in alphabetical order.
func Names() []string {
	entries, err := fs.Glob(configs.Tables(), "*.yaml")
	if err != nil { // the pattern is right
		return nil
	}
	for i, e := range entries {
		entries[i] = strings.TrimSuffix(e, ".yaml")
	}
	return entries
}

// Open reads a table: a file if there is one of that name, else one that comes with Unravel.
func Open(name string) (*Table, error) {
	isFile := strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
	if info, err := os.Stat(name); isFile || err == nil && info.Mode().IsRegular() {
		dir, file := filepath.Split(name)
		t, err := Load(os.DirFS(filepath.Clean(dir)), file, dir)
		if err == nil {
			t.folder = dir
		}
		return t, err
	}
	if _, err := fs.Stat(configs.Tables(), name+".yaml"); err != nil || name == "" {
		return nil, &UnknownError{name}
	}
	return Load(configs.Tables(), name+".yaml", "tables/")
}

// UnknownError is the error of Open about a name that no table has.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no table %q%s", e.Name, registry.Suggest(e.Name, Names()))
}

// readConfig reads a file of a table.
func readConfig(fsys fs.FS, file, shown string) ([]byte, error) {
	f, err := fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	return config.ReadAll(f, shown)
}

// Load reads a table and its reference file from a file system. Errors show the folder before
// the names of files.
func Load(fsys fs.FS, file, folder string) (*Table, error) {
	shown := folder + file
	src, err := readConfig(fsys, file, shown)
	if errors.As(err, new(*config.Error)) {
		return nil, err
	}
	if err != nil {
		var where *fs.PathError
		if errors.As(err, &where) {
			err = where.Err
		}
		return nil, fmt.Errorf("table %s: %w", shown, err)
	}
	root, err := config.Parse(shown, src)
	if err != nil {
		return nil, err
	}
	t := &Table{Printed: ReferenceFile{Draws: 1}, Compare: Difference, Decimals: 3, Scales: defaultScales()}
	if err := root.Decode(t); err != nil {
		return nil, err
	}
	if !fs.ValidPath(t.Printed.File) {
		return nil, root.Invalid("reference.file", "%q is not a path from the folder of the table", t.Printed.File)
	}
	if t.Reference, err = ReadReference(fsys, t.Printed.File, folder+path.Clean(t.Printed.File)); err != nil {
		return nil, err
	}
	if key, err := t.againstReference(); err != nil {
		return nil, root.Invalid(key, "%w", err)
	}
	return t, nil
}
