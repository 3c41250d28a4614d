package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Open opens a regular file, or a link to one, for reading. It returns an error for all other kinds of files, and does
// not wait for the other end of a pipe.
func Open(path string) (*os.File, error) { return openRegular(path, os.OpenFile, os.Stat) }

// OpenSized is [Open] that also returns the size of the file.
func OpenSized(path string) (f *os.File, size int64, err error) {
	if f, err = Open(path); err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// OpenIn is [Open] for a file inside a folder. Errors have the name relative to the folder.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return openRegular(name, root.OpenFile, root.Stat)
}

func openRegular(path string, open func(string, int, fs.FileMode) (*os.File, error),
	stat func(string) (fs.FileInfo, error)) (*os.File, error) {
	f, err := open(path, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		if info, missing := stat(path); missing == nil && !info.Mode().IsRegular() { // a socket cannot be opened
			err = irregular(path, info)
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = irregular(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func irregular(path string, info fs.FileInfo) error {
	return fmt.Errorf("%s is %s; want a file", path, kindOf(info.Mode()))
}

// kindOf describes the kind of an irregular file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// ReadFile reads a file with [Open]. A file with more than most bytes is an error.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	text, err := ReadAll(f, path, limit)
	return text, errors.Join(err, f.Close())
}

// ReadAll reads an open file. A file with more than most bytes is an error. Errors start with the path.
func ReadAll(f *os.File, path string, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, tooLong(path, limit)
	}
	text := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead)) // the file may be larger by now
	_, err = text.ReadFrom(Limited(f, path, limit))
	return text.Bytes(), err
}

// ReadLimited reads from a source without a known end, such as a device. More than most bytes are an error. Errors
// start with the name.
func ReadLimited(r io.Reader, name string, limit int64) ([]byte, error) {
	return io.ReadAll(Limited(r, name, limit))
}

func tooLong(name string, limit int64) error {
	return fmt.Errorf("%s has more than %d bytes; want a shorter file", name, limit)
}

// Limited returns a reader that fails after most bytes. Errors start with the name.
func Limited(r io.Reader, name string, limit int64) io.Reader {
	return &limited{io.LimitedReader{R: r, N: limit + 1}, name, limit}
}

type limited struct {
	io.LimitedReader
	name  string
	limit int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.LimitedReader.Read(p)
	if l.N <= 0 {
		return n, tooLong(l.name, l.limit)
	}
	return n, err
}

// Argument returns an equivalent path that a program cannot mistake for a flag.
func Argument(path string) string {
	if strings.HasPrefix(path, "-") {
		return "." + string(filepath.Separator) + path
	}
	return path
}
