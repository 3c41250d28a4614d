// Package priority lowers the priority of the process, for work that is not to slow others.
package priority

// niceness on Unix: on a busy processor such a process gets about a tenth of it.
const niceness = 10

// Lower gives this process little priority. Where that fails it keeps what it has.
func Lower() { lower() }
