package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/train/rundir"
)

// RunCurves returns the curves of a run's log: the losses of each objective and every metric measured during training,
// by epoch. It returns nil for an empty log. Losses of the given names come first, in this order; nil means the sum,
// loss.
func RunCurves(first []string, log []rundir.Line) *web.Curves {
	if first == nil {
		first = []string{"loss"}
	}
	var list []web.Panel
	for _, o := range keys(log, func(line rundir.Line) map[string]map[string]float64 { return line.Losses }) {
		losses := seriesOf(log, func(line rundir.Line) map[string]float64 { return line.Losses[o] })
		slices.SortStableFunc(losses, func(a, b web.Series) int { return cmp.Compare(place(first, a.Name), place(first, b.Name)) })
		list = append(list, web.Panel{Title: "Losses, " + o, X: "epoch", Y: "loss (parts without weights)", Log: true, Series: losses})
	}
	if measured := seriesOf(log, func(line rundir.Line) map[string]float64 { return line.Metrics }); measured != nil {
		list = append(list, web.Panel{Title: "Metrics during training", X: "epoch", Y: "value", Lines: true, Series: measured})
	}
	if len(list) == 0 {
		return nil
	}
	return &web.Curves{Panels: list}
}

// place is the index of a name in a list, or the list's length without it.
func place(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// keys lists the sorted keys of maps of lines.
func keys[V any](log []rundir.Line, of func(rundir.Line) map[string]V) []string {
	all := map[string]bool{}
	for _, line := range log {
		for k := range of(line) {
			all[k] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// seriesOf returns the curves of values by name, over the epochs of the lines that have them.
func seriesOf(log []rundir.Line, values func(rundir.Line) map[string]float64) (list []web.Series) {
	for _, name := range keys(log, values) {
		var x, y []float64
		for _, line := range log {
			if v, ok := values(line)[name]; ok {
				x, y = append(x, float64(line.Epoch)), append(y, v)
			}
		}
		list = append(list, web.Series{Name: name, X: web.Floats(x, len(x)), Y: web.Floats(y, len(y))})
	}
	return list
}
