package datasets

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/npy"
)

// readFile reads labels from the file into a table, and returns its columns.
func (f *FactorLabels) readFile(d Dataset, l *Labels) ([]factor.Factor, error) {
	r, err := npy.Open(f.File)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if dims := len(r.Shape); dims < 1 || dims > 2 || r.Rows() != d.Len() || r.RowLen() < 1 {
		return nil, fmt.Errorf("%s has shape %v; want %d or %d x m, a row for each image of dataset %s", f.File, r.Shape, d.Len(), d.Len(), d.Name())
	}
	if !strings.Contains(r.DType, "int") && r.DType != "bool" {
		return nil, fmt.Errorf("%s (%v) holds %s; want integers, negative where a label is not known", f.File, r.Shape, r.DType)
	}
	l.set, l.width = nil, r.RowLen()
	l.table = make([]int32, r.Rows()*l.width)
	columns, err := f.columns(l.width)
	if err != nil {
		return nil, err
	}
	row := make([]float64, l.width)
	for i := range r.Rows() {
		if err := npy.Read(r, row); err != nil {
			return nil, err
		}
		for c, v := range row {
			if v >= maxLabel {
				return nil, fmt.Errorf("%s (%v): row %d, column %d is %.0f; want less than %d", f.File, r.Shape, i, c, v, maxLabel)
			}
			label := max(int32(max(v, Unknown)), Unknown)
			l.table[i*l.width+c] = label
			columns[c].Size = max(columns[c].Size, int(label)+1)
		}
	}
	for c, column := range columns {
		if column.Size == 0 {
			return nil, fmt.Errorf("%s (%v): column %d holds no label, only negative numbers; want some from 0 on", f.File, r.Shape, c)
		}
	}
	return columns, nil
}

// columns returns the factors of the file's m columns, without sizes.
func (f *FactorLabels) columns(m int) ([]factor.Factor, error) {
	if len(f.Names) != 0 && len(f.Names) != m {
		return nil, config.Invalid("names", "has %d names; want one for each of the %d columns of %s", len(f.Names), m, f.File)
	}
	if len(f.Kinds) != 0 && len(f.Kinds) != m {
		return nil, config.Invalid("kinds", "has %d kinds; want one for each of the %d columns of %s", len(f.Kinds), m, f.File)
	}
	columns := make([]factor.Factor, m)
	for c := range columns {
		columns[c] = factor.Factor{Name: fmt.Sprint("label", c), Kind: factor.Categorical}
		if len(f.Names) > 0 {
			columns[c].Name = f.Names[c]
		}
		if len(f.Kinds) > 0 {
			columns[c].Kind = f.Kinds[c]
		}
	}
	return columns, nil
}
