package train

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/unravel-ml/unravel/internal/kernel"
)

func sigmoid(x []float32) { kernel.Sigmoid(x, x) }

// quietInterval is the time between two lines of progress where there is no terminal.
const quietInterval = 10 * time.Second

// progressHook shows a bar on a terminal, and elsewhere a plain line now and then.
func progressHook(t *Trainer, w io.Writer) Hook {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return barHook(t, w)
	}
	return lineHook(t, w)
}

func barHook(t *Trainer, w io.Writer) Hook {
	total := t.settings.Epochs * t.sampler.Batches()
	bar := progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w), progressbar.OptionShowCount(), progressbar.OptionSetItsString("steps"),
		progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(24))
	meter := newMeter()
	return Hook{Name: "progress", Step: func(r *StepReport) error {
		meter.add(r)
		bar.Describe(fmt.Sprintf("epoch %d/%d  %s  %.0f images/s", r.Epoch, t.settings.Epochs, lossText(r.Names, r.Values), meter.rate))
		// A bar that cannot be drawn is no reason to end training.
		_ = bar.Set(r.Step)
		return nil
	}, Epoch: func(r *EpochReport) error {
		if r.Epoch == r.Of {
			_ = bar.Finish()
		}
		return nil
	}}
}

func lineHook(t *Trainer, w io.Writer) Hook {
	last := time.Now()
	begin, beginStep := last, t.step
	return Hook{Name: "progress", Epoch: func(r *EpochReport) error {
		now := time.Now()
		if now.Sub(last) < quietInterval && r.Epoch != r.Of && r.Epoch != 1 {
			return nil
		}
		last = now
		perStep := now.Sub(begin) / time.Duration(max(1, r.Step-beginStep))
		left := perStep * time.Duration((r.Of-r.Epoch)*t.sampler.Batches())
		var parts []string
		for _, l := range r.Losses {
			parts = append(parts, l.Objective+" "+lossText(l.Names, l.Values))
		}
		_, err := fmt.Fprintf(w, "epoch %d/%d  %s  %.0f images/s  %s left\n", r.Epoch, r.Of, strings.Join(parts, "; "),
			float64(r.Images)/r.Seconds, left.Round(time.Second))
		return err
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
