// Package pages tests README.md and the pages of docs: their command lines, programs, configs and data, as they stand.
package pages

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/unravel-ml/unravel/cli"
)

// asProgram makes the test binary the program itself, for the processes of sweeps.
const asProgram = "UNRAVEL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		cli.Main()
	}
	os.Exit(m.Run())
}

// outcome is what a command line did.
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
