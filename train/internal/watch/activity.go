package watch

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/unravel-ml/unravel/internal/plain"
)

// Activity shows the progress of encoding, measuring and drawing: a bar on a terminal, or an occasional event.
type Activity struct {
	log   *slog.Logger
	bars  io.Writer     // nil: no bars
	every time.Duration // interval of events, or of redrawing an unchanged bar
	least time.Duration // minimum interval of redrawing

	lock      sync.Mutex
	bar       *progressbar.ProgressBar
	what      string // name of the activity, or ""
	part      string // name of the current part, or ""
	done, all int
	begun     time.Time
	quit      chan struct{}
	ended     sync.WaitGroup
}

// NewActivity draws bars on a terminal or, without a terminal, logs events. It is nil if both are nil.
func NewActivity(log *slog.Logger, terminal *os.File) *Activity {
	switch {
	case terminal != nil:
		return &Activity{log: plain.Or(log), bars: terminal, every: time.Second, least: barInterval}
	case log != nil:
		return &Activity{log: log, every: quietInterval}
	}
	return nil
}

// Begin starts to show an activity, such as "encoding", with the given number of parts.
func (a *Activity) Begin(what string, all int) {
	a.End()
	a.what, a.part, a.done, a.all, a.begun, a.quit = what, "", 0, max(1, all), time.Now(), make(chan struct{})
	if a.bars != nil {
		a.bar = progressbar.NewOptions(a.all, progressbar.OptionSetWriter(a.bars), progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(a.least), progressbar.OptionSetWidth(narrowBar))
	}
	quit := a.quit
	a.ended.Go(func() {
		ticker := time.NewTicker(a.every)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				a.show()
			}
		}
	})
}

func (a *Activity) Step(done int, part string) {
	a.lock.Lock()
	defer a.lock.Unlock()
	changed := part != a.part
	a.done, a.part = done, part
	if a.bar == nil {
		return
	}
	if changed {
		a.bar.Describe(a.label())
	}
	// A bar that cannot be drawn is no reason to stop.
	_ = a.bar.Set(min(done, a.all-1)) // a full bar would end its line
}

// show logs an event, or redraws the bar with its time.
func (a *Activity) show() {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.bar != nil {
		a.bar.Describe(a.label())
		return
	}
	text := fmt.Sprintf("%s: %d of %d done", a.label(), a.done, a.all)
	values := []any{"event", "activity", "what", a.what, "part", a.part, "done", a.done, "of", a.all}
	if a.done > 0 {
		left := time.Duration(float64(time.Since(a.begun)) / float64(a.done) * float64(a.all-a.done))
		text, values = fmt.Sprintf("%s, %s left", text, left.Round(time.Second)), append(values, "left", left)
	}
	a.log.Info(text, values...)
}

func (a *Activity) label() string { return strings.TrimSpace(a.what + " " + a.part) }

func (a *Activity) End() {
	if a.what == "" {
		return
	}
	close(a.quit)
	a.ended.Wait()
	if a.bar != nil {
		_ = a.bar.Clear()
	}
	a.what, a.bar = "", nil
}

// Say removes the activity and logs a line about a data set.
func (a *Activity) Say(line, dataset string) {
	a.End()
	a.log.Info(line, "event", "data", "dataset", dataset)
}
