package kernel

import "github.com/unravel-ml/unravel/internal/parallel"

// A job is a part of the backward pass for some images, computed a chunk at a time.
type job struct {
	first, end   int
	group, share int       // in the sum of the weights' gradient
	dx           bool      // the images' gradient
	sums         []float32 // gradient of the group's weights; nil: not computed
	biasSums     []float32 // gradient of the group's bias; nil: not computed
}

// nextOf returns the images of the next chunk that a thread computes of a job.
func (c *convolver) nextOf(first int, j job) (from, to int) {
	if first += c.chunk; first >= j.end {
		first += (c.threads - 1) * (j.end - j.first)
	}
	return c.after(first)
}

// backwardItems sets the items of the backward pass. With one share, an item computes the gradients of images and weights,
// because both need the images that it pads.
func (c *convolver) backwardItems(run func(s *convWorker, j job)) {
	c.inputItem = func(worker, i int) {
		run(c.workers[worker], job{first: i * c.chunk, end: min(c.batch, (i+1)*c.chunk), dx: true})
	}
	c.weightItem = func(worker, i int) {
		group, share := i/c.shares, i%c.shares
		j := job{first: group * c.groupSize, end: min(c.batch, (group+1)*c.groupSize), group: group, share: share, dx: c.dx != nil && c.shares == 1}
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

// backward runs the groups of images and adds up their gradients.
func (c *convolver) backward(x, w, y, dy, dx, dw, db []float32, spread, gather bool) {
	c.prepare()
	if dw != nil {
		clear(dw[:c.from])
		clear(dw[c.to:])
		dw = dw[c.from:c.to]
	}
	c.x, c.w, c.y, c.dy, c.dx, c.dw = x, w[c.from:c.to], y, dy, dx, dw
	memory := takeMemory(c.groups * (len(dw) + len(db)))
	if dw != nil {
		c.sums = (*memory)[:c.groups*len(dw)]
	}
	if db != nil {
		c.biasSums = (*memory)[c.groups*len(dw):][:c.groups*len(db)]
	}
	if spread {
		parallel.ForWorkers(len(c.workers), c.spread.packs(), c.packSpread)
	}
	if gather {
		parallel.ForWorkers(len(c.workers), c.gather.packs(), c.packGather)
	}
	if c.dx != nil && (c.shares > 1 || dw == nil && db == nil) {
		parallel.ForWorkers(len(c.workers), (c.batch+c.chunk-1)/c.chunk, c.inputItem)
	}
	if dw != nil || db != nil {
		parallel.ForWorkers(len(c.workers), c.groups*c.shares, c.weightItem)
	}
	if dw != nil {
		parallel.ForWorkers(len(c.workers), (len(dw)+block-1)/block, c.totalItem)
	}
	if db != nil {
		n := len(db)
		copy(db, c.biasSums[:n])
		for group := 1; group < c.groups; group++ {
			add(db, c.biasSums[group*n:(group+1)*n])
		}
	}
	giveMemory(memory)
	c.x, c.w, c.y, c.dy, c.dx, c.dw, c.sums, c.biasSums = nil, nil, nil, nil, nil, nil, nil, nil
}

// backward does a job.
func (p *Conv) backward(s *convWorker, job job) {
	c := &p.c
	n, m := c.bigPixels()*c.bigC, c.smallPixels()*c.smallC
	for first := job.first; first < job.end; first += c.chunk {
		count := min(c.chunk, job.end-first)
		fresh := first == job.first
		for j := range count {
			i := first + j
			c.padSmall(s.small[j*c.smallSize:], c.dy[i*m:], c.y[i*m:], c.activation)
			if job.biasSums != nil {
				sumPixels(job.biasSums, s.small[j*c.smallSize+c.smallOrigin():], c.smallH, c.smallW, c.smallLine, fresh && j == 0)
			}
			if job.sums != nil {
				c.padBig(s.big[j*c.bigSize:], c.x[i*n:], nil, LinearActivation)
			}
		}
		from, to := c.nextOf(first, job)
		s.ahead.set(c.dy[from*m:to*m], c.y[from*m:to*m], c.x[from*n:to*n])
		if job.dx {
			s.ahead.list[3] = c.dx[from*n : to*n]
			c.spread.run(s, nil, c.dx[first*n:(first+count)*n], count, 0)
		}
		if job.sums == nil {
			continue
		}
		small := smallImages{s.small[c.smallOrigin():], c.smallC, c.smallLine, c.smallSize}
		if c.smallC != c.pixel {
			for j := range count {
				c.widen(s, j, small.x[j*c.smallSize:], c.smallLine)
			}
			small = c.wide(s)
		}
		c.gradient.run(s, job.sums, job.share, small, count, fresh)
	}
}

// backward does a job.
func (p *ConvTranspose) backward(s *convWorker, job job) {
	c := &p.c
	n, m := c.bigPixels()*c.bigC, c.smallPixels()*c.smallC
	for first := job.first; first < job.end; first += c.chunk {
		count := min(c.chunk, job.end-first)
		fresh := first == job.first
		for j := range count {
			i := first + j
			c.padBig(s.big[j*c.bigSize:], c.dy[i*n:], c.y[i*n:], c.activation)
			if job.biasSums != nil {
				sumPixels(job.biasSums, s.big[j*c.bigSize+c.bigOrigin():], c.bigH, c.bigW, c.bigLine, fresh && j == 0)
			}
		}
		from, to := c.nextOf(first, job)
		s.ahead.set(c.dy[from*n:to*n], c.y[from*n:to*n], c.x[from*m:to*m])
		if job.dx {
			s.ahead.list[3] = c.dx[from*m : to*m]
			c.gather.run(s, nil, c.dx[first*m:(first+count)*m], count, 0)
		}
		if job.sums == nil {
			continue
		}
		small := smallImages{c.x[first*m:], c.smallC, c.smallW * c.smallC, m}
		if c.smallC != c.pixel {
			for j := range count {
				c.widen(s, j, small.x[j*m:], c.smallW*c.smallC)
			}
			small = c.wide(s)
		}
		c.gradient.run(s, job.sums, job.share, small, count, fresh)
	}
}

// wide returns the small images that widen has copied.
func (c *convolver) wide(s *convWorker) smallImages {
	return smallImages{s.wide, c.pixel, c.smallW * c.pixel, c.smallPixels() * c.pixel}
}

// totalGroups sets a part of dw to the sum of groups of as many elements, in their order.
func totalGroups(dw, sums []float32, groups, part int) {
	n := len(dw)
	from, to := part*block, min((part+1)*block, n)
	copy(dw[from:to], sums[from:to])
	for group := 1; group < groups; group++ {
		add(dw[from:to], sums[group*n+from:group*n+to])
	}
}
