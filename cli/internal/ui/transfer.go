package ui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/plain"
)

// Transfer shows the progress of downloads and conversions: a bar on a terminal, otherwise a line now and then.
type Transfer struct {
	log   io.Writer
	w     io.Writer // the terminal, or log
	draws bool
	every time.Duration // time between two lines or two updates of a bar

	lock  sync.Mutex
	what  string // name of the running transfer; empty: none
	total int64
	bar   *progressbar.ProgressBar
	begun time.Time
	first int64 // amount done at the beginning
	shown time.Time
}

func NewTransfer(w io.Writer) *Transfer {
	if f := plain.Terminal(w); f != nil {
		return &Transfer{log: w, w: f, draws: true, every: 100 * time.Millisecond}
	}
	return &Transfer{log: w, w: w, every: 10 * time.Second}
}

// inBytes reports whether progress is counted in bytes; conversions count images.
func inBytes(what string) bool {
	verb, _, _ := strings.Cut(what, " ")
	return verb == "downloading" || verb == "copying" || verb == "checking"
}

// Report is a progress function for the packages of data sets.
func (t *Transfer) Report(what string, done, total int64) {
	t.lock.Lock()
	defer t.lock.Unlock()
	now := time.Now()
	if what != t.what || total != t.total {
		t.finish()
		t.what, t.total, t.begun, t.first, t.shown = what, total, now, done, now
		if t.draws {
			length := total
			if total < 1 {
				length = -1 // a spinner
			}
			t.bar = progressbar.NewOptions64(length, progressbar.OptionSetWriter(t.w),
				progressbar.OptionSetDescription(plain.Text(what)), progressbar.OptionShowCount(),
				progressbar.OptionShowBytes(inBytes(what)), progressbar.OptionUseIECUnits(true),
				progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(t.every),
				progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish())
			// A failure to draw ends nothing. Bytes from an earlier download do not count for the rate.
			_ = t.bar.Set64(done)
		} else if total == 0 && done == 0 {
			_, _ = fmt.Fprintln(t.w, what)
		}
		return
	}
	if t.bar != nil {
		_ = t.bar.Set64(done)
		return
	}
	if now.Sub(t.shown) >= t.every {
		t.shown = now
		_, _ = fmt.Fprintln(t.w, t.line(now, done))
	}
}

func (t *Transfer) line(now time.Time, done int64) string {
	count := func(n int64) string { return fmt.Sprint(n) }
	if inBytes(t.what) {
		count = func(n int64) string { return memory.Text(float64(n)) }
	}
	text := t.what + ": " + count(done)
	if t.total > 0 {
		text += fmt.Sprintf(" of %s (%d %%)", count(t.total), 100*done/t.total)
	}
	elapsed := now.Sub(t.begun).Seconds()
	if rate := float64(done-t.first) / elapsed; rate > 0 {
		text += fmt.Sprintf(", %s/s", count(int64(rate)))
		if left := float64(t.total-done) / rate; left > 0 {
			text += fmt.Sprintf(", %s left", time.Duration(left*float64(time.Second)).Round(time.Second))
		}
	}
	return text
}

// Write writes text to the log in place of the bar.
func (t *Transfer) Write(text []byte) (int, error) {
	t.End()
	return t.log.Write(text)
}

func (t *Transfer) End() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.finish()
}

func (t *Transfer) finish() {
	if t.bar != nil {
		_ = t.bar.Clear()
		_ = t.bar.Exit()
	}
	t.bar, t.what = nil, ""
}
