// Package priority lowers the priority of the process, for work that must not slow other programs.
package priority

// niceness on Unix: on a busy processor such a process gets about a tenth of it.
const niceness = 10

// Lower gives this process little priority. If this fails, the process keeps its priority.
func Lower() { lower() }
