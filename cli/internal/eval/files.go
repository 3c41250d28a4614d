package eval

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// readFiles reads --codes and --factors into e. Without --codes, which only h-error permits, it creates a row of zeros.
func (c *Command) readFiles(e *Evaluation) error {
	if c.Codes == "" {
		e.in = &metrics.Input{Codes: matrix.Matrix{Rows: 1, Cols: 1, Data: []float64{0}}}
		e.in.SetUnknown()
		return nil
	}
	codes, factors, err := c.readTables()
	if err != nil {
		return err
	}
	e.notes = slices.Concat(codes.Notes, factors.Notes)
	e.remarks = append(e.remarks, e.notes...)
	if dir := filepath.Dir(c.Codes); filepath.Base(c.Codes) == rundir.CodesFile && inputs.IsRun(dir) {
		if run, err := train.ReadConfig(dir); err == nil && run.Train.HoldOut > 0 {
			e.remarks = append(e.remarks,
				fmt.Sprintf("%s has codes of training images, too; --run %s measures held-out images alone", c.Codes, dir))
		}
	}
	e.in = &metrics.Input{Codes: matrix.Matrix{Rows: codes.Rows, Cols: codes.Cols, Data: codes.Data}}
	e.remarks = append(e.remarks, remarksOnCodes(codes, e.in)...)
	switch {
	case codes.Rows == 0 || codes.Cols == 0 || c.Factors != "" && factors.Cols == 0 && c.Rotations == "":
		return e.in.Validate()
	case c.Pairs != "":
		return nil
	case c.Factors == "" && c.Rotations == "":
		e.withoutFactors = true
		e.in.SetUnknown()
		return nil
	}
	e.factors = factors
	return c.setFactors(e, factors)
}

// readTables reads codes and factors with the same number of rows. Without --factors, the factors have no columns.
func (c *Command) readTables() (codes, factors *table.Table, err error) {
	if c.Factors != "" {
		if err := inputs.SameRows(c.Codes, c.Factors); err != nil {
			return nil, nil, err
		}
	}
	if codes, err = inputs.ReadCodes(c.Codes, nil); err != nil {
		return nil, nil, err
	}
	factors = &table.Table{Rows: codes.Rows}
	if c.Factors != "" {
		if factors, err = inputs.ReadFactors(c.Factors, c.Types); err != nil {
			return nil, nil, err
		}
		if len(c.Types) != factors.Cols {
			factors.DropCounter()
		}
	}
	if err := table.Settle(codes, factors); err != nil {
		return nil, nil, err
	}
	if factors.Rows != codes.Rows {
		return nil, nil, fmt.Errorf("%w%s", inputs.OtherRows(c.Codes, codes.Rows, codes.Cols, c.Factors, factors.Rows,
			factors.Cols), hasNames(codes, c.Codes)+hasNames(factors, c.Factors))
	}
	return codes, factors, nil
}

// setFactors sets the factors of e from the table and from --rotations, and adds remarks about them.
func (c *Command) setFactors(e *Evaluation, factors *table.Table) error {
	in := e.in
	columns, err := columnsOfTable(factors, c.Types, c.Factors)
	if err != nil {
		return ui.Usage(err)
	}
	if err := in.SetFactors(columns, int(c.Bins)); err != nil {
		return fmt.Errorf("%s: %w", c.Factors, err)
	}
	for j := range factors.Words {
		in.Factors[j].NameLevels(factors.Words[j])
	}
	if c.Rotations != "" {
		notes, err := addRotations(in, c.Rotations)
		if err != nil {
			return err
		}
		e.remarks = append(e.remarks, notes...)
	}
	e.remarks = append(e.remarks, remarksOnOrder(in)...)
	if len(c.Types) == 0 && c.Factors != "" {
		e.remarks = append(e.remarks, fmt.Sprintf("factors are taken as %s; --types sets other kinds", describeFactors(in)))
	}
	if text := describeGaps(in); text != "" {
		e.remarks = append(e.remarks, "unknown factors: "+text)
	}
	e.remarks = append(e.remarks, remarksOnColumns(factors, in, c.Types, e.chosen)...)
	return nil
}

// columnsOfTable lists the columns of a table of factors. Without types, the values decide. One type applies to all.
func columnsOfTable(t *table.Table, types []string, file string) ([]metrics.Column, error) {
	if len(types) > 1 && len(types) != t.Cols {
		return nil, fmt.Errorf("--types has %s; want one for all, or one for each of the %d columns of %s",
			wording.Count(len(types), "kind"), t.Cols, file)
	}
	columns := make([]metrics.Column, t.Cols)
	for j := range columns {
		column := t.Column(j)
		c := metrics.Column{Name: fmt.Sprint("factor", j), Values: column.Values, Ints: column.Ints,
			Type: metrics.ColumnType{Found: true}}
		if t.Names != nil {
			c.Name = t.Names[j]
		}
		if len(types) > 0 {
			var err error
			if c.Type, err = metrics.ParseColumnType(types[min(j, len(types)-1)]); err != nil {
				return nil, fmt.Errorf("--types: %w", err)
			}
		}
		if column.Words != nil {
			if c.Type.Found {
				c.Type = metrics.ColumnType{Kind: factor.Categorical}
			} else if c.Type.Continuous || c.Type.Kind == factor.Circular {
				return nil, fmt.Errorf("--types: column %s has words such as %q, which are not numbers; want categorical",
					c.Name, column.Words[0])
			}
		}
		columns[j] = c
	}
	return columns, nil
}

// addRotations adds a file's factor of rotations to an input, and returns remarks on the file.
func addRotations(in *metrics.Input, path string) (notes []string, err error) {
	t, err := table.ReadBlocks(path, "rotations")
	if err != nil {
		return nil, fmt.Errorf("rotations: %w", err)
	}
	if err := t.Finite(); err != nil {
		return nil, fmt.Errorf("rotations: %s: %w", path, err)
	}
	if t.WantRows(in.Codes.Rows); t.Cols == 5 || t.Cols == 10 { // four or nine numbers after an index
		t.DropCounter()
	}
	if err := in.AddRotations(matrix.Matrix{Rows: t.Rows, Cols: t.Cols, Data: t.Data}); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t.Notes, nil
}

func describeFactors(in *metrics.Input) string {
	var parts []string
	for j, f := range in.Factors {
		kind := fmt.Sprintf("%s (%s)", f.Kind, wording.Count(f.Size, "level"))
		if in.Exact != nil && in.Exact[j] != nil {
			kind = fmt.Sprintf("continuous (%d bins with values)", f.Size)
		}
		if len(parts) == 12 {
			parts = append(parts, fmt.Sprintf("and %d more", len(in.Factors)-j))
			break
		}
		parts = append(parts, f.Name+" "+kind)
	}
	return strings.Join(parts, ", ")
}

// describeGaps says how many rows lack each factor, or "" if none does.
func describeGaps(in *metrics.Input) string {
	var parts []string
	k := len(in.Factors)
	for j, f := range in.Factors {
		n := 0
		for at := j; at < len(in.Levels); at += k {
			if in.Levels[at] == factor.Unknown {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s of %d of %d rows", f.Name, n, in.Codes.Rows))
		}
	}
	return strings.Join(parts, ", ")
}

func parseBlocks(text string, in *metrics.Input) (factor.SubCodes, error) {
	blocks := strings.Split(text, ";")
	if len(blocks) != len(in.Factors) {
		return nil, fmt.Errorf("--blocks %q has %s; want %d with semicolons between them, one for each factor",
			text, wording.Count(len(blocks), "block"), len(in.Factors))
	}
	codes, factorOf := factor.SubCodes{}, map[int]string{}
	for j, block := range blocks {
		name := in.Factors[j].Name
		for _, part := range strings.Split(block, ",") {
			first, last, err := parseRange(strings.TrimSpace(part), in.Codes.Cols)
			if err != nil {
				return nil, fmt.Errorf("--blocks: block %d, of %s: %w", j, name, err)
			}
			for c := first; c <= last; c++ {
				if other, taken := factorOf[c]; taken {
					return nil, fmt.Errorf("--blocks: column %d is given to %s and to %s; want it once", c, other, name)
				}
				factorOf[c] = name
				codes[name] = append(codes[name], c)
			}
		}
	}
	return codes, nil
}

func parseRange(text string, d int) (first, last int, err error) {
	left, right, isRange := strings.Cut(text, "-")
	if !isRange {
		right = left
	}
	first, err = strconv.Atoi(left)
	if err == nil {
		last, err = strconv.Atoi(right)
	}
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("%q is not a column; want one such as 3, or a range such as 0-2", text)
	case first < 0 || last >= d:
		return 0, 0, fmt.Errorf("%s: codes have columns 0 to %d", text, d-1)
	case last < first:
		return 0, 0, fmt.Errorf("%s ends before it begins", text)
	}
	return first, last, nil
}

// readHierarchies reads the hierarchies and components. A remark names a hierarchy that does not fit its columns:
// h-error compares two hierarchies without looking at columns.
func (c *Command) readHierarchies(e *Evaluation) error {
	in, factors := e.in, len(e.in.Factors)
	if e.withoutFactors {
		factors = 0
	}
	for _, file := range []struct {
		path    string
		into    *hierarchy.Hierarchy
		columns int
		what    string
	}{
		{c.Hierarchy, &in.Hierarchy, in.Codes.Cols, "columns of codes"},
		{c.TrueHierarchy, &in.TrueHierarchy, factors, "factors"},
	} {
		if file.path == "" {
			continue
		}
		h, err := hierarchy.Read(file.path)
		if err != nil {
			return fmt.Errorf("hierarchy: %w", err)
		}
		if n := h.Dimensions(); n != file.columns && file.columns > 0 {
			e.remarks = append(e.remarks, fmt.Sprintf("the hierarchy %s has %d dimensions, but there are %d %s",
				file.path, n, file.columns, file.what))
		}
		*file.into = h
	}
	if err := c.checkOptions(e); err != nil {
		return err
	}
	if c.Components == "" {
		return nil
	}
	if rows, cols, err := table.Size(c.Components, "components"); err == nil && rows >= 0 && rows != in.Codes.Rows {
		return fmt.Errorf("%s: components have shape [%d %d], want [%d 1], a number for each code",
			c.Components, rows, cols, in.Codes.Rows)
	}
	labels, err := inputs.ReadTable(c.Components, "components")
	if err != nil {
		return err
	}
	if labels.Rows != in.Codes.Rows || labels.Cols != 1 {
		return fmt.Errorf("%s: components have shape [%d %d], want [%d 1], a number for each code",
			c.Components, labels.Rows, labels.Cols, in.Codes.Rows)
	}
	in.Components, in.Explored = make([]int, labels.Rows), nil // the components of the run belong to other rows
	for i, v := range labels.Data {
		if v != math.Trunc(v) || v < -1 || v >= 1<<53 {
			return fmt.Errorf("%s: row %d is %v, want the number of a component, or -1 (discarded)", c.Components, i, v)
		}
		in.Components[i] = int(v)
	}
	return nil
}

// checkOptions returns an error for the first number in a factors' file that is no option of its categorical dimension.
// Words and missing values are no numbers.
func (c *Command) checkOptions(e *Evaluation) error {
	t, h := e.factors, e.in.TrueHierarchy
	if t == nil || h.Dimensions() != t.Cols {
		return nil
	}
	for j, n := range h.Categoricals() {
		column := t.Column(j)
		for i, v := range column.Values {
			if option := v == math.Trunc(v) && v >= 0 && v <= float64(n); !option && !math.IsNaN(v) && column.Words == nil {
				return fmt.Errorf("%s: %s is %v; want an option of its categorical dimension in %s, 1 to %d, or 0 (inactive)",
					c.Factors, t.Place(i, j), v, c.TrueHierarchy, n)
			}
		}
	}
	return nil
}

// addOption adds the option of eval that provides a metric's missing input to an error.
func (e *Evaluation) addOption(err error) error {
	if e.files && errors.Is(err, metrics.MissingCircular) {
		return fmt.Errorf("%w; eval takes the kinds of factors with --types, such as --types circular", err)
	}
	if e.withoutFactors && errors.Is(err, metrics.MissingFactors) {
		return ui.Usagef("%w; eval takes the factors of the rows with --factors, in a file or as the array factors of the codes' file, rotations with --rotations, and which rows agree with --pairs", err)
	}
	for missing, option := range map[metrics.Missing]string{
		metrics.MissingHierarchy:     "it with --hierarchy",
		metrics.MissingTrueHierarchy: "it with --true-hierarchy",
		metrics.MissingComponents:    "them with --components",
	} {
		if errors.Is(err, missing) {
			return fmt.Errorf("%w; eval takes %s", err, option)
		}
	}
	return err
}

// hasNames notes that the first line of a file was read as a header, which explains a wrong number of rows.
func hasNames(t *table.Table, file string) string {
	if t.Names == nil {
		return ""
	}
	return fmt.Sprintf("; the first line of %s, %s, is read as names", file, strings.Join(t.Names, ","))
}
