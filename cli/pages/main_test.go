// Package pages tests README.md and the pages of docs: their command lines, programs, configs and data, as printed.
package pages

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/cli/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// trainingLine is part of the line that train logs before its first step.
const trainingLine = ", into "

// begun runs a command line until its work begins: training, measuring or computing a table. By then the command has
// read its files, and a run has its first checkpoint. A command stopped there counts as successful.
func begun(t testing.TB, args ...string) clitest.Outcome {
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
	return clitest.Outcome{Code: code, Out: out.String(), Log: log.String()}
}
