package cli

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

const seedColumn = "seed"

// difference is a setting that differs between compared runs.
type difference struct {
	Key    string    `json:"key"`
	Values []*string `json:"values"` // null for a run without the setting
}

// seedGroup holds the indices of runs with equal settings except the seed, and the spread of each metric over them.
type seedGroup struct {
	Runs    []int    `json:"runs"`
	Spreads []spread `json:"spreads"` // in the order of the metrics
}

// spread describes the values of a metric: mean, standard deviation (n-1) and extremes. With fewer than two values
// the deviation is missing.
type spread struct {
	Count int  `json:"count"`
	Mean  cell `json:"mean"`
	Std   cell `json:"std"`
	Least cell `json:"min"`
	Most  cell `json:"max"`
}

// spreadOf returns the spread of the finite values.
func spreadOf(values []float64) spread {
	sum, squares, n := 0.0, 0.0, 0
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite := !math.IsNaN(v) && !math.IsInf(v, 0); finite {
			sum, n, least, most = sum+v, n+1, min(least, v), max(most, v)
		}
	}
	mean := sum / float64(n)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			squares += (v - mean) * (v - mean)
		}
	}
	return spread{n, cell(mean), cell(math.Sqrt(squares / float64(n-1))), cell(least), cell(most)}
}

// settingsOf reads the settings of a source; nil if the source is not the folder of a run.
func settingsOf(source string) *index.Run {
	if !exists(filepath.Join(source, rundir.Config)) {
		return &index.Run{Dir: source}
	}
	return index.Read(source, source)
}

// compareSettings finds the settings that differ between runs, and groups the runs that differ only in the seed.
func (x *comparison) compareSettings(runs []*index.Run) {
	columns := index.Differing(runs)
	others := 0
	for _, c := range columns {
		d := difference{Key: c.Name}
		for _, r := range runs {
			var value *string
			if text, ok := c.Of(r); ok {
				value = &text
			}
			d.Values = append(d.Values, value)
		}
		x.Settings = append(x.Settings, d)
		if c.Name != seedColumn {
			others++
		}
	}
	if others == 0 {
		x.Settings = nil
	}
	x.Seeds = x.seedGroups(runs, columns)
}

// seedGroups lists groups of at least two runs that differ only in the seed.
func (x *comparison) seedGroups(runs []*index.Run, columns []index.Column) (groups []seedGroup) {
	at := map[string]int{}
	var all []seedGroup
	for i, r := range runs {
		if r.Settings.Len() == 0 {
			continue
		}
		var key strings.Builder
		for _, c := range columns {
			if c.Name != seedColumn {
				text, ok := c.Of(r)
				fmt.Fprintf(&key, "%q %v\n", text, ok)
			}
		}
		j, ok := at[key.String()]
		if !ok {
			j = len(all)
			at[key.String()] = j
			all = append(all, seedGroup{})
		}
		all[j].Runs = append(all[j].Runs, i)
	}
	for _, g := range all {
		if len(g.Runs) < 2 || !severalSeeds(runs, g.Runs) {
			continue
		}
		for _, m := range x.Metrics {
			var values []float64
			for _, i := range g.Runs {
				values = append(values, float64(m.Values[i]))
			}
			g.Spreads = append(g.Spreads, spreadOf(values))
		}
		groups = append(groups, g)
	}
	return groups
}

// severalSeeds reports whether the runs of a group have different seeds.
func severalSeeds(runs []*index.Run, group []int) bool {
	first, _ := runs[group[0]].Settings.Get(seedColumn)
	for _, i := range group[1:] {
		if seed, _ := runs[i].Settings.Get(seedColumn); seed != first {
			return true
		}
	}
	return false
}

// printSettings writes a line for each setting that differs between runs.
func (x *comparison) printSettings(w io.Writer) {
	if len(x.Settings) == 0 {
		return
	}
	fmt.Fprint(w, "\nsetting")
	for i := range x.Runs {
		fmt.Fprintf(w, "\t%d", i+1)
	}
	fmt.Fprintln(w)
	for _, d := range x.Settings {
		fmt.Fprint(w, d.Key)
		for _, v := range d.Values {
			if v == nil {
				fmt.Fprint(w, "\t-")
			} else {
				fmt.Fprintf(w, "\t%s", *v)
			}
		}
		fmt.Fprintln(w)
	}
}

// printSeeds writes the spread of each metric over the seeds.
func (x *comparison) printSeeds(w io.Writer) {
	if len(x.Seeds) == 0 {
		return
	}
	fmt.Fprint(w, "\nmean ± deviation over seeds (least to most)")
	for _, g := range x.Seeds {
		var places []string
		for _, i := range g.Runs {
			places = append(places, strconv.Itoa(i+1))
		}
		fmt.Fprintf(w, "\truns %s", strings.Join(places, ", "))
	}
	fmt.Fprintln(w)
	for i, m := range x.Metrics {
		fmt.Fprint(w, m.Name)
		for _, g := range x.Seeds {
			switch s := g.Spreads[i]; {
			case s.Count < 2:
				fmt.Fprint(w, "\t-")
			default:
				fmt.Fprintf(w, "\t%s ± %s (%s to %s)", report.Number(float64(s.Mean)), report.Number(float64(s.Std)), report.Number(float64(s.Least)), report.Number(float64(s.Most)))
			}
		}
		fmt.Fprintln(w)
	}
}
