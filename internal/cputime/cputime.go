// Package cputime measures the time that a process spends on the machine's cores. Other processes do not add to it.
package cputime

import "time"

// Process returns the time that this process has spent on cores so far, in its own code and in the system's; 0 if the
// system does not report it.
func Process() time.Duration { return process() }
