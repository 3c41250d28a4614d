// Package cache stores the converted images of data sets on disk: memory-mapped 8-bit pixels, the levels of their
// factors, and a description. One process converts a set while others wait, and no process sees an incomplete set.
//
// A set is a folder <root>/sets/NAME with images.npy (uint8, [N, H, W, C]), factors.npy (int32, [N, K], -1: unknown)
// and set.json. Other programs can read the arrays with numpy.load("images.npy", mmap_mode="r").
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/unravel-ml/unravel/internal/content"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/lock"
	"github.com/unravel-ml/unravel/internal/progress"
)

// RootVariable is the environment variable that names the folder of the cache.
const RootVariable = "UNRAVEL_DATA"

var (
	// ErrAbsent is the error of [Open] and [Check] for a set missing from the cache. [Ensure] creates the set.
	ErrAbsent = errors.New("the set is not in the cache")
	// errBroken is the error of [Open] and [Check] for a set with damaged files, or from another version. [Ensure]
	// creates the set again.
	errBroken = errors.New("the cached set is damaged")
	// ErrTouched is the error of [Open] for a set with files that have the right sizes but were written after the set
	// was created. It wraps errBroken; [Check] reports whether the content has changed.
	ErrTouched = fmt.Errorf("%w: a file was written since the set was made", errBroken)
)

// Root returns the folder of the cache: UNRAVEL_DATA, or unravel in the user's cache folder; "" if neither exists.
func Root() string {
	root := os.Getenv(RootVariable)
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		root = filepath.Join(user, "unravel")
	}
	if whole, err := filepath.Abs(root); err == nil {
		return whole
	}
	return root
}

// Downloads returns the folder of the source files of a set.
func Downloads(name string) string { return filepath.Join(Root(), "downloads", name) }

// Key identifies a cached set.
type Key struct {
	Name    string // name of the data set
	Options string // canonical text of the settings that affect the pixels; may be empty
	Version int    // version of the conversion; a set of another version counts as broken
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Dir returns the folder of a set.
func (k Key) Dir() string { return filepath.Join(Root(), "sets", k.folder()) }

// folder returns the name of the folder: the name of the set, and a hash of the options if there are any.
func (k Key) folder() string {
	if k.Options == "" {
		return k.Name
	}
	sum := sha256.Sum256([]byte(k.Options))
	return k.Name + "-" + hex.EncodeToString(sum[:8])
}

// check returns an error if the key is not a valid folder name, or if there is no folder for the cache.
func (k Key) check() error {
	if !plainName.MatchString(k.Name) {
		return fmt.Errorf("%q is not the name of a data set; want letters, digits, '.', '_' and '-', a letter or digit first",
			k.Name)
	}
	if Root() == "" {
		return fmt.Errorf("there is no folder for data sets; want %s to name one", RootVariable)
	}
	return nil
}

// Progress receives the current activity and its progress. total is 0 if the total is unknown.
type Progress func(what string, done, total int64)

// WithProgress returns a context whose function gets the reports of this package, from one goroutine at a time.
func WithProgress(ctx context.Context, p Progress) context.Context {
	return progress.With(ctx, progress.Func(p))
}

// Report passes progress to the function that [WithProgress] added to the context, if any.
func Report(ctx context.Context, what string, done, total int64) {
	progress.Report(ctx, what, done, total)
}

// Open opens a set of the cache and compares its files with their hashes. It always reads files of up to 256 MiB; it
// reads a larger file only if the file has changed since the last time. [Check] always reads all files. The error is
// [ErrAbsent], errBroken or [ErrTouched].
func Open(ctx context.Context, k Key) (*Set, error) {
	if err := errors.Join(k.check(), ctx.Err()); err != nil {
		return nil, err
	}
	s, err := open(k)
	if err != nil {
		return nil, err
	}
	if err := s.verify(ctx, k, readWhole); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

type openOnlyKey struct{}

// WithoutMaking returns a context for [Ensure]: it then never creates a set, but only opens it, as [Open] does.
func WithoutMaking(ctx context.Context) context.Context {
	return context.WithValue(ctx, openOnlyKey{}, true)
}

// Ensure opens a set of the cache. It first creates an absent or broken set: convert writes the set to a temporary
// folder, which Ensure renames when the set is complete. If another process or goroutine is creating the set, Ensure
// waits. Ensure compares a touched set with its hash, and keeps the set if the hash is right.
func Ensure(ctx context.Context, k Key, convert func(context.Context, *Writer) error) (*Set, error) {
	return EnsureValid(ctx, k, func(*Set) error { return nil }, convert)
}

// EnsureValid is [Ensure] with a test of opened sets. valid returns an error for an outdated set, for example one with
// changed source files; a nil function accepts every set. An outdated set counts as broken.
func EnsureValid(ctx context.Context, k Key, valid func(*Set) error, convert func(context.Context, *Writer) error) (*Set, error) {
	s, err := openValid(ctx, k, valid)
	if err == nil || !errors.Is(err, ErrAbsent) && !errors.Is(err, errBroken) || ctx.Value(openOnlyKey{}) != nil {
		return s, err
	}
	if err := os.MkdirAll(filepath.Dir(k.Dir()), 0o777); err != nil {
		return nil, fmt.Errorf("the folder of data sets: %w", err)
	}
	held, err := lock.Wait(ctx, k.Dir()+".lock",
		func() { Report(ctx, "waiting for another process to make "+k.Name, 0, 0) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Dir(), err)
	}
	s, err = ensureLocked(ctx, k, valid, convert)
	if err2 := held.Unlock(); err == nil && err2 != nil {
		return nil, errors.Join(err2, s.Close())
	}
	return s, err
}

// openValid opens a set and returns an error if the set is outdated.
func openValid(ctx context.Context, k Key, valid func(*Set) error) (*Set, error) {
	s, err := Open(ctx, k)
	if err != nil {
		return nil, err
	}
	if err := valid(s); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w: %w", k.Dir(), errBroken, err), s.Close())
	}
	return s, nil
}

// ensureLocked is EnsureValid for a caller that holds the lock.
func ensureLocked(
	ctx context.Context, k Key, valid func(*Set) error, convert func(context.Context, *Writer) error,
) (*Set, error) {
	if err := removeTemp(k); err != nil {
		return nil, err
	}
	s, err := openValid(ctx, k, valid)
	if errors.Is(err, ErrTouched) {
		if err = Check(ctx, k); err == nil {
			s, err = openValid(ctx, k, valid)
		}
	}
	if err == nil || !errors.Is(err, ErrAbsent) && !errors.Is(err, errBroken) {
		return s, err
	}
	if err2 := build(ctx, k, convert); errors.Is(err, errBroken) && err2 != nil {
		return nil, fmt.Errorf("%w; making it again: %w", err, err2)
	} else if err2 != nil {
		return nil, err2
	}
	if errors.Is(err, errBroken) {
		progress.Say(ctx, fmt.Sprintf("a cached data set is made again: %v", err))
	}
	return open(k)
}

// build creates a set in a temporary folder and then renames the folder.
func build(ctx context.Context, k Key, convert func(context.Context, *Writer) error) (err error) {
	parent := filepath.Dir(k.Dir())
	tmp := filepath.Join(parent, tempPrefix(k)+"new")
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	w := &Writer{key: k, dir: tmp}
	err = convert(ctx, w)
	if err = w.end(ctx, err); err != nil {
		return err
	}
	if err := replace(tmp, k.Dir(), filepath.Join(parent, tempPrefix(k)+"old")); err != nil {
		return err
	}
	return disk.SyncDir(parent)
}

// replace renames a folder. If the new name exists, it first moves that folder away, and removes it afterwards.
func replace(from, to, old string) error {
	err := os.Rename(to, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is broken and cannot be replaced, perhaps because a program uses it: %w", to, err)
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// tempPrefix returns the prefix of the names of a set's temporary folders.
func tempPrefix(k Key) string { return ".making-" + k.folder() + "~" }

// removeTemp removes the temporary folders of killed processes. The caller holds the lock of the key.
func removeTemp(k Key) error {
	parent := filepath.Dir(k.Dir())
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix(k)) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(parent, e.Name())))
		}
	}
	return err
}

// Remove removes a set from the cache. Removing a missing set is not an error.
func Remove(ctx context.Context, k Key) error {
	if err := k.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(k.Dir()), 0o777); err != nil {
		return err
	}
	held, err := lock.Wait(ctx, k.Dir()+".lock", nil)
	if err != nil {
		return err
	}
	return errors.Join(removeTemp(k), os.RemoveAll(k.Dir()), held.Unlock())
}

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

// Check reads all files of a set and compares them with their hashes. If a touched set has the right content, it no
// longer counts as touched. The error is [ErrAbsent] or errBroken.
func Check(ctx context.Context, k Key) error {
	if err := k.check(); err != nil {
		return err
	}
	r, err := readRecord(k)
	if err != nil {
		return err
	}
	touched := false
	for i := range r.Files {
		f := &r.Files[i]
		path := filepath.Join(k.Dir(), f.Name)
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("%s: %w: %w", path, errBroken, err)
		}
		if info.Size() != f.Size {
			return fmt.Errorf("%s: %w: it has %d bytes; want %d", path, errBroken, info.Size(), f.Size)
		}
		sum, err := hashFile(ctx, path, "checking "+k.Name)
		if err != nil {
			return err
		}
		if sum != f.SHA256 {
			return fmt.Errorf("%s: %w: its SHA-256 is %s; want %s", path, errBroken, sum, f.SHA256)
		}
		if !sameTime(info.ModTime(), f.Modified) {
			f.Modified, touched = info.ModTime().UTC(), true
		}
	}
	if !touched {
		s, err := open(k)
		return errors.Join(err, s.Close())
	}
	return r.write(k.Dir())
}

// hashFile returns the SHA-256 of a file in hexadecimal digits.
func hashFile(ctx context.Context, path, what string) (string, error) {
	f, err := disk.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() // nothing was written
	sum, err := content.Open("").Hash(ctx, f, func(done, total int64) { Report(ctx, what, done, total) })
	return sum.String(), err
}

// HashFile returns the SHA-256 of a file in hexadecimal. The data folder caches the hash until the file changes.
func HashFile(ctx context.Context, path string) (string, error) {
	memory, err := HashesOf(path)
	if err != nil {
		return "", err
	}
	sum, err := content.HashFile(ctx, path, memory, func(done, total int64) { Report(ctx, "hashing "+path, done, total) })
	if err != nil {
		return "", err
	}
	return sum.String(), nil
}

// HashesOf returns the file that caches the hashes of a file, or of files below a folder; "" without a data folder.
func HashesOf(path string) (string, error) {
	if Root() == "" {
		return "", nil
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(whole))
	return filepath.Join(Root(), "hashes", hex.EncodeToString(sum[:16])), nil
}
