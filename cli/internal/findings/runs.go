package findings

import (
	"fmt"
	"maps"
	"strings"

	"github.com/unravel-ml/unravel/results/tables"
)

// effort is the cost of a list of runs: the time spent so far, and the time for missing runs.
type effort struct {
	runs, held       int
	spent, remaining float64 // core-seconds
	unknown          int     // missing runs of tables without any measured run
}

// effortOf adds up the runs of a table and skips runs counted before. A missing run takes the mean time of its kind,
// otherwise the mean of the table. A run with known wall time only takes the mean core time of its kind if another
// run has measured it.
func effortOf(list []tables.Planned, counted map[string]bool) effort {
	kinds := map[string]mean{}
	for _, wall := range []bool{false, true} {
		found := map[string]mean{}
		for _, p := range list {
			if p.Seconds > 0 && p.Wall == wall && kinds[p.Kind].n == 0 {
				found[p.Kind] = found[p.Kind].with(p.Seconds)
			}
		}
		maps.Copy(kinds, found)
	}
	took := func(p tables.Planned) float64 {
		if p.Wall {
			return kinds[p.Kind].value()
		}
		return p.Seconds
	}
	var all mean
	for _, p := range list {
		if p.Seconds > 0 {
			all = all.with(took(p))
		}
	}
	var e effort
	for _, p := range list {
		if counted[p.Key] {
			continue
		}
		counted[p.Key] = true
		e.runs++
		switch {
		case p.Seconds > 0:
			e.held++
			e.spent += took(p)
		case kinds[p.Kind].n > 0:
			e.remaining += kinds[p.Kind].value()
		case all.n > 0:
			e.remaining += all.value()
		default:
			e.unknown++
		}
	}
	return e
}

// mean is a sum and the number of its terms.
type mean struct {
	sum float64
	n   int
}

func (m mean) with(v float64) mean { return mean{m.sum + v, m.n + 1} }

func (m mean) value() float64 { return m.sum / float64(m.n) }

// remainingText is the time of missing runs in core-hours.
func (e effort) remainingText() string {
	switch text := fmt.Sprintf("%.1f", e.remaining/3600); {
	case e.unknown == 0:
		return text
	case e.remaining == 0:
		return "not known"
	default:
		return fmt.Sprintf("%s, and %d runs", text, e.unknown)
	}
}

// writeRuns writes how many runs of each table the ledger holds, and the time for the missing ones.
func writeRuns(b *strings.Builder, results []*tables.Result) error {
	b.WriteString(`
## Runs

The runs that tables need at these scales, how many of them the ledger holds that are not stale, the core-hours that these have taken, and the core-hours that the others would: the mean of the same row,
else of the table. A run counts with its time on cores. One that was made before runs noted this counts with the mean of those of its row that did; where there is none, with its wall time times its threads, which is up
to four times as much where the machine did other work beside it. Runs that several tables share are counted with the first one.

| table | scale | runs | held | core-hours | missing core-hours |
|---|---|---:|---:|---:|---:|
`)
	var total effort
	counted := map[string]bool{}
	for _, r := range results {
		list, err := r.Table.Planned(r.Scale)
		if err != nil {
			return fmt.Errorf("table %s: %w", r.Name, err)
		}
		e := effortOf(list, counted)
		if e.runs == 0 {
			continue
		}
		fmt.Fprintf(b, "| `%s` | %s | %d | %d | %.1f | %s |\n", r.Name, r.Scale, e.runs, e.held, e.spent/3600, e.remainingText())
		total.runs, total.held, total.unknown = total.runs+e.runs, total.held+e.held, total.unknown+e.unknown
		total.spent, total.remaining = total.spent+e.spent, total.remaining+e.remaining
	}
	_, err := fmt.Fprintf(b, "| **all** | | %d | %d | %.1f | %s |\n", total.runs, total.held, total.spent/3600, total.remainingText())
	return err
}
