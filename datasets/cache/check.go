package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/content"
	"github.com/unravel-ml/unravel/internal/disk"
)

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
