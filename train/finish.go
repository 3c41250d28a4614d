package train

import (
	"context"
	"fmt"
	"io"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/report"
	"github.com/unravel-ml/unravel/runs"
)

// finish encodes the data set, a sample or nothing, measures the codes, and draws figures and the report.
func (s *session) finish(ctx context.Context) ([]metrics.Result, error) {
	t := s.trainer
	s.experiment.Progress = NewActivity(s.log)
	defer s.experiment.Progress.End()
	t.release()
	if v, ok := spreadOf(s.last); ok && v < leastSpread {
		s.say("note: the codes have collapsed: their spread was %.2g in the last epoch, where random codes have about 1", v)
	}
	codes, err := s.encode(ctx)
	if err != nil {
		return nil, err
	}
	results := []metrics.Result{}
	if codes.Data != nil {
		if results, err = s.experiment.Evaluate(ctx, codes, s.experiment.Final()); err != nil {
			return nil, err
		}
	}
	if err := s.store.Write(runs.MetricsFile, runs.JSON(results)); err != nil {
		return nil, err
	}
	if err := s.logMetrics(t.epoch, t.step, results); err != nil {
		return nil, err
	}
	if err := s.events.Flush(); err != nil {
		return nil, err
	}
	if !t.settings.Figures {
		return results, nil
	}
	drawn, err := s.draw(codes)
	if err != nil {
		return nil, err
	}
	return results, s.store.Write(runs.ReportFile, func(w io.Writer) error { return report.WritePage(w, s.report(results, drawn)) })
}

// leastSpread is the spread of codes below which they count as collapsed: that of random codes is near 1.
const leastSpread = 0.05

// spread returns the mean spread of the codes in the last epoch, of models that watch it.
func spreadOf(l runs.Losses) (float64, bool) {
	for _, parts := range l {
		if v, ok := parts[models.SpreadName]; ok {
			return v, true
		}
	}
	return 0, false
}

// report describes the run on a page.
func (s *session) report(results []metrics.Result, drawn []report.Figure) report.Page {
	e, t := s.experiment, s.trainer
	p := report.Page{Title: e.Config.Name, Config: s.config, Metrics: results, Figures: drawn, Summary: []report.Fact{
		{Name: "model", Value: e.Config.Model.Name}, {Name: "data set", Value: e.Config.Dataset.Name},
		{Name: "seed", Value: fmt.Sprint(e.Config.Seed)}, {Name: "epochs", Value: fmt.Sprint(t.epoch)},
		{Name: "steps", Value: fmt.Sprint(t.step)}, {Name: "parameters", Value: fmt.Sprint(e.Model.Params().Count())}}}
	if v, ok := spreadOf(s.last); ok {
		p.Summary = append(p.Summary, report.Fact{Name: "spread of the codes in the last epoch", Value: fmt.Sprintf("%.3g", v)})
	}
	return p
}
