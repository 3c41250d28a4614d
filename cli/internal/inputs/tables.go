package inputs

import (
	"fmt"
	"io"

	"github.com/unravel-ml/unravel/internal/table"
)

// SameRows checks that factors have as many rows as codes. It reads only the headers of the files, because an archive
// of a megabyte can hold gigabytes.
func SameRows(codes, factors string) error {
	n, _, err := table.Size(codes, "codes")
	if err != nil {
		return fmt.Errorf("codes: %w", err)
	}
	m, k, err := table.Size(factors, "factors")
	if err != nil {
		return fmt.Errorf("factors: %w", err)
	}
	if n >= 0 && m >= 0 && n != m {
		return fmt.Errorf("%s: factors have shape [%d %d], want [%d, k], a row for each row of %s", factors, m, k, n, codes)
	}
	return nil
}

// ReadTable reads a table of finite numbers. The role, such as codes, is the name of the array in an .npz file.
func ReadTable(path, role string) (*table.Table, error) {
	t, err := table.Read(path, role)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	if err := t.Finite(); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", role, path, err)
	}
	return t, nil
}

// ReadCodes reads a table of codes without its index column. It logs remarks on the file, unless log is nil.
func ReadCodes(path string, log io.Writer) (*table.Table, error) {
	t, err := ReadTable(path, "codes")
	if err != nil {
		return nil, err
	}
	t.DropCounter()
	for _, note := range t.Notes {
		if log != nil {
			fmt.Fprintln(log, note)
		}
	}
	return t, nil
}

// ReadFactors reads a table of factors. Unknown values are NaN, and words become the numbers of levels.
func ReadFactors(path string) (*table.Table, error) {
	t, err := table.ReadFactors(path, "factors")
	if err != nil {
		return nil, fmt.Errorf("factors: %w", err)
	}
	if err := t.Known(); err != nil {
		return nil, fmt.Errorf("factors: %s: %w", path, err)
	}
	return t, nil
}
