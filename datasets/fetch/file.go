// Package fetch fetches the source files of public data sets to a folder: from the network, from a mirror, or from a
// local file or folder. It resumes partial downloads, checks sizes and hashes, and records the results.
package fetch

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
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
	// ErrAbsent is the error of [Verify] and [Check] for a missing source file. [Files] fetches the file.
	ErrAbsent = errors.New("the file is not there")
	// errWrong is the error of [Verify], [Check], [Place] and [Files] for a source file with another size or hash than
	// published. Fetch the file again, or set Options.Trust to accept it.
	errWrong = errors.New("it is not the file that is wanted")
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

// maxRecord is the maximum size, in bytes, of a record and of the state of a download.
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

// record records a file in the folder with its hashes. With trust, it accepts any size and hash.
func (f *File) record(dir string, h *hashes, from string, trust bool) (Found, error) {
	info, err := os.Stat(filepath.Join(dir, f.Name))
	if err != nil {
		return Found{}, err
	}
	found := h.found(info)
	found.From, found.Trusted = from, trust && f.check(found) != nil
	return found, note(dir, f.Name, found)
}

// note records facts about a file.
func note(dir, name string, f Found) error {
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
// recorded, and compares it with the known size and hash. The error is [ErrAbsent] or errWrong.
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
	found, err := find(ctx, path)
	if err != nil {
		return Found{}, err
	}
	same := ok && known.SHA256 == found.SHA256
	found.Trusted = same && known.Trusted
	if same {
		found.From = known.From
	}
	if full && ok && !same {
		return Found{}, fmt.Errorf("%s: %w: its SHA-256 is %s; want %s, as recorded", path, errWrong, found.SHA256, known.SHA256)
	}
	if err := f.check(found); err != nil && !found.Trusted {
		return Found{}, fmt.Errorf("%s: %w", path, err)
	}
	// a read-only folder cannot store a record
	_ = note(dir, f.Name, found)
	return found, nil
}

// trust records a file without checking it.
func trust(ctx context.Context, dir string, f File) (Found, error) {
	found, err := find(ctx, filepath.Join(dir, f.Name))
	if err != nil {
		return Found{}, err
	}
	found.Trusted = f.check(found) != nil
	return found, note(dir, f.Name, found)
}

// hashed reports whether a hash of the file is known.
func (f *File) hashed() bool { return f.SHA256 != "" || f.MD5 != "" }

// check compares a file with its known size and hashes.
func (f *File) check(got Found) error {
	switch {
	case f.Size > 0 && got.Size != f.Size:
		return fmt.Errorf("%w: it has %d bytes; want %d", errWrong, got.Size, f.Size)
	case f.SHA256 != "" && got.SHA256 != f.SHA256:
		return fmt.Errorf("%w: its SHA-256 is %s; want %s", errWrong, got.SHA256, f.SHA256)
	case f.SHA256 == "" && f.MD5 != "" && got.MD5 != f.MD5:
		return fmt.Errorf("%w: its MD5 is %s; want %s", errWrong, got.MD5, f.MD5)
	}
	return nil
}

// hashes are the running hashes of a file.
type hashes struct {
	sha256, md5 hash.Hash
	io.Writer
}

func newHashes() *hashes {
	h := &hashes{sha256: sha256.New(), md5: md5.New()}
	h.Writer = io.MultiWriter(h.sha256, h.md5)
	return h
}

// find returns the facts about a file.
func find(ctx context.Context, path string) (Found, error) {
	f, err := disk.Open(path)
	if err != nil {
		return Found{}, err
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return Found{}, err
	}
	h := newHashes()
	if _, err := copyTo(ctx, h, f, "checking "+filepath.Base(path), info.Size()); err != nil {
		return Found{}, err
	}
	return h.found(info), nil
}

func (h *hashes) found(info fs.FileInfo) Found {
	return Found{Size: info.Size(), Modified: info.ModTime().UTC(), SHA256: hex.EncodeToString(h.sha256.Sum(nil)), MD5: hex.EncodeToString(h.md5.Sum(nil))}
}
