// Package cputime measures what a process takes of the machine's cores, whatever else runs on them.
package cputime

import "time"

// Process returns the time that this process has spent on cores so far, in its own code and in the system's; 0 where the system does not tell.
func Process() time.Duration { return process() }
