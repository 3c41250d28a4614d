package cache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/dims"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/npy"
)

// Writer writes a set. Call Begin first, then WriteAt once for each image, and SetLevels.
type Writer struct {
	key     Key
	dir     string
	images  *os.File // nil before Begin
	start   int64    // offset of the pixels in the file
	record  record
	levels  []int32
	row     int             // bytes per image
	written []atomic.Uint64 // one bit per image
	done    atomic.Int64    // number of images written

	lock     sync.Mutex // held while reporting
	reported time.Time
}

// reportEvery is the minimum time between two progress reports.
const reportEvery = 100 * time.Millisecond

// check returns an error for an invalid set.
func (s *Set) check() error {
	if s.Count < 1 || s.H < 1 || s.W < 1 || s.C < 1 {
		return fmt.Errorf("%d images of %d x %d x %d; want 1 or more of each", s.Count, s.H, s.W, s.C)
	}
	if len(s.Factors) == 0 {
		return errors.New("there are no factors; want at least one, of one level if nothing is known about the images")
	}
	if err := factor.Validate(s.Factors); err != nil {
		return err
	}
	_, err := dims.Count([]int{s.Count, s.H, s.W, s.C}, 1)
	_, err2 := dims.Count([]int{s.Count, len(s.Factors)}, 4)
	return errors.Join(err, err2)
}

// Begin creates the file of the images. It returns an error if the disk has too little space. Without factors, the set
// gets a factor "unknown" with one level.
func (w *Writer) Begin(count, h, width, c int, factors []factor.Factor) error {
	if w.images != nil {
		return errors.New("cache: Begin is called twice")
	}
	if len(factors) == 0 {
		factors = []factor.Factor{{Name: "unknown", Size: 1, Kind: factor.Categorical}}
	}
	w.record = record{Format: recordFormat, Version: w.key.Version, Set: Set{
		Name: w.key.Name, Options: w.key.Options, Count: count, H: h, W: width, C: c,
		Factors: slices.Clone(factors), Sources: w.record.Sources,
	}}
	if err := w.record.Set.check(); err != nil {
		return fmt.Errorf("dataset %s: %w", w.key.Name, err)
	}
	w.row = h * width * c
	if err := disk.CheckFree(w.dir, int64(min(float64(count)*float64(w.row+4*len(factors)), 1<<62))); err != nil {
		return fmt.Errorf("dataset %s: %w", w.key.Name, err)
	}
	w.written = make([]atomic.Uint64, (count+63)/64)
	f, err := os.OpenFile(filepath.Join(w.dir, ImagesFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	w.images = f
	if err := npy.WriteHeader[uint8](f, []int{count, h, width, c}); err != nil {
		return err
	}
	if w.start, err = f.Seek(0, io.SeekCurrent); err != nil {
		return err
	}
	return f.Truncate(w.start + int64(count)*int64(w.row))
}

// WriteAt writes the pixels of one or more consecutive images, starting at a row. Channels are last. It is safe for
// concurrent use. It returns an error after the end of the context, and for an image that is already written.
func (w *Writer) WriteAt(ctx context.Context, row int, pixels []uint8) error {
	if w.images == nil {
		return errors.New("cache: WriteAt before Begin")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	n := len(pixels) / w.row
	if len(pixels)%w.row != 0 || row < 0 || n > w.record.Count-row {
		return fmt.Errorf("dataset %s: %d bytes at image %d; want a multiple of the %d of an image, within %d images",
			w.key.Name, len(pixels), row, w.row, w.record.Count)
	}
	for i := row; i < row+n; i++ {
		bit := uint64(1) << (i % 64)
		if w.written[i/64].Or(bit)&bit != 0 {
			return fmt.Errorf("dataset %s: image %d is written twice", w.key.Name, i)
		}
	}
	if _, err := w.images.WriteAt(pixels, w.start+int64(row)*int64(w.row)); err != nil {
		return err
	}
	w.report(ctx, "converting "+w.key.Name, w.done.Add(int64(n)), int64(w.record.Count))
	return nil
}

// Progress reports work other than WriteAt, which reports its own progress. It is safe for concurrent use.
func (w *Writer) Progress(ctx context.Context, what string, done, total int64) {
	w.report(ctx, what, done, total)
}

// report passes progress on, but at most once every reportEvery.
func (w *Writer) report(ctx context.Context, what string, done, total int64) {
	if !w.lock.TryLock() { // another goroutine is reporting
		return
	}
	defer w.lock.Unlock()
	if now := time.Now(); done == total || now.Sub(w.reported) >= reportEvery {
		w.reported = now
		Report(ctx, what, done, total)
	}
}

// SetLevels sets the level of every factor of every image, row by row, with -1 for unknown levels. It keeps the slice.
// Without SetLevels, the images form the full grid of the factors, with the last factor fastest.
func (w *Writer) SetLevels(levels []int32) error {
	if w.images == nil {
		return errors.New("cache: SetLevels before Begin")
	}
	factors := w.record.Factors
	k := len(factors)
	if len(levels) != w.record.Count*k {
		return fmt.Errorf("dataset %s: %d levels; want %d, one for each of the %d factors of %d images",
			w.key.Name, len(levels), w.record.Count*k, k, w.record.Count)
	}
	missing, any := make([]int, k), false
	for i, l := range levels {
		if l == -1 {
			missing[i%k]++
			any = true
		}
		if f := &factors[i%k]; l < -1 || int(l) >= f.Size {
			return fmt.Errorf("dataset %s: image %d has level %d of factor %q; want 0 to %d, or -1 for unknown",
				w.key.Name, i/k, l, f.Name, f.Size-1)
		}
	}
	w.levels = levels
	if any {
		w.record.Missing = missing
	}
	return nil
}

// SetSources sets the source files in the description of the set.
func (w *Writer) SetSources(files []Source) { w.record.Sources = files }

// end completes the folder. After an error, it closes the files.
func (w *Writer) end(ctx context.Context, failure error) error {
	if w.images == nil {
		return cmp.Or(failure, fmt.Errorf("dataset %s: nothing was written", w.key.Name))
	}
	err := failure
	if err == nil {
		err = w.complete(ctx)
	}
	if err2 := w.images.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return err
	}
	return w.describe(ctx)
}

// complete checks that all images were written, and writes the levels.
func (w *Writer) complete(ctx context.Context) error {
	if done := int(w.done.Load()); done != w.record.Count {
		missing := 0
		for w.written[missing/64].Load()&(1<<(missing%64)) != 0 {
			missing++
		}
		return fmt.Errorf("dataset %s: %d of %d images were written; image %d is the first that is missing",
			w.key.Name, done, w.record.Count, missing)
	}
	Report(ctx, "storing "+w.key.Name, 0, 0)
	if err := w.images.Sync(); err != nil {
		return err
	}
	if w.levels == nil {
		if err := w.fullGrid(); err != nil {
			return err
		}
	}
	shape := []int{w.record.Count, len(w.record.Factors)}
	return disk.WriteFile(filepath.Join(w.dir, FactorsFile),
		func(to io.Writer) error { return npy.Write(to, shape, w.levels) }, false)
}

// fullGrid sets the levels of the full grid of the factors.
func (w *Writer) fullGrid() error {
	grid := factor.Grid(w.record.Factors)
	if n := grid.Combinations(); n != float64(w.record.Count) {
		return fmt.Errorf("dataset %s: there are no levels, and the factors have %g combinations; want levels of the %d images", w.key.Name, n, w.record.Count)
	}
	w.levels = make([]int32, 0, w.record.Count*len(grid))
	for _, levels := range grid.All() {
		for _, l := range levels {
			w.levels = append(w.levels, int32(l))
		}
	}
	return nil
}

// describe writes the description of the set, with the hashes of its files.
func (w *Writer) describe(ctx context.Context) error {
	for _, name := range []string{ImagesFile, FactorsFile} {
		path := filepath.Join(w.dir, name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		sum, err := hashFile(ctx, path, "checking "+w.key.Name)
		if err != nil {
			return err
		}
		w.record.Files = append(w.record.Files, fileRecord{Name: name, Size: info.Size(), Modified: info.ModTime().UTC(),
			SHA256: sum})
	}
	sum, err := w.record.hash()
	if err != nil {
		return err
	}
	w.record.Hash = sum
	return w.record.write(w.dir)
}

// hash returns the hash of the content: the images, the levels and the factors.
func (r *record) hash() (string, error) {
	factors, err := json.Marshal(r.Factors)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s", r.Files[0].SHA256, r.Files[1].SHA256, factors))
	return hex.EncodeToString(sum[:]), nil
}

func (r *record) write(dir string) error {
	return disk.WriteFile(filepath.Join(dir, recordFile), func(to io.Writer) error {
		e := json.NewEncoder(to)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}, false)
}
