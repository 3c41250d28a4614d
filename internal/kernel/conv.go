package kernel

import "github.com/unravel-ml/unravel/internal/parallel"

// convolver is the common part of a convolution and a transposed convolution.
type convolver struct {
	*geometry
	activation Activation
	gather     product
	spread     product
	gradient   gradient
	pixel      int       // channels of the small image, rounded up to 16
	bias       []float32 // padded to whole panels
	workers    []*convWorker

	// Operands of the call in progress.
	x, w, y, dy, dx, dw []float32
	sums, biasSums      []float32 // [groups][weights] and [groups][channels of the output]; nil: not wanted
	threads             int       // number of threads, about: a thread's next item is so many further

	forwardItem, inputItem, weightItem, packGather, packSpread, totalItem func(worker, i int)
}

// convWorker is the scratch of one thread.
type convWorker struct {
	tile       tile
	panel      panel
	big, small []float32 // padded images; the padding stays zero
	wide       []float32 // small images with channels padded to 16
	inputs     []float32 // further operands of a product
	products   []float32
	ahead      prefetches
}

// Conv is a convolution with bias and activation; see ConvShape. One goroutine at a time may use it.
type Conv struct {
	c    convolver
	fast *conv3 // not nil for shapes that suit it; c is then unused
}

// ConvTranspose is a transposed convolution with bias and activation; see ConvShape. One goroutine at a time may use it.
type ConvTranspose struct {
	c    convolver
	fast *conv3
}

// NewConv plans a convolution.
func NewConv(s ConvShape, a Activation) (*Conv, error) { return newConv(s, a, false) }

// NewMixedConv is [NewConv] in mixed precision, for the parts where this saves time.
func NewMixedConv(s ConvShape, a Activation) (*Conv, error) { return newConv(s, a, true) }

func newConv(s ConvShape, a Activation, mixed bool) (*Conv, error) {
	if err := s.check("convolution"); err != nil {
		return nil, err
	}
	if winograd3Fits(s) {
		return &Conv{fast: newConv3(s, a, false)}, nil
	}
	p := &Conv{}
	p.c.plan(newGeometry(s, false), a, mixed)
	p.c.bias = make([]float32, newPanels(s.OutC).padded)
	p.c.forwardItem = p.forward
	p.c.backwardItems(p.backward)
	return p, nil
}

// NewConvTranspose plans a transposed convolution.
func NewConvTranspose(s ConvShape, a Activation) (*ConvTranspose, error) {
	return newConvTranspose(s, a, false)
}

// NewMixedConvTranspose is [NewConvTranspose] in mixed precision, for the parts where this saves time.
func NewMixedConvTranspose(s ConvShape, a Activation) (*ConvTranspose, error) {
	return newConvTranspose(s, a, true)
}

func newConvTranspose(s ConvShape, a Activation, mixed bool) (*ConvTranspose, error) {
	if err := s.check("transposed convolution"); err != nil {
		return nil, err
	}
	if winograd3Fits(s) {
		return &ConvTranspose{fast: newConv3(s, a, true)}, nil
	}
	p := &ConvTranspose{}
	p.c.plan(newGeometry(s, true), a, mixed)
	p.c.bias = make([]float32, newPanels(s.OutC).padded)
	p.c.forwardItem = p.forward
	p.c.backwardItems(p.backward)
	return p, nil
}

func (c *convolver) plan(g *geometry, a Activation, mixed bool) {
	c.geometry, c.activation = g, a
	c.pixel = newPanels(g.smallC).padded
	if mixed {
		c.gather, c.spread, c.gradient = newMixedProducts(g)
	} else {
		c.gather, c.spread, c.gradient = newProducts(g)
	}
	c.packGather = func(_, i int) { c.gather.pack(c.w, i) }
	c.packSpread = func(_, i int) { c.spread.pack(c.w, i) }
	c.totalItem = func(_, i int) { totalGroups(c.dw, c.sums, c.groups, i) }
}

// prepare allocates the scratch of every thread.
func (c *convolver) prepare() {
	c.threads = parallel.Threads()
	for len(c.workers) < parallel.Threads() {
		w := &convWorker{big: make([]float32, c.chunk*c.bigSize), small: make([]float32, c.chunk*c.smallSize)}
		if c.smallC != c.pixel {
			w.wide = make([]float32, c.chunk*c.smallPixels()*c.pixel)
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

// following returns the images of the chunk that a thread computes after item i, of one chunk, if each computes as many.
func (c *convolver) following(i int) (from, to int) { return c.after((i + c.threads) * c.chunk) }

// after returns the images of a chunk.
func (c *convolver) after(first int) (from, to int) {
	return min(c.batch, first), min(c.batch, first+c.chunk)
}

// Forward computes y = f(conv(x, w) + bias). x is [Batch, InH, InW, InC], w
// [Kernel, Kernel, InC, OutC], bias [OutC], y [Batch, OutH, OutW, OutC].
func (p *Conv) Forward(x, w, bias, y []float32) {
	if p.fast != nil {
		p.fast.forward(x, w, bias, y)
		return
	}
	c := &p.c
	c.prepare()
	copy(c.bias, bias)
	c.x, c.w, c.y = x, w[c.from:c.to], y
	parallel.ForWorkers(len(c.workers), c.gather.packs(), c.packGather)
	parallel.ForWorkers(len(c.workers), (c.batch+c.chunk-1)/c.chunk, c.forwardItem)
	c.x, c.w, c.y = nil, nil, nil
}

func (p *Conv) forward(worker, i int) {
	c := &p.c
	s := c.workers[worker]
	first := i * c.chunk
	count := min(c.chunk, c.batch-first)
	n, m := c.bigPixels()*c.bigC, c.smallPixels()*c.smallC
	from, to := c.following(i)
	s.ahead.set(c.x[from*n:to*n], c.y[from*m:to*m])
	for j := range count {
		c.padBig(s.big[j*c.bigSize:], c.x[(first+j)*n:], nil, LinearActivation)
	}
	out := c.y[first*m : (first+count)*m]
	c.gather.run(s, c.bias, out, count, c.activation.epilogue())
	c.activation.rest(out)
}

// Backward computes the gradients dx, dw, db of a loss from its gradient dy at y
// = Forward(x, w, bias). A nil dx, dw or db is not computed.
func (p *Conv) Backward(x, w, y, dy, dx, dw, db []float32) {
	if p.fast != nil {
		p.fast.backward(x, w, y, dy, dx, dw, db)
		return
	}
	p.c.backward(x, w, y, dy, dx, dw, db, dx != nil, false)
}

// Forward computes y = f(convT(x, w) + bias). x is [Batch, InH, InW, InC], w
// [Kernel, Kernel, OutC, InC], bias [OutC], y [Batch, OutH, OutW, OutC].
func (p *ConvTranspose) Forward(x, w, bias, y []float32) {
	if p.fast != nil {
		p.fast.forward(x, w, bias, y)
		return
	}
	c := &p.c
	c.prepare()
	copy(c.bias, bias)
	c.x, c.w, c.y = x, w[c.from:c.to], y
	parallel.ForWorkers(len(c.workers), c.spread.packs(), c.packSpread)
	parallel.ForWorkers(len(c.workers), (c.batch+c.chunk-1)/c.chunk, c.forwardItem)
	c.x, c.w, c.y = nil, nil, nil
}

func (p *ConvTranspose) forward(worker, i int) {
	c := &p.c
	s := c.workers[worker]
	first := i * c.chunk
	count := min(c.chunk, c.batch-first)
	n, m := c.smallPixels()*c.smallC, c.bigPixels()*c.bigC
	from, to := c.following(i)
	s.ahead.set(c.x[from*n:to*n], c.y[from*m:to*m])
	out := c.y[first*m : (first+count)*m]
	if p, ok := c.spread.(*narrowTaps); ok { // it needs no zeros around the images
		p.spread(s, c.x[first*n:], c.smallW*c.smallC, n, c.bias, out, count, c.activation.epilogue())
	} else {
		for j := range count {
			c.padSmall(s.small[j*c.smallSize:], c.x[(first+j)*n:], nil, LinearActivation)
		}
		c.spread.run(s, c.bias, out, count, c.activation.epilogue())
	}
	c.activation.rest(out)
}

// Backward computes the gradients dx, dw, db of a loss from its gradient dy at y
// = Forward(x, w, bias). A nil dx, dw or db is not computed.
func (p *ConvTranspose) Backward(x, w, y, dy, dx, dw, db []float32) {
	if p.fast != nil {
		p.fast.backward(x, w, y, dy, dx, dw, db)
		return
	}
	p.c.backward(x, w, y, dy, dx, dw, db, false, dx != nil)
}

// widen copies small image j of a chunk and places its pixels a multiple of 16 elements apart.
func (c *convolver) widen(s *convWorker, j int, src []float32, line int) {
	pixel := c.pixel
	dst := s.wide[j*c.smallPixels()*pixel:]
	for y := range c.smallH {
		for x := range c.smallW {
			copy(dst[(y*c.smallW+x)*pixel:][:c.smallC], src[y*line+x*c.smallC:])
		}
	}
}

// sumPixels adds all pixels of an image to dst, one element a channel.
func sumPixels(dst, src []float32, h, w, line int, fresh bool) {
	if fresh {
		clear(dst)
	}
	n := len(dst)
	for y := range h {
		row := src[y*line : y*line+w*n]
		c := 0
		for ; c+16 <= n; c += 16 {
			columnSum(dst[c:], row[c:], w, n)
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
