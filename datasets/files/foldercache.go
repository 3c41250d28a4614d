package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/picture"
)

// The cached pictures of a folder have one factor: whether a picture is readable.
const (
	readable   = 0
	unreadable = 1
	dim        = 2 // readable, see [picture.Info.Dim]
)

// folderVersion is the version of the conversion of pictures.
const folderVersion = 2

// decodeMemory is the maximum bytes of pictures that are decoded at the same time. A larger picture is decoded alone.
const decodeMemory = 1 << 30

// pixelSettings returns the canonical text of the settings that affect the pixels.
func (f *Folder) pixelSettings() string {
	return fmt.Sprintf("size=%v channels=%d fit=%s filter=%s", []int(f.Size), f.Channels, f.Fit, f.Filter)
}

// decodedPictures opens the decoded pictures of a folder. If they are not cached, it decodes them and then removes
// cached sets of earlier states of the folder.
func (f *Folder) decodedPictures(ctx context.Context, list *pictures.List) (*cache.Set, error) {
	absolute, err := filepath.Abs(list.Path)
	if err != nil {
		return nil, err
	}
	files, err := list.Hash(ctx)
	if err != nil {
		return nil, err
	}
	key := cache.Key{Name: "folder", Options: f.pixelSettings() + " files=" + files, Version: folderVersion}
	converted := false
	set, err := cache.Ensure(ctx, key, func(ctx context.Context, w *cache.Writer) error {
		converted = true
		w.SetSources([]cache.Source{{Name: absolute}})
		return f.convert(ctx, list, w)
	})
	if err == nil && converted {
		f.removeOutdated(ctx, absolute, key)
	}
	return set, err
}

// removeOutdated removes the sets that were cached before the folder changed. A set that a program still uses may stay.
func (f *Folder) removeOutdated(ctx context.Context, source string, key cache.Key) {
	sets, err := cache.List()
	if err != nil {
		return
	}
	prefix := f.pixelSettings() + " files="
	for _, s := range sets {
		if s.Name != key.Name || s.Options == key.Options || !strings.HasPrefix(s.Options, prefix) {
			continue
		}
		if len(s.Sources) == 1 && s.Sources[0].Name == source {
			_ = cache.Remove(ctx, s.Key)
		}
	}
}

// convert decodes the pictures on all cores. Unreadable pictures are black, with the level unreadable.
func (f *Folder) convert(ctx context.Context, list *pictures.List, w *cache.Writer) error {
	root, err := os.OpenRoot(list.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	height, width, err := f.imageSize(ctx, root, list, w)
	if err != nil {
		return err
	}
	state := factor.Factor{Name: "readable", Size: 3, Kind: factor.Categorical}
	if err := w.Begin(len(list.Files), height, width, f.Channels, []factor.Factor{state}); err != nil {
		return err
	}
	levels := make([]int32, len(list.Files))
	memoryLeft := pictures.NewBudget(decodeMemory)
	err = pictures.ForEach(ctx, len(list.Files), func() func(int) error {
		d := f.newDecoder(root, height, width, memoryLeft)
		pixels := make([]uint8, height*width*f.Channels)
		return func(i int) error {
			isDim, err := d.decode(pixels, &list.Files[i])
			switch {
			case errors.Is(err, pictures.ErrChanging):
				return err
			case err != nil:
				clear(pixels)
				levels[i] = unreadable
			case isDim:
				levels[i] = dim
			}
			return w.WriteAt(ctx, i, pixels)
		}
	})
	if err != nil {
		return err
	}
	return w.SetLevels(levels)
}

// imageSize returns the size of the images: the size in the settings, or the most frequent picture size.
func (f *Folder) imageSize(ctx context.Context, root *os.Root, list *pictures.List, w *cache.Writer) (int, int, error) {
	if len(f.Size) == 2 {
		return f.Size[0], f.Size[1], nil
	}
	sizes := make([][2]int, len(list.Files))
	err := pictures.ForEach(ctx, len(list.Files), func() func(int) error {
		var buf []byte
		return func(i int) error {
			var err error
			if buf, err = pictures.Read(root, list.Files[i].Name, buf); err == nil {
				if info, err := picture.Read(buf); err == nil {
					sizes[i] = [2]int{info.H, info.W}
				}
			}
			w.Progress(ctx, "measuring pictures", int64(i), int64(len(sizes)))
			return nil
		}
	})
	if err != nil {
		return 0, 0, err
	}
	counts, mostFrequent := map[[2]int]int{}, [2]int{}
	for _, s := range sizes {
		if s[0] > 0 {
			counts[s]++
		}
	}
	for _, s := range sizes { // in list order, which decides ties
		if counts[s] > counts[mostFrequent] {
			mostFrequent = s
		}
	}
	if mostFrequent[0] == 0 {
		return 1, 1, nil // no picture is readable; each one gets an error
	}
	if mostFrequent[0] > pictures.MaxSide || mostFrequent[1] > pictures.MaxSide {
		return 0, 0, fmt.Errorf("%s: the pictures are %d x %d (height x width); want size, as images larger than %d are not stored unresized", list.Path, mostFrequent[0], mostFrequent[1], pictures.MaxSide)
	}
	return mostFrequent[0], mostFrequent[1], nil
}

// pictureDecoder decodes the pictures of a folder to one size. It is not safe for concurrent use.
type pictureDecoder struct {
	root    *os.Root
	exact   bool // other sizes give an error
	budget  *pictures.Budget
	fitter  pictures.Fitter
	decoder picture.Decoder
	buf     []byte
}

func (f *Folder) newDecoder(root *os.Root, h, w int, b *pictures.Budget) *pictureDecoder {
	return &pictureDecoder{root: root, exact: len(f.Size) == 0, budget: b,
		fitter: pictures.Fitter{H: h, W: w, C: f.Channels, Fit: f.Fit, Filter: pictures.FilterOf(f.Filter)}}
}

func (d *pictureDecoder) decode(dst []uint8, file *pictures.File) (isDim bool, err error) {
	if d.buf, err = pictures.Read(d.root, file.Name, d.buf); err != nil {
		return false, err
	}
	if err := file.Check(d.buf); err != nil {
		return false, err
	}
	info, err := picture.Read(d.buf)
	if err != nil {
		return false, err
	}
	if d.exact && (info.H != d.fitter.H || info.W != d.fitter.W) {
		return false, fmt.Errorf("it has %d x %d pixels, most have %d x %d (height x width); want one size, or the setting size", info.H, info.W, d.fitter.H, d.fitter.W)
	}
	cost := info.Cost()
	if err := memory.Check(fmt.Sprintf("decoding a picture of %d x %d pixels", info.H, info.W), float64(cost)); err != nil {
		return false, err
	}
	d.budget.Take(cost)
	defer d.budget.Give(cost)
	pixels, info, err := d.decoder.Decode(d.buf, d.fitter.C)
	if err != nil {
		return false, err
	}
	d.fitter.Into(dst, pixels, info.H, info.W)
	if cost > decodeMemory/8 { // do not keep a large buffer for one large picture
		d.decoder, d.fitter.Box, d.fitter.Small, d.buf = picture.Decoder{}, nil, nil, nil
	}
	return info.Dim, nil
}

// checkBroken returns the unreadable pictures. Unless the settings skip them, the first few are an error with reasons.
func (f *Folder) checkBroken(list *pictures.List, set *cache.Set) ([]int, error) {
	var broken []int
	for i, l := range set.Levels {
		if l == unreadable {
			broken = append(broken, i)
		}
	}
	if len(broken) == 0 || f.SkipBroken && len(broken) < len(list.Files) {
		return broken, nil
	}
	root, err := os.OpenRoot(list.Path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	const maxReasons = 5
	var reasons []string
	d := f.newDecoder(root, set.H, set.W, pictures.NewBudget(decodeMemory))
	pixels := make([]uint8, set.H*set.W*set.C)
	for _, i := range broken[:min(maxReasons, len(broken))] {
		if _, err := d.decode(pixels, &list.Files[i]); err != nil {
			reasons = append(reasons,
				fmt.Sprintf("%s: %v", filepath.Join(list.Path, filepath.FromSlash(list.Files[i].Name)), err))
		}
	}
	remainder := ""
	if len(broken) > maxReasons {
		remainder = fmt.Sprintf("; and %d more", len(broken)-maxReasons)
	}
	return nil, fmt.Errorf("%d of %d pictures cannot be read: %s%s; want them repaired, or dataset.folder.skip_broken=true", len(broken), len(list.Files), strings.Join(reasons, "; "), remainder)
}
