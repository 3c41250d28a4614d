//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package lock

import "os"

// tryLock knows no locks on this system; claims are used instead.
func tryLock(*os.File) (bool, error) { return false, errRefused }
