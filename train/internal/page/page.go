// Package page describes the report page of a run, after training or from the files of its folder.
package page

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/checkpoint"
	"github.com/unravel-ml/unravel/train/internal/figures"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/weights"
)

// Content is the content of a run's page.
type Content struct {
	Dir      string
	Config   string // the resolved config
	Name     string // of the run
	Model    string // as in the config
	Dataset  string // as in the config
	Seed     uint64
	Losses   []string       // the names of losses in the order of the config
	Record   *rundir.Record // nil: the run has not ended, or it failed
	Failure  string         // why the run failed
	Epochs   int
	Steps    int
	Best     *checkpoint.Best // nil: not kept
	Unfit    string           // why training has not converged; empty: it has converged, or that is unknown
	Spread   *float64         // spread of the codes in the last epoch; nil: unknown
	Log      []rundir.Line
	Results  []metrics.Result
	Figures  []report.Figure
	Source   weights.Source // source of the decoder
	DataRows []int          // indices of the images in the config's data set; nil: all
}

// Page describes a run with codes of the drawing's images; a matrix without rows means no codes.
func (c *Content) Page(ctx context.Context, d *figures.Drawing) (report.Page, error) {
	p := report.Page{Title: c.Name, Config: c.Config, Metrics: c.Results, Figures: c.Figures, Summary: c.facts(d.Model),
		Command: again(c.Dir), Curves: report.RunCurves(append([]string{"loss"}, c.Losses...), c.Log)}
	if c.Unfit != "" {
		p.Notes = append(p.Notes, "Training has not converged: "+c.Unfit+".")
	}
	if c.Failure != "" {
		p.Notes = append(p.Notes, "The run failed: "+c.Failure)
	}
	if d.Codes.Rows == 0 {
		return p, nil
	}
	var err error
	if p.Heat, err = report.PageHeat(ctx, d.Shown(), c.Results); ctx.Err() != nil {
		return p, engine.ErrStopped
	}
	if err != nil {
		return p, err
	}
	if p.Codes, err = c.codes(d); err != nil {
		return p, err
	}
	p.Explore, err = d.Explore(c.DataRows, c.Source)
	return p, err
}

func (c *Content) codes(d *figures.Drawing) (*web.Codes, error) {
	rows := report.PageRows(d.Codes.Rows, d.Codes.Cols)
	return report.PageCodes(d.InputOf(figures.Rows(d.Codes, rows), rows), d.Data, rows, figures.Gather(c.DataRows, rows),
		d.Model.Spaces())
}

func (c *Content) facts(m models.Model) []report.Fact {
	list := []report.Fact{{Name: "model", Value: c.Model}, {Name: "data set", Value: c.Dataset},
		{Name: "seed", Value: fmt.Sprint(c.Seed)}, {Name: "epochs", Value: fmt.Sprint(c.Epochs)},
		{Name: "steps", Value: fmt.Sprint(c.Steps)}, {Name: "parameters", Value: fmt.Sprint(m.Params().Trainable())}}
	add := func(name, format string, values ...any) {
		list = append(list, report.Fact{Name: name, Value: fmt.Sprintf(format, values...)})
	}
	if c.Best != nil {
		add("best "+c.Best.Metric+" during training", "%.4g, after epoch %d", c.Best.Value, c.Best.Epoch)
	}
	if c.Spread != nil {
		add("spread of the codes in the last epoch", "%.3g", *c.Spread)
	}
	if r := c.Record; r != nil {
		add("ended", "%s", r.Ended.Format("2006-01-02 15:04 UTC"))
		add("took", "%s", duration(r.Seconds))
		add("machine", "%s/%s, %s kernels, %s of %d cores",
			r.Machine.OS, r.Machine.Arch, r.Machine.Kernels, wording.Count(r.Machine.Threads, "thread"), r.Machine.Cores)
		add("version", "%s, %s", r.Version, r.Machine.Go)
		if other := r.History.Other(); other != "" {
			add("does not match its config", "%s", other)
		}
	}
	return list
}

func duration(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return (time.Duration(seconds+0.5) * time.Second).String()
}

// again returns the POSIX shell command that trains the run once more, in another folder.
func again(dir string) string {
	dir = filepath.ToSlash(filepath.Clean(dir))
	if strings.HasPrefix(dir, "-") { // otherwise it would be read as a flag
		dir = "./" + dir
	}
	source, fresh := dir+"/"+rundir.Config, dir+"-again"
	if strings.Contains(source, "=") { // otherwise it would be read as an override
		return wording.Shell("cp", source, "again.yaml") + " && " +
			wording.Shell("unravel", "train", "again.yaml", "--run", fresh)
	}
	return wording.Shell("unravel", "train", source, "--run", fresh)
}

// Stored reads the content from a run's folder. The caller adds the codes and the facts from the config.
func Stored(run *rundir.Run) (c Content, err error) {
	dir := run.Dir()
	text, err := run.Read(rundir.Config)
	if err != nil {
		return c, err
	}
	c.Dir, c.Config = dir, string(text)
	if c.Record, err = rundir.ReadRecord(dir); err != nil && !errors.Is(err, rundir.ErrChanged) {
		return c, err
	}
	if c.Record != nil && c.Record.Error != "" {
		c.Failure, c.Record = c.Record.Error, nil
	}
	found, err := checkpoint.Read(dir)
	if err != nil {
		return c, err
	}
	c.Epochs, c.Steps, c.Best = found.State.Epoch, found.State.Step, found.State.Best
	err = run.ReadLog(func(line rundir.Line) { c.Log = append(c.Log, line) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	for _, line := range c.Log {
		if v := Spread(line.Losses); v != nil {
			c.Spread = v
		}
	}
	if c.Record == nil { // the other files belong to an earlier end of the run
		return c, nil
	}
	var fit struct{ Why string }
	for name, into := range map[string]any{rundir.MetricsFile: &c.Results, rundir.FitFile: &fit} {
		if _, err := rundir.ReadJSON(dir, name, into); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	c.Unfit = fit.Why
	for _, f := range new(figures.Drawing).Figures(nil, nil) {
		if f.Moves {
			continue
		}
		png, err := run.Read(f.File())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return c, err
		}
		c.Figures = append(c.Figures, report.Figure{Name: f.Name, Caption: f.Caption, PNG: png})
	}
	return c, nil
}

// Spread returns the mean spread of the codes in an epoch; nil for models that do not record it.
func Spread(l rundir.Losses) *float64 {
	for _, parts := range l {
		if v, ok := parts[models.SpreadName]; ok {
			return &v
		}
	}
	return nil
}
