package tfevents

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/unravel-ml/unravel/internal/disk"
)

// rewind removes the events after the given step, and the events for which drop returns true. It returns the number of
// bytes that remain, or 0 for a missing file.
func rewind(path string, step int64, drop func(*Event) bool) (kept int64, err error) {
	kept, inOrder, err := filter(path, io.Discard, step, drop)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case inOrder:
		return kept, truncate(path, kept)
	}
	return kept, disk.WriteFile(path, func(w io.Writer) error {
		_, _, err := filter(path, w, step, drop)
		return err
	}, false)
}

// truncate shortens a file; it does not follow a link.
func truncate(path string, size int64) error {
	f, err := disk.OpenFile(path, os.O_WRONLY)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// filter copies the events that remain. It returns their size in bytes, and whether all of them precede the removed
// events.
func filter(path string, w io.Writer, step int64, drop func(*Event) bool) (kept int64, inOrder bool, err error) {
	f, err := disk.Open(path)
	if err != nil {
		return 0, false, err
	}
	defer f.Close() // it was only read
	r := NewReader(f)
	inOrder, dropping := true, false
	for {
		before := r.Offset()
		e, err := r.Next()
		switch {
		case err == io.EOF || errors.Is(err, ErrTorn):
			return kept, inOrder, nil
		case err != nil:
			return 0, false, err
		case e.Step > step || drop != nil && drop(e):
			dropping = true
			continue
		}
		if _, err := w.Write(appendRecord(nil, r.record[:len(r.record)-4])); err != nil {
			return 0, false, err
		}
		inOrder = inOrder && !dropping
		kept += r.Offset() - before
	}
}
