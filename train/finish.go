package train

import (
	"context"
	"fmt"
	"runtime"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/internal/page"
	"github.com/unravel-ml/unravel/train/rundir"
)

// finish encodes the data set, a sample of it, or nothing. It measures the codes, and draws figures and the report.
// keep puts the codes into the result.
func (s *session) finish(ctx context.Context, r *Result, keep bool) (err error) {
	l := s.loop
	s.experiment.Progress = NewActivity(s.console.Log, s.console.Terminal)
	defer s.experiment.Progress.End()
	l.Close()
	runtime.GC() // the programs would otherwise stay until the next collection
	if v := page.Spread(s.logs.Last); v != nil && *v < leastSpread {
		s.console.Note("collapsed", fmt.Sprintf("the codes have collapsed: their spread was %.2g in the last epoch, "+
			"where random codes have about 1", *v), "spread", *v)
	}
	if b := s.best; b != nil {
		s.console.Info("best", fmt.Sprintf("best %s: %.4g, after epoch %d, in %s", b.Metric, b.Value, b.Epoch, rundir.BestFile),
			"metric", b.Metric, "value", b.Value, "epoch", b.Epoch)
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
	averaged, err := s.measureAverage(ctx)
	if err != nil {
		return err
	}
	others, err := s.measureOthers(ctx)
	if err != nil {
		return err
	}
	for _, results := range [][]metrics.Result{r.Metrics, averaged, others} {
		if err := s.logs.Metrics(l.Epoch(), l.Step(), results); err != nil {
			return err
		}
	}
	r.Metrics = append(append(r.Metrics, averaged...), others...)
	if err := s.store.Write(rundir.MetricsFile, rundir.JSON(r.Metrics)); err != nil {
		return err
	}
	log, err := s.lines()
	if err != nil {
		return err
	}
	if err := s.store.Write(rundir.TableFile, rundir.WriteTable(log)); err != nil {
		return err
	}
	if err := s.logs.Events.Flush(); err != nil {
		return err
	}
	if !s.experiment.Config.Train.Figures {
		return nil
	}
	drawn, err := s.draw(codes, r.Metrics)
	if err != nil {
		return err
	}
	return s.writeReport(ctx, codes, r, drawn)
}

// AverageSuffix is the suffix in names of results of averaged weights.
const AverageSuffix = "-average"

// measureAverage measures the average of the weights on the same images; nil without an average or metrics.
func (s *session) measureAverage(ctx context.Context) ([]metrics.Result, error) {
	e := s.experiment
	if len(e.Final()) == 0 || !s.loop.SwapAverage() {
		return nil, nil
	}
	defer s.loop.SwapAverage()
	codes, err := e.Codes(ctx)
	if err != nil {
		return nil, err
	}
	results, err := e.Evaluate(ctx, codes, e.Final())
	for i := range results {
		results[i].Name += AverageSuffix
	}
	return results, err
}

// leastSpread is the smallest spread of codes that have not collapsed. Random codes have a spread near 1.
const leastSpread = 0.05
