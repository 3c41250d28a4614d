package engine

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/memory"
)

// Footprint is an estimate of the memory that training takes, in bytes, from shapes alone.
type Footprint struct {
	Parameters  float64 `json:"parameters"`  // parameters of the model and of discriminators, with states such as EMA targets
	Moments     float64 `json:"moments"`     // optimiser states
	Gradients   float64 `json:"gradients"`   // gradients of parameters and of activations
	Activations float64 `json:"activations"` // results of layers and losses that the backward pass needs
	Batches     float64 `json:"batches"`     // images and views of this batch and the next one, noise and labels
	Scratch     float64 `json:"scratch"`     // memory of operations in addition to their results
}

// Total returns the sum.
func (f Footprint) Total() float64 {
	return f.Parameters + f.Moments + f.Gradients + f.Activations + f.Batches + f.Scratch
}

const numberBytes = 4

// Footprint estimates the memory of the compiled programs, and of the programs for the smaller last batch of an epoch.
func (l *Loop) Footprint() Footprint {
	f := Footprint{Parameters: numberBytes * float64(l.plan.model.Params().Count()+l.plan.discriminators.Count())}
	for _, o := range l.objectives {
		f.Moments += stateBytes(o.optimizer)
	}
	for _, o := range l.discriminators {
		f.Moments += stateBytes(o)
	}
	if l.average != nil {
		for _, v := range l.average.values {
			f.Parameters += numberBytes * float64(len(v.Value))
		}
	}
	for shape, p := range l.programs {
		size, part := p.footprint(), 1+float64(l.remainder(shape))/float64(shape.images)
		f.Gradients += size.Gradients * part
		f.Activations += size.Activations * part
		f.Batches += size.Batches * part
		f.Scratch += size.Scratch * math.Ceil(part)
	}
	f.Batches += l.loaded()
	return f
}

// loaded returns the bytes of loaded images and views, for the current batch and the next one.
func (l *Loop) loaded() float64 {
	bytes := l.plan.imageBytes(l.feed.sampler.MaxBatch(), l.plan.loadedSets())
	if l.feed.second != nil {
		bytes *= 2
	}
	return bytes
}

// remainder returns the number of images in the smaller last batch of a kind in an epoch; 0: none.
func (l *Loop) remainder(shape batchShape) int {
	available := len(l.feed.split.Unlabelled)
	if shape.labelled {
		available = 0
		for _, kind := range l.feed.split.Kinds() {
			if kind.M == shape.group {
				available = kind.Count * kind.M
			}
		}
	}
	if limit := l.settings.EpochSteps; limit > 0 && !shape.labelled && limit <= available/shape.images {
		return 0
	}
	return available % shape.images
}

func stateBytes(o Optimizer) (bytes float64) {
	_, tensors := o.State()
	for _, t := range tensors {
		bytes += numberBytes * float64(len(t.Value))
	}
	return bytes
}

// stepMemory is the memory for one batch, in bytes.
type stepMemory struct {
	images   int
	bytes    float64 // total, including images that are loaded ahead, but without parameters and moments
	fixed    float64 // the part that does not depend on the batch size
	existing float64 // the part that is already allocated
}

// fits returns an error if a batch needs more memory than the machine has, and suggests a batch size that would fit.
func (l *plan) fits(s stepMemory) error {
	h, w, c := l.data.ImageShape()
	err := memory.Check(fmt.Sprintf("a step with a batch of %d images of %d x %d x %d", s.images, h, w, c),
		s.bytes-s.existing)
	if err == nil {
		return nil
	}
	if largest := math.Floor((memory.Left() + s.existing - s.fixed) / (s.bytes - s.fixed) * float64(s.images)); largest >= 1 {
		return &Error{"train.batch", fmt.Errorf("%w; want a train.batch of %.0f or less, or smaller images or layers",
			err, largest)}
	}
	return &Error{"train.batch",
		fmt.Errorf("%w; not even a train.batch of 1 would fit, want smaller images or layers", err)}
}

// imageBytes returns the bytes of sets sets of images of the data set.
func (l *plan) imageBytes(images, sets int) float64 {
	h, w, c := l.data.ImageShape()
	return memory.Product(images, h, w, c, sets, numberBytes)
}

// loadedSets returns the number of copies of a batch's images in memory before a step: two batches, with their views.
func (l *plan) loadedSets() int {
	if l.views == nil {
		return 2
	}
	return 2 * (1 + l.views.Count)
}

// fitsLoading checks a batch before its images are loaded, by a program for a few images if they need much memory.
func (l *Loop) fitsLoading(images int) error {
	s := stepMemory{images: images, bytes: l.plan.imageBytes(images, l.plan.loadedSets()+1)}
	if s.bytes < memory.Machine()/32 {
		return nil
	}
	const trialImages = 2
	for _, o := range l.plan.objectives() {
		if o.Labelled || images <= trialImages {
			continue
		}
		p, err := l.plan.compile(o, trialImages, 1)
		if err != nil { // the error appears later, or only occurs for so few images
			continue
		}
		f := p.footprint()
		s.fixed = p.gradientBytes() + f.Scratch
		s.bytes = s.fixed + float64(images)/trialImages*(f.Activations+f.Gradients+f.Batches-p.gradientBytes()) + l.plan.imageBytes(images, l.plan.loadedSets())
	}
	return l.plan.fits(s)
}

// fitsProgram checks a program. The images of its batch are already loaded.
func (l *Loop) fitsProgram(p *program, images int) error {
	f := p.footprint()
	loaded := l.loaded()
	return l.plan.fits(stepMemory{images: images, bytes: f.Total() + loaded, fixed: p.gradientBytes() + f.Scratch,
		existing: f.Batches + loaded})
}

func (p *program) gradientBytes() (bytes float64) {
	for _, n := range p.nodes {
		bytes += memory.Product(n.Shape()...) * numberBytes
	}
	return bytes
}

// footprint estimates the memory of a program without parameters.
func (p *program) footprint() Footprint {
	var f Footprint
	parameter := func(n *gorgonia.Node) bool {
		return p.requests.Graph.Params.Get(n.Name()) != nil || p.requests.Discriminators.Get(n.Name()) != nil
	}
	add := func(m *machine.Machine) {
		if m == nil {
			return
		}
		s := m.Sizes(parameter)
		f.Batches += s.Inputs
		f.Activations += s.Values
		f.Gradients += s.Gradients
	}
	add(p.machine)
	f.Scratch = nn.Scratch(p.loss.Total)
	for _, a := range p.adversaries {
		add(a.machine)
	}
	if p.prelude != nil {
		for _, m := range p.prelude.early.Machines() {
			add(m)
		}
	}
	if p.second != nil {
		add(p.second.machine)
	}
	return f
}

// FLOP returns the number of floating-point operations of a step's forward pass. It is the mean over the compiled
// programs, weighted by their number of images in an epoch.
func (l *Loop) FLOP() float64 {
	var sum, steps float64
	for shape, p := range l.programs {
		images := len(l.feed.split.Unlabelled)
		if shape.labelled {
			images = l.feed.split.GroupCount()
		}
		n := float64(images) / float64(shape.images)
		sum += n * nn.FLOP(p.loss.Total)
		steps += n
	}
	return sum / max(steps, 1e-9)
}
