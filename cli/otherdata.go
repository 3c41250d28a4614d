package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/train"
)

// otherData is a data set on the command line: for a run in place of its own, or for the encoder of another program.
type otherData struct {
	Set []string `arg:"" optional:"" name:"dataset=name" help:"Data set instead of the run's own, or for --encoder, such as dataset=square, then its options, such as size=32." detail:"unravel list datasets NAME lists the options. The images must have the shape, channels and pixel range of the run's images; factors may differ. The seed is the run's, or 0 for --encoder."`
}

// foreign returns the first word if it names no data set, such as the folder of a run without its flag.
func (o *otherData) foreign() string {
	if len(o.Set) == 0 || strings.HasPrefix(o.Set[0], "dataset=") || strings.Contains(o.Set[0], "=") {
		return ""
	}
	return o.Set[0]
}

// choose returns the data set of the arguments.
func (o *otherData) choose() (choice catalog.Choice, err error) {
	if len(o.Set) == 0 || !strings.HasPrefix(o.Set[0], "dataset=") {
		return choice, usagef("want dataset=NAME in front of its options, such as dataset=square size=32")
	}
	name, options := strings.TrimPrefix(o.Set[0], "dataset="), o.Set[1:]
	for i, option := range options { // dataset.square.size=32, as in a config, means size=32
		options[i] = strings.TrimPrefix(option, "dataset."+name+".")
	}
	if !strings.HasPrefix(name, "{") {
		return chooseData(name, options)
	}
	var settings struct {
		Dataset catalog.Choice `yaml:"dataset"`
	}
	err = config.Load("data set", []byte("dataset: "+name), &settings, options...)
	return settings.Dataset, err
}

// openData opens a run with the chosen weights, on the data set of the arguments if there is one.
func (w weightsFlags) openData(ctx context.Context, dir string, o *otherData, s *streams) (*train.Experiment, error) {
	if len(o.Set) == 0 {
		return w.open(ctx, dir, s)
	}
	choice, err := o.choose()
	if err != nil {
		return nil, err
	}
	e, err := w.open(ctx, dir, s)
	if err != nil {
		return nil, err
	}
	return onData(ctx, e, choice, s)
}

// onData returns an experiment on another data set.
func onData(ctx context.Context, e *train.Experiment, choice catalog.Choice, s *streams) (*train.Experiment, error) {
	if err := train.PrepareData(ctx, choice, s.activity()); err != nil {
		return nil, ofSet(choice.Name, err)
	}
	d, err := choice.Build(e.Config.Seed)
	if err != nil {
		return nil, ofSet(choice.Name, err)
	}
	return e.On(choice, d)
}

// arrayEndings are the endings of files for the data set grid.
var arrayEndings = []string{".npy", ".npz", ".h5", ".hdf5", ".mat"}

// imagesOf returns the data set of a path: arrays of the data set grid, or pictures of the data set folder, resized to
// the images of the run. clean removes temporary files.
func imagesOf(e *train.Experiment, path string, options []string) (choice catalog.Choice, clean func(), err error) {
	clean = func() {}
	info, err := os.Stat(path)
	if err != nil {
		return choice, clean, fmt.Errorf("--images: %w", err)
	}
	arrays := slices.Contains(arrayEndings, strings.ToLower(filepath.Ext(path)))
	if info.IsDir() {
		found, err := filepath.Glob(filepath.Join(path, "images*.npy"))
		arrays = err == nil && len(found) > 0
	}
	if arrays {
		choice, err = chooseData("grid", append([]string{fmt.Sprintf("path=%q", path), fmt.Sprintf("real=%t", datasets.RealValued(e.Data))}, options...))
		return choice, clean, err
	}
	if !info.IsDir() { // the data set folder reads folders
		dir, err := os.MkdirTemp("", "unravel-picture")
		if err != nil {
			return choice, clean, err
		}
		clean = func() { _ = os.RemoveAll(dir) }
		if err := copyFile(filepath.Join(dir, filepath.Base(path)), path); err != nil {
			return choice, clean, err
		}
		path = dir
	}
	h, w, channels := e.Data.ImageShape()
	if channels != 1 && channels != 3 {
		return choice, clean, fmt.Errorf("--images %s: the model takes images of %d channels, and pictures have 1 or 3; want a file of arrays", path, channels)
	}
	own := []string{fmt.Sprintf("path=%q", path), "labels=none", fmt.Sprintf("size=[%d,%d]", h, w), fmt.Sprintf("channels=%d", channels)}
	choice, err = chooseData("folder", append(own, options...))
	return choice, clean, err
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeOut(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
