package train

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/report"
	"github.com/unravel-ml/unravel/train/report/web"
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
	c.spread, c.spreads = spreadOf(s.logs.last)
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
	if p.Heat, err = report.PageHeat(ctx, e.shown(codes), c.results); ctx.Err() != nil {
		return p, ErrStopped
	}
	if err != nil {
		return p, err
	}
	if p.Codes, err = e.pageCodes(codes); err != nil {
		return p, err
	}
	p.Explore, err = e.Explore(nil, codes)
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
		add("machine", "%s/%s, %s kernels, %s of %d cores", r.Machine.OS, r.Machine.Arch, r.Machine.Kernels, counted(r.Machine.Threads, "thread"), r.Machine.Cores)
		add("version", "%s, %s", r.Version, r.Machine.Go)
		if other := r.History.Other(); other != "" {
			add("not the run of its config", "%s", other)
		}
	}
	return list
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
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
		return "cp " + quoted(source) + " again.yaml && unravel train again.yaml --run " + quoted(fresh)
	}
	return "unravel train " + quoted(source) + " --run " + quoted(fresh)
}

// quoted quotes a word for a POSIX shell if the word needs it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./,:@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
