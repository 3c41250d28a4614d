package public

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/dtype"
)

// openImages opens an array of a file and checks that it contains 8-bit images, N x H x W x C. H and W must be h and w,
// unless these are 0.
func openImages(f arrays.File, name string, h, w, c int) (*arrays.Array, error) {
	a, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	s := a.Shape
	fits := func(got, want int) bool { return got > 0 && (want == 0 || got == want) }
	if len(s) != 4 || !fits(s[0], 0) || !fits(s[1], h) || !fits(s[2], w) || !fits(s[3], c) || a.Type != dtype.Uint8 {
		return nil, fmt.Errorf("%v; want uint8 of shape [N %d %d %d]", a, h, w, c)
	}
	return a, nil
}

// copyImages writes all rows of an array of 8-bit images to a set, after Begin. If change is not nil, it modifies the
// pixels of the images, starting at a row.
func copyImages(ctx context.Context, a *arrays.Array, w *cache.Writer, change func(int, []byte) error) error {
	rows, err := a.Rows(nil)
	if err != nil {
		return err
	}
	defer rows.Close() // nothing was written
	n, slab, size := rows.Shape()[0], rows.Slab(), rows.RowBytes()
	buffer := make([]byte, min(n, slab)*size)
	for from := 0; from < n; from += slab {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := buffer[:min(slab, n-from)*size]
		if err := rows.Read(part); err != nil {
			return err
		}
		if change != nil {
			if err := change(from, part); err != nil {
				return err
			}
		}
		if err := stored.WriteImages(ctx, w, from, part, size); err != nil {
			return err
		}
	}
	return nil
}
