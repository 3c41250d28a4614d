package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/edsrzf/mmap-go"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/pages"
)

// maxInMemory is the maximum number of bytes of 8-bit images in memory; larger sets stay on disk.
const maxInMemory = 256 << 20

// readImages reads the images, or memory-maps them.
func (s *gridSource) readImages(ctx context.Context, d *stored.Set, inMemory int) error {
	size := d.Shape[0] * d.Shape[1] * d.Shape[2]
	if size > stored.MaxPixels {
		return fmt.Errorf("%v: images of %d numbers; want at most %d", s.images, size, stored.MaxPixels)
	}
	switch {
	case !s.rule.eight:
		return s.readFloats(ctx, d, size)
	case !s.onDisk(d, inMemory):
		d.Bytes = make([]uint8, d.Count*size)
		err := s.each(ctx, d.Count, d.Bytes, func(from int, raw []byte) error {
			return s.rule.to8(d.Bytes[from*size:], raw, from, size)
		})
		if err != nil {
			return err
		}
		return s.rule.check()
	}
	mapped, err := s.mapFile(d, size)
	if err != nil || mapped {
		return err
	}
	return s.cached(ctx, d, size)
}

func (s *gridSource) onDisk(d *stored.Set, inMemory int) bool {
	return s.rule.eight && memory.Product(d.Count, d.Shape[0], d.Shape[1], d.Shape[2]) > float64(inMemory)
}

// each reads the images in slabs and calls visit for each slab. If into has room for all images, each reads them into
// into.
func (s *gridSource) each(ctx context.Context, n int, into []byte, visit func(from int, raw []byte) error) error {
	rows, err := s.images.Rows(s.axes)
	if err != nil {
		return err
	}
	defer rows.Close() // nothing was written
	row, slab := rows.RowBytes(), rows.Slab()
	var buffer []byte
	if len(into) != n*row {
		buffer = make([]byte, min(n, slab)*row)
	}
	for from := 0; from < n; from += slab {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+slab, n)
		raw := buffer
		if buffer == nil {
			raw = into[from*row:]
		}
		raw = raw[:(to-from)*row]
		if err := rows.Read(raw); err != nil {
			return err
		}
		if err := visit(from, raw); err != nil {
			return err
		}
	}
	return nil
}

// readFloats reads images into memory as float32, unless they are 8-bit.
func (s *gridSource) readFloats(ctx context.Context, d *stored.Set, size int) error {
	if err := memory.Check(s.images.String(), memory.Product(d.Count, size, 4)); err != nil {
		if s.Real {
			return err
		}
		return fmt.Errorf("%w; want round: true, for 8-bit images that stay on the disk", err)
	}
	d.Floats = make([]float32, d.Count*size)
	err := s.each(ctx, d.Count, nil, func(from int, raw []byte) error {
		n := len(raw) / s.images.Type.Size
		return s.rule.toFloats(d.Floats[from*size:from*size+n], raw, from, size)
	})
	if err != nil {
		return err
	}
	return s.rule.check()
}

// mapFile memory-maps an .npy file if its bytes are the pixels in the order of the images. It returns false for other
// files.
func (s *gridSource) mapFile(d *stored.Set, size int) (bool, error) {
	start, ok := arrays.Plain(s.images, s.axes)
	if !ok || !s.rule.identity() {
		return false, nil
	}
	f, err := disk.Open(s.images.Label)
	if err != nil {
		return false, err
	}
	defer f.Close() // the mapping remains
	m, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return false, fmt.Errorf("%s: mapping it into memory: %w", s.images.Label, err)
	}
	if len(m) != start+d.Count*size {
		return false, fmt.Errorf("%s: its size changes while it is opened", s.images.Label)
	}
	d.Bytes, d.Mapped = m[start:], s.images.Label
	const sample = 64 // number of images that are tested for white = 1
	for i := range min(sample, d.Count) {
		at := i * (d.Count / min(sample, d.Count)) * size
		s.rule.see(d.Bytes[at : at+size])
	}
	pages.Random(d.Bytes)
	return true, s.rule.check()
}

// cached converts the images to the cache, once for each file and options.
func (s *gridSource) cached(ctx context.Context, d *stored.Set, size int) error {
	path := s.Path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = s.images.Label
	}
	hash := func() (string, error) { return hashFiles(ctx, path, s.images.Files) }
	sum, err := hash()
	if err != nil {
		return err
	}
	options := fmt.Sprintf("content=%s array=%q axes=%v scale=%v", sum, s.names.Images, s.axes, s.rule.white)
	set, err := cache.Ensure(ctx, cache.Key{Name: "grid", Options: options, Version: 1}, func(ctx context.Context, w *cache.Writer) error {
		w.SetSources([]cache.Source{{Name: path, SHA256: sum}})
		if err := w.Begin(d.Count, d.Shape[0], d.Shape[1], d.Shape[2], nil); err != nil {
			return err
		}
		// Build always reads the factors from the file, because their settings do not affect the images.
		if err := w.SetLevels(make([]int32, d.Count)); err != nil {
			return err
		}
		var pixels []byte
		err := s.each(ctx, d.Count, nil, func(from int, raw []byte) error {
			n := len(raw) / s.images.Type.Size
			if len(pixels) < n {
				pixels = make([]byte, n)
			}
			if err := s.rule.to8(pixels[:n], raw, from, size); err != nil {
				return err
			}
			return stored.WriteImages(ctx, w, from, pixels[:n], size)
		})
		if err != nil {
			return err
		}
		if now, err := hash(); err != nil || now != sum {
			return cmp.Or(err, fmt.Errorf("%s: %w; start again", path, pictures.ErrChanging))
		}
		return s.rule.check()
	})
	if err != nil {
		return err
	}
	d.Bytes, d.Mapped = set.Images, set.File(cache.ImagesFile)
	return nil
}

// hashFiles returns the hash of a file. If several files contain its rows, it returns their hashes.
func hashFiles(ctx context.Context, path string, several []string) (string, error) {
	if several == nil {
		return cache.HashFile(ctx, path)
	}
	all := sha256.New()
	for _, file := range several {
		sum, err := cache.HashFile(ctx, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(all, sum)
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}
