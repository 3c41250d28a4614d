package cli_test

import (
	"context"
	"fmt"
	"os"

	"github.com/unravel-ml/unravel/cli"
)

// A program's main registers its parts and calls cli.Main. Run is for tests.
func ExampleRun() {
	code := cli.Run(context.Background(), []string{"list", "decoders", "burges"}, os.Stdout, os.Stdout)
	fmt.Println("exit code", code)
	// Output:
	// unravel: decoders: there is no "burges"; did you mean "burgess"?
	// exit code 2
}
