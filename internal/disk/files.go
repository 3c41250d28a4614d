package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files are the files that a command writes into a folder. One of them lists the others. The next call reads the list
// and removes files that it does not write again.
type Files struct {
	dir    string
	list   List
	before []string // names of files from earlier calls
	now    []string
	err    error // of the first Write that failed
}

// OpenFiles starts to write the files of a command into an existing folder.
func OpenFiles(dir, command string) (*Files, error) {
	f := &Files{dir: dir, list: List{"made-by-" + command + ".txt",
		fmt.Sprintf("Files that unravel %s has written here; its next call replaces them, and removes files that it no longer writes.", command)}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if f.before, err = f.list.Read(root); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; want another folder", dir, err)
	}
	return f, nil
}

// Write writes a file completely or not at all. It adds the name to the list before it creates the file. After an
// interrupted call, the next call therefore knows all files. After an error, Write does nothing and returns the error,
// and so does Finish.
func (f *Files) Write(name string, content func(io.Writer) error) error {
	if f.err != nil {
		return f.err
	}
	if f.now = append(f.now, name); !slices.Contains(f.before, name) {
		f.err = f.writeList(slices.Concat(f.before, f.now))
	}
	if f.err == nil {
		f.err = WriteFile(filepath.Join(f.dir, name), content, false)
	}
	return f.err
}

// Finish removes files from earlier calls that this call has not written. It does not remove folders and links.
func (f *Files) Finish() error {
	if f.err != nil {
		return f.err
	}
	for _, name := range f.before {
		path := filepath.Join(f.dir, name)
		if info, err := os.Lstat(path); slices.Contains(f.now, name) || err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return f.writeList(f.now)
}

func (f *Files) writeList(names []string) error {
	return WriteFile(filepath.Join(f.dir, f.list.Name), func(w io.Writer) error {
		_, err := w.Write(f.list.text(names))
		return err
	}, false)
}

// List is a file that lists other files in its folder: a heading in the first line, then one line per file.
type List struct{ Name, Head string }

// maxList is the maximum size of a list in bytes.
const maxList = 64 << 20

func (l List) Read(root *os.Root) ([]string, error) {
	f, err := OpenIn(root, l.Name)
	if err != nil {
		return nil, err
	}
	text, err := ReadAll(f, l.Name, maxList)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if lines[0] != l.Head {
		return nil, fmt.Errorf("%s is no list of files that unravel has made", l.Name)
	}
	for _, name := range lines[1:] {
		if !fs.ValidPath(name) || name == "." || name == l.Name {
			return nil, fmt.Errorf("%s names %q; want files of the folder", l.Name, name)
		}
	}
	return lines[1:], nil
}

func (l List) Write(root *os.Root, names []string) error {
	return root.WriteFile(l.Name, l.text(names), 0o666)
}

func (l List) text(names []string) []byte {
	names = slices.Sorted(slices.Values(names))
	return []byte(strings.Join(append([]string{l.Head}, slices.Compact(names)...), "\n") + "\n")
}
