package engine

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine/internal/labels"
)

// program is an objective compiled for a number of images: its graph with losses and gradients, and its machine.
type program struct {
	inputs
	objective models.Objective
	built     *models.Program
	requests  losses.Requests // the requests of its losses
	machine   *machine.Machine
	loss      *losses.Objective
	names     []string // parameters that the losses depend on, in the order of gradients
	nodes     gorgonia.Nodes
	gradients [][]float32    // gradients of the last run
	losses    gorgonia.Nodes // the sum, its parts, and then logged values
	// values of losses, of the discriminators' losses, and of changing weights in the last step
	values      []float64
	changing    []losses.Part // parts with changing weights
	adversaries []*adversary
	networks    []*sideNetwork
	second      *program // a program that only encodes second batches, for discriminators that permute their codes
	running     []nn.Running
	prelude     *prelude // nil: the step starts at once
	learner     *learner // nil before [Loop.attach]
	ran         bool     // it has computed a batch of training
}

// plan holds the data that all programs of an experiment share.
type plan struct {
	model           models.Model
	losses          []losses.Choice
	data            datasets.Dataset
	factors         []factor.Factor // factors of the data set
	views           *augment.Views  // may be nil
	split           *supervision.Split
	population      int        // images that batches are drawn from
	discriminators  *nn.Params // parameters of discriminators and networks that losses train
	precision       Precision
	frozen          func(name string) bool // reports parameters that do not change; nil: all change
	dropout         *rng.Stream
	device          *machine.Device // nil: the CPU
	updatesOnDevice bool            // the device updates the parameters
}

// compile builds the program of an objective for batches with the given number of images and group size.
func (l *plan) compile(o models.Objective, images, group int) (*program, error) {
	p, err := l.build(o, images, group)
	if err != nil {
		return nil, fmt.Errorf("objective %s: %w", o.Name, err)
	}
	return p, nil
}

func (l *plan) build(o models.Objective, images, group int) (*program, error) {
	p, err := l.assemble(o, images, group, true)
	if err != nil {
		return nil, err
	}
	g := p.requests.Graph
	var learnables gorgonia.Nodes
	if p.names, learnables, err = g.Reached(p.loss.Total); err != nil {
		return nil, err
	}
	if len(learnables) == 0 {
		return nil, l.nothingLearns()
	}
	if err := p.differentiate(learnables); err != nil {
		return nil, err
	}
	p.losses = append(gorgonia.Nodes{p.loss.Total}, p.loss.Nodes()...)
	p.running = g.Running()
	for _, w := range p.built.Logged {
		p.losses = append(p.losses, w.Node)
	}
	for _, part := range p.loss.Parts {
		if part.Changing != nil {
			p.changing = append(p.changing, part)
		}
	}
	nodes, kept := p.machineNodes()
	for _, a := range p.requests.Adversaries {
		compiled, err := newAdversary(a, l)
		if err != nil {
			return nil, fmt.Errorf("loss %s: discriminator: %w", a.Name, err)
		}
		p.adversaries = append(p.adversaries, compiled)
		nodes = append(nodes, compiled.nodesRead()...)
	}
	if err := l.keepOnDevice(p.states()...); err != nil {
		return nil, err
	}
	if p.machine, err = l.machine(nodes, kept); err != nil {
		return nil, err
	}
	if err := l.addSecond(p, images, group); err != nil {
		return nil, err
	}
	if p.prelude, err = l.newPrelude(p.built.Prelude); err != nil {
		return nil, err
	}
	p.gradients = make([][]float32, len(p.nodes))
	p.values = make([]float64, len(p.losses)+len(p.adversaries)+len(p.changing))
	return p, nil
}

// machineNodes returns the nodes that the machine computes, without the nodes of discriminators, and what it keeps.
func (p *program) machineNodes() (nodes gorgonia.Nodes, kept machine.Kept) {
	kept.Gradients = []gorgonia.Nodes{p.nodes}
	for _, r := range p.running {
		kept.Values = append(kept.Values, r.Moments)
	}
	if q := p.built.Queue; q != nil {
		kept.Values = append(kept.Values, q.Keys)
	}
	nodes = slices.Concat(p.losses, p.nodes, p.built.Kept, kept.Values)
	for _, n := range p.networks {
		nodes, kept.Gradients = append(nodes, n.nodes...), append(kept.Gradients, n.nodes)
	}
	return nodes, kept
}

// assemble builds the graph of an objective with its losses, for training or in evaluation mode, and finds its inputs.
func (l *plan) assemble(o models.Objective, images, group int, training bool) (*program, error) {
	g := nn.NewGraph(l.model.Params())
	g.Training, g.Frozen = training, l.frozen
	built, err := l.model.Build(g, o, images, group)
	if err != nil {
		return nil, err
	}
	if err := l.suitsViews(len(built.Views)); err != nil {
		return nil, &Error{"views", err}
	}
	p := &program{objective: o, built: built, requests: losses.Requests{Graph: g, Discriminators: l.discriminators}}
	out := built.Outputs
	for _, n := range (gorgonia.Nodes{out.Codes, out.Logits}) {
		if n == nil {
			continue
		}
		if _, _, err := g.Reached(n); err != nil {
			return nil, err
		}
	}
	if out.Weights == nil {
		out.Weights = g.Weights()
	}
	batch := losses.Batch{Real: datasets.RealValued(l.data), Population: l.population, Group: 1}
	if known := l.split.Known; known != nil {
		p.labels = labels.New(known, l.data)
		batch.Labels = p.labels.Offer(g, out.Rows)
	}
	compose := losses.ComposeUnsupervised
	if o.Labelled {
		batch.Group, compose = group, losses.Compose
		if err := l.offerLabelled(p, &batch); err != nil {
			return nil, err
		}
	}
	if p.loss, err = compose(out, batch, &p.requests, l.losses); err != nil {
		return nil, err
	}
	p.requests.Schedules = append(p.requests.Schedules, built.Schedules...)
	p.bind(built)
	p.masks, p.dropout = g.Masks(), l.dropout
	return p, p.check(l.data, images)
}

// offerLabelled adds the inputs of labelled batches to batch: transformations within groups, and actions.
func (l *plan) offerLabelled(p *program, batch *losses.Batch) error {
	g, rows := p.requests.Graph, p.built.Outputs.Rows
	if l.split.Moves() {
		batch.Transformations = p.offerMoves(g, rows, l.factors, l.split.Rotations)
	} else if len(p.built.Transformations) > 0 {
		return errNoTransformations
	}
	if err := l.suitsActions(p.built.Actions); err != nil {
		return err
	}
	if p.actions = l.newActions(p.built.Actions); p.actions != nil {
		batch.Actions = p.actions.offer(g, rows)
	}
	return nil
}

// suitsViews returns an error if the config lacks the model's number of views; takes is 0 for a model of images.
func (l *plan) suitsViews(takes int) error {
	gives := 0
	if l.views != nil {
		gives = l.views.Count
	}
	switch {
	case takes > 0 && takes != gives:
		return fmt.Errorf("the model takes %d views of every image, and there are %d; want views: {pipeline: negative-free, count: %d}, with losses of views, and supervision only where a loss learns from it, as in the config byol/sprites", takes, gives, takes)
	case takes == 0 && gives > 1:
		return fmt.Errorf("the model takes images, and there are %d views of each; want views.count=1, or no views", gives)
	case takes == 0 && gives == 1 && l.views.Pipeline.Plain() != nil:
		return errors.New("the model takes images in [0, 1]; want views.pipeline without normalise")
	}
	return nil
}

// objectives lists the model's objectives. Without one for groups, their images are used like all others.
func (l *plan) objectives() []models.Objective {
	list := l.model.Objectives()
	if !slices.ContainsFunc(list, func(o models.Objective) bool { return o.Labelled }) {
		list = append([]models.Objective{{Name: "supervised", Labelled: true}}, list...)
	}
	return list
}

func (l *plan) objective(labelled bool) (models.Objective, error) {
	for _, o := range l.objectives() {
		if o.Labelled == labelled {
			return o, nil
		}
	}
	return models.Objective{},
		&Error{"supervision", errors.New("it gives images without groups, and the model has no objective for them; want a supervision with groups only")}
}

// checkGroups returns an error if losses need labelled groups and the supervision has none, or if nothing needs the
// groups.
func (l *plan) checkGroups() error {
	modelNeeds := slices.ContainsFunc(l.model.Objectives(), func(o models.Objective) bool { return o.Labelled })
	supervised := -1
	for i, c := range l.losses {
		if losses.NeedsGroups(c.Value) {
			supervised = i
		}
	}
	switch {
	case supervised >= 0 && l.split.M == 0:
		return &losses.Error{Part: l.losses[supervised].Name, Choice: l.losses[supervised],
			Err: errors.New("it needs labelled groups of images, and the supervision has none; want, for example, supervision: {pairs: {count: 768}}, alone or in a list")}
	case supervised < 0 && !modelNeeds && l.split.GroupCount() > 0 && !l.split.Moves():
		return &Error{"supervision",
			errors.New("it gives groups of images with unknown transformations, and nothing learns from them; want a model such as ada-gvae, a loss such as slow, or no supervision")}
	case supervised < 0 && !modelNeeds && l.split.GroupCount() > 0:
		return &Error{"supervision",
			errors.New("it gives labelled groups of images, and nothing learns from them; want a loss such as lsbd: {planes: {factor: [0, 1]}}, the model lsbd-vae, or no supervision")}
	}
	return nil
}

// lossNames lists a program's losses: the sum, the parts in order, logged values, discriminators, weights.
func (p *program) lossNames() []string {
	names := []string{"loss"}
	for _, part := range p.loss.Parts {
		names = append(names, part.Name)
	}
	for _, w := range p.built.Logged {
		names = append(names, w.Name)
	}
	for _, a := range p.adversaries {
		names = append(names, a.name+"-discriminator")
	}
	for _, part := range p.changing {
		names = append(names, part.Name+"-weight")
	}
	return names
}

// fill writes the inputs of a step. k is the width of moves.
func (p *program) fill(images []float32, views [][]float32, b supervision.Batch, k, step int, noise *rng.Stream) {
	p.inputs.fill(images, views, b, k, noise)
	for _, n := range p.requests.Noises {
		n.Fill(noise)
	}
	for _, s := range p.requests.Schedules {
		nn.Data(s.Node)[0] = float32(s.At(step))
	}
	for i, part := range p.changing {
		p.values[len(p.losses)+len(p.adversaries)+i] = part.Weight.At(step)
	}
}

// noteSingleElement returns the note that a batch norm normalises over a single element, if there is one.
func (p *program) noteSingleElement() []string {
	if slices.ContainsFunc(p.running, func(r nn.Running) bool { return r.Count() == 1 }) {
		return []string{"batch norm of one row gives the same result for every image, and nothing before it learns; want train.batch of 2 or more, or another norm"}
	}
	return nil
}

// noteIdleLosses says which losses no parameter can lower.
func (p *program) noteIdleLosses() (notes []string) {
	for _, part := range p.loss.Parts {
		if names, _, err := p.requests.Graph.Reached(part.Node); err == nil && len(names) == 0 {
			notes = append(notes, fmt.Sprintf("the loss %s depends on no parameter that trains; it is only logged", part.Name))
		}
	}
	return notes
}

// move applies the updates that are not gradient steps, on the CPU: the running statistics of batch norm, EMA targets
// and the queue. progress is the fraction of training before the step; accumulating says that the parameters have not
// changed.
func (p *program) move(progress float64, accumulating bool) {
	for _, r := range p.running {
		r.Follow(p.valueOf(r.Moments))
	}
	if t := p.built.Targets; t != nil && !accumulating {
		t.Step(t.Momentum(progress))
	}
	if q := p.built.Queue; q != nil {
		q.Push(p.valueOf(q.Keys))
	}
}

func (p *program) follow(progress float64, accumulating bool) error {
	if p.built.After == nil {
		return nil
	}
	return p.built.After(models.Step{Progress: progress, Accumulating: accumulating, Value: p.valueOf})
}

// valueOf returns the elements of a node after the last run.
func (p *program) valueOf(n *gorgonia.Node) []float32 { return floats(p.machine, n) }

func (p *program) measure() error {
	if err := p.machine.RunAll(); err != nil {
		return err
	}
	for i, n := range p.losses {
		var err error
		if p.values[i], err = scalar(p.machine.Value(n)); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) run() error {
	if err := p.measure(); err != nil {
		return err
	}
	if p.learner != nil && p.learner.device != nil {
		return nil
	}
	collect(p.machine, p.nodes, p.gradients)
	for _, n := range p.networks {
		collect(p.machine, n.nodes, n.gradients)
	}
	return nil
}

func collect(m *machine.Machine, nodes gorgonia.Nodes, gradients [][]float32) {
	for i, n := range nodes {
		// Data would allocate an interface for every gradient.
		gradients[i] = m.Value(n).(*tensor.Dense).Float32s()
	}
}

func scalar(v gorgonia.Value) (float64, error) {
	switch x := v.(type) {
	case *gorgonia.F32:
		return float64(*x), nil
	case *tensor.Dense:
		if f := x.Float32s(); len(f) == 1 {
			return float64(f[0]), nil
		}
	}
	return 0, fmt.Errorf("a loss is %v of type %T, want one float32", v, v)
}
