package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Experiment is a config with its data set, labels and model.
type Experiment struct {
	Config  Config
	Data    datasets.Dataset
	Split   *datasets.Split
	Learned *models.Learned // results of the stage before; nil without one
	Held    []int           // held-out images, ascending, for the final metrics; nil: metrics use all images
	Model   models.Model
	Coder   *Coder
	Start   *rundir.Start // parameters taken by the config's init; nil: the seed draws all

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
	if err := e.begin(); err != nil {
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

// buildData builds the data set.
func (c *Config) buildData() (datasets.Dataset, error) {
	d, err := c.Dataset.Build(c.Seed)
	if err != nil {
		return nil, &dataError{c.mistake("dataset."+c.Dataset.Name, err), err}
	}
	return d, nil
}

// experimentOn is newExperiment on the config's data set.
func experimentOn(d datasets.Dataset, c Config, l *models.Learned) (*Experiment, error) {
	e := &Experiment{Config: c, Learned: l, Data: d}
	var err error
	if err := fitsData(l, e.Data.Len()); err != nil {
		return nil, err
	}
	if e.Split, err = c.Supervision.Split(e.Data, c.Seed); err != nil {
		return nil, c.mistake("supervision", err)
	}
	if l != nil {
		if e.Split.Known, err = joinAssigned(l, e.Split.Known); err != nil {
			return nil, c.mistake("supervision", fmt.Errorf("what %s assigned and the labels: %w", c.stage().Name, err))
		}
	}
	if err := e.holdOut(); err != nil {
		return nil, c.mistake("train.hold_out", err)
	}
	e.explored = exploredBy(l, e.Data, e.TrainingImages())
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

// holdOut removes a fraction of the images from the split.
func (e *Experiment) holdOut() error {
	if e.Held = datasets.HoldOut(e.Data.Len(), e.Config.Train.HoldOut, e.Config.Seed); e.Held == nil {
		return nil
	}
	if e.Split.GroupCount() > 0 {
		return errors.New("the supervision has groups of images, which may hold any image; want 0, or a supervision without groups")
	}
	held := make([]bool, e.Data.Len())
	for _, i := range e.Held {
		held[i] = true
	}
	e.Split.Unlabelled = slices.DeleteFunc(e.Split.Unlabelled, func(i int) bool { return held[i] })
	if len(e.Split.Unlabelled) == 0 {
		return fmt.Errorf("%d of %d images are held out, and none is left to train on", len(e.Held), e.Data.Len())
	}
	if known := e.Split.Known; known != nil {
		known.Without(held)
	}
	return nil
}

// OpenExperiment builds the experiment of a run's folder with its trained parameters. If the newest checkpoint is
// damaged, it warns and reads the previous one. It also warns if the data set has changed since the run began.
func OpenExperiment(dir string) (e *Experiment, warning string, err error) {
	return OpenKept(dir, Weights{})
}

// OpenKept is [OpenExperiment] with other kept weights of the run.
func OpenKept(dir string, which Weights) (e *Experiment, warning string, err error) {
	if _, err := rundir.View(dir); err != nil {
		return nil, "", err
	}
	c, err := ReadConfig(dir)
	if err != nil {
		return nil, "", err
	}
	learned, err := readLearned(dir, c)
	if err != nil {
		return nil, "", err
	}
	if e, err = newExperiment(c, learned); err != nil {
		return nil, "", err
	}
	f, err := which.read(dir)
	if err != nil {
		return nil, "", err
	}
	e.Start = f.state.Start
	if err := loadParams(e.Model, f.file); err != nil {
		return nil, "", fmt.Errorf("%s: %w: %w", dir, errOtherModel, err)
	}
	if which.Average {
		if err := loadAverage(e.Model, f.file); err != nil {
			return nil, "", fmt.Errorf("%s: %w", dir, err)
		}
	}
	changed, err := dataWarning(dir, e)
	if err != nil {
		return nil, "", err
	}
	edited, err := rundir.Edited(dir)
	if err != nil {
		return nil, "", err
	}
	if edited != "" {
		edited = fmt.Sprintf("warning: %s: files differ from what the run wrote: %s", dir, edited)
	}
	var warnings []string
	for _, w := range []string{f.warning, f.state.misfit(dir, c), changed, edited} {
		if w != "" {
			warnings = append(warnings, w)
		}
	}
	return e, strings.Join(warnings, "\n"), nil
}

// misfit warns if a checkpoint was trained with another config than its folder's; otherwise it is empty.
func (s *state) misfit(dir string, c Config) string {
	began, err := s.began(dir)
	if err == nil {
		err = began.sameTraining(c)
	}
	if err == nil {
		return ""
	}
	return fmt.Sprintf("warning: %s: %v: %v", dir, errOtherModel, err)
}

// ReadConfig reads the config of the run in a folder, with overrides key.path=value. If this program has not
// registered a part of the config, the error says so.
func ReadConfig(dir string, overrides ...string) (Config, error) {
	source, err := ConfigText(dir)
	if err != nil {
		return Config{}, err
	}
	return LoadRun(dir, source, overrides...)
}

// ConfigText returns the text of the config of the run in a folder.
func ConfigText(dir string) ([]byte, error) {
	if err := rundir.CheckFile(dir, rundir.Config); err != nil {
		return nil, err
	}
	source, err := config.ReadFile(filepath.Join(dir, rundir.Config))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no %s: %w", dir, rundir.Config, fs.ErrNotExist)
	}
	return source, err
}

// LoadRun is [ReadConfig] with the text from [ConfigText].
func LoadRun(dir string, source []byte, overrides ...string) (Config, error) {
	c, err := Load(filepath.Join(dir, rundir.Config), source, overrides...)
	if parts := unregistered(err); len(parts) > 0 {
		err = fmt.Errorf("%w\nthe run was made by a program with the %s, which this program has not registered; want that program, or one that registers it",
			err, strings.Join(parts, ", the "))
	}
	return c, err
}

// unregistered lists the parts that an error, or an error inside it, did not find in a registry.
func unregistered(err error) (parts []string) {
	switch e := err.(type) {
	case *registry.UnknownError:
		parts = []string{fmt.Sprintf("%s %q", e.Kind, e.Name)}
	case interface{ Unwrap() error }:
		parts = unregistered(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			for _, p := range unregistered(one) {
				if !slices.Contains(parts, p) {
					parts = append(parts, p)
				}
			}
		}
	}
	return parts
}

// Codes encodes the whole data set: the model's representation, row by row.
func (e *Experiment) Codes(ctx context.Context) (metrics.Matrix, error) {
	codes, err := e.Encode(ctx, all(e.Data))
	return metrics.NewMatrix(e.Data.Len(), e.Coder.Width(), codes), err
}

// Encode returns the codes of images, row by row, and shows its progress.
func (e *Experiment) Encode(ctx context.Context, images []int) ([]float32, error) {
	e.Progress.Begin("encoding", len(images))
	defer e.Progress.End()
	return e.Coder.encode(ctx, e.Data, images, func(done int) { e.Progress.Step(done, "images") })
}

// suits returns an error before training for metrics that do not suit the data set. The data set may be a sample with
// a number of images.
func (e *Experiment) suits(choices []metrics.Choice, of int) error {
	in := e.Input(metrics.Matrix{Rows: e.Data.Len(), Cols: e.Coder.Width()})
	for i, choice := range choices {
		if err := metrics.Suits(in, choices[i:i+1]); err != nil {
			if n := e.Data.Len(); n < of {
				err = fmt.Errorf("%w (on %d of %d images; metrics.sample says how many)", err, n, of)
			}
			err = withoutFactors(err)
			return e.Config.mistake(fmt.Sprintf("metrics.final.%d.%s", i, choice.Name), err)
		}
	}
	return nil
}

// withoutFactors completes the error of a metric that needs factors with the remedy.
func withoutFactors(err error) error {
	if errors.Is(err, metrics.MissingFactors) {
		return fmt.Errorf("%w; want metrics of codes alone, such as mutual-information, or metrics: []", err)
	}
	return err
}

// Input returns the input of final metrics for codes of the whole data set: all rows, or the held-out rows.
func (e *Experiment) Input(codes metrics.Matrix) *metrics.Input {
	if e.Held == nil {
		return e.InputOf(codes, all(e.Data))
	}
	some := metrics.Matrix{Rows: len(e.Held), Cols: codes.Cols}
	if codes.Data != nil {
		for _, i := range e.Held {
			some.Data = append(some.Data, codes.Row(i)...)
		}
	}
	return e.InputOf(some, e.Held)
}

// InputOf returns the input of metrics for codes of some images.
func (e *Experiment) InputOf(codes metrics.Matrix, images []int) *metrics.Input {
	in := InputOf(e.Data, codes, images)
	in.Spaces, in.Explored = spacesOf(e.Model), e.explored
	if h := models.HierarchyOf(e.Model); h != nil {
		in.Hierarchy = h
	}
	return in
}

// InputOf returns the input of metrics for codes of some images of a data set, made by any encoder.
func InputOf(d datasets.Dataset, codes metrics.Matrix, images []int) *metrics.Input {
	k := len(d.Factors())
	in := &metrics.Input{Codes: codes, Factors: d.Factors(), Levels: make([]int, len(images)*k)}
	for row, i := range images {
		d.FactorsAt(i, in.Levels[row*k:(row+1)*k])
	}
	if d, ok := d.(datasets.Hierarchical); ok {
		in.TrueHierarchy, in.Exact = d.Hierarchy(), datasets.Exact(d, images)
		in.Paths, _ = datasets.PathsOf(d, images)
		if in.TrueHierarchy != nil {
			in.Hierarchy = make(hierarchy.Hierarchy, codes.Cols) // a code without options is a group of dimensions
		}
	}
	return in
}

// Final lists the metrics at the end: the config's, and for a learned hierarchy purity, coverage and H-error if they
// can be computed.
func (e *Experiment) Final() []metrics.Choice {
	list := slices.Clone(e.Config.Metrics.Final)
	if e.Learned == nil {
		return list
	}
	in := e.Input(metrics.Matrix{Rows: e.Data.Len(), Cols: e.Coder.Width()})
	for _, name := range []string{"purity", "coverage", "h-error"} {
		e, _ := metrics.Registry.Lookup(name)
		c := metrics.Choice{Name: name, Value: e.New()}
		if !has(list, c) && metrics.Suits(in, []metrics.Choice{c}) == nil {
			list = append(list, c)
		}
	}
	return list
}

// Evaluate measures codes of the whole data set. If the context ends, it returns ErrStopped.
func (e *Experiment) Evaluate(ctx context.Context, codes metrics.Matrix, choices []metrics.Choice) ([]metrics.Result, error) {
	e.Progress.Begin("measuring", len(choices))
	defer e.Progress.End()
	in := e.Input(codes)
	results, err := metrics.EvaluateWatched(ctx, in, e.Config.Seed, choices, func(i int, name string) { e.Progress.Step(i, name) })
	if err == nil {
		s := metrics.Chances{Shuffles: metrics.DefaultShuffles, Watch: func(name string, done, of int) {
			e.Progress.Step(len(choices)-1, fmt.Sprintf("chance level of %s, %d of %d", name, done, of))
		}}
		err = s.Add(ctx, in, e.Config.Seed, choices, results)
	}
	if percent := e.Config.Metrics.Interval; err == nil && percent > 0 {
		s := metrics.Intervals{Percent: percent, Watch: func(name string, done, of int) {
			e.Progress.Step(len(choices)-1, fmt.Sprintf("interval of %s, %d of %d", name, done, of))
		}}
		err = s.Add(ctx, in, e.Config.Seed, choices, results)
	}
	return results, stopped(ctx, err)
}

// stopped replaces an error by ErrStopped if the context has ended.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ErrStopped
	}
	return err
}

// spacesOf lists the columns of a model's latent spaces.
func spacesOf(m models.Model) (spaces [][]int) {
	for _, s := range m.Spaces() {
		var columns []int
		for c := range s.Width {
			columns = append(columns, s.First+c)
		}
		spaces = append(spaces, columns)
	}
	return spaces
}
