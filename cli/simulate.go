package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train/sweep"
)

// simulateFlag holds the simulated machines.
type simulateFlag struct{ machines *sweep.Machines }

// UnmarshalText reads nodes=64,cores=64.
func (f *simulateFlag) UnmarshalText(text []byte) (err error) {
	f.machines, err = sweep.ParseMachines(string(text))
	return err
}

// simulate estimates the times of runs from one run of each cost, and simulates the runs on machines.
func (f *simulateFlag) simulate(ctx context.Context, log io.Writer, dir string, runs []sweep.Run) (*sweep.Simulation, error) {
	at := map[string]int{}
	var chosen []sweep.Run
	costs := make([]int, len(runs))
	for i, r := range runs {
		key := sweep.CostOf(r)
		place, ok := at[key]
		if !ok {
			place = len(chosen)
			at[key], chosen = place, append(chosen, r)
		}
		costs[i] = place
	}
	list, err := forecasts(ctx, log, dir, chosen, forecasting{jobs: max(1, runtime.GOMAXPROCS(0)/int(f.machines.Threads)), elsewhere: true, rehearse: true})
	if err != nil {
		return nil, err
	}
	seconds := make([]float64, len(runs))
	for i := range runs {
		one := list[costs[i]]
		seconds[i] = one.Takes.Seconds()
		if one.State == sweep.Finished {
			seconds[i] = sweep.Read(one.Dir).Record.Seconds
		}
	}
	return f.machines.Simulate(sweep.Pieces(dir, runs, seconds))
}

// simulated is a simulation for JSON.
type simulated struct {
	Name string `json:"name"`
	*sweep.Simulation
	Limit   string   `json:"limit"`
	Assumed []string `json:"assumed"` // KEY=NUMBER for defaults
}

// print writes a simulation.
func (f *simulateFlag) print(w io.Writer, s *sweep.Simulation) error {
	m := f.machines
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "runs\t%d, %d at a time in %d places (%.0f nodes of %.0f cores, %.0f for a run)\n", s.Runs, s.Tasks, s.Places, m.Nodes, m.Cores, m.Threads)
	fmt.Fprintf(t, "wall time\t%s, of which tasks need %s to begin\n", rounded(s.Wall), rounded(s.Begin))
	fmt.Fprintf(t, "core-hours\t%.4g\n", s.CoreHours)
	fmt.Fprintf(t, "longest run\t%s\n", rounded(s.Longest))
	fmt.Fprintf(t, "use of cores\t%.3g %%\n", 100*s.Use)
	fmt.Fprintf(t, "file system\t%.3g of %.3g operations a second, %.3g of %.3g MB; the limit from %.3g and %.3g nodes\n", s.Ops, m.Ops, s.Written, m.Bandwidth, s.OpsNodes, s.MBNodes)
	fmt.Fprintf(t, "following\t%s for the first look\n", rounded(s.Follow))
	fmt.Fprintf(t, "more nodes\tend no sooner from %.0f on\n", s.RunNodes)
	fmt.Fprintf(t, "limit\t%s\n", s.Limit(m))
	if len(m.Assumed) > 0 {
		fmt.Fprintf(t, "assumed\t%s\n", strings.Join(m.Assumed, ","))
	}
	return t.Flush()
}

// rounded returns a time for people, with a precision that suits its size.
func rounded(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d > time.Hour:
		return d.Round(time.Minute)
	case d > time.Minute:
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// simulateSweep simulates the runs of a sweep.
func (c *sweepCommand) simulateSweep(ctx context.Context, s *streams, name string, runs []sweep.Run) error {
	found, err := c.Simulate.simulate(ctx, s.log, c.Out, runs)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(simulated{name, found, found.Limit(c.Simulate.machines), c.Simulate.machines.Assumed})
	}
	return c.Simulate.print(s.out, found)
}

// simulate simulates all runs of tables at a scale. Of several tables it takes the trained ones.
func (c *tableCommand) simulate(ctx context.Context, s *streams) error {
	c.Scale = cmp.Or(c.Scale, tables.QuickScale)
	names := []string{c.Name}
	if c.Name == "" {
		names = tables.Names()
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	if !c.JSON && len(names) > 1 {
		fmt.Fprintln(t, "TABLE\tRUNS\tCORE-HOURS\tWALL\tLONGEST\tUSE\tLIMIT")
	}
	for _, name := range names {
		table, err := c.open(name)
		if unknown := (*tables.UnknownError)(nil); errors.As(err, &unknown) {
			return usageError{err}
		}
		if err != nil {
			return err
		}
		if !table.Trains() {
			if len(names) == 1 {
				return usagef("--simulate: the table %s trains nothing", table.Name)
			}
			continue
		}
		if _, err := table.Scales.Find(c.Scale); err != nil {
			return usagef("--scale %s: the table %s: %w", c.Scale, table.Name, err)
		}
		runs, err := table.Runs(c.Scale)
		if err != nil {
			return err
		}
		found, err := c.Simulate.simulate(ctx, s.log, filepath.Clean(cmp.Or(c.Runs, runsOf(table))), runs)
		if err != nil {
			return fmt.Errorf("table %s: %w", table.Name, err)
		}
		limit := found.Limit(c.Simulate.machines)
		switch {
		case c.JSON:
			if err := json.NewEncoder(s.out).Encode(simulated{table.Name, found, limit, c.Simulate.machines.Assumed}); err != nil {
				return err
			}
		case len(names) == 1:
			return c.Simulate.print(s.out, found)
		default:
			fmt.Fprintf(t, "%s\t%d\t%.4g\t%s\t%s\t%.3g %%\t%s\n", table.Name, found.Runs, found.CoreHours, rounded(found.Wall), rounded(found.Longest), 100*found.Use, limit)
		}
	}
	if !c.JSON && len(names) > 1 {
		fmt.Fprintf(t, "assumed: %s\n", strings.Join(c.Simulate.machines.Assumed, ","))
	}
	return t.Flush()
}
