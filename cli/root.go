package cli

import (
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/datasets/cache"
)

// setRoot sets the folder of data sets for this process and its child processes, until restore is called. An empty
// dir changes nothing.
func setRoot(dir string) (restore func() error, err error) {
	if dir == "" {
		return func() error { return nil }, nil
	}
	before, had := os.LookupEnv(cache.RootVariable)
	restore = func() error {
		if had {
			return os.Setenv(cache.RootVariable, before)
		}
		return os.Unsetenv(cache.RootVariable)
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return restore, err
	}
	return restore, os.Setenv(cache.RootVariable, whole)
}
