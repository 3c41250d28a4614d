package models

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/assign"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

// CascadeVAE is the VAE of Jeong and Song 2019, which opens its dimensions one by one. It first opens the continuous
// dimensions, by lowering the weight of their divergence, and then one categorical dimension with Categories options.
// With the losses reconstruction and kl it minimises, in nats per image,
//
//	-log p(x | z, d) + sum_l w_l KL(q(z_l|x) || N(0, 1)),  w_l = Low for the first i dimensions, High for the others
//
// The posteriors are N(mu, softplus(s)^2), and mu and s are linear maps of the features. Training has Phases phases p
// = 0, 1, ... In the first Closed phases i = min(p + 1, Latent), and the decoder gets zeros as the category. In later
// phases i = min(p, Latent), and the categories d of a batch minimise
//
//	sum_b cost(x_b; z_b, d_b) + Balance sum_k n_k (n_k - 1)/2
//
// exactly. n_k is the number of images in category k, and cost is the image's part of the reconstruction losses for
// the sample z_b (equation 8; assign.Balanced). Categories have no network and no gradient. Each step therefore first
// decodes every sample with every category ([Prelude]). The optimiser forgets its moments whenever i changes.
//
// The first column of the code is the category with the smallest cost for z = mu, from 1, or 0 before categories open.
// The columns of mu follow. Computing the code needs Categories passes through the decoder. Categories 0 gives
// CascadeVAE-C, the schedule of z without categories.
type CascadeVAE struct {
	Networks
	Latent     int     `yaml:"latent" doc:"continuous dimensions of the code"`
	Categories int     `yaml:"categories" doc:"number of categories; 0: none (CascadeVAE-C)"`
	Low        float64 `yaml:"low" doc:"weight of the divergence of open dimensions: beta_l"`
	High       float64 `yaml:"high" doc:"weight of the divergence of the other dimensions: beta_h"`
	Balance    float64 `yaml:"balance" doc:"weight of the penalty on unequal category counts in a batch, in units of the reconstruction cost"`
	Phases     int     `yaml:"phases" doc:"number of equal training phases; the paper has 15 phases of 20,000 steps"`
	PhaseSteps int     `yaml:"phase_steps" doc:"updates in a phase; 0: divide training into equal phases"`
	Closed     int     `yaml:"closed" doc:"number of phases before the categories open"`
}

// newCascadeVAE returns the default settings: the paper's settings for dSprites.
func newCascadeVAE() *CascadeVAE {
	return &CascadeVAE{Networks: newNetworks(), Latent: 6, Categories: 3, Low: 0.1, High: 10, Balance: 0.001, Phases: 15,
		Closed: 4}
}

func (s *CascadeVAE) Validate() error {
	if err := validLatent(s.Latent); err != nil {
		return err
	}
	if s.Categories != 0 {
		if err := latent.ValidOptions(s.Categories); err != nil {
			return config.Invalid("categories", "%w, or 0", err)
		}
	}
	for _, f := range []struct {
		key   string
		value float64
	}{{"low", s.Low}, {"high", s.High}, {"balance", s.Balance}} {
		if !(f.value >= 0 && f.value <= 1e12) {
			return config.Invalid(f.key, "want a number from 0 to 1e12, got %v", f.value)
		}
	}
	for _, f := range []struct {
		key          string
		value, least int
	}{{"phases", s.Phases, 1}, {"phase_steps", s.PhaseSteps, 0}, {"closed", s.Closed, 0}} {
		if f.value < f.least {
			return config.Invalid(f.key, "want %d or more, got %d", f.least, f.value)
		}
	}
	return nil
}

func (s *CascadeVAE) New(data Data, seed uint64) (Model, error) {
	m := &cascadeVAE{mixed: mixed{autoencoder: newAutoencoder(s.Networks, data, seed, s.Latent)}, settings: *s}
	if s.Categories > 0 {
		m.sizes = []int{s.Categories}
	}
	if err := Materialise(m, data); err != nil {
		return nil, err
	}
	_, err := m.state(nn.NewGraph(m.params), cascadeOpened)
	return m, err
}

type cascadeVAE struct {
	mixed
	settings CascadeVAE
}

// States of a cascade: the number of open dimensions, and 1 if categories are open.
const (
	cascadeOpened     = "cascade/opened"
	cascadeCategories = "cascade/categories"
)

// state returns the node of a state that holds one number.
func (m *cascadeVAE) state(g *nn.Graph, name string) (*gorgonia.Node, error) {
	return g.State(name, []int{1}, nn.Zeros)
}

func (m *cascadeVAE) Paced() bool { return m.settings.PhaseSteps == 0 }

// heads adds the mean and log sigma of the posterior.
func (m *cascadeVAE) heads(g *nn.Graph, images *gorgonia.Node) (mean, logSigma *gorgonia.Node, err error) {
	h, err := m.features(g, images)
	if err != nil {
		return nil, nil, err
	}
	if mean, err = nn.Dense(g, h, "latent/mean", m.width, graph.Linear); err != nil {
		return nil, nil, err
	}
	raw, err := nn.Dense(g, h, "latent/scale", m.width, graph.Linear)
	if err != nil {
		return nil, nil, err
	}
	logSigma, err = logSoftplus(raw)
	return mean, logSigma, err
}

// posteriorSamples holds the posteriors of images, and samples of them.
type posteriorSamples struct{ images, noise, mean, logSigma, z *gorgonia.Node }

// drawSamples adds the graph from images and noise to samples.
func (m *cascadeVAE) drawSamples(g *nn.Graph, n int) (d posteriorSamples, err error) {
	if d.images, err = m.images(g, n); err != nil {
		return d, err
	}
	if d.mean, d.logSigma, err = m.heads(g, d.images); err != nil {
		return d, err
	}
	if d.noise, err = g.Input("noise", n, m.width); err != nil {
		return d, err
	}
	d.z, err = latent.GaussianSample(d.mean, d.logSigma, d.noise)
	return d, err
}

func (m *cascadeVAE) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	mean, _, err := m.heads(g, images)
	if err != nil || m.settings.Categories == 0 {
		return mean, err
	}
	var columns []*gorgonia.Node
	for k := range m.settings.Categories {
		points, err := withCategory(mean, k, m.settings.Categories)
		if err != nil {
			return nil, err
		}
		cost, err := m.costs(g, images, points)
		if err != nil {
			return nil, err
		}
		columns = append(columns, cost)
	}
	costs, err := graph.ConcatColumns(columns...)
	if err != nil {
		return nil, err
	}
	openCategories, err := m.state(g, cascadeCategories)
	if err != nil {
		return nil, err
	}
	number, err := cheapest(costs, openCategories)
	if err != nil {
		return nil, err
	}
	return graph.ConcatColumns(number, mean)
}

// costs adds the costs [n, 1] of images that are decoded from points [n, Categories + Latent].
func (m *cascadeVAE) costs(g *nn.Graph, images, points *gorgonia.Node) (*gorgonia.Node, error) {
	logits, err := m.autoencoder.Decode(g, points)
	if err != nil {
		return nil, err
	}
	var all gorgonia.Nodes
	for _, c := range m.data.Losses {
		l, ok := c.Value.(losses.PerImage)
		if !ok {
			continue
		}
		cost, err := l.Costs(images, logits, m.data.Real)
		if err != nil {
			return nil, fmt.Errorf("costs of categories: loss %s: %w", c.Name, err)
		}
		all = append(all, cost)
	}
	switch {
	case len(all) == 0 && m.data.Losses != nil:
		return nil, errors.New("the choice of categories needs each image's reconstruction error, but the config has no such loss; want the loss reconstruction")
	case len(all) == 0: // the losses are unknown
		return losses.NewReconstruction().Costs(images, logits, m.data.Real)
	}
	sum := all[0]
	for _, n := range all[1:] {
		if sum, err = graph.Add(sum, n); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func (m *cascadeVAE) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	d, err := m.drawSamples(g, n)
	if err != nil {
		return nil, err
	}
	weights, err := g.Input("kl weights", m.width)
	if err != nil {
		return nil, err
	}
	c := &cascade{cascadeVAE: m, images: d.images, noise: d.noise, weights: nn.Data(weights)}
	points := d.z
	if m.settings.Categories > 0 {
		if points, err = c.categories(g, d.z, n); err != nil {
			return nil, err
		}
	}
	logits, err := m.autoencoder.Decode(g, points)
	if err != nil {
		return nil, err
	}
	kl, err := losses.KLGaussian(d.mean, d.logSigma)
	if err != nil {
		return nil, err
	}
	logVariance, err := graph.Scale(2, d.logSigma)
	if err != nil {
		return nil, err
	}
	return &Program{
		Outputs: &losses.Outputs{Images: d.images, Logits: logits, Codes: d.mean, Sample: d.z, LogVariance: logVariance,
			Posteriors: []losses.Posterior{cascadePosterior{d.mean, d.logSigma, weights}}, Rows: n},
		Noise:   []*gorgonia.Node{d.noise},
		Logged:  []Logged{{Name: "kl-unweighted", Node: kl}},
		Prelude: &Prelude{Passes: c.passes, Decide: c.decide},
	}, nil
}

// cascadePosterior is a Gaussian posterior with a weight for the divergence of each column.
type cascadePosterior struct{ mean, logSigma, weights *gorgonia.Node }

func (p cascadePosterior) KL() (*gorgonia.Node, error) {
	return losses.KLGaussianWeighted(p.mean, p.logSigma, p.weights)
}

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
	d, err := c.drawSamples(g, n)
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
	openedState := c.params.Get(cascadeOpened).Float32s()
	e.Restart = openedState[0] != float32(opened)
	openedState[0] = float32(opened)
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
	const rounding = 1 + 1e-12 // 0.29*100 is less than 29
	p := int(e.Progress * float64(s.Phases) * rounding)
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
	for offset := 0; offset < len(z); offset += d {
		copy(c.points[offset/d*(k+d)+k:], z[offset:offset+d])
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
	assigned, err := assign.Balanced(c.table, k, c.settings.Balance)
	if err != nil {
		return err
	}
	clear(c.choice)
	for row, option := range assigned {
		c.choice[row*k+option] = 1
	}
	return nil
}

// softplusFloor is added to a softplus before the logarithm, as in CascadeVAE's public code.
const softplusFloor = 1e-8

// logSoftplus returns log(log(1 + e^s) + 1e-8), element by element.
func logSoftplus(s *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Elementwise("log softplus", "", nil, func(_ int, dt tensor.Dtype) graph.Func {
		if dt == tensor.Float32 {
			return graph.NewFunc[float32](logSoftplusFunc[float32]{})
		}
		return graph.NewFunc[float64](logSoftplusFunc[float64]{})
	}), s)
}

type logSoftplusFunc[T graph.Float] struct{}

func (logSoftplusFunc[T]) Forward(in [][]T, out []T) {
	for i, s := range in[0] {
		out[i] = T(math.Log(numeric.Softplus(float64(s)) + softplusFloor))
	}
}

func (logSoftplusFunc[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	for i, s := range in[0] {
		s := float64(s)
		din[0][i] = T(float64(dout[i]) * numeric.Logistic(s) / (numeric.Softplus(s) + softplusFloor))
	}
}

// withCategory prepends the one-hot vector of a category to the rows of z [rows, n]: [rows, categories + n].
func withCategory(z *gorgonia.Node, category, categories int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "with category",
		Key:        graph.Key(category, categories),
		Attributes: map[string]any{"category": category, "of": categories},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, n, err := graph.Matrix("values", in[0])
			if err == nil && (category < 0 || category >= categories) {
				err = graph.Wanted("a category below the number of categories", []int{category, categories})
			}
			return tensor.Shape{rows, categories + n}, err
		},
		New:  graph.Bodies(withCategoryFunc[float32](category, categories), withCategoryFunc[float64](category, categories)),
		Diff: []bool{false},
	}, z)
}

func withCategoryFunc[T graph.Float](category, categories int) func([]tensor.Shape) forward[T] {
	return func(s []tensor.Shape) forward[T] {
		width := categories + s[0][1]
		return func(in [][]T, out []T) {
			z := in[0]
			clear(out)
			for row := range slices.Chunk(out, width) {
				row[category] = 1
				z = z[copy(row[categories:], z):]
			}
		}
	}
}

// cheapest returns, for each row of costs [rows, K], the number (from 1) of the smallest cost, times openCategories:
// [rows, 1]. Of equal costs, the first wins. openCategories is a node with one number.
func cheapest(costs, openCategories *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "cheapest",
		Attributes: map[string]any{},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, _, err := graph.Matrix("costs", in[0])
			if err == nil && in[1].TotalSize() != 1 {
				err = graph.Wanted("one factor of the numbers", in[1])
			}
			return tensor.Shape{rows, 1}, err
		},
		New:  graph.Bodies(cheapestFunc[float32], cheapestFunc[float64]),
		Diff: []bool{false, false},
	}, costs, openCategories)
}

func cheapestFunc[T graph.Float](s []tensor.Shape) forward[T] {
	k := s[0][1]
	return func(in [][]T, out []T) {
		for row := range out {
			costs := in[0][row*k : (row+1)*k]
			best := 0
			for j, c := range costs {
				if c < costs[best] {
					best = j
				}
			}
			out[row] = T(1+best) * in[1][0]
		}
	}
}
