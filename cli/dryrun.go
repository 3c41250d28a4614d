package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// dryRunFlags are flags of commands that make many runs.
type dryRunFlags struct {
	DryRun   bool `help:"List the runs to make, with times estimated from finished runs, but make none."`
	Rehearse bool `help:"With --dry-run: estimate the other times, too, by training first steps for about a minute."`
}

func (f *dryRunFlags) checkRehearse() error {
	if f.Rehearse && !f.DryRun {
		return usagef("--rehearse belongs to --dry-run")
	}
	return nil
}

// rehearsing is the time after which a dry run rehearses no further kinds of runs.
const rehearsing = time.Minute

// forecasting says how forecasts estimates times.
type forecasting struct {
	jobs      int  // number of runs at a time
	elsewhere bool // the runs are made on other machines
	rehearse  bool
	times     func(sweep.Run) (time.Duration, bool) // see [sweep.Forecasting]
}

// forecasts estimates the times of runs. Each rehearsal is a process, and forecasts logs the progress. Runs for other machines may want a precision
// that this processor lacks; their rehearsals use float32.
func forecasts(ctx context.Context, log io.Writer, dir string, runs []sweep.Run, f forecasting) ([]sweep.Forecast, error) {
	how := sweep.Forecasting{Jobs: f.jobs, Times: f.times}
	if !f.rehearse {
		return sweep.Forecasts(ctx, dir, runs, how)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	rehearse := sweep.RehearseProcesses(program, "rehearse")
	progress := newSweepProgress(log)
	defer progress.clear()
	how.Rehearse, how.Limit, how.Observe = rehearse, rehearsing, progress.rehearsal
	if f.elsewhere {
		if slices.ContainsFunc(runs, func(r sweep.Run) bool { return r.Config.Train.Precision != train.Here(r.Config).Train.Precision }) {
			progress.say("mixed precision is not to be had here: its runs are estimated in float32")
		}
		how.Rehearse = func(ctx context.Context, c train.Config, threads int, alone bool) (*train.Estimate, error) {
			return rehearse(ctx, train.Here(c), threads, alone)
		}
	}
	list, err := sweep.Forecasts(ctx, dir, runs, how)
	like := 0
	for _, f := range list {
		if f.Like != "" {
			like++
		}
	}
	if like > 0 {
		progress.say("rehearsals took more than %v: %s of further kinds count as those most like them", rehearsing, counted(like, "run"))
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

// showForecasts prints forecasts for a folder of runs, as a table or as one JSON object.
func showForecasts(w io.Writer, asJSON bool, dir string, list []sweep.Forecast, jobs int) error {
	if !asJSON {
		return printForecasts(w, list, jobs)
	}
	var runs []sweepRun
	for _, f := range list {
		runs = append(runs, sweepRun{Name: f.Name, Dir: f.Dir, State: f.State, Seconds: f.Takes.Seconds(), Unknown: f.Unknown})
	}
	known, unknown := total(list, jobs)
	return json.NewEncoder(w).Encode(map[string]any{"dir": dir, "runs": runs, "seconds": known.Seconds(), "unknown": unknown})
}

// printForecasts prints forecasts as a table.
func printForecasts(w io.Writer, list []sweep.Forecast, jobs int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tSTATE\tWOULD TAKE")
	for _, f := range list {
		takes := "-"
		switch {
		case f.Unknown:
			takes = "unknown"
		case f.State != sweep.Finished:
			takes = span(f.Takes.Seconds())
			if f.Like != "" {
				takes += ", as " + f.Like
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Name, f.State, takes)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	hint := ""
	if _, unknown := total(list, jobs); unknown > 0 {
		hint = "; --rehearse estimates unknown times by training first steps"
	}
	_, err := fmt.Fprintf(w, "%s%s\n", toMake(list, jobs), hint)
	return err
}

// toMake says how many runs are missing, and how long they take.
func toMake(list []sweep.Forecast, jobs int) string {
	missing := 0
	for _, f := range list {
		if f.State != sweep.Finished {
			missing++
		}
	}
	text := fmt.Sprintf("%d of %d runs to make", missing, len(list))
	switch known, unknown := total(list, jobs); {
	case unknown == 0:
		return fmt.Sprintf("%s, about %s with %d at once", text, known.Round(time.Second), jobs)
	case unknown == missing:
		return text + ", in an unknown time"
	default:
		return fmt.Sprintf("%s, %d of them in about %s with %d at once, %d in an unknown time", text, missing-unknown, known.Round(time.Second), jobs, unknown)
	}
}

// confirm asks a question on the terminal. Without a terminal there is no answer, and the error asks for the flag instead.
func confirm(ctx context.Context, log io.Writer, question, flag string) (bool, error) {
	if plain.Terminal(log) == nil || plain.Terminal(os.Stdin) == nil {
		return false, usagef("%s: want %s", question, flag)
	}
	fmt.Fprintf(log, "%s? [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // the terminal cannot be interrupted
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // the end of the input means no
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return false, train.ErrStopped
	case a := <-answer:
		return a == "y" || a == "yes", nil
	}
}
