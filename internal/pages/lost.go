package pages

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// LostError is the panic of reading mapped bytes after the file has lost them.
type LostError struct{ Path string }

func (e *LostError) Error() string {
	return fmt.Sprintf("%s was cut short or cannot be read while it is in use; want the whole file again", e.Path)
}

// Faults makes reads of mapped bytes that fail panic on this goroutine, instead of ending the program, for [Watch]:
//
//	defer pages.Watch(path, pages.Faults())
func Faults() (before bool) { return debug.SetPanicOnFault(true) }

// Watch turns the panic of such a read into one with a [LostError]. It is deferred.
func Watch(path string, before bool) {
	debug.SetPanicOnFault(before)
	if p := recover(); p != nil {
		if _, fault := p.(interface{ Addr() uintptr }); fault {
			p = &LostError{path}
		}
		panic(p)
	}
}

// Recover stores the [LostError] of a panic, which may have come from another goroutine, and lets other panics pass. It is deferred.
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
