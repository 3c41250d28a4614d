package training

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/train"
)

// printPlan writes the plan of a config, a line for each subject.
func printPlan(w io.Writer, p *train.Plan, dir string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	d, m, s := &p.Dataset, &p.Memory, &p.Schedule
	if p.Stage != "" {
		line("stage", "the first of two, whose codes %s explores; the time is of both", p.Stage)
	}
	line("data set", "%s: %s images of %d x %d x %d, %s%s", d.Name, thousands(d.Images), d.Height, d.Width, d.Channels, inMemory(d), ofImages(d))
	var parts []string
	total := 0
	for _, part := range p.Network {
		if total += part.Parameters; part.Parameters > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", part.Name, thousands(part.Parameters)))
		}
	}
	line("parameters", "%s: %s", thousands(total), strings.Join(parts, ", "))
	line("steps", "%s epochs of %s steps, %s steps of a batch of %s images", thousands(s.Epochs), thousands(s.EpochSteps), thousands(s.Steps), thousands(s.Batch))
	line("memory", "about %s of %s usable", memory.Text(m.Peak), memory.Text(m.Usable))
	for _, part := range []struct {
		name  string
		bytes float64
	}{
		{"data set", d.Bytes}, {"parameters", m.Parameters}, {"moments of the optimiser", m.Moments}, {"gradients", m.Gradients}, {"activations", m.Activations},
		{"batches", m.Batches}, {"scratch", m.Scratch}, {"encoding and drawing", m.Encoding}, {"codes and metrics", m.Codes},
	} {
		line("  "+part.name, "%s", memory.Text(part.bytes))
	}
	for _, x := range p.Placements {
		line("on "+p.Device, "%s, a step of %s: %s on the GPU, %s on the CPU%s", x.Objective, wording.Count(x.Images, "image"), wording.Count(x.Device, "operation"), thousands(x.CPU), onlyOnCPU(x.OnCPU))
		line("  copies", "%s up, %s down, in %s (%s, %s)", memory.Text(float64(x.Up)), memory.Text(float64(x.Down)), wording.Count(x.Tapes, "tape"), wording.Count(x.Dispatches, "kernel"), wording.Count(x.Barriers, "barrier"))
	}
	if p.Time.Steps > 0 {
		t := &p.Time
		line("time", "about %s", ui.Span(t.Total))
		for _, part := range []struct {
			name    string
			seconds float64
		}{
			{"begin", t.Begin}, {"training", t.Training}, {"evaluations during training", t.During}, {p.Stage + " on codes", t.Learn},
			{"encoding", t.Encode}, {"final metrics", t.Measure}, {"figures", t.Draw},
		} {
			if part.seconds > 0 {
				line("  "+part.name, "%s", ui.Span(part.seconds))
			}
		}
		line("  a step", "%s on %d threads, the mean of %d steps: %.3g GFLOP at %.3g GFLOP/s", ui.Span(t.Step), t.Threads, t.Steps, t.FLOP/1e9, t.FLOP/t.Step/1e9)
	}
	if x := &p.Measures; len(x.During) > 0 {
		line("during", "%s on %s images, every %s epochs", strings.Join(x.During, ", "), thousands(x.Images), thousands(x.Every))
	}
	final := "no metrics"
	if len(p.Measures.Final) > 0 {
		final = strings.Join(p.Measures.Final, ", ")
	}
	line("at the end", "%s; codes of %s images", final, thousands(p.Measures.FinalImages))
	line("writes", "%s: %s", dir, strings.Join(p.Writes, ", "))
	return t.Flush()
}

// onlyOnCPU lists operations with their numbers.
func onlyOnCPU(operations map[string]int) string {
	if len(operations) == 0 {
		return ""
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		list = append(list, fmt.Sprintf("%s %d", name, operations[name]))
	}
	return ": " + strings.Join(list, ", ")
}

// ofImages describes the training images of a data set.
func ofImages(d *train.PlanData) (text string) {
	if d.Labelled > 0 {
		text += fmt.Sprintf("; %s with labels or in groups", thousands(d.Labelled))
	}
	if d.HeldOut > 0 {
		text += fmt.Sprintf("; %s held out", thousands(d.HeldOut))
	}
	return text
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// inMemory says how much memory the images of a data set take.
func inMemory(d *train.PlanData) string {
	if d.Bytes == 0 {
		return "read from the disk as they are needed"
	}
	return memory.Text(d.Bytes) + " in memory"
}
