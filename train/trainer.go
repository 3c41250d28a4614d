package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/rng"
)

// ErrStopped is returned when work was asked to stop; what was trained is in a checkpoint.
var ErrStopped = errors.New("stopped by a signal")

// errEnough ends training early, without being an error.
var errEnough = errors.New("early stop")

// Trainer runs the steps of an experiment. It deals batches, runs the program
// that fits each, and lets the optimiser of that program's objective update the
// parameters; everything else (logs, checkpoints, evaluation) are hooks.
type Trainer struct {
	Model   models.Model
	Data    datasets.Dataset
	LeftOut int // images that are not trained on, because all losses are about labelled groups

	settings       Settings
	plan           *plan
	split          *datasets.Split
	sampler        *datasets.Sampler
	loader         *datasets.Loader
	noise          *rng.Stream
	permute        *rng.Stream // of codes for discriminators
	programs       map[programKey]*program
	optimizers     map[string]*objectiveState
	discriminators map[string]Optimizer // of discriminators
	second         *secondBatches       // nil: no discriminator asks for them

	step     int // steps taken in all
	epoch    int // epochs finished
	inEpoch  int // steps taken in this epoch
	images   int // images seen in this epoch
	sums     map[string]*lossSum
	duration time.Duration // of this epoch so far

	watch watchState
	hooks []Hook
}

type programKey struct {
	labelled      bool
	images, group int
}

// objectiveState is what the programs of one objective share.
type objectiveState struct {
	optimizer Optimizer
	names     []string // of the parameters
	losses    []string // see lossNames
	notes     []string
}

// NewTrainer prepares the training of a model on images as they are. The streams of random numbers come from the seed.
func NewTrainer(m models.Model, d datasets.Dataset, split *datasets.Split, list []losses.Choice, s Settings, seed uint64) (*Trainer, error) {
	return newTrainer(m, d, split, nil, list, s, seed)
}

func newTrainer(m models.Model, d datasets.Dataset, split *datasets.Split, views *augment.Views, list []losses.Choice, s Settings, seed uint64) (*Trainer, error) {
	t := &Trainer{Model: m, Data: d, settings: s, split: split, noise: rng.New(seed, "noise"), permute: rng.New(seed, "permute"),
		plan:     &plan{model: m, data: d, factors: d.Factors(), views: views, losses: list, split: split, population: d.Len(), discriminators: nn.NewParams(seed)},
		programs: map[programKey]*program{}, optimizers: map[string]*objectiveState{}, discriminators: map[string]Optimizer{}, sums: map[string]*lossSum{}}
	if err := t.plan.fed(); err != nil {
		return nil, err
	}
	t.leaveOut()
	sampler, err := datasets.NewSampler(t.split, s.Batch, rng.New(seed, "batch"))
	if err != nil {
		return nil, &keyed{"train.batch", err}
	}
	t.sampler = sampler
	if err := t.plan.fits(min(s.Batch, d.Len()), 0); err != nil { // before images are loaded
		return nil, err
	}
	if views == nil {
		t.loader = datasets.NewLoader(d, sampler)
	} else if t.loader, err = datasets.NewViewLoader(d, sampler, views, rng.New(seed, "views").Uint64()); err != nil {
		return nil, err
	}
	for _, labelled := range []bool{true, false} {
		if labelled && len(t.split.Groups) == 0 || !labelled && len(t.split.Unlabelled) == 0 {
			continue
		}
		if err := t.prepare(labelled); err != nil {
			t.loader.Close()
			return nil, err
		}
	}
	if t.needsSecond() {
		if t.second, err = newSecondBatches(d, t.split, views, s.Batch, seed); err != nil {
			t.loader.Close()
			return nil, err
		}
	}
	return t, nil
}

// prepare compiles the objective for labelled or unlabelled batches, so that a
// config that cannot work fails before the first step.
func (t *Trainer) prepare(labelled bool) error {
	found, err := t.plan.objective(labelled)
	if err != nil {
		return err
	}
	sizes, groups := []int{min(t.settings.Batch, len(t.split.Unlabelled))}, []int{1}
	if labelled {
		sizes, groups = nil, nil
		for _, kind := range t.split.Kinds() {
			sizes, groups = append(sizes, min(max(1, t.settings.Batch/kind.M), kind.Count)*kind.M), append(groups, kind.M)
		}
	}
	var p *program // the last one; all have the same parameters and losses
	for i, size := range sizes {
		if p, err = t.program(found, size, groups[i]); err != nil {
			return err
		}
	}
	list := parametersOf(t.Model.Params(), p.names)
	t.optimizers[found.Name] = &objectiveState{optimizer: t.settings.Optimizer.Value.New(list), names: p.names, losses: p.lossNames(), notes: p.asked.Notes}
	for _, a := range p.adversaries {
		if t.discriminators[a.name] == nil {
			t.discriminators[a.name] = a.optimizer(t.plan.discriminators)
		}
	}
	return nil
}

// Notes lists what losses have to say before training.
func (t *Trainer) Notes() []string {
	var notes []string
	for _, o := range t.optimizers {
		notes = append(notes, o.notes...)
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

// Untrained lists the parameters of the model that no loss depends on.
func (t *Trainer) Untrained() []string {
	var trained []string
	for _, o := range t.optimizers {
		trained = append(trained, o.names...)
	}
	return untrained(t.Model.Params(), trained)
}

// leaveOut leaves images that are in no group out of training if no loss is about them.
func (t *Trainer) leaveOut() {
	if len(t.split.Groups) > 0 && len(losses.Unsupervised(t.plan.losses)) == 0 {
		some := *t.split
		some.Unlabelled = nil
		t.LeftOut, t.split = len(t.split.Unlabelled), &some
	}
}

// program returns the compiled program of an objective for batches of n images in groups.
func (t *Trainer) program(o models.Objective, n, group int) (*program, error) {
	key := programKey{o.Labelled, n, group}
	if p := t.programs[key]; p != nil {
		return p, nil
	}
	if err := t.plan.fits(n, 0); err != nil { // before inputs are made
		return nil, err
	}
	p, err := t.plan.compile(o, n, group)
	if err != nil {
		return nil, err
	}
	if err := t.plan.fits(n, p.machine.Bytes()); err != nil {
		return nil, fmt.Errorf("objective %s: %w", o.Name, err)
	}
	t.programs[key] = p
	return p, nil
}

// Close ends the trainer's background work.
func (t *Trainer) Close() {
	t.loader.Close()
	if t.second != nil {
		t.second.loader.Close()
	}
}

// AddHook adds a hook; hooks are called in the order in which they were added.
func (t *Trainer) AddHook(h Hook) { t.hooks = append(t.hooks, h) }

// Fit trains until the last epoch, until a hook ends it, or until the context is
// done: then it returns ErrStopped at the end of the step under way.
func (t *Trainer) Fit(ctx context.Context) error {
	for t.epoch < t.settings.Epochs {
		if err := t.fitEpoch(ctx); err != nil {
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}
	}
	return nil
}

// fitEpoch trains to the end of the epoch under way.
func (t *Trainer) fitEpoch(ctx context.Context) error {
	if ctx.Err() != nil { // before the epoch's order is drawn, which a resumed run draws itself
		return ErrStopped
	}
	if t.inEpoch == 0 {
		if err := t.loader.StartEpoch(); err != nil {
			return err
		}
		if t.second != nil {
			if err := t.second.loader.StartEpoch(); err != nil {
				return err
			}
		}
	}
	of := t.epochSteps()
	begin := time.Now()
	before := t.duration
	for t.inEpoch < of {
		batch, images, ok := t.loader.Next()
		if !ok {
			break
		}
		if t.second != nil {
			if err := t.second.next(); err != nil {
				return err
			}
		}
		if err := t.trainStep(batch, images, of); err != nil {
			return err
		}
		if ctx.Err() != nil {
			t.duration = before + time.Since(begin)
			return ErrStopped
		}
	}
	t.duration = before + time.Since(begin)
	return t.endEpoch()
}

// epochSteps is the number of steps in an epoch.
func (t *Trainer) epochSteps() int {
	of := t.sampler.Batches()
	if limit := t.settings.EpochSteps; limit > 0 {
		of = min(of, limit)
	}
	return of
}

// epochImages is the number of images in an epoch: an upper bound where it is cut short.
func (t *Trainer) epochImages() int {
	if limit := t.settings.EpochSteps; limit > 0 {
		return min(limit*t.settings.Batch, t.sampler.Images())
	}
	return t.sampler.Images()
}

// endEpoch counts the epoch under way as finished and tells the hooks. If they
// are stopped the epoch is still under way, so that a resumed run calls them again.
func (t *Trainer) endEpoch() error {
	report := &EpochReport{Epoch: t.epoch + 1, Of: t.settings.Epochs, Step: t.step, Images: t.images,
		Seconds: t.duration.Seconds(), Losses: t.means()}
	steps, sums := t.inEpoch, t.sums
	t.epoch++
	t.inEpoch, t.images, t.duration, t.sums = 0, 0, 0, map[string]*lossSum{}
	err := t.epochHooks(report)
	if errors.Is(err, ErrStopped) {
		t.epoch--
		t.inEpoch, t.images, t.duration, t.sums = steps, report.Images, time.Duration(report.Seconds*float64(time.Second)), sums
	}
	return err
}

func (t *Trainer) epochHooks(report *EpochReport) error {
	for _, h := range t.hooks {
		if h.Epoch == nil {
			continue
		}
		if err := h.Epoch(report); err != nil {
			return wrapHook(h.Name, err)
		}
	}
	return nil
}

func wrapHook(name string, err error) error {
	if errors.Is(err, errEnough) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// trainStep runs one batch and updates the parameters.
func (t *Trainer) trainStep(b datasets.Batch, images []float32, of int) error {
	p, err := t.programFor(b)
	if err != nil {
		return err
	}
	p.fill(images, t.loader.Views(), b, t.split.K(), t.step, t.noise)
	if err := p.run(); err != nil {
		return fmt.Errorf("step %d, objective %s: %w", t.step+1, p.objective.Name, err)
	}
	o := t.optimizers[p.objective.Name].optimizer
	norm := o.Norm(p.gradients)
	if !finite(p.values[0]) || !finite(norm) {
		return t.explainNotFinite(p)
	}
	clip := 1.0
	if limit := t.settings.Clip; limit > 0 && norm > limit {
		clip = limit / norm
	}
	rate := t.settings.rate(float64(t.epoch)+float64(t.inEpoch)/float64(of), 1/float64(of))
	o.Update(p.gradients, rate, clip)
	if err := t.trainDiscriminators(p, rate); err != nil {
		return err
	}
	if err := p.follow((float64(t.epoch) + float64(t.inEpoch)/float64(of)) / float64(t.settings.Epochs)); err != nil {
		return fmt.Errorf("step %d, objective %s: %w", t.step+1, p.objective.Name, err)
	}
	t.step++
	t.inEpoch++
	t.images += len(b.Indices)
	t.addLosses(p, len(b.Indices))
	report := StepReport{Epoch: t.epoch + 1, Step: t.step, InEpoch: t.inEpoch, Of: of, Objective: p.objective.Name,
		Images: len(b.Indices), Names: t.sums[p.objective.Name].Names, Values: p.values, GradientNorm: norm, LearningScale: rate}
	for _, h := range t.hooks {
		if h.Step == nil {
			continue
		}
		if err := h.Step(&report); err != nil {
			return wrapHook(h.Name, err)
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func (t *Trainer) programFor(b datasets.Batch) (*program, error) {
	if p := t.programs[programKey{b.Labelled, len(b.Indices), b.Group}]; p != nil {
		return p, nil
	}
	o, err := t.plan.objective(b.Labelled)
	if err != nil {
		return nil, err
	}
	return t.program(o, len(b.Indices), b.Group)
}

// explainNotFinite runs a program again, on the same inputs and parameters, to
// find the first node that is not finite.
func (t *Trainer) explainNotFinite(p *program) error {
	where := fmt.Sprintf("step %d (epoch %d), objective %s", t.step+1, t.epoch+1, p.objective.Name)
	p.machine.CheckFinite(true)
	defer p.machine.CheckFinite(false)
	err := p.machine.RunAll()
	var first *machine.NotFinite
	if errors.As(err, &first) {
		return fmt.Errorf("%s: the loss or its gradient is not finite: %w; try a smaller learning rate, or train.clip", where, err)
	}
	return fmt.Errorf("%s: the norm of the gradient is too large for a number (loss %v); try a smaller learning rate, or train.clip", where, p.values[0])
}

// release lets go of the compiled programs when no more steps will be taken. They
// hold most of the memory, which would not be used again before the next
// collection.
func (t *Trainer) release() {
	clear(t.programs)
	runtime.GC()
}
