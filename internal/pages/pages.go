// Package pages advises the operating system about the use of mapped memory.
package pages

import (
	"os"
	"unsafe"
)

// size is the size of a page.
var size = uintptr(os.Getpagesize())

// around returns the pages that hold some bytes of mapped memory, from the beginning of the first to the last byte.
func around(b []byte) []byte {
	start := unsafe.Pointer(unsafe.SliceData(b))
	before := uintptr(start) % size
	return unsafe.Slice((*byte)(unsafe.Add(start, -int(before))), len(b)+int(before))
}

// Random announces reads of mapped bytes in any order. A missing page is then read alone, without its neighbours. It is
// advice, and has no other effect.
func Random(b []byte) {
	if len(b) > 0 {
		random(around(b))
	}
}

// Expect announces reads of mapped bytes: the system then reads them from the disk in the background. It is advice, and
// has no other effect.
func Expect(b []byte) {
	if len(b) > 0 {
		expect(around(b))
	}
}
