package train

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/internal/checkpoint"
	"github.com/unravel-ml/unravel/train/internal/page"
	"github.com/unravel-ml/unravel/train/rundir"
)

// pageContent adds to the content of a page what the experiment knows.
func (e *Experiment) pageContent(c *page.Content) *page.Content {
	c.Name, c.Model, c.Dataset, c.Seed = e.Config.Name, e.Config.Model.Name, e.Config.Dataset.Name, e.Config.Seed
	c.Source, c.DataRows = e.source(), e.images
	for _, l := range e.Config.Losses {
		c.Losses = append(c.Losses, l.Name)
	}
	return c
}

// writeReport writes the page about the run.
func (s *session) writeReport(ctx context.Context, codes matrix.Matrix, r *Result, drawn []report.Figure) error {
	c := s.experiment.pageContent(&page.Content{Dir: s.store.Dir(), Config: s.config, Epochs: s.loop.Epoch(), Steps: s.loop.Step(),
		Best: (*checkpoint.Best)(s.best), Spread: page.Spread(s.logs.Last), Results: r.Metrics, Figures: drawn})
	if r.Fit != nil {
		c.Unfit = r.Fit.Why
	}
	var err error
	if c.Log, err = s.lines(); err != nil {
		return err
	}
	if c.Record, err = s.newRecord(s.begun); err != nil {
		return err
	}
	p, err := c.Page(ctx, s.experiment.drawing(codes, nil, nil))
	if err != nil {
		return err
	}
	return s.store.Write(rundir.ReportFile, func(w io.Writer) error { return report.WritePage(w, p) })
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
	c, err := page.Stored(run)
	if err != nil {
		return p, nil, err
	}
	if c.Record == nil {
		remarks = append(remarks, fmt.Sprintf("%s: the run has not ended; its page shows the log and the newest checkpoint", dir))
	}
	shown, codes, err := e.storedCodes(ctx, run, c.Record != nil)
	if err != nil {
		return p, nil, err
	}
	p, err = shown.pageContent(&c).Page(ctx, shown.drawing(codes, nil, nil))
	return p, remarks, err
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
