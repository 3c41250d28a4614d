//go:build unix

package sweep

import "os"

// interrupt asks a process to save and end.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
