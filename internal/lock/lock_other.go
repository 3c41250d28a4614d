//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package lock

import "os"

// tryLock knows no locks on this system; claims are used instead.
func tryLock(*os.File) (bool, error) { return false, errRefused }

// stale knows no such error on this system.
func stale(error) bool { return false }

// notEmpty reports whether a folder could not be removed because of its content. On this system it assumes this for
// every error but a missing folder.
func notEmpty(err error) bool { return err != nil && !gone(err) }

// bootID is unknown on this system.
func bootID() string { return "" }

// device is unknown on this system.
func device(string) string { return "" }
