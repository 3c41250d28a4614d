//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package content

import (
	"io/fs"
	"syscall"
)

// identify returns the identity of a file; false if the system has none.
func identify(info fs.FileInfo) (identity, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, false
	}
	at := changed(s)
	return identity{uint64(s.Dev), uint64(s.Ino), info.Size(), info.ModTime().UnixNano(), at.Nano()}, true
}
