package lock

// Use is the state of a lock, found without trying to take it.
type Use int

// The states of a lock.
const (
	Unknown Use = iota // the system does not say; another machine may hold it
	Free               // no process of this machine holds it
	Held
)
