// Package pictures lists and hashes the picture files below a folder, and resizes pictures.
package pictures

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/resample"
)

// MaxSide is the maximum side of resized pictures.
const MaxSide = 1 << 13

// Fitter resizes pictures to one size. It is not safe for concurrent use.
type Fitter struct {
	H, W, C int
	Fit     string
	Filter  resample.Filter
	resizer resample.Resizer
	Box     []uint8
	Small   []uint8
}

// Ways to fit a picture into a size with a different aspect ratio.
const (
	FitCrop    = "crop"
	FitStretch = "stretch"
	fitPad     = "pad"
)

var Fits = []string{FitCrop, FitStretch, fitPad}

// Into writes a picture of h x w pixels to dst in the fitter's size.
func (f *Fitter) Into(dst, src []uint8, h, w int) {
	switch {
	case f.Fit == FitCrop && w*f.H != h*f.W:
		ch, cw := h, w
		if w*f.H > h*f.W {
			cw = max((2*h*f.W+f.H)/(2*f.H), 1) // rounded
		} else {
			ch = max((2*w*f.H+f.W)/(2*f.W), 1)
		}
		f.Box = Crop(f.Box, src, h, w, f.C, (h-ch)/2, (w-cw)/2, ch, cw)
		f.resizer.Resize(dst, f.Box, ch, cw, f.H, f.W, f.C, f.Filter)
	case f.Fit == fitPad && w*f.H != h*f.W:
		th, tw := f.H, f.W
		if w*f.H > h*f.W {
			th = max((2*h*f.W+w)/(2*w), 1)
		} else {
			tw = max((2*w*f.H+h)/(2*h), 1)
		}
		f.Small = slices.Grow(f.Small[:0], th*tw*f.C)[:th*tw*f.C]
		f.resizer.Resize(f.Small, src, h, w, th, tw, f.C, f.Filter)
		clear(dst)
		top, left := (f.H-th)/2, (f.W-tw)/2
		for y := range th {
			copy(dst[((top+y)*f.W+left)*f.C:], f.Small[y*tw*f.C:][:tw*f.C])
		}
	default:
		f.resizer.Resize(dst, src, h, w, f.H, f.W, f.C, f.Filter)
	}
}

// Crop copies a box of a picture of h x w pixels to dst, which it reuses if it is large enough.
func Crop(dst, src []uint8, h, w, c, top, left, height, width int) []uint8 {
	dst = slices.Grow(dst[:0], height*width*c)
	for y := range height {
		dst = append(dst, src[((top+y)*w+left)*c:][:width*c]...)
	}
	return dst
}

// CheckFilter returns an error for an unknown filter.
func CheckFilter(name string) error {
	if _, ok := resample.Parse(name); !ok {
		return config.Invalid("filter", "unknown filter %q; want %s", name, strings.Join(resample.Names(), ", "))
	}
	return nil
}

// FilterOf returns the filter with a valid name.
func FilterOf(name string) resample.Filter {
	f, _ := resample.Parse(name)
	return f
}

// ForEach calls work for 0 to n-1 on all cores, in any order. worker creates a work function for each goroutine.
// ForEach stops at the first error, or when the context ends.
func ForEach(ctx context.Context, n int, worker func() func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(parallel.Threads(), n) {
		work := worker()
		running.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := work(i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// Budget limits the memory of pictures that are decoded at the same time.
type Budget struct {
	lock  sync.Mutex
	freed *sync.Cond
	used  int64
	limit int64
}

func NewBudget(limit int64) *Budget {
	b := &Budget{limit: limit}
	b.freed = sync.NewCond(&b.lock)
	return b
}

// Take waits until there is room for n bytes. A request above the limit waits until no other request is active.
func (b *Budget) Take(n int64) {
	b.lock.Lock()
	defer b.lock.Unlock()
	for b.used > 0 && b.used+n > b.limit {
		b.freed.Wait()
	}
	b.used += n
}

func (b *Budget) Give(n int64) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.used -= n
	b.freed.Broadcast()
}
