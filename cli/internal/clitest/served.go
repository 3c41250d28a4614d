package clitest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli"
)

// Heard is a log that goroutines share. It calls a function once, when the log contains a given text.
type Heard struct {
	Wait string
	Call func() // nil: none

	lock   sync.Mutex
	text   bytes.Buffer
	called bool
}

func (h *Heard) Write(p []byte) (int, error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	n, err := h.text.Write(p)
	if h.Call != nil && !h.called && strings.Contains(h.text.String(), h.Wait) {
		h.called = true
		h.Call()
	}
	return n, err
}

func (h *Heard) String() string {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.text.String()
}

var addressLine = regexp.MustCompile(`see (http://\S+)`)

// Served runs a command line with a server until the test has read the page that the log names and the work is done.
func Served(t *testing.T, args ...string) (log, page string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wait := "(ctrl-C ends)"
	if args[0] != "serve" {
		wait = "its page stays"
	}
	h := &Heard{Wait: wait}
	read := func() {
		defer cancel()
		found := addressLine.FindStringSubmatch(h.String())
		if found == nil {
			return
		}
		jar, _ := cookiejar.New(nil) // for the token; it never fails
		client := &http.Client{Jar: jar}
		const tries = 3000 // a busy server may not have read the run yet, and then shows the list
		for range tries {
			a, err := client.Get(found[1])
			if err != nil {
				t.Error(err)
				return
			}
			text, err := io.ReadAll(a.Body)
			_ = a.Body.Close() // it is read
			if page = string(text); err != nil || a.StatusCode != http.StatusOK {
				t.Errorf("%s: %d, %v", found[1], a.StatusCode, err)
				return
			}
			ofRun := args[0] == "train" || strings.Contains(found[1], "run?dir=")
			if !ofRun || strings.Contains(page, "data-run=") && !strings.Contains(page, `data-run=""`) {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	h.Call = func() { go read() }
	var out bytes.Buffer
	if code := cli.Run(ctx, args, &out, h); code != 0 {
		t.Errorf("unravel %s: code %d\n%s", strings.Join(args, " "), code, h)
	}
	return h.String(), page
}
