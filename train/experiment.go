package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/choices"
	"github.com/unravel-ml/unravel/train/internal/learned"
	"github.com/unravel-ml/unravel/train/internal/monitor"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Experiment is a config together with its data set, labels and model.
type Experiment struct {
	Config  Config
	Data    datasets.Dataset
	Split   *supervision.Split
	Learned *models.Learned // results of the earlier stage; nil if there is none
	HeldOut []int           // images held out for the final metrics, ascending; nil: metrics use all images
	Model   models.Model
	Coder   *Coder
	Start   *rundir.Start // parameters that the config's init has loaded; nil: all are drawn from the seed

	validated  []int         // images of train.validation.fraction, ascending; nil: none
	others     []*Experiment // the same model on the data sets of metrics.on
	validation *engine.Validation
	explored   *metrics.Explored // images that the hierarchy was learned from; nil: unknown
	images     []int             // indices of the images of Data in the config's data set; nil: all
	components []byte            // picture of the components that the earlier stage found; nil: none

	Progress *Activity // progress of encoding and measuring; nil: not shown
}

// NewExperiment builds the data set and model of a config with its start. Parts that do not fit give a *config.Error.
func NewExperiment(c Config) (*Experiment, error) {
	if err := c.Validate(); err != nil {
		return nil, config.AsError(err)
	}
	e, err := newExperiment(c, nil)
	if err != nil {
		return nil, err
	}
	if err := e.loadStart(); err != nil {
		return nil, err
	}
	return e, nil
}

// newExperiment is NewExperiment without the config's start. l has the results of an earlier stage, or is nil.
func newExperiment(c Config, l *models.Learned) (*Experiment, error) {
	d, err := c.buildData()
	if err != nil {
		return nil, err
	}
	return experimentOn(d, c, l)
}

func experimentOn(d datasets.Dataset, c Config, l *models.Learned) (*Experiment, error) {
	e := &Experiment{Config: c, Learned: l, Data: d}
	err := learned.Fits(l, e.Data.Len())
	if err != nil {
		return nil, err
	}
	if e.Split, err = c.Supervision.Split(e.Data, c.Seed); err != nil {
		return nil, c.mistake("supervision", err)
	}
	if l != nil {
		if e.Split.Known, err = learned.Join(l, e.Split.Known); err != nil {
			return nil, c.mistake("supervision", fmt.Errorf("labels of %s together with the labels of the supervision: %w",
				c.stage().Name, err))
		}
	}
	if err := e.holdOut(); err != nil {
		if c.Train.HoldOut == 0 {
			return nil, c.mistake("train.validation.fraction", err)
		}
		return nil, c.mistake("train.hold_out", err)
	}
	e.explored = learned.Explored(l, e.Data, e.TrainingImages())
	e.Model, e.Coder, err = e.newModel()
	return e, err
}

func (e *Experiment) newModel() (models.Model, *Coder, error) {
	c, data := &e.Config, e.modelData()
	m, err := c.Model.Value.New(data, c.Seed)
	if err != nil {
		return nil, nil, c.misfit(err)
	}
	coder, err := NewCoder(m, data)
	if err != nil {
		return nil, nil, c.mistake("model."+c.Model.Name, err)
	}
	coder.views = c.Views
	return m, coder, nil
}

// Loop prepares the training of the experiment's model, on views of the images if the config sets views.
func (e *Experiment) Loop() (*engine.Loop, error) {
	c := &e.Config
	return engine.New(engine.Task{Model: e.Model, Data: e.Data, Split: e.Split, Views: c.Views, Losses: c.Losses,
		Freeze: c.Freeze, Seed: c.Seed}, c.Train.engine())
}

// compile prepares the training and measuring of an experiment. Parts that do not fit together give a *config.Error.
func (e *Experiment) compile() (*engine.Loop, *monitor.Monitor, error) {
	if err := e.measurable(); err != nil {
		return nil, nil, err
	}
	unsuited := e.Sample().suits(e.Final(), e.Data.Len())
	if unsuited != nil && !choices.Inherits(e.Config.Metrics.Final, e.Config.Losses) {
		return nil, nil, unsuited
	}
	l, err := e.Loop()
	if err != nil { // report a mistake in a loss before a metric that inherits its settings
		return nil, nil, e.Config.untrainable(err)
	}
	if unsuited != nil {
		l.Close()
		return nil, nil, unsuited
	}
	m, err := e.watch(l)
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, m, nil
}

func (e *Experiment) watch(l *engine.Loop) (*monitor.Monitor, error) {
	if err := e.openOthers(); err != nil {
		return nil, err
	}
	var err error
	if e.validation, err = e.newValidation(l); err != nil {
		return nil, err
	}
	if e.validation != nil {
		l.AddHook(validationHook(e.validation, e.Config.Train.Validation.Every))
	}
	if s := e.Config.Train.Stop; s != nil && s.Loss != "" {
		if _, err := monitor.FindLoss(e.losses(l), s.Loss); err != nil {
			return nil, e.Config.mistake("train.stop.loss", err)
		}
	}
	return newMonitor(e, l.EpochImages())
}

// measurable returns an error if there are more images than fit in memory for measuring.
func (e *Experiment) measurable() error {
	n := e.Data.Len()
	if count := e.Config.Metrics.Sample; count > 0 {
		n = min(n, count)
	}
	if e.HeldOut != nil && len(e.Config.Metrics.Final) > 0 && e.Sample().HeldOut == nil {
		err := fmt.Errorf("%d has no held-out image, and metrics use only these; want more images", n)
		return e.Config.mistake("metrics.sample", err)
	}
	const number = 8 // bytes
	if err := memory.Check(fmt.Sprintf("encoding and measuring %d images", n), memory.Product(n, e.codeNumbers(), number)); err != nil {
		return e.Config.mistake("metrics.sample", fmt.Errorf("%w; want a sample of fewer images", err))
	}
	return nil
}

// codeNumbers returns the numbers in memory for an encoded image: factors, code, and indices in three lists.
func (e *Experiment) codeNumbers() int {
	const lists = 4
	return lists + 4*len(e.Data.Factors()) + 3*e.Coder.Width()
}

// openOthers builds the data sets of metrics.on, and checks that their metrics suit them.
func (e *Experiment) openOthers() error {
	e.others = nil
	seen := map[string]bool{}
	for i, m := range e.Config.Metrics.On {
		key := fmt.Sprintf("metrics.on.%d", i)
		if seen[m.Dataset.Name] {
			return e.Config.mistake(key+".dataset", fmt.Errorf("%s is in the list twice; want one entry with all its metrics",
				m.Dataset.Name))
		}
		seen[m.Dataset.Name] = true
		d, err := m.Dataset.Build(e.Config.Seed)
		if err != nil {
			return e.Config.mistake(key+".dataset."+m.Dataset.Name, err)
		}
		other, err := e.On(m.Dataset, d)
		if err != nil {
			return e.Config.mistake(key+".dataset", err)
		}
		other = other.Some(m.Sample)
		in := other.Input(matrix.Matrix{Rows: other.Data.Len(), Cols: e.Coder.Width()})
		if err := e.Config.suit(in, m.Metrics, key+".metrics", ""); err != nil {
			return err
		}
		e.others = append(e.others, other)
	}
	return nil
}

func (e *Experiment) modelData() models.Data {
	data := models.DataOf(e.Data)
	data.Rotations, data.Actions, data.Losses, data.Learned = e.Split.Rotations, e.Split.Actions, e.Config.Losses,
		e.Learned
	if e.Split.Known != nil {
		data.Labels = e.Split.Known.Factors
	}
	return data
}

func (e *Experiment) newValidation(l *engine.Loop) (*engine.Validation, error) {
	v := e.Config.Train.Validation
	if v == nil {
		return nil, nil
	}
	if e.Learned != nil {
		return nil, e.Config.mistake("train.validation", errStageLabels)
	}
	d, images := e.Data, e.validated
	if v.Dataset != nil {
		var err error
		if d, err = v.Dataset.Build(e.Config.Seed); err != nil {
			return nil, e.Config.mistake("train.validation.dataset."+v.Dataset.Name, err)
		}
		if err := e.Coder.suits(d); err != nil {
			return nil, e.Config.mistake("train.validation.dataset", err)
		}
		if d, err = e.labelledAlike(d); err != nil {
			return nil, e.Config.mistake("train.validation.dataset", err)
		}
		images = allImages(d)
	}
	split, err := e.Config.Supervision.Split(d, e.Config.Seed) // training has dropped held-out labels
	if err != nil {
		return nil, e.Config.mistake("train.validation", fmt.Errorf("supervision of its images: %w", err))
	}
	known := split.Known
	if v.Dataset == nil && known != nil {
		others := slices.Repeat([]bool{true}, d.Len()) // the images that train, and those held out for metrics
		for _, i := range images {
			others[i] = false
		}
		if !known.Without(others) {
			err := errors.New("the images for validation have no label, or no pair; want a larger fraction, or more labels")
			return nil, e.Config.mistake("train.validation.fraction", err)
		}
	}
	validation, err := l.NewValidation(d, &supervision.Split{Unlabelled: images, Known: known}, e.Config.Seed)
	if err != nil {
		return nil, e.Config.mistake("train.validation", err)
	}
	return validation, nil
}

// labelledAlike returns a data set for validation whose labels have the numbers of the training labels.
func (e *Experiment) labelledAlike(d datasets.Dataset) (datasets.Dataset, error) {
	if e.Split.Known == nil {
		return d, nil
	}
	for _, s := range e.Config.Supervision {
		if r, ok := s.Value.(datasets.FileReader); ok && len(r.Reads()) > 0 {
			return nil, fmt.Errorf("the files of supervision %s are about the images of dataset %s; want fraction, or supervision without files", s.Name, e.Data.Name())
		}
	}
	alike, err := datasets.Like(d, e.Data.Factors(), factor.Names(e.Split.Known.Factors))
	if err != nil {
		err = fmt.Errorf("%w; want levels of the training data, fraction, or supervision of other factors", err)
	}
	return alike, err
}

// losses lists the losses of every objective in the order of the config, followed by the validation losses.
func (e *Experiment) losses(l *engine.Loop) []engine.ObjectiveLoss {
	list := l.Losses()
	if e.validation != nil {
		list = append(list, engine.ObjectiveLoss{Objective: engine.ValidationName, Names: e.validation.Names()})
	}
	return list
}

// validationHook adds the validation losses to the losses of an epoch, before logging and early stopping.
func validationHook(v *engine.Validation, every int) engine.Hook {
	return engine.Hook{Name: "validation", Priority: validationPriority, OnEpoch: engine.EveryEpochs(every, func(ctx context.Context, _ *engine.Loop, r *engine.EpochReport) error {
		loss, err := v.Measure(ctx)
		if err == nil {
			r.Losses = append(r.Losses, loss)
		}
		return err
	})}
}
