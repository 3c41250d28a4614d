// Package tables recomputes the tables of papers and compares our values with the printed ones.
//
// A [Table] is a YAML file. It lists rows, each with a source of codes, and columns, each with a metric. It names a
// file of printed values, and explains cells that differ in notes. [Table.Compute] computes a [Result], which says for
// every cell whether it agrees. Package show writes it as text, Markdown, CSV, LaTeX and HTML.
//
// A user's table is a YAML file with a reference file ([Open], [Load]). Its rows may name sources that a program adds
// with [RegisterSource].
package tables

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables/internal/reference"
)

// Table is the definition of a table of a paper.
type Table struct {
	Name     string           `yaml:"name" doc:"name on the command line"`
	Title    string           `yaml:"title" doc:"title in one line"`
	Source   string           `yaml:"source" doc:"paper and table"`
	Printed  ReferenceFile    `yaml:"reference" doc:"the printed values"`
	Decimals int              `yaml:"decimals" doc:"decimals of the computed values"`
	Scales   Scales           `yaml:"scales" doc:"amounts of computation, by name"`
	DataSets []DataSet        `yaml:"datasets" doc:"data sets to train all rows on; none: each row names its data set"`
	Rows     []Row            `yaml:"rows" doc:"the rows"`
	Columns  []Column         `yaml:"columns" doc:"the columns"`
	Also     []metrics.Choice `yaml:"also" doc:"more metrics for the runs to measure, to share the runs between tables"`
	Folder   string           `yaml:"runs" doc:"folder of the runs in runs/tables; tables may share it; empty: the table's name"`
	Notes    []Note           `yaml:"notes" doc:"cells that are not reproduced, and the reasons"`
	Agree    bool             `yaml:"agreement" doc:"rank the rows in every column, and show the mean ranks and Kendall's tau between the columns"`
	Boxes    *Boxes           `yaml:"boxes" doc:"a box plot of one column over runs"`
	Curves   *Curves          `yaml:"curves" doc:"columns for --out to plot as curves over the rows"`
	Remarks  []string         `yaml:"remarks" doc:"remarks on the table as a whole, a sentence or two each"`

	reference *reference.File // printed cells

	cache  *tableCache // set by Load
	folder string      // folder of the table's file, for the files that rows name
	isFile bool        // the table is a user's file
	real   bool        // runs use public data sets instead of their twins
}

// ReferenceFile specifies the printed values.
type ReferenceFile struct {
	File    string `yaml:"file" doc:".csv file, as a path relative to this file"`
	Dataset string `yaml:"dataset" doc:"data set of the cells, in a table without a list of data sets"`
	Draws   int    `yaml:"draws" doc:"number of samples or runs averaged in a printed value"`
	Label   string `yaml:"label" doc:"source of the printed values; empty: the paper"`
}

// Row is a row of the table.
type Row struct {
	Label   string       `yaml:"label" doc:"label of the row, also in the reference file"`
	Dataset string       `yaml:"dataset" doc:"data set of the printed cells; empty: the reference's data set"`
	Printed string       `yaml:"printed" doc:"label in the reference file, if different"`
	From    SourceChoice `yaml:"from" doc:"source of the codes"`
	Missing string       `yaml:"missing" doc:"instead of from: reason why the row cannot be computed"`
	Series  string       `yaml:"series" doc:"curve with the row as a point"`
	At      float64      `yaml:"at" doc:"with series: position on the horizontal axis"`
	Scales  []string     `yaml:"scales" doc:"scales that compute the row, such as [full]; none: all"`
	On      []string     `yaml:"on" doc:"labels of the row's data sets; none: all"`
}

// Column is a column of the table.
type Column struct {
	Label     string         `yaml:"label" doc:"label of the column, also in the reference file"`
	Group     string         `yaml:"group" doc:"heading above adjacent columns"`
	Metric    metrics.Choice `yaml:"metric" doc:"metric shown in the column"`
	Fit       FitValue       `yaml:"fit" doc:"instead of metric: quantity of the run's fit: reconstruction, held_out, assignment or variance"`
	Seconds   []string       `yaml:"seconds" doc:"instead of metric: parts of a run to add up in seconds: total, training, finishing, or stages before training, by their names in run.json"`
	Share     []string       `yaml:"share" doc:"instead of metric: parts of a run, in percent of the total"`
	Part      string         `yaml:"part" doc:"part of the metric's result to show; empty: the value"`
	Of        string         `yaml:"of" doc:"label of the entry to show in a part with several values (for example a factor's name)"`
	Transform Transform      `yaml:"transform" doc:"function of the value to show: x (itself), exp(-x), 2x, 100x, or x<NUMBER such as x<0.1 (1 below it, else 0)"`
	Decimals  *int           `yaml:"decimals" doc:"decimals of the computed values; if absent, the table's decimals"`
	Doc       string         `yaml:"doc" doc:"definition of the paper's values, if the label is not enough"`
}

// Note explains why cells are not reproduced. If Moves has an entry for a column, an experiment has moved our value
// by this amount, up or down. The note then explains a difference if the move is in the direction of the printed
// value, and the rest is within two standard errors of the difference, as for any other cell. A note may also cover
// cells that agree.
type Note struct {
	Rows    []string           `yaml:"rows" doc:"labels of the rows"`
	Columns []string           `yaml:"columns" doc:"labels of the columns"`
	Moves   map[string]float64 `yaml:"moves" doc:"more columns by label, with the signed change of our value in the reason's experiment; it explains opposite differences up to a rest of two standard errors"`
	On      []string           `yaml:"on" doc:"labels of the data sets; none: all"`
	Reason  string             `yaml:"reason" doc:"reason why the computed values differ from the printed ones"`
}

// SetDefaults implements config.Defaulter.
func (c *Column) SetDefaults() { c.Transform = plain }

// Names lists the tables that come with Unravel, sorted.
func Names() []string {
	entries, _ := fs.Glob(configs.Tables(), "*.yaml") // the pattern is valid
	for i, e := range entries {
		entries[i] = strings.TrimSuffix(e, ".yaml")
	}
	return entries
}

// Open reads a table: a file, or a table that comes with Unravel. File names in a table are relative to its folder.
func Open(name string) (*Table, error) {
	isFile := strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
	if info, err := os.Stat(name); isFile || err == nil && info.Mode().IsRegular() {
		dir, file := filepath.Split(name)
		t, err := Load(os.DirFS(filepath.Clean(dir)), file, dir)
		if err == nil {
			t.folder, t.isFile = dir, true
		}
		return t, err
	}
	if _, err := fs.Stat(configs.Tables(), name+".yaml"); err != nil || name == "" {
		return nil, &UnknownError{name}
	}
	return Load(configs.Tables(), name+".yaml", "tables/")
}

// UnknownError is the error of [Open] for an unknown name. [Names] lists the names.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no table %q%s", e.Name, registry.Suggest(e.Name, Names()))
}

func readConfig(fsys fs.FS, file, shown string) ([]byte, error) {
	f, err := fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	return config.ReadAll(f, shown)
}

// Load reads a table and its reference file from a file system. Errors prefix file names with folder.
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
	t := &Table{Printed: ReferenceFile{Draws: 1}, Decimals: 3, Scales: defaultScales(), cache: new(tableCache)}
	if err := root.Decode(t); err != nil {
		return nil, err
	}
	if !fs.ValidPath(t.Printed.File) {
		return nil, root.Invalid("reference.file", "%q is not a path from the folder of the table", t.Printed.File)
	}
	if t.reference, err = reference.Read(fsys, t.Printed.File, folder+path.Clean(t.Printed.File)); err != nil {
		return nil, err
	}
	if key, err := t.checkReference(); err != nil {
		return nil, root.Invalid(key, "%w", err)
	}
	return t, nil
}

// Curves draws columns as curves: the rows of each series are points at Row.At.
type Curves struct {
	X       string   `yaml:"x" doc:"label of the horizontal axis"`
	Log     bool     `yaml:"log" doc:"use a logarithmic horizontal axis"`
	Columns []string `yaml:"columns" doc:"columns to plot, one figure each"`
}

// Validate checks the settings.
func (c *Curves) Validate() error {
	if c.X == "" {
		return config.Invalid("x", "there is no text for the axis")
	}
	if len(c.Columns) == 0 {
		return config.Invalid("columns", "there are no columns to draw")
	}
	return nil
}

// Boxes draws a box plot of the values of one column over the runs of some rows.
type Boxes struct {
	Title  string   `yaml:"title" doc:"title of the figure"`
	Column string   `yaml:"column" doc:"column to show"`
	Rows   []string `yaml:"rows" doc:"rows, one box each, from left to right"`
	Axis   string   `yaml:"axis" doc:"label of the horizontal axis: the difference between the rows"`
	Labels []string `yaml:"labels" doc:"labels of the boxes; if absent, the row labels"`
	Best   []string `yaml:"best" doc:"other rows; a line marks the best of their means over runs"`
	Line   string   `yaml:"line" doc:"label of the line"`
}

// Validate checks the settings.
func (b *Boxes) Validate() error {
	switch {
	case b.Column == "":
		return config.Invalid("column", "the figure has no column")
	case len(b.Rows) == 0:
		return config.Invalid("rows", "the figure has no rows")
	case len(b.Labels) > 0 && len(b.Labels) != len(b.Rows):
		return config.Invalid("labels", "there are %d labels for %d rows", len(b.Labels), len(b.Rows))
	case len(b.Best) > 0 && b.Line == "":
		return config.Invalid("line", "the line has no name")
	}
	return nil
}

func (b *Boxes) checkLabels(rows, columns []string) error {
	if err := checkKnown("column", b.Column, columns); err != nil {
		return config.Invalid("boxes.column", "%w", err)
	}
	return cmp.Or(checkAllKnown("boxes.rows", "row", b.Rows, rows), checkAllKnown("boxes.best", "row", b.Best, rows))
}
