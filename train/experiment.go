package train

import (
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/learned"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Experiment is a config with its data set, labels and model.
type Experiment struct {
	Config  Config
	Data    datasets.Dataset
	Split   *supervision.Split
	Learned *models.Learned // results of the stage before; nil without one
	HeldOut []int           // held-out images, ascending, for the final metrics; nil: metrics use all images
	Model   models.Model
	Coder   *Coder
	Start   *rundir.Start // parameters taken by the config's init; nil: the seed draws all

	validated  []int         // images of train.validation.fraction, ascending; nil: none
	others     []*Experiment // on the data sets of metrics.on
	validation *engine.Validation
	explored   *metrics.Explored // input of the hierarchy's learning, for the whole data set; nil: unknown
	images     []int             // indices in the config's data set of the images in Data; nil: all
	components []byte            // picture of the components that the stage before found; nil: none

	Progress *Activity // progress of encoding and measuring; nil: not shown
}

// NewExperiment builds the data set and model of a config, with the parameters from its start. Parts that do not fit
// together give a *config.Error.
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

// newExperiment is NewExperiment without the config's start. l holds the results of an earlier stage; nil without
// results.
func newExperiment(c Config, l *models.Learned) (*Experiment, error) {
	d, err := c.buildData()
	if err != nil {
		return nil, err
	}
	return experimentOn(d, c, l)
}

// experimentOn is newExperiment on the config's data set.
func experimentOn(d datasets.Dataset, c Config, l *models.Learned) (*Experiment, error) {
	e := &Experiment{Config: c, Learned: l, Data: d}
	var err error
	if err := learned.Fits(l, e.Data.Len()); err != nil {
		return nil, err
	}
	if e.Split, err = c.Supervision.Split(e.Data, c.Seed); err != nil {
		return nil, c.mistake("supervision", err)
	}
	if l != nil {
		if e.Split.Known, err = learned.Join(l, e.Split.Known); err != nil {
			return nil, c.mistake("supervision", fmt.Errorf("what %s assigned and the labels: %w", c.stage().Name, err))
		}
	}
	if err := e.holdOut(); err != nil {
		key := "train.hold_out"
		if c.Train.HoldOut == 0 {
			key = "train.validation.fraction"
		}
		return nil, c.mistake(key, err)
	}
	e.explored = learned.Explored(l, e.Data, e.TrainingImages())
	data := e.modelData()
	if e.Model, err = c.Model.Value.New(data, c.Seed); err != nil {
		return nil, c.misfit(err)
	}
	if e.Coder, err = NewCoder(e.Model, data); err != nil {
		return nil, c.mistake("model."+c.Model.Name, err)
	}
	e.Coder.views = c.Views
	return e, nil
}

// Loop prepares the training of the experiment's model, on views of the images if the config has views.
func (e *Experiment) Loop() (*engine.Loop, error) {
	c := &e.Config
	return engine.New(engine.Task{Model: e.Model, Data: e.Data, Split: e.Split, Views: c.Views, Losses: c.Losses, Freeze: c.Freeze, Seed: c.Seed}, c.Train.engine())
}

// modelData describes the model's training data.
func (e *Experiment) modelData() models.Data {
	data := models.DataOf(e.Data)
	data.Rotations, data.Actions = e.Split.Rotations, e.Split.Actions
	data.Losses, data.Learned = e.Config.Losses, e.Learned
	return data
}
