//go:build !unix

package disk

import "io/fs"

// nonBlock and noFollow have no flags on this system: the path is checked before it is opened for writing.
const (
	nonBlock = 0
	noFollow = 0
)

// names returns 1: this system does not report the number of names of a file.
func names(fs.FileInfo) uint64 { return 1 }
