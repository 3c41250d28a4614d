package datasets

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/fetch"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/picture"
	"github.com/unravel-ml/unravel/internal/resample"
)

// spriteVariant shows dSprites in three channels.
type spriteVariant struct {
	*stored
	variant string
	seed    uint64
	picture *background // of the variant scream
}

// background is a picture of three channels.
type background struct {
	h, w   int
	pixels []uint8
}

// ImageShape returns the size of the images.
func (v *spriteVariant) ImageShape() (h, w, c int) { return v.shape[0], v.shape[1], 3 }

// Image draws an image of the variant. All that is random follows from the seed and the image's number.
func (v *spriteVariant) Image(i int, dst []float32) {
	size := v.shape[0] * v.shape[1]
	shape, dst := v.bytes[i*size:(i+1)*size], dst[:3*size]
	p := rng.Numbered(v.seed, uint64(i))
	switch v.variant {
	case plainSprites:
		for at, b := range shape {
			x := float32(b) / 255
			dst[3*at], dst[3*at+1], dst[3*at+2] = x, x, x
		}
	case colourSprites:
		colour := [3]float32{0.5 + float32(0.5*unit(&p)), 0.5 + float32(0.5*unit(&p)), 0.5 + float32(0.5*unit(&p))}
		for at, b := range shape {
			x := float32(b) / 255
			dst[3*at], dst[3*at+1], dst[3*at+2] = x*colour[0], x*colour[1], x*colour[2]
		}
	case noisySprites:
		for at, b := range shape {
			x, r, g := float32(b)/255, p.Uint64(), p.Uint64() // three numbers of 24 bits are in two draws
			dst[3*at], dst[3*at+1], dst[3*at+2] = min(x+fraction(r), 1), min(x+fraction(g), 1), min(x+fraction(r<<24), 1)
		}
	case screamSprites:
		v.scream(shape, dst, &p)
	}
}

// scream draws a part of the picture, averaged with a colour and inverted by the shape.
func (v *spriteVariant) scream(shape []uint8, dst []float32, p *rand.PCG) {
	b, h, w := v.picture, v.shape[0], v.shape[1]
	top, left := below(p, b.h-h+1), below(p, b.w-w+1)
	colour := [3]float32{unit(p), unit(p), unit(p)}
	for y := range h {
		row := b.pixels[3*((top+y)*b.w+left):][:3*w]
		for x, c := range row {
			mixed := (float32(c)/255 + colour[x%3]) / 2
			if shape[y*w+x/3] != 0 {
				mixed = 1 - mixed
			}
			dst[3*y*w+x] = mixed
		}
	}
}

// fraction returns the upper 24 bits of a number as one in [0, 1).
func fraction(bits uint64) float32 { return float32(bits>>40) / (1 << 24) }

func unit(p *rand.PCG) float32 { return fraction(p.Uint64()) }

// below returns a random number from 0 to n-1, for small n.
func below(p *rand.PCG, n int) int { return int(p.Uint64() >> 32 * uint64(n) >> 32) }

// The picture of the variant scream is shrunk to fit these sides, as public code does.
const (
	screamHeight = 274
	screamWidth  = 350
)

// openScream reads the picture of the variant scream, for images of a shape.
func (d *DSprites) openScream(ctx context.Context, shape [3]int) (*background, error) {
	path := d.Scream
	if path == "" {
		dir, f := cache.Downloads("dsprites"), d.screamSource()
		path = filepath.Join(dir, f.Name)
		if _, err := fetch.Verify(ctx, dir, f); errors.Is(err, fetch.ErrAbsent) {
			absent := &NotFetchedError{Set: "dsprites variant=scream", Files: []fetch.File{f}, Dir: dir}
			return nil, fmt.Errorf("%w; or scream=FILE, a picture of your own", absent)
		} else if err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w; want a picture file", err)
	}
	if err := memory.Check("the picture "+path, float64(info.Size())); err != nil {
		return nil, err
	}
	data, err := disk.ReadFile(path, info.Size())
	if err != nil {
		return nil, err
	}
	var decoder picture.Decoder
	pixels, size, err := decoder.Decode(data, 3)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b := &background{}
	b.h, b.w = resample.ThumbnailSize(size.H, size.W, screamHeight, screamWidth)
	if b.h < shape[0] || b.w < shape[1] {
		return nil, fmt.Errorf("%s is %d x %d pixels when it fits %d x %d; want at least %d x %d", path, b.h, b.w, screamHeight, screamWidth, shape[0], shape[1])
	}
	b.pixels = make([]uint8, 3*b.h*b.w)
	var r resample.Resizer
	r.Thumbnail(b.pixels, pixels, size.H, size.W, screamHeight, screamWidth, 3, resample.Bicubic)
	return b, nil
}
