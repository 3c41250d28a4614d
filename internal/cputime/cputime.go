// Package cputime measures the CPU time of this process, without other processes.
package cputime

import "time"

// Process returns the CPU time of this process so far, in user and system mode, or 0 if the system does not report it.
func Process() time.Duration { return process() }
