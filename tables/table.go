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

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/internal/config"
	"github.com/unravel-ml/unravel/internal/registry"
	"github.com/unravel-ml/unravel/metrics"
)

// Table says how a table of a paper is computed.
type Table struct {
	Name     string           `yaml:"name" doc:"what the command line calls it"`
	Title    string           `yaml:"title" doc:"what it shows, in a line"`
	Source   string           `yaml:"source" doc:"paper and table"`
	Printed  ReferenceFile    `yaml:"reference" doc:"the printed values"`
	Decimals int              `yaml:"decimals" doc:"digits behind the point of our values"`
	Subset   int              `yaml:"subset" doc:"measure so many random rows of the codes, others for every seed; 0: all"`
	Scales   Scales           `yaml:"scales" doc:"how much is computed"`
	DataSets []DataSet        `yaml:"datasets" doc:"data sets that all rows are trained on; none: rows say what they are trained on"`
	Rows     []Row            `yaml:"rows"`
	Columns  []Column         `yaml:"columns"`
	Also     []metrics.Choice `yaml:"also" doc:"what runs measure besides the columns, so that tables whose runs are the same can share them"`
	Folder   string           `yaml:"runs" doc:"the folder of its runs in runs/tables, which tables may share; empty: the table's name"`
	Notes    []Note           `yaml:"notes" doc:"the cells that do not come out as printed"`
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
	From    SourceChoice `yaml:"from" doc:"where its codes come from"`
	Missing string       `yaml:"missing" doc:"instead of from: why it cannot be computed"`
	Full    bool         `yaml:"full" doc:"compute it at the scale full only"`
}

// Column is a column of the table.
type Column struct {
	Label     string         `yaml:"label" doc:"its name, in the reference file too"`
	Group     string         `yaml:"group" doc:"what stands above it and its neighbours"`
	Metric    metrics.Choice `yaml:"metric"`
	Fit       FitValue       `yaml:"fit" doc:"instead of metric: what the run has fitted, reconstruction, held_out, assignment or variance"`
	Part      string         `yaml:"part" doc:"the part of the metric's result that is meant; empty: its value"`
	Of        string         `yaml:"of" doc:"of a part with several numbers the one with this label, such as a factor's name"`
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

// Load reads a table and its reference file from a file system. Errors show the folder before
// the names of files.
func Load(fsys fs.FS, file, folder string) (*Table, error) {
	shown := folder + file
	src, err := fs.ReadFile(fsys, file)
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
	t := &Table{Printed: ReferenceFile{Draws: 1}, Decimals: 3, Scales: defaultScales()}
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

// againstReference wants the labels, and all their cells, in the reference file. It returns
// the key that is wrong.
func (t *Table) againstReference() (key string, err error) {
	if len(t.DataSets) > 0 {
		for i, d := range t.DataSets {
			if key, err := t.againstSet(fmt.Sprintf("datasets.%d.label", i), d.Label); err != nil {
				return key, err
			}
		}
	} else if key, err := t.againstSet("reference.dataset", t.Printed.Dataset); err != nil {
		return key, err
	}
	for _, s := range t.Scales {
		if s.Dataset == "" {
			continue
		}
		if key, err := t.againstSet("scales."+s.Name+".dataset", s.Dataset); err != nil {
			return key, err
		}
	}
	return "", nil
}

// againstSet wants all cells for one data set of the file, which a key names.
func (t *Table) againstSet(named, set string) (key string, err error) {
	ref := t.Reference
	sets := map[string]bool{}
	var known []string
	for _, c := range ref.Cells {
		if !sets[c.Dataset] {
			sets[c.Dataset] = true
			known = append(known, c.Dataset)
		}
	}
	if !sets[set] && !sets[anyName] {
		return named, fmt.Errorf("%s has no data set %q%s", ref.File, set, registry.Suggest(set, known))
	}
	rows := ref.names(set, func(p *Printed) string { return p.Row })
	columns := ref.names(set, func(p *Printed) string { return p.Column })
	for i, r := range t.Rows {
		if err := amongPrinted("row", r.Label, rows); err != nil {
			return fmt.Sprintf("rows.%d.label", i), fmt.Errorf("%s: %w", ref.File, err)
		}
	}
	for i, c := range t.Columns {
		if err := amongPrinted("column", c.Label, columns); err != nil {
			return fmt.Sprintf("columns.%d.label", i), fmt.Errorf("%s: %w", ref.File, err)
		}
	}
	for i, r := range t.Rows {
		for _, c := range t.Columns {
			if ref.Find(set, r.Label, c.Label) == nil {
				return fmt.Sprintf("rows.%d.label", i), fmt.Errorf("%s: there is no cell of row %q, column %q", ref.File, r.Label, c.Label)
			}
		}
	}
	return "", nil
}

// Coverage counts, without computing anything, the cells that come out as printed by the
// table's notes, and all cells that the paper prints.
func (t *Table) Coverage() (reproduced, printed int) {
	for i := range t.Reference.Cells {
		p := &t.Reference.Cells[i]
		if !t.shows(p.Dataset) || p.Mean.Text == "" {
			continue
		}
		printed++
		if t.computes(p.Row, p.Column) && t.reason(p.Row, p.Column) == "" {
			reproduced++
		}
	}
	return reproduced, printed
}

// computes says whether the table has a cell and can compute it.
func (t *Table) computes(row, column string) bool {
	for _, r := range t.Rows {
		if r.Label != row || r.Missing != "" {
			continue
		}
		for _, c := range t.Columns {
			if c.Label == column {
				return true
			}
		}
	}
	return false
}
