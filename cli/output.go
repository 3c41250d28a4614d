package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/disk"
)

// writeOut writes a file that the user named, whole or not at all. Devices and pipes are written to
// and not replaced.
func writeOut(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.Mode().IsRegular():
		if err := checkParent(path); err != nil {
			return err
		}
		return disk.WriteFile(path, write, false)
	case info.IsDir():
		return fmt.Errorf("writing %s: it is a folder; want a file", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	if err = write(b); err == nil {
		err = b.Flush()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// checkParent checks that there is a folder to write a file into.
func checkParent(path string) error {
	dir := filepath.Dir(path)
	err := disk.CheckDir(dir)
	if _, missing := os.Stat(dir); err == nil && errors.Is(missing, fs.ErrNotExist) {
		err = fmt.Errorf("there is no folder %s; want one that exists", dir)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
