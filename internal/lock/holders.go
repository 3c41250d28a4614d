package lock

// Use is what is known of a lock without trying to take it.
type Use int

// What is known of a lock.
const (
	Unknown Use = iota // the system does not say; another machine may hold it
	Free               // no process of this machine holds it
	Held
)
