package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/engine"
)

// weightsFlags choose among the weights of a run.
type weightsFlags struct {
	Best    bool `help:"Take the weights of the best evaluation during training (config key train.keep.best)."`
	Average bool `help:"Take the moving average of the weights (config key train.average)."`
}

// deviceFlags choose where a run's networks compute.
type deviceFlags struct {
	Device string `default:"cpu" placeholder:"cpu" help:"Where the networks compute: cpu, gpu, gpu:N or auto." detail:"unravel version --devices lists the GPUs. GPUs need a build with -tags gpu."`
}

// check returns an error for a device without a run in dir.
func (f deviceFlags) check(dir string) error {
	if f.Device != string(engine.CPU) && dir == "" {
		return usagef("--device belongs to --run: only the networks of a run compute on a GPU")
	}
	return nil
}

// use moves the networks of an experiment to the device.
func (f deviceFlags) use(e *train.Experiment) error {
	if err := e.Coder.UseDevice(engine.Device(f.Device)); err != nil {
		return fmt.Errorf("--device: %w", err)
	}
	return nil
}

// open opens a run with the chosen weights, and logs a warning.
func (w weightsFlags) open(ctx context.Context, dir string, s *streams) (*train.Experiment, error) {
	if err := train.PrepareRun(ctx, dir, s.log); err != nil {
		return nil, err
	}
	e, warning, err := train.OpenKept(dir, train.Weights{Best: w.Best, Average: w.Average})
	if err == nil && warning != "" {
		fmt.Fprintln(s.log, warning)
	}
	return e, err
}

// name adds the choice to the default name of a file. Files of different weights then have different names.
func (w weightsFlags) name(file string) string {
	extension := filepath.Ext(file)
	base := strings.TrimSuffix(file, extension)
	if w.Best {
		base += "-best"
	}
	if w.Average {
		base += "-average"
	}
	return base + extension
}
