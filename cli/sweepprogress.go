package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/sweep"
)

// sweepProgress shows the progress of a sweep: on a terminal as a bar, elsewhere as a line now and then.
type sweepProgress struct {
	w        io.Writer
	terminal *os.File // nil: w is none
	every    time.Duration

	lock  sync.Mutex
	last  time.Time
	ended int // runs, when the last line was written
	drawn int // letters of the line that stands
}

// barWidth is the width of the bar, in letters.
const barWidth = 24

func newSweepProgress(w io.Writer) *sweepProgress {
	p := &sweepProgress{w: w, terminal: plain.Terminal(w), every: 10 * time.Second}
	if p.terminal != nil {
		p.every = 200 * time.Millisecond
	}
	return p
}

// observe receives the status of the sweep.
func (p *sweepProgress) observe(s sweep.Status) {
	p.lock.Lock()
	defer p.lock.Unlock()
	ended := s.Finished + s.Failed
	if time.Since(p.last) < p.every && (p.terminal != nil || ended == p.ended) {
		return
	}
	p.last, p.ended = time.Now(), ended
	if p.terminal == nil {
		fmt.Fprintln(p.w, s)
		return
	}
	full := int(s.Part * barWidth)
	line := "[" + strings.Repeat("=", full) + strings.Repeat(" ", barWidth-full) + "] " + s.String()
	if width, _, err := term.GetSize(int(p.terminal.Fd())); err == nil && width > 0 {
		line = line[:min(len(line), width-1)]
	}
	p.erase()
	fmt.Fprint(p.terminal, line)
	p.drawn = len(line)
}

// say writes a line of text.
func (p *sweepProgress) say(format string, args ...any) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.erase()
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *sweepProgress) erase() {
	if p.drawn > 0 {
		fmt.Fprint(p.terminal, "\r"+strings.Repeat(" ", p.drawn)+"\r")
		p.drawn = 0
	}
}

// clear erases the bar.
func (p *sweepProgress) clear() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.erase()
}
