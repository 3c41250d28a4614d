package report

import (
	"maps"
	"slices"

	"github.com/unravel-ml/unravel/report/web"
	"github.com/unravel-ml/unravel/rundir"
)

// RunCurves returns the curves that a run's log holds: the losses of each objective by epoch, and every metric that was
// measured during training by epoch; nil for an empty log. Objectives that are named have their losses in the order of the names;
// others follow in order of their letters.
func RunCurves(objectives []LossNames, log []rundir.Line) *web.Curves {
	var list []web.Panel
	for _, o := range inLog(objectives, log) {
		p := web.Panel{Title: "Losses, " + o.Objective, X: "epoch", Y: "loss (parts without weights)", Log: true}
		for _, name := range o.Names {
			p.Series = appendSeries(p.Series, name, log, func(line rundir.Line) (float64, bool) {
				v, ok := line.Losses[o.Objective][name]
				return v, ok
			})
		}
		list = append(list, p)
	}
	measured := web.Panel{Title: "Metrics during training", X: "epoch", Y: "value"}
	for _, name := range keys(log, func(line rundir.Line) map[string]float64 { return line.Metrics }) {
		measured.Series = appendSeries(measured.Series, name, log, func(line rundir.Line) (float64, bool) {
			v, ok := line.Metrics[name]
			return v, ok
		})
	}
	if len(measured.Series) > 0 {
		list = append(list, measured)
	}
	if len(list) == 0 {
		return nil
	}
	return &web.Curves{Panels: list}
}

// inLog returns the objectives of a log with all their losses, those that are named first.
func inLog(named []LossNames, log []rundir.Line) []LossNames {
	var list []LossNames
	add := func(o string, first []string) {
		there := keys(log, func(line rundir.Line) map[string]float64 { return line.Losses[o] })
		names := slices.DeleteFunc(slices.Clone(first), func(n string) bool { return !slices.Contains(there, n) })
		for _, n := range there {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		if len(names) > 0 {
			list = append(list, LossNames{Objective: o, Names: names})
		}
	}
	for _, o := range named {
		add(o.Objective, o.Names)
	}
	for _, o := range keys(log, func(line rundir.Line) map[string]map[string]float64 { return line.Losses }) {
		if !slices.ContainsFunc(named, func(n LossNames) bool { return n.Objective == o }) {
			add(o, nil)
		}
	}
	return list
}

// keys lists the keys of maps of lines, sorted.
func keys[V any](log []rundir.Line, of func(rundir.Line) map[string]V) []string {
	all := map[string]bool{}
	for _, line := range log {
		for k := range of(line) {
			all[k] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// appendSeries adds the curve of a value over the epochs of the lines that have it.
func appendSeries(list []web.Series, name string, log []rundir.Line, value func(rundir.Line) (float64, bool)) []web.Series {
	var x, y []float64
	for _, line := range log {
		if v, ok := value(line); ok {
			x, y = append(x, float64(line.Epoch)), append(y, v)
		}
	}
	return append(list, web.Series{Name: name, X: web.Floats(x, len(x)), Y: web.Floats(y, len(y))})
}
