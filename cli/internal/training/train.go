// Package training holds the commands train, export and import: models and their weights.
package training

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/serving"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Train is `unravel train [CONFIG] [key=value ...]`.
type Train struct {
	Args   []string `arg:"" optional:"" name:"config" help:"YAML file or embedded experiment (see unravel list configs), then overrides key.path=value."`
	Dir    string   `name:"run" placeholder:"DIR" help:"Folder of the run (default: a folder in runs/, named after the config and its overrides)."`
	Resume bool     `help:"Continue the run in the folder of --run, by default with its own config."`
	DryRun bool     `help:"Check and print the config with all defaults, and estimate memory and time, but write nothing." detail:"The command trains some first steps to estimate the time."`
	JSON   bool     `name:"json" help:"Print one JSON object on standard output."`

	rateFlags
	serving.Flags
}

func (c *Train) Run(ctx context.Context, s *ui.Streams) (failure error) {
	settings, overrides, err := c.Config()
	if err != nil {
		return err
	}
	defer func() { // an error would refuse scripts that add overrides to their own
		if replaced := ui.Once(overrides); replaced != nil && failure == nil {
			fmt.Fprintln(s.Log, "note:", replaced)
		}
	}()
	if c.FindRate {
		if c.DryRun || c.Resume || c.Dir != "" {
			return ui.Usagef("--find-rate trains no run; want it without --run, --resume and --dry-run")
		}
		return c.find(ctx, settings, c.JSON, s)
	}
	named := c.Dir != ""
	if !named {
		if c.Dir, err = folderOf(settings, overrides, c.Resume); err != nil {
			return err
		}
	}
	if c.Resume && !c.DryRun && !inputs.IsRun(c.Dir) {
		fmt.Fprintf(s.Log, "there is no run %s to continue, so a new run starts; --run selects another run\n", c.Dir)
	}
	if c.DryRun {
		if !c.Resume && inputs.IsRun(c.Dir) { // training would refuse it, too
			there := withFlags(rundir.ErrExists, c.Dir)
			if named {
				return there
			}
			fmt.Fprintf(s.Log, "note: %v\n", there)
		}
		return dryTrain(ctx, settings, c.Dir, c.JSON, s)
	}
	return c.Serving(ctx, s, c.folder(), func() error { return c.train(ctx, s, settings) })
}

func (c *Train) train(ctx context.Context, s *ui.Streams, settings train.Config) error {
	ui.Allow(ctx, ui.SavePatience)
	result, err := train.Run(ctx, settings,
		train.Options{Dir: c.Dir, Resume: c.Resume, Wait: true, Log: plain.Logger(s.Log), Terminal: plain.Terminal(s.Log)})
	if err != nil {
		return withAdvice(withFlags(err, c.Dir), c.Dir)
	}
	see := c.Dir
	if settings.Train.Figures {
		see = filepath.Join(c.Dir, "report.html")
	}
	fmt.Fprintf(s.Log, "finished %s (%s) in %.1f s; see %s\n",
		wording.Count(result.Epochs, "epoch"), wording.Count(result.Steps, "step"), result.Seconds, see)
	if c.JSON {
		return ui.WriteJSON(s.Out, result)
	}
	return report.Metrics(s.Out, result.Metrics)
}

// dryTrain prints the config of a run, and logs its plan from a rehearsal. With asJSON it prints both as one object.
func dryTrain(ctx context.Context, c train.Config, dir string, asJSON bool, s *ui.Streams) error {
	fast := ui.Unless(s.Log, "preparing the data set, then training some steps to estimate memory and time")
	plan, err := train.Planned(ctx, c)
	fast()
	if err != nil {
		return err
	}
	text, err := c.Encode()
	if err != nil {
		return err
	}
	if asJSON {
		return ui.WriteJSON(s.Out, struct {
			Dir    string `json:"dir"`
			Config string `json:"config"` // YAML
			*train.Plan
		}{dir, string(text), plan})
	}
	if _, err = s.Out.Write(text); err != nil {
		return err
	}
	fmt.Fprintf(s.Log, "%s would train in %s\n", c.Name, dir)
	if note := train.BatchNote(c.Train.Batch, plan.Schedule); note != "" {
		fmt.Fprintf(s.Log, "note: %s\n", note)
	}
	return printPlan(s.Log, plan, dir)
}

// Config reads the config named by the arguments, with their overrides.
func (c *Train) Config() (read train.Config, overrides []string, err error) {
	name, overrides := "", c.Args
	if len(overrides) > 0 && !strings.Contains(overrides[0], "=") {
		name, overrides = overrides[0], overrides[1:]
	}
	for i, o := range overrides {
		switch {
		case strings.Contains(o, "="):
		case i+2 < len(overrides) && overrides[i+1] == "=":
			return read, nil, ui.Usagef("%q is not an override; write %s=%s, without spaces around the =", o, o, overrides[i+2])
		case strings.HasPrefix(o, "~"):
			return read, nil, ui.Usagef("%q is not an override: a key cannot be taken out; want key.path=value, after the config", o)
		default:
			return read, nil, ui.Usagef("%q is not an override; want key.path=value, after the config", o)
		}
	}
	if name == "" && c.Resume && c.Dir != "" {
		if !inputs.IsRun(c.Dir) {
			return read, nil, ui.Usagef("%s: there is no run to continue; want the folder of one, or a config to start from",
				c.Dir)
		}
		read, err := train.ReadConfig(c.Dir, overrides...)
		return read, overrides, err
	}
	file, source, err := inputs.ReadConfig(cmp.Or(name, configs.Quickstart))
	if err != nil {
		return read, nil, err
	}
	read, err = train.Load(file, source, overrides...)
	return read, overrides, err
}

// folderOf returns the default folder of a run. For a resumed run without its source, the recorded start counts.
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
		if !inputs.IsRun(dir) {
			return false
		}
		there := sweep.Read(dir)
		hash, err := c.Continuing(there.Config).Hash()
		return err != nil || there.Hash != hash
	}), nil
}

// withFlags adds the flags that continue a run to an error about an interrupted or existing run.
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

// failureOf returns the error of the run in a folder, or "" if the run has not failed.
func failureOf(dir string) string {
	r, err := rundir.ReadRecord(dir)
	if err != nil || r == nil {
		return ""
	}
	return r.Error
}

// withAdvice adds the choices for a failed run's folder to its error.
func withAdvice(err error, dir string) error {
	if reason := failureOf(dir); reason == "" || !strings.Contains(err.Error(), reason) {
		return err
	}
	from := "from its last checkpoint"
	if !ui.Exists(filepath.Join(dir, rundir.CheckpointFile)) && !ui.Exists(filepath.Join(dir, rundir.PreviousFile)) {
		from = "from the beginning, because it has no checkpoint"
	}
	return fmt.Errorf("%w; to train with other settings, choose another folder with --run, or remove %s; --resume continues with the same settings %s", err, dir, from)
}

type rateFlags struct {
	FindRate bool    `help:"Test learning rates on the first steps instead of training (Smith 2017)." detail:"The rate rises until the loss diverges. The command prints a rate, and writes a picture and the losses."`
	RateLow  float64 `default:"1e-6" placeholder:"1e-6" help:"Lowest rate of --find-rate."`
	RateHigh float64 `default:"1" placeholder:"1" help:"Highest rate of --find-rate."`
	RateStep int     `name:"rate-steps" default:"200" placeholder:"200" help:"Number of rates of --find-rate, one for each update."`
	RateOut  string  `placeholder:"DIR" writes:"folder" help:"Folder for rates.png, rates.csv and rates.json of --find-rate (default: find-rate/NAME)."`
}

// find tests rates, and writes and prints the result.
func (f *rateFlags) find(ctx context.Context, c train.Config, asJSON bool, s *ui.Streams) error {
	r, err := train.FindRate(ctx, c, train.RateTest{Low: f.RateLow, High: f.RateHigh, Steps: f.RateStep})
	if err != nil {
		return err
	}
	dir := cmp.Or(f.RateOut, filepath.Join("find-rate", c.Name))
	if err := disk.MakeDir(dir); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"rates.png":  func(w io.Writer) error { return r.Draw(w, "Learning-rate range test of "+r.Optimizer+" for "+c.Name) },
		"rates.csv":  r.WriteCSV,
		"rates.json": rundir.JSON(r),
	} {
		if err := ui.WriteFile(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	last := r.Points[len(r.Points)-1]
	fmt.Fprintf(s.Log, "%d rates from %.3g to %.3g; the smoothed loss of %s is lowest, %.4g, at %.3g\n",
		len(r.Points), r.Points[0].Rate, last.Rate, r.Objective, r.Lowest.Smoothed, r.Lowest.Rate)
	if r.Diverged != "" {
		fmt.Fprintf(s.Log, "ended at a rate of %.3g: %s\n", last.Rate, r.Diverged)
	}
	fmt.Fprintf(s.Log, "see %s\n", filepath.Join(dir, "rates.png"))
	if asJSON {
		return ui.WriteJSON(s.Out, r)
	}
	if r.Suggested == 0 {
		fmt.Fprintf(s.Out, "no rate is suggested: the loss does not fall from %.3g on; want a lower --rate-low\n", f.RateLow)
	} else {
		fmt.Fprintf(s.Out, "train.optimizer.%s.lr=%.2g\n", r.Optimizer, r.Suggested)
	}
	return nil
}

// folder returns the content of training's server: the run, or all runs if the run is in the usual place.
func (c *Train) folder() serving.Content {
	if parent, name := filepath.Split(filepath.Clean(c.Dir)); filepath.Clean(parent) == "runs" {
		return serving.Content{Dir: "runs", Page: name}
	}
	return serving.Content{Dir: c.Dir, Single: true}
}
