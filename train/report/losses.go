package report

import (
	"io"

	"github.com/unravel-ml/unravel/train/rundir"
)

// LossNames names the losses of an objective in the order in which they are drawn.
type LossNames struct {
	Objective string
	Names     []string
}

// LossCurves draws the mean losses of every epoch that a run's log holds. It writes nothing for a log without epochs.
func LossCurves(w io.Writer, title string, objectives []LossNames, log []rundir.Line) error {
	var series []Series
	at := map[string]int{}
	for _, line := range log {
		for _, o := range objectives {
			losses := line.Losses[o.Objective]
			if losses == nil { // the line is an evaluation
				continue
			}
			for _, name := range o.Names {
				key := o.Objective + " " + name
				i, ok := at[key]
				if !ok {
					i = len(series)
					at[key] = i
					series = append(series, Series{Name: key})
				}
				series[i].X = append(series[i].X, float64(line.Epoch))
				series[i].Y = append(series[i].Y, losses[name])
			}
		}
	}
	if len(series) == 0 {
		return nil
	}
	return Curves(w, CurveOptions{Title: title, XLabel: "epoch", YLabel: "loss (parts without weights)", Log: true}, series)
}
