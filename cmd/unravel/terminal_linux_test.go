package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// onTerminal runs a command line with a terminal of so many columns for all of its output, and returns what is drawn there.
func onTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	defer control.Close()
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("there are no terminals here:", err)
	}
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	drawn := make(chan struct{})
	go func() {
		_, _ = io.Copy(&text, control) // it ends with an error when the terminal is closed
		close(drawn)
	}()
	code := run(context.Background(), args, terminal, terminal)
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	<-drawn
	if code != 0 {
		t.Fatalf("unravel %s: exit code %d\n%s", strings.Join(args, " "), code, text.String())
	}
	return text.String()
}

// After training the screen shows the last losses, and what is at work: nothing is silent but for short.
func TestProgressOnTerminal(t *testing.T) {
	text := onTerminal(t, 80, "train", tinyFile(t), "train.figures=true", "--run", filepath.Join(t.TempDir(), "run"))
	for _, want := range []string{`\repoch 1/3  loss [0-9.]+ +\d+% \|`, `\repoch 3/3  supervised loss .*; unsupervised loss .* images/s\r\n`,
		`\rencoding images +0% \|.*0/256`, `\rdecoding images +0% \|`, `\rmeasuring dlsbd +0% \|.*0/1`, `\rdrawing losses +0% \|.*0/8`, `[\r\n]finished 3 epochs`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the screen never showed %s:\n%q", want, text)
		}
	}
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, " ")); n > 80 && strings.Contains(line, "% |") {
			t.Errorf("a bar of %d columns: %q", n, line)
		}
	}
}
