//go:build !unix

package ui

import (
	"os"
	"syscall"
)

var writeSignals = []os.Signal{syscall.SIGPIPE} // signals of failed writes
