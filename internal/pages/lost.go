package pages

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// LostError is the panic of a read of mapped bytes that the file no longer has.
type LostError struct{ Path string }

func (e *LostError) Error() string {
	return fmt.Sprintf("%s was cut short or cannot be read while it is in use; want the whole file again", e.Path)
}

// Faults makes failing reads of mapped bytes panic in this goroutine, instead of ending the program. Use it with
// [Watch]:
//
//	defer pages.Watch(path, pages.Faults())
func Faults() (before bool) { return debug.SetPanicOnFault(true) }

// Watch converts the panic of such a read to a panic with a [LostError]. Defer it.
func Watch(path string, before bool) {
	debug.SetPanicOnFault(before)
	if p := recover(); p != nil {
		if _, fault := p.(interface{ Addr() uintptr }); fault {
			p = &LostError{path}
		}
		panic(p)
	}
}

// Recover stores the [LostError] of a panic, possibly from another goroutine, and passes on other panics. Defer it.
func Recover(err *error) {
	if p := recover(); p != nil {
		failed, _ := p.(error)
		lost, ok := errors.AsType[*LostError](failed)
		if !ok {
			panic(p)
		}
		*err = lost
	}
}
