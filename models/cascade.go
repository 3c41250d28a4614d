package models

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/assign"
)

// cascade computes what a step of a cascadeVAE needs first: its phase of the schedule, and the categories of the batch.
type cascade struct {
	*cascadeVAE
	images, noise *gorgonia.Node // inputs of the step
	weights       []float32      // weights of the columns' divergences in this step
	choice        []float32      // one-hot categories in this step, [n, Categories]; zeros while the categories are closed
	passes        []Pass

	sampled         *gorgonia.Node // output of the first pass: samples
	encoded, eps    []float32      // inputs of the first pass
	targets, points []float32      // inputs of the second pass: images, and points to decode
	cost            *gorgonia.Node // output of the second pass, [n, 1]
	table           []float64      // [n, Categories]
}

// categories adds the input of one-hot categories to the samples z, and the passes that choose the categories.
func (c *cascade) categories(g *nn.Graph, z *gorgonia.Node, n int) (points *gorgonia.Node, err error) {
	k := c.settings.Categories
	choice, err := g.Input("categories", n, k)
	if err != nil {
		return nil, err
	}
	c.choice, c.table = nn.Data(choice), make([]float64, n*k)
	if err := c.sampling(g.Another(), n); err != nil {
		return nil, err
	}
	if err := c.costing(g.Another(), n); err != nil {
		return nil, err
	}
	return graph.ConcatColumns(choice, z)
}

// sampling builds the pass that maps images and noise to samples.
func (c *cascade) sampling(g *nn.Graph, n int) error {
	d, err := c.drawn(g, n)
	if err != nil {
		return err
	}
	c.sampled, c.encoded, c.eps = d.z, nn.Data(d.images), nn.Data(d.noise)
	c.passes = append(c.passes, Pass{Graph: g, Outputs: []*gorgonia.Node{c.sampled}})
	return nil
}

// costing builds the pass that maps points to the costs of their images.
func (c *cascade) costing(g *nn.Graph, n int) error {
	images, err := c.cascadeVAE.images(g, n)
	if err != nil {
		return err
	}
	points, err := g.Input("points", n, c.settings.Categories+c.width)
	if err != nil {
		return err
	}
	if c.cost, err = c.costs(g, images, points); err != nil {
		return err
	}
	c.targets, c.points = nn.Data(images), nn.Data(points)
	c.passes = append(c.passes, Pass{Graph: g, Outputs: []*gorgonia.Node{c.cost}})
	return nil
}

// decide sets the weights of the divergences, and the categories of a batch.
func (c *cascade) decide(e *Early) error {
	opened, open := c.phase(e)
	before := c.params.Get(cascadeOpened).Float32s()
	e.Restart = before[0] != float32(opened)
	before[0] = float32(opened)
	for l := range c.weights {
		c.weights[l] = float32(c.settings.High)
		if l < opened {
			c.weights[l] = float32(c.settings.Low)
		}
	}
	if c.choice == nil {
		return nil
	}
	state := c.params.Get(cascadeCategories).Float32s()
	if state[0] = 0; !open {
		clear(c.choice)
		return nil
	}
	state[0] = 1
	return c.choose(e)
}

// phase returns the number of open dimensions, and whether categories are open.
func (c *cascade) phase(e *Early) (opened int, open bool) {
	s := &c.settings
	p := int(e.Progress * float64(s.Phases))
	if s.PhaseSteps > 0 {
		p = e.Updates / s.PhaseSteps
	}
	if s.Categories == 0 || p < s.Closed {
		return min(p+1, s.Latent), false
	}
	return min(p, s.Latent), true
}

// choose assigns the images of a batch to categories by their costs.
func (c *cascade) choose(e *Early) error {
	copy(c.encoded, nn.Data(c.images))
	copy(c.eps, nn.Data(c.noise))
	if err := e.Run(0); err != nil {
		return err
	}
	copy(c.targets, nn.Data(c.images))
	d, k := c.width, c.settings.Categories
	z := e.Value(c.sampled)
	for at := 0; at < len(z); at += d {
		copy(c.points[at/d*(k+d)+k:], z[at:at+d])
	}
	for option := range k {
		for row := 0; row < len(c.points); row += k + d {
			clear(c.points[row : row+k])
			c.points[row+option] = 1
		}
		if err := e.Run(1); err != nil {
			return err
		}
		for row, cost := range e.Value(c.cost) {
			c.table[row*k+option] = float64(cost)
		}
	}
	of, err := assign.Balanced(c.table, k, c.settings.Balance)
	if err != nil {
		return err
	}
	clear(c.choice)
	for row, option := range of {
		c.choice[row*k+option] = 1
	}
	return nil
}
