package tfevents

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// rewind takes out of a file what does not belong to the steps up to the given one,
// and returns how many bytes stay. A missing file has none.
func rewind(path string, step int64) (kept int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	kept, inOrder, err := scan(f, step)
	if err == nil && !inOrder {
		_, err = f.Seek(0, io.SeekStart)
		if err == nil {
			err = filter(f, path, step)
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	if inOrder {
		return kept, os.Truncate(path, kept)
	}
	return kept, os.Rename(temporary(path), path)
}

func temporary(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
}

// scan returns how many bytes of the file are events that stay, and whether they
// all come before those that do not.
func scan(f io.Reader, step int64) (kept int64, inOrder bool, err error) {
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
		case e.Step > step:
			dropping = true
		default:
			inOrder = inOrder && !dropping
			kept += r.Offset() - before
		}
	}
}

// filter writes the events that stay to a temporary file.
func filter(f io.Reader, path string, step int64) error {
	tmp, err := os.Create(temporary(path))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(tmp)
	r := NewReader(f)
	for err == nil {
		var e *Event
		if e, err = r.Next(); err == nil && e.Step <= step {
			_, err = out.Write(appendRecord(nil, r.record[:len(r.record)-4]))
		}
	}
	if err == io.EOF || errors.Is(err, ErrTorn) {
		err = errors.Join(out.Flush(), tmp.Sync())
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
