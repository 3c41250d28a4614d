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
)

func sigmoid(x []float32) { kernel.Sigmoid(x, x) }

// quietInterval is the time between two lines of progress where there is no terminal.
const quietInterval = 10 * time.Second

// progressHook shows a bar on a terminal, and elsewhere a plain line now and then.
// The function it returns makes room for other text.
func progressHook(t *Trainer, w io.Writer) (Hook, func()) {
	if f := plain.Terminal(w); f != nil {
		columns, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			columns = 80
		}
		return barHook(t, f, columns)
	}
	return lineHook(t, w), func() {}
}

// barColumns is what the bar, its counts and its times take of a line.
const barColumns = 72

// barHook counts the steps of this sitting: only they say how long the rest will take.
func barHook(t *Trainer, w io.Writer, columns int) (Hook, func()) {
	before := t.step
	bar := progressbar.NewOptions(max(1, t.settings.Epochs*t.epochSteps()-before),
		progressbar.OptionSetWriter(w), progressbar.OptionShowCount(), progressbar.OptionSetItsString("steps"),
		progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(24))
	meter := newMeter()
	return Hook{Name: "progress", Step: func(r *StepReport) error {
		meter.add(r)
		bar.Describe(describe(r, t.settings.Epochs, meter.rate, columns-barColumns))
		// A bar that cannot be drawn is no reason to end training.
		_ = bar.Set(r.Step - before)
		return nil
	}, Epoch: func(r *EpochReport) error {
		if r.Epoch == r.Of {
			_ = bar.Finish()
		}
		return nil
	}}, func() { _ = bar.Clear() }
}

// describe says where training is, in as much detail as columns allow.
func describe(r *StepReport, epochs int, rate float64, columns int) string {
	short := fmt.Sprintf("epoch %d/%d", r.Epoch, epochs)
	for _, text := range []string{
		fmt.Sprintf("%s  %s  %.0f images/s", short, lossText(r.Names, r.Values), rate),
		fmt.Sprintf("%s  %s  %.0f images/s", short, lossText(r.Names[:1], r.Values), rate),
		fmt.Sprintf("%s  %s", short, lossText(r.Names[:1], r.Values)),
	} {
		if len(text) <= columns {
			return text
		}
	}
	return short
}

// maxLeft is the longest time left that is shown, in seconds: a century.
const maxLeft = 100 * 365 * 24 * 3600

func lineHook(t *Trainer, w io.Writer) Hook {
	last := time.Now()
	begin, beginStep := last, t.step
	return Hook{Name: "progress", Epoch: func(r *EpochReport) error {
		now := time.Now()
		if now.Sub(last) < quietInterval && r.Epoch != r.Of && r.Epoch != 1 {
			return nil
		}
		last = now
		perStep := now.Sub(begin).Seconds() / float64(max(1, r.Step-beginStep))
		left := time.Duration(min(perStep*float64((r.Of-r.Epoch)*t.epochSteps()), maxLeft) * float64(time.Second))
		var parts []string
		for _, l := range r.Losses {
			parts = append(parts, l.Objective+" "+lossText(l.Names, l.Values))
		}
		// A line that cannot be written is no reason to end training.
		_, _ = fmt.Fprintf(w, "epoch %d/%d  %s  %.0f images/s  %s left\n", r.Epoch, r.Of, strings.Join(parts, "; "),
			float64(r.Images)/r.Seconds, left.Round(time.Second))
		return nil
	}}
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

func (m *meter) add(r *StepReport) {
	m.images += r.Images
	if d := time.Since(m.since).Seconds(); d > 1 || m.rate == 0 {
		m.rate, m.since, m.images = float64(m.images)/d, time.Now(), 0
	}
}
