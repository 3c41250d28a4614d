package kernel

// PixelLoss computes sums over pixels and their gradients, in parallel and with
// the same result for any number of threads. One goroutine at a time may use it.
type PixelLoss struct {
	partial                                                  []float64
	lanes                                                    [][16]float32
	dst, s                                                   []float32
	l, x                                                     []float32
	a                                                        float32
	gaussian, linear, bernoulli, gaussianGrad, bernoulliGrad func(worker, i int)
}

// NewPixelLoss returns a PixelLoss for arrays of n elements.
func NewPixelLoss(n int) *PixelLoss {
	p := &PixelLoss{partial: make([]float64, (n+block-1)/block), lanes: make([][16]float32, (n+block-1)/block)}
	p.gaussian, p.linear, p.bernoulli = p.gaussianItem, p.linearItem, p.bernoulliItem
	p.gaussianGrad, p.bernoulliGrad = p.gaussianGradItem, p.bernoulliGradItem
	return p
}

// SigmoidError returns the sum of (sigmoid(l) - x)^2 and stores sigmoid(l) in s.
func (p *PixelLoss) SigmoidError(s, l, x []float32) float64 {
	p.s, p.l, p.x = s, l, x
	return p.sum(p.gaussian)
}

// SigmoidErrorGrad computes dst = a (s-x) s (1-s), for s = sigmoid(l) and a = 2 the gradient of SigmoidError.
func (p *PixelLoss) SigmoidErrorGrad(dst, s, x []float32, a float32) {
	p.dst, p.s, p.x, p.a = dst, s, x, a
	For(len(p.partial), p.gaussianGrad)
	p.release()
}

// SquaredError returns the sum of (l - x)^2.
func (p *PixelLoss) SquaredError(l, x []float32) float64 {
	p.l, p.x = l, x
	return p.sum(p.linear)
}

// LogisticError returns the sum of ln(1+e^l) - x l: the cross-entropy of x and sigmoid(l).
func (p *PixelLoss) LogisticError(l, x []float32) float64 {
	p.l, p.x = l, x
	return p.sum(p.bernoulli)
}

// LogisticErrorGrad computes dst = a (sigmoid(l) - x), for a = 1 the gradient of LogisticError.
func (p *PixelLoss) LogisticErrorGrad(dst, l, x []float32, a float32) {
	p.dst, p.l, p.x, p.a = dst, l, x, a
	For(len(p.partial), p.bernoulliGrad)
	p.release()
}

// sum adds the blocks in their order.
func (p *PixelLoss) sum(item func(worker, i int)) float64 {
	For(len(p.partial), item)
	p.release()
	var total float64
	for _, v := range p.partial {
		total += v
	}
	return total
}

func (p *PixelLoss) release() { p.dst, p.s, p.l, p.x = nil, nil, nil, nil }

func (p *PixelLoss) span(i, n int) (from, whole, to int) {
	from, to = i*block, min((i+1)*block, n)
	return from, from + (to-from)&^15, to
}

// finish adds the lanes of block i and what the leftover elements gave.
func (p *PixelLoss) finish(i int, rest float64) {
	for _, v := range p.lanes[i] {
		rest += float64(v)
	}
	p.partial[i] = rest
}

func (p *PixelLoss) gaussianItem(_, i int) {
	from, whole, to := p.span(i, len(p.l))
	clear(p.lanes[i][:])
	if whole > from {
		sigmoidErrorLanes(&p.lanes[i], p.s[from:whole], p.l[from:whole], p.x[from:whole])
	}
	var rest float64
	for j := whole; j < to; j++ {
		p.s[j] = sigmoid1(p.l[j])
		d := float64(p.s[j] - p.x[j])
		rest += d * d
	}
	p.finish(i, rest)
}

func (p *PixelLoss) linearItem(_, i int) {
	from, whole, to := p.span(i, len(p.l))
	clear(p.lanes[i][:])
	if whole > from {
		squaredErrorLanes(&p.lanes[i], p.l[from:whole], p.x[from:whole])
	}
	var rest float64
	for j := whole; j < to; j++ {
		d := float64(p.l[j] - p.x[j])
		rest += d * d
	}
	p.finish(i, rest)
}

func (p *PixelLoss) bernoulliItem(_, i int) {
	from, whole, to := p.span(i, len(p.l))
	clear(p.lanes[i][:])
	if whole > from {
		logisticErrorLanes(&p.lanes[i], p.l[from:whole], p.x[from:whole])
	}
	var rest float64
	for j := whole; j < to; j++ {
		rest += float64(softplus1(p.l[j]) - p.x[j]*p.l[j])
	}
	p.finish(i, rest)
}

func (p *PixelLoss) gaussianGradItem(_, i int) {
	from, _, to := p.span(i, len(p.x))
	sigmoidErrorGrad(p.dst[from:to], p.s[from:to], p.x[from:to], p.a)
}

func (p *PixelLoss) bernoulliGradItem(_, i int) {
	from, _, to := p.span(i, len(p.x))
	logisticErrorGrad(p.dst[from:to], p.l[from:to], p.x[from:to], p.a)
}
