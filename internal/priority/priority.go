// Package priority lowers the priority of the process, for work that must not slow other programs.
package priority

// niceness is the value on Unix: on a busy processor, the process gets about a tenth of the time.
const niceness = 10

// Lower lowers the priority of this process. If this fails, the priority does not change.
func Lower() { lower() }
