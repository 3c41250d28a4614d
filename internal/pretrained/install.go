package pretrained

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/weights"
)

// Install creates a finished run from an archive in a folder, completely or not at all. It returns already if the
// folder contains this model, and an error if it contains anything else.
func (a *Archive) Install(dir string) (already bool, err error) {
	if already, err := a.installed(dir); already || err != nil {
		return already, err
	}
	parent, base := filepath.Split(filepath.Clean(dir))
	staging := filepath.Join(parent, "."+base+disk.TemporarySuffix)
	if err := os.RemoveAll(staging); err != nil { // left by a killed process
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	if _, err := a.begin(filepath.Join(staging, "run"), filepath.Join(staging, "stage")); err != nil {
		return false, err
	}
	if err := a.finish(filepath.Join(staging, "run")); err != nil {
		return false, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder
		return false, err
	}
	if err := os.Rename(filepath.Join(staging, "run"), dir); err != nil {
		return false, err
	}
	return false, disk.SyncDir(filepath.Dir(filepath.Clean(dir)))
}

// installed reports whether a folder contains this model in unchanged form. For a missing or empty folder, it returns
// false.
func (a *Archive) installed(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	want, err := a.manifest()
	if err != nil {
		return false, err
	}
	has, err := rundir.ReadFile(dir, rundir.ModelFile)
	if err != nil || !bytes.Equal(has, want) {
		return false, fmt.Errorf("%s holds other files; want another folder, named by --out", dir)
	}
	list, err := rundir.Check(dir)
	if err != nil {
		return false, fmt.Errorf("%s: %w; want another folder, named by --out", dir, err)
	}
	changed := make([]string, len(list))
	for i, d := range list {
		changed[i] = d.File + " (" + d.What + ")"
	}
	record, err := rundir.ReadRecord(dir)
	if err == nil && (record == nil || !slices.Equal(record.History, a.Training.History)) {
		changed = append(changed, "it was trained further")
	}
	if len(changed) > 0 {
		return false, fmt.Errorf("%s holds the model, changed: %s; want another folder, named by --out",
			dir, strings.Join(changed, ", "))
	}
	return true, err
}

// begin creates an untrained run with the weights. A stage before training is written to the folder stage.
func (a *Archive) begin(dir, stage string) (*train.Experiment, error) {
	c, err := train.LoadWhole(rundir.Config, a.files[rundir.Config])
	if err != nil {
		return nil, err
	}
	file, err := safetensors.Decode(a.files[weightsFile])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", weightsFile, err)
	}
	tensors := make([]weights.Tensor, len(file.Tensors))
	for i, t := range file.Tensors {
		data, ok := t.Data.([]float32)
		if !ok {
			return nil, fmt.Errorf("%s: tensor %q holds %T; want float16", weightsFile, t.Name, t.Data)
		}
		tensors[i] = weights.Tensor{Name: t.Name, Shape: t.Shape, Data: data}
	}
	learned, err := a.learned(stage)
	if err != nil {
		return nil, err
	}
	return train.Begin(c, dir, learned, func(e *train.Experiment) error {
		s := weights.Source{Model: e.Model, Data: models.DataOf(e.Data), Views: e.Config.Views}
		_, err := s.Load(weights.NewFile(weightsFile, tensors), weights.LoadOptions{})
		return err
	})
}

// learned reads the results of a stage through a folder; nil without a stage.
func (a *Archive) learned(dir string) (*models.Learned, error) {
	names := a.stage()
	if len(names) == 0 {
		return nil, nil
	}
	for _, name := range append(names, rundir.Config) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, a.files[name], 0o666); err != nil {
			return nil, err
		}
	}
	return rundir.ReadLearned(dir, path.Dir(names[0]))
}

// finish adds the results, the model card and the training record.
func (a *Archive) finish(dir string) (err error) {
	run, err := rundir.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	text, err := a.manifest()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		rundir.MetricsFile: a.files[rundir.MetricsFile], rundir.CardFile: a.files[rundir.CardFile], rundir.ModelFile: text,
	} {
		if err := run.Write(name, rundir.Bytes(content)); err != nil {
			return err
		}
	}
	record := a.Training
	return record.Write(run)
}
