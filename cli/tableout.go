package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"golang.org/x/term"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train/rundir"
)

// writeShared writes the files of --out under the lock of the runs, because another process may share the runs and
// end at the same moment.
func writeShared(ctx context.Context, dir, folder string, r *tables.Result) (err error) {
	unlock, err := rundir.Lock(ctx, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return writeTable(dir, r)
}

// writeTable writes the files of --out.
func writeTable(dir string, r *tables.Result) error {
	type file struct {
		extension string
		write     func(io.Writer) error
	}
	files := []file{{".md", r.WriteMarkdown}, {".csv", r.WriteCSV}, {".tex", r.WriteLaTeX}, {".html", r.WriteHTML}}
	if r.Agreement != nil {
		files = append(files, file{"-ranks.csv", r.WriteRanks}, file{"-tau.csv", r.WriteTau})
	}
	for _, file := range files {
		if err := disk.WriteFile(filepath.Join(dir, r.Name+file.extension), file.write, false); err != nil {
			return err
		}
	}
	if r.HasFigure() {
		if err := disk.WriteFile(filepath.Join(dir, r.Name+".png"), r.WriteFigure, false); err != nil {
			return err
		}
	}
	for _, picture := range r.CurveFiles() {
		if err := disk.WriteFile(filepath.Join(dir, picture.Name), picture.Write, false); err != nil {
			return err
		}
	}
	return nil
}

// widthOf returns the width of a terminal in letters; without a terminal, printWidth.
func widthOf(w io.Writer) int {
	if f := plain.Terminal(w); f != nil {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return printWidth
}
