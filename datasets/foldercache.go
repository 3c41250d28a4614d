package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/picture"
)

// The cached pictures of a folder have one factor: can the picture be read?
const (
	readable   = 0
	unreadable = 1
)

// folderVersion is that of the conversion of pictures.
const folderVersion = 1

// decodeMemory bounds the memory of pictures that are decoded at the same time, in bytes; a larger picture is decoded alone.
const decodeMemory = 1 << 30

// settings is the canonical text of what shapes the pixels, besides the files.
func (f *Folder) settings() string {
	return fmt.Sprintf("size=%v channels=%d fit=%s filter=%s", []int(f.Size), f.Channels, f.Fit, f.Filter)
}

// cached opens the decoded pictures of a folder, or decodes them. Sets of other states of the same folder are then removed.
func (f *Folder) cached(ctx context.Context, list *pictureList) (*cache.Set, error) {
	whole, err := filepath.Abs(list.path)
	if err != nil {
		return nil, err
	}
	files, err := list.hash(ctx)
	if err != nil {
		return nil, err
	}
	key := cache.Key{Name: "folder", Options: f.settings() + " files=" + files, Version: folderVersion}
	made := false
	set, err := cache.Ensure(ctx, key, func(ctx context.Context, w *cache.Writer) error {
		made = true
		w.SetSources([]cache.Source{{Name: whole}})
		return f.convert(ctx, list, w)
	})
	if err == nil && made {
		f.removeOutdated(ctx, whole, key)
	}
	return set, err
}

// removeOutdated removes what was made of the folder before it changed. What cannot be removed, as a program uses it, stays.
func (f *Folder) removeOutdated(ctx context.Context, whole string, key cache.Key) {
	sets, err := cache.List()
	if err != nil {
		return
	}
	for _, s := range sets {
		if s.Name != key.Name || s.Options == key.Options || !strings.HasPrefix(s.Options, f.settings()+" files=") {
			continue
		}
		if len(s.Sources) == 1 && s.Sources[0].Name == whole {
			_ = cache.Remove(ctx, s.Key)
		}
	}
}

// convert decodes the pictures on all cores. Those that cannot be read stay black, and have the level unreadable.
func (f *Folder) convert(ctx context.Context, list *pictureList, w *cache.Writer) error {
	root, err := os.OpenRoot(list.path)
	if err != nil {
		return err
	}
	defer root.Close()
	h, width, err := f.size(ctx, root, list, w)
	if err != nil {
		return err
	}
	state := factor.Factor{Name: "readable", Size: 2, Kind: factor.Categorical}
	if err := w.Begin(len(list.files), h, width, f.Channels, []factor.Factor{state}); err != nil {
		return err
	}
	levels := make([]int32, len(list.files))
	memoryLeft := newBudget(decodeMemory)
	err = forEach(ctx, len(list.files), func() func(int) error {
		d := f.decoder(root, h, width, memoryLeft)
		pixels := make([]uint8, h*width*f.Channels)
		return func(i int) error {
			err := d.decode(pixels, &list.files[i])
			if errors.Is(err, errChanging) {
				return err
			}
			if err != nil {
				clear(pixels)
				levels[i] = unreadable
			}
			return w.WriteAt(i, pixels)
		}
	})
	if err != nil {
		return err
	}
	return w.SetLevels(levels)
}

// size returns the size of the images: that of the settings, else the most frequent one of the pictures.
func (f *Folder) size(ctx context.Context, root *os.Root, list *pictureList, w *cache.Writer) (int, int, error) {
	if len(f.Size) == 2 {
		return f.Size[0], f.Size[1], nil
	}
	sizes := make([][2]int, len(list.files))
	err := forEach(ctx, len(list.files), func() func(int) error {
		var buf []byte
		return func(i int) error {
			var err error
			if buf, err = readPicture(root, list.files[i].name, buf); err == nil {
				if info, err := picture.Read(buf); err == nil {
					sizes[i] = [2]int{info.H, info.W}
				}
			}
			w.Progress("measuring pictures", int64(i), int64(len(sizes)))
			return nil
		}
	})
	if err != nil {
		return 0, 0, err
	}
	times, best := map[[2]int]int{}, [2]int{}
	for _, s := range sizes {
		if s[0] > 0 {
			times[s]++
		}
	}
	for _, s := range sizes { // in the order of the list, so that ties are decided alike
		if times[s] > times[best] {
			best = s
		}
	}
	if best[0] == 0 {
		return 1, 1, nil // none can be read, which is reported for each
	}
	if best[0] > maxSide || best[1] > maxSide {
		return 0, 0, fmt.Errorf("%s: the pictures are %d x %d (height x width); want size, as images larger than %d are not kept as they are", list.path, best[0], best[1], maxSide)
	}
	return best[0], best[1], nil
}

// pictureDecoder decodes the pictures of a folder in one size. It is not for several goroutines at once.
type pictureDecoder struct {
	root    *os.Root
	exact   bool // other sizes are an error
	budget  *budget
	fitter  fitter
	decoder picture.Decoder
	buf     []byte
}

func (f *Folder) decoder(root *os.Root, h, w int, b *budget) *pictureDecoder {
	return &pictureDecoder{root: root, exact: len(f.Size) == 0, budget: b, fitter: fitter{h: h, w: w, c: f.Channels, fit: f.Fit, filter: filterOf(f.Filter)}}
}

// decode writes the pixels of a file.
func (d *pictureDecoder) decode(dst []uint8, file *pictureFile) (err error) {
	if d.buf, err = readPicture(d.root, file.name, d.buf); err != nil {
		return err
	}
	if err := file.check(d.buf); err != nil {
		return err
	}
	info, err := picture.Read(d.buf)
	if err != nil {
		return err
	}
	if d.exact && (info.H != d.fitter.h || info.W != d.fitter.w) {
		return fmt.Errorf("it has %d x %d pixels, most have %d x %d (height x width); want one size, or the setting size", info.H, info.W, d.fitter.h, d.fitter.w)
	}
	cost := info.Cost()
	if err := memory.Check(fmt.Sprintf("decoding a picture of %d x %d pixels", info.H, info.W), float64(cost)); err != nil {
		return err
	}
	d.budget.take(cost)
	defer d.budget.give(cost)
	pixels, info, err := d.decoder.Decode(d.buf, d.fitter.c)
	if err != nil {
		return err
	}
	d.fitter.into(dst, pixels, info.H, info.W)
	if cost > decodeMemory/8 { // one large picture is no reason to keep so much
		d.decoder, d.fitter.box, d.fitter.small, d.buf = picture.Decoder{}, nil, nil, nil
	}
	return nil
}

// checkBroken returns the pictures that cannot be read. Unless they are to be skipped, they are an error, with the reasons of the first few.
func (f *Folder) checkBroken(list *pictureList, set *cache.Set) ([]int, error) {
	var broken []int
	for i, l := range set.Levels {
		if l != readable {
			broken = append(broken, i)
		}
	}
	if len(broken) == 0 || f.SkipBroken && len(broken) < len(list.files) {
		return broken, nil
	}
	root, err := os.OpenRoot(list.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	const few = 5
	var reasons []string
	d := f.decoder(root, set.H, set.W, newBudget(decodeMemory))
	pixels := make([]uint8, set.H*set.W*set.C)
	for _, i := range broken[:min(few, len(broken))] {
		if err := d.decode(pixels, &list.files[i]); err != nil {
			reasons = append(reasons, fmt.Sprintf("%s: %v", filepath.Join(list.path, filepath.FromSlash(list.files[i].name)), err))
		}
	}
	more := ""
	if len(broken) > few {
		more = fmt.Sprintf("; and %d more", len(broken)-few)
	}
	return nil, fmt.Errorf("%d of %d pictures cannot be read: %s%s; want them repaired, or dataset.folder.skip_broken=true", len(broken), len(list.files), strings.Join(reasons, "; "), more)
}
