// Package inputs opens the inputs that flags name: runs with their weights, data sets, encoders and tables of codes.
package inputs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/files"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
)

// WeightFlags select among the weights of a run.
type WeightFlags struct {
	Best    bool `help:"Use the weights of the best evaluation during training (config key train.keep.best)."`
	Average bool `help:"Use the moving average of the weights (config key train.average)."`
}

// DeviceFlags select the device of a run's networks.
type DeviceFlags struct {
	Device string `default:"cpu" placeholder:"cpu" help:"Device for the networks: cpu, gpu, gpu:N or auto." detail:"unravel version --devices lists the GPUs. GPUs need a build with -tags gpu."`
}

// Check returns an error for a device without a run in dir.
func (f DeviceFlags) Check(dir string) error {
	if f.Device != string(engine.CPU) && dir == "" {
		return ui.Usagef("--device belongs to --run: only the networks of a run compute on a GPU")
	}
	return nil
}

// Open opens a run with the chosen weights, and logs a warning. The run shows its progress.
func (w WeightFlags) Open(ctx context.Context, dir string, s *ui.Streams) (*train.Experiment, error) {
	if err := train.PrepareRun(ctx, dir, s.Activity()); err != nil {
		return nil, err
	}
	e, warning, err := train.OpenKept(dir, train.Weights{Best: w.Best, Average: w.Average})
	if err != nil {
		return nil, err
	}
	if warning != "" {
		fmt.Fprintln(s.Log, warning)
	}
	e.Progress = s.Activity()
	return e, nil
}

// FileName adds the selected weights to the default name of a file.
func (w WeightFlags) FileName(file string) string {
	extension := filepath.Ext(file)
	choice := ""
	if w.Best {
		choice += "-best"
	}
	if w.Average {
		choice += "-average"
	}
	return strings.TrimSuffix(file, extension) + choice + extension
}

// OtherData is a data set on the command line. It replaces the data set of a run, or an encoder from a file reads it.
type OtherData struct {
	Set []string `arg:"" optional:"" name:"dataset=name" help:"Data set to take the images from (default: the run's own), such as dataset=square, then its options, such as size=32." detail:"unravel list datasets NAME lists the options. The images must have the shape, channels and pixel range of the run's images; factors may differ. The seed is the run's, or 0 without a run."`
}

// Foreign returns the first word if it is not the name of a data set, such as the folder of a run without its flag.
func (o *OtherData) Foreign() string {
	if len(o.Set) == 0 || strings.Contains(o.Set[0], "=") {
		return ""
	}
	return o.Set[0]
}

func (o *OtherData) choose() (choice catalog.Choice, err error) {
	if len(o.Set) == 0 || !strings.HasPrefix(o.Set[0], "dataset=") {
		return choice, ui.Usagef("want dataset=NAME in front of its options, such as dataset=square size=32")
	}
	name, options := strings.TrimPrefix(o.Set[0], "dataset="), o.Set[1:]
	if !strings.HasPrefix(name, "{") {
		return ChooseData(name, options)
	}
	return loadData(o.Set)
}

// OpenData opens a run with the chosen weights on a device, and on the data set of the arguments if there is one.
func (w WeightFlags) OpenData(ctx context.Context, dir string, o *OtherData, f DeviceFlags,
	s *ui.Streams) (e *train.Experiment, err error) {
	var choice catalog.Choice
	if len(o.Set) > 0 {
		choice, err = o.choose()
	}
	if err == nil {
		e, err = w.Open(ctx, dir, s)
	}
	if err == nil && len(o.Set) > 0 {
		e, err = OnData(ctx, e, choice, s)
	}
	if err != nil {
		return nil, err
	}
	if err := e.Coder.UseDevice(engine.Device(f.Device)); err != nil {
		return nil, fmt.Errorf("--device: %w", err)
	}
	return e, nil
}

func OnData(ctx context.Context, e *train.Experiment, choice catalog.Choice, s *ui.Streams) (*train.Experiment, error) {
	d, err := Build(ctx, choice, e.Config.Seed, s.Log)
	if err != nil {
		return nil, err
	}
	switch own := e.Config.Dataset.Value.(type) {
	case *files.Folder:
		if f, ok := choice.Value.(*files.Folder); ok && (f.Fit != own.Fit || f.Filter != own.Filter) {
			fmt.Fprintf(s.Log, "note: pictures are resized with fit=%s and filter=%s, and the run's with fit=%s and filter=%s\n",
				f.Fit, f.Filter, own.Fit, own.Filter)
		}
	case *files.GridFolder:
		if g, ok := choice.Value.(*files.GridFolder); ok && g.Scale != own.Scale {
			const note = "note: arrays are read with scale=%v, and the run's with scale=%v (0: by the type of numbers)\n"
			fmt.Fprintf(s.Log, note, g.Scale, own.Scale)
		}
	}
	return e.On(choice, d)
}

// WriteInRun is [ui.WriteFile]. If the file is in the folder of a run, it adds the hash to the run's record.
func WriteInRun(path string, write func(io.Writer) error) error {
	dir, name := filepath.Split(path)
	if dir = filepath.Clean(dir); !IsRun(dir) {
		return ui.WriteFile(path, write)
	}
	run, err := rundir.Open(dir)
	if errors.Is(err, rundir.ErrLocked) { // the run is still training, and writes its codes at the end
		return ui.WriteFile(path, write)
	}
	if err != nil {
		return err
	}
	return errors.Join(run.Write(name, write), run.Close())
}

// ReadConfig returns the source of a config: a file with this name, or an embedded experiment.
func ReadConfig(name string) (file string, source []byte, err error) {
	file, source, err = configs.Find(name, "")
	if err != nil && !errors.As(err, new(*config.Error)) {
		err = ui.Usage(fmt.Errorf("config: %w", err))
	}
	return file, source, err
}

func IsRun(dir string) bool { return ui.Exists(filepath.Join(dir, rundir.Config)) }
