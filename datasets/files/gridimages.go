package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"slices"
	"sync/atomic"

	"github.com/edsrzf/mmap-go"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/pages"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// maxInMemory is the maximum number of bytes of 8-bit images in memory; larger sets stay on disk.
const maxInMemory = 256 << 20

func (s *gridSource) readImages(ctx context.Context, d *stored.Set, inMemory int) error {
	size := d.Shape[0] * d.Shape[1] * d.Shape[2]
	if size > stored.MaxPixels {
		return fmt.Errorf("%v: images of %d numbers; want at most %d", s.images, size, stored.MaxPixels)
	}
	switch {
	case !s.conversion.to8Bit:
		return s.readFloats(ctx, d, size)
	case !s.onDisk(d, inMemory):
		d.Bytes = make([]uint8, d.Count*size)
		err := s.forSlabs(ctx, d.Count, d.Bytes, func(from int, raw []byte) error {
			return s.conversion.to8(d.Bytes[from*size:], raw, from, size)
		})
		if err != nil {
			return err
		}
		return s.conversion.checkWhite()
	}
	mapped, err := s.mapFile(d, size)
	if err != nil || mapped {
		return err
	}
	return s.cacheImages(ctx, d, size)
}

func (s *gridSource) onDisk(d *stored.Set, inMemory int) bool {
	return s.conversion.to8Bit && memory.Product(d.Count, d.Shape[0], d.Shape[1], d.Shape[2]) > float64(inMemory)
}

// forSlabs reads the images in slabs, and calls visit for each slab. If images has room for all images, the slabs are
// in images.
func (s *gridSource) forSlabs(ctx context.Context, n int, images []byte, visit func(from int, raw []byte) error) error {
	rows, err := s.images.Rows(s.axes)
	if err != nil {
		return err
	}
	defer rows.Close() // nothing was written
	row, slab := rows.RowBytes(), rows.Slab()
	var buffer []byte
	if len(images) != n*row {
		buffer = make([]byte, min(n, slab)*row)
	}
	for from := 0; from < n; from += slab {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+slab, n)
		raw := buffer
		if buffer == nil {
			raw = images[from*row:]
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
	err := s.forSlabs(ctx, d.Count, nil, func(from int, raw []byte) error {
		n := len(raw) / s.images.Type.Size
		return s.conversion.toFloats(d.Floats[from*size:from*size+n], raw, from, size)
	})
	if err != nil {
		return err
	}
	return s.conversion.checkWhite()
}

// mapFile memory-maps an .npy file if its bytes are the pixels in order. It returns false for other files.
func (s *gridSource) mapFile(d *stored.Set, size int) (bool, error) {
	start, ok := arrays.Plain(s.images, s.axes)
	if !ok || !s.conversion.identity() {
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
		offset := i * (d.Count / min(sample, d.Count)) * size
		s.conversion.recordBytes(d.Bytes[offset : offset+size])
	}
	pages.Random(d.Bytes)
	return true, s.conversion.checkWhite()
}

// cacheImages converts the images to the cache, once for each file and options.
func (s *gridSource) cacheImages(ctx context.Context, d *stored.Set, size int) error {
	path := s.Path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = s.images.Label
	}
	hash := func() (string, error) { return hashFiles(ctx, path, s.images.Files) }
	sum, err := hash()
	if err != nil {
		return err
	}
	options := fmt.Sprintf("content=%s array=%q axes=%v scale=%v", sum, s.names.Images, s.axes, s.conversion.white)
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
		err := s.forSlabs(ctx, d.Count, nil, func(from int, raw []byte) error {
			n := len(raw) / s.images.Type.Size
			if len(pixels) < n {
				pixels = make([]byte, n)
			}
			if err := s.conversion.to8(pixels[:n], raw, from, size); err != nil {
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
		return s.conversion.checkWhite()
	})
	if err != nil {
		return err
	}
	d.Bytes, d.Mapped = set.Images, set.File(cache.ImagesFile)
	return nil
}

// hashFiles returns the hash of a file. If several files contain its rows, it returns their hashes.
func hashFiles(ctx context.Context, path string, shards []string) (string, error) {
	if shards == nil {
		return cache.HashFile(ctx, path)
	}
	combined := sha256.New()
	for _, file := range shards {
		sum, err := cache.HashFile(ctx, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(combined, sum)
	}
	return hex.EncodeToString(combined.Sum(nil)), nil
}

// pixelConversion converts the numbers of an array to pixels: number/white, from 0 to 1, or unchanged real numbers.
type pixelConversion struct {
	a            *arrays.Array
	white        float64
	defaultWhite bool // white is the default for the type
	real         bool
	to8Bit       bool // pixels become 8-bit
	largest      *atomic.Uint64
}

func newPixelRule(g *GridFolder, a *arrays.Array) (pixelConversion, error) {
	t := a.Type
	r := pixelConversion{a: a, white: g.Scale, defaultWhite: g.Scale == 0, real: g.Real, to8Bit: g.Round ||
		t == dtype.Uint8 || t == dtype.Bool, largest: new(atomic.Uint64)}
	switch {
	case g.Real && t.Kind != 'f':
		return r, config.Invalid("real", "%s (%v) holds %s, which are pixels; want floats, or real: false",
			a.Label, a.Shape, t)
	case t == dtype.Bool && g.Scale != 0 && g.Scale != 1:
		return r, config.Invalid("scale", "%s (%v) holds bool, and %v is white; want 1, or none", a.Label, a.Shape, g.Scale)
	case g.Scale != 0:
	case t == dtype.Bool || t.Kind == 'f':
		r.white = 1
	case t == dtype.Uint8:
		r.white = math.MaxUint8
	case t.Kind == 'u' && t.Size == 2:
		r.white = math.MaxUint16
	default:
		return r, fmt.Errorf("%s (%v) holds %s; want uint8, uint16, bool, floats in [0, 1], or the value of white, such as scale: 255", a.Label, a.Shape, t)
	}
	return r, nil
}

// identity reports whether the bytes of the array are already pixels.
func (r *pixelConversion) identity() bool { return r.a.Type == dtype.Uint8 && r.white == math.MaxUint8 }

// recordBytes updates the maximum 8-bit pixel.
func (r *pixelConversion) recordBytes(pixels []byte) {
	if len(pixels) > 0 {
		r.recordMax(uint64(slices.Max(pixels)))
	}
}

func (r *pixelConversion) recordMax(v uint64) {
	for {
		old := r.largest.Load()
		if v <= old || r.largest.CompareAndSwap(old, v) {
			return
		}
	}
}

// checkWhite rejects images that would be almost black because white is not the default for the type.
func (r *pixelConversion) checkWhite() error {
	if !r.defaultWhite || r.a.Type.Kind != 'u' {
		return nil
	}
	largest, likely := r.largest.Load(), uint64(1)
	if r.a.Type.Size == 2 {
		likely = math.MaxUint8
	}
	if largest == 0 || largest > likely {
		return nil
	}
	return fmt.Errorf("%v: the largest number is %d; want scale: %d if that is white, or scale: %v",
		r.a, largest, likely, r.white)
}

// rangeError returns the error about an invalid pixel.
func (r *pixelConversion) rangeError(image int, v float64) error {
	if r.real {
		return fmt.Errorf("%s (%v, %s): image %d has a number %v; want finite numbers",
			r.a.Label, r.a.Shape, r.a.Type, image, v)
	}
	want := fmt.Sprintf("0 to %v, the value of white", r.white)
	switch defaultFloat := r.defaultWhite && r.a.Type.Kind == 'f'; {
	case v-v != 0: // infinity or NaN: neither Scale nor Real helps
		want = "finite numbers"
	case defaultFloat && v < 0:
		want = "0 to 1, or real: true for real numbers"
	case defaultFloat:
		want = "0 to 1, scale: 255 if that is white, or real: true for real numbers"
	}
	return fmt.Errorf("%s (%v, %s): image %d has a pixel %v; want %s", r.a.Label, r.a.Shape, r.a.Type, image, v, want)
}

// block is the number of values per conversion step.
const block = 1 << 14

// pixel returns the pixel of a number, or false if it is invalid. Rounding errors outside [0, 1] become black or white.
func (r *pixelConversion) pixel(v float64) (p float64, ok bool) {
	const rounding = 2e-5
	p = v / r.white
	if r.a.Type.Kind == 'f' && p >= -rounding && p <= 1+rounding {
		p = min(max(p, 0), 1)
	}
	return p, p >= 0 && p <= 1
}

// forBlocks calls convert for blocks of n numbers, on all processors, and returns an error for the first invalid
// number.
func (r *pixelConversion) forBlocks(n, first, size int, convert func(from, to int) (invalid int, v float64)) error {
	count := (n + block - 1) / block
	wrong, values := make([]int, count), make([]float64, count)
	parallel.For(count, func(_, i int) { wrong[i], values[i] = convert(i*block, min((i+1)*block, n)) })
	for i, invalid := range wrong {
		if invalid >= 0 {
			return r.rangeError(first+(i*block+invalid)/size, values[i])
		}
	}
	return nil
}

// to8 converts the raw numbers of images to 8-bit pixels. first is the number of the first image, and size the values
// per image. dst may be raw.
func (r *pixelConversion) to8(dst, raw []byte, first, size int) error {
	t := r.a.Type
	if t.Size > 1 || t.Kind == 'i' {
		dst = dst[:len(raw)/t.Size]
		return convertPixels(r, dst, raw, first, size, func(p float64) uint8 { return uint8(p*math.MaxUint8 + 0.5) })
	}
	var table [256]uint8
	allowed := int(min(r.white, math.MaxUint8))
	for b := range allowed + 1 {
		table[b] = uint8(float64(b)/r.white*math.MaxUint8 + 0.5)
	}
	return r.forBlocks(len(raw), first, size, func(from, to int) (int, float64) {
		piece := raw[from:to]
		r.recordBytes(piece)
		for i, b := range piece {
			if int(b) > allowed {
				return i, float64(b)
			}
			dst[from+i] = table[b]
		}
		return -1, 0
	})
}

// convertPixels converts the raw numbers of images. first is the number of the first image, and size the values per
// image. convert converts a pixel from 0 to 1 to the stored value.
func convertPixels[T uint8 | float32](r *pixelConversion, dst []T, raw []byte, first, size int, convert func(p float64) T) error {
	t := r.a.Type
	return r.forBlocks(len(dst), first, size, func(from, to int) (int, float64) {
		var values [block]float64
		decoded := values[:to-from]
		dtype.Decode(decoded, raw[from*t.Size:to*t.Size], t)
		for i, v := range decoded {
			p, ok := r.pixel(v)
			if !ok {
				return i, v
			}
			dst[from+i] = convert(p)
		}
		if r.defaultWhite && t.Kind == 'u' && len(decoded) > 0 {
			r.recordMax(uint64(slices.Max(decoded)))
		}
		return -1, 0
	})
}

// toFloats converts the raw numbers of images to pixels from 0 to 1, or to real numbers. first is the number of the
// first image, and size the values per image.
func (r *pixelConversion) toFloats(dst []float32, raw []byte, first, size int) error {
	t := r.a.Type
	if t.Kind != 'f' || r.white != 1 {
		return convertPixels(r, dst, raw, first, size, func(p float64) float32 { return float32(p) })
	}
	return r.forBlocks(len(dst), first, size, func(from, to int) (int, float64) {
		piece := dst[from:to]
		dtype.Decode(piece, raw[from*t.Size:to*t.Size], t)
		for i, v := range piece {
			if r.real && v-v == 0 || !r.real && v >= 0 && v <= 1 {
				continue
			}
			p, ok := r.pixel(float64(v))
			if r.real || !ok {
				return i, float64(v)
			}
			piece[i] = float32(p)
		}
		return -1, 0
	})
}
