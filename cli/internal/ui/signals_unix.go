//go:build unix

package ui

import (
	"os"
	"syscall"
)

// writeSignals are the signals of failed writes.
var writeSignals = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}
