package train

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train/engine"
)

func sigmoid(x []float32) { kernel.Sigmoid(x, x) }

// quietInterval is the time between two lines of progress without a terminal.
const quietInterval = 10 * time.Second

// console writes the messages of a run.
type console struct {
	w     io.Writer // nil: nowhere
	clear func()    // makes room in w for text while progress is shown; nil otherwise
}

// say writes a line.
func (c *console) say(format string, args ...any) {
	if c.w == nil {
		return
	}
	if c.clear != nil {
		c.clear()
	}
	fmt.Fprintf(c.w, format+"\n", args...)
}

// hook shows the progress of training.
func (c *console) hook() engine.Hook {
	var d *display
	return engine.Hook{Name: "progress", Priority: progressPriority, NoParams: true,
		OnStart: func(l *engine.Loop) error {
			d = newDisplay(l, c.w)
			c.clear = d.clear
			return nil
		},
		OnStep:  func(_ *engine.Loop, r *engine.StepReport) error { d.step(r); return nil },
		OnEpoch: func(_ *engine.Loop, r *engine.EpochReport) error { d.epoch(r); return nil },
		OnEnd: func(*engine.Loop, error) error {
			d.end()
			c.clear = nil
			return nil
		}}
}

// progressHook calls a function with the number of finished steps and of all steps.
func progressHook(f func(done, all int)) engine.Hook {
	return engine.Hook{Name: "steps", Priority: progressPriority, NoParams: true,
		OnStart: func(l *engine.Loop) error { f(l.Step(), l.Steps()); return nil },
		OnStep:  func(l *engine.Loop, r *engine.StepReport) error { f(r.Step, l.Steps()); return nil }}
}

// display shows the progress of training.
type display struct {
	step  func(*engine.StepReport)
	epoch func(*engine.EpochReport)
	clear func() // makes room for other text
	end   func() // leaves the losses of the last epoch on the screen
}

// barInterval is the shortest time between two drawings of a bar.
const barInterval = 100 * time.Millisecond

// newDisplay shows a bar on a terminal, otherwise a plain line now and then.
func newDisplay(l *engine.Loop, w io.Writer) *display {
	if f := plain.Terminal(w); f != nil {
		columns, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			columns = 80
		}
		return barDisplay(l, f, columns, barInterval)
	}
	return lineDisplay(l, w)
}

// Columns that bars, their counts and their times take of a line. The wide one includes the steps per second.
const (
	wideBar, wideColumns     = 24, 76
	narrowBar, narrowColumns = 10, 52
	wideTerminal             = 120
)

// barDisplay counts the steps of this session, because only they predict the remaining time.
func barDisplay(l *engine.Loop, w io.Writer, columns int, interval time.Duration) *display {
	before := l.Step()
	options := []progressbar.Option{progressbar.OptionSetWriter(w), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(interval), progressbar.OptionClearOnFinish()}
	room := columns - narrowColumns
	if columns >= wideTerminal {
		room = columns - wideColumns
		options = append(options, progressbar.OptionSetWidth(wideBar), progressbar.OptionShowIts(), progressbar.OptionSetItsString("steps"))
	} else {
		options = append(options, progressbar.OptionSetWidth(narrowBar))
	}
	epochs, bar := l.Settings().Epochs, progressbar.NewOptions(max(1, l.Steps()-before), options...)
	meter, last := newMeter(), ""
	current := l.Losses()
	for i := range current {
		current[i].Values = nil
	}
	return &display{step: func(r *engine.StepReport) {
		meter.add(r)
		for i := range current {
			if current[i].Objective == r.Objective {
				current[i].Names, current[i].Values = r.Names, append(current[i].Values[:0], r.Values...)
			}
		}
		bar.Describe(describe(r.Epoch, epochs, current, meter.rate, room))
		// An undrawable bar is no reason to end training.
		_ = bar.Set(r.Step - before)
	}, epoch: func(r *engine.EpochReport) {
		last = epochText(r)
	}, clear: func() { _ = bar.Clear() }, end: func() {
		_ = bar.Clear()
		if last != "" {
			_, _ = fmt.Fprintln(w, last)
		}
	}}
}

// describe writes a line about the epoch and the losses of every objective's last step, with as much detail as the
// columns allow.
func describe(epoch, epochs int, losses []engine.ObjectiveLoss, rate float64, columns int) string {
	short := fmt.Sprintf("epoch %d/%d", epoch, epochs)
	var parts, sums, numbers []string
	for _, l := range losses {
		if len(l.Values) == 0 {
			continue // the objective has had no step
		}
		name := objectiveName(l.Objective, len(losses))
		parts = append(parts, name+lossText(l.Names, l.Values))
		sums = append(sums, name+lossText(l.Names[:1], l.Values))
		numbers = append(numbers, fmt.Sprintf("%.4g", l.Values[0]))
	}
	for _, text := range []string{
		fmt.Sprintf("%s  %s  %.0f images/s", short, strings.Join(parts, "; "), rate),
		fmt.Sprintf("%s  %s  %.0f images/s", short, strings.Join(sums, "; "), rate),
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

// maxLeft is the longest remaining time to show, in seconds: a century.
const maxLeft = 100 * 365 * 24 * 3600

func lineDisplay(l *engine.Loop, w io.Writer) *display {
	last := time.Now()
	begin, beginStep := last, l.Step()
	held := "" // text of the last epoch until it is written
	return &display{step: func(*engine.StepReport) {}, epoch: func(r *engine.EpochReport) {
		held = epochText(r)
		now := time.Now()
		if now.Sub(last) < quietInterval && r.Epoch != r.Of && r.Epoch != 1 {
			return
		}
		last = now
		perStep := now.Sub(begin).Seconds() / float64(max(1, r.Step-beginStep))
		left := time.Duration(min(perStep*float64((r.Of-r.Epoch)*l.EpochSteps()), maxLeft) * float64(time.Second))
		// An unwritable line is no reason to end training.
		_, _ = fmt.Fprintf(w, "%s  %s left\n", held, left.Round(time.Second))
		held = ""
	}, clear: func() {}, end: func() {
		if held != "" {
			_, _ = fmt.Fprintln(w, held)
		}
		held = ""
	}}
}

// epochText writes a line about the mean losses of an epoch.
func epochText(r *engine.EpochReport) string {
	var parts []string
	for _, l := range r.Losses {
		parts = append(parts, objectiveName(l.Objective, len(r.Losses))+lossText(l.Names, l.Values))
	}
	return fmt.Sprintf("epoch %d/%d  %s  %.0f images/s", r.Epoch, r.Of, strings.Join(parts, "; "), float64(r.Images)/r.Seconds)
}

// objectiveName begins the losses of an objective. A single objective needs no name: "unsupervised" would be wrong for
// losses from labels.
func objectiveName(name string, objectives int) string {
	if objectives == 1 {
		return ""
	}
	return name + " "
}

// lossText writes a loss and its parts: "loss 12.3 (reconstruction 10.1, kl 2.2)".
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

// meter estimates images per second over the last second or so.
type meter struct {
	since  time.Time
	images int
	rate   float64
}

func newMeter() *meter { return &meter{since: time.Now()} }

func (m *meter) add(r *engine.StepReport) {
	m.images += r.Images
	if d := time.Since(m.since).Seconds(); d > 1 || m.rate == 0 {
		m.rate, m.since, m.images = float64(m.images)/d, time.Now(), 0
	}
}
