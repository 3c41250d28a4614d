package ui

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unravel-ml/unravel/internal/must"
)

// Without a terminal, progress is an occasional line with the rate of this session.
func TestTransferLine(t *testing.T) {
	var log bytes.Buffer
	tr := NewTransfer(&log)
	tr.every = 0
	tr.Report("downloading a.npz", 1<<20, 4<<20) // 1 MiB from an earlier session
	tr.begun = tr.begun.Add(-2 * time.Second)
	if got, want := tr.line(tr.begun.Add(2*time.Second), 3<<20), "downloading a.npz: 3.00 MiB of 4.00 MiB (75 %), 1.00 MiB/s, 1s left"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
	tr.Report("downloading a.npz", 3<<20, 4<<20)
	tr.Report("waiting for another process", 0, 0)
	tr.Report("converting a", 10, 40)
	tr.begun = tr.begun.Add(-time.Second)
	must.Equal(t, tr.line(tr.begun.Add(time.Second), 20), "converting a: 20 of 40 (50 %), 10/s, 2s left")
	tr.End()
	if text := log.String(); !strings.HasPrefix(text, "downloading a.npz: 3.00 MiB of 4.00 MiB (75 %)") ||
		!strings.HasSuffix(text, "waiting for another process\n") {
		t.Errorf("%q", text)
	}
}

// Only slow work gets a line.
func TestUnless(t *testing.T) {
	for work, want := range map[time.Duration]string{time.Second: "", time.Minute: "slow\n"} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			fast := Unless(&log, "slow")
			time.Sleep(work)
			if fast(); log.String() != want {
				t.Errorf("work of %v logs %q; want %q", work, log.String(), want)
			}
		})
	}
}
