package datasets

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/resample"
)

// PictureSize is the target size of pictures, [height, width]. In a config one number means both. Empty or 0 means no
// resizing.
type PictureSize []int

// DecodeConfig reads a number or [height, width].
func (s *PictureSize) DecodeConfig(n *config.Node) error {
	var one int
	var two []int
	if n.IsList() {
		if err := n.Decode(&two); err != nil {
			return err
		}
	} else {
		if err := n.Decode(&one); err != nil {
			return n.Errorf("want a side, or [height, width], got %s", n.Inline())
		}
		if one != 0 {
			two = []int{one, one}
		}
	}
	if *s = two; !s.valid() {
		return n.Errorf("want a side of 1 to %d, [height, width], or 0 for pictures as they are, got %s", maxSide, n.Inline())
	}
	return nil
}

// EncodeConfig writes one number for equal sides, and 0 for no size.
func (s PictureSize) EncodeConfig() (any, error) {
	switch {
	case len(s) == 0:
		return 0, nil
	case len(s) == 2 && s[0] == s[1]:
		return s[0], nil
	}
	return []int(s), nil
}

// ConfigForms implements config.Former.
func (PictureSize) ConfigForms() []any { return []any{0, [2]int{}} }

// ConfigType implements config.Typer.
func (PictureSize) ConfigType() string { return "integer, or [height, width]" }

// maxSide bounds the sides of resized pictures.
const maxSide = 1 << 13

func (s PictureSize) valid() bool {
	return len(s) == 0 || len(s) == 2 && min(s[0], s[1]) >= 1 && max(s[0], s[1]) <= maxSide
}

// fitter resizes pictures to one size. One goroutine at a time may use it.
type fitter struct {
	h, w, c int
	fit     string
	filter  resample.Filter
	resizer resample.Resizer
	box     []uint8
	small   []uint8
}

// The ways to fit a picture into a size of other proportions.
const (
	fitCrop    = "crop"
	fitStretch = "stretch"
	fitPad     = "pad"
)

var fits = []string{fitCrop, fitStretch, fitPad}

// into writes a picture of h x w pixels to dst in the fitter's size.
func (f *fitter) into(dst, src []uint8, h, w int) {
	switch {
	case f.fit == fitCrop && w*f.h != h*f.w:
		ch, cw := h, w
		if w*f.h > h*f.w {
			cw = max((2*h*f.w+f.h)/(2*f.h), 1) // rounded
		} else {
			ch = max((2*w*f.h+f.w)/(2*f.w), 1)
		}
		f.box = crop(f.box, src, h, w, f.c, (h-ch)/2, (w-cw)/2, ch, cw)
		f.resizer.Resize(dst, f.box, ch, cw, f.h, f.w, f.c, f.filter)
	case f.fit == fitPad && w*f.h != h*f.w:
		th, tw := f.h, f.w
		if w*f.h > h*f.w {
			th = max((2*h*f.w+w)/(2*w), 1)
		} else {
			tw = max((2*w*f.h+h)/(2*h), 1)
		}
		f.small = slices.Grow(f.small[:0], th*tw*f.c)[:th*tw*f.c]
		f.resizer.Resize(f.small, src, h, w, th, tw, f.c, f.filter)
		clear(dst)
		top, left := (f.h-th)/2, (f.w-tw)/2
		for y := range th {
			copy(dst[((top+y)*f.w+left)*f.c:], f.small[y*tw*f.c:][:tw*f.c])
		}
	default:
		f.resizer.Resize(dst, src, h, w, f.h, f.w, f.c, f.filter)
	}
}

// crop copies a box of a picture of h x w pixels into a buffer that is reused.
func crop(dst, src []uint8, h, w, c, top, left, height, width int) []uint8 {
	dst = slices.Grow(dst[:0], height*width*c)
	for y := range height {
		dst = append(dst, src[((top+y)*w+left)*c:][:width*c]...)
	}
	return dst
}

// checkFilter reports an unknown filter.
func checkFilter(name string) error {
	if _, ok := resample.Parse(name); !ok {
		return config.Invalid("filter", "unknown filter %q; want %s", name, strings.Join(resample.Names(), ", "))
	}
	return nil
}

// filterOf returns the filter with a valid name.
func filterOf(name string) resample.Filter {
	f, _ := resample.Parse(name)
	return f
}

// forEach calls work for 0 to n-1 on all cores, in any order. worker makes a work function for each goroutine. forEach
// ends with the first error, or the error of the context.
func forEach(ctx context.Context, n int, worker func() func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
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

// budget bounds the memory of pictures decoded at the same time.
type budget struct {
	lock  sync.Mutex
	freed *sync.Cond
	used  int64
	limit int64
}

func newBudget(limit int64) *budget {
	b := &budget{limit: limit}
	b.freed = sync.NewCond(&b.lock)
	return b
}

// take waits for room. A request above the limit waits until it is alone.
func (b *budget) take(n int64) {
	b.lock.Lock()
	defer b.lock.Unlock()
	for b.used > 0 && b.used+n > b.limit {
		b.freed.Wait()
	}
	b.used += n
}

func (b *budget) give(n int64) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.used -= n
	b.freed.Broadcast()
}

// someOf lists the first few of some texts.
func someOf(list []string, few int) string {
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}
