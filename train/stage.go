package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/internal/learned"
	"github.com/unravel-ml/unravel/train/internal/watch"
	"github.com/unravel-ml/unravel/train/rundir"
)

// stage returns the stage before a config's training, or nil if there is none.
func (c *Config) stage() *models.Stage {
	m, ok := c.Model.Value.(models.Staged)
	if !ok {
		return nil
	}
	return m.Stage()
}

var errStageLabels = errors.New("the earlier stage labels only the images that train; want no validation, or the true hierarchy")

// initialConfig returns the config of the stage before training: the stage's model and losses on the same data set.
func (c Config) initialConfig() (Config, error) {
	stage := c.stage()
	if stage == nil {
		return Config{}, fmt.Errorf("the model of %s has no stage before its training", c.Name)
	}
	if c.Train.Validation != nil {
		return Config{}, c.mistake("train.validation", errStageLabels)
	}
	key := "model." + c.Model.Name + "." + stage.Key
	c.Name += initialSuffix
	c.Model = stage.Model
	c.Supervision = supervision.Of("none", &supervision.None{})
	list := c.Losses
	c.Losses = nil
	for _, l := range list {
		if slices.Contains(stage.Losses, l.Name) {
			c.Losses = append(c.Losses, l)
		}
	}
	if len(c.Losses) == 0 {
		return Config{}, c.mistake(key, fmt.Errorf("%s needs the loss %s, to learn the codes that it explores",
			stage.Name, strings.Join(stage.Losses, " or ")))
	}
	c.Metrics, c.Train.Stop, c.Init, c.Freeze = defaultMeasures(), nil, nil, nil // they are for the second stage
	return c, nil
}

// learn trains the model of the earlier stage, and learns from its codes. If the stage found components, learn also
// returns a picture of them.
func learn(ctx context.Context, c Config, o Options) (result *models.Learned, picture []byte, err error) {
	stage := c.stage()
	initial, err := c.initialConfig()
	if err != nil {
		return nil, nil, err
	}
	log := &watch.Console{Log: o.Log}
	dir, err := runInitial(ctx, initial, stage, log, o)
	if err != nil {
		return nil, nil, err
	}
	e, warning, err := OpenExperiment(dir)
	if err != nil {
		return nil, nil, err
	}
	if warning != "" {
		log.Warn("stage", warning, "dir", dir)
	}
	e.Progress = NewActivity(o.Log, o.Terminal)
	images := e.TrainingImages()
	codes, err := e.Encode(ctx, images)
	if err != nil {
		return nil, nil, err
	}
	l, err := stage.Learn(ctx, codes, e.Coder.Width(), func(line string) {
		log.Info("stage", stage.Name+": "+line, "stage", stage.Name)
	})
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("%s: %w", stage.Name, ErrStopped)
	}
	if err != nil {
		return nil, nil, err
	}
	if l == nil {
		return nil, nil, fmt.Errorf("%s learned nothing, and gave no error", stage.Name)
	}
	k := len(l.Hierarchy.Categoricals())
	if len(l.Labels) != len(images)*k || l.Components != nil && len(l.Components) != len(images) ||
		l.Parts != nil && len(l.Parts) != len(images) {
		return nil, nil, fmt.Errorf("%s gave %d labels, %d components and %d parts of %d images; want %d labels of each",
			stage.Name, len(l.Labels), len(l.Components), len(l.Parts), len(images), k)
	}
	total := e.Data.Len()
	result = &models.Learned{Hierarchy: l.Hierarchy, Labels: learned.Spread(l.Labels, k, images, total),
		Components: learned.Spread(l.Components, 1, images, total), Parts: learned.Spread(l.Parts, 1, images, total),
		Timings: append(initialTiming(dir, stage), l.Timings...)}
	if l.Components != nil && c.Train.Figures {
		picture, err = learned.Draw(c.Name, e.Data, metrics.NewMatrix(len(images), e.Coder.Width(), codes), l, images)
	}
	return result, picture, err
}

// runInitial trains the model of the earlier stage in a folder next to the run's folder. It returns this folder, or the
// folder of a neighbouring run that has trained the same model.
func runInitial(ctx context.Context, c Config, stage *models.Stage, log *watch.Console, o Options) (string, error) {
	dir, err := trainedInitial(o.Dir, c)
	if err != nil {
		return "", err
	}
	if dir != "" {
		log.Info("stage", "the hierarchy is learned from the codes of "+dir, "dir", dir)
		return dir, nil
	}
	dir = o.Dir + initialSuffix
	if _, err := Run(ctx, c, Options{Dir: dir, Resume: true, Log: o.Log, Terminal: o.Terminal}); err != nil {
		return "", fmt.Errorf("the %s that %s learns from: %w", stage.Model.Name, stage.Name, err)
	}
	return dir, nil
}

// initialTiming returns the training time of the stage's model, from its run's folder.
func initialTiming(dir string, stage *models.Stage) []models.Timing {
	r, err := rundir.ReadRecord(dir)
	if err != nil || r == nil {
		return nil
	}
	return []models.Timing{{Name: stage.Model.Name, Seconds: r.Seconds}}
}

const initialSuffix = "-initial" // suffix in the name of an earlier stage and its folder

// trainedInitial finds a finished run of the earlier stage's config beside the run, or returns "".
func trainedInitial(run string, c Config) (string, error) {
	hash, err := c.Hash()
	if err != nil {
		return "", err
	}
	folder := filepath.Dir(run)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range entries {
		dir := filepath.Join(folder, e.Name())
		if strings.HasSuffix(e.Name(), initialSuffix) && isTrained(dir, hash) {
			return dir, nil // from any run: equal configs give equal bits
		}
	}
	return "", nil
}

// isTrained reports whether a folder contains a finished run of the config with the given hash.
func isTrained(dir, hash string) bool {
	c, err := ReadConfig(dir)
	if err != nil {
		return false
	}
	if got, err := c.Hash(); err != nil || got != hash {
		return false
	}
	r, err := rundir.ReadRecord(dir)
	return err == nil && r != nil && r.Error == "" && r.History.Other() == ""
}

// readLearned reads the results of an earlier stage from a run's folder; nil without results or stage.
func readLearned(dir string, c Config) (*models.Learned, error) {
	s := c.stage()
	if s == nil {
		return nil, nil
	}
	return rundir.ReadLearned(dir, s.Name)
}

// afterStage builds the experiment with the results of the stage before its training, if the model has one.
func afterStage(ctx context.Context, c Config, o Options) (*Experiment, error) {
	if c.stage() == nil {
		return newExperiment(c, nil)
	}
	learned, err := readLearned(o.Dir, c)
	if err != nil {
		return nil, err
	}
	var picture []byte
	if learned == nil {
		if _, err := os.Stat(filepath.Join(o.Dir, rundir.Config)); err == nil && !o.Resume {
			return nil, folderExists(o.Dir) // check before an hour of training
		}
		learned, picture, err = learn(ctx, c, o)
		if errors.Is(err, ErrStopped) {
			return nil, fmt.Errorf("%w; the run in %s can be resumed", ErrStopped, o.Dir)
		}
		if err != nil {
			return nil, err
		}
	}
	e, err := newExperiment(c, learned)
	if err == nil {
		e.components = picture
	}
	return e, err
}
