package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// trainCommand is `unravel train [CONFIG] [key=value ...]`.
type trainCommand struct {
	Args   []string `arg:"" optional:"" name:"config" help:"YAML file or embedded experiment (see unravel list configs), then overrides key.path=value."`
	Dir    string   `name:"run" placeholder:"DIR" help:"Folder of the run (default: a folder in runs/, named after the config and its overrides)."`
	Resume bool     `help:"Continue the run in the folder of --run, by default with its own config."`
	DryRun bool     `help:"Check and print the config with all defaults, and estimate memory and time, but write nothing." detail:"The command trains some first steps to estimate the time."`
	JSON   bool     `name:"json" help:"Print one JSON object on standard output."`

	rateFlags
	serveFlags
}

// Run trains, or checks the config.
func (c *trainCommand) Run(ctx context.Context, s *streams) error {
	settings, overrides, err := c.config()
	if err != nil {
		return err
	}
	if c.FindRate {
		if c.DryRun || c.Resume || c.Dir != "" {
			return usagef("--find-rate trains no run; want it without --run, --resume and --dry-run")
		}
		return c.find(ctx, settings, c.JSON, s)
	}
	named := c.Dir != ""
	if !named {
		if c.Dir, err = folderOf(settings, overrides, c.Resume); err != nil {
			return err
		}
		if c.Resume && !c.DryRun && !isRun(c.Dir) {
			fmt.Fprintf(s.log, "there is no run %s to continue: it begins; --run continues another one\n", c.Dir)
		}
	}
	if c.DryRun {
		if !c.Resume && isRun(c.Dir) { // training would refuse it, too
			there := withFlags(rundir.ErrExists, c.Dir)
			if named {
				return there
			}
			fmt.Fprintf(s.log, "note: %v\n", there)
		}
		return dryTrain(ctx, settings, c.Dir, c.JSON, s)
	}
	return c.serving(ctx, s, c.folder(), func() error { return c.train(ctx, s, settings) })
}

// train trains in the folder and prints the results.
func (c *trainCommand) train(ctx context.Context, s *streams, settings train.Config) error {
	allow(ctx, savePatience)
	result, err := train.Run(ctx, settings, train.Options{Dir: c.Dir, Resume: c.Resume, Wait: true, Log: s.log})
	if err != nil {
		return withAdvice(withFlags(err, c.Dir), c.Dir)
	}
	see := c.Dir
	if settings.Train.Figures {
		see = filepath.Join(c.Dir, "report.html")
	}
	fmt.Fprintf(s.log, "finished %s (%s) in %.1f s; see %s\n", counted(result.Epochs, "epoch"), counted(result.Steps, "step"), result.Seconds, see)
	if c.JSON {
		return json.NewEncoder(s.out).Encode(result)
	}
	return report.Metrics(s.out, result.Metrics)
}

// dryTrain prints the config of a run, and logs its plan from a rehearsal. With asJSON it prints both as one object.
func dryTrain(ctx context.Context, c train.Config, dir string, asJSON bool, s *streams) error {
	plan, err := train.Planned(ctx, c)
	if err != nil {
		return err
	}
	text, err := c.Encode()
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(s.out).Encode(struct {
			Dir    string `json:"dir"`
			Config string `json:"config"` // YAML
			*train.Plan
		}{dir, string(text), plan})
	}
	if _, err = s.out.Write(text); err != nil {
		return err
	}
	fmt.Fprintf(s.log, "%s would train in %s\n", c.Name, dir)
	if note := train.BatchNote(c.Train.Batch, plan.Schedule); note != "" {
		fmt.Fprintf(s.log, "note: %s\n", note)
	}
	return printPlan(s.log, plan, dir)
}

// config reads the config named by the arguments, with their overrides.
func (c *trainCommand) config() (read train.Config, overrides []string, err error) {
	name, overrides := "", c.Args
	if len(overrides) > 0 && !strings.Contains(overrides[0], "=") {
		name, overrides = overrides[0], overrides[1:]
	}
	for i, o := range overrides {
		if !strings.Contains(o, "=") && i+2 < len(overrides) && overrides[i+1] == "=" {
			return read, nil, usagef("%q is not an override; write %s=%s, without spaces around the =", o, o, overrides[i+2])
		}
		if !strings.Contains(o, "=") {
			if strings.HasPrefix(o, "~") {
				return read, nil, usagef("%q is not an override: a key cannot be taken out; want key.path=value, after the config", o)
			}
			return read, nil, usagef("%q is not an override; want key.path=value, after the config", o)
		}
	}
	if name == "" && c.Resume && c.Dir != "" {
		if !isRun(c.Dir) {
			return read, nil, usagef("%s: there is no run to continue; want the folder of one, or a config to start from", c.Dir)
		}
		read, err := train.ReadConfig(c.Dir, overrides...)
		return read, overrides, err
	}
	if name == "" {
		name = configs.Quickstart
	}
	file, source, err := readConfig(name)
	if err != nil {
		return read, nil, err
	}
	read, err = train.Load(file, source, overrides...)
	return read, overrides, err
}

// folderOf returns the default folder of a run. Runs with other settings have other folders. For a resumed run whose
// start has lost its source, the start recorded in the folder counts.
func folderOf(c train.Config, overrides []string, resume bool) (string, error) {
	var settings []sweep.Setting
	for _, o := range overrides {
		key, value, _ := config.CutAssignment(o)
		settings = append(settings, sweep.Setting{Key: key, Value: value})
	}
	c, err := c.Resolve()
	if err != nil && !resume {
		return "", err
	}
	return sweep.Free(filepath.Join("runs", sweep.FolderName(c.Name, settings)), func(dir string) bool {
		if !isRun(dir) {
			return false
		}
		there := sweep.Read(dir)
		hash, err := c.Continuing(there.Config).Hash()
		return err != nil || there.Hash != hash
	}), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readConfig returns the source of a config: a file of this name, otherwise an embedded experiment.
func readConfig(name string) (file string, source []byte, err error) {
	file, source, err = configs.Find(name, "")
	if err != nil && !errors.As(err, new(*config.Error)) {
		err = usageError{fmt.Errorf("config: %w", err)}
	}
	return file, source, err
}

// withFlags adds to an error about an interrupted or existing run the flags that continue it.
func withFlags(err error, dir string) error {
	switch {
	case errors.Is(err, train.ErrStopped):
		return fmt.Errorf("%w; continue with --resume", train.ErrStopped)
	case errors.Is(err, rundir.ErrExists):
		if reason := failureOf(dir); reason != "" {
			return fmt.Errorf("%s: %w, which failed: %s", dir, rundir.ErrExists, reason)
		}
		return fmt.Errorf("%s: %w; continue it with --resume, or choose another folder with --run", dir, rundir.ErrExists)
	}
	return err
}

// failureOf says why the run in a folder failed; empty if it has not.
func failureOf(dir string) string {
	r, err := rundir.ReadRecord(dir)
	if err != nil || r == nil {
		return ""
	}
	return r.Error
}

// withAdvice adds to an error about a failed run the choices for its folder.
func withAdvice(err error, dir string) error {
	if reason := failureOf(dir); reason == "" || !strings.Contains(err.Error(), reason) {
		return err
	}
	from := "from its last checkpoint"
	if !exists(filepath.Join(dir, rundir.CheckpointFile)) && !exists(filepath.Join(dir, rundir.PreviousFile)) {
		from = "from the beginning, for it has no checkpoint"
	}
	return fmt.Errorf("%w; for other settings name another folder with --run, or remove %s; --resume trains on with the same ones %s", err, dir, from)
}
