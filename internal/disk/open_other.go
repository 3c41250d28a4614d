//go:build !unix

package disk

import "io/fs"

// noFollow has no flag here: the path is checked before it is opened.
const noFollow = 0

// names returns 1: the number of names of a file is unknown here.
func names(fs.FileInfo) uint64 { return 1 }
