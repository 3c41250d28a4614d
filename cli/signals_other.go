//go:build !unix

package cli

import (
	"os"
	"syscall"
)

// writeSignals end programs that write where nothing can be written.
var writeSignals = []os.Signal{syscall.SIGPIPE}
