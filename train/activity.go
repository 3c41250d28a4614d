package train

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train/internal/watch"
)

// Activity shows the progress of encoding, measuring and drawing: a bar on a terminal, otherwise a plain line now and
// then. A nil Activity shows nothing.
type Activity struct {
	w     io.Writer
	draws bool          // bars; otherwise lines
	every time.Duration // time between two lines, or two drawings of an unchanged bar
	least time.Duration // shortest time between two drawings

	lock      sync.Mutex
	bar       *progressbar.ProgressBar
	what      string // name of the activity; empty: none
	part      string // name of the current part
	done, all int
	begun     time.Time
	quit      chan struct{}
	ended     sync.WaitGroup
}

// NewActivity returns an Activity that shows progress on a writer; a nil writer shows nothing.
func NewActivity(w io.Writer) *Activity {
	if w == nil {
		return nil
	}
	if f := plain.Terminal(w); f != nil {
		return &Activity{w: f, draws: true, every: time.Second, least: watch.BarInterval}
	}
	return &Activity{w: w, every: watch.QuietInterval}
}

// Begin starts to show an activity, such as "encoding", with a number of parts.
func (a *Activity) Begin(what string, all int) {
	if a == nil {
		return
	}
	a.End()
	a.what, a.part, a.done, a.all, a.begun, a.quit = what, "", 0, max(1, all), time.Now(), make(chan struct{})
	if a.draws {
		a.bar = progressbar.NewOptions(a.all, progressbar.OptionSetWriter(a.w), progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(a.least),
			progressbar.OptionSetWidth(watch.NarrowBar))
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

// Step shows the number of finished parts and the current part.
func (a *Activity) Step(done int, part string) {
	if a == nil {
		return
	}
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
	// An undrawable bar is no reason to end anything.
	_ = a.bar.Set(min(done, a.all-1)) // a full one would end its line
}

// show writes a line, or redraws the bar with its time.
func (a *Activity) show() {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.bar != nil {
		a.bar.Describe(a.label())
		return
	}
	left := ""
	if a.done > 0 {
		took := time.Since(a.begun)
		left = fmt.Sprintf(", %s left", time.Duration(float64(took)/float64(a.done)*float64(a.all-a.done)).Round(time.Second))
	}
	_, _ = fmt.Fprintf(a.w, "%s: %d of %d done%s\n", a.label(), a.done, a.all, left)
}

// label names the activity and its current part, if it has parts.
func (a *Activity) label() string { return strings.TrimSpace(a.what + " " + a.part) }

// End removes the activity.
func (a *Activity) End() {
	if a == nil || a.what == "" {
		return
	}
	close(a.quit)
	a.ended.Wait()
	if a.bar != nil {
		_ = a.bar.Clear()
	}
	a.what, a.bar = "", nil
}
