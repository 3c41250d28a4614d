package datasets

import (
	"sync"

	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Fill writes images to dst, len(indices) x H x W x C, on all processors. It does not allocate.
func Fill(d Dataset, indices []int, dst []float32) {
	stored.Expect(d, indices)
	h, w, c := d.ImageShape()
	f := fills.Get().(*fill)
	f.set, f.indices, f.dst, f.size = d, indices, dst, h*w*c
	parallel.For(len(indices), f.body)
	f.set, f.indices, f.dst = nil, nil, nil
	fills.Put(f)
}

// fill is a call of Fill. It stores the body of the parallel loop, because a new closure would allocate.
type fill struct {
	set     Dataset
	indices []int
	dst     []float32
	size    int // values per image
	body    func(worker, n int)
}

var fills = sync.Pool{New: func() any {
	f := &fill{}
	f.body = func(_, n int) { f.set.Image(f.indices[n], f.dst[n*f.size:(n+1)*f.size]) }
	return f
}}
