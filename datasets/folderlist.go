package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/content"
)

// pictureFile is a file below a folder.
type pictureFile struct {
	name string // relative, with slashes
	info fs.FileInfo
	sum  content.Sum // hash of the content; zero if the file is unreadable
}

// pictureList is the list of pictures below a folder.
type pictureList struct {
	path  string // of the folder
	files []pictureFile
	notes []string
}

// pictureEndings lists the endings of picture files. Pictures with the endings of the last line are unreadable; errors
// name them instead of ignoring them silently.
var pictureEndings = []string{
	".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".webp", ".bmp", ".dib", ".tif", ".tiff",
	".heic", ".heif", ".avif", ".jp2", ".jxl",
}

func isPicture(name string) bool {
	return slices.Contains(pictureEndings, strings.ToLower(filepath.Ext(name)))
}

// listPictures lists the pictures below a folder in the order of their paths.
func listPictures(path string) (*pictureList, error) {
	return listFiles(path, "pictures", pictureEndings[:11], isPicture)
}

// listFiles lists the files of a kind below a folder in the order of their paths. Error messages use what and endings.
func listFiles(path, what string, endings []string, wanted func(name string) bool) (*pictureList, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; want a folder with %s", path, what)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	l := &pictureList{path: path}
	outside, others := 0, 0
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case !wanted(name):
			others++
			return nil
		}
		info, err := root.Stat(filepath.FromSlash(name)) // follows links within the folder only
		if err != nil && e.Type()&fs.ModeSymlink != 0 || err == nil && !info.Mode().IsRegular() {
			outside++
			return nil
		}
		if err != nil {
			return err
		}
		l.files = append(l.files, pictureFile{name: name, info: info})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(l.files) == 0 {
		return nil, fmt.Errorf("%s has no %s, and %d other files; want files that end in %s", path, what, others, strings.Join(endings, " "))
	}
	slices.SortFunc(l.files, func(a, b pictureFile) int { return strings.Compare(a.name, b.name) })
	if outside > 0 {
		l.notes = append(l.notes, fmt.Sprintf("%d links that lead out of %s, or to no file, are left out", outside, path))
	}
	return l, nil
}

// hash returns the hash of the names and contents of the files. It reads only files that have changed since the data
// folder stored their hashes.
func (l *pictureList) hash(ctx context.Context) (string, error) {
	root, err := os.OpenRoot(l.path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	name, err := cache.HashesOf(l.path)
	if err != nil {
		return "", err
	}
	memory := content.Open(name)
	var done atomic.Int64
	var reporting sync.Mutex
	err = forEach(ctx, len(l.files), func() func(int) error {
		return func(i int) error {
			file := &l.files[i]
			known := false
			if file.sum, known = memory.Known(file.info); known {
				return nil
			}
			f, err := root.Open(filepath.FromSlash(file.name))
			if err != nil {
				return nil // whoever decodes the file reports it
			}
			defer f.Close() // nothing was written
			file.sum, err = memory.Hash(ctx, f, nil)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				file.sum = content.Sum{}
			}
			if n := done.Add(1); reporting.TryLock() { // no other goroutine reports
				defer reporting.Unlock()
				cache.Report(ctx, "hashing files of "+l.path, n, int64(len(l.files)))
			}
			return nil
		}
	})
	if err != nil {
		return "", err
	}
	_ = memory.Save() // a data folder that is only read remembers nothing
	sum := sha256.New()
	for _, f := range l.files {
		fmt.Fprintf(sum, "%q %v\n", f.name, f.sum)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// check returns an error if the file has changed since it was hashed.
func (f *pictureFile) check(text []byte) error {
	if sha256.Sum256(text) != f.sum {
		return fmt.Errorf("%s: %w; start again", f.name, errChanging)
	}
	return nil
}

var errChanging = errors.New("the file changes while it is read")

// maxPictureFile bounds the file of a picture, in bytes.
const maxPictureFile = 1 << 30

// readPicture reads a file into a buffer that is reused.
func readPicture(root *os.Root, name string, buf []byte) ([]byte, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return buf, err
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	switch {
	case err != nil:
		return buf, err
	case !info.Mode().IsRegular():
		return buf, fmt.Errorf("it is no file")
	case info.Size() > maxPictureFile:
		return buf, fmt.Errorf("the file has %d bytes; want at most %d", info.Size(), maxPictureFile)
	}
	buf = slices.Grow(buf[:0], int(info.Size()))[:info.Size()]
	if _, err := io.ReadFull(f, buf); err != nil {
		return buf, err
	}
	return buf, nil
}

// hasPictures reports whether a folder has a picture, for the errors of other data sets.
func hasPictures(path string) bool {
	found := false
	_ = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error { // only a hint is lost
		if err != nil || isPicture(name) && !e.IsDir() {
			found = err == nil
			return fs.SkipAll
		}
		return nil
	})
	return found
}
