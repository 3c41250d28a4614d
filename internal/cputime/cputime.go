// Package cputime measures the core time of the process. Other processes do not count.
package cputime

import "time"

// Process returns the time that this process has spent on cores so far, in its own code and in the system's; 0 if the
// system does not report it.
func Process() time.Duration { return process() }
