package train

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/train/internal/checkpoint"
	"github.com/unravel-ml/unravel/train/rundir"
)

// OpenExperiment builds the experiment of a run's folder with its trained parameters. If the newest checkpoint is
// damaged, it warns and reads the previous one. It also warns if the data set has changed since the run started.
func OpenExperiment(dir string) (e *Experiment, warning string, err error) {
	return OpenKept(dir, Weights{})
}

// OpenKept is [OpenExperiment] with the selected weights of the run.
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
	e.Start = f.State.Start
	err = f.Load(e.Model.Params())
	if err == nil && which.Average {
		err = f.LoadAverage(e.Model.Params())
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", dir, err)
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
		edited = fmt.Sprintf("warning: %s: files changed after the run: %s", dir, edited)
	}
	warnings := slices.DeleteFunc([]string{f.Warning, configWarning(f.State, dir, c), changed, edited},
		func(w string) bool { return w == "" })
	return e, strings.Join(warnings, "\n"), nil
}

// configWarning returns a warning if a checkpoint was trained with another config than its folder's, and otherwise "".
func configWarning(s *checkpoint.State, dir string, c Config) string {
	original, err := trainingConfig(s, dir)
	if err == nil {
		err = original.sameTraining(c)
	}
	if err == nil {
		return ""
	}
	return fmt.Sprintf("warning: %s: %v: %v", dir, checkpoint.ErrOtherModel, err)
}

// ReadConfig reads the config of the run in a folder, with overrides key.path=value. If the config names a part that
// this program has not registered, the error says so.
func ReadConfig(dir string, overrides ...string) (Config, error) {
	source, err := ConfigText(dir)
	if err != nil {
		return Config{}, err
	}
	return LoadRun(dir, source, overrides...)
}

// ConfigText returns the text of the config of the run in a folder.
func ConfigText(dir string) ([]byte, error) {
	source, err := rundir.ReadFile(dir, rundir.Config)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no %s: %w", dir, rundir.Config, fs.ErrNotExist)
	}
	return source, err
}

// LoadRun is [ReadConfig] with the text from [ConfigText].
func LoadRun(dir string, source []byte, overrides ...string) (Config, error) {
	c, err := LoadWhole(filepath.Join(dir, rundir.Config), source, overrides...)
	if parts := unregistered(err); len(parts) > 0 {
		err = fmt.Errorf("%w\nthe run was trained by a program with the %s, which this program has not registered; want that program, or another that registers it",
			err, strings.Join(parts, ", the "))
	}
	return c, err
}

// unregistered lists the parts that a registry lacks, from an error and the errors that it wraps.
func unregistered(err error) (parts []string) {
	switch e := err.(type) {
	case *registry.UnknownError:
		parts = []string{fmt.Sprintf("%s %q", e.Kind, e.Name)}
	case interface{ Unwrap() error }:
		parts = unregistered(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			for _, p := range unregistered(inner) {
				if !slices.Contains(parts, p) {
					parts = append(parts, p)
				}
			}
		}
	}
	return parts
}

// Weights selects among the stored weights of a run. The zero value selects the newest checkpoint.
type Weights struct {
	Best    bool // weights of the best evaluation, see Keep
	Average bool // moving average of the weights, see engine.Average
}

func (w Weights) read(dir string) (c checkpoint.Checkpoint, err error) {
	if !w.Best {
		return checkpoint.Read(dir)
	}
	c, err = checkpoint.ReadFile(filepath.Join(dir, rundir.BestFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: there is no %s; want a run with train.keep.best and an evaluation during training",
			dir, rundir.BestFile)
	}
	return c, err
}
