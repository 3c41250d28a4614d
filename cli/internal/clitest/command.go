package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/must"
)

// AsProgram makes a test binary act as the program, for tests that need a process.
const AsProgram = "UNRAVEL_TEST_AS_PROGRAM"

// Main runs the tests of a package, or the program in a process of [AsProgram].
func Main(m *testing.M) {
	if os.Getenv(AsProgram) != "" {
		cli.Main()
	}
	code := browser.Main(m)
	removeFinished()
	os.Exit(code)
}

// Outcome is the result of a command line.
type Outcome struct {
	Code     int
	Out, Log string
}

func (o Outcome) String() string {
	return fmt.Sprintf("exit code %d\nstandard output:\n%s\nstandard error:\n%s", o.Code, o.Out, o.Log)
}

// Run runs a command line in this process.
func Run(t testing.TB, args ...string) Outcome {
	t.Helper()
	var out, log bytes.Buffer
	code := cli.Run(context.Background(), args, &out, &log)
	return Outcome{code, out.String(), log.String()}
}

// OK runs a command line that must succeed.
func OK(t testing.TB, args ...string) Outcome {
	t.Helper()
	o := Run(t, args...)
	if o.Code != 0 || strings.Contains(o.Log, "unravel:") {
		t.Fatalf("unravel %s: %v", strings.Join(args, " "), o)
	}
	return o
}

// Mistake wants one message on standard error, without a trace of a crash.
func Mistake(t testing.TB, o Outcome, code int, words ...string) {
	t.Helper()
	must.Equal(t, o.Code, code, "exit code")
	lines := strings.Split(regexp.MustCompile(`\nSee unravel( [a-z]+)* --help\.\n$`).ReplaceAllString(o.Log, ""), "\n")
	if strings.Count(o.Log, "unravel: ") != 1 || len(lines) > 2 || !strings.HasPrefix(lines[0], "unravel: ") ||
		len(lines) == 2 && lines[1] != "" {
		t.Errorf("want one message and nothing else")
	}
	for _, w := range words {
		if !strings.Contains(o.Log, w) {
			t.Errorf("the message lacks %q", w)
		}
	}
	must.Equal(t, o.Out, "", "there is text on standard output")
	NoTrace(t, o)
	if t.Failed() {
		t.Log(o)
	}
}

// NoTrace wants no trace of a crash on standard error.
func NoTrace(t testing.TB, o Outcome) {
	t.Helper()
	for _, bad := range []string{"panic", "goroutine", ".go:", "internal error", "%!"} {
		if strings.Contains(o.Log, bad) {
			t.Errorf("standard error has %q", bad)
		}
	}
}

// JSON decodes exactly one JSON object.
func JSON(t testing.TB, text string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil || d.More() || strings.Count(text, "\n") != 1 {
		t.Fatalf("not one JSON object on a line: %v\n%s", err, text)
	}
}
