package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/disk"
)

// Place copies a local file to a folder as a source file, and records it. It checks the file before renaming it to its
// final name. With trust, it accepts any size and hash.
func Place(ctx context.Context, dir string, f File, path string, trust bool) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	from, err := disk.Open(path)
	if err != nil {
		return err
	}
	defer from.Close() // nothing was written
	info, err := from.Stat()
	if err == nil {
		err = disk.CheckFree(dir, info.Size())
	}
	if err != nil {
		return err
	}
	h := newHashes()
	err = disk.WriteFile(filepath.Join(dir, f.Name), func(w io.Writer) error {
		n, err := copyTo(ctx, io.MultiWriter(w, h), from, "copying "+f.Name, info.Size())
		if err == nil && n != info.Size() {
			err = errors.New("its size changes while it is read")
		}
		if err == nil && !trust {
			err = f.check(h.found(info))
		}
		return err
	}, false)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	_, err = f.record(dir, h, path, trust)
	return err
}
