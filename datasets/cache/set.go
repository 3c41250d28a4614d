package cache

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"github.com/edsrzf/mmap-go"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/npy"
)

// Files in the folder of a set.
const (
	ImagesFile  = "images.npy"  // uint8 [N, H, W, C]
	FactorsFile = "factors.npy" // int32 [N, K]
	recordFile  = "set.json"    // written last
)

// Set is an open set of the cache. Images and Levels are memory-mapped: do not change them, or use them after Close.
type Set struct {
	Name    string          `json:"name"`
	Options string          `json:"options,omitempty"` // options of the set's [Key]
	Count   int             `json:"count"`             // number of images
	H       int             `json:"height"`
	W       int             `json:"width"`
	C       int             `json:"channels"`
	Factors []factor.Factor `json:"factors"`
	Images  []uint8         `json:"-"`                 // Count x H x W x C
	Levels  []int32         `json:"-"`                 // Count x K, row by row; -1: unknown
	Missing []int           `json:"missing,omitempty"` // number of images with an unknown level for each factor; nil: none

	Hash    string   `json:"hash"`              // SHA-256 of images, levels and factors, in hexadecimal digits
	Sources []Source `json:"sources,omitempty"` // its source files

	dir   string
	maps  []mmap.MMap
	files []fileRecord // memory-mapped files
}

// Source is a source file of a set.
type Source struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// File returns the path of a file of the set.
func (s *Set) File(name string) string { return filepath.Join(s.dir, name) }

// Close unmaps the files. A set stays mapped until Close or the end of the program.
func (s *Set) Close() error {
	if s == nil {
		return nil
	}
	var errs []error
	for i := range s.maps {
		errs = append(errs, s.maps[i].Unmap())
	}
	s.maps, s.Images, s.Levels = nil, nil, nil
	return errors.Join(errs...)
}

// Bytes returns the size of the files on disk.
func (s *Set) Bytes() int64 {
	n := int64(0)
	for _, m := range s.maps {
		n += int64(len(m))
	}
	return n
}

// record is the content of set.json.
type record struct {
	Format  int `json:"format"`
	Version int `json:"version"`
	Set
	Files []fileRecord `json:"files"`
}

// fileRecord is the state of a file when the set was created.
type fileRecord struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256"`
}

const (
	recordFormat = 1
	maxRecord    = 64 << 20 // bytes of set.json
)

func readRecord(k Key) (*record, error) {
	r, err := parseRecord(k.Dir())
	if err != nil {
		return nil, err
	}
	if err := r.check(k); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", k.Dir(), errBroken, err)
	}
	return r, nil
}

// parseRecord reads the description of the set in a folder.
func parseRecord(dir string) (*record, error) {
	text, err := disk.ReadFile(filepath.Join(dir, recordFile), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); err == nil {
			return nil, fmt.Errorf("%s: %w: it has no %s", dir, errBroken, recordFile)
		}
		return nil, fmt.Errorf("%s: %w", dir, ErrAbsent)
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w: %s: %w", dir, errBroken, recordFile, err)
	}
	return &r, nil
}

// check compares a description with a key, and checks that its fields agree.
func (r *record) check(k Key) error {
	switch {
	case r.Format != recordFormat:
		return fmt.Errorf("%s has format %d; want %d", recordFile, r.Format, recordFormat)
	case r.Name != k.Name || r.Options != k.Options:
		return fmt.Errorf("it holds %q with the options %q; want %q with %q", r.Name, r.Options, k.Name, k.Options)
	case r.Version != k.Version:
		return fmt.Errorf("it was converted by version %d; want version %d", r.Version, k.Version)
	case len(r.Files) != 2 || r.Files[0].Name != ImagesFile || r.Files[1].Name != FactorsFile:
		return fmt.Errorf("%s does not name the files %s and %s", recordFile, ImagesFile, FactorsFile)
	}
	if len(r.Missing) > 0 && len(r.Missing) != len(r.Factors) {
		return fmt.Errorf("%s counts the missing levels of %d factors; want %d", recordFile, len(r.Missing), len(r.Factors))
	}
	if err := r.Set.check(); err != nil {
		return err
	}
	if sum, err := r.hash(); err != nil || sum != r.Hash {
		return cmp.Or(err, fmt.Errorf("its content has the hash %s; want %s", sum, r.Hash))
	}
	return nil
}

// resolutions lists the time resolutions of file systems and archives.
var resolutions = []time.Duration{time.Second, 2 * time.Second}

// sameTime reports whether a file has the recorded time, exactly or at a coarser resolution.
func sameTime(current, recorded time.Time) bool {
	return current.Equal(recorded) || slices.ContainsFunc(resolutions, func(unit time.Duration) bool {
		return current.Truncate(unit).Equal(current) &&
			(current.Equal(recorded.Truncate(unit)) || current.Equal(recorded.Truncate(unit).Add(unit)))
	})
}

// open opens a set and checks the sizes and times of its files.
func open(k Key) (*Set, error) {
	r, err := readRecord(k)
	if err != nil {
		return nil, err
	}
	s := &r.Set
	s.dir, s.files = k.Dir(), r.Files
	images, err := s.mapFile(k, r.Files[0], "uint8", []int{s.Count, s.H, s.W, s.C})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	levels, err := s.mapFile(k, r.Files[1], "int32", []int{s.Count, len(s.Factors)})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Images, s.Levels = images, asInt32(levels)
	return s, nil
}

// readWhole is the maximum size, in bytes, of a file that Open always reads. For larger files, see [HashFile].
const readWhole = 256 << 20

// verify compares the content of an open set with its hashes. It always reads files of up to whole bytes.
func (s *Set) verify(ctx context.Context, k Key, whole int) error {
	for i, want := range s.files {
		path := filepath.Join(k.Dir(), want.Name)
		got := ""
		if m := s.maps[i]; len(m) <= whole {
			sum := sha256.Sum256(m)
			got = hex.EncodeToString(sum[:])
		} else {
			var err error
			if got, err = HashFile(ctx, path); err != nil {
				return err
			}
		}
		if got != want.SHA256 {
			return fmt.Errorf("%s: %w: its SHA-256 is %s; want %s", path, errBroken, got, want.SHA256)
		}
	}
	return nil
}

func (s *Set) mapFile(k Key, want fileRecord, dtype string, shape []int) ([]byte, error) {
	path := filepath.Join(k.Dir(), want.Name)
	f, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: the file is missing", path, errBroken)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping remains
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Size() != want.Size:
		return nil, fmt.Errorf("%s: %w: it has %d bytes; want %d", path, errBroken, info.Size(), want.Size)
	case !sameTime(info.ModTime(), want.Modified):
		return nil, fmt.Errorf("%s: %w", path, ErrTouched)
	}
	m, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: mapping it into memory: %w", path, err)
	}
	s.maps = append(s.maps, m)
	r, err := npy.NewReader(bytes.NewReader(m), path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	size := 1
	if dtype == "int32" {
		size = 4
	}
	start := len(m) - size*r.Len()
	if r.DType != dtype || !slices.Equal(r.Shape, shape) || r.Fortran || r.BigEndian || start < 0 {
		return nil, fmt.Errorf("%s: %w: it holds %s of shape %v; want %s of shape %v in C order, little endian",
			path, errBroken, r.DType, r.Shape, dtype, shape)
	}
	return m[start:], nil
}

// asInt32 returns little-endian mapped bytes as int32 numbers.
func asInt32(b []byte) []int32 {
	if len(b) == 0 {
		return nil
	}
	if data := unsafe.SliceData(b); nativeLittle && uintptr(unsafe.Pointer(data))%4 == 0 {
		return unsafe.Slice((*int32)(unsafe.Pointer(data)), len(b)/4)
	}
	list := make([]int32, len(b)/4)
	for i := range list {
		list[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return list
}

var nativeLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
