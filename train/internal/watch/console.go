// Package watch shows the progress of training and writes the logs of a run: log.jsonl and TensorBoard's events.
package watch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train/engine"
)

const quietInterval = 10 * time.Second // interval of progress lines without a terminal

// Console logs the events of a run and draws its progress.
type Console struct {
	Log      *slog.Logger // nil: silent
	Terminal *os.File     // nil: no bars
	clear    func()       // clears the line of a progress bar for other text; nil without a bar
	noted    []string     // sentences of Notes so far
}

func (c *Console) Info(event, text string, values ...any) {
	c.write(slog.LevelInfo, event, text, values)
}
func (c *Console) Note(event, text string, values ...any) {
	c.write(plain.LevelNote, event, text, values)
}

// Notes logs the sentences of a list that it has not logged before.
func (c *Console) Notes(event string, list []string) {
	for _, text := range list {
		if !slices.Contains(c.noted, text) {
			c.noted = append(c.noted, text)
			c.Note(event, text)
		}
	}
}

// Warn logs a warning. The record of a warning contains its level.
func (c *Console) Warn(event, text string, values ...any) {
	c.write(slog.LevelWarn, event, strings.TrimPrefix(text, "warning: "), values)
}

func (c *Console) write(level slog.Level, event, text string, values []any) {
	if c.Log == nil {
		return
	}
	if c.clear != nil {
		c.clear()
	}
	c.Log.Log(context.Background(), level, text, append([]any{"event", event}, values...)...)
}

func (c *Console) Hook(priority int) engine.Hook {
	var d *Display
	return engine.Hook{Name: "progress", Priority: priority, NoParams: true,
		OnStart: func(_ context.Context, l *engine.Loop) error {
			d = newDisplay(l, c)
			c.clear = d.Clear
			return nil
		},
		OnStep:  func(_ context.Context, _ *engine.Loop, r *engine.StepReport) error { d.Step(r); return nil },
		OnEpoch: func(_ context.Context, _ *engine.Loop, r *engine.EpochReport) error { d.Epoch(r); return nil },
		OnEnd: func(context.Context, *engine.Loop, error) error {
			d.End()
			c.clear = nil
			return nil
		}}
}

// Steps calls a function with the numbers of finished steps and of all steps.
func Steps(f func(done, all int), priority int) engine.Hook {
	return engine.Hook{Name: "steps", Priority: priority, NoParams: true,
		OnStart: func(_ context.Context, l *engine.Loop) error { f(l.Step(), l.Steps()); return nil },
		OnStep:  func(_ context.Context, l *engine.Loop, r *engine.StepReport) error { f(r.Step, l.Steps()); return nil }}
}

// Display shows the progress of training.
type Display struct {
	Step  func(*engine.StepReport)
	Epoch func(*engine.EpochReport)
	Clear func() // makes space for other text
	End   func() // leaves the losses of the last epoch on the screen
}

const barInterval = 100 * time.Millisecond // minimum interval of redrawing a bar

// newDisplay draws a bar on a terminal, or otherwise logs an occasional epoch.
func newDisplay(l *engine.Loop, c *Console) *Display {
	if c.Terminal == nil {
		return LineDisplay(l, c)
	}
	columns, _, err := term.GetSize(int(c.Terminal.Fd()))
	if err != nil {
		columns = 80
	}
	return BarDisplay(l, c, c.Terminal, columns, barInterval)
}

// Columns of a line for bars, their counts and their times. The wide one includes the steps per second.
const (
	wideBar, wideColumns     = 24, 76
	narrowBar, narrowColumns = 10, 52
	wideTerminal             = 120
)

// BarDisplay only counts the steps of this session, because they predict the remaining time.
func BarDisplay(l *engine.Loop, c *Console, w io.Writer, columns int, interval time.Duration) *Display {
	before := l.Step()
	options := []progressbar.Option{progressbar.OptionSetWriter(w), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(interval), progressbar.OptionClearOnFinish()}
	room := columns - narrowColumns
	if columns >= wideTerminal {
		room = columns - wideColumns
		options = append(options, progressbar.OptionSetWidth(wideBar), progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("steps"))
	} else {
		options = append(options, progressbar.OptionSetWidth(narrowBar))
	}
	epochs, bar := l.Settings().Epochs, progressbar.NewOptions(max(1, l.Steps()-before), options...)
	meter, last := &meter{since: time.Now()}, epochEvent{}
	current := l.Losses()
	for i := range current {
		current[i].Values = nil
	}
	return &Display{Step: func(r *engine.StepReport) {
		meter.add(r)
		for i := range current {
			if current[i].Objective == r.Objective {
				current[i].Names, current[i].Values = r.Names, append(current[i].Values[:0], r.Values...)
			}
		}
		bar.Describe(describe(r.Epoch, epochs, current, meter.rate, room))
		// A bar that cannot be drawn is no reason to stop training.
		_ = bar.Set(r.Step - before)
	}, Epoch: func(r *engine.EpochReport) {
		last = eventOf(r)
	}, Clear: func() { _ = bar.Clear() }, End: func() {
		_ = bar.Clear()
		last.log(c, "")
	}}
}

// describe returns a line on the epoch and the losses of the last steps, as far as the columns allow.
func describe(epoch, epochs int, losses []engine.ObjectiveLoss, rate float64, columns int) string {
	short := fmt.Sprintf("epoch %d/%d", epoch, epochs)
	var parts, sums, numbers []string
	for _, l := range losses {
		if len(l.Values) == 0 {
			continue // the objective has had no step yet
		}
		name := objectiveName(l.Objective, len(losses))
		parts = append(parts, name+lossText(l.Names, l.Values))
		sums = append(sums, name+lossText(l.Names[:1], l.Values))
		numbers = append(numbers, fmt.Sprintf("%.4g", l.Values[0]))
	}
	for _, text := range []string{
		fmt.Sprintf("%s  %s%s", short, strings.Join(parts, "; "), rateText(rate)),
		fmt.Sprintf("%s  %s%s", short, strings.Join(sums, "; "), rateText(rate)),
		fmt.Sprintf("%s  %s", short, strings.Join(sums, "; ")),
		fmt.Sprintf("%s  loss %s", short, strings.Join(numbers, ", ")),
		fmt.Sprintf("%s  %s", short, strings.Join(numbers, ", ")),
	} {
		if len(numbers) > 0 && len(text) <= columns {
			return text
		}
	}
	return short
}

const maxLeft = 100 * 365 * 24 * 3600 // maximum remaining time to show, in seconds: a century

func LineDisplay(l *engine.Loop, c *Console) *Display {
	last := time.Now()
	begin, beginStep := last, l.Step()
	var held epochEvent // the last epoch that is not logged yet
	return &Display{Step: func(*engine.StepReport) {}, Epoch: func(r *engine.EpochReport) {
		held = eventOf(r)
		now := time.Now()
		if now.Sub(last) < quietInterval && r.Epoch != r.Of && r.Epoch != 1 {
			return
		}
		last = now
		perStep := now.Sub(begin).Seconds() / float64(max(1, r.Step-beginStep))
		left := time.Duration(min(perStep*float64((r.Of-r.Epoch)*l.EpochSteps()), maxLeft) * float64(time.Second))
		held.log(c, fmt.Sprintf("  %s left", left.Round(time.Second)), "left", left)
		held = epochEvent{}
	}, Clear: func() {}, End: func() {
		held.log(c, "")
		held = epochEvent{}
	}}
}

// epochEvent is the event of a finished epoch; without text it is empty.
type epochEvent struct {
	text   string
	values []any
}

func (e epochEvent) log(c *Console, more string, values ...any) {
	if e.text != "" {
		c.Info("epoch", e.text+more, append(e.values, values...)...)
	}
}

// eventOf returns the event of an epoch. Its losses are grouped by objective.
func eventOf(r *engine.EpochReport) epochEvent {
	values := []any{"epoch", r.Epoch, "of", r.Of, "step", r.Step, "images", r.Images, "seconds", r.Seconds}
	for _, l := range r.Losses {
		var group []any
		for i, name := range l.Names {
			group = append(group, name, l.Values[i])
		}
		values = append(values, slog.Group(l.Objective, group...))
	}
	return epochEvent{epochText(r), values}
}

func epochText(r *engine.EpochReport) string {
	var parts []string
	for _, l := range r.Losses {
		parts = append(parts, objectiveName(l.Objective, len(r.Losses))+lossText(l.Names, l.Values))
	}
	return fmt.Sprintf("epoch %d/%d  %s%s", r.Epoch, r.Of, strings.Join(parts, "; "), rateText(float64(r.Images)/r.Seconds))
}

// rateText returns a rate of images per second as text. It is empty as long as a coarse clock shows no time.
func rateText(rate float64) string {
	if math.IsInf(rate, 1) {
		return ""
	}
	return fmt.Sprintf("  %.0f images/s", rate)
}

// objectiveName returns the prefix for an objective's losses; "" for a single objective.
func objectiveName(name string, objectives int) string {
	if objectives == 1 {
		return ""
	}
	return name + " "
}

// lossText formats a loss and its parts: "loss 12.3 (reconstruction 10.1, kl 2.2)".
func lossText(names []string, values []float64) string {
	var b strings.Builder
	for i, name := range names {
		switch i {
		case 0:
			fmt.Fprintf(&b, "%s %.4g", name, values[0])
			continue
		case 1:
			b.WriteString(" (")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %.4g", name, values[i])
	}
	if len(names) > 1 {
		b.WriteString(")")
	}
	return b.String()
}

// meter measures images per second over about the last second.
type meter struct {
	since  time.Time
	images int
	rate   float64
}

func (m *meter) add(r *engine.StepReport) {
	m.images += r.Images
	if d := time.Since(m.since).Seconds(); d > 1 || m.rate == 0 || math.IsInf(m.rate, 1) {
		m.rate, m.since, m.images = float64(m.images)/d, time.Now(), 0
	}
}
