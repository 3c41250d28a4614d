package sweeps

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// DryRunFlags are flags of commands that make many runs.
type DryRunFlags struct {
	DryRun   bool `help:"List the missing runs, with times estimated from finished runs, without training."`
	Rehearse bool `help:"With --dry-run: also estimate the remaining times, by training the first steps for about a minute."`
}

func (f *DryRunFlags) CheckRehearse() error {
	if f.Rehearse && !f.DryRun {
		return ui.Usagef("--rehearse belongs to --dry-run")
	}
	return nil
}

const rehearsalLimit = time.Minute // time after which a dry run rehearses no further kinds of runs

// Forecasting holds the options of Forecasts.
type Forecasting struct {
	Jobs      int  // number of concurrent runs
	Elsewhere bool // the runs are for other machines
	Check     bool // check the configs of the missing runs, unless they are for other machines
	Rehearse  bool
	Times     func(sweep.Run) (time.Duration, bool) // see [sweep.Forecasting]
}

// Forecasts estimates the times of runs. Each rehearsal is a process. Forecasts logs the progress. Runs for other
// machines may want a precision that this processor lacks, so their rehearsals use float32.
func Forecasts(ctx context.Context, log io.Writer, dir string, runs []sweep.Run, f Forecasting) ([]sweep.Forecast, error) {
	options := sweep.Forecasting{Jobs: f.Jobs, Times: f.Times}
	var check *slog.Logger
	if f.Check && !f.Elsewhere {
		check = plain.Logger(log)
	}
	if !f.Rehearse {
		return sweep.Forecasts(ctx, dir, runs, options, check)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	rehearse := sweep.RehearseProcesses(program, "rehearse")
	progress := newProgress(log)
	defer progress.clear()
	options.Rehearse, options.Limit, options.Observe = rehearse, rehearsalLimit, progress.rehearsal
	if f.Elsewhere {
		if slices.ContainsFunc(runs, func(r sweep.Run) bool { return r.Config.Train.Precision != train.Here(r.Config).Train.Precision }) {
			progress.say("this processor lacks mixed precision: such runs are estimated in float32")
		}
		options.Rehearse = func(ctx context.Context, c train.Config, threads int, alone bool) (*train.Estimate, error) {
			return rehearse(ctx, train.Here(c), threads, alone)
		}
	}
	list, err := sweep.Forecasts(ctx, dir, runs, options, check)
	like := 0
	for _, f := range list {
		if f.Like != "" {
			like++
		}
	}
	if like > 0 {
		progress.say("rehearsals took more than %v: %s of other kinds count like the most similar run",
			rehearsalLimit, wording.Count(like, "run"))
	}
	return list, err
}

// total returns the time of all runs with a known time, several at once, and the number of runs with an unknown time.
func total(list []sweep.Forecast, jobs int) (known time.Duration, unknown int) {
	takes := make([]time.Duration, len(list))
	for i, f := range list {
		takes[i] = f.Takes
		if f.Unknown {
			unknown++
		}
	}
	return sweep.Span(takes, jobs), unknown
}

// ShowForecasts prints forecasts for a folder of runs, as a table or as one JSON object.
func ShowForecasts(w io.Writer, asJSON bool, dir string, list []sweep.Forecast, jobs int) error {
	known, unknown := total(list, jobs)
	if asJSON {
		var runs []Run
		for _, f := range list {
			runs = append(runs, Run{Name: f.Name, Dir: f.Dir, State: f.State, Seconds: f.Takes.Seconds(), Unknown: f.Unknown})
		}
		return ui.WriteJSON(w, map[string]any{"dir": dir, "runs": runs, "seconds": known.Seconds(), "unknown": unknown})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tSTATE\tWOULD TAKE")
	for _, f := range list {
		takes := "-"
		switch {
		case f.Unknown:
			takes = "unknown"
		case f.State != sweep.Finished:
			takes = ui.Span(f.Takes.Seconds())
			if f.Like != "" {
				takes += ", as " + f.Like
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Name, f.State, takes)
	}
	t.Flush()
	hint := ""
	if unknown > 0 {
		hint = "; --rehearse estimates unknown times by training first steps"
	}
	fmt.Fprintf(w, "%s%s\n", ToMake(list, jobs), hint)
	return nil
}

// ToMake formats the number of missing runs and their time.
func ToMake(list []sweep.Forecast, jobs int) string {
	missing := 0
	for _, f := range list {
		if f.State != sweep.Finished {
			missing++
		}
	}
	text := fmt.Sprintf("%d of %s to make", missing, wording.Count(len(list), "run"))
	switch known, unknown := total(list, jobs); {
	case unknown == 0:
		return fmt.Sprintf("%s, about %s with %d at once", text, known.Round(time.Second), jobs)
	case unknown == missing:
		return text + ", in an unknown time"
	default:
		return fmt.Sprintf("%s, %d of them in about %s with %d at once, %d in an unknown time",
			text, missing-unknown, known.Round(time.Second), jobs, unknown)
	}
}

// SimulateFlag holds the simulated machines.
type SimulateFlag struct{ Machines *sweep.Machines }

func (f *SimulateFlag) UnmarshalText(text []byte) (err error) {
	f.Machines, err = sweep.ParseMachines(string(text))
	return err
}

// Simulate estimates the times of runs from one run of each cost, and simulates the runs on machines.
func (f *SimulateFlag) Simulate(ctx context.Context, log io.Writer, dir string, runs []sweep.Run) (*sweep.Simulation, error) {
	indices := map[string]int{}
	var samples []sweep.Run
	costs := make([]int, len(runs))
	for i, r := range runs {
		key := sweep.CostOf(r)
		index, ok := indices[key]
		if !ok {
			index = len(samples)
			indices[key], samples = index, append(samples, r)
		}
		costs[i] = index
	}
	list, err := Forecasts(ctx, log, dir, samples, Forecasting{Jobs: max(1, runtime.GOMAXPROCS(0)/int(f.Machines.Threads)),
		Elsewhere: true, Rehearse: true})
	if err != nil {
		return nil, err
	}
	seconds := make([]float64, len(runs))
	for i := range runs {
		forecast := list[costs[i]]
		seconds[i] = forecast.Takes.Seconds()
		if forecast.State == sweep.Finished {
			seconds[i] = sweep.Read(forecast.Dir).Record.Seconds
		}
	}
	return f.Machines.Simulate(sweep.Pieces(dir, runs, seconds))
}

// Show writes the simulation of a sweep or table, as text or JSON. KEY=NUMBER in assumed stands for defaults.
func (f *SimulateFlag) Show(w io.Writer, asJSON bool, name string, s *sweep.Simulation) error {
	m := f.Machines
	if asJSON {
		return ui.WriteJSON(w, struct {
			Name string `json:"name"`
			*sweep.Simulation
			Limit   string   `json:"limit"`
			Assumed []string `json:"assumed"`
		}{name, s, s.Limit(m), m.Assumed})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "runs\t%d, %d at a time in %d places (%.0f nodes of %.0f cores, %.0f for a run)\n",
		s.Runs, s.Tasks, s.Places, m.Nodes, m.Cores, m.Threads)
	fmt.Fprintf(t, "wall time\t%s; tasks need %s of it to begin\n", Rounded(s.Wall), Rounded(s.Begin))
	fmt.Fprintf(t, "core-hours\t%.4g\n", s.CoreHours)
	fmt.Fprintf(t, "longest run\t%s\n", Rounded(s.Longest))
	fmt.Fprintf(t, "use of cores\t%.3g %%\n", 100*s.Use)
	fmt.Fprintf(t, "file system\t%.3g of %.3g operations a second, %.3g of %.3g MB; the limit from %.3g and %.3g nodes\n",
		s.Ops, m.Ops, s.Written, m.Bandwidth, s.OpsNodes, s.MBNodes)
	fmt.Fprintf(t, "following\t%s for the first look\n", Rounded(s.Follow))
	fmt.Fprintf(t, "more nodes\tend no sooner from %.0f on\n", s.RunNodes)
	fmt.Fprintf(t, "limit\t%s\n", s.Limit(m))
	if len(m.Assumed) > 0 {
		fmt.Fprintf(t, "assumed\t%s\n", strings.Join(m.Assumed, ","))
	}
	return t.Flush()
}

// Rounded returns a time for people, with a precision that suits its size.
func Rounded(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d > time.Hour:
		return d.Round(time.Minute)
	case d > time.Minute:
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// progress shows the progress of a sweep: a bar on a terminal, otherwise a line now and then.
type progress struct {
	w        io.Writer
	terminal *os.File // nil: w is no terminal
	every    time.Duration
	idle     time.Duration // time between lines without changes

	lock       sync.Mutex
	last       time.Time
	ended      int    // number of ended runs at the last line
	state      string // text of the last line, without the time left
	drawnWidth int    // length of the drawn line in characters
}

const barWidth = 24

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, terminal: plain.Terminal(w), every: 10 * time.Second, idle: time.Minute}
	if p.terminal != nil {
		p.every = 200 * time.Millisecond
	}
	return p
}

func (p *progress) observe(s sweep.Status) {
	p.lock.Lock()
	defer p.lock.Unlock()
	ended := s.Finished + s.Failed
	since, state := time.Since(p.last), withoutTimeLeft(s)
	if since < p.every && (p.terminal != nil || ended == p.ended) || p.terminal == nil && since < p.idle &&
		state == p.state {
		return
	}
	p.last, p.ended, p.state = time.Now(), ended, state
	if p.terminal == nil {
		fmt.Fprintln(p.w, s)
		return
	}
	full := int(s.Part * barWidth)
	p.draw("[" + strings.Repeat("=", full) + strings.Repeat(" ", barWidth-full) + "] " + s.String())
}

func (p *progress) rehearsal(run string, nth, maximum int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	line := fmt.Sprintf("rehearsing %s, %d of at most %d", run, nth, maximum)
	switch {
	case p.terminal != nil:
		p.draw(line)
	case time.Since(p.last) >= p.every:
		p.last = time.Now()
		fmt.Fprintln(p.w, line)
	}
}

// draw replaces the line on the terminal.
func (p *progress) draw(line string) {
	if width, _, err := term.GetSize(int(p.terminal.Fd())); err == nil && width > 0 {
		line = line[:min(len(line), width-1)]
	}
	p.erase()
	fmt.Fprint(p.terminal, line)
	p.drawnWidth = len(line)
}

// withoutTimeLeft returns the progress line of a sweep without the time left.
func withoutTimeLeft(s sweep.Status) string {
	s.Left = -1
	return s.String()
}

func (p *progress) say(format string, args ...any) { _, _ = fmt.Fprintf(p, format+"\n", args...) }

// Write writes text in place of the bar.
func (p *progress) Write(text []byte) (int, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.erase()
	return p.w.Write(text)
}

func (p *progress) erase() {
	if p.drawnWidth > 0 {
		fmt.Fprint(p.terminal, "\r"+strings.Repeat(" ", p.drawnWidth)+"\r")
		p.drawnWidth = 0
	}
}

func (p *progress) clear() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.erase()
}
