package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/train"
)

// weightsFlags choose among the weights of a run.
type weightsFlags struct {
	Best    bool `help:"Take the weights of the best evaluation during training (config key train.keep.best)."`
	Average bool `help:"Take the moving average of the weights (config key train.average)."`
}

// open opens a run with the chosen weights, and logs a warning.
func (w weightsFlags) open(ctx context.Context, dir string, s *streams) (*train.Experiment, error) {
	if err := train.PrepareRun(ctx, dir, s.activity()); err != nil {
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
