// Package pages advises the operating system about the use of mapped memory.
package pages

import (
	"os"
	"unsafe"
)

var size = uintptr(os.Getpagesize())

// around returns the pages that contain some bytes of mapped memory, from the start of the first page to the last byte.
func around(b []byte) []byte {
	start := unsafe.Pointer(unsafe.SliceData(b))
	before := uintptr(start) % size
	return unsafe.Slice((*byte)(unsafe.Add(start, -int(before))), len(b)+int(before))
}

// Random announces random reads of mapped bytes. The system then reads a missing page alone, without adjacent pages. It
// is only advice.
func Random(b []byte) {
	if len(b) > 0 {
		random(around(b))
	}
}

// Expect announces reads of mapped bytes. The system then reads them from disk in the background. It is only advice.
func Expect(b []byte) {
	if len(b) > 0 {
		expect(around(b))
	}
}
