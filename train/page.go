package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/internal/figures"
	"github.com/unravel-ml/unravel/train/rundir"
)

// pageContent is the content of a run's page that its experiment does not hold.
type pageContent struct {
	dir     string
	config  string         // the resolved config
	record  *rundir.Record // nil: the run has not ended, or has failed
	failure string         // why it failed
	epochs  int
	steps   int
	best    *Best   // nil: not kept
	fit     *Fit    // nil: not known
	spread  float64 // spread of the codes in the last epoch, if spreads
	spreads bool
	log     []rundir.Line
	results []metrics.Result
	figures []report.Figure
}

// writeReport writes the page about the run.
func (s *session) writeReport(ctx context.Context, codes matrix.Matrix, r *Result, drawn []report.Figure) error {
	c := pageContent{dir: s.store.Dir(), config: s.config, epochs: s.loop.Epoch(), steps: s.loop.Step(), best: s.best, fit: r.Fit, results: r.Metrics, figures: drawn}
	var err error
	if c.log, err = s.lines(); err != nil {
		return err
	}
	if c.record, err = s.newRecord(s.begun); err != nil {
		return err
	}
	c.spread, c.spreads = spreadOf(s.logs.Last)
	page, err := s.experiment.page(ctx, c, codes)
	if err != nil {
		return err
	}
	return s.store.Write(rundir.ReportFile, func(w io.Writer) error { return report.WritePage(w, page) })
}

// page describes a run with codes of the experiment's images; a matrix without rows means no codes.
func (e *Experiment) page(ctx context.Context, c pageContent, codes matrix.Matrix) (report.Page, error) {
	p := report.Page{Title: e.Config.Name, Config: c.config, Metrics: c.results, Figures: c.figures, Summary: e.facts(c), Command: again(c.dir),
		Curves: report.RunCurves(e.lossOrder(), c.log)}
	if c.fit != nil && !c.fit.Converged {
		p.Notes = append(p.Notes, "Training has not converged: "+c.fit.Why+".")
	}
	if c.failure != "" {
		p.Notes = append(p.Notes, "The run failed: "+c.failure)
	}
	if codes.Rows == 0 {
		return p, nil
	}
	var err error
	if p.Heat, err = report.PageHeat(ctx, e.drawing(codes, nil, nil).Shown(), c.results); ctx.Err() != nil {
		return p, ErrStopped
	}
	if err != nil {
		return p, err
	}
	if p.Codes, err = e.pageCodes(codes); err != nil {
		return p, err
	}
	p.Explore, err = e.explore(nil, codes)
	return p, err
}

// pageCodes returns the codes for a page.
func (e *Experiment) pageCodes(codes matrix.Matrix) (*web.Codes, error) {
	rows := report.PageRows(codes.Rows, codes.Cols)
	some := matrix.Matrix{Rows: len(rows), Cols: codes.Cols}
	names := make([]int, len(rows))
	for i, row := range rows {
		some.Data = append(some.Data, codes.Row(row)...)
		if names[i] = row; e.images != nil {
			names[i] = e.images[row]
		}
	}
	return report.PageCodes(e.InputOf(some, rows), e.Data, rows, names, e.Model.Spaces())
}

// facts lists the short facts on a run's page.
func (e *Experiment) facts(c pageContent) []report.Fact {
	list := []report.Fact{{Name: "model", Value: e.Config.Model.Name}, {Name: "data set", Value: e.Config.Dataset.Name},
		{Name: "seed", Value: fmt.Sprint(e.Config.Seed)}, {Name: "epochs", Value: fmt.Sprint(c.epochs)},
		{Name: "steps", Value: fmt.Sprint(c.steps)}, {Name: "parameters", Value: fmt.Sprint(e.Model.Params().Count())}}
	add := func(name, format string, values ...any) {
		list = append(list, report.Fact{Name: name, Value: fmt.Sprintf(format, values...)})
	}
	if c.best != nil {
		add("best "+c.best.Metric+" during training", "%.4g, after epoch %d", c.best.Value, c.best.Epoch)
	}
	if c.spreads {
		add("spread of the codes in the last epoch", "%.3g", c.spread)
	}
	if r := c.record; r != nil {
		add("ended", "%s", r.Ended.Format("2006-01-02 15:04 UTC"))
		add("took", "%s", duration(r.Seconds))
		add("machine", "%s/%s, %s kernels, %s of %d cores", r.Machine.OS, r.Machine.Arch, r.Machine.Kernels, wording.Count(r.Machine.Threads, "thread"), r.Machine.Cores)
		add("version", "%s, %s", r.Version, r.Machine.Go)
		if other := r.History.Other(); other != "" {
			add("not the run of its config", "%s", other)
		}
	}
	return list
}

// duration writes seconds for people.
func duration(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return (time.Duration(seconds+0.5) * time.Second).String()
}

// lossOrder lists the names of losses in the order of the config, the sum first.
func (e *Experiment) lossOrder() []string {
	list := []string{"loss"}
	for _, l := range e.Config.Losses {
		list = append(list, l.Name)
	}
	return list
}

// again returns the command, for a POSIX shell, that trains the run of a folder once more in another folder.
func again(dir string) string {
	dir = filepath.Clean(dir)
	if strings.HasPrefix(dir, "-") { // otherwise it would read as a flag
		dir = "./" + dir
	}
	source, fresh := dir+"/"+rundir.Config, dir+"-again"
	if strings.Contains(source, "=") { // otherwise it would read as an override
		return wording.Shell("cp", source, "again.yaml") + " && " +
			wording.Shell("unravel", "train", "again.yaml", "--run", fresh)
	}
	return wording.Shell("unravel", "train", source, "--run", fresh)
}

// StoredPage returns a writer of the page about the run in a folder, from its stored results, figures, log and codes.
// It computes missing codes, but trains, measures and draws nothing. For an unfinished run it shows the log, and the
// codes and the decoder of the newest checkpoint. remarks are warnings for people.
func StoredPage(ctx context.Context, dir string, progress *Activity) (write func(io.Writer) error, remarks []string, err error) {
	p, remarks, err := readPage(ctx, dir, progress)
	return func(w io.Writer) error { return report.WritePage(w, p) }, remarks, err
}

func readPage(ctx context.Context, dir string, progress *Activity) (p report.Page, remarks []string, err error) {
	run, err := rundir.View(dir)
	if err != nil {
		return p, nil, err
	}
	e, warning, err := OpenExperiment(dir)
	if err != nil {
		return p, nil, err
	}
	if warning != "" {
		remarks = append(remarks, warning)
	}
	e.Progress = progress
	c, err := e.stored(run)
	if err != nil {
		return p, nil, err
	}
	if c.record == nil {
		remarks = append(remarks, fmt.Sprintf("%s: the run has not ended; its page shows the log and the newest checkpoint", dir))
	}
	shown, codes, err := e.storedCodes(ctx, run, c.record != nil)
	if err != nil {
		return p, nil, err
	}
	p, err = shown.page(ctx, c, codes)
	return p, remarks, err
}

// stored reads the page's content from a run's folder, without the codes.
func (e *Experiment) stored(run *rundir.Run) (c pageContent, err error) {
	dir := run.Dir()
	text, err := run.Read(rundir.Config)
	if err != nil {
		return c, err
	}
	c.dir, c.config = dir, string(text)
	if c.record, err = rundir.ReadRecord(dir); err != nil && !errors.Is(err, rundir.ErrChanged) {
		return c, err
	}
	if c.record != nil && c.record.Error != "" {
		c.failure, c.record = c.record.Error, nil
	}
	found, err := readCheckpoint(dir)
	if err != nil {
		return c, err
	}
	c.epochs, c.steps, c.best = found.state.Epoch, found.state.Step, found.state.Best
	if err := run.ReadLog(func(line rundir.Line) { c.log = append(c.log, line) }); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	for _, line := range c.log {
		if v, ok := spreadOf(line.Losses); ok {
			c.spread, c.spreads = v, true
		}
	}
	if c.record == nil { // the other files belong to an earlier end
		return c, nil
	}
	if err := readJSON(run, rundir.MetricsFile, &c.results); err != nil {
		return c, err
	}
	if err := readJSON(run, rundir.FitFile, &c.fit); err != nil {
		return c, err
	}
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
		c.figures = append(c.figures, report.Figure{Name: f.Name, Caption: f.Caption, PNG: png})
	}
	return c, nil
}

// readJSON reads a file of a run into v. A missing file leaves v unchanged.
func readJSON(run *rundir.Run, name string, v any) error {
	text, err := run.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(v); err != nil {
		return &rundir.DamagedError{Path: run.Path(name), Err: err}
	}
	return nil
}

// maxPageCodes is the number of images encoded for a page without stored codes.
const maxPageCodes = 10000

// storedCodes reads the codes of an ended run, and returns the experiment on their images. If codes are missing or
// the run has not ended, and the config keeps or measures codes, it computes as many as a page shows.
func (e *Experiment) storedCodes(ctx context.Context, run *rundir.Run, ended bool) (*Experiment, matrix.Matrix, error) {
	kept := e.encoded()
	if kept == nil {
		return e, matrix.Matrix{}, nil
	}
	if !ended || !run.Has(rundir.CodesFile) {
		few := kept.sampleOf(maxPageCodes, 0)
		codes, err := few.Codes(ctx)
		return few, codes, err
	}
	r, err := npy.Open(run.Path(rundir.CodesFile))
	if err != nil {
		return nil, matrix.Matrix{}, err
	}
	defer r.Close() // it was only read
	if r.Rows() != kept.Data.Len() || r.RowLen() != e.Coder.Width() {
		return nil, matrix.Matrix{}, fmt.Errorf("%s has shape %v; want %d x %d, as the config has it", filepath.Join(run.Dir(), rundir.CodesFile), r.Shape, kept.Data.Len(), e.Coder.Width())
	}
	values := make([]float32, r.Rows()*r.RowLen())
	if err := npy.Read(r, values); err != nil {
		return nil, matrix.Matrix{}, err
	}
	return kept, metrics.NewMatrix(r.Rows(), r.RowLen(), values), nil
}
