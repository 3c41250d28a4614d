//go:build !unix

package disk

import "io/fs"

// This system has no flags for nonBlock and noFollow: the path is checked before it is opened for writing.
const (
	nonBlock = 0
	noFollow = 0
)

// names returns 1: the number of names of a file is unknown on this system.
func names(fs.FileInfo) uint64 { return 1 }
