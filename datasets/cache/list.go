package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Listed is an element of the result of [List].
type Listed struct {
	Key
	Bytes   int64    // on disk
	Hash    string   // hash of the content as stored
	Sources []Source // its source files
	Err     error    // error of the set; nil: sizes and times are right
}

// List lists the sets of the cache, sorted by folder name.
func List() ([]Listed, error) {
	if Root() == "" {
		return nil, Key{Name: "all"}.check()
	}
	parent := filepath.Join(Root(), "sets")
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Listed
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			list = append(list, inspect(filepath.Join(parent, e.Name())))
		}
	}
	return list, nil
}

// inspect describes the set in a folder.
func inspect(dir string) Listed {
	r, err := parseRecord(dir)
	if err != nil {
		name, _, _ := strings.Cut(filepath.Base(dir), "-")
		return Listed{Key: Key{Name: name}, Err: err}
	}
	l := Listed{Key: Key{r.Name, r.Options, r.Version}, Hash: r.Hash, Sources: r.Sources}
	if l.Dir() != dir {
		l.Err = errors.New("its record belongs to a folder of another name")
		return l
	}
	s, err := open(l.Key)
	if err != nil {
		l.Err = err
		return l
	}
	l.Bytes = s.Bytes()
	l.Err = s.Close()
	return l
}
