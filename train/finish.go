package train

import (
	"context"
	"fmt"
	"runtime"

	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/internal/page"
	"github.com/unravel-ml/unravel/train/rundir"
)

// finish encodes and measures the data set or a sample, and draws the report. With keep, the result has the codes.
func (s *session) finish(ctx context.Context, r *Result, keep bool) (err error) {
	s.experiment.Progress = NewActivity(s.console.Log, s.console.Terminal)
	defer s.experiment.Progress.End()
	s.loop.Close()
	runtime.GC() // otherwise the programs stay in memory until the next collection
	s.logEnding()
	codes, err := s.encode(ctx, r)
	if err != nil {
		return err
	}
	if keep && codes.Data != nil {
		r.Codes = s.experiment.codesOf(codes)
	}
	if err := s.measure(ctx, codes, r); err != nil {
		return err
	}
	if err := s.logs.Events.Flush(); err != nil || !s.experiment.Config.Train.Figures {
		return err
	}
	pictures, err := s.draw(codes, r.Metrics)
	if err != nil {
		return err
	}
	return s.writeReport(ctx, codes, r, pictures)
}

// logEnding reports collapsed codes, and the best epoch.
func (s *session) logEnding() {
	if v := page.Spread(s.logs.Last); v != nil && *v < minSpread {
		s.console.Note("collapsed", fmt.Sprintf("the codes have collapsed: their spread was %.2g in the last epoch, "+
			"where random codes have about 1", *v), "spread", *v)
	}
	if b := s.best; b != nil {
		s.console.Info("best", fmt.Sprintf("best %s: %.4g, after epoch %d, in %s",
			b.Metric, b.Value, b.Epoch, rundir.BestFile),
			"metric", b.Metric, "value", b.Value, "epoch", b.Epoch)
	}
}

// measure computes all final metrics, and stores them with the table of the log.
func (s *session) measure(ctx context.Context, codes matrix.Matrix, r *Result) (err error) {
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
		if err := s.logs.Metrics(s.loop.Epoch(), s.loop.Step(), 0, results); err != nil {
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
	return s.store.Write(rundir.TableFile, rundir.WriteTable(log))
}

// encode computes and stores the codes of the kept images, and measures their fit. After that the session uses these
// images. If no images are kept, the codes are empty, and files of an earlier end of the run are removed.
func (s *session) encode(ctx context.Context, r *Result) (codes matrix.Matrix, err error) {
	total, e := s.experiment.Data.Len(), s.experiment.encoded()
	if e == nil {
		return codes, s.removeFiles(rundir.CodesFile, rundir.FactorsFile, rundir.LevelsFile, rundir.FitFile)
	}
	s.experiment = e
	if n := e.Data.Len(); n < total && len(e.Config.Metrics.Final) == 0 {
		s.console.Info("codes", fmt.Sprintf("the run keeps codes of %d of the %d images: no metric needs more, "+
			"and metrics.encode sets the number", n, total), "images", n)
	}
	if n, m := e.Data.Len(), &e.Config.Metrics; n < total && len(m.Final) > 0 && m.Sample == 0 {
		s.console.Info("codes", fmt.Sprintf("%d of the %d images are measured, with %d code columns; "+
			"metrics.sample sets the number, and metrics.encode=true takes all", n, total, e.Coder.Width()), "images", n)
	}
	if codes, err = e.Codes(ctx); err != nil {
		return codes, err
	}
	if e.Config.Metrics.Encode == EncodeNone {
		err = s.removeFiles(rundir.CodesFile, rundir.FactorsFile, rundir.LevelsFile)
	} else {
		err = s.writeCodes(codes)
	}
	if err != nil {
		return codes, err
	}
	if r.Fit, err = e.fit(ctx, codes); err != nil || r.Fit == nil {
		return codes, err
	}
	if !r.Fit.Converged {
		s.console.Note("fit", "training has not converged: "+r.Fit.Why)
	}
	return codes, s.store.Write(rundir.FitFile, rundir.JSON(r.Fit))
}

func (s *session) writeCodes(codes matrix.Matrix) error {
	if err := s.store.Write(rundir.CodesFile, rundir.WriteCodes(codes)); err != nil {
		return err
	}
	for name, write := range rundir.FactorFiles(s.experiment.Data) {
		if err := s.store.Write(name, write); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) removeFiles(files ...string) error {
	for _, name := range files {
		if err := s.store.Remove(name); err != nil {
			return fmt.Errorf("an earlier %s: %w", name, err)
		}
	}
	return nil
}

// codesOf returns the codes of the data set, with its factors, as slices of rows.
func (e *Experiment) codesOf(codes matrix.Matrix) *Codes {
	list := &Codes{Factors: e.Data.Factors()}
	for i := range codes.Rows {
		row, levels := numeric.Convert[float32](codes.Row(i)), make([]int, len(list.Factors))
		e.Data.FactorsAt(i, levels)
		list.Codes, list.Levels = append(list.Codes, row), append(list.Levels, levels)
	}
	return list
}

// AverageSuffix is the suffix in names of results of averaged weights.
const AverageSuffix = "-average"

// measureAverage measures the model with averaged weights on the same images; nil without an average or metrics.
func (s *session) measureAverage(ctx context.Context) ([]metrics.Result, error) {
	e := s.experiment
	if len(e.Final()) == 0 || !s.loop.SwapAverage() {
		return nil, nil
	}
	defer s.loop.SwapAverage()
	return e.measureAll(ctx, e.Final(), AverageSuffix)
}

func (s *session) measureOthers(ctx context.Context) (list []metrics.Result, err error) {
	for i, e := range s.experiment.others {
		m := s.experiment.Config.Metrics.On[i]
		e.Progress = s.experiment.Progress
		results, err := e.measureAll(ctx, m.Metrics, "-on-"+m.Dataset.Name)
		if err != nil {
			return nil, fmt.Errorf("on %s: %w", m.Dataset.Name, err)
		}
		list = append(list, results...)
	}
	return list, nil
}

// measureAll encodes and measures the data set of the experiment. The names of the results end in the suffix.
func (e *Experiment) measureAll(ctx context.Context, list []metrics.Choice, suffix string) ([]metrics.Result, error) {
	codes, err := e.Codes(ctx)
	if err != nil {
		return nil, err
	}
	results, err := e.Evaluate(ctx, codes, list)
	for i := range results {
		results[i].Name += suffix
	}
	return results, err
}

// minSpread is a threshold: codes with a smaller spread have collapsed. Random codes have a spread near 1.
const minSpread = 0.05
