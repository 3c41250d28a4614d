package tables

import (
	"io"
	"math"
	"strings"

	"github.com/unravel-ml/unravel/train/report"
)

// rankFiles returns the flow charts of ranks of a result that compares columns, one for each data set. A line for
// every row connects its ranks in neighbouring columns, as in figure 13 of Cao et al. 2022. If columns agreed, no
// lines would cross.
func (r *Result) rankFiles() []CurveFile {
	if r.Agreement == nil || len(r.table.Columns) < 2 {
		return nil
	}
	var list []CurveFile
	places := r.table.places()
	for p, place := range places {
		series := r.rankLines(p, len(places))
		if len(series) < 2 { // nothing to cross
			continue
		}
		title, name := r.Title, r.Name+"-ranks"
		if place.at != nil {
			title, name = title+": "+place.at.Label, name+"-"+strings.ToLower(plainName(place.at.Label))
		}
		list = append(list, CurveFile{name + ".png", func(w io.Writer) error {
			return report.Curves(w, report.CurveOptions{Title: title, YLabel: "rank", Names: r.Agreement.Columns, Down: true, Marked: true}, series)
		}})
	}
	return list
}

// rankLines returns the ranks of rows by column on a data set. It skips rows without a rank.
func (r *Result) rankLines(place, places int) (list []report.Series) {
	for _, row := range r.Rows {
		s, some := report.Series{Name: row.Label}, false
		for i := range r.table.Columns {
			rank := row.Cells[i*places+place].Rank
			if rank == 0 {
				rank = math.NaN()
			}
			some = some || rank > 0
			s.X, s.Y = append(s.X, float64(i)), append(s.Y, rank)
		}
		if some {
			list = append(list, s)
		}
	}
	return list
}
