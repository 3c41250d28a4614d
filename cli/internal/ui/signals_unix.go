//go:build unix

package ui

import (
	"os"
	"syscall"
)

var writeSignals = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ} // signals of failed writes
