package train

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/report"
	"github.com/unravel-ml/unravel/rundir"
)

// finish encodes the data set, a sample or nothing, measures the codes, and draws figures and the report. keep asks for
// the codes in the result.
func (s *session) finish(ctx context.Context, r *Result, keep bool) (err error) {
	l := s.loop
	s.experiment.Progress = NewActivity(s.console.w)
	defer s.experiment.Progress.End()
	l.Close()
	runtime.GC() // the programs would otherwise stay until the next collection
	if v, ok := spreadOf(s.logs.last); ok && v < leastSpread {
		s.console.say("note: the codes have collapsed: their spread was %.2g in the last epoch, where random codes have about 1", v)
	}
	codes, err := s.encode(ctx, r)
	if err != nil {
		return err
	}
	if keep && codes.Data != nil {
		r.Codes = s.experiment.codesOf(codes)
	}
	r.Metrics = []metrics.Result{}
	if codes.Data != nil {
		if r.Metrics, err = s.experiment.Evaluate(ctx, codes, s.experiment.Final()); err != nil {
			return err
		}
	}
	if err := s.store.Write(rundir.MetricsFile, rundir.JSON(r.Metrics)); err != nil {
		return err
	}
	if err := s.logs.metrics(l.Epoch(), l.Step(), r.Metrics); err != nil {
		return err
	}
	if err := s.logs.events.Flush(); err != nil {
		return err
	}
	if !s.experiment.Config.Train.Figures {
		return nil
	}
	drawn, err := s.draw(codes)
	if err != nil {
		return err
	}
	return s.store.Write(rundir.ReportFile, func(w io.Writer) error { return report.WritePage(w, s.page(r.Metrics, drawn)) })
}

// leastSpread is the spread of codes below which they count as collapsed: that of random codes is near 1.
const leastSpread = 0.05

// spread returns the mean spread of the codes in the last epoch, of models that watch it.
func spreadOf(l rundir.Losses) (float64, bool) {
	for _, parts := range l {
		if v, ok := parts[models.SpreadName]; ok {
			return v, true
		}
	}
	return 0, false
}

// page describes the run.
func (s *session) page(results []metrics.Result, drawn []report.Figure) report.Page {
	e, l := s.experiment, s.loop
	p := report.Page{Title: e.Config.Name, Config: s.config, Metrics: results, Figures: drawn, Summary: []report.Fact{
		{Name: "model", Value: e.Config.Model.Name}, {Name: "data set", Value: e.Config.Dataset.Name},
		{Name: "seed", Value: fmt.Sprint(e.Config.Seed)}, {Name: "epochs", Value: fmt.Sprint(l.Epoch())},
		{Name: "steps", Value: fmt.Sprint(l.Step())}, {Name: "parameters", Value: fmt.Sprint(e.Model.Params().Count())}}}
	if v, ok := spreadOf(s.logs.last); ok {
		p.Summary = append(p.Summary, report.Fact{Name: "spread of the codes in the last epoch", Value: fmt.Sprintf("%.3g", v)})
	}
	return p
}
