package public

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/internal/archive"
	"github.com/unravel-ml/unravel/internal/picture"
)

// maxZippedPicture is the maximum size, in bytes, of a picture file in the archive of a public set.
const maxZippedPicture = 16 << 20

// zippedPictures are pictures of one size in a zip file.
type zippedPictures struct {
	name    string // name of the archive, for errors
	zip     *archive.Zip
	members []int // member of each row
	h, w    int   // height and width of the pictures
	crop    int   // side of the square that is cropped from the centre; 0: no crop
	size    datasets.PictureSize
	filter  string
}

// convert decodes colour pictures on all cores, and crops and resizes them. Without levels, the pictures are the full
// grid of the factors.
func (p *zippedPictures) convert(ctx context.Context, w *cache.Writer, factors []factor.Factor, levels []int32) error {
	h, width := p.h, p.w
	if p.crop > 0 {
		h, width = p.crop, p.crop
	}
	ch, cw := h, width // size before resizing
	if len(p.size) == 2 {
		h, width = p.size[0], p.size[1]
	}
	const channels = 3
	if err := w.Begin(len(p.members), h, width, channels, factors); err != nil {
		return err
	}
	if levels != nil {
		if err := w.SetLevels(levels); err != nil {
			return err
		}
	}
	return pictures.ForEach(ctx, len(p.members), func() func(int) error {
		var decoder picture.Decoder
		var file, box []uint8
		f := pictures.Fitter{H: h, W: width, C: channels, Fit: pictures.FitStretch, Filter: pictures.FilterOf(p.filter)}
		dst := make([]uint8, h*width*channels)
		return func(i int) error {
			var err error
			if file, err = p.zip.Read(p.members[i], file); err != nil {
				return err
			}
			pixels, err := p.decode(&decoder, file)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", p.name, p.zip.Names()[p.members[i]], err)
			}
			if ch != p.h || cw != p.w {
				box = pictures.Crop(box, pixels, p.h, p.w, channels, (p.h-ch)/2, (p.w-cw)/2, ch, cw)
				pixels = box
			}
			f.Into(dst, pixels, ch, cw)
			return w.WriteAt(ctx, i, dst)
		}
	})
}

// decode decodes a picture. It checks the size first.
func (p *zippedPictures) decode(d *picture.Decoder, file []uint8) ([]uint8, error) {
	info, err := picture.Read(file)
	if err != nil {
		return nil, err
	}
	if info.H != p.h || info.W != p.w {
		return nil, fmt.Errorf("it has %d x %d pixels; want %d x %d (height x width)", info.H, info.W, p.h, p.w)
	}
	pixels, _, err := d.Decode(file, 3)
	return pixels, err
}
