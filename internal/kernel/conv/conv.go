// Package conv computes convolutions and their gradients.
//
// General convolutions are direct: they read image patches in place. Convolutions with kernel 4 and stride 2, and their
// transposes, use Winograd's F(2x2, 2x2) with 9 products instead of 16, which preserves exact zeros. Their gradients
// use F(4x4, 2x2) with 25 products instead of 64. Convolutions with kernel 3 and stride 1 use F(4x4, 3x3) with 36
// products instead of 144.
package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// convolver has the common fields of a convolution and a transposed convolution.
type convolver struct {
	*geometry
	activation kernel.Activation
	gather     product
	spread     product
	gradient   gradient
	smallPitch int       // channels of the small image, rounded up to a multiple of 16
	bias       []float32 // padded to complete panels
	workers    []*convWorker

	// Operands of the current call.
	x, w, y, dy, dx, dw []float32
	sums, biasSums      []float32 // [groups][weights] and [groups][channels of the output]; nil: not wanted
	threads             int       // number of threads: a thread's next item is about so many later

	forwardItem, inputItem, weightItem, packGather, packSpread, totalItem func(worker, i int)
}

// convWorker has the scratch memory of one thread.
type convWorker struct {
	tile       simd.Tile
	panel      simd.Panel
	big, small []float32 // padded images; the padding is always zero
	wide       []float32 // small images with channels padded to 16
	inputs     []float32 // further operands of products
	products   []float32
	ahead      prefetches
}

// Conv is a convolution or a transposed convolution with bias and activation; see [kernel.ConvShape]. It is not safe
// for concurrent use.
type Conv struct {
	c          convolver
	fast       *conv3 // not nil for supported shapes; c is then unused
	transposed bool
}

// New plans a convolution.
func New(s kernel.ConvShape, a kernel.Activation) (*Conv, error) { return newConv(s, a, false, false) }

// NewMixed is [New] in mixed precision, where it is faster.
func NewMixed(s kernel.ConvShape, a kernel.Activation) (*Conv, error) {
	return newConv(s, a, true, false)
}

// NewTranspose plans a transposed convolution.
func NewTranspose(s kernel.ConvShape, a kernel.Activation) (*Conv, error) {
	return newConv(s, a, false, true)
}

// NewMixedTranspose is [NewTranspose] in mixed precision, where it is faster.
func NewMixedTranspose(s kernel.ConvShape, a kernel.Activation) (*Conv, error) {
	return newConv(s, a, true, true)
}

func newConv(s kernel.ConvShape, a kernel.Activation, mixed, transposed bool) (*Conv, error) {
	name := "convolution"
	if transposed {
		name = "transposed convolution"
	}
	if err := s.Check(name); err != nil {
		return nil, err
	}
	p := &Conv{transposed: transposed}
	if winograd3Fits(s) {
		p.fast = newConv3(s, a, transposed)
		return p, nil
	}
	p.c.plan(newGeometry(s, transposed), a, mixed)
	p.c.bias = make([]float32, simd.NewPanels(s.OutC).Padded)
	p.c.forwardItem = p.gather
	run := p.backwardGather
	if transposed {
		p.c.forwardItem, run = p.spread, p.backwardSpread
	}
	p.c.backwardItems(run)
	return p, nil
}

func (c *convolver) plan(g *geometry, a kernel.Activation, mixed bool) {
	c.geometry, c.activation = g, a
	c.smallPitch = simd.NewPanels(g.smallC).Padded
	if mixed {
		c.gather, c.spread, c.gradient = newMixedProducts(g)
	} else {
		c.gather, c.spread, c.gradient = newProducts(g)
	}
	c.packGather = func(_, i int) { c.gather.pack(c.w, i) }
	c.packSpread = func(_, i int) { c.spread.pack(c.w, i) }
	c.totalItem = func(_, i int) { totalGroups(c.dw, c.sums, c.groups, i) }
}

// prepare allocates the scratch memory of every thread.
func (c *convolver) prepare() {
	c.threads = parallel.Threads()
	for len(c.workers) < parallel.Threads() {
		w := &convWorker{big: make([]float32, c.chunk*c.bigSize), small: make([]float32, c.chunk*c.smallSize)}
		if c.smallC != c.smallPitch {
			w.wide = make([]float32, c.chunk*c.smallPixels()*c.smallPitch)
		}
		inputs, products := 0, 0
		for _, p := range []interface{ scratch() (int, int) }{c.gather, c.spread, c.gradient} {
			i, o := p.scratch()
			inputs, products = max(inputs, i), max(products, o)
		}
		w.inputs, w.products = make([]float32, inputs), make([]float32, products)
		c.workers = append(c.workers, w)
	}
}

// nextChunk returns the images of the chunk that a thread computes after item i, if all threads compute equally many
// chunks.
func (c *convolver) nextChunk(i int) (start, end int) { return c.chunkAt((i + c.threads) * c.chunk) }

func (c *convolver) chunkAt(image int) (start, end int) {
	return min(c.batch, image), min(c.batch, image+c.chunk)
}

// Forward computes y = f(conv(x, w) + bias). x is [Batch, InH, InW, InC], w [Kernel, Kernel, InC, OutC], bias [OutC], y
// [Batch, OutH, OutW, OutC]. A transposed convolution takes w [Kernel, Kernel, OutC, InC].
func (p *Conv) Forward(x, w, bias, y []float32) {
	if p.fast != nil {
		p.fast.forward(x, w, bias, y)
		return
	}
	c := &p.c
	packs, pack := c.gather.packs(), c.packGather
	if p.transposed {
		packs, pack = c.spread.packs(), c.packSpread
	}
	c.prepare()
	copy(c.bias, bias)
	c.x, c.w, c.y = x, w[c.weightsStart:c.weightsEnd], y
	parallel.ForWorkers(len(c.workers), packs, pack)
	parallel.ForWorkers(len(c.workers), (c.batch+c.chunk-1)/c.chunk, c.forwardItem)
	c.x, c.w, c.y = nil, nil, nil
}

// gather is an item of a convolution.
func (p *Conv) gather(worker, i int) {
	c := &p.c
	s := c.workers[worker]
	firstImage := i * c.chunk
	count := min(c.chunk, c.batch-firstImage)
	n, m := c.bigPixels()*c.bigC, c.smallPixels()*c.smallC
	start, end := c.nextChunk(i)
	s.ahead.set(c.x[start*n:end*n], c.y[start*m:end*m])
	for j := range count {
		c.padBig(s.big[j*c.bigSize:], c.x[(firstImage+j)*n:], nil, kernel.LinearActivation)
	}
	out := c.y[firstImage*m : (firstImage+count)*m]
	c.gather.run(s, c.bias, out, count, c.activation.Epilogue())
	c.activation.Rest(out)
}

// Backward computes the gradients dx, dw and db, given the gradient dy with respect to y = Forward(x, w, bias). It
// skips gradients that are nil.
func (p *Conv) Backward(x, w, y, dy, dx, dw, db []float32) {
	if p.fast != nil {
		p.fast.backward(x, w, y, dy, dx, dw, db)
		return
	}
	p.c.backward(x, w, y, dy, dx, dw, db, p.transposed)
}

// spread is an item of a transposed convolution.
func (p *Conv) spread(worker, i int) {
	c := &p.c
	s := c.workers[worker]
	firstImage := i * c.chunk
	count := min(c.chunk, c.batch-firstImage)
	n, m := c.smallPixels()*c.smallC, c.bigPixels()*c.bigC
	start, end := c.nextChunk(i)
	s.ahead.set(c.x[start*n:end*n], c.y[start*m:end*m])
	out := c.y[firstImage*m : (firstImage+count)*m]
	if p, ok := c.spread.(*narrowTaps); ok { // it needs no zeros around the images
		p.spread(s, c.x[firstImage*n:], c.smallW*c.smallC, n, c.bias, out, count, c.activation.Epilogue())
	} else {
		for j := range count {
			c.padSmall(s.small[j*c.smallSize:], c.x[(firstImage+j)*n:], nil, kernel.LinearActivation)
		}
		c.spread.run(s, c.bias, out, count, c.activation.Epilogue())
	}
	c.activation.Rest(out)
}

// widen copies small image j of a chunk. The stride of its pixels becomes a multiple of 16.
func (c *convolver) widen(s *convWorker, j int, src []float32, line int) {
	pixel := c.smallPitch
	dst := s.wide[j*c.smallPixels()*pixel:]
	for y := range c.smallH {
		for x := range c.smallW {
			copy(dst[(y*c.smallW+x)*pixel:][:c.smallC], src[y*line+x*c.smallC:])
		}
	}
}

// sumPixels adds all pixels of an image to dst, which has one element per channel.
func sumPixels(dst, src []float32, h, w, line int, reset bool) {
	if reset {
		clear(dst)
	}
	n := len(dst)
	for y := range h {
		row := src[y*line : y*line+w*n]
		c := 0
		for ; c+16 <= n; c += 16 {
			kernel.ColumnSum(dst[c:], row[c:], w, n)
		}
		for ; c < n; c++ {
			sum := float32(0)
			for i := c; i < len(row); i += n {
				sum += row[i]
			}
			dst[c] += sum
		}
	}
}

// job is a part of the backward pass for some images, computed in chunks.
type job struct {
	start, end int
	share      int       // index in the sum of the weight gradient
	dx         bool      // compute the gradient with respect to the images
	sums       []float32 // weight gradient of the group; nil: not computed
	biasSums   []float32 // bias gradient of the group; nil: not computed
}

// nextInJob returns the images of a thread's next chunk in a job.
func (c *convolver) nextInJob(image int, j job) (start, end int) {
	if image += c.chunk; image >= j.end {
		image += (c.threads - 1) * (j.end - j.start)
	}
	return c.chunkAt(image)
}

// prefetch names the operands of the chunk after the chunk at firstImage. An image of x has n elements, one of y has m.
func (c *convolver) prefetch(s *convWorker, j job, firstImage, n, m int) {
	start, end := c.nextInJob(firstImage, j)
	s.ahead.set(c.dy[start*m : end*m])
	if c.activation != kernel.LinearActivation {
		s.ahead.add(c.y[start*m : end*m])
	}
	if j.dx {
		s.ahead.add(c.dx[start*n : end*n])
	}
	if j.sums != nil {
		s.ahead.add(c.x[start*n : end*n])
	}
}

// backwardItems sets the items of the backward pass. With a single share, an item computes the gradients with respect
// to both images and weights, because both use the padded images.
func (c *convolver) backwardItems(run func(s *convWorker, j job)) {
	c.inputItem = func(worker, i int) {
		run(c.workers[worker], job{start: i * c.chunk, end: min(c.batch, (i+1)*c.chunk), dx: true})
	}
	c.weightItem = func(worker, i int) {
		group, share := i/c.shares, i%c.shares
		j := job{start: group * c.groupSize, end: min(c.batch, (group+1)*c.groupSize), share: share,
			dx: c.dx != nil && c.shares == 1}
		if n := c.patch() * c.smallC; c.sums != nil {
			j.sums = c.sums[group*n : (group+1)*n]
		}
		if c.biasSums != nil && share == 0 {
			n := len(c.biasSums) / c.groups
			j.biasSums = c.biasSums[group*n : (group+1)*n]
		}
		run(c.workers[worker], j)
	}
}

// backward runs the groups of images and sums their gradients.
func (c *convolver) backward(x, w, y, dy, dx, dw, db []float32, transposed bool) {
	c.prepare()
	if dw != nil {
		clear(dw[:c.weightsStart])
		clear(dw[c.weightsEnd:])
		dw = dw[c.weightsStart:c.weightsEnd]
	}
	c.x, c.w, c.y, c.dy, c.dx, c.dw = x, w[c.weightsStart:c.weightsEnd], y, dy, dx, dw
	memory := kernel.TakeMemory(c.groups * (len(dw) + len(db)))
	if dw != nil {
		c.sums = (*memory)[:c.groups*len(dw)]
	}
	if db != nil {
		c.biasSums = (*memory)[c.groups*len(dw):][:c.groups*len(db)]
	}
	switch {
	case dx == nil:
	case transposed:
		parallel.ForWorkers(len(c.workers), c.gather.packs(), c.packGather)
	default:
		parallel.ForWorkers(len(c.workers), c.spread.packs(), c.packSpread)
	}
	if c.dx != nil && (c.shares > 1 || dw == nil && db == nil) {
		parallel.ForWorkers(len(c.workers), (c.batch+c.chunk-1)/c.chunk, c.inputItem)
	}
	if dw != nil || db != nil {
		parallel.ForWorkers(len(c.workers), c.groups*c.shares, c.weightItem)
	}
	if dw != nil {
		parallel.ForWorkers(len(c.workers), (len(dw)+totalElements-1)/totalElements, c.totalItem)
	}
	if db != nil {
		n := len(db)
		copy(db, c.biasSums[:n])
		for group := 1; group < c.groups; group++ {
			kernel.Add(db, c.biasSums[group*n:(group+1)*n])
		}
	}
	kernel.GiveMemory(memory)
	c.x, c.w, c.y, c.dy, c.dx, c.dw, c.sums, c.biasSums = nil, nil, nil, nil, nil, nil, nil, nil
}

// backwardGather runs a job of a convolution.
func (p *Conv) backwardGather(s *convWorker, job job) {
	c := &p.c
	n, m := c.bigPixels()*c.bigC, c.smallPixels()*c.smallC
	for firstImage := job.start; firstImage < job.end; firstImage += c.chunk {
		count := min(c.chunk, job.end-firstImage)
		reset := firstImage == job.start
		for j := range count {
			i := firstImage + j
			c.padSmall(s.small[j*c.smallSize:], c.dy[i*m:], c.y[i*m:], c.activation)
			if job.biasSums != nil {
				sumPixels(job.biasSums, s.small[j*c.smallSize+c.smallOrigin():], c.smallH, c.smallW, c.smallLine, reset && j == 0)
			}
			if job.sums != nil {
				c.padBig(s.big[j*c.bigSize:], c.x[i*n:], nil, kernel.LinearActivation)
			}
		}
		c.prefetch(s, job, firstImage, n, m)
		if job.dx {
			c.spread.run(s, nil, c.dx[firstImage*n:(firstImage+count)*n], count, 0)
		}
		if job.sums != nil {
			c.addWeights(s, job, smallImages{s.small[c.smallOrigin():], c.smallC, c.smallLine, c.smallSize}, count, reset)
		}
	}
}

// backwardSpread runs a job of a transposed convolution.
func (p *Conv) backwardSpread(s *convWorker, job job) {
	c := &p.c
	n, m := c.bigPixels()*c.bigC, c.smallPixels()*c.smallC
	for firstImage := job.start; firstImage < job.end; firstImage += c.chunk {
		count := min(c.chunk, job.end-firstImage)
		reset := firstImage == job.start
		for j := range count {
			i := firstImage + j
			c.padBig(s.big[j*c.bigSize:], c.dy[i*n:], c.y[i*n:], c.activation)
			if job.biasSums != nil {
				sumPixels(job.biasSums, s.big[j*c.bigSize+c.bigOrigin():], c.bigH, c.bigW, c.bigLine, reset && j == 0)
			}
		}
		c.prefetch(s, job, firstImage, m, n)
		if job.dx {
			c.gather.run(s, nil, c.dx[firstImage*m:(firstImage+count)*m], count, 0)
		}
		if job.sums != nil {
			c.addWeights(s, job, smallImages{c.x[firstImage*m:], c.smallC, c.smallW * c.smallC, m}, count, reset)
		}
	}
}

// addWeights adds a chunk to the gradient of the weights. reset begins a new sum.
func (c *convolver) addWeights(s *convWorker, job job, small smallImages, count int, reset bool) {
	if c.smallC != c.smallPitch {
		for j := range count {
			c.widen(s, j, small.x[j*small.size:], small.line)
		}
		small = smallImages{s.wide, c.smallPitch, c.smallW * c.smallPitch, c.smallPixels() * c.smallPitch}
	}
	c.gradient.run(s, job.sums, job.share, small, count, reset)
}

// totalElements is the number of weights per item of totalGroups.
const totalElements = 4096

// totalGroups sets a part of dw to the sum over groups, in order.
func totalGroups(dw, sums []float32, groups, part int) {
	n := len(dw)
	start, end := part*totalElements, min((part+1)*totalElements, n)
	copy(dw[start:end], sums[start:end])
	for group := 1; group < groups; group++ {
		kernel.Add(dw[start:end], sums[group*n+start:group*n+end])
	}
}
