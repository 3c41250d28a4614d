// Package pages tests README.md and the pages of docs: their command lines, programs, configs and data, as printed.
package pages

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
)

// asProgram makes the test binary act as the program, for the processes of sweeps.
const asProgram = "UNRAVEL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		cli.Main()
	}
	os.Exit(long.Run(m))
}

// outcome is the result of a command line.
type outcome struct {
	code     int
	out, log string
}

func (o outcome) String() string {
	return fmt.Sprintf("exit code %d\nstandard output:\n%s\nstandard error:\n%s", o.code, o.out, o.log)
}

// call runs a command line in this process.
func call(t testing.TB, args ...string) outcome {
	t.Helper()
	var out, log bytes.Buffer
	code := cli.Run(context.Background(), args, &out, &log)
	return outcome{code, out.String(), log.String()}
}

// trainingLine is part of the line that train logs before its first step.
const trainingLine = ", into "

// begun runs a command line until its work begins: training, measuring or computing a table. By then the command has
// read its files, and a run has its first checkpoint. A command stopped there counts as successful.
func begun(t testing.TB, args ...string) outcome {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	log := &clitest.Heard{Wait: trainingLine, Call: stop}
	if args[0] != "train" || slices.Contains(args, "--dry-run") || slices.Contains(args, "--find-rate") {
		stop()
	}
	var out bytes.Buffer
	code := cli.Run(ctx, args, &out, log)
	if code == 130 && strings.Contains(log.String(), "stopped") {
		code = 0
	}
	return outcome{code, out.String(), log.String()}
}
