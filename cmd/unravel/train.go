package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/internal/registry"
	"github.com/unravel-ml/unravel/internal/runstore"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
)

// trainCommand is `unravel train [CONFIG] [key=value ...]`.
type trainCommand struct {
	Args   []string `arg:"" optional:"" name:"config" help:"A YAML file or the name of an embedded experiment (see unravel list configs), then overrides key.path=value."`
	Dir    string   `name:"run" placeholder:"DIR" help:"The run's folder; runs/NAME if absent."`
	Resume bool     `help:"Continue the run in that folder; its own config is used if none is named."`
	JSON   bool     `name:"json" help:"Print one JSON object on standard output."`
}

// Run trains.
func (c *trainCommand) Run(ctx context.Context, s *streams) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	if c.Dir == "" {
		c.Dir = filepath.Join("runs", config.Name)
	}
	allow(ctx, savePatience)
	result, err := train.Run(ctx, config, train.Options{Dir: c.Dir, Resume: c.Resume, Log: s.log})
	if err != nil {
		return withFlags(err, c.Dir)
	}
	see := c.Dir
	if config.Train.Figures {
		see = filepath.Join(c.Dir, "report.html")
	}
	fmt.Fprintf(s.log, "finished %d epochs (%d steps) in %.1f s; see %s\n", result.Epochs, result.Steps, result.Seconds, see)
	if c.JSON {
		return json.NewEncoder(s.out).Encode(result)
	}
	return metrics.Print(s.out, result.Metrics)
}

// config reads the config that the arguments name, with their overrides.
func (c *trainCommand) config() (train.Config, error) {
	name, overrides := "", c.Args
	if len(overrides) > 0 && !strings.Contains(overrides[0], "=") {
		name, overrides = overrides[0], overrides[1:]
	}
	for _, o := range overrides {
		if !strings.Contains(o, "=") {
			return train.Config{}, usagef("%q is not an override: want key.path=value, after the config", o)
		}
	}
	if name == "" && c.Resume && c.Dir != "" {
		name = filepath.Join(c.Dir, runstore.Config)
		if !exists(name) {
			return train.Config{}, usagef("%s: there is no run to continue: want the folder of one, or a config to start from", c.Dir)
		}
	}
	if name == "" {
		name = configs.Quickstart
	}
	file, source, err := readConfig(name)
	if err != nil {
		return train.Config{}, err
	}
	return train.Load(file, source, overrides...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readConfig returns the source of a config: a file if there is one, else an embedded experiment.
func readConfig(name string) (file string, source []byte, err error) {
	source, err = os.ReadFile(name)
	if err == nil {
		return name, source, nil
	}
	embedded, notEmbedded := configs.Read(name)
	switch {
	case notEmbedded == nil: // a folder may have the same name
		return name + ".yaml", embedded, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", nil, usageError{fmt.Errorf("config: %w", err)}
	case strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml"):
		return "", nil, usagef("config: there is no file %s", name)
	}
	return "", nil, usagef("config: there is neither a file nor an experiment %q%s", name, registry.Suggest(name, configs.Names()))
}

// withFlags says in terms of the command line how an interrupted or existing run goes on.
func withFlags(err error, dir string) error {
	switch {
	case errors.Is(err, train.ErrStopped):
		return fmt.Errorf("%w; continue with --resume", train.ErrStopped)
	case errors.Is(err, runstore.ErrExists):
		return fmt.Errorf("%s: %w; continue it with --resume, or choose another folder with --run", dir, runstore.ErrExists)
	}
	return err
}
