//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package lock

import "os"

// tryLock knows no locks here, so that claims are used.
func tryLock(*os.File) (bool, error) { return false, errRefused }

// stale knows no such error here.
func stale(error) bool { return false }

// notEmpty reports whether a folder could not be removed because of what it holds: here, whenever it could not.
func notEmpty(err error) bool { return err != nil && !gone(err) }

// bootID is not known here.
func bootID() string { return "" }

// device is not known here.
func device(string) string { return "" }
