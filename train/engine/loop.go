package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/graph/topo"
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/models"
)

// ErrStopped is the error of [Loop.Run], [Loop.RunEpoch] and [Validation.Measure] if the context ends before they are
// done. Then save the loop to continue later.
var ErrStopped = errors.New("stopped by a signal")

var errEnough = errors.New("a hook stopped training") // ends training after a hook has called Stop

// Loop is the training of a task: its programs, optimisers and position. Only one goroutine may use it.
type Loop struct {
	settings       Settings
	plan           *plan
	feed           *feed
	programs       map[batchShape]*program
	objectives     []*objective         // the objectives that have images, in the model's order
	discriminators map[string]Optimizer // optimisers of discriminators, by loss, and of networks, by loss and function
	average        *average             // average of the weights; nil: none
	pending        map[string]*accumulator
	sideParameters map[string][]string // parameter names of discriminators and networks
	hooks          []Hook
	leftOut        int
	gpu            string // name of the GPU, or ""

	pos     position
	stopped string // why a hook ended training, or ""
	closed  bool
}

type position struct {
	step     int // total number of steps
	epoch    int // number of finished epochs
	inEpoch  int // number of steps in this epoch
	updates  int // total number of updates; equals step unless gradients are accumulated
	group    BatchGroup
	images   int // number of images seen in this epoch
	sums     map[string]*LossSum
	duration time.Duration // duration of this epoch so far
}

// Model returns the model that the loop trains.
func (l *Loop) Model() models.Model { return l.plan.model }

// Params returns the model's parameters. They change with every step.
func (l *Loop) Params() *nn.Params { return l.plan.model.Params() }

// Data returns the data set.
func (l *Loop) Data() datasets.Dataset { return l.plan.data }

// Settings returns the settings.
func (l *Loop) Settings() Settings { return l.settings }

// Step returns the total number of steps so far.
func (l *Loop) Step() int { return l.pos.step }

// Steps returns the number of steps of all epochs.
func (l *Loop) Steps() int { return l.settings.Epochs * l.EpochSteps() }

// Epoch returns the number of finished epochs.
func (l *Loop) Epoch() int { return l.pos.epoch }

// InEpoch returns the number of steps in the current epoch so far.
func (l *Loop) InEpoch() int { return l.pos.inEpoch }

// EpochSteps returns the number of steps in an epoch.
func (l *Loop) EpochSteps() int {
	if limit := l.settings.EpochSteps; limit > 0 {
		return min(l.feed.sampler.Batches(), limit)
	}
	return l.feed.sampler.Batches()
}

// EpochImages returns the number of images in an epoch; if epochs are cut short, it is an upper bound.
func (l *Loop) EpochImages() int {
	if limit := l.settings.EpochSteps; limit > 0 {
		return min(limit*l.settings.Batch, l.feed.sampler.Images())
	}
	return l.feed.sampler.Images()
}

// Losses returns the mean losses of the current epoch, by objective. Values are nil before an objective's first step.
func (l *Loop) Losses() []ObjectiveLoss {
	var list []ObjectiveLoss
	for _, o := range l.objectives {
		list = append(list, ObjectiveLoss{Objective: o.Name, Names: o.losses, Values: l.pos.sums[o.Name].means()})
	}
	return list
}

// Stop ends training, without an error, after the hooks of the current step or epoch. why is the reason in words.
func (l *Loop) Stop(why string) {
	l.stopped = cmp.Or(why, "a hook stopped training")
}

// Stopped returns the reason why a hook ended training, or "".
func (l *Loop) Stopped() string { return l.stopped }

// Close ends background work and frees the compiled programs. The loop then takes no steps, but all else works.
func (l *Loop) Close() {
	if !l.closed {
		l.closed = true
		l.feed.close()
		clear(l.programs)
		l.closeDevice()
	}
}

var errNoContext = errors.New("the context is nil; want one, such as context.Background()")

// Run trains until the last epoch, or until a hook ends it. If the context ends, Run finishes the current step and
// returns ErrStopped.
func (l *Loop) Run(ctx context.Context) error {
	if ctx == nil {
		return errNoContext
	}
	l.stopped = ""
	err := l.callStart(ctx)
	for err == nil && l.stopped == "" && l.pos.epoch < l.settings.Epochs {
		err = l.RunEpoch(ctx)
	}
	return l.callEnd(ctx, err)
}

// RunEpoch trains to the end of the current epoch. It does not call OnStart and OnEnd.
func (l *Loop) RunEpoch(ctx context.Context) error {
	if l.closed {
		return errors.New("the loop is closed")
	}
	if ctx == nil {
		return errNoContext
	}
	if ctx.Err() != nil { // before the order of the epoch is drawn, because a resumed run draws it
		return ErrStopped
	}
	if l.pos.inEpoch == 0 {
		if err := l.feed.startEpoch(); err != nil {
			return err
		}
	}
	start, before := time.Now(), l.pos.duration
	err := l.epochSteps(ctx)
	l.pos.duration = before + time.Since(start)
	if err == nil {
		return l.endEpoch(ctx)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (l *Loop) epochSteps(ctx context.Context) error {
	steps := l.EpochSteps()
	for l.pos.inEpoch < steps {
		batch, images, ok, err := l.feed.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := l.trainStep(ctx, batch, images, steps); err != nil {
			return err
		}
		if l.stopped != "" && l.pos.inEpoch < steps {
			return errEnough
		}
		if ctx.Err() != nil {
			return ErrStopped
		}
	}
	return nil
}

// endEpoch finishes the current epoch and calls the hooks. After ErrStopped, a resumed run calls them again.
func (l *Loop) endEpoch(ctx context.Context) error {
	ended := l.pos
	report := &EpochReport{Epoch: ended.epoch + 1, Of: l.settings.Epochs, Step: ended.step, Images: ended.images,
		Seconds: ended.duration.Seconds()}
	for _, o := range l.Losses() {
		if o.Values != nil {
			report.Losses = append(report.Losses, o)
		}
	}
	l.pos = position{step: ended.step, updates: ended.updates, epoch: ended.epoch + 1, sums: map[string]*LossSum{}}
	err := l.callEpoch(ctx, report)
	if errors.Is(err, ErrStopped) {
		l.pos = ended
	}
	return err
}

// trainStep runs one batch, and updates the parameters unless gradients are accumulated.
func (l *Loop) trainStep(ctx context.Context, b supervision.Batch, images []float32, epochSteps int) error {
	o, err := l.objective(b.Labelled)
	if err != nil {
		return err
	}
	p, err := l.program(o.Objective, batchShape{b.Labelled, len(b.Indices), b.Group})
	if err != nil {
		return err
	}
	p.fill(images, l.feed.loader.Views(), b, l.feed.split.K(), l.pos.updates, l.feed.noise)
	group := l.addToGroup(o, len(b.Indices), epochSteps)
	now := l.updateTime(group, epochSteps)
	if err := l.runPrelude(o, p, now.progress); err != nil {
		return l.stepError(p, err)
	}
	if err := l.attach(o, p); err != nil {
		return l.stepError(p, err)
	}
	if err := p.run(); err != nil {
		return l.stepError(p, err)
	}
	p.ran = true
	norm, err := p.learner.take(len(b.Indices), group)
	if err != nil {
		return l.stepError(p, err)
	}
	if !finite(p.values[0]) || !finite(norm) {
		return l.explainNotFinite(p)
	}
	rate := l.settings.rate(now.Time)
	if !(rate >= 0 && finite(rate)) {
		return l.stepError(p, fmt.Errorf("the schedule multiplies the learning rate by %v; want a number from 0 on", rate))
	}
	if err := l.update(p, now, group, norm, rate, len(b.Indices)); err != nil {
		return l.stepError(p, err)
	}
	l.count(o, p.values, len(b.Indices))
	return l.callStep(ctx, &StepReport{Epoch: l.pos.epoch + 1, Step: l.pos.step, InEpoch: l.pos.inEpoch, Of: epochSteps,
		Objective: o.Name, Accumulating: !group.complete,
		Images: len(b.Indices), Names: o.losses, Values: p.values, GradientNorm: norm, Rate: rate})
}

// update updates the parameters at the end of a group of batches, networks and discriminators, and then the states.
func (l *Loop) update(p *program, now moment, group *BatchGroup, norm, rate float64, images int) error {
	if group.complete {
		clip := 1.0
		if limit := l.settings.Clip; limit > 0 && norm > limit {
			clip = limit / norm
		}
		if p.learner.pace != nil {
			p.learner.pace(now)
		}
		if err := p.learner.update(rate, clip); err != nil {
			return err
		}
	}
	if err := l.trainNetworks(p, rate, images); err != nil {
		return err
	}
	if err := l.trainDiscriminators(p, rate, images); err != nil {
		return err
	}
	return l.follow(p, now, group)
}

// follow changes the states that follow the parameters, and counts an update.
func (l *Loop) follow(p *program, now moment, group *BatchGroup) error {
	onCPU := p.learner.device == nil
	if onCPU {
		p.move(now.progress, !group.complete)
	}
	if p.built.After != nil {
		if err := l.settle(); err != nil { // After may read parameters and change states
			return err
		}
	}
	if err := p.follow(now.progress, !group.complete); err != nil || !group.complete {
		return err
	}
	if l.average != nil && onCPU {
		l.average.step.Step(l.average.decay(now.Time))
	}
	l.pos.updates++
	return nil
}

func (l *Loop) stepError(p *program, err error) error {
	return fmt.Errorf("step %d, objective %s: %w", l.pos.step+1, p.objective.Name, err)
}

// hugePagesStep is the step of an objective that enables huge pages. Shorter training would lose time by them.
const hugePagesStep = 20

func (l *Loop) count(o *objective, values []float64, images int) {
	if o.steps++; o.steps == hugePagesStep {
		memory.HugePages()
	}
	l.pos.step++
	l.pos.inEpoch++
	l.pos.images += images
	s := l.pos.sums[o.Name]
	if s == nil {
		s = &LossSum{Names: o.losses, Sums: make([]float64, len(values))}
		l.pos.sums[o.Name] = s
	}
	for i, v := range values {
		s.Sums[i] += v * float64(images)
	}
	s.Images += images
}

// means returns the mean losses of a sum, or nil if the sum is empty.
func (s *LossSum) means() []float64 {
	if s == nil {
		return nil
	}
	values := make([]float64, len(s.Sums))
	for i, v := range s.Sums {
		values[i] = v / float64(s.Images)
	}
	return values
}

// rate returns the learning-rate multiplier of an update.
func (s *Settings) rate(t Time) float64 {
	var r float64
	if timed, ok := s.Schedule.(Timed); ok {
		r = timed.RateAt(t)
	} else {
		r = s.Schedule.Rate(t.Progress, t.Epochs)
	}
	if passed := s.Warmup.passed(t); passed < 1 {
		r *= passed
	}
	return r
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// explainNotFinite runs a program again to find the first node with a NaN or infinite number.
func (l *Loop) explainNotFinite(p *program) error {
	where := fmt.Sprintf("step %d (epoch %d), objective %s", l.pos.step+1, l.pos.epoch+1, p.objective.Name)
	if err := l.settle(); err != nil {
		return err
	}
	p.machine.CheckFinite(true)
	defer p.machine.CheckFinite(false)
	err := p.machine.RunAll()
	var notFinite *machine.NotFinite
	if errors.As(err, &notFinite) {
		advice := l.advice(", or train.clip")
		if notFinite.Op == "input" && notFinite.Node == "images" {
			advice = "look at the images of the data"
		}
		if name := p.onlyLossOf(notFinite.Node); name != "" {
			where += ", loss " + name
			advice = strings.Replace(advice, "at the weights of the losses",
				"at the loss "+name+", as for a root or logarithm of 0,", 1)
		}
		return fmt.Errorf("%s: the loss or its gradient is not finite: %w; %s", where, err, advice)
	}
	return fmt.Errorf("%s: the norm of the gradient is too large for a number (loss %v); %s",
		where, p.values[0], l.advice(", or train.clip"))
}

// onlyLossOf returns the loss that depends on the node with the given name, if it is the only one. For a node of the
// gradients, it looks at the nearest operands that losses depend on. Otherwise it returns "".
func (p *program) onlyLossOf(node string) string {
	g := p.requests.Graph.ExprGraph
	frontier := g.AllNodes()
	i := slices.IndexFunc(frontier, func(n *gorgonia.Node) bool { return n.Name() == node })
	if i < 0 || len(p.loss.Parts) == 1 {
		return ""
	}
	frontier = frontier[i : i+1]
	var candidates []string
	for shared := false; len(frontier) > 0 && len(candidates) == 0 && !shared; {
		var operands gorgonia.Nodes
		for _, n := range frontier {
			switch names := p.lossesOf(n); {
			case len(names) > 1:
				shared = true
			case len(names) == 1 && !slices.Contains(candidates, names[0]):
				candidates = append(candidates, names[0])
			}
			for operand := g.From(n.ID()); operand.Next(); {
				operands = append(operands, operand.Node().(*gorgonia.Node))
			}
		}
		frontier = operands
	}
	if len(candidates) != 1 {
		return ""
	}
	return candidates[0]
}

// lossesOf lists the losses that depend on a node.
func (p *program) lossesOf(n *gorgonia.Node) (names []string) {
	for _, part := range p.loss.Parts {
		if topo.PathExistsIn(p.requests.Graph.ExprGraph, part.Node, n) {
			names = append(names, part.Name)
		}
	}
	return names
}

// advice suggests changes after a NaN or infinite number. After the first update it suggests a smaller learning rate,
// followed by the suffix. Earlier it suggests scaled images, or other loss weights and initial parameters.
func (l *Loop) advice(suffix string) string {
	if l.pos.updates > 0 {
		return "try a smaller learning rate" + suffix
	}
	const noUpdate = "no update was made yet, so the learning rate has no part in it"
	if low, high := l.plan.pixelRange(); max(high, -low) > 100 {
		return fmt.Sprintf("%s: the images of the data have numbers from %.6g to %.6g; "+
			"scale them to about -1 to 1, such as by dividing them by %.6g", noUpdate, low, high, max(high, -low))
	}
	return noUpdate + "; look at the weights of the losses and at the initial parameters"
}

// pixelRange returns the minimum and maximum of the images of a real-valued data set, or 0 and 1 for other data.
func (p *plan) pixelRange() (low, high float64) {
	if !datasets.RealValued(p.data) {
		return 0, 1
	}
	h, w, c := p.data.ImageShape()
	image := make([]float32, h*w*c)
	low, high = math.Inf(1), math.Inf(-1)
	for i := range p.data.Len() {
		p.data.Image(i, image)
		low, high = min(low, float64(slices.Min(image))), max(high, float64(slices.Max(image)))
	}
	return low, high
}
