package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/report"
	"github.com/unravel-ml/unravel/train/rundir"
)

// StoredPage returns the page about the run in a folder, from its stored results, figures, log and codes. It computes
// missing codes, but trains, measures and draws nothing. For an unfinished run it shows the log, and the codes and
// the decoder of the newest checkpoint. remarks are warnings for people.
func StoredPage(ctx context.Context, dir string, progress *Activity) (p report.Page, remarks []string, err error) {
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
	for _, f := range e.figures(matrix.Matrix{}, nil, nil, nil) {
		if f.moves {
			continue
		}
		png, err := run.Read(f.file())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return c, err
		}
		c.figures = append(c.figures, report.Figure{Name: f.name, Caption: f.caption, PNG: png})
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
	kept := e.kept()
	if kept == nil {
		return e, matrix.Matrix{}, nil
	}
	if !ended || !run.Has(rundir.CodesFile) {
		few := kept.some(maxPageCodes, 0)
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
