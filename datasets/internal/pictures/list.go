package pictures

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
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/internal/content"
	"github.com/unravel-ml/unravel/internal/wording"
)

// Kind selects the files of a folder.
type Kind int

const (
	NoFiles Kind = iota
	Pictures
	Meshes
)

// List is the list of pictures below a folder.
type List struct {
	Path  string // path of the folder
	Files []File
	Notes []string
}

// File is a file below a folder.
type File struct {
	Name string // relative path with slashes
	info fs.FileInfo
	sum  content.Sum // hash of the content; zero if the file is unreadable
}

// ListPictures lists the pictures below a folder, sorted by path.
func ListPictures(path string) (*List, error) {
	return listFiles(path, "pictures", pictureEndings[:11], pictureEndings)
}

// ListMeshes lists the meshes below a folder, sorted by path.
func ListMeshes(path string) (*List, error) {
	return listFiles(path, "meshes", render.Formats(), render.Formats())
}

// pictureEndings lists the extensions of picture files. Pictures with the extensions in the last line are unreadable;
// errors name these pictures instead of silently ignoring them.
var pictureEndings = []string{
	".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".webp", ".bmp", ".dib", ".tif", ".tiff",
	".heic", ".heif", ".avif", ".jp2", ".jxl",
}

// ends reports whether a name has one of the given extensions, in upper or lower case.
func ends(name string, endings []string) bool {
	return slices.Contains(endings, strings.ToLower(filepath.Ext(name)))
}

// listFiles lists the files with some extensions below a folder, by path. Errors use noun and the readable extensions.
func listFiles(path, noun string, readable, wanted []string) (*List, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w; want a folder with %s", err, noun)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; want a folder with %s", path, noun)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	l := &List{Path: path}
	links, others := 0, 0
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
		case !ends(name, wanted) && !linksFolder(path, name, e):
			others++
			return nil
		}
		info, err := root.Stat(filepath.FromSlash(name)) // only follows links within the folder
		if err != nil && e.Type()&fs.ModeSymlink != 0 || err == nil && !info.Mode().IsRegular() {
			links++
			return nil
		}
		if err != nil {
			return err
		}
		l.Files = append(l.Files, File{Name: name, info: info})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if links > 0 {
		const note = "left out %s; want relative links to files within %s, or files"
		l.Notes = append(l.Notes, fmt.Sprintf(note, wording.Count(links, "link"), path))
	}
	if len(l.Files) == 0 {
		const what = "%s has no %s, and %s; want files that end in %s"
		err := fmt.Sprintf(what, path, noun, wording.Count(others, "other file"), strings.Join(readable, " "))
		return nil, errors.New(strings.Join(append(l.Notes, err), "; "))
	}
	slices.SortFunc(l.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return l, nil
}

// linksFolder reports whether an entry is a link to a folder, here or elsewhere.
func linksFolder(path, name string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(filepath.Join(path, name))
	return err == nil && info.IsDir()
}

// Hash returns the hash of the files' names and contents. It only reads files whose stored hash is out of date.
func (l *List) Hash(ctx context.Context) (string, error) {
	root, err := os.OpenRoot(l.Path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	name, err := cache.HashesOf(l.Path)
	if err != nil {
		return "", err
	}
	memory := content.Open(name)
	var done atomic.Int64
	var reporting sync.Mutex
	err = ForEach(ctx, len(l.Files), func() func(int) error {
		return func(i int) error {
			file := &l.Files[i]
			known := false
			if file.sum, known = memory.Known(file.info); known {
				return nil
			}
			f, err := root.Open(filepath.FromSlash(file.Name))
			if err != nil {
				return nil // the caller that decodes the file reports the error
			}
			defer f.Close() // nothing was written
			file.sum, err = memory.Hash(ctx, f, nil)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				file.sum = content.Sum{}
			}
			if n := done.Add(1); reporting.TryLock() { // no other goroutine is reporting
				defer reporting.Unlock()
				cache.Report(ctx, "hashing files of "+l.Path, n, int64(len(l.Files)))
			}
			return nil
		}
	})
	if err != nil {
		return "", err
	}
	_ = memory.Save() // a read-only data folder stores nothing
	sum := sha256.New()
	for _, f := range l.Files {
		fmt.Fprintf(sum, "%q %v\n", f.Name, f.sum)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Check returns an error if the file has changed since it was hashed.
func (f *File) Check(text []byte) error {
	if sha256.Sum256(text) != f.sum {
		return fmt.Errorf("%s: %w; start again", f.Name, ErrChanging)
	}
	return nil
}

var ErrChanging = errors.New("the file changes while it is read")

// maxPictureFile is the maximum size of a picture file in bytes.
const maxPictureFile = 1 << 30

// Read reads a file into buf, which it reuses if it is large enough.
func Read(root *os.Root, name string, buf []byte) ([]byte, error) {
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
	_, err = io.ReadFull(f, buf)
	return buf, err
}

// HasPictures reports whether a folder contains a picture. Errors of other data sets use it for a hint.
func HasPictures(path string) bool {
	found := false
	_ = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error { // an error only loses a hint
		if err != nil || ends(name, pictureEndings) && !e.IsDir() {
			found = err == nil
			return fs.SkipAll
		}
		return nil
	})
	return found
}
