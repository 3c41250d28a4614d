//go:build unix

package disk

import (
	"io/fs"
	"syscall"
)

// nonBlock opens a pipe without waiting for its other end.
const nonBlock = syscall.O_NONBLOCK

// noFollow rejects links, and does not wait either.
const noFollow = syscall.O_NOFOLLOW | nonBlock

// names returns the number of names (hard links) of a file.
func names(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
