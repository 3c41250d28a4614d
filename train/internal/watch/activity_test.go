package watch

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/plain"
)

// Work after training shows its progress, even during a long part.
func TestActivity(t *testing.T) {
	lines := make(chan string)
	a := &Activity{log: plain.Logger(writerFunc(func(p []byte) { lines <- string(p) })), every: time.Millisecond}
	a.Begin("measuring", 3)
	a.Step(1, "mig")
	for range 2 { // a part that does not end
		if got := <-lines; !regexp.MustCompile(`^measuring mig: 1 of 3 done, \d+s left\n$`).MatchString(got) {
			t.Errorf("line %q", got)
		}
	}
	go func() {
		for range lines { // until it ends
		}
	}()
	a.End()
	a.End()
	close(lines) // nothing writes any more

	var w bytes.Buffer
	a = &Activity{bars: &w, every: time.Hour}
	a.Begin("drawing", 8)
	a.Step(3, "torus")
	a.show()
	if text := w.String(); !strings.Contains(text, "drawing torus") || !strings.Contains(text, "3/8") {
		t.Errorf("bar: %q", text)
	}
	a.End()
	if text := w.String(); strings.TrimRight(text[strings.LastIndex(text, "\r")+1:], " ") != "" {
		t.Errorf("the line is not empty: %q", text)
	}
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }
