// Package source describes the source files of public data sets, checks the files in a folder against published sizes
// and hashes, and records the results. Package fetch brings the files there.
package source

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/progress"
)

// File is a source file of a data set.
type File struct {
	Name   string // name in the folder of the set
	URL    string
	Size   int64  // bytes; 0: unknown
	SHA256 string // hexadecimal; empty: unknown
	MD5    string // hexadecimal; empty: unknown

	// Instead names the file that this file can replace. Such a file is only fetched on request.
	Instead string
	// Optional files are only fetched on request.
	Optional bool
}

var (
	// ErrAbsent is the error of [Verify] and [Check] for a missing source file. Package fetch fetches the file.
	ErrAbsent = errors.New("the file is not there")
	// ErrWrong is the error of [Verify], [Check], [Place] and [File.Match] for a source file with another size or hash
	// than published. Fetch the file again, or trust it.
	ErrWrong = errors.New("it is not the file that is wanted")
)

// recordName is the file name of a folder's record.
const recordName = "sources.json"

// Found describes a source file in a folder.
type Found struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256"`
	MD5      string    `json:"md5,omitempty"`
	From     string    `json:"from,omitempty"`    // URL or path
	Trusted  bool      `json:"trusted,omitempty"` // accepted without the published hash
}

// maxRecord is the maximum size of a record in bytes.
const maxRecord = 64 << 20

// Records returns the records of a folder by file name. It returns an empty map if there are none.
func Records(dir string) (map[string]Found, error) {
	path := filepath.Join(dir, recordName)
	text, err := disk.ReadFile(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Found{}, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]Found{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it", path, err)
	}
	return all, nil
}

// Record records facts about a file in the folder.
func Record(dir, name string, f Found) error {
	all, err := Records(dir)
	if err != nil {
		return err
	}
	all[name] = f
	return disk.WriteFile(filepath.Join(dir, recordName), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}, false)
}

// Verify returns the facts about a source file in a folder. It hashes a file that is new or has changed since it was
// recorded, and compares it with the known size and hash. The error is [ErrAbsent] or [ErrWrong].
func Verify(ctx context.Context, dir string, f File) (Found, error) {
	return verify(ctx, dir, f, false)
}

// Check is [Verify], but it always hashes the file and also compares it with its record.
func Check(ctx context.Context, dir string, f File) (Found, error) { return verify(ctx, dir, f, true) }

func verify(ctx context.Context, dir string, f File, full bool) (Found, error) {
	path := filepath.Join(dir, f.Name)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Found{}, fmt.Errorf("%s: %w", path, ErrAbsent)
	}
	if err != nil {
		return Found{}, err
	}
	all, err := Records(dir)
	if err != nil {
		return Found{}, err
	}
	known, ok := all[f.Name]
	if ok && !full && known.Size == info.Size() && known.Modified.Equal(info.ModTime()) {
		return known, nil
	}
	found, err := Find(ctx, path)
	if err != nil {
		return Found{}, err
	}
	same := ok && known.SHA256 == found.SHA256
	found.Trusted = same && known.Trusted
	if same {
		found.From = known.From
	}
	if full && ok && !same {
		return Found{}, fmt.Errorf("%s: %w: its SHA-256 is %s; want %s, as recorded",
			path, ErrWrong, found.SHA256, known.SHA256)
	}
	if err := f.Match(found); err != nil && !found.Trusted {
		return Found{}, fmt.Errorf("%s: %w", path, err)
	}
	// a read-only folder cannot store a record
	_ = Record(dir, f.Name, found)
	return found, nil
}

// Match compares facts about a file with its published size and hashes. The error is [ErrWrong].
func (f *File) Match(got Found) error {
	switch {
	case f.Size > 0 && got.Size != f.Size:
		return fmt.Errorf("%w: it has %d bytes; want %d", ErrWrong, got.Size, f.Size)
	case f.SHA256 != "" && got.SHA256 != f.SHA256:
		return fmt.Errorf("%w: its SHA-256 is %s; want %s", ErrWrong, got.SHA256, f.SHA256)
	case f.SHA256 == "" && f.MD5 != "" && got.MD5 != f.MD5:
		return fmt.Errorf("%w: its MD5 is %s; want %s", ErrWrong, got.MD5, f.MD5)
	}
	return nil
}

// Find returns the facts about any file. It reads the whole file, and reports progress to the function in the context.
func Find(ctx context.Context, path string) (Found, error) {
	return read(ctx, path, io.Discard, "checking "+filepath.Base(path))
}

// read copies a file, and returns the facts about it. It reports progress under the name what.
func read(ctx context.Context, path string, to io.Writer, what string) (Found, error) {
	f, err := disk.Open(path)
	if err != nil {
		return Found{}, err
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return Found{}, err
	}
	done := int64(0)
	report := writerFunc(func(p []byte) (int, error) {
		done += int64(len(p))
		progress.Report(ctx, what, done, info.Size())
		return len(p), ctx.Err()
	})
	long, short := sha256.New(), md5.New()
	file := struct{ io.Reader }{f} // hides a method WriteTo, which has smaller pieces
	n, err := io.CopyBuffer(io.MultiWriter(to, long, short, report), file, make([]byte, 1<<20))
	if err == nil && n != info.Size() {
		err = errors.New("its size changes while it is read")
	}
	if err != nil {
		return Found{}, err
	}
	sum, old := hex.EncodeToString(long.Sum(nil)), hex.EncodeToString(short.Sum(nil))
	return Found{Size: n, Modified: info.ModTime().UTC(), SHA256: sum, MD5: old}, nil
}

// writerFunc is a function as an io.Writer.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Place copies a local file to a folder as a source file, and records it. It checks the file before renaming it to its
// final name. With trust, it accepts any size and hash.
func Place(ctx context.Context, dir string, f File, path string, trust bool) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil {
		err = disk.CheckFree(dir, info.Size())
	}
	if err != nil {
		return err
	}
	var found Found
	to := filepath.Join(dir, f.Name)
	err = disk.WriteFile(to, func(w io.Writer) (err error) {
		if found, err = read(ctx, path, w, "copying "+f.Name); err == nil && !trust {
			err = f.Match(found)
		}
		return err
	}, false)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if info, err = os.Stat(to); err != nil {
		return err
	}
	found.Modified, found.From, found.Trusted = info.ModTime().UTC(), path, trust && f.Match(found) != nil
	return Record(dir, f.Name, found)
}
