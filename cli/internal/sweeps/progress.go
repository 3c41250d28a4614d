package sweeps

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train/sweep"
)

// progress shows the progress of a sweep: a bar on a terminal, otherwise a line now and then, and rarely if
// nothing changes.
type progress struct {
	w        io.Writer
	terminal *os.File // nil: w is no terminal
	every    time.Duration
	idle     time.Duration // time between lines without news

	lock  sync.Mutex
	last  time.Time
	ended int    // number of ended runs at the last line
	state string // text of the last line, without the time left
	drawn int    // length of the drawn line in letters
}

// barWidth is the width of the bar, in letters.
const barWidth = 24

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, terminal: plain.Terminal(w), every: 10 * time.Second, idle: time.Minute}
	if p.terminal != nil {
		p.every = 200 * time.Millisecond
	}
	return p
}

// observe receives the status of the sweep.
func (p *progress) observe(s sweep.Status) {
	p.lock.Lock()
	defer p.lock.Unlock()
	ended := s.Finished + s.Failed
	since, state := time.Since(p.last), steady(s)
	if since < p.every && (p.terminal != nil || ended == p.ended) || p.terminal == nil && since < p.idle && state == p.state {
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

// rehearsal says that a rehearsal begins.
func (p *progress) rehearsal(run string, nth, most int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	line := fmt.Sprintf("rehearsing %s, %d of at most %d", run, nth, most)
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
	p.drawn = len(line)
}

// steady returns the progress line of a sweep without the time left.
func steady(s sweep.Status) string {
	s.Left = -1
	return s.String()
}

// say writes a line of text.
func (p *progress) say(format string, args ...any) { _, _ = fmt.Fprintf(p, format+"\n", args...) }

// Write writes text in place of the bar.
func (p *progress) Write(text []byte) (int, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.erase()
	return p.w.Write(text)
}

func (p *progress) erase() {
	if p.drawn > 0 {
		fmt.Fprint(p.terminal, "\r"+strings.Repeat(" ", p.drawn)+"\r")
		p.drawn = 0
	}
}

// clear erases the bar.
func (p *progress) clear() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.erase()
}
